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
	LEAST_LOOKS = 1,
	BY_TID = 1 << 12,               /* the kernel gives numbers one after the other */
	FIND_MAX = 1024,                /* how many states are searched if another thread has its place */
	/* How many states are kept for a program that forbids itself to map memory. Such a program has few
	 * new threads, because their stacks are mapped too. They cost addresses alone until they are used. */
	SPARE = 64,
	/* Where there are many threads, so many states are mapped at a time: one for each eight that there
	 * are, because addresses count against the program's limits. While one thread maps memory, no other
	 * can, and none can begin. */
	STOCK_PART = 8,
	MOST_STOCK = 31,
	PAGE = 4096,
};

/* Each state begins with a page. Most threads touch no other page of theirs. */
#define STATE_BYTES ((sizeof(struct fxt_thread) + PAGE - 1) / PAGE * PAGE)

struct fxt_threads fxt_threads;

static struct {
	uint32_t next_look;             /* the state that find_state() tests next (under fxt_threads.lock) */
	uint32_t looks;                 /* how many it tests (under fxt_threads.lock) */
	struct fxt_growing_table list;  /* the memory of fxt_threads.list (under fxt_threads.lock) */
	struct fxt_range stock;         /* states that were mapped ahead (under fxt_threads.lock) */
	bool is_mapping;                /* a thread maps more of them (under fxt_threads.lock) */
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

static size_t stock_bytes(void)
{
	return fxt_range_is_empty(states.stock) ? 0 : states.stock.end - states.stock.from;
}

/* Takes a state of the stock. Returns NULL if there is none. The caller holds the lock. */
static struct fxt_thread *take_stock(void)
{
	struct fxt_thread *thread = (struct fxt_thread *)states.stock.from;

	if (!stock_bytes())
		return NULL;
	states.stock.from += STATE_BYTES;
	return thread;
}

void fxt_thread_states_after_fork(void)
{
	states.is_mapping = false;
}

/* The child of a fork that comes in between finds an empty stock. */
static void set_stock(struct fxt_range stock)
{
	volatile struct fxt_range *to = &states.stock;

	to->end = 0;
	atomic_thread_fence(memory_order_release);
	to->from = stock.from;
	atomic_thread_fence(memory_order_release);
	to->end = stock.end;
}

/* Maps `count` states. Returns the first of them, and adds the others to the stock, or returns NULL. What the
 * stock has then is left as it is if it is more, or forgotten: it costs addresses alone, and mappings are
 * only unmapped as a whole (place.h). */
static struct fxt_thread *map_states(uint32_t count)
{
	uintptr_t memory = (uintptr_t)fxt_sys_memory(count * STATE_BYTES);
	struct fxt_range rest = {memory + STATE_BYTES, memory + count * STATE_BYTES};
	uint64_t mask = fxt_lock(&fxt_threads.lock);

	if (memory && rest.end - rest.from > stock_bytes())
		set_stock(rest);
	if (count > 1)
		states.is_mapping = false;
	fxt_unlock(&fxt_threads.lock, mask);
	return (struct fxt_thread *)memory;
}

/* Returns how many states are to be mapped now. Of several threads that find no stock, one maps it, and the
 * others map a state each. Returns 0 if no more states can be entered in the list. The caller holds the
 * lock. */
static uint32_t how_many(void)
{
	uint32_t stock = fxt_threads.count / STOCK_PART;

	if (!fxt_growing_table(&states.list, (fxt_threads.count + 1) * sizeof(*fxt_threads.list)))
		return 0;
	if (!stock || states.is_mapping)
		return 1;
	states.is_mapping = true;
	return 1 + (stock < MOST_STOCK ? stock : MOST_STOCK);
}

void fxt_threads_reserve(void)
{
	if (!fxt_may_not_lock() && stock_bytes() < SPARE / 2 * STATE_BYTES)
		map_states(1 + SPARE);
}

/* Returns memory for a new state, or NULL. It is mapped without the lock, because all threads that begin need
 * that. */
static struct fxt_thread *get_memory(void)
{
	uint64_t mask = fxt_lock(&fxt_threads.lock);
	struct fxt_thread *thread = take_stock();
	uint32_t count = thread ? 0 : how_many();

	fxt_unlock(&fxt_threads.lock, mask);
	if (count)
		thread = map_states(count);
	return thread || count <= 1 ? thread : map_states(1);
}

/* Returns a new state, or NULL. */
static struct fxt_thread *make_state(void)
{
	struct fxt_thread *thread = get_memory();

	if (!thread)
		return NULL;
	thread->open = fxt_in_progress_entries(thread);
	thread->open[-1].frame = UINTPTR_MAX;
	thread->held_top = thread->held;
	fxt_lanes_reset(thread);
	thread->names.defined = fxt_functions_none_defined;
	thread->names.quick = fxt_functions_none_defined;
	fxt_thread_count_nowhere(thread);
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
		list[fxt_threads.count] = thread;
		/* fxt_threads_moved() reads the list without the lock. */
		__atomic_store_n(&fxt_threads.count, fxt_threads.count + 1, __ATOMIC_RELEASE);
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
	thread = make_state();
	/* Others may have taken the last places in the list. */
	return thread && enter_state(thread) ? thread : NULL;
}

/* -- Sums --------------------------------------------------------------------------------------- */

uint32_t fxt_threads_known(void)
{
	return __atomic_load_n(&fxt_threads.count, __ATOMIC_ACQUIRE);
}

/* No lock is held meanwhile, as threads that begin would wait for it. States stay where they are. */
struct fxt_moved fxt_threads_moved(void)
{
	struct fxt_moved moved = {0};
	uint32_t i, count = fxt_threads_known();

	/* The threads go on counting meanwhile, so each count is read once. */
	for (i = 0; i < count; i++) {
		moved.read += *(volatile uint64_t *)&fxt_threads.list[i]->bytes.read;
		moved.written += *(volatile uint64_t *)&fxt_threads.list[i]->bytes.written;
		moved.heap += (int64_t)*(volatile uint64_t *)&fxt_threads.list[i]->bytes.heap;
	}
	return moved;
}
