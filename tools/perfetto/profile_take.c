/* Takes samples of the processor clock, and what is asked of the heap, from the records of a trace. See
 * profile.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "profile.h"

#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

/* So many ends may wait for their begins. */
enum { MOST_EARLY = 1 << 16 };

static bool is_block(const struct fxt_text *name)
{
	return fxt_text_is(name, "heap sample") || fxt_text_is(name, "heap block");
}

/* Returns whether the next record, an event that was examined, has an argument with this name, to which it
 * refers by index. */
static bool has_argument(const struct fxt_reader *r, uint64_t header, const char *name)
{
	uint64_t at = r->at + (uint64_t)2 * FXT_WORD_BYTES;

	for (uint64_t left = fxt_get_event_args(header); left; left--) {
		uint64_t arg = fxt_word(r, at), ref = fxt_get_arg_name(arg);
		unsigned index = (unsigned)fxt_get_string_ref_value(ref);
		struct fxt_text text = {.text = NULL};

		if (!fxt_get_string_ref_inline(ref))
			text = fxt_registered_string(r->provider, index, at);
		if (text.text && fxt_text_is(&text, name))
			return true;
		at += fxt_get_arg_words(arg) * FXT_WORD_BYTES;
	}
	return false;
}

/* The walk over arguments begins behind the two words that an event has if its thread and its names are
 * references. Others are decoded, as they are rare. */
bool fxt_profile_wants(const struct fxt_profile *p, const struct fxt_reader *r, const struct fxt_form *form)
{
	uint64_t type = fxt_get_event_type(form->header), ref = fxt_get_event_name(form->header);
	struct fxt_text category, name;

	if (!p->is_on)
		return false;
	category = fxt_symbol_text(r, form->category);
	if (fxt_provider_is_kernel(r->provider))
		return fxt_text_is(&category, "sample") || fxt_text_is(&category, "kernel");
	if (!fxt_event_bounds_async(type) || !fxt_text_is(&category, "malloc"))
		return false;
	if (fxt_get_string_ref_inline(ref))
		return true;
	name = fxt_registered_string(r->provider, (unsigned)fxt_get_string_ref_value(ref), r->at);
	return name.text && is_block(&name) &&
	       has_argument(r, form->header, type == FXT_EVENT_ASYNC_BEGIN ? "stack" : "ended_by");
}

/* -- Samples -------------------------------------------------------------------------------------- */

static void take_sample(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_reader *r,
			const struct fxt_record *rec)
{
	uint64_t pid, tid, stack, processor = r->threads[rec->thread].tid;
	struct fxt_profile_sample sample = {.at_ns = fxt_ns(rec->provider, rec->ticks)};

	if (!fxt_argument_u64(fxt_argument(rec, "process"), &pid) ||
	    !fxt_argument_u64(fxt_argument(rec, "thread"), &tid))
		return;
	sample.pid = (uint32_t)pid;
	sample.tid = (uint32_t)tid;
	/* The threads of the kernel's process are the processors, counted downwards. */
	if (processor < FXT_KERNEL_PROVIDER_ID)
		sample.cpu = (uint32_t)(FXT_KERNEL_PROVIDER_ID - 1 - processor);
	if (fxt_argument_u64(fxt_argument(rec, "stack"), &stack) && stack)
		sample.node = fxt_call_stack_of(part->stacks, rec);
	else
		sample.node = FXT_NO_FRAME;
	if (sample.node == FXT_NO_FRAME) {
		sample.node = fxt_profile_lone_node(p, &rec->name);
		sample.is_node = true;
	}
	p->samples = fxt_grow(p->samples, &p->sample_capacity, p->sample_count + 1, sizeof(*p->samples));
	p->samples[p->sample_count++] = sample;
}

/* -- The heap ------------------------------------------------------------------------------------- */

void fxt_profile_heap_time(struct fxt_profile *p, uint64_t process, uint64_t at_ns)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&p->heap_times, process, 0, &fresh);

	if (fresh || at_ns < s->value[0])
		s->value[0] = at_ns;
	if (at_ns > s->value[1])
		s->value[1] = at_ns;
}

static void put_change(struct fxt_profile *p, uint32_t heap, uint64_t at_ns, uint64_t bytes, bool is_free)
{
	p->changes = fxt_grow(p->changes, &p->change_capacity, p->change_count + 1, sizeof(*p->changes));
	p->changes[p->change_count++] = (struct fxt_profile_change){at_ns, bytes, heap, is_free};
}

static void free_block(struct fxt_profile *p, struct fxt_profile_part *part, struct fxt_slot *slot,
		       uint64_t at_ns)
{
	struct fxt_profile_heap *heap = &part->heaps[slot->value[0]];

	heap->freed += slot->value[1];
	heap->freed_blocks++;
	put_change(p, (uint32_t)slot->value[0], at_ns, slot->value[1], true);
	fxt_profile_heap_time(p, heap->process, at_ns);
	fxt_map_remove(&part->lives, slot);
}

