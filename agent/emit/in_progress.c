/* See in_progress.h. The quick functions there call those of this file when something is out of the ordinary,
 * in any context. */
#include "in_progress.h"

#include <errno.h>

#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "function.h"

enum {
	/* A slot with the two koids. This is a power of two, so that a slot lies in one cache line. */
	INLINE_SLOT_WORDS = 8,
	/* The slots lie behind the thread record and the two counters of the page: thread.c. */
	PAGE_FIRST_SLOT = 24,
	SMALL_PAGE_SLOTS_END = FXT_SMALL_PAGE_WORDS - 1,        /* the last word is always a filler */
	PAGE_SLOTS_END = FXT_PAGE_WORDS - 1,
};

static unsigned slot_words(const struct fxt_thread *thread)
{
	return thread->event_thread ? FXT_SLOT_WORDS : INLINE_SLOT_WORDS;
}

/* Returns how many slots the thread's page number `page` has. The first page is small: most threads have few
 * calls in progress. */
static size_t slots_in_page(const struct fxt_thread *thread, uint32_t page)
{
	return ((page ? PAGE_SLOTS_END : SMALL_PAGE_SLOTS_END) - PAGE_FIRST_SLOT) / slot_words(thread);
}

/* Returns how many slots the thread's pages have. */
static size_t slots(const struct fxt_thread *thread)
{
	uint32_t count = thread->pages.count;

	return count ? slots_in_page(thread, 0) + (count - 1) * slots_in_page(thread, 1) : 0;
}

void fxt_in_progress_set_deep_count(struct fxt_thread *thread, uint32_t count)
{
	size_t most = slots(thread);

	thread->deep_count = count;
	if (count || !thread->event_thread || fxt_has_fibers()) {
		fxt_functions_go_slowly(thread);
	} else {
		thread->quick_limit =
			fxt_in_progress_entries(thread) +
			(most < FXT_FUNCTION_DEPTH ? most : FXT_FUNCTION_DEPTH);
		thread->names.quick = thread->names.defined;
		/* Another thread may have met the first fiber just now. */
		atomic_thread_fence(memory_order_seq_cst);
		if (FXT_UNLIKELY(fxt_has_fibers()))
			fxt_functions_go_slowly(thread);
	}
}

static bool is_hole(const struct fxt_in_progress *entry)
{
	return entry->frame == FXT_IN_PROGRESS_HOLE;
}

static void drop_holes(struct fxt_thread *thread)
{
	while (thread->open > fxt_in_progress_entries(thread) && is_hole(thread->open - 1))
		fxt_in_progress_put_back(thread, thread->open - 1);
}

/* An entry is no further above the code that ends it. */
enum { WRAPPER_BYTES = 8192 };

/* The frame of an entry that another thread gives up. It is below all frames and no hole, so nobody else
 * takes the entry away. */
enum { LEAVING = 1 };

/* Gives up the entry of a call that ends in another thread than it began in. The thread whose entry it is
 * goes on: it may have closed the call and may use the entry for another one. But the frame of the call is
 * that of nobody else as long as the call has not returned. */
