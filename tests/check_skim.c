/* This tests what knows events by their form: the loop of the join that copies and counts records by it
 * alone, and the reader, which looks up only once what the events of a form refer to. What comes of either
 * is the same as if each record was decoded. */
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
		switch (below(7)) {
		case 0: words[count++] = ARG(1, 1, 3, below(100)); break;
		/* Not every value is one of these types. */
		case 4: words[count++] = ARG(9, 1, 3, below(3)); break;
		case 5: words[count++] = ARG(0, 1, 3, !below(8)); break;
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

/* The sum of all faults that a reader has found. */
static void add_fault(void *context, enum fxt_fault fault, uint64_t offset, const char *detail)
{
	uint64_t *sum = context;

	*sum = (*sum ^ fault ^ offset) * UINT64_C(0x9e3779b97f4a7c15) + (unsigned char)*detail;
}

static bool is_same_text(const struct fxt_text *a, const struct fxt_text *b)
{
	return fxt_text_equal(a, b) && !a->symbol == !b->symbol;
}

static bool is_same_argument(const struct fxt_argument *a, const struct fxt_argument *b)
{
	if (a->type != b->type || !is_same_text(&a->name, &b->name))
		return false;
	return a->type == FXT_ARG_STRING ? is_same_text(&a->string, &b->string)
					 : a->type == FXT_ARG_NULL || a->u == b->u;
}

/* Fails if two readers have read something different from one record. */
static void expect_same(const struct fxt_record *a, const struct fxt_record *b, uint64_t seed)
{
	bool same = a->offset == b->offset && a->header == b->header && a->words == b->words &&
		    a->type == b->type && a->subtype == b->subtype && a->known == b->known &&
		    a->damaged == b->damaged && a->provider->index == b->provider->index &&
		    a->timed == b->timed && a->ticks == b->ticks && a->thread == b->thread &&
		    a->incoming == b->incoming && a->cpu == b->cpu && a->state == b->state &&
		    a->id == b->id &&
		    is_same_text(&a->category, &b->category) && is_same_text(&a->name, &b->name) &&
		    a->blob_bytes == b->blob_bytes && a->has_extra == b->has_extra && a->extra == b->extra &&
		    a->appended_zeros == b->appended_zeros && a->arg_count == b->arg_count;

	for (unsigned i = 0; same && i < a->arg_count; i++)
		same = is_same_argument(&a->args[i], &b->args[i]);
	ck_assert_msg(same, "state %#" PRIx64 ": the record at byte %" PRIu64 " is read in two ways", seed,
		      a->offset);
}

/* The first event of each kind that the quick reader has told of in this round. */
enum { MOST_KINDS = 4096 };
static struct fxt_record *first_of[MOST_KINDS + 1];
static unsigned events_of_kinds;

static void forget_kinds(void)
{
	for (size_t i = 0; i <= MOST_KINDS; i++) {
		free(first_of[i]);
		first_of[i] = NULL;
	}
}

/* Fails if an event has the number of a kind and is not of it. */
static void expect_kind(const struct fxt_record *rec, uint64_t seed)
{
	const struct fxt_record *first;
	bool same;

	if (rec->type != FXT_RECORD_EVENT || !rec->known || !rec->kind)
		return;
	ck_assert_uint_le(rec->kind, MOST_KINDS);
	events_of_kinds++;
	if (!first_of[rec->kind]) {
		first_of[rec->kind] = malloc(sizeof(*rec));
		ck_assert_ptr_nonnull(first_of[rec->kind]);
		fxt_record_copy(first_of[rec->kind], rec);
		return;
	}
	first = first_of[rec->kind];
	same = first->subtype == rec->subtype && first->arg_count == rec->arg_count &&
	       is_same_text(&first->category, &rec->category) && is_same_text(&first->name, &rec->name);
	for (unsigned i = 0; same && i < rec->arg_count; i++)
		same = first->args[i].type == rec->args[i].type &&
		       is_same_text(&first->args[i].name, &rec->args[i].name);
	ck_assert_msg(same, "state %#" PRIx64 ": the event at byte %" PRIu64 " is not of kind %" PRIu32, seed,
		      rec->offset, rec->kind);
}

/* Makes the reader read the next event at length. */
static void forget_forms(struct fxt_reader *r)
{
	free(r->forms);
	r->forms = NULL;
}

/* Reads some events once more, in any order. The records between tell whose they are. */
static void read_again(struct fxt_reader *quick, struct fxt_reader *slow, uint64_t seed)
{
	static struct fxt_record a, b;
	static size_t at[MOST_WORDS];
	static uint32_t provider[MOST_WORDS];
	struct fxt_provider *p = slow->providers[0];
	size_t events = 0;

	for (size_t i = 0; i < count; i += fxt_record_size_words(words[i])) {
		p = fxt_reader_provider_at(slow, i * 8, p);
		if ((words[i] & 15) == FXT_RECORD_EVENT) {
			at[events] = i * 8;
			provider[events++] = p->index;
		}
	}
	for (size_t i = 0; i < events; i++) {
		size_t n = below((unsigned)events);
		bool is_event = fxt_reader_event_at(quick, at[n], quick->providers[provider[n]], &a);

		forget_forms(slow);
		ck_assert(is_event && fxt_reader_event_at(slow, at[n], slow->providers[provider[n]], &b));
		expect_same(&a, &b, seed);
		expect_kind(&a, seed);
	}
}

/* Writes an event that was written before, now and then with another value. */
static void some_event_again(void)
{
	static size_t at[MOST_WORDS];
	size_t events = 0, n, from;

	for (size_t i = 0; i < count; i += fxt_record_size_words(words[i]))
		if ((words[i] & 15) == FXT_RECORD_EVENT)
			at[events++] = i;
	if (!events)
		return;
	from = at[below((unsigned)events)];
	n = fxt_record_size_words(words[from]);
	memcpy(words + count, words + from, n * 8);
	if (n > 2 && !below(4))
		words[count + 2 + below((unsigned)n - 2)] ^= UINT64_C(1) << below(64);
	count += n;
}

/* The strings and threads of two programs change their meanings all the time. */
START_TEST(reads_a_form_as_its_events)
{
	static struct fxt_record a, b;
	uint64_t known = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seed = state, faults[2] = {0};
		size_t limit = 20 + below(MOST_WORDS / 16);
		struct fxt_reader quick, slow;

		begin();
		while (count < limit) {
			if (below(4))
				some_event_again();
			else
				some_record();
			if (!below(40))
				words[count++] = HEAD(0, 1, 2 | AT(4, 7 + below(2)));
		}
		fxt_reader_init(&quick, words, count * 8);
		fxt_reader_init(&slow, words, count * 8);
		quick.strict = slow.strict = below(2);
		quick.on_fault = slow.on_fault = add_fault;
		quick.fault_context = &faults[0];
		slow.fault_context = &faults[1];
		while (fxt_reader_next(&quick, &a)) {
			forget_forms(&slow);
			ck_assert(fxt_reader_next(&slow, &b));
			expect_same(&a, &b, seed);
			expect_kind(&a, seed);
			known += quick.forms != NULL;
		}
		ck_assert(!fxt_reader_next(&slow, &b) && quick.stop == slow.stop);
		ck_assert_uint_eq(faults[0], faults[1]);
		ck_assert_uint_eq(quick.damaged_records, slow.damaged_records);
		read_again(&quick, &slow, seed);
		fxt_reader_free(&quick);
		fxt_reader_free(&slow);
		forget_kinds();
	}
	ck_assert(known && events_of_kinds);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("skim");

	random_begin();
	state = random_state_of(1);
	tcase_add_test(c, copies_what_decoding_would);
	tcase_add_test(c, examines_a_form_once);
	tcase_add_test(c, reads_a_form_as_its_events);
	return RUN_SUITE("skim", c);
}
