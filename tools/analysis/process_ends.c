/* Finds out when and how processes ended. See process_ends.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/analysis/process_ends.h"

#include <stdlib.h>

#include "stack_instants.h"
#include "tools/common/message.h"

static struct fxt_thread_end *end_of(struct fxt_ends *e, uint32_t thread)
{
	e->threads = fxt_reach(e->threads, &e->thread_capacity, &e->thread_count, thread,
			       sizeof(*e->threads));
	return &e->threads[thread];
}

/* Notes an end of the process. Both the process and the parent that reaped it may tell of it; the
 * process does so first, and the earlier time is nearer to the end. */
static void note(struct fxt_ends *e, uint64_t pid, uint64_t at_ns, uint64_t signal, uint64_t status)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&e->by_pid, pid, 0, &fresh);

	if (fresh || at_ns < s->value[0])
		s->value[0] = at_ns;
	if (signal)
		s->value[1] = (uint32_t)signal;
	else if (status < INT32_MAX && !(uint32_t)s->value[1])
		s->value[1] = (status + 1) << 32;
}

/* Takes an end of the thread's process. */
static bool take(struct fxt_ends *e, const struct fxt_record *rec, uint64_t pid)
{
	if (!fxt_argument(rec, "signal") && !fxt_argument(rec, "status"))
		return false;
	note(e, pid, fxt_ns(rec->provider, rec->ticks), fxt_argument_or(rec, "signal", 0),
	     fxt_argument_or(rec, "status", UINT64_MAX));
	return true;
}

/* Takes the end of a child. Its number may have been another process's before. */
static void take_reaped(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid;

	if (!fxt_argument_u64(fxt_argument(rec, "pid"), &pid) ||
	    (!fxt_argument(rec, "signal") && !fxt_argument(rec, "status")))
		return;
	e->reaped = fxt_grow(e->reaped, &e->reaped_capacity, e->reaped_count + 1, sizeof(*e->reaped));
	e->reaped[e->reaped_count++] = (struct fxt_reaped){pid, fxt_ns(rec->provider, rec->ticks),
							   fxt_argument_or(rec, "signal", 0),
							   fxt_argument_or(rec, "status", UINT64_MAX),
							   r->threads[rec->thread].pid};
}

static void settle_reaped(struct fxt_ends *e, const struct fxt_reader *r)
{
	bool fresh;

	for (size_t i = 0; i < e->reaped_count; i++) {
		const struct fxt_reaped *one = &e->reaped[i];
		uint64_t pid = fxt_process_at(r, one->pid, one->at_ns);

		note(e, pid, one->at_ns, one->signal, one->status);
		fxt_map_put(&e->parents, pid, 0, &fresh)->value[0] = one->parent;
	}
	free(e->reaped);
	e->reaped = NULL;
	e->reaped_count = e->reaped_capacity = 0;
}

/* Takes the word of `fxt record` that a process went on as a program that ran untraced. */
static void take_untraced(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid, own = r->threads[rec->thread].pid;
	bool fresh;

	if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "ran untraced") &&
	    fxt_text_is(&rec->category, "agent") && fxt_argument_u64(fxt_argument(rec, "pid"), &pid) &&
	    (pid == own || pid == own % FXT_AGAIN_STEP))
		fxt_map_put(&e->untraced, own, 0, &fresh)->value[0] = fxt_ns(rec->provider, rec->ticks);
}

int fxt_ends_status(const struct fxt_ends *e, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&e->by_pid, pid, 0);

	return s ? (int)(s->value[1] >> 32) - 1 : -1;
}

uint64_t fxt_ends_parent(const struct fxt_ends *e, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&e->parents, pid, 0);

	return s ? s->value[0] : 0;
}

uint64_t fxt_ends_untraced_ns(const struct fxt_ends *e, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&e->untraced, pid, 0);

	return s ? s->value[0] : 0;
}

/* Takes an event that is no call. Returns true if that was the word of another process. */
static bool tells(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec)
{
	/* Whoever reaped the process may have written this, after it had ended. */
	if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "exit") &&
	    fxt_text_is(&rec->category, "process") && take(e, rec, r->threads[rec->thread].pid))
		return true;
	if (rec->subtype == FXT_EVENT_ASYNC_END && fxt_text_is(&rec->name, "child") &&
	    fxt_text_is(&rec->category, "process"))
		take_reaped(e, r, rec);
	take_untraced(e, r, rec);
	/* Nobody else may have seen how the process ended. */
	if (fxt_tells_crash(rec))
		note(e, r->threads[rec->thread].pid, fxt_ns(rec->provider, rec->ticks),
		     fxt_argument_or(rec, "signal", 0), UINT64_MAX);
	return false;
}

