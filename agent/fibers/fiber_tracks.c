/* The tracks of fibers: their names, and the pages in which their functions are shown in progress. See
 * fibers.h; any context. */
#include <string.h>

#include "agent/base/koid.h"
#include "agent/base/stack.h"
#include "fibers.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

/* This changes when the file does: in the child of a fork. A fiber with another number than this one has no
 * page and no name in the file. */
_Atomic uint32_t fxt_fiber_generation = 1;
static atomic_bool is_rewritten;

enum { NAME_BYTES = 24, SLOT_PROCESS = 2, SLOT_TRACK = 3, SLOT_ARG = 4, SLOT_ARG_VALUE = 5 };

static uint32_t generation(void)
{
	return atomic_load_explicit(&fxt_fiber_generation, memory_order_relaxed);
}

/* Names the track as a thread has its name, with the thread that was the first to run the fiber. */
static void tell_name(struct fxt_thread *thread, const struct fxt_fiber *fiber)
{
	char name[NAME_BYTES] = "fiber ";
	size_t bytes = strlen(name);
	struct fxt_arg args[] = {
		{FXT_ARG_KOID, FXT_INDEXED(FXT_STR_process), .u64 = thread->pid},
		{FXT_ARG_KOID, FXT_INDEXED(FXT_STR_thread), .u64 = thread->tid},
	};
	uint64_t record[12];
	size_t words;

	bytes += fxt_decimal(name + bytes, fiber->number + 1);
	words = fxt_encode_kernel_object(record, sizeof(record) / sizeof(*record), FXT_OBJECT_THREAD,
					 fiber->koid, FXT_INLINE(name, bytes), (struct fxt_args){2, args});
	if (!fxt_storage_durable(fxt_agent.storage, record, words, 0))
		fxt_thread_put_extra(thread, record, words);
}

/* In the child of a fork the functions go on from now on. */
void fxt_fiber_know(struct fxt_thread *thread, struct fxt_fiber *fiber)
{
	struct fxt_fiber_call *call;

	if (FXT_LIKELY(fiber->generation == generation()) || !thread->ready)
		return;
	for (call = fiber->calls;
	     call < fiber->calls + FXT_FUNCTION_DEPTH && (call < fiber->open || call->slot); call++)
		call->slot = NULL;
	fiber->generation = generation();
	fiber->lacks_pages = false;
	fiber->koid = fxt_koid_of_fiber(fiber->number);
	tell_name(thread, fiber);
	for (call = fiber->calls; call < fiber->open; call++) {
		call->start_ns = fxt_now(thread);
		if (!call->names || call->names == FXT_IN_PROGRESS_SILENT)
			continue;
		call->names = fxt_function_names(call->function);
		fxt_fiber_give_slot(thread, fiber, call);
		fxt_fiber_show(thread, fiber, call);
	}
}

/* -- Slots --------------------------------------------------------------------------------------- */

static void set_header(uint64_t *slot, uint64_t header)
{
	atomic_store_explicit((_Atomic uint64_t *)slot, header, memory_order_release);
}

/* Divides a page into slots for the calls from `call` on. */
static void lay_out(const struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *call,
		    uint64_t *page, unsigned slots, uint32_t words)
{
	const struct fxt_fiber_call *end = fiber->calls + FXT_FUNCTION_DEPTH;
	unsigned n;

	page[slots * FXT_FIBER_SLOT_WORDS] = fxt_filler(words - 1 - slots * FXT_FIBER_SLOT_WORDS);
	for (n = 0; n < slots; n++) {
		uint64_t *slot = page + n * FXT_FIBER_SLOT_WORDS;

		slot[SLOT_PROCESS] = thread->pid;
		slot[SLOT_TRACK] = fiber->koid;
		slot[FXT_FIBER_SLOT_WORDS - 2] = slot[FXT_FIBER_SLOT_WORDS - 1] = 0;
		/* A filler in front of the first slot covers the page until all are laid out. */
		if (n)
			slot[0] = fxt_filler(FXT_FIBER_SLOT_WORDS);
	}
	set_header(page, fxt_filler(FXT_FIBER_SLOT_WORDS));
	for (n = 0; n < slots && call + n < end; n++)
		call[n].slot = page + n * FXT_FIBER_SLOT_WORDS;
}

