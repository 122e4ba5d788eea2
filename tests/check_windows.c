/* This tests the walk of fxt check in the order of time: it finds the same, whatever the length of the
 * stretches of time that it takes into memory. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/check/check.h"
#include "trace_words.h"

enum { MOST_WORDS = 60000, MARGIN = 64, ROUNDS = 150, THREADS = 4, IDS = 40 };

static uint64_t words[MOST_WORDS + MARGIN];
static size_t count;
static uint64_t state;

static unsigned below(unsigned n)
{
	return (unsigned)(random_of(&state) % n);
}

/* Writes an event of any kind. Most are calls that nest; many of the others lack what belongs to them. */
static void some_event(uint64_t now)
{
	unsigned thread = 1 + below(THREADS), name = 1 + below(3), id = below(IDS);

	switch (below(12)) {
	case 0: words[count++] = EVENT(2, 0, 0, thread, 1, name); words[count++] = now; break;
	case 1: words[count++] = EVENT(2, 2, 0, thread, 1, name); words[count++] = now; break;
	case 2: words[count++] = EVENT(2, 3, 0, thread, 1, name); words[count++] = now; break;
	case 3: case 4: case 5:
		words[count++] = EVENT(3, 5 + below(3), 0, thread, 1, name);
		words[count++] = now;
		words[count++] = id;
		break;
	case 6: case 7: case 8:
		words[count++] = EVENT(3, 8 + below(3), 0, thread, 1, name);
		words[count++] = now;
		words[count++] = id;
		break;
	default:
		words[count++] = EVENT(3, 4, 0, thread, 1, name);
		words[count++] = now - below(60);
		words[count++] = now;
	}
}

/* Makes a trace. Threads have stretches of the file by turns, and a stretch may lie far back in time. */
static void some_trace(void)
{
	const uint64_t prologue[] = {PROLOGUE};
	size_t limit = 40 + below(MOST_WORDS - 40);
	uint64_t now = 1000, step = 3 + below(30), base = now;

	memcpy(words, prologue, sizeof(prologue));
	count = sizeof(prologue) / 8;
	for (unsigned i = 2; i <= THREADS; i++) {
		words[count++] = HEAD(3, 3, i);
		words[count++] = 7 + i % 2;
		words[count++] = 8 + i;
	}
	while (count < limit) {
		if (below(200) == 0) {
			base = now > base ? now : base;
			now = base - (base > 2000 ? below(1000) : 0);
		}
		/* Now and then nothing happens for a long time. */
		now += below(500) ? below((unsigned)step) : 1000000000;
		some_event(now);
	}
}

static void check(struct fxt_check *c, uint64_t most_events, bool ring)
{
	const struct fxt_check_options options = {.most_events = most_events, .ring = ring};
	struct fxt_reader r;

	fxt_reader_init(&r, words, count * 8);
	fxt_check(c, &r, &options);
	fxt_check_free(c);
	fxt_reader_free(&r);
}

START_TEST(finds_the_same_in_any_stretches)
{
	uint64_t found = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seed = state, most = 200 + below(3000);
		bool ring = below(2);
		struct fxt_check at_once, by_turns;

		some_trace();
		check(&at_once, MOST_WORDS, ring);
		check(&by_turns, most, ring);
		ck_assert_uint_eq(by_turns.noted[FXT_NOTED_NOT_COMPARED], 0);
		for (int i = 0; i < FXT_FAULT_COUNT; i++) {
			const struct fxt_violation *x = &at_once.violations[i], *y = &by_turns.violations[i];

			ck_assert_msg(x->count == y->count && x->offset == y->offset &&
				      strcmp(x->detail, y->detail) == 0,
				      "state %#" PRIx64 ": %s: %" PRIu64 " at once, %" PRIu64 " by %" PRIu64,
				      seed, fxt_fault_text[i], x->count, y->count, most);
			found += x->count;
		}
		for (int i = 0; i < FXT_NOTED_COUNT; i++)
			ck_assert_msg(at_once.noted[i] == by_turns.noted[i],
				      "state %#" PRIx64 ": %s: %" PRIu64 " at once, %" PRIu64, seed,
				      fxt_noted_text[i], at_once.noted[i], by_turns.noted[i]);
	}
	/* The traces have faults, so there was something to compare. */
	ck_assert_uint_ne(found, 0);
}
END_TEST

