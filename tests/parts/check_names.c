/* This tests the names of objects (agent/objects/label.h) with the table and the list behind it: what an
 * object is called, when the trace is told of it, and what becomes of names that are owed because the thread
 * holds a lock. Names of code are made up: function N lies at 256 * N, and variable N at 0x100000 * N. */
#include <stdio.h>
#include <string.h>

#include "agent/emit/deferred.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"
#include "agent/objects/label.h"
#include "agent/objects/label_owed.h"
#include "part.h"
#include "suite.h"

enum { OBJECT = 0x7000, OTHER = 0x7100, VARIABLE = 0x300000, PLACE = 0x201, FREE_PLACE = 0x301 };

struct fxt_functions fxt_functions;
static struct fxt_function known, made;         /* the one in the table, and the one that was found */
static bool has_names, symbols_are_read, is_durable, unloads;
static unsigned found_named, lines;
static char durable_said[1 << 16];

/* -- What stands for the rest of the agent ------------------------------------------------------- */

const struct fxt_function *fxt_function_find_named(uintptr_t address)
{
	static char names[16][200];
	char *name = names[address / 256 % 16];

	found_named++;
	if (!has_names)
		return NULL;
	sprintf(name, "f%d", (int)(address / 256));
	if (address / 256 == 9) {
		/* A long one, cut in the middle of a character. */
		memset(name, 'n', 99);
		strcpy(name + 99, "\xc3\xa4xyz");
	}
	made.name = name;
	made.bytes = (uint16_t)strlen(name);
	return &made;
}

const char *fxt_function_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset)
{
	EXPECT(place && !fxt_holds_lock(&part_thread));
	if (address < 0x100000 || address >= 0x1000000)
		return NULL;
	*bytes = 8;
	*offset = address & 0xfffff;
	return "variable";
}

const char *fxt_symbol_known_name(uintptr_t address, size_t *bytes)
{
	EXPECT(address);
	*bytes = symbols_are_read ? 5 : 0;
	return symbols_are_read ? "knownX" : NULL;
}

static uintptr_t mapped_from;

bool fxt_function_is_mapped(uintptr_t address)
{
	return address >= mapped_from;
}

bool fxt_functions_unloaded(void)
{
	return unloads;
}

static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	(void)storage;
	EXPECT(reserve_words == 2048 && words == fxt_get_record_words(*record));
	if (!is_durable)
		return false;
	if (strlen(durable_said) + 1000 < sizeof(durable_said))
		part_describe(durable_said + strlen(durable_said), record);
	lines++;
	return true;
}

#define DURABLE(text)                              \
	ck_assert_str_eq(durable_said, text);      \
	*durable_said = 0

static void setup(void)
{
	static const struct fxt_storage_ops ops = {.durable = durable};
	static struct fxt_storage storage = {.ops = &ops};

	part_setup();
	fxt_agent.storage = &storage;
	memset(&known, 0, sizeof(known));
	atomic_store(&fxt_functions.entries, &known);
	atomic_store(&fxt_functions.mask, 0);
	has_names = is_durable = unloads = true;
	symbols_are_read = false;
	found_named = lines = 0;
	*durable_said = 0;
	fxt_lender = 0;
	atomic_store(&fxt_forbidden, 0);
	fxt_labels_again();
}

static void hold(bool holds)
{
	if (holds)
		fxt_held_lock_push(&part_thread, 8, part_thread.last_ns, 9);
	else
		fxt_held_lock_pop(&part_thread, 8);
}

static void use(enum fxt_label_kind kind, uintptr_t object, uintptr_t place)
{
	fxt_label_use(&part_thread, kind, object, place);
}

/* -- Objects that are used ----------------------------------------------------------------------- */

