/* See import_open.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "import_open.h"

#include <errno.h>
#include <stdlib.h>

#include "import_modules.h"
#include "tools/common/message.h"

static const char LOCK[] = "pthread_mutex_lock";

static struct fxt_import_open *push(struct fxt_import_thread *t)
{
	t->open = fxt_grow(t->open, &t->open_capacity, t->open_count + 1, sizeof(*t->open));
	return &t->open[t->open_count++];
}

/* Writes something whose end is not in the trace as an instant: a call of which only the begin was seen. Its
 * end may have been lost, or a longjmp has left it. */
static void put_begin_alone(struct fxt_import_out *o, struct fxt_import_thread *t,
			    const struct fxt_import_open *c)
{
	const struct fxt_import_arg mutex = {FXT_ARG_POINTER, "mutex", .u = c->key};

	if (c->is_function)
		fxt_import_event(o, t, FXT_EVENT_INSTANT, c->start_ns, "function",
				 fxt_import_function(t->program, c->key), NULL, 0, 0);
	else
		fxt_import_event(o, t, FXT_EVENT_INSTANT, c->start_ns, "pthread", LOCK, &mutex, 1, 0);
}

/* Finds the innermost open call that these are the address and kind of, and takes what is within it off the
 * stack. Returns false if there is none. */
static bool find(struct fxt_import_out *o, struct fxt_import_thread *t, bool is_function, uint64_t key,
		 uint64_t call_site, struct fxt_import_open *found)
{
	for (size_t i = t->open_count; i-- > 0;) {
		const struct fxt_import_open *c = &t->open[i];

		if (c->is_function != is_function || (key && c->key != key) ||
		    (call_site && c->call_site && c->call_site != call_site))
			continue;
		*found = *c;
		while (t->open_count > i + 1)
			put_begin_alone(o, t, &t->open[--t->open_count]);
		t->open_count--;
		return true;
	}
	return false;
}

/* -- Functions ------------------------------------------------------------------------------------- */

void fxt_import_enter(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, uint64_t address,
		      uint64_t call_site)
{
	(void)o;
	*push(t) = (struct fxt_import_open){
		.is_function = true, .key = address, .call_site = call_site, .start_ns = ns};
}

void fxt_import_leave(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, uint64_t address,
		      uint64_t call_site)
{
	const struct fxt_import_arg list[] = {{FXT_ARG_POINTER, "addr", .u = address},
					      {FXT_ARG_POINTER, "call_site", .u = call_site}};
	struct fxt_import_open call;

	if (find(o, t, true, address, call_site, &call))
		fxt_import_event(o, t, FXT_EVENT_DURATION_COMPLETE, call.start_ns, "function",
				 fxt_import_function(t->program, call.key), NULL, 0, ns);
	else
		/* It was entered before recording began, or its entry was lost. */
		fxt_import_event(o, t, FXT_EVENT_INSTANT, ns, "lttng_ust_cyg_profile", "func_exit", list,
				 address ? 2 : 0, 0);
}

/* Returns the name of the innermost function that the thread is in; NULL: it is not known. */
static const char *place_of(const struct fxt_import_thread *t)
{
	for (size_t i = t->open_count; i-- > 0;) {
		if (t->open[i].is_function)
			return fxt_import_function(t->program, t->open[i].key);
	}
	return NULL;
}

/* -- Mutexes --------------------------------------------------------------------------------------- */

static struct fxt_import_mutex *mutex_of(struct fxt_import_locks *l, const struct fxt_import_thread *t,
					 uint64_t mutex)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&l->by_address, t->program->id, mutex, &fresh);

	if (fresh) {
		s->value[0] = l->count;
		l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
		l->list[l->count++] = (struct fxt_import_mutex){0};
	}
	return &l->list[s->value[0]];
}

