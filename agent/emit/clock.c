/* See clock.h. This file owns the data that the lines of all threads are made from: the scale, and whether
 * the counter may be used at all. Threads come here in any context when their line has expired. */
#include "clock.h"

#include <string.h>
#include <time.h>

#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "agent/clock/clock_offset.h"
#include "deferred.h"
#include "sample.h"
#include "thread.h"
#include "writer/apart.h"

enum {
	PAIR_TRIES = 8,                 /* a pair is the closest of so many */
	PAIR_GOOD_TICKS = 400,          /* some 130 ns: a pair so narrow is good enough */
	SCALE_MIN_NS = 1000 * 1000,     /* two pairs this far apart tell the scale to 30 ppm */
	BASELINE_NS = 1000 * 1000 * 1000,       /* the older pair is replaced when the newer one is so old */
	RENEW_EARLY_NS = 2 * 1000 * 1000,       /* a line lasts so long while the scale is still rough, */
	RENEW_NS = 10 * 1000 * 1000,            /* and a line lasts so long afterwards */
	STRAY_NS = 20 * 1000,           /* a line that is further from the kernel's clock is wrong */
	STRAY_PART = 1000,              /* in so many parts of a time the counter strays by less than one */
	STRAYS_MOST = 4,                /* not fewer: the machine may sleep, or move to another host */
};

/* The counter and kernel time of one moment. */
struct pair {
	uint64_t tick, ns;
	uint64_t width;                 /* ticks between the counter's two readings around the kernel's */
};

/* The scale is computed from a new pair and an old one. The old one is at least SCALE_MIN_NS and usually one
 * to two seconds older. */
static struct {
	atomic_bool usable;
	_Atomic unsigned strays;        /* renewals in a row that found a line to be wrong */
	struct fxt_lock lock;
	struct pair old, recent;
	_Atomic uint64_t scale;         /* ns per tick, shifted by FXT_CLOCK_SHIFT; 0: not known yet */
	_Atomic uint64_t limit;         /* the number of ticks that a line lasts */
	/* The newest line of all threads, as parts that are read without the lock. `turn` is odd while they
	 * are written. */
	atomic_uint turn;
	_Atomic uint64_t line_origin_ns, line_scale;
	atomic_uint line_high, line_until;
} clock_state;

uint64_t fxt_clock_kernel_ns(void)
{
	int64_t ns;

	/* Nothing is recorded where the kernel may not be asked, but the end of something may be counted. */
	if (!fxt_clock_read(CLOCK_BOOTTIME, &ns))
		return clock_state.recent.ns;
	return (uint64_t)(ns - atomic_load_explicit(&fxt_clock_offset_ns, memory_order_relaxed));
}

/* Reads a pair: the closest of some tries, because the thread may be preempted between two readings. */
static struct pair read_pair(void)
{
	struct pair best = {0};
	uint64_t before, after, ns, width, least = UINT64_MAX;
	int i;

	for (i = 0; i < PAIR_TRIES && least > PAIR_GOOD_TICKS; i++) {
		before = fxt_clock_tick();
		ns = fxt_clock_kernel_ns();
		after = fxt_clock_tick();
		width = after - before;
		if (width < least) {
			least = width;
			best = (struct pair){before + width / 2, ns, width};
		}
	}
	return best;
}

/* Begins to learn the scale. A thread that may not read the counter leaves it unused. The caller holds the
 * lock, or is the only thread. */
static void begin_pairs(void)
{
	if (fxt_gate_is_counterless())
		atomic_store_explicit(&clock_state.usable, false, memory_order_relaxed);
	if (atomic_load_explicit(&clock_state.usable, memory_order_relaxed))
		clock_state.old = clock_state.recent = read_pair();
}

void fxt_clock_start(void)
{
	static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[16] = "";

	if (clock_state.usable)
		return;
	/* This is the C library's variable: a program may define another one that is called environ. */
	fxt_clock_offset_start(__environ);
#if defined(__x86_64__)
	fxt_read_file(source, name, sizeof(name) - 1);
	/* The kernel keeps to this source only while the counter is invariant and agrees between
	 * processors. */
	clock_state.usable = !strncmp(name, "tsc", 3);
#else
	(void)source, (void)name;
	clock_state.usable = true;
#endif
	begin_pairs();
}

/* Tells whether the kernel's clock has gone on as the counter has. The caller holds the lock. */
static bool goes_on(void)
{
	uint64_t scale = atomic_load_explicit(&clock_state.scale, memory_order_relaxed);
	struct pair last = clock_state.recent, now;
	double passed_ns, off_ns;

	if (!scale || !atomic_load_explicit(&clock_state.usable, memory_order_relaxed) ||
	    fxt_gate_is_counterless())
		return false;
	now = read_pair();
	passed_ns = (double)(now.tick - last.tick) * (double)scale / (1 << FXT_CLOCK_SHIFT);
	off_ns = (double)(int64_t)(now.ns - last.ns) - passed_ns;
	return (off_ns < 0 ? -off_ns : off_ns) <= passed_ns / STRAY_PART + STRAY_NS;
}

