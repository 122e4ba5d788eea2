/* Calls in progress. A call that can block, and an instrumented function, has an entry from its start to
 * its end, and with the entry a slot in the trace file. So a trace that ends by a SIGKILL or a hang ends
 * with exactly the calls that had not returned. Wrappers and the hooks of -finstrument-functions call this
 * for their own thread, in any context.
 *
 * Each entry has the address of its frame. An entry whose frame lies below the current frame on the same
 * stack was left without our seeing it (by longjmp, an exception or cancellation). It is closed when that
 * is noticed: when the next call begins or ends.
 */
#ifndef FXT_IN_PROGRESS_H
#define FXT_IN_PROGRESS_H

#include "emit.h"

enum {
	/* The position of a slot's argument: behind header and start, and FXT_INLINE_WORDS further where
	 * koids are inline. */
	FXT_SLOT_ARG = 2,
	FXT_SLOT_WORDS = FXT_SLOT_ARG + 2,
};

/* Closes the entries above `entry` whose calls were left, and so ended now. Those of coroutines stay: a
 * signal handler has switched to other code in the middle of their calls, and may switch back. */
void fxt_in_progress_close_above(struct fxt_thread *thread, struct fxt_in_progress *entry);
/* Closes the last entry: its call ended now. */
void fxt_in_progress_close_last(struct fxt_thread *thread);
/* Closes the last entries whose frames cannot be alive any more, because a call with this frame, function and
 * call site (0 and 0 for an interposed call) begins. Their calls ended at end_ns. */
void fxt_in_progress_drop_stale(struct fxt_thread *thread, uintptr_t frame, uintptr_t function,
				uintptr_t site, uint64_t end_ns);
/* Closes stale entries, and returns the next entry, which has a slot. Returns NULL if the calls nest too
 * deep. */
FXT_COLD struct fxt_in_progress *fxt_in_progress_next(struct fxt_thread *thread, uintptr_t frame,
						      uintptr_t function, uintptr_t site, uint64_t start_ns);

/* Makes the thread ready: the slow part of fxt_in_progress_ready(). */
FXT_COLD void fxt_in_progress_make_ready(struct fxt_thread *thread);

/* Returns how many words a thread's page number `page` has. */
static inline uint32_t fxt_thread_page_words(uint32_t page)
{
	return page ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS;
}

/* Takes a page of slots. The caller has blocked signals. Returns false if there is no page. Functions in
 * progress are shown there, unless the trace `has_them` already. */
bool fxt_in_progress_add_page(struct fxt_thread *thread, uint64_t now_ns, bool has_them);
/* Makes the thread ready before a call is shown in progress or explained. In a forked child that has
 * recorded nothing yet there is no slot to show the call in, and the quick way does not notice that. So
 * this is called where the first of such calls passes. */
static inline void fxt_in_progress_ready(struct fxt_thread *thread)
{
	if (FXT_UNLIKELY(!thread->ready))
		fxt_in_progress_make_ready(thread);
}

/* Sets the form of this thread's slots. It is called as soon as the thread ref is known. */
void fxt_in_progress_shape(struct fxt_thread *thread);
/* Keeps the calls in progress in the child of a fork, where they go on. The child's file shows them as soon
 * as there is one. */
void fxt_in_progress_after_fork(struct fxt_thread *thread);
/* Returns the start, for the child's trace, of a call that ended just now and that its parent was in at the
 * fork. Returns end_ns if the call had no entry, because its start is not known then. */
uint64_t fxt_in_progress_start_in_child(const struct fxt_thread *thread, uint64_t end_ns);
/* Removes all entries in the child of a clone(): the calls that its parent was in are not its own. */
void fxt_in_progress_forget(struct fxt_thread *thread);
/* Closes all entries, because the thread is gone and never returns from these calls. */
void fxt_in_progress_close_all(struct fxt_thread *thread);

/* Makes the slots say that the calling thread's calls ended at end_ns. The process is about to execute
 * another program, by the call of this name (a string index), and afterwards nobody is left who could end
 * them. */
void fxt_in_progress_end(struct fxt_thread *thread, uint64_t end_ns, uint64_t name);
/* Makes the slots show calls in progress again, because the call failed and the program goes on. */
void fxt_in_progress_go_on(struct fxt_thread *thread);

/* Prepares for a child that runs in the calling thread's memory and in its place (vfork). The calls that
 * the child enters have entries from vfork.entry on. */
void fxt_in_progress_before_vfork(void);

/* Notes that so many functions were entered too deep to have an entry. It has to be called again when the
 * pages of slots have changed. */
void fxt_in_progress_set_deep_count(struct fxt_thread *thread, uint32_t count);

/* Returns whether events of this category are of functions. */
static inline bool fxt_is_function_category(uint64_t category)
{
	static_assert(FXT_BIT_plt == FXT_BIT_function + 1, "the two are neighbours");
	return (uint32_t)category - (FXT_STR_CATEGORIES + FXT_BIT_function) <= 1;
}