START_TEST(an_object_is_told_when_it_is_first_used)
{
	use(FXT_LABEL_MUTEX, VARIABLE, PLACE);
	DURABLE("object 0x300000 of 70 \"variable\" type=mutex\n");
	use(FXT_LABEL_MUTEX, VARIABLE, PLACE);
	use(FXT_LABEL_MUTEX, VARIABLE + 0x18, PLACE);
	DURABLE("object 0x300018 of 70 \"variable+0x18\" type=mutex\n");
	use(FXT_LABEL_SEM, OBJECT, PLACE);
	DURABLE("object 0x7000 of 70 \"sem first used by f2\" type=sem\n");
	/* Another object has taken its place among those that are known at once. */
	memset((void *)fxt_label_known, 0, sizeof(fxt_label_known));
	use(FXT_LABEL_SEM, OBJECT, FREE_PLACE);
	DURABLE("");
	EXPECT(fxt_label_known[fxt_wait_hash(OBJECT) >> 52] == OBJECT);
	/* The address has another kind of object now; its name holds from here on. */
	memset((void *)fxt_label_known, 0, sizeof(fxt_label_known));
	use(FXT_LABEL_COND, OBJECT, FREE_PLACE);
	DURABLE("object 0x7000 of 70 \"cond first used by f3\" type=cond since=1001u\n");
	EXPECT(fxt_label_of(FXT_LABEL_COND, OBJECT).bytes == 2 && !fxt_label_of(FXT_LABEL_SEM, OBJECT).text);
	EXPECT(!fxt_label_of(FXT_LABEL_COND, OBJECT + 8).text);
	EXPECT(!part.lost[FXT_LOSS_UNNAMED]);
	/* Names of many bytes are cut, between characters. */
	use(FXT_LABEL_RWLOCK, OTHER, 9 * 256 + 1);
	EXPECT(strstr(durable_said, "\"rwlock first used by nnnnnnnnnn") &&
	       strstr(durable_said, "nn\" type=rwlock\n"));
	EXPECT(fxt_label_of(FXT_LABEL_RWLOCK, OTHER).bytes == 99);
}
END_TEST

START_TEST(objects_without_names_are_counted_once)
{
	has_names = false;
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 1);
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	memset((void *)fxt_label_known, 0, sizeof(fxt_label_known));
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 1);
	use(FXT_LABEL_MUTEX, OTHER, 0);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 2);
	/* Each that is made counts. */
	EXPECT(!fxt_label_made(&part_thread, FXT_LABEL_MUTEX, OBJECT, PLACE).text);
	EXPECT(!fxt_label_made(&part_thread, FXT_LABEL_MUTEX, OBJECT, PLACE).text);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 4);
	DURABLE("");
	/* When recording begins again, all are counted again. */
	fxt_labels_again();
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 5);
	/* What can be neither durable nor in a chunk has no name either. */
	has_names = true;
	is_durable = false;
	part_lane(1);
	use(FXT_LABEL_MUTEX, 0x7200, PLACE);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 6);
	/* With little stack nothing is done now. */
	part.stack_is_short = true;
	use(FXT_LABEL_MUTEX, 0x7300, PLACE);
	EXPECT(!fxt_label_made(&part_thread, FXT_LABEL_MUTEX, 0x7400, PLACE).text);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 6);
	part.stack_is_short = false;
	/* Where no name can be looked up, it counts. */
	fxt_lender = 1;
	use(FXT_LABEL_MUTEX, 0x7500, PLACE);
	fxt_lender = 0;
	atomic_store(&fxt_forbidden, FXT_NO_WORD);
	use(FXT_LABEL_MUTEX, 0x7600, PLACE);
	EXPECT(!fxt_label_made(&part_thread, FXT_LABEL_MUTEX, 0x7700, PLACE).text);
	EXPECT(!fxt_label_block(&part_thread, PLACE).text);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 8 && !fxt_label_of(FXT_LABEL_MUTEX, 0x7600).text);
}
END_TEST

/* -- Objects that are made ----------------------------------------------------------------------- */

