/* Takes what the graph of the critical path is made of. See critical.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "critical_graph.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* What a call without a descriptor is to the graph. */
enum { NOT_ASKED, ORDINARY, SLEEPS, POLLS, FOR_SOMEBODY };

static struct fxt_critical_graph *graph_of(struct fxt_critical *c)
{
	if (!c->graph) {
		c->graph = fxt_alloc(1, sizeof(*c->graph));
		c->graph->sample_step = 1;
		c->least_ns = FXT_STANDING_LEAST_NS;
	}
	return c->graph;
}

uint32_t fxt_graph_thing(struct fxt_critical *c, enum fxt_critical_kind kind, uint64_t key, uint32_t module)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&c->graph->things, key, (uint64_t)kind << 32 | module, &fresh);

	if (fresh) {
		s->value[0] = c->count;
		c->things = fxt_grow(c->things, &c->capacity, c->count + 1, sizeof(*c->things));
		c->things[c->count++] = (struct fxt_critical_thing){
			.kind = kind, .key = key, .module = module, .frame = FXT_NO_FRAME};
	}
	return (uint32_t)s->value[0];
}

/* -- Calls ---------------------------------------------------------------------------------------- */

/* Returns what the call of this name waits for. */
static uint8_t find_kind(const struct fxt_text *name)
{
	static const char *const polls[] = {"poll", "ppoll", "select", "pselect", "epoll_wait",
					    "epoll_pwait", "epoll_pwait2", NULL};
	static const char *const others[] = {"wait", "waitpid", "wait3", "wait4", "waitid", "pause",
					     "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait", "accept",
					     "accept4", "flock", "lockf", "msgrcv", "mq_receive",
					     "mq_timedreceive", NULL};
	static const char *const sleeps[] = {"sleep", "usleep", "nanosleep", "clock_nanosleep", "thrd_sleep",
					     NULL};

	for (size_t i = 0; polls[i]; i++)
		if (fxt_text_is(name, polls[i]))
			return POLLS;
	for (size_t i = 0; others[i]; i++)
		if (fxt_text_is(name, others[i]))
			return FOR_SOMEBODY;
	for (size_t i = 0; sleeps[i]; i++)
		if (fxt_text_is(name, sleeps[i]))
			return SLEEPS;
	return ORDINARY;
}

static uint8_t kind_of(struct fxt_critical_graph *g, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint32_t symbol = fxt_symbol(r, &rec->name);

	g->calls = fxt_reach(g->calls, &g->call_capacity, &g->call_count, symbol, sizeof(*g->calls));
	if (!g->calls[symbol])
		g->calls[symbol] = find_kind(&rec->name);
	return g->calls[symbol];
}

/* Returns whether a call says that it ended because its time was over. */
static bool ran_out(const struct fxt_record *rec, bool is_poll)
{
	uint64_t ret;

	if (fxt_argument_or(rec, "errno", 0) == ETIMEDOUT)
		return true;
	return fxt_argument_u64(fxt_argument(rec, "ret"), &ret) && ret == (is_poll ? 0 : ETIMEDOUT);
}

/* Gives up the shorter nodes, until there are half as many. */
static void drop_short(struct fxt_critical *c)
{
	struct fxt_critical_graph *g = c->graph;

	while (g->node_count > FXT_GRAPH_NODES / 2) {
		size_t kept = 0;

		c->least_ns *= 2;
		for (size_t i = 0; i < g->node_count; i++)
			if (g->nodes[i].end_ns - g->nodes[i].start_ns >= c->least_ns)
				g->nodes[kept++] = g->nodes[i];
		g->node_count = kept;
	}
}

