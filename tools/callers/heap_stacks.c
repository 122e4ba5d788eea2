/* Replays the heap by call stacks. See heap_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "heap_stacks.h"

#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"

/* -- The first pass -------------------------------------------------------------------------------- */

static bool is_life(const struct fxt_record *rec)
{
	return (rec->subtype == FXT_EVENT_ASYNC_BEGIN || rec->subtype == FXT_EVENT_ASYNC_END) &&
	       fxt_text_is(&rec->category, "malloc") &&
	       (fxt_text_is(&rec->name, "heap sample") || fxt_text_is(&rec->name, "heap block") ||
		fxt_text_is(&rec->name, "mapping"));
}

bool fxt_heap_stacks_want(const struct fxt_record *rec)
{
	return is_life(rec) && !fxt_is_made_end(rec);
}

static struct fxt_heap_process *process_of(struct fxt_heap_stacks *h, const struct fxt_reader *r,
					   const struct fxt_record *rec)
{
	uint64_t pid = r->threads[rec->thread].pid;
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&h->by_process, rec->provider->index, pid, &fresh);

	if (fresh) {
		s->value[0] = h->process_count;
		h->processes = fxt_grow(h->processes, &h->process_capacity, h->process_count + 1,
					sizeof(*h->processes));
		h->processes[h->process_count++] =
			(struct fxt_heap_process){.provider = rec->provider, .pid = pid};
	}
	return &h->processes[s->value[0]];
}

/* Returns in how many bytes a block is drawn once, by the bytes that a drawn block stands for: of so many, it
 * is drawn with a probability of size / stands_for, which is 1 - exp(-size / bytes). */
static uint64_t bytes_a_sample(uint64_t size, uint64_t stands_for)
{
	double share = stands_for ? (double)size / (double)stands_for : 1, bytes;

	/* Near 1 the figure would be that of a rounding. */
	if (share <= 0 || share > 0.9)
		return 0;
	bytes = -(double)size / log1p(-share);
	return bytes < 1e18 ? (uint64_t)(bytes + 0.5) : 0;
}

void fxt_heap_stacks_see(struct fxt_heap_stacks *h, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_heap_process *p = process_of(h, r, rec);
	bool has_stack = fxt_argument(rec, "stack");

	if (!is_life(rec)) {
		*(has_stack ? &p->stacked_calls : &p->bare_calls) += 1;
		return;
	}
	if (rec->subtype != FXT_EVENT_ASYNC_BEGIN)
		return;
	p->has_stacks = p->has_stacks || has_stack;
	p->has_blocks = p->has_blocks || !fxt_text_is(&rec->name, "mapping");
	if (!fxt_text_is(&rec->name, "heap sample"))
		return;
	p->samples++;
	if (!p->bytes_a_sample)
		p->bytes_a_sample = bytes_a_sample(fxt_argument_or(rec, "size", 0),
						   fxt_argument_or(rec, "stands_for", 0));
}

void fxt_heap_stacks_lack(struct fxt_heap_stacks *h, const struct fxt_overview *o)
{
	for (size_t i = 0; i < h->process_count; i++) {
		struct fxt_heap_process *p = &h->processes[i];

		p->blocks_missing = fxt_overview_lost_of(o, p->provider, FXT_LOSS_BLOCKS);
		p->stacks_missing = fxt_overview_lost_of(o, p->provider, FXT_LOSS_STACKS);
	}
}

/* Calls that were slow have a stack as well, so some say nothing. A call whose stack found no room was to
 * have one. */
bool fxt_heap_is_exact(const struct fxt_heap_process *p)
{
	uint64_t bare = p->bare_calls > p->stacks_missing ? p->bare_calls - p->stacks_missing : 0;

	return !p->samples && p->stacked_calls && p->stacked_calls / 8 >= bare;
}

uint64_t fxt_heap_blocks_missing(const struct fxt_heap_stacks *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->process_count; i++)
		if (!fxt_heap_is_exact(&h->processes[i]))
			sum += h->processes[i].blocks_missing;
	return sum;
}

/* -- Sums ------------------------------------------------------------------------------------------ */

static void leave_peak(struct fxt_heap_process *p)
{
	p->peaks += p->is_at_peak;
	p->is_at_peak = false;
}

/* Puts the sums at the last peak aside, before those of what is left change. */
static void settle(const struct fxt_heap_process *p, struct fxt_heap_stack *s)
{
	if (s->peaks < p->peaks)
		s->at_peak = s->left;
	s->peaks = p->peaks;
}