START_TEST(a_lock_that_is_made_again_is_the_same)
{
	struct fxt_label label;

	fxt_held_lock_push(&part_thread, OBJECT, 5, 6);
	label = fxt_label_made(&part_thread, FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(!fxt_held_lock_find(&part_thread, OBJECT) && fxt_label_is_said(&label));
	DURABLE("object 0x7000 of 70 \"mutex of f2\" type=mutex since=1001u\n");
	use(FXT_LABEL_MUTEX, OBJECT, FREE_PLACE);
	DURABLE("");
	label = fxt_label_made(&part_thread, FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(label.text && !fxt_label_is_said(&label));
	DURABLE("");
	/* By another function, and as another kind. */
	label = fxt_label_made(&part_thread, FXT_LABEL_MUTEX, OBJECT, FREE_PLACE);
	EXPECT(fxt_label_is_said(&label));
	DURABLE("object 0x7000 of 70 \"mutex of f3\" type=mutex since=1002u\n");
	label = fxt_label_made(&part_thread, FXT_LABEL_SEM, OBJECT, FREE_PLACE);
	DURABLE("object 0x7000 of 70 \"sem of f3\" type=sem since=1003u\n");
	/* A variable that is made has the variable's name. */
	label = fxt_label_made(&part_thread, FXT_LABEL_SEM, VARIABLE, PLACE);
	EXPECT(label.how == FXT_LABEL_SYMBOL);
	DURABLE("object 0x300000 of 70 \"variable\" type=sem since=1004u\n");
	/* It is destroyed, and made again. */
	label = fxt_label_forget(FXT_LABEL_SEM, VARIABLE);
	EXPECT(label.text && !fxt_label_of(FXT_LABEL_SEM, VARIABLE).text);
	EXPECT(fxt_label_known[fxt_wait_hash(VARIABLE) >> 52] != VARIABLE);
	label = fxt_label_made(&part_thread, FXT_LABEL_SEM, VARIABLE, PLACE);
	EXPECT(label.is_repeated && fxt_label_of(FXT_LABEL_SEM, VARIABLE).text);
	EXPECT(fxt_label_known[fxt_wait_hash(VARIABLE) >> 52] == VARIABLE);
	DURABLE("");
	/* One that was used before it was made. */
	use(FXT_LABEL_COND, OTHER, PLACE);
	*durable_said = 0;
	label = fxt_label_made(&part_thread, FXT_LABEL_COND, OTHER, PLACE);
	EXPECT(!label.is_repeated);
	DURABLE("object 0x7100 of 70 \"cond of f2\" type=cond since=1005u\n");
	/* When recording begins again, everything is told again. */
	fxt_labels_again();
	use(FXT_LABEL_COND, OTHER, PLACE);
	DURABLE("object 0x7100 of 70 \"cond first used by f2\" type=cond\n");
}
END_TEST

START_TEST(streams_are_called_by_what_was_opened)
{
	struct fxt_label label;
	char path[200], expected[600];
	unsigned bytes;

	label = fxt_label_opened(&part_thread, FXT_LABEL_FILE, OBJECT, PLACE, 2000, "/tmp/a", 5);
	EXPECT(label.how == FXT_LABEL_PATH && !label.is_repeated);
	DURABLE("object 0x7000 of 70 \"FILE /tmp/a\" type=FILE since=2000u fd=5 path=\"/tmp/a\"\n");
	/* The same once more: the trace has it. */
	EXPECT(!fxt_label_forget(FXT_LABEL_FILE, OBJECT).text);
	label = fxt_label_opened(&part_thread, FXT_LABEL_FILE, OBJECT, PLACE, 2000, "/tmp/a", 5);
	EXPECT(label.text && !label.is_repeated);
	DURABLE("");
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OBJECT, PLACE, 2100, "/tmp/a", 6);
	DURABLE("object 0x7000 of 70 \"FILE /tmp/a\" type=FILE since=2100u fd=6 path=\"/tmp/a\"\n");
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OBJECT, PLACE, 2100, "/tmp/b", 6);
	DURABLE("object 0x7000 of 70 \"FILE /tmp/b\" type=FILE since=2100u fd=6 path=\"/tmp/b\"\n");
	(void)fxt_label_opened(&part_thread, FXT_LABEL_DIR, OBJECT, PLACE, 2200, "/tmp/b", -1);
	DURABLE("object 0x7000 of 70 \"DIR /tmp/b\" type=DIR since=2200u path=\"/tmp/b\"\n");
	/* By a descriptor, or by nothing. */
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OTHER, PLACE, 2300, NULL, 0);
	DURABLE("object 0x7100 of 70 \"FILE of descriptor 0\" type=FILE since=2300u fd=0\n");
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OTHER, PLACE, 2400, NULL, 123);
	DURABLE("object 0x7100 of 70 \"FILE of descriptor 123\" type=FILE since=2400u fd=123\n");
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OTHER, PLACE, 2500, NULL, -1);
	DURABLE("object 0x7100 of 70 \"FILE of f2\" type=FILE since=2500u\n");
	/* Of a long path the end is kept. */
	for (bytes = 94; bytes < 100; bytes++) {
		memset(path, 'p', bytes);
		path[bytes] = 0;
		path[0] = '/';
		(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, OTHER, PLACE, 2600, path, 7);
		if (bytes <= 96)
			sprintf(expected,
				"object 0x7100 of 70 \"FILE %s\" type=FILE since=2600u fd=7 path=\"%s\"\n",
				path, path);
		else
			sprintf(expected,
				"object 0x7100 of 70 \"FILE ..%s\" type=FILE since=2600u fd=7 path=\"%s\"\n",
				path + bytes - 94, path + bytes - 94);
		DURABLE(expected);
	}
}
END_TEST

