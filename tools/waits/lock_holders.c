/* See lock_holders.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/waits/lock_holders.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tools/common/message.h"

enum { HISTORY = 64, SAMPLES_MOST = 1 << 20 };

/* A thread: its last waits, and the wait that its next cause may belong to. */
struct fxt_held_thread {
	struct fxt_held_piece *history;
	unsigned next;
	bool has_wait, has_cause;
	size_t lock;                    /* the place of the lock that it waited for last */
	uint64_t from_ns, to_ns;
	struct fxt_flight_cause cause;
	/* lock -> when its last wait for that ended, or when it last let another thread have it */
	struct fxt_map last;
};

struct fxt_held_sample {
	uint32_t thread, innermost;
	uint64_t at_ns;
};

/* A process held a file. */
struct fxt_held_file {
	uint64_t file, from_ns, to_ns;
	uint32_t thread;
};

static struct fxt_held_thread *thread_of(struct fxt_held *h, uint32_t thread)
{
	h->threads =
		fxt_reach(h->threads, &h->thread_capacity, &h->thread_count, thread, sizeof(*h->threads));
	return &h->threads[thread];
}

void fxt_held_sample(struct fxt_held *h, uint32_t thread, uint32_t innermost, uint64_t at_ns)
{
	if (innermost == FXT_NO_FRAME || h->sample_count == SAMPLES_MOST)
		return;
	h->samples = fxt_grow(h->samples, &h->sample_capacity, h->sample_count + 1, sizeof(*h->samples));
	h->samples[h->sample_count++] = (struct fxt_held_sample){thread, innermost, at_ns};
}

void fxt_held_units(struct fxt_held *h, const struct fxt_record *rec)
{
	bool gives = fxt_text_is(&rec->name, "sem_post"), fresh;
	uint64_t sem;

	if ((gives || fxt_text_is(&rec->name, "sem_wait") || fxt_text_is(&rec->name, "sem_timedwait") ||
	     fxt_text_is(&rec->name, "sem_trywait")) &&
	    fxt_argument_u64(fxt_argument(rec, "sem"), &sem) && fxt_argument_or(rec, "ret", 0) == 0)
		fxt_map_put(&h->units, rec->thread, sem, &fresh)->value[gives]++;
}

/* -- Files ----------------------------------------------------------------------------------------- */

/* Returns what the call asks for, as flock() has it; 0: it is none of these. */
static int asked_of(const struct fxt_record *rec)
{
	uint64_t how;

	if (fxt_text_is(&rec->name, "flock") && fxt_argument_u64(fxt_argument(rec, "operation"), &how))
		return (int)how;
	if (fxt_text_is(&rec->name, "lockf") && fxt_argument_u64(fxt_argument(rec, "op"), &how))
		return how == F_ULOCK ? LOCK_UN : how == F_TEST ? 0 : LOCK_EX;
	return 0;
}

bool fxt_held_locks_file(const struct fxt_record *rec)
{
	return asked_of(rec) && fxt_argument_or(rec, "ret", 0) == 0;
}

static void end_hold(struct fxt_held *h, struct fxt_slot *held, uint64_t to_ns)
{
	h->files = fxt_grow(h->files, &h->file_capacity, h->file_count + 1, sizeof(*h->files));
	h->files[h->file_count++] =
		(struct fxt_held_file){held->b, held->value[0], to_ns, (uint32_t)held->a};
	fxt_map_remove(&h->file_holders, held);
}

