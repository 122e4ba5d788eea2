/* fxt report: makes chains of waits from flows and the calls they end in. See report_chains.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_chains.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

enum {
	RECENT = 8, /* the waits that are remembered of a thread */
	LONGEST = 8, /* the most links of a chain, because nobody reads on after so many */
	KINDS = 4096, /* kinds of chains; if there are more, those with the shortest waits are given up */
	TOLD = 100, /* the chains that are shown in full */
	/* A wait explains nothing of another one that was this many times longer. */
	WORTH = 20,
};

struct fxt_chain_thread {
	struct fxt_chain_link *recent[RECENT];
	unsigned next;
	bool has_call, is_linked; /* is_linked: the newest of `recent` is the link of `call` */
	struct fxt_chain_link call; /* the last call that was taken */
	struct fxt_flight_cause causes[2]; /* causes that came before the call that they belong to */
	unsigned cause_count;
};

/* -- Links ---------------------------------------------------------------------------------------------- */

static void let_go(struct fxt_chain_link *link)
{
	while (link && --link->holders == 0) {
		struct fxt_chain_link *cause = link->cause;

		fxt_meanwhile_free(&link->meanwhile);
		free(link);
		link = cause;
	}
}

static struct fxt_chain_link *hold(struct fxt_chain_link *link)
{
	if (link)
		link->holders++;
	return link;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

/* Returns a number that is the same for threads of one name. A process's first thread is
 * a kind of its own, because it has the program's name, like threads that were given no name. */
static uint64_t kind_of(struct fxt_reader *r, uint32_t thread)
{
	const struct fxt_trace_thread *t = &r->threads[thread];
	struct fxt_text name = fxt_thread_name(r, thread);

	return mix(fxt_symbol(r, &name), t->tid == t->pid);
}

static struct fxt_chain_thread *thread_of(struct fxt_chains *c, uint32_t thread)
{
	c->threads =
		fxt_reach(c->threads, &c->thread_capacity, &c->thread_count, thread, sizeof(*c->threads));
	return &c->threads[thread];
}

/* -- Chains that are alike ------------------------------------------------------------------------------ */

static int by_total(const void *a, const void *b)
{
	const struct fxt_chain *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->longest->offset < y->longest->offset ? -1 : x->longest->offset > y->longest->offset;
}

/* Gives up the half of the chains with the shorter times. */
static void thin_out(struct fxt_chains *c)
{
	bool fresh;

	qsort(c->list, c->count, sizeof(*c->list), by_total);
	while (c->count > KINDS / 2)
		let_go(c->list[--c->count].longest);
	fxt_map_free(&c->by_likeness);
	c->by_likeness = (struct fxt_map){0};
	for (size_t i = 0; i < c->count; i++)
		fxt_map_put(&c->by_likeness, c->list[i].longest->likeness, 0, &fresh)->value[0] = i;
}

static uint64_t waited_ns(const struct fxt_chain_link *link)
{
	return link->end_ns - link->start_ns;
}

static void remove_stretch(struct fxt_chain *chain, unsigned i)
{
	chain->stretch_count--;
	memmove(&chain->stretches[i], &chain->stretches[i + 1],
		(chain->stretch_count - i) * sizeof(chain->stretches[0]));
}

/* Adds the part of a stretch of time that the chain does not have yet. Chains are found nearly in the
 * order of their ends, so later ones hardly ever overlap the earliest stretch. */
static void add_stretch(struct fxt_chain *chain, struct fxt_stretch new)
{
	unsigned i = 0;

	new.from_ns = new.from_ns > chain->told_ns ? new.from_ns : chain->told_ns;
	if (new.from_ns >= new.to_ns)
		return;
	chain->total_ns += new.to_ns - new.from_ns;
	while (i < chain->stretch_count) {
		const struct fxt_stretch *old = &chain->stretches[i];

		if (old->to_ns < new.from_ns || new.to_ns < old->from_ns) {
			i++;
			continue;
		}
		/* The two become one stretch, so the time that they share is taken off once. */
		chain->total_ns -= (old->to_ns < new.to_ns ? old->to_ns : new.to_ns) -
				   (old->from_ns > new.from_ns ? old->from_ns : new.from_ns);
		new.from_ns = old->from_ns < new.from_ns ? old->from_ns : new.from_ns;
		new.to_ns = old->to_ns > new.to_ns ? old->to_ns : new.to_ns;
		remove_stretch(chain, i);
	}
	if (chain->stretch_count == FXT_STRETCHES) {
		chain->told_ns = chain->stretches[0].to_ns;
		remove_stretch(chain, 0);
		/* The stretch may begin before the time that is counted for good. */
		if (new.from_ns < chain->told_ns) {
			chain->total_ns -=
				(new.to_ns < chain->told_ns ? new.to_ns : chain->told_ns) - new.from_ns;
			new.from_ns = chain->told_ns;
		}
		if (new.from_ns >= new.to_ns)
			return;
	}
	for (i = chain->stretch_count++; i > 0 && chain->stretches[i - 1].from_ns > new.from_ns; i--)
		chain->stretches[i] = chain->stretches[i - 1];
	chain->stretches[i] = new;
}

static void tell(struct fxt_chains *c, struct fxt_chain_link *link)
{
	struct fxt_chain *chain;
	struct fxt_slot *s;
	bool fresh;

	if (c->count == KINDS)
		thin_out(c);
	s = fxt_map_put(&c->by_likeness, link->likeness, 0, &fresh);
	if (fresh) {
		s->value[0] = c->count;
		c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
		c->list[c->count++] = (struct fxt_chain){0};
	}
	chain = &c->list[s->value[0]];
	chain->count++;
	add_stretch(chain, (struct fxt_stretch){link->start_ns, link->end_ns});
	if (!chain->longest || waited_ns(link) > waited_ns(chain->longest)) {
		let_go(chain->longest);
		chain->longest = hold(link);
	}
}

/* Counts a wait of which all is known. */
static void count_pair(struct fxt_chains *c, const struct fxt_chain_link *link)
{
	struct fxt_slot *s;
	bool fresh;

	if (c->listener)
		c->listener->let_go(c->listener->context, link);
	if (link->is_join) {
		fxt_map_put(&c->joined, link->waker, 0, &fresh);
		return;
	}
	s = fxt_map_put(&c->pairs, link->thread, link->waker, &fresh);
	s->value[0]++;
	s->value[1] += waited_ns(link);
}

/* -- From waits to chains ------------------------------------------------------------------------------- */

/* Returns the waker's last wait that ended during this one and is long enough to explain some of it; or
 * NULL. */
static struct fxt_chain_link *cause_of(struct fxt_chains *c, const struct fxt_chain_link *link)
{
	const struct fxt_chain_thread *waker = thread_of(c, link->waker);