static uint32_t stack_of(struct fxt_heap_stacks *h, struct fxt_heap_process *p, uint32_t innermost,
			 bool is_mapping)
{
	uint32_t process = (uint32_t)(p - h->processes);
	bool fresh;
	struct fxt_slot *slot =
		fxt_map_put(&h->by_stack, (uint64_t)process << 1 | is_mapping, innermost, &fresh);

	if (fresh) {
		slot->value[0] = h->count;
		h->list = fxt_grow(h->list, &h->capacity, h->count + 1, sizeof(*h->list));
		h->list[h->count++] = (struct fxt_heap_stack){.process = process,
							      .innermost = innermost,
							      .is_mapping = is_mapping,
							      .peaks = p->peaks};
	}
	return (uint32_t)slot->value[0];
}

static bool counts_for_peak(const struct fxt_heap_process *p, const struct fxt_heap_stack *s)
{
	return !s->is_mapping || !(p->has_blocks || p->stacked_calls);
}

static void plus(struct fxt_heap_stacks *h, struct fxt_heap_process *p, const struct fxt_heap_block *b)
{
	struct fxt_heap_stack *s = &h->list[b->stack];
	bool counts = counts_for_peak(p, s), is_higher = counts && p->in_use + b->bytes > p->peak;

	if (!is_higher)
		leave_peak(p);
	settle(p, s);
	if (!s->is_active) {
		p->active = fxt_grow(p->active, &p->active_capacity, p->active_count + 1, sizeof(*p->active));
		p->active[p->active_count++] = b->stack;
		s->is_active = true;
	}
	s->left.bytes += b->bytes;
	s->left.blocks += b->blocks;
	s->all.bytes += b->bytes;
	s->all.blocks += b->blocks;
	s->told++;
	s->told_left++;
	p->in_use += counts ? b->bytes : 0;
	if (is_higher) {
		p->peak = p->in_use;
		p->peak_ns = b->begin_ns;
		p->is_at_peak = true;
	}
}

static void minus(struct fxt_heap_stacks *h, const struct fxt_heap_block *b)
{
	struct fxt_heap_stack *s = &h->list[b->stack];
	struct fxt_heap_process *p = &h->processes[s->process];

	if (b->gaps != p->gaps)
		return;         /* it was forgotten */
	leave_peak(p);
	settle(p, s);
	s->left.bytes -= b->bytes;
	s->left.blocks -= b->blocks;
	s->told_left--;
	p->in_use -= counts_for_peak(p, s) ? b->bytes : 0;
}

/* -- Blocks ---------------------------------------------------------------------------------------- */

static size_t new_block(struct fxt_heap_stacks *h)
{
	size_t place = h->first_free;

	if (place) {
		h->first_free = h->blocks[place - 1].next_free;
		return place - 1;
	}
	h->blocks = fxt_grow(h->blocks, &h->block_capacity, h->block_count + 1, sizeof(*h->blocks));
	return h->block_count++;
}

/* Takes away the block that the slot names, and the slot. */
static void take_away(struct fxt_heap_stacks *h, struct fxt_map *m, struct fxt_slot *s)
{
	struct fxt_heap_block *b = &h->blocks[s->value[0]];

	minus(h, b);
	b->blocks = 0;
	b->next_free = h->first_free;
	h->first_free = s->value[0] + 1;
	fxt_map_remove(m, s);
}

static void add(struct fxt_heap_stacks *h, struct fxt_heap_process *p, struct fxt_slot *s,
		const struct fxt_heap_block *b)
{
	s->value[0] = new_block(h);
	h->blocks[s->value[0]] = *b;
	plus(h, p, b);
}

static void begin(struct fxt_heap_stacks *h, struct fxt_heap_process *p, struct fxt_call_stacks *stacks,
		  const struct fxt_record *rec, struct fxt_slot *slot)
{
	bool is_sample = fxt_text_is(&rec->name, "heap sample");
	uint64_t size = fxt_argument_or(rec, "size", 0);
	uint64_t bytes = is_sample ? fxt_argument_or(rec, "stands_for", size) : size;
	uint32_t stack = stack_of(h, p, fxt_call_stack_of(stacks, rec), fxt_text_is(&rec->name, "mapping"));
	struct fxt_heap_block b = {.stack = stack, .gaps = p->gaps, .bytes = bytes, .blocks = 1};

	if (is_sample && size && bytes > size)
		b.blocks = bytes / size + (bytes % size >= size - size / 2);
	h->list[stack].is_estimate = h->list[stack].is_estimate || is_sample;
	b.begin_ns = fxt_ns(rec->provider, rec->ticks);
	add(h, p, slot, &b);
}