/* Finds out whether the process is in another time namespace now. Lines, which lead from the counter to the
 * time of the host, stay right. */
static void look_at_offset(void)
{
	uint64_t mask;

	if (!fxt_clock_offset_may_differ())
		return;
	mask = fxt_lock(&clock_state.lock);
	fxt_clock_offset_again(goes_on());
	fxt_unlock(&clock_state.lock, mask);
}

void fxt_clock_after_fork(void)
{
	const bool was_learning = atomic_load_explicit(&clock_state.lock.taken, memory_order_relaxed);

	fxt_lock_reset(&clock_state.lock);
	/* Another thread may have been writing a pair, of which the child has a half. So it learns anew. */
	if (was_learning) {
		begin_pairs();
		atomic_store_explicit(&clock_state.scale, 0, memory_order_relaxed);
	}
	/* Another thread may have been writing the line. Time is the same in the child. */
	if (atomic_load_explicit(&clock_state.turn, memory_order_relaxed) & 1) {
		atomic_store_explicit(&clock_state.line_until, 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&clock_state.turn, 1, memory_order_relaxed);
	}
	look_at_offset();
}

void fxt_clock_enters(void)
{
	if (!fxt_is_forbidden(FXT_NO_LOCKS))
		look_at_offset();
}

void fxt_clock_compare(int64_t host_real_ns)
{
	int64_t before_ns = fxt_clock_offset_ns;

	fxt_clock_offset_compare(host_real_ns);
	/* The pairs so far are on the shifted clock. */
	if (before_ns != fxt_clock_offset_ns)
		begin_pairs();
}

/* Compares a line that has just expired with the kernel's time; a line that expired long ago says nothing.
 * If lines are wrong again and again, gives the counter up: it differs between processors, or its rate
 * changes, and the kernel, which will have noticed, uses another clock by now. */
static void judge(const struct fxt_clock_line *line, struct pair now)
{
	uint64_t limit = atomic_load_explicit(&clock_state.limit, memory_order_relaxed);
	uint32_t low = (uint32_t)now.tick;
	int64_t error;

	if (!line->scale || line->high != (uint32_t)(now.tick >> 32) || low < line->until ||
	    low - line->until > limit)
		return;
	error = (int64_t)(line->origin_ns + (low * line->scale >> FXT_CLOCK_SHIFT) - now.ns);
	if ((uint64_t)(error < 0 ? -error : error) <= STRAY_NS + (now.width * line->scale >> FXT_CLOCK_SHIFT))
		atomic_store_explicit(&clock_state.strays, 0, memory_order_relaxed);
	else if (atomic_fetch_add_explicit(&clock_state.strays, 1, memory_order_relaxed) + 1 >= STRAYS_MOST)
		atomic_store_explicit(&clock_state.usable, false, memory_order_relaxed);
}

/* Learns the scale and how long a line lasts from a new pair. */
static void learn(struct pair now)
{
	struct pair old;
	uint64_t scale, known, mask;
	double ns, ticks;

	mask = fxt_lock(&clock_state.lock);
	if (now.ns - clock_state.recent.ns > BASELINE_NS) {
		clock_state.old = clock_state.recent;
		clock_state.recent = now;
	}
	old = clock_state.old;
	ns = (double)(now.ns - old.ns);
	ticks = (double)(now.tick - old.tick);
	scale = now.tick > old.tick ? (uint64_t)(ns / ticks * (1 << FXT_CLOCK_SHIFT)) : 0;
	if (scale > UINT32_MAX)
		scale = 0;
	known = atomic_load_explicit(&clock_state.scale, memory_order_relaxed);
	if (known && (scale < known - known / 1024 || scale > known + known / 1024)) {
		/* The machine slept: the counter may have stopped meanwhile, and kernel time has not. So the
		 * scale is learnt anew. */
		clock_state.old = clock_state.recent = now;
		atomic_store_explicit(&clock_state.scale, 0, memory_order_relaxed);
	} else if (now.ns - old.ns >= SCALE_MIN_NS && scale) {
		atomic_store_explicit(&clock_state.scale, scale, memory_order_relaxed);
		ns = now.ns - old.ns > UINT64_C(10) * RENEW_EARLY_NS ? RENEW_NS : RENEW_EARLY_NS;
		atomic_store_explicit(&clock_state.limit, (uint64_t)(ns * ticks / (double)(now.ns - old.ns)),
				      memory_order_relaxed);
	}
	fxt_unlock(&clock_state.lock, mask);
}

/* Returns whether there is a scale, or can be one now because two pairs lie far enough apart. */
static bool may_know_scale(uint64_t now_ns)
{
	return atomic_load_explicit(&clock_state.scale, memory_order_relaxed) ||
	       now_ns - clock_state.old.ns >= SCALE_MIN_NS;
}