static uint32_t thing_of(struct fxt_critical *c, struct fxt_reader *r, const struct fxt_objects *objects,
			 const struct fxt_record *rec, const struct fxt_role *role, uint64_t file)
{
	const struct fxt_argument *what = role ? fxt_argument(rec, role->argument) : NULL;
	uint64_t pid = r->threads[rec->thread].pid, address;
	uint32_t place;

	if (file != FXT_CRITICAL_NO_FILE)
		return fxt_graph_thing(c, FXT_CRITICAL_FILE, file, 0);
	/* Who joins a thread waits for what that thread does, and nothing else. */
	if (role && role->family == FXT_FAMILY_WAIT && strcmp(role->kind, "join") != 0 &&
	    fxt_argument_u64(what, &address)) {
		const struct fxt_object *known = fxt_object_of(objects, r, rec, what);
		struct fxt_critical_thing *thing;

		place = fxt_graph_thing(c, FXT_CRITICAL_LOCK,
					fxt_object_key(objects, known, fxt_pointer_key(pid, address)), 0);
		thing = &c->things[place];
		if (!thing->label) {
			const struct fxt_text *object = fxt_argument_text(rec, "object");
			char *name = known && known->label  ? fxt_strdup(known->label)
				     : object && object->bytes ? fxt_printable(object, 40, true)
							       : fxt_format("0x%llx", (long long)address);

			/* A name such as "sem of make_pool" has the kind itself. */
			thing->label = strncmp(name, role->kind, strlen(role->kind)) == 0
					       ? fxt_strdup(name)
					       : fxt_format("%s %s", role->kind, name);
			thing->pid = pid;
			thing->object = address;
			/* Of a semaphore it is not known yet. */
			thing->is_signal = strcmp(role->kind, "mutex") != 0 &&
					   strcmp(role->kind, "rwlock") != 0 &&
					   strcmp(role->kind, "spinlock") != 0;
			free(name);
		}
		return place;
	}
	place = fxt_graph_thing(c, FXT_CRITICAL_CALL, fxt_symbol(r, &rec->name), 0);
	c->things[place].is_of_agent = fxt_text_is(&rec->category, "agent");
	return place;
}

void fxt_critical_call(struct fxt_critical *c, struct fxt_reader *r, const struct fxt_objects *objects,
		       struct fxt_call_stacks *stacks, const struct fxt_record *rec,
		       const struct fxt_role *role, uint64_t waited_ns, uint64_t file)
{
	struct fxt_critical_graph *g = graph_of(c);
	struct fxt_graph_node n = {.thread = rec->thread, .frame = FXT_NO_FRAME};
	uint64_t length_ns;
	uint8_t kind;

	if (rec->extra < rec->ticks)
		return;
	n.start_ns = fxt_ns(rec->provider, rec->ticks);
	n.end_ns = fxt_ns(rec->provider, rec->extra);
	length_ns = n.end_ns - n.start_ns;
	if (length_ns < c->least_ns)
		return;
	kind = kind_of(g, r, rec);
	n.is_poll = kind == POLLS;
	n.is_sleep = kind == SLEEPS;
	n.standing = FXT_GRAPH_TAKES;
	if (role && role->family == FXT_FAMILY_WAIT)
		n.standing = strcmp(role->kind, "barrier") == 0 ? FXT_GRAPH_MEETS : FXT_GRAPH_WAITS;
	else if (kind == POLLS || kind == FOR_SOMEBODY)
		n.standing = FXT_GRAPH_WAITS;
	if (n.standing == FXT_GRAPH_WAITS && ran_out(rec, n.is_poll))
		n.standing = FXT_GRAPH_TAKES;
	if (waited_ns < length_ns / 2)
		n.standing = FXT_GRAPH_RUNS;
	n.thing = thing_of(c, r, objects, rec, role, file);
	n.frame = fxt_call_stack_of(stacks, rec);
	if (g->node_count == FXT_GRAPH_NODES)
		drop_short(c);
	if (length_ns < c->least_ns)
		return;
	g->nodes = fxt_grow(g->nodes, &g->node_capacity, g->node_count + 1, sizeof(*g->nodes));
	g->nodes[g->node_count++] = n;
}

/* -- Arrows --------------------------------------------------------------------------------------- */

static int by_threads(const void *a, const void *b)
{
	const struct fxt_graph_arrow *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->waker != y->waker)
		return x->waker < y->waker ? -1 : 1;
	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1)
				    : (x->woken_ns > y->woken_ns) - (x->woken_ns < y->woken_ns);
}

