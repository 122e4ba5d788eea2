/* Calls in progress. A call that can block, and an instrumented function, has an entry from its start to its
 * end, and with it a slot in the file: a trace that ends in a SIGKILL or a hang ends with exactly those
 * calls.
 *
 * An entry whose frame lies below the current one, on the same stack, was left without our seeing it
 * (longjmp, an exception, cancellation): it is closed when that is noticed, at the next push or pop.
 */
#ifndef FXT_OPEN_H
#define FXT_OPEN_H

#include "emit.h"

enum {
	/* Where the argument of a slot is, behind header and start; FXT_INLINE_WORDS further on where koids
	 * are inline. */
	FXT_SLOT_ARG = 2,
	FXT_SLOT_WORDS = FXT_SLOT_ARG + 2,
};

/* Entries above `entry` and stale ones below it: see in_progress.c. */
void fxt_open_close_above(struct fxt_thread *thread, struct fxt_open *entry);
void fxt_open_drop_stale(struct fxt_thread *thread, uintptr_t frame, uintptr_t function, uintptr_t site,
			 uint64_t end_ns);
/* The next entry, once stale ones are closed, with a slot. NULL: the calls nest too deep. */
FXT_COLD struct fxt_open *fxt_open_next(struct fxt_thread *thread, uintptr_t frame, uintptr_t function, uintptr_t site,
					uint64_t start_ns);

FXT_COLD void fxt_open_make_ready(struct fxt_thread *thread);

/* Takes a page of slots; with signals blocked. False: there is none. */
bool fxt_open_add_page(struct fxt_thread *thread, uint64_t now_ns);
/* A call is about to be shown in progress, or explained: in a forked child that has recorded nothing yet
 * there is nowhere to show it, which the quick way does not notice. Called where the first of such calls
 * comes by. */
static inline void fxt_open_ready(struct fxt_thread *thread)
{
	if (FXT_UNLIKELY(!thread->ready))
		fxt_open_make_ready(thread);
}

/* The form of this thread's slots, once its thread ref is known. */
void fxt_open_shape(struct fxt_thread *thread);
/* The calls in progress go on in the child of a fork; its file says so as soon as it has one. */
void fxt_open_after_fork(struct fxt_thread *thread);
/* When a call began, for the child's trace, that its parent was in at the fork and that has ended now.
 * Without an entry that is not known: at its end. */
uint64_t fxt_open_start_in_child(const struct fxt_thread *thread, uint64_t end_ns);
/* The child of a clone() begins anew: what its parent was in is not its own. */
void fxt_open_forget(struct fxt_thread *thread);
/* The thread is gone, and with it whatever it had not returned from. */
void fxt_open_close_all(struct fxt_thread *thread);

/* The process is about to execute another program, by the call of this name (a string index). Nobody is left
 * afterwards who could end what the calling thread is in, so the slots say that it ended at end_ns. */
void fxt_open_end(struct fxt_thread *thread, uint64_t end_ns, uint64_t name);
/* It goes on: the call has failed. */
void fxt_open_go_on(struct fxt_thread *thread);

/* The calling thread is about to make a child that runs in its memory and in its place: what that enters is
 * above vfork_open. */
static inline void fxt_open_before_vfork(void)
{
	if (!fxt_self)
		return;
	fxt_self->may_be_child = true;
	fxt_lender = fxt_agent.pid;
	fxt_self->vfork_open = fxt_self->open;
	fxt_self->vfork_left_ns = 0;
}

/* So many functions are deeper than there are entries for functions. To be told again when the pages of slots
 * have changed. */
void fxt_open_set_deep_count(struct fxt_thread *thread, uint32_t count);

/* The function that an entry is of; 0: an interposed call, or the entry is changing. */
static inline uintptr_t fxt_open_function(const struct fxt_open *entry)
{
	return fxt_get_event_category(entry->names) == FXT_STR_CATEGORIES + FXT_BIT_function ? entry->function : 0;
}

/* The frame of an entry that nobody has. An entry gets its frame before it is taken, and loses it after it is
 * given back: so a handler that comes before it is taken, and uses the same one, leaves this, and the entry
 * passes for alive as long as it lasts. */
#define FXT_OPEN_NOBODY UINTPTR_MAX

/* An entry has its names last, and loses them first: what a signal handler does meanwhile is further down the
 * stack, and whoever is not finds that the work was left. */
static inline bool fxt_open_is_changing(const struct fxt_open *entry)
{
	return !entry->names;
}

/* The entry of a call that starts, in two parts: one for before the clock is read, and one for after. False:
 * neither now, something is out of the ordinary. In between fxt_open_put_back() undoes it; a function says
 * there which one it is. */
