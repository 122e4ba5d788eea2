/* This tests who had a number when (tools/join/bearers.h) with a model. It makes up processes and threads
 * that have a few numbers in turn, and tells of them what witnesses would: parents, the processes themselves
 * and the kernel, some of whom tell nothing. Each process then has to be one, and to be found by its time.
 * The seed is printed; FXT_SEED=N gives the same numbers again.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/join/bearers.h"

enum { NUMBERS = 5, MOST = 40, ROUNDS = 3000, PROGRAMS = 3 };

/* One that has the number from `begin` to `end`. */
struct one {
	uint64_t number, begin, end;
	bool is_thread; /* of a process that has a number of its own */
	uint64_t programs[PROGRAMS]; /* when programs in it began */
	size_t program_count, first_program;
};

static struct one all[NUMBERS * MOST];
static size_t count, program_count;
static struct fxt_bearers b;

static void tell(uint64_t number, uint64_t at_ns, enum fxt_life_sign_kind kind, uint64_t since_ns,
		 size_t program)
{
	fxt_bearers_live(&b, (struct fxt_life_sign){number, at_ns, since_ns, kind, program});
}

/* Makes up who has the number in turn. Between two of them there is a moment at least. */
static void make(uint64_t number)
{
	uint64_t at = 1 + random_below(1000);
	size_t most = 1 + random_below(MOST);

	for (size_t i = 0; i < most; i++) {
		struct one *one = &all[count++];

		*one = (struct one){.number = number, .begin = at, .is_thread = random_below(4) == 0};
		for (size_t n = random_below(PROGRAMS + 1); n; n--) {
			at += 2 + random_number(30);
			one->programs[one->program_count++] = at;
		}
		at += 1 + random_number(30);
		one->end = at;
		at += 1 + random_number(30);
	}
}

/* Tells of one process what its witnesses know. Either its parent is one of them, or the kernel is. */
static void witness(struct one *one, bool parent, bool kernel)
{
	bool is_reaped = random_below(4), has_exited = random_below(2);
	uint64_t late = one->end + random_below(2);

	one->first_program = program_count;
	program_count += one->program_count;
	for (size_t i = 0; i < one->program_count; i++)
		tell(one->number, one->programs[i], FXT_SIGN_PROGRAM, 0, one->first_program + i);
	if (parent)
		tell(one->number, one->begin, FXT_SIGN_BORN, 0, 0);
	/* The parent may have been told when the number had gone on. */
	if (parent && is_reaped)
		tell(one->number, late + random_below(2) * random_number(31), FXT_SIGN_END, one->begin, 0);
	if (has_exited)
		tell(one->number, one->end, FXT_SIGN_END, 0, 0);
	if (!kernel)
		return;
	tell(one->number, one->begin, FXT_SIGN_SEEN, 0, 0);
	tell(one->number, one->end, FXT_SIGN_KERNEL_END, 0, 0);
	/* Another thread has executed the last program. */
	if (one->program_count && random_below(4) == 0) {
		uint64_t at = one->programs[one->program_count - 1];

		tell(one->number, at - 1, FXT_SIGN_KERNEL_END, 0, 0);
		tell(one->number, at, FXT_SIGN_EXECUTED, 0, 0);
		tell(one->number, at, FXT_SIGN_SEEN, 0, 0);
	}
}

static void shuffle(void)
{
	for (size_t i = b.life_count; i > 1; i--) {
		size_t other = random_below(i);
		struct fxt_life_sign sign = b.lives[i - 1];

		b.lives[i - 1] = b.lives[other];
		b.lives[other] = sign;
	}
}

/* Looks at all processes, and at the threads that had their numbers in between. */
static void compare(size_t owner)
{
	size_t before = SIZE_MAX, place;
	uint64_t again = 0;

	for (size_t i = 0; i < count; i++) {
		const struct one *one = &all[i];
		uint64_t middle = one->begin + (one->end - one->begin) / 2;

		again = i && all[i - 1].number == one->number ? again + 1 : 0;
		place = one->is_thread ? fxt_bearers_thread_of(&b, FXT_NO_BEARER, one->number, middle)
				       : fxt_bearers_process(&b, one->number, middle);
		ck_assert_uint_ne(place, FXT_NO_BEARER);
		ck_assert_uint_ne(place, before);
		ck_assert_uint_eq(b.list[place].number, one->number);
		ck_assert_uint_eq(b.list[place].koid, one->number + again * FXT_AGAIN_STEP);
		ck_assert_uint_eq(b.list[place].process == place, !one->is_thread);
		ck_assert_uint_eq(b.list[place].process == owner, one->is_thread);
		ck_assert_uint_eq(fxt_bearers_thread_of(&b, FXT_NO_BEARER, one->number, middle), place);
		for (size_t n = 0; n < one->program_count; n++)
			ck_assert_uint_eq(fxt_bearers_of_program(&b, one->first_program + n), place);
		before = place;
	}
}