/* Keeps the last arrow of each stretch of time between two threads, until there are half as many. */
static void thin_arrows(struct fxt_critical_graph *g)
{
	qsort(g->arrows, g->arrow_count, sizeof(*g->arrows), by_threads);
	if (!g->arrow_step_ns)
		g->arrow_step_ns = FXT_STANDING_LEAST_NS;
	while (g->arrow_count > FXT_GRAPH_NODES / 2 && g->arrow_step_ns < UINT64_MAX / 2) {
		size_t kept = 0;

		g->arrow_step_ns *= 2;
		for (size_t i = 0; i < g->arrow_count; i++) {
			const struct fxt_graph_arrow *a = &g->arrows[i];
			const struct fxt_graph_arrow *last = kept ? &g->arrows[kept - 1] : NULL;

			if (last && last->thread == a->thread && last->waker == a->waker &&
			    last->at_ns / g->arrow_step_ns == a->at_ns / g->arrow_step_ns)
				kept--;
			g->arrows[kept++] = *a;
		}
		g->arrow_count = kept;
	}
}

void fxt_critical_cause(struct fxt_critical *c, uint32_t thread, const struct fxt_flight_cause *cause)
{
	struct fxt_critical_graph *g = graph_of(c);

	if (cause->woken_ns > cause->at_ns || cause->waker == thread)
		return;
	if (g->arrow_count == FXT_GRAPH_NODES)
		thin_arrows(g);
	/* So many pairs of threads have one arrow each that there is no room. */
	if (g->arrow_count == FXT_GRAPH_NODES)
		return;
	g->arrows = fxt_grow(g->arrows, &g->arrow_capacity, g->arrow_count + 1, sizeof(*g->arrows));
	g->arrows[g->arrow_count++] = (struct fxt_graph_arrow){
		.at_ns = cause->at_ns, .woken_ns = cause->woken_ns, .thread = thread, .waker = cause->waker};
}

/* -- Joins ---------------------------------------------------------------------------------------- */

static void add_handle(struct fxt_critical *c, const struct fxt_graph_handle *handle)
{
	struct fxt_critical_graph *g = graph_of(c);

	/* A program that made more threads than this knows the ends of the first ones only. */
	if (g->handle_count == FXT_GRAPH_NODES)
		return;
	g->handles = fxt_grow(g->handles, &g->handle_capacity, g->handle_count + 1, sizeof(*g->handles));
	g->handles[g->handle_count++] = *handle;
}

void fxt_critical_begin(struct fxt_critical *c, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_graph_handle h = {.pid = r->threads[rec->thread].pid, .thread = rec->thread};

	if (!fxt_text_is(&rec->category, "pthread") || !fxt_text_is(&rec->name, "thread") ||
	    !fxt_argument_u64(fxt_argument(rec, "thread"), &h.handle))
		return;
	h.ns = fxt_ns(rec->provider, rec->ticks);
	add_handle(c, &h);
}

void fxt_critical_join(struct fxt_critical *c, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_graph_handle h = {
		.pid = r->threads[rec->thread].pid, .thread = rec->thread, .is_join = true};
	uint64_t ret;

	if (!rec->arg_count || !fxt_argument_u64(&rec->args[0], &h.handle) || rec->extra < rec->ticks)
		return;
	/* A join that failed says nothing of the other thread. */
	if (fxt_argument_u64(fxt_argument(rec, "ret"), &ret) && ret)
		return;
	h.ns = fxt_ns(rec->provider, rec->extra);
	add_handle(c, &h);
}

/* -- Samples -------------------------------------------------------------------------------------- */

void fxt_critical_sample(struct fxt_critical *c, struct fxt_call_stacks *stacks, const struct fxt_record *rec,
			 uint32_t thread)
{
	struct fxt_critical_graph *g = graph_of(c);
	size_t kept = 0;

	if (g->sample_turn++ % g->sample_step)
		return;
	if (g->sample_count == FXT_GRAPH_SAMPLES) {
		for (size_t i = 0; i < g->sample_count; i += 2)
			g->samples[kept++] = g->samples[i];
		g->sample_count = kept;
		g->sample_step *= 2;
	}
	g->samples = fxt_grow(g->samples, &g->sample_capacity, g->sample_count + 1, sizeof(*g->samples));
	g->samples[g->sample_count++] = (struct fxt_graph_sample){
		.ns = fxt_ns(rec->provider, rec->ticks),
		.thread = thread,
		.frame = fxt_call_stack_of(stacks, rec),
	};
}

void fxt_graph_free(struct fxt_critical_graph *g)
{
	if (!g)
		return;
	free(g->nodes);
	free(g->arrows);
	free(g->samples);
	free(g->handles);
	fxt_map_free(&g->things);
	free(g->calls);
	free(g->threads);
	free(g->order);
	free(g->last_threads);
	free(g);
}