START_TEST(memory_that_is_freed_has_no_objects)
{
	static const uintptr_t objects[] = {0x8000, 0x8010, 0x8ff8, 0x9000};
	unsigned i;

	for (i = 0; i < 4; i++)
		use(FXT_LABEL_MUTEX, objects[i], PLACE);
	*durable_said = 0;
	fxt_labels_freed((void *)0x8008, 0x8ff8);
	fxt_labels_freed((void *)0x8010, 0);
	fxt_labels_freed((void *)0x100, SIZE_MAX);
	EXPECT(fxt_label_of(FXT_LABEL_MUTEX, 0x8000).text && !fxt_label_of(FXT_LABEL_MUTEX, 0x8010).text &&
	       !fxt_label_of(FXT_LABEL_MUTEX, 0x8ff8).text && !fxt_label_of(FXT_LABEL_MUTEX, 0x9000).text);
	EXPECT(fxt_label_known[fxt_wait_hash(0x8000) >> 52] == 0x8000 &&
	       !fxt_label_known[fxt_wait_hash(0x8010) >> 52]);
	/* What is there again was there before, so its name has a beginning. */
	use(FXT_LABEL_COND, 0x8010, FREE_PLACE);
	DURABLE("object 0x8010 of 70 \"cond first used by f3\" type=cond since=1001u\n");
	/* Variables of libraries that are gone. */
	use(FXT_LABEL_MUTEX, VARIABLE, PLACE);
	*durable_said = 0;
	unloads = false;
	fxt_labels_unloaded();
	EXPECT(fxt_label_of(FXT_LABEL_MUTEX, VARIABLE).text);
	unloads = true;
	part.stack_is_short = true;
	fxt_labels_unloaded();
	part.stack_is_short = false;
	EXPECT(fxt_label_of(FXT_LABEL_MUTEX, VARIABLE).text);
	hold(true);
	use(FXT_LABEL_MUTEX, OTHER, PLACE);
	EXPECT(fxt_owed_any());
	hold(false);
	fxt_labels_unloaded();
	EXPECT(!fxt_label_known[fxt_wait_hash(0x8000) >> 52] && !fxt_owed_any());
}
END_TEST

/* -- Names that are owed ------------------------------------------------------------------------- */

