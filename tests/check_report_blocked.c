/* This tests what the report says of threads that are blocked when the trace ends. Random threads, switches
 * and stacks are compared with a model. FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "trace_maker.h"

enum { ROUNDS = 100, THREADS = 40, STACKS = 4, MS = 1000000, FIRST_TID = 100 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

static const char *const channels[] = {"futex_do_wait", "pipe_read", "do_poll"};

/* This is what there is of each thread. A thread's id is FIRST_TID and its place. */
static struct {
	bool is_blocked, has_run;
	uint64_t left_ns, at_ns;
	unsigned stack;                 /* STACKS: none */
	unsigned channel;               /* 3: none */
	uint64_t lock;                  /* 0: none */
	unsigned awaited;               /* the place of a thread; THREADS: none */
} model[THREADS];

static char *text;

static void expect(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "there is no '%s' in:\n%.3000s", part, text);
}

/* Begins a trace of the kernel alone, from 1 ms on, with the stacks work < main, read < work < main, and so
 * on: each function of the program waits by way of one of the C library. */
static void begin_watch(void)
{
	static const char *const works[STACKS] = {"work_0", "work_1", "work_2", "work_3"};
	static const char *const calls[STACKS] = {"pthread_cond_wait", "read", "poll", "futex_wait"};

	begin_trace();
	kernel();
	fact(7, 7, "sampling", MS, ARGS({"hz", UINT, 199}, {"kernel", TEXT, TEXT_OF("sampled")}));
	frame(NODE(0), 0, "main", "/bin/app", 0x10);
	for (unsigned i = 0; i < STACKS; i++) {
		frame(NODE(10 + i), NODE(0), works[i], "/bin/app", 0x20 + i);
		frame(NODE(20 + i), NODE(10 + i), calls[i], "/lib/libc.so.6", 0x30 + i);
	}
}

static void put_blocked(unsigned i)
{
	struct argument args[6] = {{"state", TEXT, TEXT_OF("sleeping")}};
	unsigned count = 1;

	if (model[i].channel < 3)
		args[count++] = (struct argument){"in", TEXT, TEXT_OF(channels[model[i].channel])};
	if (model[i].stack < STACKS)
		args[count++] = (struct argument){"stack", POINTER, NODE(20 + model[i].stack)};
	if (model[i].lock)
		args[count++] = (struct argument){"lock", POINTER, model[i].lock};
	if (model[i].awaited < THREADS)
		args[count++] = (struct argument){"waits_for", KOID, FIRST_TID + model[i].awaited};
	fact(7, FIRST_TID + i, "blocked", model[i].at_ns, args);
}

static void draw_threads(unsigned count)
{
	uint64_t at = 2 * MS, waiting = random_below(100);

	memset(model, 0, sizeof(model));
	for (unsigned n = (unsigned)random_below(100); n; n--) {
		unsigned i = (unsigned)random_below(count);

		at += random_below(MS);
		model[i].has_run = true;
		model[i].left_ns = at + 5;
		switched(at, 1, 0, FIRST_TID + i);
		switched(at + 5, 3, FIRST_TID + i, 0);
		at += 5;
	}
	for (unsigned i = 0; i < count; i++) {
		model[i].is_blocked = random_below(3);
		model[i].stack = (unsigned)random_below(STACKS + 1);
		model[i].channel = (unsigned)random_below(4);
		model[i].at_ns = at += random_below(1000);
		model[i].lock = random_below(2) ? 0x1000 + random_below(4) : 0;
		/* Few wait for others at times, and at times most do, so that there are circles. */
		model[i].awaited = random_below(100) < waiting ? (unsigned)random_below(count) : THREADS;
		if (model[i].is_blocked)
			put_blocked(i);
	}
}

/* Returns whether a thread comes back to itself by going to whom it waits for. */
static bool is_in_circle(unsigned i)
{
	unsigned at = i;

	for (unsigned steps = 0; steps <= THREADS; steps++) {
		if (!model[at].is_blocked || model[at].awaited == THREADS)
			return false;
		at = model[at].awaited;
		if (at == i)
			return true;
	}
	return false;
}

static bool is_alike(unsigned a, unsigned b)
{
	return model[a].stack == model[b].stack && model[a].channel == model[b].channel &&
	       model[a].lock == model[b].lock && (model[a].lock || model[a].awaited == model[b].awaited);
}