/* If more events have one time than a stretch can have, the rest is not examined, and the check says so. */
START_TEST(says_what_it_does_not_examine)
{
	struct fxt_check c;
	const uint64_t prologue[] = {PROLOGUE};

	memcpy(words, prologue, sizeof(prologue));
	count = sizeof(prologue) / 8;
	for (int i = 0; i < 100; i++) {
		words[count++] = EVENT(2, 0, 0, 1, 1, 1);
		words[count++] = 5000;
	}
	check(&c, 60, false);
	ck_assert_uint_eq(c.violation_count, 0);
	ck_assert_uint_eq(c.noted[FXT_NOTED_NOT_COMPARED], 40);
	check(&c, 100, false);
	ck_assert_uint_eq(c.noted[FXT_NOTED_NOT_COMPARED], 0);
}
END_TEST

/* Writes a call of a provider with that clock, from `from_us` on for 10 us, with a flow event in it. */
static void flow_at(uint64_t provider, uint64_t rate, uint64_t from_us, unsigned kind, uint64_t id)
{
	words[count++] = HEAD(0, 1, 2 | AT(4, provider));
	words[count++] = EVENT(3, 4, 0, 1, 1, 2);
	words[count++] = from_us * rate / 1000000;
	words[count++] = (from_us + 10) * rate / 1000000;
	words[count++] = EVENT(3, kind, 0, 1, 1, 2);
	words[count++] = (from_us + 5) * rate / 1000000;
	words[count++] = id;
}

/* Flows lead from one provider to another whose clock has other ticks, whichever comes first in the file. */
START_TEST(compares_clocks_of_different_rates)
{
	static const uint64_t rates[] = {1000000, 24000000, 1000000000, 3000000000, 1000000007};
	const uint64_t prologue[] = {PROLOGUE};

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t from[2], flows = 1 + below(100), at_us = 1000000 + below(1000000);
		struct fxt_check c;

		memcpy(words, prologue, sizeof(prologue));
		count = sizeof(prologue) / 8;
		for (uint64_t i = 0; i < 2; i++) {
			from[i] = rates[below(5)];
			words[count++] = HEAD(0, 2, 1 | AT(4, 20 + i) | AT(36, 1));
			words[count++] = 'p';
			words[count++] = HEAD(1, 2, 0);
			words[count++] = from[i];
			words[count++] = HEAD(3, 3, 1);
			words[count++] = 100 + i;
			words[count++] = 100 + i;
			words[count++] = STRING(1, 1);
			words[count++] = 'c';
			words[count++] = STRING(2, 1);
			words[count++] = 'x';
		}
		for (uint64_t i = 0; i < flows; i++, at_us += 100) {
			bool is_late = below(2);

			/* The end may stand before the begin in the file. */
			if (is_late)
				flow_at(21, from[1], at_us + 20, 10, i);
			flow_at(20, from[0], at_us, 8, i);
			if (!is_late)
				flow_at(21, from[1], at_us + 20, 10, i);
		}
		/* One goes back in time. */
		flow_at(20, from[0], at_us + 50, 8, flows);
		flow_at(21, from[1], at_us, 10, flows);
		check(&c, 0, false);
		ck_assert_uint_eq(c.violation_count, 1);
		ck_assert_uint_eq(c.violations[FXT_FAULT_FLOW_END_ORPHAN].count, 1);
		check(&c, 7 + below(50), false);
		ck_assert_uint_eq(c.violation_count, 1);
	}
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("windows");

	random_begin();
	state = random_state_of(2);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, finds_the_same_in_any_stretches);
	tcase_add_test(c, says_what_it_does_not_examine);
	tcase_add_test(c, compares_clocks_of_different_rates);
	return RUN_SUITE("windows", c);
}
