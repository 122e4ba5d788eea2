/* See thread.h. Gives threads their states, and makes them known to the trace. Slow paths of wrappers call
 * this, in any context.
 *
 * A state is never freed when its thread ends: the program's destructors come after that, and nothing tells
 * us reliably that a thread is gone. A new thread takes over the state of one that the kernel no longer
 * knows, and goes on in its chunks.
 */
#include "agent/base/koid.h"
#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "counter.h"
#include "explain.h"
#include "function.h"
#include "in_progress.h"
#include "program_text.h"
#include "sample.h"
#include "threads.h"
#include "trace_file.h"
#include "writer/fxt_encode.h"

enum {
	/* The places of the counters in a page of slots. Each has a cache line of its own. */
	DROPPED_SLOT = 8,
	FILTERED_SLOT = DROPPED_SLOT + FXT_COUNTER_WORDS,
	/* Every fork takes longer, and so does every call that began before one and ends after it. */
	LEAST_FORK_NS = 20000,
};

static __thread bool barred;            /* the thread records nothing: fxt_thread_bar() */

static atomic_uint next_index;          /* of the threads that have an index in the format */

/* -- Pages ------------------------------------------------------------------------------------- */

void fxt_thread_show_page(struct fxt_thread *thread, uint64_t *page)
{
	fxt_counter_clear(page + DROPPED_SLOT, 0);
	fxt_counter_clear(page + FILTERED_SLOT, 0);
	page[3] = fxt_filler(DROPPED_SLOT - 3);
	page[1] = thread->pid;
	page[2] = thread->tid;
	atomic_store_explicit((_Atomic uint64_t *)page,
			      thread->index ? fxt_record_type(FXT_RECORD_THREAD) | fxt_record_words(3) |
						      fxt_thread_index(thread->index)
					    : fxt_filler(3),
			      memory_order_release);
}

static uint64_t *show_counter(struct fxt_thread *thread, unsigned slot, uint64_t name, uint64_t value)
{
	return fxt_counter_show(thread->pages.list[0] + slot, name, thread->event_thread, thread->pid,
				thread->tid, thread->tid, value);
}

/* Shows the thread's count of dropped records in its page, once there is one to count. Signals are blocked,
 * because a count of a handler would be lost in between. */
static void show_dropped(struct fxt_thread *thread)
{
	uint64_t mask = fxt_sys_block_signals();

	if (thread->pages.count && thread->counts.dropped == &thread->pages.none[1]) {
		thread->counts.dropped_ns = thread->pages.list[0] + DROPPED_SLOT + 1;
		thread->counts.dropped =
			show_counter(thread, DROPPED_SLOT, FXT_STR_dropped, thread->pages.none[1]);
	}
	fxt_sys_restore_signals(mask);
}

/* Makes the thread have no page, and no place in the file for its counts. */
static void forget_page(struct fxt_thread *thread)
{
	thread->pages.count = 0;
	fxt_in_progress_set_deep_count(thread, thread->deep_count);
	fxt_thread_count_nowhere(thread);
	thread->no_room_before_ns = 0;
	thread->commit &= ~(unsigned)FXT_COMMIT_NO_ROOM;
	if (thread == fxt_self)
		fxt_set_self_ending(thread);
}

static void has_met_no_room(struct fxt_thread *thread)
{
	thread->no_room_before_ns = fxt_storage_none_before(fxt_agent.storage);
	if (thread->no_room_before_ns == FXT_NEVER)
		thread->commit |= FXT_COMMIT_NO_ROOM;
	/* The clock has to be read where a duration decides whether a record is filtered or meets a
	 * trigger. */
	if (thread->no_room_before_ns == FXT_NEVER && thread == fxt_self && thread->usual_ns &&
	    fxt_agent.config.triggers.most_ns == INT64_MAX)
		fxt_set_self_ending(NULL);
}

void fxt_thread_dropped(struct fxt_thread *thread, enum fxt_loss why)
{
	uint64_t now_ns = thread->last_ns ? thread->last_ns : fxt_clock_kernel_ns();
	/* Counters are in the storage: see fxt_is_interrupted(). */
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_CALL);

	if (why != FXT_LOSS_ROOM || !thread->pages.count) {
		/* In the child of a fork this may be all that its trace says. */
		if (fxt_agent_file())
			fxt_agent_count(why, 1, now_ns);
	} else {
		if (thread->counts.dropped == &thread->pages.none[1])
			show_dropped(thread);
		fxt_count_one(thread->counts.dropped);
		*thread->counts.dropped_ns = now_ns;
	}
	if (why == FXT_LOSS_ROOM)
		fxt_loss_note(thread, false);
	fxt_agent_lost(why, now_ns);
	if (why == FXT_LOSS_ROOM && thread->ready)
		has_met_no_room(thread);
	fxt_lane_lower(lane);
}