/* Threads of processes that live for ever have the numbers of threads, one process for each. */
static size_t add_threads(uint64_t owner)
{
	size_t process = fxt_bearers_process(&b, owner, 1);
	bool has_one[NUMBERS + 1] = {false};

	for (size_t i = 0; i < count; i++) {
		if (!all[i].is_thread)
			continue;
		/* One process has a number for one thread only. */
		ck_assert(!has_one[all[i].number]);
		has_one[all[i].number] = true;
		fxt_bearers_thread(&b, process, all[i].number, all[i].end);
		fxt_bearers_thread(&b, process, all[i].number, all[i].begin);
	}
	return process;
}

START_TEST(tells_apart)
{
	enum { OWNER = NUMBERS + 1 };

	for (int round = 0; round < ROUNDS; round++) {
		bool parent = random_below(2), kernel = !parent || random_below(2);
		uint64_t numbers = 1 + random_below(NUMBERS);

		count = program_count = 0;
		for (uint64_t number = 1; number <= numbers; number++) {
			size_t first = count;
			bool had_thread = false;

			make(number);
			for (size_t i = first; i < count; i++) {
				all[i].is_thread = all[i].is_thread && !had_thread;
				had_thread = had_thread || all[i].is_thread;
				if (all[i].is_thread)
					all[i].program_count = 0;
				else
					witness(&all[i], parent, kernel);
			}
		}
		tell(OWNER, 1, FXT_SIGN_BORN, 0, 0);
		shuffle();
		fxt_bearers_find(&b);
		add_threads(OWNER);
		fxt_bearers_give(&b);
		compare(fxt_bearers_process(&b, OWNER, 1));
		fxt_bearers_free(&b);
	}
}
END_TEST

/* Numbers go on to have koids of their own up to the largest that viewers read; what is beyond is told as
 * one. */
START_TEST(has_a_most)
{
	enum { MORE = FXT_AGAIN_MOST + 20 };

	for (uint64_t i = 0; i < MORE; i++)
		tell(FXT_NUMBER_MOST, 10 + i * 10, FXT_SIGN_BORN, 0, 0);
	/* Another namespace has made this number for itself. */
	tell(UINT32_MAX, 10, FXT_SIGN_BORN, 0, 0);
	tell(UINT32_MAX, 20, FXT_SIGN_BORN, 0, 0);
	fxt_bearers_find(&b);
	ck_assert(fxt_bearers_give(&b));
	for (uint64_t i = 0; i < MORE; i++) {
		size_t place = fxt_bearers_process(&b, FXT_NUMBER_MOST, 15 + i * 10);
		uint64_t again = i < FXT_AGAIN_MOST ? i : FXT_AGAIN_MOST;

		ck_assert_uint_eq(b.list[place].koid, FXT_NUMBER_MOST + again * FXT_AGAIN_STEP);
		ck_assert_uint_lt(b.list[place].koid, UINT64_C(1) << 32);
	}
	ck_assert_uint_eq(b.list[fxt_bearers_process(&b, UINT32_MAX, 25)].koid, UINT32_MAX);
	fxt_bearers_free(&b);
}
END_TEST

/* A program may be known before its process is born, by the clocks' inaccuracy; and where nobody tells of an
 * end, a program that begins was executed. */
START_TEST(was_the_same)
{
	tell(7, 99, FXT_SIGN_PROGRAM, 0, 0);
	tell(7, 100, FXT_SIGN_BORN, 0, 0);
	tell(7, 200, FXT_SIGN_PROGRAM, 0, 1);
	fxt_bearers_find(&b);
	ck_assert(!fxt_bearers_give(&b));
	ck_assert_uint_eq(b.count, 1);
	ck_assert_uint_eq(fxt_bearers_of_program(&b, 1), 0);
	ck_assert_uint_eq(fxt_bearers_process(&b, 8, 100), FXT_NO_BEARER);
	fxt_bearers_free(&b);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("bearers");

	random_seed(0);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, tells_apart);
	tcase_add_test(c, has_a_most);
	tcase_add_test(c, was_the_same);
	return RUN_SUITE("bearers", c);
}
