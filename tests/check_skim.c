/* This tests the loop of the join that copies and counts records by their form alone. What comes of it is the
 * same as if each record was decoded. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/join/merge.h"
#include "tools/reading/reader.h"
#include "trace_words.h"

enum { MOST_WORDS = 40000, MARGIN = 64, ROUNDS = 200, KEYS = 256 };

static uint64_t words[MOST_WORDS + MARGIN], out[MOST_WORDS + MARGIN];
static size_t count;
static uint64_t state;

static unsigned below(unsigned n)
{
	return (unsigned)(random_of(&state) % n);
}

static void begin(void)
{
	const uint64_t prologue[] = {PROLOGUE};

	memcpy(words, prologue, sizeof(prologue));
	count = sizeof(prologue) / 8;
}

/* Writes an argument whose name is string 3 and whose value is an inline string of so many bytes. */
static void text_argument(unsigned bytes)
{
	unsigned n = (bytes + 7) / 8;

	words[count++] = ARG(6, 1 + n, 3, 0x8000 | bytes);
	for (unsigned i = 0; i < n; i++)
		words[count++] = UINT64_C(0x6161616161616161);
	if (bytes % 8)
		words[count - 1] >>= 64 - bytes % 8 * 8;
}

/* Writes an argument of any type. Some are wrong: they are too long, or have a string or a type that does not
 * exist. */
static void some_argument(void)
{
	switch (below(40)) {
	case 0: words[count++] = ARG(6, 1, 3, 5); break;
	case 1: words[count++] = ARG(1, 1, 9, 5); break;
	case 2: words[count++] = ARG(1, 2, 3, 5); words[count++] = 0; break;
	case 3: words[count++] = ARG(11, 1, 3, 0); break;
	case 4: words[count++] = ARG(6, 2, 3, 0x8000 | 9); words[count++] = 0; break;
	default:
		switch (below(5)) {
		case 0: words[count++] = ARG(1, 1, 3, below(100)); break;
		case 1: words[count++] = ARG(3, 2, 2, 0); words[count++] = random_of(&state); break;
		case 2: words[count++] = ARG(6, 1, 3, 1 + below(3)); break;
		case 3: words[count++] = ARG(8, 2, 3, 0); words[count++] = random_of(&state); break;
		default: text_argument(below(40)); break;
		}
	}
}

static void some_event(void)
{
	static const unsigned kinds[] = {0, 2, 3, 4, 4, 4, 4, 8, 10};
	size_t at = count;
	unsigned kind = kinds[below(9)], args = below(8);
	unsigned name = below(30) ? 1 + below(3) : 0x8004;

	count += 2;
	if (name == 0x8004)
		words[count++] = TEXT8('n', 'a', 'm', 'e', 0, 0, 0, 0);
	for (unsigned i = 0; i < args; i++)
		some_argument();
	/* One in fifty ends before it begins. */
	if (kind >= 4)
		words[count++] = below(50) ? 1000 : 10;
	words[at] = EVENT(count - at, kind, args, 1 + below(2), 1 + below(2), name);
	words[at + 1] = 100;
}

static void some_record(void)
{
	unsigned n;

	switch (below(60)) {
	case 0:
		words[count++] = STRING(1 + below(3), 1);
		words[count++] = 'a' + below(20);
		break;
	case 1:
		words[count++] = HEAD(3, 3, 1 + below(2));
		words[count++] = 7;
		words[count++] = 8 + below(3);
		break;
	case 2: case 3: case 4: case 5: case 6: case 7: case 8: case 9: case 10:
		n = 1 + below(8);
		words[count] = HEAD(0, n, 15);
		count += n;
		break;
	default: some_event();
	}
}

/* Returns a key that differs between all the names that are given here. */
static size_t key_of(const char *name, size_t bytes)
{
	return (unsigned char)name[0] + 32 * bytes;
}

/* Decodes each record. Stores the words that the join should copy, and returns how many. Counts the events
 * of each category. */
static size_t decoded(uint64_t *to, uint64_t events[KEYS])
{
	static struct fxt_record rec;
	struct fxt_reader r;
	size_t n = 1;

	to[0] = MAGIC;
	memset(events, 0, KEYS * sizeof(*events));
	fxt_reader_init(&r, words, count * 8);
	while (fxt_reader_next(&r, &rec)) {
		if (rec.damaged || (rec.type == FXT_RECORD_METADATA &&
				    (!rec.known || rec.subtype == FXT_METADATA_TRACE_INFO)))
			continue;
		memcpy(to + n, words + rec.offset / 8, rec.words * 8);
		n += rec.words;
		if (rec.type == FXT_RECORD_EVENT)
			events[key_of(rec.category.text, rec.category.bytes)]++;
	}
	ck_assert_int_eq(r.stop, FXT_STOP_END);
	fxt_reader_free(&r);
	return n;
}

/* Returns a copy of the words. There is no memory behind the last one, as there may be none behind a mapped
 * file. */