bool fxt_ends_take(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_thread_end *one;
	uint64_t ns;

	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE && tells(e, r, rec))
		return true;
	one = end_of(e, rec->thread);
	ns = fxt_ns(rec->provider, fxt_commit_ticks(rec));
	if (ns > one->last_ns)
		one->last_ns = ns;
	return false;
}

void fxt_ends_kernel(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec,
		     uint32_t thread)
{
	struct fxt_thread_end *one = end_of(e, thread);
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_slot *s;
	bool fresh;

	if (fxt_text_is(&rec->name, "ended")) {
		if (ns > one->ended_ns)
			one->ended_ns = ns;
	} else if (fxt_text_is(&rec->name, "executed")) {
		s = fxt_map_put(&e->executed, r->threads[thread].pid, 0, &fresh);
		if (ns > s->value[0])
			s->value[0] = ns;
	}
}

/* Finds the end of each process: pid -> the end of its last thread, and whether its first thread has ended
 * and none lives on. A thread that executes a program takes the first one's number, and all others are gone
 * then, some of them without an end of their own. */
static void find_ends(const struct fxt_ends *e, const struct fxt_reader *r, struct fxt_map *found)
{
	enum { FIRST = 1, LIVES = 2 };

	for (size_t i = 0; i < e->thread_count && i < r->thread_count; i++) {
		const struct fxt_thread_end *one = &e->threads[i];
		const struct fxt_slot *executed = fxt_map_find(&e->executed, r->threads[i].pid, 0);
		uint64_t executed_ns = executed ? executed->value[0] : 0;
		struct fxt_slot *s;
		bool fresh;

		if (!one->last_ns && !one->ended_ns)
			continue;
		s = fxt_map_put(found, r->threads[i].pid, 0, &fresh);
		if (one->ended_ns > s->value[0])
			s->value[0] = one->ended_ns;
		/* Another process may have had the number before, or has it now. */
		if (one->last_ns > one->ended_ns && one->last_ns > executed_ns)
			s->value[1] |= LIVES;
		else if (r->threads[i].tid == r->threads[i].pid && one->ended_ns > executed_ns)
			s->value[1] |= FIRST;
	}
	for (struct fxt_slot *s = fxt_map_next(found, NULL); s; s = fxt_map_next(found, s))
		if (s->value[1] != FIRST)
			fxt_map_remove(found, s);
}

void fxt_ends_finish(struct fxt_ends *e, const struct fxt_reader *r, uint64_t trace_ns)
{
	struct fxt_map found = {0};
	bool fresh;

	e->trace_ns = trace_ns;
	settle_reaped(e, r);
	find_ends(e, r, &found);
	for (const struct fxt_slot *s = fxt_map_next(&found, NULL); s; s = fxt_map_next(&found, s))
		fxt_map_put(&e->by_pid, s->a, 0, &fresh)->value[0] = s->value[0];
	fxt_map_free(&found);
}

uint64_t fxt_ends_ns(const struct fxt_ends *e, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&e->by_pid, pid, 0);

	return s && s->value[0] < e->trace_ns ? s->value[0] : e->trace_ns;
}

uint64_t fxt_ends_thread_ns(const struct fxt_ends *e, const struct fxt_reader *r, uint32_t thread)
{
	uint64_t process_ns = fxt_ends_ns(e, r->threads[thread].pid);
	const struct fxt_thread_end *one = thread < e->thread_count ? &e->threads[thread] : NULL;

	/* A thread that went on after that is another one with the same number. */
	return one && one->ended_ns && one->ended_ns >= one->last_ns && one->ended_ns < process_ns
		       ? one->ended_ns
		       : process_ns;
}

bool fxt_ends_known(const struct fxt_ends *e, uint64_t pid, int *signal)
{
	const struct fxt_slot *s = fxt_map_find(&e->by_pid, pid, 0);

	*signal = s ? fxt_ends_signal(s) : 0;
	return s;
}

void fxt_ends_free(struct fxt_ends *e)
{
	fxt_map_free(&e->by_pid);
	fxt_map_free(&e->parents);
	fxt_map_free(&e->executed);
	fxt_map_free(&e->untraced);
	free(e->threads);
	free(e->reaped);
	*e = (struct fxt_ends){0};
}