static FXT_EMISSION bool fxt_open_take(struct fxt_thread *thread, struct fxt_open *entry, uintptr_t frame, uint64_t arg_header,
				       uint64_t arg)
{
	if (FXT_UNLIKELY(entry >= thread->quick_limit || frame >= entry[-1].frame))
		return false;
	entry->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	/* Taken before it is filled, so that a signal handler uses the next one. */
	thread->open = entry + 1;
	/* Who sees any of the slot's words sees that its last call is gone: a snapshot looks back for that.
	 * No instruction on x86. */
	atomic_thread_fence(memory_order_release);
	entry->slot[FXT_SLOT_ARG] = arg_header;
	entry->slot[FXT_SLOT_ARG + 1] = arg;
	return true;
}

static FXT_EMISSION void fxt_open_put_back(struct fxt_thread *thread, struct fxt_open *entry)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->open = entry;
	atomic_signal_fence(memory_order_seq_cst);
	entry->frame = FXT_OPEN_NOBODY;
}

static FXT_EMISSION void fxt_open_show(struct fxt_thread *thread, struct fxt_open *entry, uint64_t start_ns, uint64_t names)
{
	uint64_t *slot = entry->slot;

	entry->start_ns = start_ns;
	slot[1] = start_ns;
	atomic_store_explicit((_Atomic uint64_t *)slot, thread->slot_header | names, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	entry->names = names;
}

/* Takes away the last entry, whose slot is to have this filler: thread->slot_filler, for whom that is not
 * known. */
static FXT_EMISSION void fxt_open_empty_with(struct fxt_thread *thread, struct fxt_open *entry, uint64_t filler)
{
	entry->names = 0;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit((_Atomic uint64_t *)entry->slot, filler, memory_order_release);
	fxt_open_put_back(thread, entry);
}

static FXT_EMISSION void fxt_open_empty(struct fxt_thread *thread, struct fxt_open *entry)
{
	fxt_open_empty_with(thread, entry, thread->slot_filler);
}

/* The entry of a call that starts; `names` as in an event's header, argument as two words of a 64-bit
 * argument. NULL when there is no room for it: then there is nothing to pop either. */
static FXT_EMISSION struct fxt_open *fxt_open_push(struct fxt_thread *thread, uintptr_t frame, uintptr_t function,
					     uintptr_t site, uint64_t start_ns, uint64_t names, uint64_t arg_header, uint64_t arg)
{
	struct fxt_open *entry = thread->open;

	if (FXT_UNLIKELY(frame >= entry[-1].frame || !entry->slot)) {
		entry = fxt_open_next(thread, frame, function, site, start_ns);
		if (!entry)
			return NULL;
	}
	entry->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	thread->open = entry + 1;
	/* As in fxt_open_take(). */
	atomic_thread_fence(memory_order_release);
	if (function) {
		entry->function = function;
		entry->site = site;
	}
	entry->slot[thread->slot_arg] = arg_header;
	entry->slot[thread->slot_arg + 1] = arg;
	fxt_open_show(thread, entry, start_ns, names);
	return entry;
}

/* The end of a call, `open` being what fxt_open_push() returned or NULL: reads the clock, and takes the entry
 * away before the record is committed: a kill between the two must not leave the call there twice. What was
 * left within it ends before it. */
static FXT_EMISSION uint64_t fxt_end(struct fxt_thread *thread, struct fxt_open *open)
{
	uint64_t end_ns;

	if (FXT_UNLIKELY(!open))
		return fxt_now(thread);
	/* Of `open` alone, and not of the entry behind it, which would have to be kept during the call as
	 * well. */
	__asm__("" : "+r"(open));
	if (FXT_UNLIKELY(thread->open != open + 1))
		fxt_open_close_above(thread, open);
	end_ns = fxt_now(thread);
	fxt_open_empty(thread, open);
	return end_ns;
}

/* The same of a call that may have waited; `*before_ns` is when the thread, or a handler in it, recorded
 * something last before that. */
static inline uint64_t fxt_end_after(struct fxt_thread *thread, struct fxt_open *open, uint64_t *before_ns)
{
	uint64_t end_ns, last_ns;

	if (FXT_UNLIKELY(open && thread->open != open + 1))
		fxt_open_close_above(thread, open);
	if (FXT_UNLIKELY(!fxt_clock_quick(thread, &end_ns)))
		end_ns = fxt_clock_from_kernel(thread);
	*before_ns = last_ns = thread->last_ns;
	end_ns = fxt_clock_step_after(thread, end_ns, last_ns, before_ns);
	if (open)
		fxt_open_empty(thread, open);
	return end_ns;
}

#endif