static const uint64_t *at_the_end_of_memory(void)
{
	static char *memory;
	static size_t bytes;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!memory) {
		bytes = (sizeof(words) + page - 1) / page * page;
		memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ck_assert(memory != MAP_FAILED && !mprotect(memory + bytes, page, PROT_NONE));
	}
	return memcpy(memory + bytes - count * 8, words, count * 8);
}

START_TEST(copies_what_decoding_would)
{
	static uint64_t expected[MOST_WORDS + MARGIN], events[KEYS];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seed = state, sum = 0;
		size_t n, limit = 20 + below(MOST_WORDS - 20 - MARGIN);
		struct fxt_merge m = {0};
		struct fxt_reader r;
		FILE *f = fmemopen(out, sizeof(out), "w");

		begin();
		while (count < limit)
			some_record();
		/* The shortest record, a provider section, may be the last. */
		if (below(2))
			words[count++] = HEAD(0, 1, 2 | AT(4, 7));
		n = decoded(expected, events);
		ck_assert(fxt_merge_begin(&m, f));
		fxt_reader_init(&r, at_the_end_of_memory(), count * 8);
		ck_assert(fxt_merge_trace(&m, &r) && fxt_merge_end(&m));
		fxt_reader_free(&r);
		fclose(f);
		ck_assert_msg(m.bytes == n * 8 && memcmp(out, expected, n * 8) == 0,
			      "state %#" PRIx64 ": what was copied differs", seed);
		for (size_t i = 0; i < m.category_count; i++) {
			const struct fxt_merged_category *c = &m.categories[i];
			uint64_t right = events[key_of(c->name, strlen(c->name))];

			ck_assert_msg(c->events == right,
				      "state %#" PRIx64 ": %" PRIu64 " events of %s for %" PRIu64, seed,
				      c->events, c->name, right);
			sum += right;
		}
		ck_assert_msg(m.events == sum, "state %#" PRIx64 ": %" PRIu64 " events for %" PRIu64, seed,
			      m.events, sum);
		fxt_merge_free(&m);
	}
}
END_TEST

/* The sums of what add_up() was told of all forms. */
struct told {
	uint64_t events;
	struct fxt_times times;
};

static void add_up(void *context, const struct fxt_form *form)
{
	struct told *told = context;

	told->events += form->count;
	told->times.first = form->times.first < told->times.first ? form->times.first : told->times.first;
	told->times.latest =
		form->times.latest > told->times.latest ? form->times.latest : told->times.latest;
	told->times.last = form->times.last > told->times.last ? form->times.last : told->times.last;
}

/* Each length of text makes another form, and calls have paths of any length. A form is examined once,
 * however many records have it. */
START_TEST(examines_a_form_once)
{
	enum { EVENTS = 3000, LONGEST = 40 };
	struct fxt_form form;
	struct fxt_reader r;
	struct told told = {.times.first = UINT64_MAX};
	struct fxt_times expected = told.times;
	struct fxt_skims s = {.counted = add_up, .context = &told};
	static struct fxt_record rec;
	unsigned examined = 0;

	begin();
	for (int i = 0; i < EVENTS; i++) {
		size_t at = count;

		count += 2;
		text_argument(1 + below(LONGEST));
		/* The first event is decoded below, and so is not counted by its form. */
		words[at + 1] = i ? 100 + below(10000) : 1;
		words[count] = words[at + 1] + below(1000);
		expected.first = i && words[at + 1] < expected.first ? words[at + 1] : expected.first;
		expected.latest = i && words[at + 1] > expected.latest ? words[at + 1] : expected.latest;
		expected.last = i && words[count] > expected.last ? words[count] : expected.last;
		count++;
		words[at] = EVENT(count - at, 4, 1, 1, 1, 2);
	}
	fxt_reader_init(&r, words, count * 8);
	/* A category has no symbol until an event of it is decoded. */
	while (fxt_reader_next(&r, &rec) && rec.type != FXT_RECORD_EVENT)
		;
	fxt_symbol(&r, &rec.category);
	for (fxt_reader_skim(&r, &s, NULL, 0); fxt_reader_examine(&r, &form);
	     fxt_reader_skim(&r, &s, NULL, 0)) {
		examined++;
		ck_assert(fxt_reader_remember(&r, &s, &form));
	}
	fxt_skims_tell(&s);
	ck_assert_uint_eq(r.at, r.size);
	ck_assert_uint_eq(told.events, EVENTS - 1);
	ck_assert_uint_eq(told.times.first, expected.first);
	ck_assert_uint_eq(told.times.latest, expected.latest);
	ck_assert_uint_eq(told.times.last, expected.last);
	/* Two forms may share a place, and then both are examined more than once. */
	ck_assert_msg(examined < EVENTS / 4, "%u of %d events were examined", examined, EVENTS);
	fxt_reader_free(&r);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("skim");

	random_begin();
	state = random_state_of(1);
	tcase_add_test(c, copies_what_decoding_would);
	tcase_add_test(c, examines_a_form_once);
	return RUN_SUITE("skim", c);
}