void fxt_held_file(struct fxt_held *h, const struct fxt_record *rec, uint64_t file, const char *label)
{
	uint64_t from_ns = fxt_ns(rec->provider, rec->ticks), to_ns = fxt_ns(rec->provider, rec->extra);
	struct fxt_slot *held = fxt_map_find(&h->file_holders, rec->thread, file);
	bool fresh;

	if (held)
		end_hold(h, held, from_ns);
	if (asked_of(rec) & LOCK_UN)
		return;
	fxt_map_put(&h->file_holders, rec->thread, file, &fresh)->value[0] = to_ns;
	if (to_ns - from_ns >= FXT_HELD_LEAST_NS) {
		struct fxt_slot *lock;

		fxt_map_put(&h->file_waits, rec->offset, 0, &fresh)->value[0] = file;
		lock = fxt_map_put(&h->by_lock, UINT64_MAX, file, &fresh);
		if (lock->value[0])
			return;
		h->list = fxt_grow(h->list, &h->capacity, h->count + 1, sizeof(*h->list));
		h->list[h->count] = (struct fxt_held_lock){.kind = "file",
							  .lock = file,
							  .label = fxt_strdup(label),
							  .innermost = FXT_NO_FRAME};
		lock->value[0] = ++h->count;
	}
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct fxt_held_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread > y->thread ? 1 : -1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

void fxt_held_ready(struct fxt_held *h, unsigned hz)
{
	struct fxt_slot *held;

	while ((held = fxt_map_next(&h->file_holders, NULL)))
		end_hold(h, held, UINT64_MAX);
	if (h->sample_count)
		qsort(h->samples, h->sample_count, sizeof(*h->samples), by_thread_and_time);
	h->sample_ns = hz ? 1000000000 / hz : 0;
}

/* -- Who did what ----------------------------------------------------------------------------------- */

static uint64_t common_ns(uint64_t a_from, uint64_t a_to, uint64_t b_from, uint64_t b_to)
{
	uint64_t from = a_from > b_from ? a_from : b_from, to = a_to < b_to ? a_to : b_to;

	return to > from ? to - from : 0;
}

/* Adds the part of a holder's wait that a waiter lost. */
static void lose(struct fxt_held *h, size_t lock, const struct fxt_held_piece *piece, uint64_t ns)
{
	bool fresh;

	if (!ns)
		return;
	h->list[lock].lost_ns += ns;
	fxt_stack_sums_add(&h->waits, lock, piece->innermost, ns);
	fxt_map_put(&h->calls, piece->innermost, 0, &fresh)->value[0] = piece->name;
}

/* Adds what the samples of a holder say. */
static void add_work(struct fxt_held *h, size_t lock, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = h->sample_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fxt_held_sample *s = &h->samples[middle];

		if (s->thread < thread || (s->thread == thread && s->at_ns < from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < h->sample_count && h->samples[low].thread == thread && h->samples[low].at_ns <= to_ns;
	     low++) {
		h->list[lock].worked_ns += h->sample_ns;
		fxt_stack_sums_add(&h->work, lock, h->samples[low].innermost, h->sample_ns);
	}
}

static bool is_noted(const struct fxt_held_lock *l, const struct fxt_held_piece *piece)
{
	for (unsigned i = 0; i < FXT_HELD_PIECES; i++)
		if (l->pieces[i].thread == piece->thread && l->pieces[i].from_ns == piece->from_ns)
			return true;
	return false;
}

/* Notes the holder's waits since it had the lock. */
static void note_holder(struct fxt_held *h, size_t lock, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct fxt_held_thread *t = thread < h->thread_count ? &h->threads[thread] : NULL;
	struct fxt_held_lock *l = &h->list[lock];

	for (unsigned i = 0; t && t->history && i < HISTORY; i++) {
		struct fxt_held_piece piece = t->history[i];

		if (!common_ns(piece.from_ns, piece.to_ns, from_ns, to_ns) || is_noted(l, &piece))
			continue;
		l->pieces[l->next] = piece;
		l->next = (l->next + 1) % FXT_HELD_PIECES;
	}
}

/* Returns whether who posts a semaphore takes units of it as well, and gives them back. */
static bool gives_back(const struct fxt_held *h, uint32_t thread, uint64_t sem)
{
	const struct fxt_slot *s = fxt_map_find(&h->units, thread, sem);

	return s && s->value[0] && s->value[0] <= s->value[1] * 2 && s->value[1] <= s->value[0] * 2;
}

/* A thread has waited for a lock that `waker` gave up. */
static void take_link(struct fxt_held *h, struct fxt_held_thread *t)
{
	struct fxt_held_lock *l = &h->list[t->lock];
	uint32_t waker = t->cause.waker;
	struct fxt_slot *last;
	uint64_t since_ns;
	bool fresh;

	t->has_wait = t->has_cause = false;
	if (strcmp(l->kind, "sem") == 0 && !gives_back(h, waker, l->lock))
		return;
	/* It has held the lock since its own wait for it ended, or since it gave it up before. */
	last = waker < h->thread_count ? fxt_map_put(&h->threads[waker].last, t->lock, 0, &fresh) : NULL;
	since_ns = last ? last->value[0] : 0;
	if (last)
		last->value[0] = t->cause.woken_ns;
	note_holder(h, t->lock, waker, since_ns, t->cause.woken_ns);
	add_work(h, t->lock, waker, since_ns > t->from_ns ? since_ns : t->from_ns, t->cause.woken_ns);
	for (unsigned i = 0; i < FXT_HELD_PIECES; i++)
		lose(h, t->lock, &l->pieces[i],
		     common_ns(l->pieces[i].from_ns, l->pieces[i].to_ns, t->from_ns, t->to_ns));
}

static bool is_of(const struct fxt_held_thread *t)
{
	return t->has_wait && t->has_cause && t->cause.at_ns >= t->from_ns && t->cause.at_ns <= t->to_ns &&
	       t->cause.woken_ns > t->from_ns;
}

void fxt_held_cause(struct fxt_held *h, uint32_t thread, const struct fxt_flight_cause *cause)
{
	struct fxt_held_thread *t = thread_of(h, thread);

	t->cause = *cause;
	t->has_cause = true;
	if (is_of(t))
		take_link(h, t);
}

static bool is_lock(const struct fxt_role *role)
{
	return role && role->family == FXT_FAMILY_WAIT &&
	       (strcmp(role->kind, "mutex") == 0 || strcmp(role->kind, "rwlock") == 0 ||
		strcmp(role->kind, "spinlock") == 0 || strcmp(role->kind, "sem") == 0);
}

/* Counts a wait for a lock. */
static void count_wait(struct fxt_held_lock *l, uint64_t ns, uint32_t innermost)
{
	l->count++;
	l->total_ns += ns;
	if (ns > l->max_ns) {
		l->max_ns = ns;
		l->innermost = innermost;
	}
}

/* A process has waited for a file. Those who held it meanwhile are to blame. */
static void take_file_wait(struct fxt_held *h, const struct fxt_record *rec, uint64_t file, uint64_t from_ns,
			   uint64_t to_ns, uint32_t innermost)
{
	size_t lock = fxt_map_find(&h->by_lock, UINT64_MAX, file)->value[0] - 1;

	count_wait(&h->list[lock], to_ns - from_ns, innermost);
	for (size_t i = 0; i < h->file_count; i++) {
		const struct fxt_held_file *one = &h->files[i];
		const struct fxt_held_thread *t =
			one->thread < h->thread_count ? &h->threads[one->thread] : NULL;

		if (one->file != file || one->thread == rec->thread ||
		    !common_ns(one->from_ns, one->to_ns, from_ns, to_ns))
			continue;
		for (unsigned k = 0; t && t->history && k < HISTORY; k++)
			if (t->history[k].from_ns >= one->from_ns)
				lose(h, lock, &t->history[k],
				     common_ns(t->history[k].from_ns, t->history[k].to_ns, from_ns,
					       to_ns < one->to_ns ? to_ns : one->to_ns));
		add_work(h, lock, one->thread, one->from_ns > from_ns ? one->from_ns : from_ns,
			 one->to_ns < to_ns ? one->to_ns : to_ns);
	}
}

static size_t lock_of(struct fxt_held *h, struct fxt_reader *r, const struct fxt_objects *objects,
		      const struct fxt_record *rec, const char *kind)
{
	uint64_t pid = r->threads[rec->thread].pid;
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&h->by_lock, pid, rec->args[0].u, &fresh);

	if (fresh) {
		h->list = fxt_grow(h->list, &h->capacity, h->count + 1, sizeof(*h->list));
		h->list[h->count] = (struct fxt_held_lock){
			.kind = kind,
			.pid = pid,
			.lock = rec->args[0].u,
			.known = fxt_object_of(objects, r, rec, &rec->args[0]),
			.innermost = FXT_NO_FRAME,
		};
		s->value[0] = ++h->count;
	}
	return s->value[0] - 1;
}

void fxt_held_call(struct fxt_held *h, struct fxt_reader *r, const struct fxt_objects *objects,
		   const struct fxt_record *rec, const struct fxt_role *role, bool did_not_wait,
		   uint32_t innermost)
{
	uint64_t from_ns = fxt_ns(rec->provider, rec->ticks), to_ns = fxt_ns(rec->provider, rec->extra);
	struct fxt_held_thread *t;
	const struct fxt_slot *file = fxt_map_find(&h->file_waits, rec->offset, 0);
	bool fresh;

	if (file) {
		take_file_wait(h, rec, file->value[0], from_ns, to_ns, innermost);
		return;
	}
	if (is_lock(role) && !did_not_wait && rec->arg_count && rec->args[0].type == FXT_ARG_POINTER) {
		t = thread_of(h, rec->thread);
		t->lock = lock_of(h, r, objects, rec, role->kind);
		t->from_ns = from_ns;
		t->to_ns = to_ns;
		t->has_wait = true;
		count_wait(&h->list[t->lock], to_ns - from_ns, innermost);
		if (is_of(t))
			take_link(h, t);
		fxt_map_put(&t->last, t->lock, 0, &fresh)->value[0] = to_ns;
		return;
	}
	if (did_not_wait || to_ns - from_ns < FXT_HELD_LEAST_NS ||
	    fxt_role_standing(role) == FXT_STANDING_NONE)
		return;
	t = thread_of(h, rec->thread);
	if (!t->history)
		t->history = fxt_alloc(HISTORY, sizeof(*t->history));
	t->history[t->next] = (struct fxt_held_piece){from_ns, to_ns, rec->thread,
						      fxt_symbol(r, &rec->name), innermost};
	t->next = (t->next + 1) % HISTORY;
}

/* -- The end ---------------------------------------------------------------------------------------- */

static int by_lost(const void *a, const void *b)
{
	const struct fxt_held_lock *x = a, *y = b;

	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

void fxt_held_finish(struct fxt_held *h, struct fxt_who *who)
{
	fxt_stack_sums_finish(&h->waits);
	fxt_stack_sums_finish(&h->work);
	for (size_t i = 0; i < h->count; i++) {
		struct fxt_held_lock *l = &h->list[i];
		const struct fxt_slot *call;
		struct fxt_stack_sum most;

		l->waited_in = l->worked_in = FXT_NO_FRAME;
		if (fxt_stack_sums_most(&h->waits, i, who, FXT_FOR_CALL, &most)) {
			l->waited_in = most.innermost;
			l->waited_in_ns = most.total_ns;
			call = fxt_map_find(&h->calls, most.innermost, 0);
			l->waited_call = call ? (uint32_t)call->value[0] : 0;
		}
		if (fxt_stack_sums_most(&h->work, i, who, FXT_FOR_CALL, &most)) {
			l->worked_in = most.innermost;
			l->worked_in_ns = most.total_ns;
		}
	}
	if (h->count)
		qsort(h->list, h->count, sizeof(*h->list), by_lost);
}

void fxt_held_free(struct fxt_held *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->list[i].label);
	for (size_t i = 0; i < h->thread_count; i++) {
		free(h->threads[i].history);
		fxt_map_free(&h->threads[i].last);
	}
	free(h->list);
	free(h->threads);
	free(h->samples);
	free(h->files);
	fxt_map_free(&h->by_lock);
	fxt_map_free(&h->units);
	fxt_map_free(&h->calls);
	fxt_map_free(&h->file_holders);
	fxt_map_free(&h->file_waits);
	fxt_stack_sums_free(&h->waits);
	fxt_stack_sums_free(&h->work);
	*h = (struct fxt_held){0};
}