void fxt_import_lock_begin(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			   uint64_t ns, uint64_t mutex)
{
	const struct fxt_import_mutex *m = mutex_of(l, t, mutex);
	struct fxt_import_open call = {.key = mutex, .start_ns = ns, .at = place_of(t)};

	(void)o;
	if (m->holder && m->holder != t->tid) {
		call.holder = m->holder;
		call.held_since_ns = m->since_ns;
		call.held_at = m->at;
	}
	*push(t) = call;
}

/* Returns whether a call with this result has taken the mutex. */
static bool has_taken(int64_t error)
{
	return error == 0 || error == EOWNERDEAD;
}

/* The thread has the mutex now. */
static void take(struct fxt_import_mutex *m, const struct fxt_import_thread *t, uint64_t ns, const char *at)
{
	if (m->holder == t->tid) {
		m->depth++;
		return;
	}
	m->holder = t->tid;
	m->since_ns = ns;
	m->depth = 1;
	m->at = at;
}

/* Writes the arrow from the thread that gave the mutex up to the one that waited for it. Its two ends have
 * slices of their own, as those of the agent do. */
static void put_arrow(struct fxt_import_out *o, struct fxt_import_thread *t, const struct fxt_import_mutex *m,
		      uint64_t ns)
{
	struct fxt_import_thread *from = fxt_import_thread(o, t->program, m->last);
	uint64_t left_ns = m->unlocked_ns + 1, id = ++o->flows;

	if (ns < left_ns + 4)
		return;
	fxt_import_event(o, from, FXT_EVENT_DURATION_COMPLETE, left_ns, "agent", "released", NULL, 0,
			 left_ns + 1);
	fxt_import_event(o, from, FXT_EVENT_FLOW_BEGIN, left_ns, "agent", "wakes", NULL, 0, id);
	fxt_import_event(o, t, FXT_EVENT_DURATION_COMPLETE, left_ns + 2, "agent", "resumed", NULL, 0, ns);
	fxt_import_event(o, t, FXT_EVENT_FLOW_END, ns, "agent", "wakes", NULL, 0, id);
}

void fxt_import_lock_end(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			 uint64_t ns, uint64_t mutex, int64_t error)
{
	struct fxt_import_mutex *m = mutex_of(l, t, mutex);
	struct fxt_import_arg list[5] = {{FXT_ARG_POINTER, "mutex", .u = mutex}};
	struct fxt_import_open call;
	size_t count = 1;
	bool waited;

	/* A call whose begin is not in the trace has taken no time that is known. */
	if (!find(o, t, false, mutex, 0, &call))
		call = (struct fxt_import_open){.start_ns = ns, .at = place_of(t)};
	/* It has waited for a thread that held the mutex when it began, and gave it up before it ended. */
	waited = call.holder && has_taken(error) && m->last && m->last != t->tid &&
		 m->unlocked_ns > call.start_ns && m->unlocked_ns < ns;
	if (error)
		list[count++] = (struct fxt_import_arg){FXT_ARG_INT32, "errno", .i = error};
	if (waited) {
		list[count++] =
			(struct fxt_import_arg){FXT_ARG_STRING, "at", .string = call.at ? call.at : ""};
		list[count++] = (struct fxt_import_arg){FXT_ARG_UINT64, "holder", .u = m->last};
		list[count++] = (struct fxt_import_arg){FXT_ARG_UINT64, "held_ns",
							.u = m->unlocked_ns - m->last_since_ns};
		if (m->last_at)
			list[count++] =
				(struct fxt_import_arg){FXT_ARG_STRING, "held_at", .string = m->last_at};
	}
	fxt_import_event(o, t, FXT_EVENT_DURATION_COMPLETE, call.start_ns, "pthread", LOCK, list, count, ns);
	if (waited)
		put_arrow(o, t, m, ns);
	if (has_taken(error))
		take(m, t, ns, call.at);
}

static void put_at_once(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, const char *name,
			uint64_t mutex, int64_t error)
{
	const struct fxt_import_arg list[] = {{FXT_ARG_POINTER, "mutex", .u = mutex},
					      {FXT_ARG_INT32, "errno", .i = error}};

	fxt_import_event(o, t, FXT_EVENT_DURATION_COMPLETE, ns, "pthread", name, list, error ? 2 : 1, ns);
}