void fxt_thread_overtaken(struct fxt_thread *thread, unsigned events)
{
	if (events)
		fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
}

/* -- Records that are not calls ---------------------------------------------------------------- */

static bool put(struct fxt_thread *thread, const uint64_t *record, size_t words, bool is_call)
{
	struct fxt_lane *lane = fxt_open_lane(thread, words, is_call);
	uint64_t *at;

	if (!lane)
		return false;
	at = fxt_lane_place(lane, words);
	memcpy(at + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, at, words, record[0]);
	fxt_close_lane(lane, 0);
	return true;
}

bool fxt_thread_put(struct fxt_thread *thread, const uint64_t *record, size_t words)
{
	return put(thread, record, words, true);
}

bool fxt_thread_put_extra(struct fxt_thread *thread, const uint64_t *record, size_t words)
{
	return put(thread, record, words, false);
}

/* -- Life -------------------------------------------------------------------------------------- */

static bool may_filter(void)
{
	return fxt_agent.config.has_threshold || fxt_agent.config.filters_functions ||
	       fxt_agent.config.filters_callers;
}

static void make_ready(struct fxt_thread *thread)
{
	unsigned index = atomic_fetch_add_explicit(&next_index, 1, memory_order_relaxed) + 1;

	if (index > FXT_THREAD_MAX_INDEX) {
		/* This keeps the index from wrapping around after four thousand million threads. */
		atomic_store_explicit(&next_index, FXT_THREAD_MAX_INDEX, memory_order_relaxed);
		index = 0;
	}
	thread->index = (uint8_t)index;
	thread->event_thread = fxt_event_thread(index);
	if (!index)
		thread->usual_ns = thread->usual_function_ns = 0;
	thread->ready = true;
	fxt_in_progress_shape(thread);
	fxt_lanes_put_thread(thread);
	if (fxt_in_progress_add_page(thread, fxt_now(thread), false) && may_filter())
		thread->counts.filtered =
			show_counter(thread, FILTERED_SLOT, FXT_STR_filtered, thread->pages.none[0]);
	fxt_thread_tell_name(thread, thread, NULL);
}

bool fxt_thread_ready(struct fxt_thread *thread)
{
	uint64_t mask;

	if (thread->ready)
		return true;
	if (fxt_may_not_lock() || !fxt_agent_file())
		return false;
	mask = fxt_sys_block_signals();
	/* A handler may have come first. */
	if (!thread->ready)
		make_ready(thread);
	fxt_sys_restore_signals(mask);
	return true;
}

void fxt_thread_ends(void)
{
	struct fxt_thread *thread = fxt_self;

	if (!thread || !thread->ready)
		return;
	fxt_in_progress_close_all(thread);
	fxt_parts_thread_ends(thread);
}

void fxt_threads_mode(void)
{
	fxt_chunks_start();
}

/* Calls that were in progress when the trace was stopped are not usual from here on: when they end,
 * fxt_in_progress_end_slow() sees it. They take longer than it was stopped. */
static void note_stop(struct fxt_thread *thread)
{
	uint64_t stopped_ns = atomic_load_explicit(&fxt_agent.stopped_ns, memory_order_relaxed), ns;

	if (!stopped_ns)
		return;
	if (stopped_ns < thread->last_ns)
		stopped_ns = thread->last_ns;
	thread->stopped_ns = thread->lasted_ns = stopped_ns;
	ns = fxt_clock_kernel_ns();
	ns = ns > stopped_ns ? ns - stopped_ns : 0;
	if (thread->usual_ns > ns)
		thread->usual_ns = ns;
	if (thread->usual_function_ns > ns)
		thread->usual_function_ns = ns;
}

void fxt_thread_begins_again(struct fxt_thread *thread)
{
	note_stop(thread);
	thread->starts = atomic_load_explicit(&fxt_agent.starts, memory_order_relaxed);
	thread->held_top = thread->held;
	thread->bytes.heap = 0;
	thread->no_room_before_ns = 0;
	thread->commit &= ~(unsigned)FXT_COMMIT_NO_ROOM;
	fxt_set_self_ending(thread);
}

/* Returns how long a call may take to be usual: fxt_is_usual(). `is_looked_at` tells whether a threshold or a
 * filter has a look at every call. */