/* Returns the function that an entry is of, or 0 if the entry is an interposed call's or is changing. */
static inline uintptr_t fxt_in_progress_function(const struct fxt_in_progress *entry)
{
	return fxt_is_function_category(fxt_get_event_category(entry->names)) ? entry->function : 0;
}

/* The names of the entry of a function that is left out with all that it calls. Its slot shows no call, and
 * no event is written when it ends. */
#define FXT_IN_PROGRESS_SILENT fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, FXT_STR_filtered)

/* Returns whether an entry is such a function's. */
static inline bool fxt_in_progress_is_silent(const struct fxt_in_progress *entry)
{
	return entry->names == FXT_IN_PROGRESS_SILENT;
}

/* Makes the entry of such a function. Returns NULL if there is no room for one. */
struct fxt_in_progress *fxt_in_progress_push_silent(struct fxt_thread *thread, uintptr_t frame,
						    uintptr_t function, uintptr_t site);

/* The frame of an entry that no call has. An entry gets its frame before it is taken, and loses it after it
 * is given back. A handler that comes before the entry is taken uses the same entry and leaves this value
 * there. The value is above all frames, so the interrupted call's entry is not taken for stale. */
#define FXT_IN_PROGRESS_NOBODY UINTPTR_MAX

/* The frame of an entry that was given back before the one above it. It makes the next call that would go
 * above it take the slow way, which gives the place out again: fxt_in_progress_drop_stale(). */
enum { FXT_IN_PROGRESS_HOLE = 0 };

/* Takes away an entry that need not be the last one. */
FXT_COLD void fxt_in_progress_take_out(struct fxt_thread *thread, struct fxt_in_progress *entry);

/* Takes away the entry of a call that ended at end_ns, and that need not be the last one. An entry above it
 * is a call that has not ended: a coroutine's, which was switched away meanwhile. The two calls do not nest
 * then, and the one that ends is dropped. */
FXT_COLD void fxt_in_progress_end_among(struct fxt_thread *thread, struct fxt_in_progress *entry,
					uint64_t end_ns);

/* Does what fxt_end() does, for a call whose entry is not the last one. */
FXT_COLD uint64_t fxt_in_progress_end_within(struct fxt_thread *thread, struct fxt_in_progress *entry);

/* Tells whether an entry is being filled or emptied. An entry gets its names last and loses them first. A
 * signal handler that comes in between runs further down the stack; a frame that is not further down shows
 * that the work on the entry was left. */
static inline bool fxt_in_progress_is_changing(const struct fxt_in_progress *entry)
{
	return !entry->names;
}

/* A call that starts gets its entry in two parts, because as little as possible is done after the clock was
 * read: fxt_in_progress_take() comes before that, fxt_in_progress_show() after it. Between the two,
 * fxt_in_progress_put_back() may undo the first, and an instrumented function stores its address in the
 * entry.
 *
 * Takes the next entry. Returns false, with nothing changed, if something is out of the ordinary. */
static FXT_EMISSION bool fxt_in_progress_take(struct fxt_thread *thread, struct fxt_in_progress *entry,
					      uintptr_t frame, uint64_t arg_header, uint64_t arg)
{
	if (FXT_UNLIKELY(entry >= thread->quick_limit || frame >= entry[-1].frame))
		return false;
	entry->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	/* The entry is taken before it is filled, so that a signal handler uses the next one. */
	thread->open = entry + 1;
	/* A reader that sees any of these words of the slot also sees that the slot's last call is gone: a
	 * snapshot relies on that. This is no instruction on x86. */
	atomic_thread_fence(memory_order_release);
	entry->slot[FXT_SLOT_ARG] = arg_header;
	entry->slot[FXT_SLOT_ARG + 1] = arg;
	return true;
}

/* Gives back an entry that was taken and not shown. */
static FXT_EMISSION void fxt_in_progress_put_back(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->open = entry;
	atomic_signal_fence(memory_order_seq_cst);
	entry->frame = FXT_IN_PROGRESS_NOBODY;
}