void fxt_heap_stacks_life(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			  struct fxt_call_stacks *stacks, const struct fxt_record *rec)
{
	struct fxt_heap_process *p = process_of(h, r, rec);
	struct fxt_slot *s;
	bool fresh;

	if (rec->subtype == FXT_EVENT_ASYNC_END) {
		s = fxt_map_find(&h->open, rec->provider->index, rec->extra);
		if (s)
			take_away(h, &h->open, s);
		return;
	}
	if (!(p->has_stacks || fxt_heap_is_exact(p)) ||
	    (fxt_heap_is_exact(p) && !fxt_text_is(&rec->name, "mapping")))
		return;
	s = fxt_map_put(&h->open, rec->provider->index, rec->extra, &fresh);
	/* The copy of a live file may have a begin twice. */
	if (fresh)
		begin(h, p, stacks, rec, s);
}

void fxt_heap_stacks_got(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			 struct fxt_call_stacks *stacks, const struct fxt_record *rec, uint64_t block,
			 uint64_t bytes)
{
	struct fxt_heap_process *p = process_of(h, r, rec);
	struct fxt_heap_block b = {.gaps = p->gaps, .bytes = bytes, .blocks = 1};
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_heap_is_exact(p))
		return;
	s = fxt_map_find(&h->at_address, (uint64_t)(p - h->processes), block);
	if (s)
		take_away(h, &h->at_address, s);
	b.stack = stack_of(h, p, fxt_call_stack_of(stacks, rec), false);
	b.begin_ns = fxt_ns(rec->provider, fxt_commit_ticks(rec));
	add(h, p, fxt_map_put(&h->at_address, (uint64_t)(p - h->processes), block, &fresh), &b);
}

void fxt_heap_stacks_gave(struct fxt_heap_stacks *h, const struct fxt_reader *r, const struct fxt_record *rec,
			  uint64_t block)
{
	struct fxt_heap_process *p = process_of(h, r, rec);
	struct fxt_slot *s = fxt_map_find(&h->at_address, (uint64_t)(p - h->processes), block);

	/* A block that began later has the address of the one that was given up. */
	if (s && h->blocks[s->value[0]].begin_ns <= fxt_ns(rec->provider, rec->ticks))
		take_away(h, &h->at_address, s);
}

void fxt_heap_stacks_forget(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			    const struct fxt_record *rec)
{
	struct fxt_heap_process *p = process_of(h, r, rec);

	leave_peak(p);
	for (size_t i = 0; i < p->active_count; i++) {
		struct fxt_heap_stack *s = &h->list[p->active[i]];

		settle(p, s);
		s->left = (struct fxt_heap_sum){0};
		s->told_left = 0;
		s->is_active = false;
	}
	p->active_count = 0;
	p->in_use = 0;
	p->gaps++;
}

/* -- The end --------------------------------------------------------------------------------------- */

void fxt_heap_stacks_finish(struct fxt_heap_stacks *h)
{
	for (size_t i = 0; i < h->process_count; i++)
		leave_peak(&h->processes[i]);
	for (size_t i = 0; i < h->count; i++)
		settle(&h->processes[h->list[i].process], &h->list[i]);
	fxt_map_free(&h->open);
	fxt_map_free(&h->at_address);
	fxt_map_free(&h->by_stack);
}

const struct fxt_heap_process *fxt_heap_stacks_of(const struct fxt_heap_stacks *h,
						  const struct fxt_provider *provider, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&h->by_process, provider->index, pid);
	const struct fxt_heap_process *p = s ? &h->processes[s->value[0]] : NULL;

	return p && (p->has_stacks || fxt_heap_is_exact(p)) ? p : NULL;
}

void fxt_heap_stacks_free(struct fxt_heap_stacks *h)
{
	for (size_t i = 0; i < h->process_count; i++)
		free(h->processes[i].active);
	free(h->list);
	free(h->processes);
	free(h->blocks);
	fxt_map_free(&h->by_process);
	fxt_map_free(&h->by_stack);
	fxt_map_free(&h->open);
	fxt_map_free(&h->at_address);
	*h = (struct fxt_heap_stacks){0};
}