static uint64_t usual_ns(bool is_looked_at)
{
	const struct fxt_config *config = &fxt_agent.config;
	uint64_t ns = config->triggers.most_ns < FXT_SWITCH_NS ? config->triggers.most_ns : FXT_SWITCH_NS;

	if (config->explain_ns && config->explain_ns < ns)
		ns = config->explain_ns;
	if (config->least_stack_ns < ns)
		ns = config->least_stack_ns;
	return is_looked_at || config->triggers.least_ns ? 0 : ns;
}

static void begin_life(struct fxt_thread *thread, uint32_t own_tid)
{
	const struct fxt_config *config = &fxt_agent.config;

	thread->in_use = true;
	thread->ready = false;
	thread->pid = fxt_agent.koid;
	thread->tid = fxt_koid_of_thread(own_tid);
	thread->own_tid = own_tid;
	fxt_thread_enter_number(thread);
	thread->starts = atomic_load_explicit(&fxt_agent.starts, memory_order_relaxed);
	forget_page(thread);
	thread->pages.none[0] = thread->pages.none[1] = 0;
	thread->usual_ns = usual_ns(config->has_threshold || config->filters_callers);
	thread->usual_function_ns = usual_ns(config->has_threshold);
	/* No call is drawn: see docs/call-stacks.md. */
	thread->until_sample = INT64_MAX;
	thread->samples.random = 0;
	thread->samples.end_ns = 0;
	fxt_explain_reset(thread);
	fxt_program_text_forget(thread);
	thread->shown = NULL;
	thread->commit = 0;
	thread->watched_errno = thread->first_errno = 0;
	thread->born_ns = thread->stopped_ns = thread->lasted_ns = 0;
	thread->life = thread->expects = thread->vfork.link = 0;
	thread->vfork.child = thread->vfork.chunk.words = 0;
}

/* Ends the use of the state by a thread that the kernel no longer knows: closes the calls that it left open,
 * gives back its pages, and keeps its chunks. */
static void end_life(struct fxt_thread *thread)
{
	uint32_t i;

	fxt_agent_count(FXT_LOSS_SIGNALS, fxt_lanes_left(thread), thread->last_ns);
	fxt_in_progress_close_all(thread);
	fxt_parts_thread_is_gone(thread);
	thread->held_top = thread->held;
	if (thread->pages.count) {
		uint64_t *page = thread->pages.list[0];

		fxt_agent_count(FXT_LOSS_ROOM, fxt_counter_value(page + DROPPED_SLOT),
				page[DROPPED_SLOT + 1]);
		fxt_agent_count(FXT_LOSS_FILTERED, fxt_counter_value(page + FILTERED_SLOT), thread->last_ns);
	}
	for (i = 0; i < thread->pages.count; i++)
		fxt_storage_return_page(fxt_agent.storage, thread->pages.list[i], fxt_thread_page_words(i));
	for (i = 0; i < FXT_IN_PROGRESS_MAX; i++)
		fxt_in_progress_entries(thread)[i].slot = NULL;
	thread->in_use = false;
}

/* Counts a dropped record of a thread that has no state. */
static void drop_unattached(void)
{
	uint64_t now_ns;

	if (!fxt_agent_file())
		return;
	now_ns = fxt_clock_kernel_ns();
	fxt_agent_count(FXT_LOSS_ROOM, 1, now_ns);
	fxt_agent_lost(FXT_LOSS_STATE, now_ns);
}

/* Does what fxt_thread_attach() does. `known` is NULL, or what is known of a thread that has just begun. */
static struct fxt_thread *attach(const struct fxt_known_stack *known)
{
	uint32_t pid, tid;
	struct fxt_thread *thread;
	uint64_t mask;

	if (atomic_load_explicit(&fxt_agent.state, memory_order_acquire) != FXT_ON || barred)
		return NULL;
	/* Recording begins behind the call that finds the gate open, because its category may be off then. */
	if (fxt_gate_is_lent()) {
		if (!fxt_stack_is_short())
			fxt_parts_woken();
		return NULL;
	}
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		drop_unattached();
		return NULL;
	}
	pid = (uint32_t)fxt_sys_getpid();
	/* The caller is the child of a vfork, or another process in our memory: a state made for it would
	 * pass for one of ours. */
	if (pid != fxt_agent.pid)
		return NULL;
	tid = (uint32_t)fxt_sys_gettid();
	mask = fxt_sys_block_signals();
	/* A handler may have come first. With a second state, what the first has counted might be lost. */
	if (fxt_self) {
		fxt_sys_restore_signals(mask);
		return fxt_self;
	}
	/* A thread that has just begun is on its own stack. */
	if (!known && fxt_stack_is_short()) {
		fxt_agent_count_short(fxt_clock_kernel_ns());
		fxt_sys_restore_signals(mask);
		return NULL;
	}
	thread = fxt_thread_claim_state(pid);
	if (thread) {
		if (thread->in_use)
			end_life(thread);
		begin_life(thread, tid);
		fxt_stack_find(thread, known);
		thread->claimed = false;
		thread->filtered.hidden = 0;
		fxt_set_self_ending(thread);
		fxt_self = thread;
		fxt_clock_begin_line(thread);
		fxt_thread_ready(thread);
	} else {
		drop_unattached();
	}
	fxt_sys_restore_signals(mask);
	return thread;
}