uint64_t fxt_clock_from_kernel(struct fxt_thread *thread)
{
	uint64_t ns;

	if (fxt_is_forbidden(FXT_NO_LOCKS))
		return fxt_clock_kernel_ns();
	/* The program may have entered a namespace by a call that nobody saw. */
	if (clock_state.usable && !fxt_stack_is_short())
		look_at_offset();
	ns = fxt_clock_kernel_ns();
	/* A lent gate is open, or the thread is here for the first time since it was: see
	 * fxt_threads_expire(). */
	if (fxt_gate_is_lent() && atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed))
		fxt_parts_woken();
	if (thread->starts != atomic_load_explicit(&fxt_agent.starts, memory_order_relaxed))
		fxt_thread_begins_again(thread);
	if (!clock_state.usable) {
		fxt_sample_renewed(thread, ns);
		/* Where lines are renewed, that is often enough to listen to a manager. */
		if (fxt_agent.buffer.managed &&
		    ns - atomic_load_explicit(&fxt_agent.buffer.heard_ns, memory_order_relaxed) > RENEW_NS)
			fxt_deferred_ask(thread);
	}
	else if (may_know_scale(ns))
		fxt_deferred_ask(thread);
	return ns;
}

/* Makes a line that begins at the pair `now`, and lasts until the counter's lower half wraps around at
 * most. */
static void set_line(struct fxt_clock_line *line, struct pair now, uint64_t scale)
{
	uint64_t limit = atomic_load_explicit(&clock_state.limit, memory_order_relaxed);
	uint32_t low = (uint32_t)now.tick;

	line->origin_ns = now.ns - (low * scale >> FXT_CLOCK_SHIFT);
	line->scale = scale;
	line->high = (uint32_t)(now.tick >> 32);
	line->until = limit < UINT32_MAX - low ? low + (uint32_t)limit : UINT32_MAX;
}

/* Shows the line to threads that have none. */
static void share_line(const struct fxt_clock_line *line)
{
	uint64_t mask = fxt_lock(&clock_state.lock);

	atomic_fetch_add_explicit(&clock_state.turn, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&clock_state.line_origin_ns, line->origin_ns, memory_order_relaxed);
	atomic_store_explicit(&clock_state.line_scale, line->scale, memory_order_relaxed);
	atomic_store_explicit(&clock_state.line_high, line->high, memory_order_relaxed);
	atomic_store_explicit(&clock_state.line_until, line->until, memory_order_relaxed);
	atomic_fetch_add_explicit(&clock_state.turn, 1, memory_order_release);
	fxt_unlock(&clock_state.lock, mask);
}

/* Gives the thread the line that was shown last. Returns whether that is good still. The caller has blocked
 * signals. */
static bool take_line(struct fxt_thread *thread)
{
	unsigned turn = atomic_load_explicit(&clock_state.turn, memory_order_acquire);
	struct fxt_clock_line line = {
		.origin_ns = atomic_load_explicit(&clock_state.line_origin_ns, memory_order_relaxed),
		.scale = atomic_load_explicit(&clock_state.line_scale, memory_order_relaxed),
		.high = atomic_load_explicit(&clock_state.line_high, memory_order_relaxed),
		.until = atomic_load_explicit(&clock_state.line_until, memory_order_relaxed)};
	uint64_t ns;

	atomic_thread_fence(memory_order_acquire);
	if (turn & 1 || turn != atomic_load_explicit(&clock_state.turn, memory_order_relaxed))
		return false;
	thread->clock = line;
	return fxt_clock_quick(thread, &ns);
}

/* Makes a line, and shows it to other threads. The caller has blocked signals. */
static void make_line(struct fxt_thread *thread, const struct fxt_clock_line *expired)
{
	struct pair now = read_pair();
	uint64_t scale;

	judge(expired, now);
	learn(now);
	scale = atomic_load_explicit(&clock_state.scale, memory_order_relaxed);
	if (!scale || !clock_state.usable)
		return;
	set_line(&thread->clock, now, scale);
	share_line(&thread->clock);
}

/* Gives the thread a line, which it makes itself if `makes`. */
static void get_line(struct fxt_thread *thread, bool makes)
{
	uint64_t mask = fxt_sys_block_signals();
	const struct fxt_clock_line expired = thread->clock;

	if (fxt_gate_is_counterless())
		fxt_clock_expire(thread);
	else if (!take_line(thread) && makes)
		make_line(thread, &expired);
	atomic_thread_fence(memory_order_seq_cst);
	/* fxt_threads_expire() may have come before. */
	if (fxt_gate_is_lent())
		fxt_clock_expire(thread);
	fxt_sys_restore_signals(mask);
}

void fxt_clock_renew_line(struct fxt_thread *thread)
{
	uint64_t ns;

	if (clock_state.usable && !fxt_clock_quick(thread, &ns) && may_know_scale(fxt_clock_kernel_ns()))
		get_line(thread, true);
}

void fxt_clock_begin_line(struct fxt_thread *thread)
{
	if (clock_state.usable)
		get_line(thread, false);
}
