/* See import_calls.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_calls.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* An arrow's end. Its record has to stand behind that of the call that it lies in. */
struct flow {
	enum fxt_event_type kind;
	uint64_t ns, id;
	char *category, *name;
};

/* A call whose end was not met yet. */
struct call {
	uint64_t start_ns;
	char *category, *name;
	struct fxt_import_arg *args;    /* with copies of their texts */
	size_t count;
	struct flow *flows;
	size_t flow_count, flow_capacity;
	/* a call around it has ended, at this time */
	bool is_over;
	uint64_t over_ns;
};

struct fxt_import_thread_calls {
	struct fxt_import_thread *thread;
	struct call *list;
	size_t count, capacity;
};

static struct fxt_import_thread_calls *calls_of(struct fxt_import_calls *all, struct fxt_import_thread *t)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&all->by_thread, (uintptr_t)t, 0, &fresh);

	if (fresh) {
		s->value[0] = all->count;
		all->list = fxt_grow(all->list, &all->capacity, all->count + 1, sizeof(*all->list));
		all->list[all->count++] = (struct fxt_import_thread_calls){.thread = t};
	}
	return &all->list[s->value[0]];
}

void fxt_import_call_begin(struct fxt_import_calls *all, struct fxt_import_thread *t, uint64_t ns,
			   const char *category, const char *name, const struct fxt_import_fields *fields)
{
	struct fxt_import_thread_calls *c = calls_of(all, t);
	struct call call = {.start_ns = ns, .category = fxt_strdup(category), .name = fxt_strdup(name)};

	call.count = fields->count;
	call.args = fxt_alloc(fields->count, sizeof(*call.args));
	for (size_t i = 0; i < fields->count; i++) {
		call.args[i] = fields->list[i];
		call.args[i].name = fxt_strdup(fields->list[i].name);
		if (call.args[i].type == FXT_ARG_STRING)
			call.args[i].string = fxt_strdup(fields->list[i].string);
	}
	c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
	c->list[c->count++] = call;
}

/* Takes a call off the stack. `type` is what becomes of it, and `more` are further arguments. */
static void pop(struct fxt_import_out *o, struct fxt_import_thread_calls *c, size_t at,
		enum fxt_event_type type, uint64_t end_ns, const struct fxt_import_fields *more)
{
	struct call *call = &c->list[at];
	size_t count = call->count + (more ? more->count : 0);
	struct fxt_import_arg *args = fxt_alloc(count, sizeof(*args));

	if (call->count)
		memcpy(args, call->args, call->count * sizeof(*args));
	if (more && more->count)
		memcpy(args + call->count, more->list, more->count * sizeof(*args));
	fxt_import_event(o, c->thread, type, call->start_ns, call->category, call->name, args, count, end_ns);
	free(args);
	for (size_t i = 0; i < call->flow_count; i++) {
		const struct flow *f = &call->flows[i];

		fxt_import_event(o, c->thread, f->kind, f->ns, f->category, f->name, NULL, 0, f->id);
		free(f->category);
		free(f->name);
	}
	for (size_t i = 0; i < call->count; i++) {
		free((char *)(uintptr_t)call->args[i].name);
		if (call->args[i].type == FXT_ARG_STRING)
			free((char *)(uintptr_t)call->args[i].string);
	}
	free(call->args);
	free(call->flows);
	free(call->category);
	free(call->name);
	c->count--;
	memmove(call, call + 1, (c->count - at) * sizeof(*call));
}

void fxt_import_calls_at(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			 uint64_t ns)
{
	struct fxt_import_thread_calls *c = calls_of(all, t);

	while (c->count && c->list[c->count - 1].is_over && c->list[c->count - 1].over_ns < ns)
		pop(o, c, c->count - 1, FXT_EVENT_INSTANT, 0, NULL);
}

void fxt_import_call_end(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			 uint64_t ns, const char *category, const char *name,
			 const struct fxt_import_fields *more)
{
	struct fxt_import_thread_calls *c = calls_of(all, t);
	size_t at = c->count;

	while (at &&
	       (strcmp(c->list[at - 1].name, name) != 0 || strcmp(c->list[at - 1].category, category) != 0))
		at--;
	if (!at) {
		/* Its begin is missing. */
		fxt_import_event(o, t, FXT_EVENT_INSTANT, ns, category, name, more->list, more->count, 0);
		return;
	}
	for (size_t i = at; i < c->count; i++) {
		c->list[i].is_over = true;
		c->list[i].over_ns = ns;
	}
	pop(o, c, at - 1, FXT_EVENT_DURATION_COMPLETE, ns, more);
}

void fxt_import_call_flow(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			  enum fxt_event_type kind, uint64_t ns, const char *category, const char *name,
			  uint64_t id)
{
	struct fxt_import_thread_calls *c = calls_of(all, t);
	struct call *call = c->count ? &c->list[c->count - 1] : NULL;

	if (!call) {
		fxt_import_event(o, t, kind, ns, category, name, NULL, 0, id);
		return;
	}
	call->flows = fxt_grow(call->flows, &call->flow_capacity, call->flow_count + 1, sizeof(*call->flows));
	call->flows[call->flow_count++] = (struct flow){kind, ns, id, fxt_strdup(category), fxt_strdup(name)};
}

void fxt_import_calls_end(struct fxt_import_calls *all, struct fxt_import_out *o)
{
	for (size_t i = 0; i < all->count; i++) {
		struct fxt_import_thread_calls *c = &all->list[i];

		while (c->count)
			pop(o, c, 0, FXT_EVENT_DURATION_BEGIN, 0, NULL);
	}
}

void fxt_import_calls_free(struct fxt_import_calls *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->list[i].list);
	free(all->list);
	fxt_map_free(&all->by_thread);
}

#endif