/* Shows the call of a taken entry in progress since start_ns; `names` is as in an event's header. */
static FXT_EMISSION void fxt_in_progress_show(struct fxt_thread *thread, struct fxt_in_progress *entry,
					      uint64_t start_ns, uint64_t names)
{
	uint64_t *slot = entry->slot;

	entry->start_ns = start_ns;
	slot[1] = start_ns;
	atomic_store_explicit((_Atomic uint64_t *)slot, thread->slot_header | names, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	entry->names = names;
}

/* Takes away the last entry and puts `filler` into its slot. Callers that do not know the filler pass
 * thread->slot_filler. */
static FXT_EMISSION void fxt_in_progress_empty_with(struct fxt_thread *thread, struct fxt_in_progress *entry,
					     uint64_t filler)
{
	entry->names = 0;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit((_Atomic uint64_t *)entry->slot, filler, memory_order_release);
	fxt_in_progress_put_back(thread, entry);
}

/* Takes away the last entry, whose slot gets the usual filler. */
static FXT_EMISSION void fxt_in_progress_empty(struct fxt_thread *thread, struct fxt_in_progress *entry)
{
	fxt_in_progress_empty_with(thread, entry, thread->slot_filler);
}

/* Makes the entry of a call that starts. `names` is as in an event's header; arg_header and `arg` are the
 * two words of a 64-bit argument. Returns NULL if there is no room for an entry; then there is none to take
 * away either. */
static FXT_EMISSION struct fxt_in_progress *fxt_in_progress_push(struct fxt_thread *thread, uintptr_t frame,
						   uintptr_t function, uintptr_t site, uint64_t start_ns,
						   uint64_t names, uint64_t arg_header, uint64_t arg)
{
	struct fxt_in_progress *entry = thread->open;

	if (FXT_UNLIKELY(frame >= entry[-1].frame || !entry->slot)) {
		entry = fxt_in_progress_next(thread, frame, function, site, start_ns);
		if (!entry)
			return NULL;
	}
	entry->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	thread->open = entry + 1;
	/* The reason is the same as in fxt_in_progress_take(). */
	atomic_thread_fence(memory_order_release);
	if (function) {
		entry->function = function;
		entry->site = site;
	}
	entry->slot[thread->slot_arg] = arg_header;
	entry->slot[thread->slot_arg + 1] = arg;
	fxt_in_progress_show(thread, entry, start_ns, names);
	return entry;
}

/* Takes away the last entry, whose call took so long that work may precede its record: a walk of the stack, a
 * wait for room. The slot shows the call in progress until the record is committed, or is known not to be
 * written. So a process that is killed meanwhile leaves a trace that has the call. A handler that comes
 * meanwhile may use the entry and its slot, for calls of its own. */
FXT_COLD void fxt_in_progress_end_slow(struct fxt_thread *thread, struct fxt_in_progress *entry,
				       uint64_t end_ns);
/* Empties the slot that fxt_in_progress_end_slow() has left, if there is one. A kill between the commit and
 * this leaves a trace with both; readers take the record. */
FXT_COLD void fxt_in_progress_settle(struct fxt_thread *thread);

/* Takes away the last entry, whose call ended at end_ns. */
static FXT_EMISSION void fxt_in_progress_end_at(struct fxt_thread *thread, struct fxt_in_progress *entry,
						uint64_t end_ns)
{
	if (FXT_UNLIKELY(!fxt_is_usual(thread, entry->start_ns, end_ns)))
		fxt_in_progress_end_slow(thread, entry, end_ns);
	else
		fxt_in_progress_empty(thread, entry);
}

/* Ends a call and returns the time of its end; `open` is the result of fxt_in_progress_push(), or NULL. Calls
 * that were left within this one end before it. The slot of a usual call is emptied before the caller commits
 * the record, because after a kill between the two the trace must not have the call twice. The caller has to
 * ask for room next, and to commit the record if there is some. */
static FXT_EMISSION uint64_t fxt_end(struct fxt_thread *thread, struct fxt_in_progress *open)
{
	uint64_t end_ns;

	if (FXT_UNLIKELY(!open))
		return fxt_now_at_end(thread);
	/* Makes the compiler compute the address from `open` alone. Otherwise it would also keep the
	 * address of the entry behind it during the call. */
	__asm__("" : "+r"(open));
	if (FXT_UNLIKELY(thread->open != open + 1))
		return fxt_in_progress_end_within(thread, open);
	end_ns = fxt_now_at_end(thread);
	fxt_in_progress_end_at(thread, open, end_ns);
	return end_ns;
}

/* Ends a call that may have waited, as fxt_end() does. Sets `*before_ns` to the last time before that at
 * which the thread, or a handler in it, recorded something. */
static inline uint64_t fxt_end_after(struct fxt_thread *thread, struct fxt_in_progress *open,
				     uint64_t *before_ns)
{
	uint64_t end_ns, last_ns;

	if (FXT_UNLIKELY(open && thread->open != open + 1))
		fxt_in_progress_close_above(thread, open);
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &end_ns)))
		end_ns = fxt_clock_from_kernel(thread);
	*before_ns = last_ns = thread->last_ns;
	end_ns = fxt_clock_step_after(thread, end_ns, last_ns, before_ns);
	if (open && FXT_UNLIKELY(thread->open != open + 1))
		fxt_in_progress_end_among(thread, open, end_ns);
	else if (open)
		fxt_in_progress_end_at(thread, open, end_ns);
	return end_ns;
}

#endif