static void compare(const struct fxt_report *report, unsigned count)
{
	const struct fxt_blocked_threads *b = &report->blocked;
	size_t blocked = 0, groups = 0, circles = 0;

	for (unsigned i = 0; i < count; i++)
		blocked += model[i].is_blocked;
	ck_assert_uint_eq(b->count, blocked);
	for (size_t k = 0; k < b->count; k++) {
		const struct fxt_blocked_thread *one = &b->list[k];
		unsigned i = (unsigned)(tid_of(one->thread) - FIRST_TID);
		size_t more = 0, before = 0;

		ck_assert_uint_lt(i, count);
		ck_assert(model[i].is_blocked);
		ck_assert_uint_eq(one->at_ns, model[i].at_ns);
		ck_assert_int_eq(one->is_whole, !model[i].has_run);
		ck_assert_uint_eq(one->since_ns, model[i].has_run ? model[i].left_ns : MS);
		ck_assert_uint_eq(one->lock, model[i].lock);
		ck_assert_uint_eq(one->awaited == FXT_NO_THREAD ? FIRST_TID + THREADS : tid_of(one->awaited),
				  FIRST_TID + model[i].awaited);
		ck_assert_int_eq(one->is_in_circle, is_in_circle(i));
		circles += one->is_in_circle;
		ck_assert(k == 0 || (b->list[k - 1].is_in_circle && !one->is_in_circle) ||
			  (b->list[k - 1].is_in_circle == one->is_in_circle &&
			   b->list[k - 1].since_ns <= one->since_ns));
		if (one->is_in_circle)
			continue;
		if (model[i].channel < 3)
			expect_symbol(one->in, channels[model[i].channel]);
		else
			ck_assert_uint_eq(one->in, 0);
		for (size_t m = 0; m < b->count; m++) {
			bool alike = m != k && !b->list[m].is_in_circle &&
				     is_alike(i, (unsigned)(tid_of(b->list[m].thread) - FIRST_TID));

			before += alike && m < k;
			more += alike && m > k;
		}
		ck_assert_int_eq(one->is_first, !before);
		ck_assert_uint_eq(one->more, before ? 0 : more);
		groups += one->is_first;
	}
	ck_assert(!(blocked - circles) == !groups);
	ck_assert_int_eq(fxt_blocked_threads_is_deadlock(b), circles != 0);
}

START_TEST(says_since_when_each_is_blocked)
{
	struct fxt_report report;
	unsigned count;

	random_seed((uint64_t)_i);
	count = 1 + (unsigned)random_below(THREADS);
	begin_watch();
	draw_threads(count);
	make_report(&report, 10);
	compare(&report, count);
	end_report(&report);
}
END_TEST

static void print(void)
{
	struct fxt_report report;
	size_t bytes;
	FILE *out;

	make_report(&report, 10);
	free(text);
	out = open_memstream(&text, &bytes);
	print_report(&report, out);
	fclose(out);
	end_report(&report);
}

START_TEST(prints_who_waits_in_what)
{
	begin_watch();
	switched(2 * MS, 3, 8, 0);
	fact(7, 7, "blocked", 5 * MS,
	     ARGS({"state", TEXT, TEXT_OF("sleeping")}, {"in", TEXT, TEXT_OF("do_poll")},
		  {"stack", POINTER, NODE(22)}));
	for (uint64_t tid = 8; tid <= 9; tid++)
		fact(7, tid, "blocked", 5 * MS,
		     ARGS({"state", TEXT, TEXT_OF("stopped")}, {"stack", POINTER, NODE(21)}));
	fact(7, 11, "blocked", 5 * MS, NO_ARGS);
	object_name(7, 0, "app");
	object_name(7, 8, "worker");
	print();
	expect("app 7: 1 process, 4 threads");
	expect("  7                                   > 4.00 ms  poll, in the kernel do_poll\n"
	       "      in work_2 (app)\n"
	       "      < main (app)\n");
	expect("  9 and 1 more                        > 4.00 ms  read (stopped)\n"
	       "      in work_1 (app) < main (app)\n");
	expect("  11                                  > 4.00 ms \n");
}
END_TEST

START_TEST(prints_who_waits_for_whom)
{
	begin_watch();
	fact(7, 7, "blocked", 5 * MS, ARGS({"waits_for", KOID, 8}, {"stack", POINTER, NODE(23)}));
	fact(7, 8, "blocked", 5 * MS,
	     ARGS({"waits_for", KOID, 9}, {"lock", POINTER, 0xabc0}, {"stack", POINTER, NODE(20)}));
	fact(7, 9, "blocked", 5 * MS,
	     ARGS({"waits_for", KOID, 8}, {"lock", POINTER, 0xabc8}, {"stack", POINTER, NODE(21)}));
	fact(7, 11, "blocked", 5 * MS, ARGS({"waits_for", KOID, 11}, {"lock", POINTER, 0xabd0}));
	fact(7, 12, "blocked", 5 * MS, ARGS({"lock", POINTER, 0xabe0}));
	print();
	expect("\nDEADLOCK\n");
	expect("  8 has waited > 4.00 ms\n"
	       "      for mutex 0xabc0 that 9 holds\n"
	       "      in work_0 (app)\n"
	       "      < main (app)\n"
	       "  9 has waited > 4.00 ms\n"
	       "      for mutex 0xabc8 that 8 holds\n"
	       "      in work_1 (app)\n"
	       "      < main (app)\n");
	expect("  11 has waited > 4.00 ms\n"
	       "      for mutex 0xabd0 that it holds itself\n");
	expect("  7                                   > 4.00 ms  futex_wait\n"
	       "      for the end of 8\n"
	       "      in work_3 (app)\n");
	expect("  12                                  > 4.00 ms \n"
	       "      for mutex 0xabe0\n");
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("blocked");

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, says_since_when_each_is_blocked, 0, ROUNDS);
	tcase_add_test(tests, prints_who_waits_in_what);
	tcase_add_test(tests, prints_who_waits_for_whom);
	return RUN_SUITE("report: blocked", tests);
}