static FXT_COLD void give_up(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	uintptr_t frame = __atomic_load_n(&entry->frame, __ATOMIC_ACQUIRE);
	uint64_t *slot = entry->slot;

	if (frame - (uintptr_t)__builtin_frame_address(0) >= WRAPPER_BYTES || !slot ||
	    !__atomic_compare_exchange_n(&entry->frame, &frame, LEAVING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	entry->names = 0;
	atomic_store_explicit((_Atomic uint64_t *)slot, thread->slot_filler, memory_order_release);
	__atomic_store_n(&entry->frame, FXT_IN_PROGRESS_HOLE, __ATOMIC_RELEASE);
}

void fxt_in_progress_take_out(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	if (fxt_has_moved(thread)) {
		give_up(thread, entry);
		return;
	}
	entry->names = 0;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit((_Atomic uint64_t *)entry->slot, thread->slot_filler, memory_order_release);
	if (entry + 1 < thread->open) {
		entry->frame = FXT_IN_PROGRESS_HOLE;
		return;
	}
	if (entry + 1 == thread->open)
		fxt_in_progress_put_back(thread, entry);
	else
		entry->frame = FXT_IN_PROGRESS_NOBODY;
	drop_holes(thread);
}

/* Closes an entry: records its call, of which no wrapper or hook saw the end, as ended at end_ns, and empties
 * the entry. */
static void close_entry(struct fxt_thread *thread, struct fxt_in_progress *entry, uint64_t end_ns)
{
	uint64_t start_ns = entry->start_ns, names = entry->names, left_ns = thread->left_ns;
	uint64_t stopped_ns = atomic_load_explicit(&fxt_agent.stopped_ns, memory_order_relaxed);
	uint64_t lasted_ns = thread->lasted_ns > stopped_ns ? thread->lasted_ns : stopped_ns;
	uintptr_t function = fxt_in_progress_function(entry);
	uint64_t *at;

	/* If the call was left while its entry was being filled or emptied, the entry has no names. */
	if (fxt_in_progress_is_changing(entry) || fxt_in_progress_is_silent(entry)) {
		fxt_in_progress_take_out(thread, entry);
		return;
	}
	fxt_in_progress_take_out(thread, entry);
	/* In the child of a fork the call's start is the time of the fork. If a handler forked, it may have
	 * done so after `end_ns` was taken. */
	if (end_ns < start_ns)
		end_ns = start_ns;
	/* The child of a vfork was in the call, and left it when it executed a program or ended. */
	if (entry >= thread->vfork.entry && start_ns <= thread->vfork.left_ns &&
	    thread->vfork.left_ns < end_ns)
		end_ns = thread->vfork.left_ns;
	/* A function that was in progress when the trace was stopped, and is gone, was left while nothing was
	 * recorded. It lasted at least as long as what it had called. */
	if ((start_ns <= stopped_ns || start_ns <= thread->stopped_ns) && lasted_ns < end_ns)
		end_ns = lasted_ns;
	/* The stack is not the one that the call was made from any more. A handler may have come while
	 * another call was closed; it gives back what it found, and so does a child that it forks. */
	thread->left_ns = end_ns;
	if (function)
		fxt_function_complete(thread, function, start_ns, end_ns);
	else if ((at = fxt_room_left(thread, start_ns, end_ns, 0, fxt_category_of(names))))
		fxt_complete(thread, at, end_ns, names, 0);
	thread->left_ns = left_ns;
}

void fxt_in_progress_end_slow(struct fxt_thread *thread, struct fxt_in_progress *entry, uint64_t end_ns)
{
	if (fxt_has_moved(thread)) {
		give_up(thread, entry);
		return;
	}
	if (entry->start_ns <= thread->stopped_ns)
		thread->lasted_ns = end_ns;
	/* A handler may have interrupted the end of another slow call. */
	if (end_ns - entry->start_ns < fxt_agent.config.least_stack_ns || thread->shown) {
		fxt_in_progress_empty(thread, entry);
		return;
	}
	entry->names = 0;
	thread->shown = entry;
	atomic_signal_fence(memory_order_seq_cst);
	thread->commit |= FXT_COMMIT_SHOWN;
	fxt_in_progress_put_back(thread, entry);
}

/* A handler that has come before the entry was put back, or has a call of its own there, leaves it to whom it
 * interrupted. */
void fxt_in_progress_settle(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry = thread->shown;

	if ((entry && entry < thread->open) || fxt_has_moved(thread))
		return;
	if (entry)
		atomic_store_explicit((_Atomic uint64_t *)entry->slot, thread->slot_filler,
				      memory_order_release);
	thread->shown = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	thread->commit &= ~(unsigned)FXT_COMMIT_SHOWN;
}

/* Two frames of other stacks than the thread's own are taken to be on one stack if they are no further
 * apart. */
enum { SAME_STACK_BYTES = 2048 };

/* Tells whether the call of an entry above that of the call that ends, `ends`, was left. Where all is on the
 * thread's own stack it was. On other stacks, a handler, or what the calls have called, may have switched
 * between coroutines. Without handlers those are left whose frames were just below. */
static bool was_left(const struct fxt_thread *thread, const struct fxt_in_progress *ends,
		     const struct fxt_in_progress *entry)
{
	bool is_own = fxt_on_own_stack(thread, entry->frame);

	if (entry->frame >= thread->stack.alternate_low && entry->frame < thread->stack.alternate_high)
		return true;
	if (fxt_on_own_stack(thread, ends->frame))
		return is_own || entry->frame == FXT_IN_PROGRESS_NOBODY;
	return !fxt_has_handlers() && !is_own && ends->frame - entry->frame < SAME_STACK_BYTES;
}

void fxt_in_progress_end_among(struct fxt_thread *thread, struct fxt_in_progress *entry, uint64_t end_ns)
{
	const struct fxt_in_progress *above = thread->open - 1;

	while (above > entry && is_hole(above))
		above--;
	if (above > entry && !fxt_has_moved(thread)) {
		thread->overlaps_ns = end_ns;
		atomic_signal_fence(memory_order_seq_cst);
		thread->commit |= FXT_COMMIT_OVERLAPS;
	}
	fxt_in_progress_take_out(thread, entry);
}

void fxt_in_progress_close_above(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	struct fxt_in_progress *above;
	uint64_t end_ns;

	if (fxt_has_moved(thread))
		return;
	end_ns = fxt_now(thread);
	for (above = thread->open - 1; above > entry; above--)
		if (!is_hole(above) && was_left(thread, entry, above))
			close_entry(thread, above, end_ns);
}

void fxt_in_progress_close_last(struct fxt_thread *thread)
{
	close_entry(thread, thread->open - 1, fxt_now(thread));
}

uint64_t fxt_in_progress_end_within(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	uint64_t end_ns;

	if (fxt_has_moved(thread)) {
		give_up(thread, entry);
		return fxt_clock_kernel_ns();
	}
	fxt_in_progress_close_above(thread, entry);
	end_ns = fxt_now_at_end(thread);
	if (thread->open == entry + 1) {
		fxt_in_progress_end_at(thread, entry, end_ns);
		return end_ns;
	}
	fxt_in_progress_end_among(thread, entry, end_ns);
	return end_ns;
}

/* Returns the last entry of a function with this frame that was entered from this site, or NULL. Functions
 * that are inlined into one frame share its address, but none of them is entered twice from one site without
 * having been left: such an entry is stale. */
static struct fxt_in_progress *same_place(struct fxt_thread *thread, uintptr_t frame, uintptr_t site)
{
	struct fxt_in_progress *entry;

	for (entry = thread->open;
	     entry > fxt_in_progress_entries(thread) && entry[-1].frame == frame &&
	     fxt_in_progress_function(entry - 1);
	     entry--)
		if (entry[-1].site == site)
			return entry - 1;
	return NULL;
}

/* Tells whether `entry` may be dead if `frame` is alive. A live caller's frame is above its callee's. A
 * wrapper and the entry hook of the function that calls it may have the same frame, and so may inlined
 * functions. */
static bool is_suspect(const struct fxt_in_progress *entry, uintptr_t frame, uintptr_t function)
{
	return frame > entry->frame ||
	       (frame == entry->frame && !(fxt_in_progress_function(entry) && !function));
}

/* A frame on an alternate signal stack or a coroutine's stack says nothing about frames on the thread's own
 * stack. */
void fxt_in_progress_drop_stale(struct fxt_thread *thread, uintptr_t frame, uintptr_t function,
				uintptr_t site, uint64_t end_ns)
{
	struct fxt_in_progress *entry, *earlier;

	for (drop_holes(thread); thread->open > fxt_in_progress_entries(thread); drop_holes(thread)) {
		entry = thread->open - 1;
		if (!is_suspect(entry, frame, function))
			return;
		if (entry->frame == frame && fxt_in_progress_function(entry)) {
			earlier = same_place(thread, frame, site);
			if (earlier) {
				while (thread->open > earlier)
					close_entry(thread, thread->open - 1, end_ns);
			}
			return;
		}
		if (entry->frame != frame &&
		    !(fxt_on_own_stack(thread, frame) && fxt_on_own_stack(thread, entry->frame)))
			return;
		if (fxt_in_progress_is_changing(entry) && fxt_on_alternate_stack())
			return;
		close_entry(thread, entry, end_ns);
	}
}

/* Shows a function that goes on in a forked child, in its new slot. An interposed call is not shown: the fork
 * was made by a handler that interrupted the call, so the child goes on with the call only if the handler
 * returns, and in most such children it never does. */
static void restate(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	uintptr_t function = fxt_in_progress_function(entry);
	uint64_t *slot = entry->slot;

	if (!function || fxt_in_progress_is_silent(entry))
		return;
	entry->names = fxt_function_names(function);
	slot[1] = entry->start_ns;
	slot[thread->slot_arg] = fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_function);
	slot[thread->slot_arg + 1] = function;
	slot[0] = thread->slot_header | entry->names;
}

/* The slots of the page go to the entries behind those that have slots in earlier pages. */
bool fxt_in_progress_add_page(struct fxt_thread *thread, uint64_t now_ns, bool has_them)
{
	unsigned words = slot_words(thread), at = PAGE_FIRST_SLOT, n;
	uint32_t page_words = fxt_thread_page_words(thread->pages.count);
	size_t count = slots_in_page(thread, thread->pages.count);
	struct fxt_in_progress *entry = fxt_in_progress_entries(thread) + slots(thread);
	struct fxt_chunk chunk;
	uint64_t *page;

	if (thread->pages.count == FXT_IN_PROGRESS_PAGES)
		return false;
	page = fxt_storage_take_page(fxt_agent.storage, now_ns, page_words, &chunk);
	fxt_agent_overwritten(&chunk, now_ns);
	if (!page)
		return false;
	for (n = 0; n < count && entry < fxt_in_progress_entries(thread) + FXT_IN_PROGRESS_MAX;
	     n++, at += words, entry++) {
		page[at] = fxt_filler(words);
		if (words == INLINE_SLOT_WORDS) {
			page[at + 2] = thread->pid;
			page[at + 3] = thread->tid;
			page[at + 6] = page[at + 7] = 0;
		}
		/* Of a call that the trace has, nothing may be shown again. */
		if (has_them && entry < thread->open)
			continue;
		entry->slot = page + at;
		if (entry < thread->open && !fxt_in_progress_is_changing(entry))
			restate(thread, entry);
	}
	page[at] = fxt_filler(page_words - 1 - at);
	thread->pages.list[thread->pages.count++] = page;
	fxt_in_progress_set_deep_count(thread, thread->deep_count);
	fxt_thread_show_page(thread, page);
	return true;
}

/* Gives the next entry a slot. Returns false if the calls nest too deep, or if the stack is short. */
static bool prepare(struct fxt_thread *thread, uint64_t start_ns)
{
	struct fxt_in_progress *entry = thread->open;
	uint64_t mask;

	if (entry == fxt_in_progress_entries(thread) + FXT_IN_PROGRESS_MAX || fxt_stack_is_short())
		return false;
	mask = fxt_sys_block_signals();
	if (!thread->ready)
		fxt_thread_ready(thread);
	if (!entry->slot && !(thread->ready && !fxt_agent.buffer.tail_offset &&
			      fxt_in_progress_add_page(thread, start_ns, false))) {
		/* The call is recorded when it returns, if there is room then, but is not shown in
		 * progress. So it is after the file was rewritten. */
		entry->slot = thread->pages.no_slot;
	}
	fxt_sys_restore_signals(mask);
	return true;
}

void fxt_in_progress_make_ready(struct fxt_thread *thread)
{
	if (!fxt_stack_is_short())
		fxt_thread_ready(thread);
}

struct fxt_in_progress *fxt_in_progress_next(struct fxt_thread *thread, uintptr_t frame, uintptr_t function,
					     uintptr_t site, uint64_t start_ns)
{
	/* The stale calls ended before this call began. */
	fxt_in_progress_drop_stale(thread, frame, function, site, start_ns - 1);
	return thread->open->slot || prepare(thread, start_ns) ? thread->open : NULL;
}

void fxt_in_progress_shape(struct fxt_thread *thread)
{
	unsigned words = slot_words(thread);

	static_assert((PAGE_SLOTS_END - PAGE_FIRST_SLOT) % FXT_SLOT_WORDS != 0 &&
			      (PAGE_SLOTS_END - PAGE_FIRST_SLOT) % INLINE_SLOT_WORDS != 0 &&
			      (SMALL_PAGE_SLOTS_END - PAGE_FIRST_SLOT) % FXT_SLOT_WORDS != 0 &&
			      (SMALL_PAGE_SLOTS_END - PAGE_FIRST_SLOT) % INLINE_SLOT_WORDS != 0,
		      "a page ends in a filler behind its slots");
	static_assert((SMALL_PAGE_SLOTS_END - PAGE_FIRST_SLOT) / INLINE_SLOT_WORDS +
				      (PAGE_SLOTS_END - PAGE_FIRST_SLOT) / INLINE_SLOT_WORDS *
					      (FXT_IN_PROGRESS_PAGES - 1) >=
			      FXT_IN_PROGRESS_MAX,
		      "pages for every entry");
	thread->slot_arg = words == FXT_SLOT_WORDS ? FXT_SLOT_ARG : FXT_SLOT_ARG + FXT_INLINE_WORDS;
	thread->slot_filler = fxt_filler(words);
	thread->slot_header = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(words) |
			      fxt_event_type(FXT_EVENT_DURATION_BEGIN) | fxt_event_args(1) |
				      thread->event_thread;
}

void fxt_in_progress_after_fork(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry;

	thread->pages.count = 0;
	/* The entry behind the last one has a slot too: a call that was interrupted when it was about to
	 * take that entry stores to its slot. */
	for (entry = fxt_in_progress_entries(thread);
	     entry < fxt_in_progress_entries(thread) + FXT_IN_PROGRESS_MAX && entry->slot; entry++)
		entry->slot = entry <= thread->open ? thread->pages.no_slot : NULL;
	/* For the child's trace the calls begin here. Names are looked up again when they are needed, because
	 * the child has a string table of its own. */
	for (entry = fxt_in_progress_entries(thread); entry < thread->open; entry++) {
		entry->start_ns = fxt_now(thread);
		if (fxt_in_progress_is_silent(entry))
			continue;
		if (fxt_in_progress_function(entry))
			entry->names = FXT_FUNCTION_UNNAMED(entry->function);
		/* The entry of an interposed call is marked here for fxt_in_progress_start_in_child(). An
		 * entry that is changing is not marked, because it may be about to become a function's. */
		else if (!fxt_in_progress_is_changing(entry))
			entry->function = entry->start_ns;
	}
}

uint64_t fxt_in_progress_start_in_child(const struct fxt_thread *thread, uint64_t end_ns)
{
	const struct fxt_in_progress *entry = thread->open;

	return entry->function == entry->start_ns && entry->start_ns >= thread->born_ns &&
			       entry->start_ns < end_ns
		? entry->start_ns : end_ns;
}

void fxt_in_progress_forget(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry;

	fxt_in_progress_set_deep_count(thread, 0);
	thread->filtered.hidden = 0;
	for (entry = fxt_in_progress_entries(thread); entry < thread->open; entry++) {
		entry->slot = NULL;
		entry->names = 0;
	}
	thread->open = fxt_in_progress_entries(thread);
	thread->shown = NULL;
}

void fxt_in_progress_close_all(struct fxt_thread *thread)
{
	uint64_t end_ns = fxt_now(thread);

	fxt_in_progress_set_deep_count(thread, 0);
	thread->filtered.hidden = 0;
	while (thread->open > fxt_in_progress_entries(thread))
		close_entry(thread, thread->open - 1, end_ns);
	fxt_in_progress_settle(thread);
}

struct fxt_in_progress *fxt_in_progress_push_silent(struct fxt_thread *thread, uintptr_t frame,
						    uintptr_t function, uintptr_t site)
{
	struct fxt_in_progress *entry = thread->open;

	if (frame >= entry[-1].frame || !entry->slot) {
		entry = fxt_in_progress_next(thread, frame, function, site, fxt_now(thread));
		if (!entry)
			return NULL;
	}
	entry->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	thread->open = entry + 1;
	atomic_signal_fence(memory_order_seq_cst);
	entry->function = function;
	entry->site = site;
	entry->start_ns = thread->last_ns;
	atomic_signal_fence(memory_order_seq_cst);
	entry->names = FXT_IN_PROGRESS_SILENT;
	return entry;
}

/* -- Before another program -------------------------------------------------------------------- */

static bool shows(const uint64_t *slot, enum fxt_event_type type)
{
	return !fxt_is_filler(slot[0]) && fxt_get_event_type(slot[0]) == type;
}

static uint64_t with_type(uint64_t header, enum fxt_event_type from, enum fxt_event_type to)
{
	return header ^ fxt_event_type(from) ^ fxt_event_type(to);
}

static bool is_of_function(const uint64_t *slot)
{
	return fxt_is_function_category(fxt_get_event_category(slot[0]));
}

/* The slot becomes a duration-complete event of the same size: one argument of one word, and the end. A copy
 * that is made in the middle of the change has a whole record as well. The argument of an interposed call is
 * kept in the members in which functions have their site and address. A call that would not nest then, as a
 * coroutine's that was never gone on with, is lost. */
void fxt_in_progress_end(struct fxt_thread *thread, uint64_t end_ns, uint64_t name)
{
	struct fxt_in_progress *entry;
	uint64_t header, *slot, *arg;

	for (entry = fxt_in_progress_entries(thread); entry < thread->open; entry++) {
		slot = entry->slot;
		if (!slot || !shows(slot, FXT_EVENT_DURATION_BEGIN))
			continue;
		if (!fxt_call_nests(thread, slot[1], end_ns)) {
			atomic_store_explicit((_Atomic uint64_t *)slot, thread->slot_filler,
					      memory_order_release);
			fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
			continue;
		}
		header = with_type(slot[0], FXT_EVENT_DURATION_BEGIN, FXT_EVENT_DURATION_COMPLETE);
		arg = slot + thread->slot_arg;
		if (!is_of_function(slot)) {
			entry->site = arg[0];
			entry->function = arg[1];
		}
		arg[0] = fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_ended_by) | fxt_arg_string(name);
		arg[1] = end_ns;
		atomic_store_explicit((_Atomic uint64_t *)slot, header, memory_order_release);
	}
}

