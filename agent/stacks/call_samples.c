/* See call_samples.h. This knows no clock: tests/check_call_samples.c says how much time passes. */
#include "call_samples.h"

#include "poisson.h"

enum {
	/* One call is drawn in so many units at least and at most. Where calls are so few that more could be
	 * drawn, more than one in 64 us would say nothing new. */
	LEAST_NS = 64 * 1000,
	MOST_NS = 64 * 1000 * 1000,
	/* Samples may cost this part of the processor time. It is less than a hundredth, because the clock's
	 * two readings do not see all of the cost. */
	COST_PART = 128,
	/* A sample counts for 7/8 of the next one when the rate is set. */
	FADE = 8,
	/* What a sample costs that was not measured yet. One whose code is known takes 1.5 us; but a process
	 * that has just begun meets all code for the first time. */
	FIRST_COST_NS = 12 * 1000,
	/* A sample that took longer was preempted, or has met code for the first time, which is done once. */
	MOST_COST_NS = 32 * 1000,
};

static int64_t next(struct fxt_call_samples *samples)
{
	uint64_t ns = fxt_poisson_distance(&samples->random, samples->rate_ns);

	samples->counted_ns += (double)ns;
	return (int64_t)ns - 1;
}

int64_t fxt_call_samples_begin(struct fxt_call_samples *samples, uint64_t seed)
{
	/* As if samples had been taken so far at just this rate by a thread whose units are all of its
	 * processor time. */
	*samples = (struct fxt_call_samples){.random = seed | 1, .rate_ns = COST_PART * FIRST_COST_NS};
	samples->cost_ns = FADE * FIRST_COST_NS;
	samples->used_ns = samples->counted_ns = FADE * COST_PART * FIRST_COST_NS;
	return next(samples);
}

int64_t fxt_call_samples_pass(struct fxt_call_samples *samples)
{
	return next(samples);
}

/* Notes the processor time that was used since the last sample. The child of a vfork uses its parent's state
 * and has other times; so no more is taken for used than time has passed. */
static void note_used(struct fxt_call_samples *samples, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t passed_ns = now_ns - samples->at_ns, used_ns = cpu_ns - samples->cpu_ns;

	if (!samples->cpu_ns)
		used_ns = passed_ns = 0;
	else if (cpu_ns < samples->cpu_ns)
		used_ns = 0;
	samples->used_ns += (double)(used_ns < passed_ns ? used_ns : passed_ns);
	samples->at_ns = now_ns;
	samples->cpu_ns = cpu_ns;
}

/* Sets the rate at which samples cost as much as they may: cost * COST_PART is the processor time from one to
 * the next, and counted / used is how many units are counted in that. */
static void set_rate(struct fxt_call_samples *samples)
{
	double rate_ns = samples->cost_ns / FADE * COST_PART * samples->counted_ns / (samples->used_ns + 1);

	samples->rate_ns = rate_ns < LEAST_NS ? LEAST_NS : rate_ns > MOST_NS ? MOST_NS : (uint64_t)rate_ns;
}

int64_t fxt_call_samples_take(struct fxt_call_samples *samples, uint64_t ns, uint64_t now_ns,
			      uint64_t cpu_ns)
{
	uint64_t units = ns + FXT_CALL_SAMPLE_NS;

	samples->stands_for = (double)fxt_poisson_weight(units, samples->rate_ns) / (double)units;
	if (cpu_ns) {
		note_used(samples, now_ns, cpu_ns);
		set_rate(samples);
	} else {
		samples->rate_ns = MOST_NS;
	}
	samples->cost_ns -= samples->cost_ns / FADE;
	samples->used_ns -= samples->used_ns / FADE;
	samples->counted_ns -= samples->counted_ns / FADE;
	return next(samples);
}

void fxt_call_samples_cost(struct fxt_call_samples *samples, uint64_t ns)
{
	samples->cost_ns += (double)(ns < MOST_COST_NS ? ns : MOST_COST_NS);
}