struct fxt_thread *fxt_thread_attach(void)
{
	return attach(NULL);
}

struct fxt_thread *fxt_thread_begins(const struct fxt_known_stack *stack)
{
	if (!fxt_self)
		return attach(stack);
	/* A handler has come before this. */
	fxt_stack_know(fxt_self, stack);
	return fxt_self;
}

struct fxt_thread *fxt_thread_bar(void)
{
	struct fxt_thread *thread = fxt_self;

	/* The order matters, because a signal handler in between would attach the thread anew. */
	barred = true;
	fxt_sys_signals_are_shared();
	atomic_signal_fence(memory_order_seq_cst);
	fxt_set_self_ending(NULL);
	fxt_self = NULL;
	return thread;
}

void fxt_thread_unbar(struct fxt_thread *thread)
{
	fxt_set_self_ending(thread);
	fxt_self = thread;
	atomic_signal_fence(memory_order_seq_cst);
	barred = false;
}

/* The old file's pages and chunks are not the trace's any more. Filtered records that are counted from here
 * on need a page again. A call that goes on beyond the end of the program needs none, because its slot was
 * copied as it was. */
void fxt_thread_after_rewrite(struct fxt_thread *thread)
{
	uint64_t filtered = *thread->counts.filtered, dropped = *thread->counts.dropped;
	struct fxt_in_progress *entry;

	fxt_lanes_reset(thread);
	/* The entries that had slots come first. The memory behind them was not touched yet. */
	for (entry = fxt_in_progress_entries(thread);
	     entry < fxt_in_progress_entries(thread) + FXT_IN_PROGRESS_MAX && entry->slot; entry++)
		entry->slot = thread->pages.no_slot;
	forget_page(thread);
	thread->pages.none[0] = filtered;
	thread->pages.none[1] = dropped;
	if (may_filter() && fxt_in_progress_add_page(thread, 0, true))
		thread->counts.filtered = show_counter(thread, FILTERED_SLOT, FXT_STR_filtered, filtered);
}

void fxt_threads_after_fork(bool returns)
{
	struct fxt_thread *thread = fxt_self;
	uint64_t heap_bytes = 0, born_ns;
	uint32_t i;

	/* No other thread runs in this memory. */
	barred = false;
	fxt_lock_reset(&fxt_threads.lock);
	atomic_store_explicit(&next_index, 0, memory_order_relaxed);
	/* The child has moved no bytes yet, and has the heap of all its parent's threads. Another thread
	 * may have been entering its state in the list at the fork, so the last one may be missing. */
	for (i = 0; thread && i < fxt_threads.count; i++)
		heap_bytes += fxt_threads.list[i] ? fxt_threads.list[i]->bytes.heap : 0;
	if (thread) {
		thread->bytes.read = thread->bytes.written = 0;
		thread->bytes.heap = heap_bytes;
	}
	/* The other states are not looked at again: touching them would copy their memory. */
	fxt_threads.count = 0;
	fxt_thread_states_after_fork();
	fxt_chunks_after_fork();
	if (!thread)
		return;
	atomic_store_explicit(&thread->is_holder, false, memory_order_relaxed);
	/* The first thread has this place already, and then the child needs no copy of the page. */
	if (fxt_threads.list[0] != thread)
		fxt_threads.list[0] = thread;
	fxt_threads.count = 1;
	fxt_lanes_after_fork(thread, returns);
	born_ns = fxt_now(thread);
	fxt_in_progress_after_fork(thread);
	begin_life(thread, (uint32_t)fxt_sys_gettid());
	fxt_stack_find_of_child(thread, returns);
	thread->born_ns = born_ns;
	/* See fxt_in_progress_ready(). */
	thread->explain_due_ns = 0;
	/* If a handler forked, the calls that its parent was in go on in the child, and have to be looked at
	 * when they end: fxt_room_unusual(). So they are, because they are not usual. */
	static_assert((int)FXT_SWITCH_NS < (int)LEAST_FORK_NS, "no call that lasts over a fork is usual");
}