	for (unsigned i = 1; i <= RECENT; i++) {
		struct fxt_chain_link *wait = waker->recent[(waker->next + RECENT - i) % RECENT];
		uint64_t from_ns;

		if (!wait || wait->end_ns <= link->start_ns)
			return NULL;
		from_ns = wait->start_ns > link->start_ns ? wait->start_ns : link->start_ns;
		if (wait->end_ns <= link->woken_ns &&
		    wait->end_ns - from_ns >= (link->end_ns - link->start_ns) / WORTH)
			return wait->length < LONGEST ? wait : NULL;
	}
	return NULL;
}

/* Returns whether the chain of `link` says all that its cause could say. It does not if the cause had gone on
 * for long before the link's wait began. */
static bool tells_of(const struct fxt_chain_link *link, const struct fxt_chain_link *cause)
{
	return cause->start_ns >= link->start_ns ||
	       link->start_ns - cause->start_ns < cause->end_ns - link->start_ns;
}

static void set_cause(struct fxt_chains *c, struct fxt_reader *r, struct fxt_chain_link *link,
		      const struct fxt_flight_cause *cause)
{
	if (link->cause && tells_of(link, link->cause))
		link->cause->followers--;
	let_go(link->cause);
	link->waker = cause->waker;
	link->woken_ns = cause->woken_ns;
	link->cause = hold(cause_of(c, link));
	link->length = 1;
	link->likeness = mix(mix(kind_of(r, link->thread), kind_of(r, link->waker)),
			     mix(link->name, fxt_pointer_key(r->threads[link->thread].pid, link->object)));
	if (!link->cause)
		return;
	link->cause->followers += tells_of(link, link->cause);
	link->length += link->cause->length;
	link->likeness = mix(link->likeness, link->cause->likeness);
}

/* Returns whether the cause is better than the one that the link has. Of two causes, such as the signal of a
 * condition and then its lock, the first is the reason of the wait, unless the other came much later. */
static bool is_better(const struct fxt_chain_link *link, const struct fxt_flight_cause *cause)
{
	return cause->waker != link->waker && cause->woken_ns > link->woken_ns &&
	       cause->woken_ns - link->woken_ns >= (link->end_ns - link->start_ns) / WORTH;
}

static void add_cause(struct fxt_chains *c, struct fxt_reader *r, uint32_t thread,
		      const struct fxt_flight_cause *cause)
{
	struct fxt_chain_thread *t;
	struct fxt_chain_link *link;
	uint64_t kept_ns;

	/* This comes first, because it may move the other threads in memory. */
	thread_of(c, cause->waker);
	t = thread_of(c, thread);
	/* A call did not wait for what had come before it began. A call that need not wait, as on a
	 * socket that does not block or of waitpid() with WNOHANG, may come much later. */
	if (cause->woken_ns <= t->call.start_ns)
		return;
	/* Nor did it wait for a thread that was kept by the recording. */
	kept_ns = fxt_kept_ns(c->kept, cause->waker, t->call.start_ns, cause->woken_ns);
	if (kept_ns >= (t->call.end_ns - t->call.start_ns) / 2)
		return;
	if (t->is_linked) {
		link = t->recent[(t->next + RECENT - 1) % RECENT];
		if (is_better(link, cause))
			set_cause(c, r, link, cause);
		return;
	}
	link = fxt_alloc(1, sizeof(*link));
	*link = t->call;
	link->start_ns += kept_ns;
	link->holders = 1;
	set_cause(c, r, link, cause);
	if (t->recent[t->next]) {
		count_pair(c, t->recent[t->next]);
		if (!t->recent[t->next]->followers)
			tell(c, t->recent[t->next]);
		let_go(t->recent[t->next]);
	}
	t->recent[t->next] = link;
	t->next = (t->next + 1) % RECENT;
	t->is_linked = true;
}

static bool holds(const struct fxt_chain_link *call, uint64_t at_ns)
{
	return call->start_ns <= at_ns && at_ns <= call->end_ns;
}

void fxt_chains_call(struct fxt_chains *c, struct fxt_reader *r, const struct fxt_record *rec,
		     const struct fxt_role *role, uint64_t waited_ns)
{
	struct fxt_chain_thread *t = thread_of(c, rec->thread);
	struct fxt_flight_cause causes[2];
	unsigned count = 0;

	t->has_call = waited_ns;
	t->is_linked = false;
	if (!waited_ns) {
		t->cause_count = 0;
		return;
	}
	t->call = (struct fxt_chain_link){
		.thread = rec->thread,
		.name = fxt_symbol(r, &rec->name),
		.is_join = role && strcmp(role->kind, "join") == 0,
		.start_ns = fxt_ns(rec->provider, rec->extra) - waited_ns,
		.end_ns = fxt_ns(rec->provider, rec->extra),
		.offset = rec->offset,
		.provider = rec->provider,
	};
	if (rec->arg_count && rec->args[0].type == FXT_ARG_POINTER)
		t->call.object = rec->args[0].u;
	for (unsigned i = 0; i < t->cause_count; i++)
		if (holds(&t->call, t->causes[i].at_ns))
			causes[count++] = t->causes[i];
	t->cause_count = 0;
	for (unsigned i = 0; i < count; i++)
		add_cause(c, r, rec->thread, &causes[i]);
}

void fxt_chains_cause(struct fxt_chains *c, struct fxt_reader *r, uint32_t thread,
		      const struct fxt_flight_cause *cause)
{
	struct fxt_chain_thread *t = thread_of(c, thread);

	if (t->has_call && holds(&t->call, cause->at_ns))
		add_cause(c, r, thread, cause);
	else if (t->cause_count < 2)
		t->causes[t->cause_count++] = *cause;
}

/* -- All of them ---------------------------------------------------------------------------------------- */

static void find_meanwhiles(const struct fxt_chains *c, struct fxt_reader *r,
			    const struct fxt_thread_times *times)
{
	struct fxt_meanwhile **list = NULL;
	size_t count = 0, capacity = 0;

	for (size_t i = 0; i < c->count && i < TOLD; i++) {
		for (struct fxt_chain_link *link = c->list[i].longest; link; link = link->cause) {
			struct fxt_meanwhile *m = &link->meanwhile;

			/* The link is in several chains and was set before. */
			if (m->to_ns)
				continue;
			m->thread = link->waker;
			m->from_ns = link->cause ? link->cause->end_ns : link->start_ns;
			if (link->waker < times->count && times->list[link->waker].first_ns > m->from_ns)
				m->from_ns = times->list[link->waker].first_ns;
			m->to_ns = link->woken_ns;
			list = fxt_grow(list, &capacity, count + 1, sizeof(struct fxt_meanwhile *));
			list[count++] = m;
		}
	}
	if (count)
		fxt_meanwhile_find(r, c->extents, list, count);
	free(list);
}

void fxt_chains_finish(struct fxt_chains *c, struct fxt_reader *r, const struct fxt_thread_times *times)
{
	for (size_t i = 0; i < c->thread_count; i++) {
		for (unsigned k = 0; k < RECENT; k++) {
			struct fxt_chain_link *link = c->threads[i].recent[k];

			if (link)
				count_pair(c, link);
			if (link && !link->followers)
				tell(c, link);
			c->threads[i].recent[k] = NULL;
			let_go(link);
		}
	}
	fxt_map_free(&c->by_likeness);
	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), by_total);
	while (c->count > TOLD)
		let_go(c->list[--c->count].longest);
	find_meanwhiles(c, r, times);
}

void fxt_chains_free(struct fxt_chains *c)
{
	for (size_t i = 0; i < c->count; i++)
		let_go(c->list[i].longest);
	for (size_t i = 0; i < c->thread_count; i++)
		for (unsigned k = 0; k < RECENT; k++)
			let_go(c->threads[i].recent[k]);
	free(c->list);
	free(c->threads);
	fxt_map_free(&c->by_likeness);
	fxt_map_free(&c->pairs);
	fxt_map_free(&c->joined);
}
