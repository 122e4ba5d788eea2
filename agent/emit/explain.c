/* See explain.h. The functions are called where calls begin and end, and as deferred work; in any context.
 *
 * A signal handler that interrupts the filing of a reading files none itself. If a handler leaves by longjmp
 * just then, the thread has no more explanations. What is filed are facts of one thread at two times, so a
 * reading in a wrong place costs an explanation, and never makes a false one.
 */
#include "explain.h"

#include <time.h>

#include "agent/base/stack.h"
#include "held_locks.h"
#include "in_progress.h"

enum {
	/* The longest time between a reading's at_ns and the moment at which the kernel looks, if the thread
	 * is not preempted meanwhile. */
	READING_NS = 2000,
	/* A reading during which the thread was preempted is taken again. After a preemption the thread
	 * mostly keeps its processor for some time, so a few tries are enough. */
	READING_TRIES = 3,
	/* The longest time that the agent's own work takes at a call's start or end, with cold caches. A
	 * context switch within that work is counted as the call's. Work that took longer contains a
	 * switch. */
	OWN_WORK_NS = 20 * 1000,
	/* A reading that lies no further behind the call's start has the counts of that start: no call can
	 * have waited in so short a time. */
	NEXT_TO_NS = 2000,
	EXPLAIN_PART = 20,              /* cpu_ns is told if it is known to this part of the duration */
};

struct range {
	uint64_t low, high;
};

/* Returns whether no reading may be taken in this process: explanations are off, or a filter of system calls
 * may kill for one. */
static bool is_off(void)
{
	return !fxt_agent.config.explain_ns || fxt_is_filtered();
}

void fxt_explain_reset(struct fxt_thread *thread)
{
	thread->explain_due_ns = is_off() ? UINT64_MAX : 0;
	thread->explain_slow = 0;
	thread->readings.usage = (struct fxt_usage_window){0};
	thread->readings.changing = false;
}

/* Returns false if this is the child of a vfork and only looks like the thread. */
static bool is_thread(const struct fxt_thread *thread)
{
	return (uint32_t)fxt_sys_gettid() == thread->own_tid;
}

/* Reads the totals into *usage. The processor time is read last, because the kernel may preempt a thread when
 * it finds how long that has run. asked_ns is just before that: what happens afterwards is not in the totals.
 * Returns false if the kernel does not say. */
static bool ask(struct fxt_thread *thread, struct fxt_usage *usage)
{
	struct timespec cpu;
	struct rusage total;

	if (FXT_SYSCALL2(SYS_getrusage, RUSAGE_THREAD, &total))
		return false;
	usage->asked_ns = fxt_now(thread);
	if (FXT_SYSCALL2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &cpu))
		return false;
	usage->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	usage->voluntary = (uint64_t)total.ru_nvcsw;
	usage->involuntary = (uint64_t)total.ru_nivcsw;
	return true;
}

/* Files a reading as the thread's last one. The calls in progress that began since the reading before it keep
 * both readings. */
static void file(struct fxt_thread *thread, const struct fxt_usage *usage)
{
	struct fxt_in_progress *entry;

	if (thread->readings.changing)
		return;
	thread->readings.changing = true;
	atomic_signal_fence(memory_order_seq_cst);
	for (entry = thread->open;
	     entry > fxt_in_progress_entries(thread) &&
	     (fxt_in_progress_is_changing(entry - 1) ||
	      entry[-1].start_ns > thread->readings.usage.after.at_ns);
	     entry--)
		thread->usage_windows[entry - 1 - fxt_in_progress_entries(thread)] =
			(struct fxt_usage_window){thread->readings.usage.after, *usage};
	thread->readings.usage.before = thread->readings.usage.after;
	thread->readings.usage.after = *usage;
	atomic_signal_fence(memory_order_seq_cst);
	thread->readings.changing = false;
}

void fxt_explain_read(struct fxt_thread *thread, uint64_t now_ns)
{
	struct fxt_usage usage = {.at_ns = now_ns};

	if (is_off()) {
		thread->explain_due_ns = UINT64_MAX;
		return;
	}
	thread->explain_due_ns = now_ns + fxt_agent.config.explain_ns;
	if (!fxt_stack_is_short() && ask(thread, &usage))
		file(thread, &usage);
}

uint64_t fxt_explain_begin(struct fxt_thread *thread, uint64_t names)
{
	uint64_t read_ns, start_ns = thread->last_ns;
	int tries = READING_TRIES;

	if (!thread->ready) {
		fxt_in_progress_ready(thread);
		if (is_off())
			thread->explain_due_ns = UINT64_MAX;
		start_ns = fxt_now(thread);
	}
	if (fxt_holds_lock(thread) || is_off())
		return start_ns;
	if (thread->readings.names[fxt_get_event_name(names) % FXT_EXPLAIN_BITS] == fxt_get_event_name(names))
		thread->explain_slow &= ~fxt_explain_bit(names);
	else if (start_ns < thread->explain_due_ns)
		return start_ns;
	if (!is_thread(thread))
		return start_ns;
	do {
		read_ns = start_ns;
		fxt_explain_read(thread, read_ns);
		start_ns = fxt_now(thread);
	} while (start_ns - read_ns > OWN_WORK_NS && --tries);
	if (thread->readings.usage.after.at_ns == read_ns)
		thread->readings.usage.after.holds_until_ns = start_ns;
	return start_ns;
}