START_TEST(a_name_is_owed_while_a_lock_is_held)
{
	struct fxt_label label;

	hold(true);
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(fxt_owed_count == 1 && part_thread.commit & FXT_COMMIT_DEFERRED && !found_named);
	label = fxt_label_made(&part_thread, FXT_LABEL_SEM, OTHER, FREE_PLACE);
	EXPECT(!label.text && fxt_owed_count == 2);
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, 0x7200, PLACE, 1500, NULL, -1);
	DURABLE("");
	hold(false);
	fxt_labels_tell_owed(&part_thread, 0);
	DURABLE("object 0x7000 of 70 \"mutex first used by f2\" type=mutex\n"
		"object 0x7100 of 70 \"sem of f3\" type=sem since=1002u\n"
		"object 0x7200 of 70 \"FILE of f2\" type=FILE since=1500u\n");
	EXPECT(!fxt_owed_any() && fxt_label_known[fxt_wait_hash(OBJECT) >> 52] == OBJECT);
	EXPECT(fxt_label_of(FXT_LABEL_SEM, OTHER).text);
	/* A path needs no look at symbols. */
	hold(true);
	(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, 0x7300, PLACE, 1600, "/x", 3);
	DURABLE("object 0x7300 of 70 \"FILE /x\" type=FILE since=1600u fd=3 path=\"/x\"\n");
	/* The next use without a lock tells what is owed before it. */
	use(FXT_LABEL_MUTEX, 0x7400, PLACE);
	hold(false);
	use(FXT_LABEL_MUTEX, 0x7500, PLACE);
	DURABLE("object 0x7400 of 70 \"mutex first used by f2\" type=mutex\n"
		"object 0x7500 of 70 \"mutex first used by f2\" type=mutex\n");
	/* One that is destroyed before it is told was there all the same, and is dead. */
	hold(true);
	use(FXT_LABEL_MUTEX, 0x7600, PLACE);
	(void)fxt_label_forget(FXT_LABEL_MUTEX, 0x7600);
	hold(false);
	fxt_labels_tell_owed(&part_thread, 0);
	DURABLE("object 0x7600 of 70 \"mutex first used by f2\" type=mutex\n");
	EXPECT(!fxt_label_of(FXT_LABEL_MUTEX, 0x7600).text && !fxt_label_known[fxt_wait_hash(0x7600) >> 52]);
	/* Without a name it is counted, one that was made each time. */
	has_names = false;
	hold(true);
	use(FXT_LABEL_MUTEX, 0x7700, PLACE);
	(void)fxt_label_made(&part_thread, FXT_LABEL_MUTEX, 0x7800, PLACE);
	hold(false);
	fxt_labels_tell_owed(&part_thread, 0);
	EXPECT(part.lost[FXT_LOSS_UNNAMED] == 2);
	has_names = true;
	/* A name of another thread waits for that one, unless it is old. */
	hold(true);
	use(FXT_LABEL_MUTEX, 0x7900, PLACE);
	hold(false);
	part_thread.tid++;
	*durable_said = 0;
	fxt_labels_tell_owed(&part_thread, part_thread.last_ns);
	DURABLE("");
	fxt_labels_tell_owed(&part_thread, part_thread.last_ns + 1);
	EXPECT(*durable_said);
	/* A child owes nothing. */
	hold(true);
	use(FXT_LABEL_MUTEX, 0x7a00, PLACE);
	hold(false);
	fxt_labels_after_fork();
	EXPECT(!fxt_owed_any());
}
END_TEST

START_TEST(places_have_names)
{
	size_t bytes;
	char text[20];

	EXPECT(!fxt_label_place(&part_thread, 0, &bytes) && !bytes);
	snprintf(text, sizeof(text), "%s", fxt_label_place(&part_thread, PLACE, &bytes));
	ck_assert_str_eq(text, "f2");
	EXPECT(bytes == 2 && found_named == 1);
	/* One that is in the table of functions is found there. */
	known = (struct fxt_function){.address = PLACE - 1, .name = "entry", .bytes = 5};
	EXPECT(fxt_label_place(&part_thread, PLACE, &bytes) == known.name && bytes == 5 && found_named == 1);
	hold(true);
	EXPECT(fxt_label_place(&part_thread, PLACE, &bytes) == known.name && bytes == 5);
	/* While a lock is held nothing is looked up, but what is known is said. */
	EXPECT(!fxt_label_place(&part_thread, FREE_PLACE, &bytes) && !bytes && fxt_owed_count == 1);
	EXPECT(!fxt_label_place(&part_thread, FREE_PLACE, &bytes) && fxt_owed_count == 1);
	symbols_are_read = true;
	EXPECT(!strcmp(fxt_label_place(&part_thread, 0x401, &bytes), "knownX") && bytes == 5);
	EXPECT(fxt_owed_count == 1 && found_named == 1);
	hold(false);
	fxt_labels_tell_owed(&part_thread, 0);
	EXPECT(found_named == 2 && !fxt_owed_any());
	DURABLE("");
	has_names = false;
	EXPECT(!fxt_label_place(&part_thread, FREE_PLACE, &bytes) && !bytes);
}
END_TEST

