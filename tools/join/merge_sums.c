/* Sums up what went into the archive. See merge.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "merge_internal.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Finds the category of a name. It is a hash table, because a trace may have a category for each event. */
struct fxt_merged_name {
	size_t category;
	UT_hash_handle hh;              /* the key is the category's name */
};

static struct fxt_merged_category *category_of(struct fxt_merge *m, char *name)
{
	struct fxt_merged_name *found;

	HASH_FIND_STR(m->category_names, name, found);
	if (found) {
		free(name);
		return &m->categories[found->category];
	}
	found = fxt_alloc(1, sizeof(*found));
	found->category = m->category_count++;
	HASH_ADD_KEYPTR(hh, m->category_names, name, strlen(name), found);
	m->categories =
		fxt_grow(m->categories, &m->category_capacity, m->category_count, sizeof(*m->categories));
	m->categories[found->category] = (struct fxt_merged_category){.name = name};
	return &m->categories[found->category];
}

static void add_category(struct fxt_merge *m, const struct fxt_text *name, const struct fxt_category_usage *u)
{
	struct fxt_merged_category *c = category_of(m, fxt_format("%.*s", (int)name->bytes, name->text));

	c->events += u->events;
	c->bytes += u->bytes;
}

/* Counts the processes that lost records, and remembers the one that lost most. */
static void add_losers(struct fxt_merge *m, struct fxt_overview *o, const struct fxt_reader *r)
{
	struct fxt_text name;

	m->losers += fxt_overview_losers(o);
	if (!o->loser_count || o->losers[0].dropped <= m->worst.dropped)
		return;
	m->worst = o->losers[0];
	m->worst.reason = NULL;
	name = fxt_process_name(r, m->worst.pid);
	free(m->worst_name);
	m->worst_name = fxt_printable(&name, 60, false);
}

/* Adds so many lifetimes to those of threads with this number; 0: they are not told. */
static void add_threads(struct fxt_merge *m, uint64_t pid, uint64_t tid, uint64_t lives)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&m->tids, pid, tid, &fresh);
	uint64_t before = fresh ? 0 : s->value[0] ? s->value[0] : 1;

	s->value[0] += lives;
	m->threads += (s->value[0] ? s->value[0] : 1) - before;
}

static void add_holder(struct fxt_merge *m, uint64_t pid, uint64_t tid)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&m->holders, tid, 0, &fresh);

	m->has_numbers_again = m->has_numbers_again || (!fresh && s->value[0] != pid);
	s->value[0] = pid;
}

void fxt_merge_sum_processes(struct fxt_merge *m)
{
	const struct fxt_slot *s;
	struct fxt_slot *process;
	bool fresh;

	for (s = fxt_map_next(&m->witnessed.threads, NULL); s; s = fxt_map_next(&m->witnessed.threads, s)) {
		process = fxt_map_find(&m->pids, s->a, 0);
		if (!fxt_witnessed_counts(&m->witnessed, s, process && process->value[0]))
			continue;
		fxt_map_put(&m->pids, s->a, 0, &fresh);
		add_holder(m, s->a, s->b);
		add_threads(m, s->a, s->b, 0);
	}
	m->processes = m->pids.used;
	m->silent = 0;
	for (s = fxt_map_next(&m->pids, NULL); s; s = fxt_map_next(&m->pids, s))
		m->silent += !s->value[0];
}

void fxt_merge_add(struct fxt_merge *m, struct fxt_overview *o, const struct fxt_reader *r)
{
	const struct fxt_slot *s;
	bool fresh;

	for (size_t i = 0; i < r->thread_count; i++) {
		const struct fxt_trace_thread *one = &r->threads[i];

		if (i >= o->thread_count || !o->thread_events[i] || one->pid == FXT_KERNEL_PROVIDER_ID)
			continue;
		add_holder(m, one->pid, one->tid);
		if (!one->is_track)
			add_threads(m, one->pid, one->tid, fxt_overview_lives(o, (uint32_t)i));
		fxt_map_put(&m->pids, one->pid, 0, &fresh)->value[0] |= fxt_overview_records(o, i);
	}
	for (s = fxt_map_next(&r->process_names, NULL); s; s = fxt_map_next(&r->process_names, s))
		if (s->a != FXT_KERNEL_PROVIDER_ID)
			fxt_map_put(&m->pids, s->a, 0, &fresh);
	m->events += o->events;
	fxt_overview_settle(o);
	for (int loss = 0; loss < FXT_LOSS_KINDS; loss++)
		m->lost[loss] += fxt_overview_lost(o, (enum fxt_loss_kind)loss);
	m->buffer_full += o->buffer_full;
	m->kernel_lost += o->kernel_lost;
	m->room_waits += o->room_waits;
	m->room_ns += o->room_ns;
	add_losers(m, o, r);
	m->damaged += r->damaged_records;
	if (!m->reason && o->reason)
		m->reason = fxt_strdup(o->reason);
	for (size_t i = 0; i < o->category_count; i++) {
		struct fxt_text name;

		if (o->categories[i].events == 0)
			continue;
		name = fxt_symbol_text(r, o->categories[i].category);
		add_category(m, &name, &o->categories[i]);
	}
}

const struct fxt_merged_category *fxt_merge_largest(const struct fxt_merge *m)
{
	const struct fxt_merged_category *largest = NULL;

	for (size_t i = 0; i < m->category_count; i++) {
		if (!largest || m->categories[i].bytes > largest->bytes)
			largest = &m->categories[i];
	}
	return largest;
}

void fxt_merge_free_sums(struct fxt_merge *m)
{
	struct fxt_merged_name *name = m->category_names, *next;

	HASH_CLEAR(hh, m->category_names);
	for (; name; name = next) {
		next = name->hh.next;
		free(name);
	}
	for (size_t i = 0; i < m->category_count; i++)
		free(m->categories[i].name);
	free(m->categories);
}