/* -- At the end of a call -------------------------------------------------------------------------- */

/* Puts a reading into `around` if it is closer to `ns` than the one there on its side of `ns`. */
static void narrow(struct fxt_usage_window *around, const struct fxt_usage *usage, uint64_t ns)
{
	if (usage->at_ns <= ns && usage->at_ns >= around->before.at_ns)
		around->before = *usage;
	if (usage->at_ns > ns && usage->at_ns < around->after.at_ns)
		around->after = *usage;
}

/* Returns the readings closest to the call's start, before and after it. `last` was read after the call, up
 * to late_ns later than its time says. */
static struct fxt_usage_window around_start(const struct fxt_thread *thread, uint64_t start_ns,
					    const struct fxt_usage *last, uint64_t late_ns)
{
	struct fxt_usage_window around = {{0}, *last};
	size_t entry = (size_t)(thread->open - (thread->fenced_entries + 1));

	/* If the call had an entry, it is the one that was removed last. */
	if (entry < FXT_IN_PROGRESS_MAX && thread->open->start_ns == start_ns) {
		narrow(&around, &thread->usage_windows[entry].before, start_ns);
		narrow(&around, &thread->usage_windows[entry].after, start_ns);
	}
	narrow(&around, &thread->readings.usage.before, start_ns);
	narrow(&around, &thread->readings.usage.after, start_ns);
	if (around.after.at_ns == last->at_ns)
		around.after.at_ns += late_ns;
	return around;
}

/* Returns a - b, but not less than 0. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Returns the bounds of the thread's processor time at start_ns, by the readings around it. */
static struct range cpu_at(const struct fxt_usage_window *around, uint64_t start_ns)
{
	struct range cpu = {around->before.cpu_ns, around->before.cpu_ns + (start_ns - around->before.at_ns)};
	uint64_t least = less(around->after.cpu_ns, around->after.at_ns + READING_NS - start_ns);

	if (cpu.high > around->after.cpu_ns)
		cpu.high = around->after.cpu_ns;
	if (cpu.low < least)
		cpu.low = least;
	if (cpu.low > cpu.high)
		cpu.low = cpu.high;
	return cpu;
}

/* Adds cpu_ns to the arguments, if it is known well enough. */
static uint64_t *put_cpu(uint64_t *at, unsigned *arguments, struct range before, uint64_t after_ns,
			 uint64_t late_ns, uint64_t duration_ns)
{
	struct range cpu = {less(less(after_ns, late_ns), before.high), less(after_ns, before.low)};

	if (cpu.high > duration_ns)
		cpu.high = duration_ns;
	if (cpu.low > cpu.high)
		cpu.low = cpu.high;
	if (cpu.high - cpu.low > duration_ns / EXPLAIN_PART)
		return at;
	++*arguments;
	return fxt_put_uint(at, FXT_STR_cpu_ns, cpu.low + (cpu.high - cpu.low) / 2);
}

/* Adds a count of context switches to the arguments, if it is exact. */
static uint64_t *put_count(uint64_t *at, unsigned *arguments, uint64_t name, struct range before,
			   struct range after)
{
	/* The count is exact if both ends are, or if it has not grown between the outermost bounds. */
	if (before.low != after.high && (before.low != before.high || after.low != after.high))
		return at;
	++*arguments;
	return fxt_put_uint(at, name, after.high - before.high);
}

uint64_t *fxt_explain_call(struct fxt_thread *thread, uint64_t *at, uint64_t start_ns, uint64_t end_ns,
			   uint64_t names, unsigned *arguments)
{
	struct fxt_usage last = {.at_ns = end_ns};
	struct fxt_usage_window around;
	struct range voluntary, involuntary;
	uint64_t late_ns;
	bool start_known, start_known_later, end_known;

	thread->readings.names[fxt_get_event_name(names) % FXT_EXPLAIN_BITS] =
		(uint16_t)fxt_get_event_name(names);
	thread->explain_slow |= fxt_explain_bit(names);
	if (is_off() || thread->readings.changing || !is_thread(thread) || !ask(thread, &last))
		return at;
	late_ns = less(last.asked_ns, end_ns);
	around = around_start(thread, start_ns, &last, late_ns);
	start_known =
		around.before.holds_until_ns == start_ns && start_ns - around.before.at_ns <= OWN_WORK_NS;
	start_known_later = !start_known && around.after.at_ns - start_ns <= NEXT_TO_NS;
	end_known = late_ns <= OWN_WORK_NS;
#define COUNTS(name)										\
	name = (struct range){start_known_later ? around.after.name : around.before.name,	\
			      start_known ? around.before.name : around.after.name};		\
	at = put_count(at, arguments, FXT_STR_##name, name,					\
		       (struct range){end_known ? last.name : name.low, last.name});
	at = put_cpu(at, arguments, cpu_at(&around, start_ns), last.cpu_ns, late_ns, end_ns - start_ns);
	COUNTS(voluntary)
	COUNTS(involuntary)
#undef COUNTS
	thread->explain_due_ns = end_ns + fxt_agent.config.explain_ns;
	file(thread, &last);
	return at;
}