void fxt_import_trylock(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			uint64_t ns, uint64_t mutex, int64_t error)
{
	put_at_once(o, t, ns, "pthread_mutex_trylock", mutex, error);
	if (has_taken(error))
		take(mutex_of(l, t, mutex), t, ns, place_of(t));
}

void fxt_import_unlock(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
		       uint64_t ns, uint64_t mutex, int64_t error)
{
	struct fxt_import_mutex *m = mutex_of(l, t, mutex);

	put_at_once(o, t, ns, "pthread_mutex_unlock", mutex, error);
	/* The event comes after the call, so another thread may have the mutex by now. */
	if (error || m->holder != t->tid || --m->depth)
		return;
	m->last = m->holder;
	m->unlocked_ns = ns;
	m->last_since_ns = m->since_ns;
	m->last_at = m->at;
	m->holder = 0;
}

void fxt_import_locks_forget(struct fxt_import_locks *l)
{
	fxt_import_locks_free(l);
	*l = (struct fxt_import_locks){0};
}

void fxt_import_locks_free(struct fxt_import_locks *l)
{
	free(l->list);
	fxt_map_free(&l->by_address);
}

/* -- The end --------------------------------------------------------------------------------------- */

/* Writes a call that still waits for a mutex, and who holds that. */
static void put_waiting(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			const struct fxt_import_open *c)
{
	struct fxt_import_arg list[5] = {{FXT_ARG_POINTER, "mutex", .u = c->key}};
	size_t count = 1;

	fxt_import_event(o, t, FXT_EVENT_DURATION_BEGIN, c->start_ns, "pthread", LOCK, list, 1, 0);
	if (!c->holder || mutex_of(l, t, c->key)->holder != c->holder)
		return;
	list[count++] = (struct fxt_import_arg){FXT_ARG_STRING, "at", .string = c->at ? c->at : ""};
	list[count++] = (struct fxt_import_arg){FXT_ARG_UINT64, "holder", .u = c->holder};
	list[count++] =
		(struct fxt_import_arg){FXT_ARG_UINT64, "held_ns", .u = c->start_ns - c->held_since_ns};
	if (c->held_at)
		list[count++] = (struct fxt_import_arg){FXT_ARG_STRING, "held_at", .string = c->held_at};
	fxt_import_event(o, t, FXT_EVENT_INSTANT, c->start_ns, "agent", "contended", list, count, 0);
}

static void put_open(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t)
{
	for (size_t i = 0; i < t->open_count; i++) {
		const struct fxt_import_open *c = &t->open[i];

		if (c->is_function)
			fxt_import_event(o, t, FXT_EVENT_DURATION_BEGIN, c->start_ns, "function",
					 fxt_import_function(t->program, c->key), NULL, 0, 0);
		else
			put_waiting(o, l, t, c);
	}
}

void fxt_import_executed(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_program *p,
			 uint64_t ns)
{
	const struct fxt_import_arg exec = {FXT_ARG_STRING, "ended_by", .string = "exec"};

	for (size_t i = 0; i < p->all_threads; i++) {
		struct fxt_import_thread *t = p->threads[i];

		put_open(o, l, t);
		while (t->open_count) {
			const struct fxt_import_open *c = &t->open[--t->open_count];

			fxt_import_event(o, t, FXT_EVENT_DURATION_END, ns > c->start_ns ? ns - 1 : ns,
					 c->is_function ? "function" : "pthread",
					 c->is_function ? fxt_import_function(p, c->key) : LOCK, &exec, 1, 0);
		}
	}
}

void fxt_import_still_open(struct fxt_import_out *o, struct fxt_import_locks *l)
{
	for (size_t i = 0; i < o->program_count; i++) {
		for (size_t k = 0; k < o->programs[i]->all_threads; k++)
			put_open(o, l, o->programs[i]->threads[k]);
	}
}
