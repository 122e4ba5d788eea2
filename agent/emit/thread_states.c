/* Keeps the states of threads: makes them, finds those that a dead thread has left, and finds a thread by its
 * number. See threads.h and thread.h. */
#include "threads.h"

#include "agent/base/growing_table.h"
#include "function.h"
#include "in_progress.h"
#include "sample.h"
#include "thread.h"

enum {
	/* How many states are tested for a dead thread, by a system call: more where threads come and go than
	 * where they stay. */
	MOST_LOOKS = 8,
	LEAST_LOOKS = 2,
	BY_TID = 1 << 12,               /* the kernel gives numbers one after the other */
	FIND_MAX = 1024,                /* how many states are searched if another thread has its place */
	/* How many states are kept for a program that forbids itself to map memory. Such a program has few
	 * new threads, because their stacks are mapped too. They cost addresses alone until they are used. */
	SPARE = 64,
};

struct fxt_threads fxt_threads;

static struct {
	uint32_t next_look;             /* the state that find_state() tests next (under fxt_threads.lock) */
	uint32_t looks;                 /* how many it tests (under fxt_threads.lock) */
	struct fxt_growing_table list;  /* the memory of fxt_threads.list (under fxt_threads.lock) */
	struct fxt_thread *spare;       /* states that were mapped ahead; NULL: none were (under the lock) */
	uint32_t spare_count;           /* how many of them nobody has taken (under the lock) */
} states = {.looks = MOST_LOOKS, .list.most_bytes = FXT_THREAD_STATES_MAX * sizeof(struct fxt_thread *)};

/* By a thread's number modulo BY_TID: the state of the last thread that began with such a number. */
static FXT_WIPED _Atomic(struct fxt_thread *) by_tid[BY_TID];

/* -- Finding one by its number ------------------------------------------------------------------ */

void fxt_thread_enter_number(struct fxt_thread *thread)
{
	atomic_store_explicit(&by_tid[thread->own_tid % BY_TID], thread, memory_order_release);
}

/* The child of a fork has its parent's states, which have the parent's process id. */
static bool is_of(const struct fxt_thread *thread, uint32_t own_tid)
{
	return thread->own_tid == own_tid && thread->in_use && thread->pid == fxt_agent.koid;
}

struct fxt_thread *fxt_threads_find(uint32_t own_tid)
{
	uint32_t i, count = *(volatile uint32_t *)&fxt_threads.count;
	struct fxt_thread *thread = atomic_load_explicit(&by_tid[own_tid % BY_TID], memory_order_acquire);

	/* If the place is empty, no such thread has ever begun. */
	if (!thread || is_of(thread, own_tid))
		return thread;
	/* The caller looks for the holder of a lock that it is about to wait for; the search must not take
	 * long. */
	if (count > FIND_MAX)
		count = FIND_MAX;
	for (i = 0; i < count; i++)
		if (fxt_threads.list[i] && is_of(fxt_threads.list[i], own_tid))
			return fxt_threads.list[i];
	return NULL;
}

/* -- A state for a thread that begins ----------------------------------------------------------- */

/* Returns a state that no thread uses, or NULL. The caller holds the lock of fxt_threads. */
static struct fxt_thread *find_state(uint32_t pid)
{
	struct fxt_thread *thread;
	uint32_t i;

	for (i = 0; i < states.looks && i < fxt_threads.count; i++) {
		thread = fxt_threads.list[states.next_look++ % fxt_threads.count];
		if (thread->claimed)
			continue;
		if (thread->in_use && thread->pid == fxt_agent.koid &&
		    fxt_sys_thread_exists((int)pid, (int)thread->own_tid))
			continue;
		states.looks = MOST_LOOKS;
		return thread;
	}
	if (states.looks > LEAST_LOOKS)
		states.looks--;
	return NULL;
}

void fxt_threads_reserve(void)
{
	struct fxt_thread *memory = fxt_may_not_lock() ? NULL : fxt_sys_memory(SPARE * sizeof(*memory));
	uint64_t mask;

	if (!memory)
		return;
	mask = fxt_lock(&fxt_threads.lock);
	if (!states.spare) {
		states.spare = memory;
		states.spare_count = SPARE;
		memory = NULL;
	}
	fxt_unlock(&fxt_threads.lock, mask);
	if (memory)
		fxt_sys_munmap(memory, SPARE * sizeof(*memory));
}

static bool is_spare(const struct fxt_thread *thread)
{
	return states.spare && thread >= states.spare && thread < states.spare + SPARE;
}

/* Returns a state that was mapped ahead, or NULL. */
static struct fxt_thread *take_spare(void)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	struct fxt_thread *thread = states.spare_count ? &states.spare[--states.spare_count] : NULL;

	fxt_unlock(&fxt_threads.lock, mask);
	return thread;
}

/* Returns a new state, or NULL. */
static struct fxt_thread *make_state(void)
{
	struct fxt_thread *thread = fxt_sys_memory(sizeof(*thread));

	if (!thread)
		thread = take_spare();
	if (!thread)
		return NULL;
	thread->open = fxt_in_progress_entries(thread);
	thread->open[-1].frame = UINTPTR_MAX;
	thread->held_top = thread->held;
	fxt_lanes_reset(thread);
	thread->names.defined = fxt_functions_none_defined;
	thread->names.quick = fxt_functions_none_defined;
	thread->claimed = true;
	return thread;
}

/* Enters a new state in the list. Returns false if the list has no room. */
static bool enter_state(struct fxt_thread *thread)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	struct fxt_thread **list =
		fxt_growing_table(&states.list, (fxt_threads.count + 1) * sizeof(*fxt_threads.list));

	if (list) {
		fxt_threads.list = list;
		fxt_threads.list[fxt_threads.count++] = thread;
	}
	fxt_unlock(&fxt_threads.lock, mask);
	return list;
}

struct fxt_thread *fxt_thread_claim_state(uint32_t pid)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	struct fxt_thread *thread = find_state(pid);

	if (thread)
		thread->claimed = true;
	fxt_unlock(&fxt_threads.lock, mask);
	if (thread)
		return thread;
	/* Memory is mapped without the lock, because all threads that begin need it. */
	thread = make_state();
	if (thread && !enter_state(thread)) {
		if (!is_spare(thread))
			fxt_sys_munmap(thread, sizeof(*thread));
		thread = NULL;
	}
	return thread;
}

/* -- Sums --------------------------------------------------------------------------------------- */

uint32_t fxt_threads_known(void)
{
	return *(volatile uint32_t *)&fxt_threads.count;
}

struct fxt_moved fxt_threads_moved(void)
{
	struct fxt_moved moved = {0};
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	uint32_t i;

	/* The threads go on counting meanwhile, so each count is read once. */
	for (i = 0; i < fxt_threads.count; i++) {
		moved.read += *(volatile uint64_t *)&fxt_threads.list[i]->bytes.read;
		moved.written += *(volatile uint64_t *)&fxt_threads.list[i]->bytes.written;
		moved.heap += (int64_t)*(volatile uint64_t *)&fxt_threads.list[i]->bytes.heap;
	}
	fxt_unlock(&fxt_threads.lock, mask);
	return moved;
}