START_TEST(blocks_have_names)
{
	struct fxt_label label = fxt_label_block(&part_thread, PLACE);

	EXPECT(label.kind == FXT_LABEL_BLOCK && label.how == FXT_LABEL_MADE && label.bytes == 2);
	fxt_label_tell_block(&part_thread, OBJECT, &label, PLACE, 3000, 4096);
	DURABLE("object 0x7000 of 70 \"block of f2\" type=block since=3000u size=4096u\n");
	hold(true);
	label = fxt_label_block(&part_thread, PLACE);
	EXPECT(!label.text && !label.bytes);
	fxt_label_tell_block(&part_thread, OTHER, &label, PLACE, 3001, UINT64_C(5000000000));
	DURABLE("");
	hold(false);
	fxt_labels_tell_owed(&part_thread, 0);
	DURABLE("object 0x7100 of 70 \"block of f2\" type=block since=3001u size=5000000000ul\n");
	/* Without a name nothing is told, and nothing is owed where no lock is held. */
	label.text = NULL;
	fxt_label_tell_block(&part_thread, OTHER, &label, PLACE, 3002, 1);
	DURABLE("");
	EXPECT(!fxt_owed_any() && !fxt_label_of(FXT_LABEL_BLOCK, OBJECT).text);
}
END_TEST

/* Labels take so much of the durable area, and others stand in chunks. */
START_TEST(durable_names_have_a_bound)
{
	const struct fxt_label block = {"f", 1, 0, FXT_LABEL_BLOCK, FXT_LABEL_MADE, false};
	unsigned i, most[3];

	/* Each takes 7 words: header, address, process, name in 2, type and size; the time of it makes 8. */
	for (i = 0; i < 1200; i++)
		fxt_label_tell_block(&part_thread, OBJECT + i, &block, PLACE, 5, 77);
	most[0] = lines;
	lines = 0;
	for (i = 0; i < 2000; i++) {
		part_lane(FXT_CHUNK_WORDS);
		(void)fxt_label_opened(&part_thread, FXT_LABEL_FILE, 0x20000 + 64 * i, PLACE, 2000, NULL, 4);
	}
	most[1] = lines;
	lines = 0;
	for (i = 0; i < 2500; i++) {
		part_lane(FXT_CHUNK_WORDS);
		use(FXT_LABEL_MUTEX, 0x80000 + 16 * i, PLACE);
	}
	most[2] = lines;
	ck_assert_int_eq(most[0], 4096 / 8);
	ck_assert_int_eq(most[1], 4096 / 9);
	ck_assert_int_eq(most[2], 8192 / 7);
	EXPECT(*part_said());
	/* After a file was rewritten it has no durable area. */
	fxt_labels_again();
	part.lost[FXT_LOSS_UNNAMED] = 0;
	fxt_agent.buffer.tail_offset = 1;
	lines = 0;
	use(FXT_LABEL_MUTEX, OBJECT, PLACE);
	EXPECT(!lines);
	SAID("object 0x7000 of 70 \"mutex first used by f2\" type=mutex\n");
	fxt_agent.buffer.tail_offset = 0;
	use(FXT_LABEL_MUTEX, OTHER, PLACE);
	EXPECT(lines == 1 && !*part_said());
	/* Without a file there is nothing to tell. */
	part.has_file = false;
	use(FXT_LABEL_MUTEX, 0x7200, PLACE);
	EXPECT(lines == 1 && !*part_said() && !part.lost[FXT_LOSS_UNNAMED]);
}
END_TEST

int main(void)
{
	TCase *names = tcase_create("names");

	tcase_add_checked_fixture(names, setup, NULL);
	tcase_add_test(names, an_object_is_told_when_it_is_first_used);
	tcase_add_test(names, objects_without_names_are_counted_once);
	tcase_add_test(names, a_lock_that_is_made_again_is_the_same);
	tcase_add_test(names, streams_are_called_by_what_was_opened);
	tcase_add_test(names, memory_that_is_freed_has_no_objects);
	tcase_add_test(names, a_name_is_owed_while_a_lock_is_held);
	tcase_add_test(names, places_have_names);
	tcase_add_test(names, blocks_have_names);
	tcase_add_test(names, durable_names_have_a_bound);
	return RUN_SUITE("names", names);
}
