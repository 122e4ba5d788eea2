/* See standstill.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/waits/standstill.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "tools/analysis/processor_time.h"
#include "tools/common/message.h"

static enum fxt_wanted wanted_of(const struct fxt_record *rec)
{
	const struct fxt_text *wants = fxt_argument_text(rec, "wants");

	return !wants				       ? FXT_WANTS_NOTHING
	       : fxt_text_is(wants, "read")	       ? FXT_WANTS_TO_READ
	       : fxt_text_is(wants, "write")	       ? FXT_WANTS_TO_WRITE
	       : fxt_text_is(wants, "open to write")   ? FXT_WANTS_A_READER
	       : fxt_text_is(wants, "open to read")    ? FXT_WANTS_A_WRITER
						       : FXT_WANTS_NOTHING;
}

static uint32_t symbol_in(struct fxt_reader *r, const struct fxt_record *rec, const char *name)
{
	const struct fxt_text *text = fxt_argument_text(rec, name);

	return text && text->bytes ? fxt_symbol(r, text) : 0;
}

static void take_blocked(struct fxt_standstill *s, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			 const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	uint32_t thread = fxt_told_thread(r, rec);
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->by_thread, thread, 0, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->count++;
	} else if (at_ns < s->list[slot->value[0]].at_ns) {
		return;
	}
	s->list[slot->value[0]] = (struct fxt_long_blocked){
		.thread = thread,
		.innermost = fxt_call_stack_of(stacks, rec),
		.at_ns = at_ns,
		.wanted = wanted_of(rec),
		.file = symbol_in(r, rec, "file"),
		.by = symbol_in(r, rec, "by"),
	};
}

static void take_holder(struct fxt_standstill *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *to = fxt_argument_text(rec, "to");
	uint32_t file = symbol_in(r, rec, "file");
	struct fxt_slot *slot;
	bool fresh;

	if (!to || !file)
		return;
	slot = fxt_map_put(&s->by_file, file, 0, &fresh);
	s->holders =
		fxt_grow(s->holders, &s->holder_capacity, s->holder_count + 1, sizeof(*s->holders));
	s->holders[s->holder_count] = (struct fxt_holder){
		.pid = r->threads[fxt_told_thread(r, rec)].pid,
		.file = file,
		.fd = fxt_argument_or(rec, "fd", UINT64_MAX),
		.reads = !fxt_text_is(to, "write"),
		.writes = !fxt_text_is(to, "read"),
		.next = fresh ? SIZE_MAX : slot->value[0],
	};
	slot->value[0] = s->holder_count++;
}

void fxt_standstill_kernel(struct fxt_standstill *s, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			   const struct fxt_record *rec)
{
	bool fresh;

	if (rec->type == FXT_RECORD_SCHEDULING && rec->subtype != FXT_SCHEDULING_WAKEUP && rec->id &&
	    rec->state != FXT_THREAD_DEAD) {
		struct fxt_slot *slot = fxt_map_put(&s->left, rec->id, 0, &fresh);
		uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);

		slot->value[0] = at_ns > slot->value[0] ? at_ns : slot->value[0];
	}
	if (rec->type != FXT_RECORD_EVENT || rec->subtype != FXT_EVENT_INSTANT ||
	    !fxt_text_is(&rec->category, "kernel"))
		return;
	if (fxt_text_is(&rec->name, "long blocked"))
		take_blocked(s, r, stacks, rec);
	else if (fxt_text_is(&rec->name, "holds"))
		take_holder(s, r, rec);
}

void fxt_standstill_take(struct fxt_standstill *s, const struct fxt_record *rec)
{
	uint64_t flags, from, bytes;
	bool fresh;

	if (rec->subtype == FXT_EVENT_ASYNC_END && fxt_text_is(&rec->name, "thread") &&
	    fxt_text_is(&rec->category, "pthread"))
		fxt_map_put(&s->over, rec->thread, 0, &fresh)->value[0] = fxt_ns(rec->provider, rec->ticks);
	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE || !fxt_text_is(&rec->name, "mmap") ||
	    !fxt_argument_u64(fxt_argument(rec, "flags"), &flags) || !(flags & MAP_SHARED) ||
	    !fxt_argument_u64(fxt_argument(rec, "ret"), &from) ||
	    !fxt_argument_u64(fxt_argument(rec, "length"), &bytes))
		return;
	s->shared = fxt_grow(s->shared, &s->shared_capacity, s->shared_count + 1, sizeof(*s->shared));
	s->shared[s->shared_count++] =
		(struct fxt_shared_memory){from, bytes};
}

const struct fxt_long_blocked *fxt_standstill_of(const struct fxt_standstill *s, const struct fxt_reader *r,
						 uint32_t thread)
{
	const struct fxt_slot *place = fxt_map_find(&s->by_thread, thread, 0), *left;
	const struct fxt_long_blocked *one = place ? &s->list[place->value[0]] : NULL;

	left = one ? fxt_map_find(&s->left, r->threads[thread].tid, 0) : NULL;
	/* A thread that is killed gets a processor once more, and does not leave it before it is dead. */
	return left && left->value[0] > one->at_ns ? NULL : one;
}

size_t fxt_standstill_holder(const struct fxt_standstill *s, uint32_t file)
{
	const struct fxt_slot *slot = fxt_map_find(&s->by_file, file, 0);

	return slot ? slot->value[0] : SIZE_MAX;
}

bool fxt_standstill_is_shared(const struct fxt_standstill *s, uint64_t address)
{
	for (size_t i = 0; i < s->shared_count; i++)
		if (address >= s->shared[i].from && address - s->shared[i].from < s->shared[i].bytes)
			return true;
	return false;
}

void fxt_standstill_free(struct fxt_standstill *s)
{
	free(s->list);
	free(s->holders);
	free(s->shared);
	fxt_map_free(&s->by_thread);
	fxt_map_free(&s->by_file);
	fxt_map_free(&s->left);
	fxt_map_free(&s->over);
	*s = (struct fxt_standstill){0};
}