static void take_page(struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *call)
{
	size_t place = (size_t)(call - fiber->calls);
	bool is_first = place < FXT_FIBER_SMALL_SLOTS;
	uint32_t words = is_first ? FXT_SMALL_PAGE_WORDS : FXT_PAGE_WORDS;
	struct fxt_chunk chunk;
	uint64_t *page;

	page = fxt_thread_ready(thread)
		       ? fxt_storage_take_page(fxt_agent.storage, thread->last_ns, words, &chunk) : NULL;
	if (!page) {
		fiber->lacks_pages = thread->ready;
		return;
	}
	fxt_agent_overwritten(&chunk, thread->last_ns);
	place = is_first ? 0
			 : place - (place - FXT_FIBER_SMALL_SLOTS) % FXT_FIBER_SLOTS;
	lay_out(thread, fiber, fiber->calls + place, page,
		is_first ? FXT_FIBER_SMALL_SLOTS : FXT_FIBER_SLOTS, words);
}

void fxt_fiber_give_slot(struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *call)
{
	uint64_t mask;

	if (FXT_LIKELY(call->slot) || fiber->lacks_pages || fxt_may_not_lock() || fxt_stack_is_short() ||
	    atomic_load_explicit(&is_rewritten, memory_order_relaxed))
		return;
	mask = fxt_sys_block_signals();
	if (!call->slot)
		take_page(thread, fiber, call);
	fxt_sys_restore_signals(mask);
}

/* Slots are in the storage, so the lane is raised: see fxt_is_interrupted(). If a handler has forked, and
 * this is the child, the slot is in its parent's file. */
void fxt_fiber_show(struct fxt_thread *thread, const struct fxt_fiber *fiber,
		    const struct fxt_fiber_call *call)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);
	uint64_t *slot;

	slot = call->slot;
	if (slot && fiber->generation == generation()) {
		slot[1] = call->start_ns;
		slot[SLOT_ARG] = fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site);
		slot[SLOT_ARG_VALUE] = call->call_site;
		set_header(slot, fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(FXT_FIBER_SLOT_WORDS) |
					 fxt_event_type(FXT_EVENT_DURATION_BEGIN) | fxt_event_args(1) |
					 call->names);
	}
	fxt_lane_lower(lane);
}

void fxt_fiber_hide(struct fxt_thread *thread, const struct fxt_fiber *fiber,
		    const struct fxt_fiber_call *call)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);

	if (call->slot && fiber->generation == generation())
		set_header(call->slot, fxt_filler(FXT_FIBER_SLOT_WORDS));
	fxt_lane_lower(lane);
}

void fxt_fibers_after_rewrite(void)
{
	atomic_store_explicit(&is_rewritten, true, memory_order_relaxed);
	atomic_fetch_add_explicit(&fxt_fiber_generation, 1, memory_order_relaxed);
}

/* -- Before another program ---------------------------------------------------------------------- */

static bool shows(const uint64_t *slot, enum fxt_event_type type)
{
	return slot && !fxt_is_filler(slot[0]) && fxt_get_event_type(slot[0]) == type;
}

static uint64_t with_type(uint64_t header, enum fxt_event_type from, enum fxt_event_type to)
{
	return header ^ fxt_event_type(from) ^ fxt_event_type(to);
}

/* The slot becomes a duration-complete event of the same size: one argument of one word, and the end. */
static void end_one(struct fxt_fiber *fiber, uint64_t end_ns, uint64_t name)
{
	struct fxt_fiber_call *call;

	for (call = fiber->calls; call < fiber->open && fiber->generation == generation(); call++) {
		if (!shows(call->slot, FXT_EVENT_DURATION_BEGIN))
			continue;
		call->slot[SLOT_ARG] =
			fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_ended_by) | fxt_arg_string(name);
		call->slot[SLOT_ARG_VALUE] = end_ns;
		set_header(call->slot, with_type(call->slot[0], FXT_EVENT_DURATION_BEGIN,
						 FXT_EVENT_DURATION_COMPLETE));
	}
}

static void go_on(struct fxt_fiber *fiber, uint64_t a, uint64_t b)
{
	struct fxt_fiber_call *call;

	(void)a;
	(void)b;
	for (call = fiber->calls; call < fiber->open && fiber->generation == generation(); call++) {
		if (!shows(call->slot, FXT_EVENT_DURATION_COMPLETE))
			continue;
		set_header(call->slot, with_type(call->slot[0], FXT_EVENT_DURATION_COMPLETE,
						 FXT_EVENT_DURATION_BEGIN));
		call->slot[SLOT_ARG_VALUE] = call->call_site;
		call->slot[SLOT_ARG] = fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_call_site);
	}
}

void fxt_fibers_end(uint64_t end_ns, uint64_t name)
{
	fxt_fibers_each(end_one, end_ns, name);
}

void fxt_fibers_go_on(void)
{
	fxt_fibers_each(go_on, 0, 0);
}