void fxt_in_progress_go_on(struct fxt_thread *thread)
{
	struct fxt_in_progress *entry;
	uint64_t *slot, *arg;

	for (entry = fxt_in_progress_entries(thread); entry < thread->open; entry++) {
		slot = entry->slot;
		if (!slot || !shows(slot, FXT_EVENT_DURATION_COMPLETE))
			continue;
		arg = slot + thread->slot_arg;
		atomic_store_explicit((_Atomic uint64_t *)slot,
				      with_type(slot[0], FXT_EVENT_DURATION_COMPLETE,
						FXT_EVENT_DURATION_BEGIN), memory_order_release);
		arg[1] = entry->function;
		arg[0] = is_of_function(slot)
			? fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_function) : entry->site;
	}
}

void fxt_in_progress_before_vfork(void)
{
	struct fxt_thread *thread = fxt_self;
	uint64_t mask;

	fxt_sys_signals_are_shared();
	if (!thread)
		return;
	thread->may_be_child = true;
	fxt_lender = fxt_agent.pid;
	thread->vfork.entry = thread->open;
	thread->vfork.left_ns = 0;
	thread->vfork.has_waited = false;
	if (!fxt_agent_has_file() || fxt_may_not_lock())
		return;
	if (thread->vfork.chunk.words) {
		mask = fxt_sys_block_signals();
		fxt_lanes_after_vfork(thread);
		fxt_sys_restore_signals(mask);
	}
	fxt_buffer_grow_before_vfork(&fxt_agent.buffer, thread->last_ns + 1);
	/* The child could not leave a manager that is gone. */
	if (fxt_storage_failure(fxt_agent.storage) == -EPIPE)
		fxt_parts_storage_ends(-EPIPE);
}