/* Takes a block. */
static void take_begin(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_reader *r,
		       const struct fxt_record *rec)
{
	/* Another provider may have the same number: the process was another one then. */
	uint64_t process = (uint32_t)r->threads[rec->thread].pid |
			   (uint64_t)(p->providers + rec->provider->index + 1) << 32;
	uint32_t node = fxt_call_stack_of(part->stacks, rec);
	uint64_t bytes = fxt_argument_or(rec, "size", 0);
	struct fxt_profile_heap *heap;
	struct fxt_slot *slot, *early;
	bool fresh;

	bytes = fxt_argument_or(rec, "stands_for", bytes);
	if (node == FXT_NO_FRAME || !bytes || fxt_map_find(&part->lives, rec->extra, 0))
		return;
	heap = fxt_profile_heap_of(&part->heaps, &part->heap_count, &part->heap_capacity, &part->by_heap,
				   process, node);
	heap->allocated += bytes;
	heap->blocks++;
	slot = fxt_map_put(&part->lives, rec->extra, 0, &fresh);
	slot->value[0] = (uint64_t)(heap - part->heaps);
	slot->value[1] = bytes;
	put_change(p, (uint32_t)slot->value[0], fxt_ns(rec->provider, rec->ticks), bytes, false);
	fxt_profile_heap_time(p, process, fxt_ns(rec->provider, rec->ticks));
	early = part->early.used ? fxt_map_find(&part->early, rec->extra, 0) : NULL;
	if (!early)
		return;
	free_block(p, part, slot, early->value[0]);
	fxt_map_remove(&part->early, early);
}

/* Returns whether the end of an async at `offset` is that of a block, and its begin may follow: threads have
 * parts of the file of their own, and another one may have freed the block. */
static bool may_be_early(const struct fxt_profile *p, const struct fxt_reader *r, uint64_t offset)
{
	uint64_t ref = fxt_get_event_name(fxt_word(r, offset));
	struct fxt_text name = {.text = NULL};

	if (p->is_on && !fxt_get_string_ref_inline(ref))
		name = fxt_registered_string(r->provider, (unsigned)fxt_get_string_ref_value(ref), offset);
	return name.text && is_block(&name);
}

void fxt_profile_ended(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_reader *r,
		       uint64_t id, uint64_t offset)
{
	struct fxt_slot *slot = part->lives.used ? fxt_map_find(&part->lives, id, 0) : NULL;
	uint64_t at_ns;
	bool fresh;

	if (!slot && !may_be_early(p, r, offset))
		return;
	at_ns = fxt_ns(r->provider, fxt_word(r, offset + FXT_WORD_BYTES));
	if (slot) {
		free_block(p, part, slot, at_ns);
		return;
	}
	/* Most of these are of blocks that have no stack. */
	if (part->early.used >= MOST_EARLY)
		fxt_map_free(&part->early);
	fxt_map_put(&part->early, id, 0, &fresh)->value[0] = at_ns;
}

/* Takes an end. What a program had when it was over was not freed by it. */
static void take_end(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_record *rec)
{
	struct fxt_slot *slot = fxt_map_find(&part->lives, rec->extra, 0);

	if (!slot)
		return;
	if (fxt_is_made_end(rec))
		fxt_map_remove(&part->lives, slot);
	else
		free_block(p, part, slot, fxt_ns(rec->provider, rec->ticks));
}

/* -- Records -------------------------------------------------------------------------------------- */

static void take_kernel(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_reader *r,
			const struct fxt_record *rec)
{
	if (rec->subtype != FXT_EVENT_INSTANT)
		return;
	if (fxt_text_is(&rec->category, "sample"))
		take_sample(p, part, r, rec);
	else if (fxt_text_is(&rec->category, "kernel") && fxt_text_is(&rec->name, "sampling"))
		p->hz = fxt_argument_or(rec, "hz", p->hz);
}

void fxt_profile_take(struct fxt_profile *p, struct fxt_profile_part *part, struct fxt_reader *r,
		      const struct fxt_record *rec)
{
	if (!p->is_on || rec->type != FXT_RECORD_EVENT || !rec->known)
		return;
	if (fxt_provider_is_kernel(rec->provider))
		take_kernel(p, part, r, rec);
	else if (!rec->has_extra || !fxt_text_is(&rec->category, "malloc") || !is_block(&rec->name))
		return;
	else if (rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_argument(rec, "stack"))
		take_begin(p, part, r, rec);
	else if (rec->subtype == FXT_EVENT_ASYNC_END)
		take_end(p, part, rec);
}
