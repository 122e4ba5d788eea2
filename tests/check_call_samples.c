/* This tests agent/stacks/call_samples.h: a thread makes calls of several kinds, whose lengths, numbers,
 * order and waits are drawn at random. What the samples say of each kind is compared with what was done, by
 * the deviation that is computed from the probabilities of all calls; and what the samples cost, with the
 * processor time. FXT_SEED names the numbers. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/stacks/call_samples.h"
#include "suite.h"

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 16) % below;
}

static void begin_random(void)
{
	const char *seed = getenv("FXT_SEED");

	state = seed ? strtoull(seed, NULL, 10) : (uint64_t)getpid() * 2654435761u;
	printf("FXT_SEED=%llu\n", (unsigned long long)state);
	fflush(stdout);
}

enum { KINDS = 4, CALLS = 3000000 };

struct kind {
	uint64_t least_ns, spread_ns;   /* how long its calls take */
	uint64_t wait_part;             /* of so many nanoseconds of a call, one is processor time */
	double calls, ns;               /* what was done */
	double calls_is, ns_is;         /* what samples say */
	double square_is;               /* the square of the deviation, as samples tell it */
	double calls_square, ns_square; /* the squares of the deviations */
	unsigned samples;
};

struct run {
	struct kind kinds[KINDS];
	struct fxt_call_samples samples;
	int64_t until;
	uint64_t now_ns, cpu_ns, first_cpu_ns, cost_ns, most_cost_ns;
	unsigned taken;
	bool can_ask;
};

static void begin_run(struct run *run)
{
	int i;

	*run = (struct run){.can_ask = true};
	for (i = 0; i < KINDS; i++) {
		run->kinds[i].least_ns = 20 + draw(UINT64_C(1) << draw(11));
		run->kinds[i].spread_ns = 1 + draw(UINT64_C(1) << draw(12));
		run->kinds[i].wait_part = 1 + draw(2) * draw(20);
	}
	run->most_cost_ns = 400 + draw(20000);
	run->now_ns = 1 + draw(UINT64_C(1) << 50);
	run->cpu_ns = run->first_cpu_ns = 1 + draw(UINT64_C(1) << 40);
	run->until = fxt_call_samples_begin(&run->samples, draw(UINT64_MAX));
}

static void make_call(struct run *run, struct kind *kind)
{
	uint64_t ns = kind->least_ns + draw(kind->spread_ns), units = ns + FXT_CALL_SAMPLE_NS, cost;
	/* 1 / p, without the functions that are tested */
	double weight = 1 / -expm1(-(double)units / (double)run->samples.rate_ns);

	kind->calls++;
	kind->ns += (double)ns;
	kind->calls_square += weight - 1;
	kind->ns_square += (double)ns * (double)ns * (weight - 1);
	run->now_ns += ns + 10;
	run->cpu_ns += ns / kind->wait_part + 10;
	run->until -= (int64_t)units;
	if (run->until >= 0)
		return;
	run->until = fxt_call_samples_take(&run->samples, ns, run->now_ns, run->can_ask ? run->cpu_ns : 0);
	ck_assert_msg(fabs(run->samples.stands_for - weight) <= weight / 400, "%.3f and not %.3f",
		      run->samples.stands_for, weight);
	kind->samples++;
	kind->calls_is += weight;
	kind->ns_is += weight * (double)ns;
	kind->square_is += weight * (weight - 1);
	cost = run->most_cost_ns / 2 + draw(run->most_cost_ns / 2);
	run->now_ns += cost;
	run->cpu_ns += cost;
	run->cost_ns += cost;
	run->taken++;
	fxt_call_samples_cost(&run->samples, cost);
}

static void compare(double is, double right, double square, const char *what)
{
	ck_assert_msg(fabs(is - right) <= 5 * sqrt(square) + 1, "%s: %.0f and not %.0f +- %.0f", what, is,
		      right, sqrt(square));
}

START_TEST(estimates_have_no_bias_at_any_rate)
{
	struct run run;
	int i;

	begin_random();
	begin_run(&run);
	/* Samples that cost more would be too few to compare: they may cost a 128th of the time. */
	run.most_cost_ns = 400 + draw(3000);
	/* Phases of the run differ in which kinds there are. */
	for (i = 0; i < CALLS; i++) {
		unsigned phase = (unsigned)i / 50000;

		make_call(&run, &run.kinds[draw(phase % 3 ? KINDS : 1 + phase % KINDS)]);
	}
	for (i = 0; i < KINDS; i++) {
		compare(run.kinds[i].calls_is, run.kinds[i].calls, run.kinds[i].calls_square, "calls");
		compare(run.kinds[i].ns_is, run.kinds[i].ns, run.kinds[i].ns_square, "time");
		/* Samples alone tell how far they may be wrong. */
		if (run.kinds[i].samples >= 100)
			ck_assert_double_le(fabs(run.kinds[i].square_is / run.kinds[i].calls_square - 1),
					    0.75);
	}
	ck_assert_uint_ge(run.taken, 100);
}
END_TEST

START_TEST(samples_cost_a_hundredth_at_most)
{
	struct run run;
	int i;

	begin_random();
	begin_run(&run);
	for (i = 0; i < CALLS; i++)
		make_call(&run, &run.kinds[draw(KINDS)]);
	ck_assert_msg((double)run.cost_ns * 100 <= (double)(run.cpu_ns - run.first_cpu_ns) + 100 * 200000.0,
		      "%u samples cost %llu of %llu ns", run.taken, (unsigned long long)run.cost_ns,
		      (unsigned long long)(run.cpu_ns - run.first_cpu_ns));
	/* and what they may cost they do, unless they are as many as there may be */
	if (run.samples.rate_ns > 70000)
		ck_assert_msg((double)run.cost_ns * 300 >= (double)(run.cpu_ns - run.first_cpu_ns),
			      "%u samples cost %llu of %llu ns", run.taken, (unsigned long long)run.cost_ns,
			      (unsigned long long)(run.cpu_ns - run.first_cpu_ns));
}
END_TEST

START_TEST(what_cannot_be_asked_makes_samples_rare)
{
	struct run run;
	int i;

	begin_random();
	begin_run(&run);
	run.can_ask = false;
	for (i = 0; i < CALLS / 10; i++)
		make_call(&run, &run.kinds[draw(KINDS)]);
	ck_assert_uint_eq(run.samples.rate_ns, 64 * 1000 * 1000);
}
END_TEST

/* The child of a vfork takes samples with its parent's state, and its own processor time. */
START_TEST(another_task_s_time_is_not_taken_for_used)
{
	struct run run;
	uint64_t cpu_ns, before;
	int i;

	begin_random();
	begin_run(&run);
	for (i = 0; i < CALLS / 10; i++)
		make_call(&run, &run.kinds[draw(KINDS)]);
	before = run.samples.rate_ns;
	cpu_ns = run.cpu_ns + UINT64_C(1000000000000);
	fxt_call_samples_take(&run.samples, 100, run.now_ns + 1000, 5000);
	fxt_call_samples_cost(&run.samples, 1000);
	fxt_call_samples_take(&run.samples, 100, run.now_ns + 2000, cpu_ns);
	ck_assert_uint_ge(run.samples.rate_ns, before / 2);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("call samples");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, estimates_have_no_bias_at_any_rate, 0, 4);
	tcase_add_test(tests, samples_cost_a_hundredth_at_most);
	tcase_add_test(tests, what_cannot_be_asked_makes_samples_rare);
	tcase_add_test(tests, another_task_s_time_is_not_taken_for_used);
	return RUN_SUITE("call samples", tests);
}
