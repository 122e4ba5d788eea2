/* The stacks of fibers: finds the one that a frame lies on. See fibers.h.
 *
 * Fibers are found by the page that their stacks begin in, in a table that is read without a lock: of the
 * pages above a frame, the first in which a stack begins above it is that of the frame's own stack, unless
 * that stack is new. A fiber whose functions are over may be given to another stack, so the table stays as
 * large as the most fibers that the program has at once. Any context.
 */
#include <sys/auxv.h>
#include <sys/resource.h>

#include "agent/base/koid.h"
#include "agent/base/stack.h"
#include "fibers.h"
#include "writer/lock.h"

enum {
	PAGE_BITS = 12,
	BUCKETS = 1 << 14,
	/* The largest stack: 8 MiB. The search looks at a word for each page. */
	PAGES_MOST = 2048,
	/* A chain that changes while it is followed comes to an end. */
	LOOKS = 256,
	SEARCHES_MOST = 8,              /* without the lock */
	/* Where the end of the first function's frame is not known, its exit hook and functions that are
	 * entered later are taken to be at most so much further out. */
	SLACK_BYTES = 256,
	/* No stack is smaller. */
	LEAST_BYTES = 4096,
	BLOCK = 32,                     /* fibers that are mapped together: 1 MiB */
	/* Where so many fibers are known, some that seem to be over are looked for first. */
	PLENTY = 256, FEW_LOOKS = 8, MANY_LOOKS = 128,
	/* A fiber without functions in progress that has done nothing for so long may be given away. */
	IDLE_NS = 10 * 1000 * 1000,
};

static_assert(sizeof(struct fxt_fiber) <= 1 << 15, "a block is 1 MiB");

/* The kernel keeps 128 MiB free for the main thread's stack, whatever its limit is. */
static const uintptr_t KEPT_FREE_BYTES = 120 << 20;

/* The tables, which are mapped when the first fiber is met. */
struct tables {
	struct fxt_fiber *_Atomic buckets[BUCKETS];
	struct fxt_fiber *blocks[FXT_FIBERS_MAX / BLOCK];
};

static struct {
	struct fxt_lock lock;           /* it nests in no lock */
	struct tables *tables;
	_Atomic uint32_t count;
	uint32_t next_look;
	atomic_uint changes;            /* odd while a chain is changed */
	struct fxt_fiber *unused;       /* fibers that no stack has, linked by `next` */
} all;

static struct fxt_fiber *fiber_of(uint32_t number)
{
	struct fxt_fiber *block = all.tables->blocks[number / BLOCK];

	return block ? block + number % BLOCK : NULL;
}

static struct fxt_fiber *_Atomic *bucket_of(uintptr_t page)
{
	return &all.tables->buckets[page % BUCKETS];
}

static inline uintptr_t high_of(const struct fxt_fiber *fiber)
{
	return atomic_load_explicit(&fiber->high, memory_order_relaxed);
}

/* Finds the fiber of this page that begins the least above `frame`. */
static struct fxt_fiber *in_page(uintptr_t page, uintptr_t frame)
{
	struct fxt_fiber *fiber = atomic_load_explicit(bucket_of(page), memory_order_acquire), *found = NULL;
	unsigned looks;

	for (looks = 0; fiber && looks < LOOKS; looks++) {
		uintptr_t high = high_of(fiber);

		if (high > frame && (high - 1) >> PAGE_BITS == page && (!found || high < high_of(found)))
			found = fiber;
		fiber = atomic_load_explicit(&fiber->next, memory_order_acquire);
	}
	return found;
}

static struct fxt_fiber *search(uintptr_t frame)
{
	uintptr_t page = frame >> PAGE_BITS, last = page + PAGES_MOST;
	struct fxt_fiber *fiber;

	for (; page < last; page++) {
		fiber = in_page(page, frame);
		if (fiber)
			return fiber;
	}
	return NULL;
}

struct fxt_fiber *fxt_fiber_above(const struct fxt_thread *thread, uintptr_t frame)
{
	struct fxt_fiber *fiber = thread->fiber;
	unsigned before, tries;
	uint64_t mask;

	if (fiber && frame < high_of(fiber) && frame >= fiber->low)
		return fiber;
	if (!atomic_load_explicit(&all.count, memory_order_relaxed))
		return NULL;
	for (tries = 0; tries < SEARCHES_MOST; tries++) {
		before = atomic_load_explicit(&all.changes, memory_order_acquire);
		fiber = search(frame);
		atomic_thread_fence(memory_order_acquire);
		if (!(before & 1) && before == atomic_load_explicit(&all.changes, memory_order_relaxed))
			return fiber;
	}
	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_LOCKS))
		return fiber;
	mask = fxt_lock(&all.lock);
	fiber = search(frame);
	fxt_unlock(&all.lock, mask);
	return fiber;
}

/* -- Changes -------------------------------------------------------------------------------------- */

/* Takes the lock to change chains, and gives it back. Who searches meanwhile searches again. */
static uint64_t begin_change(void)
{
	uint64_t mask = fxt_lock(&all.lock);

	atomic_fetch_add(&all.changes, 1);
	return mask;
}

static void end_change(uint64_t mask)
{
	atomic_fetch_add(&all.changes, 1);
	fxt_unlock(&all.lock, mask);
}

/* -- A fiber for a stack that is new ------------------------------------------------------------- */

/* Takes the fiber out of the chain that it is in. The caller changes chains. */
static void unlink_fiber(struct fxt_fiber *fiber)
{
	struct fxt_fiber *_Atomic *at = bucket_of((high_of(fiber) - 1) >> PAGE_BITS);
	struct fxt_fiber *one;

	while ((one = atomic_load_explicit(at, memory_order_relaxed))) {
		if (one == fiber) {
			atomic_store_explicit(at, atomic_load(&fiber->next), memory_order_release);
			break;
		}
		at = &one->next;
	}
	fiber->low = UINTPTR_MAX;
	atomic_store_explicit(&fiber->high, 0, memory_order_relaxed);
}

/* Takes its stack away from a fiber that has no functions in progress. The caller changes chains. */
static void set_aside(struct fxt_fiber *fiber)
{
	if (!high_of(fiber))
		return;
	unlink_fiber(fiber);
	atomic_store_explicit(&fiber->next, all.unused, memory_order_release);
	all.unused = fiber;
}

static struct fxt_fiber *take_unused(void)
{
	struct fxt_fiber *fiber = all.unused;

	/* Another thread may have found the fiber when it still had its stack, and claim it for a moment. */
	if (!fiber || !fxt_fiber_claim(fiber))
		return NULL;
	all.unused = atomic_load(&fiber->next);
	return fiber;
}

/* Puts the fiber into the chain of its page. The caller changes chains. */
static void link_fiber(struct fxt_fiber *fiber, uintptr_t high)
{
	struct fxt_fiber *_Atomic *bucket = bucket_of((high - 1) >> PAGE_BITS);

	atomic_store_explicit(&fiber->high, high, memory_order_relaxed);
	atomic_store_explicit(&fiber->next, atomic_load(bucket), memory_order_release);
	atomic_store_explicit(bucket, fiber, memory_order_release);
}

/* Returns whether nobody misses the fiber: it has no functions in progress, or its stack is not there any
 * more. It is claimed then. */
static bool is_over(struct fxt_fiber *fiber, uint64_t now_ns, bool may_ask)
{
	if (fiber->last_ns + IDLE_NS > now_ns || !high_of(fiber))
		return false;
	if (!fxt_fiber_claim(fiber))
		return false;
	if (fiber->open == fiber->calls || (may_ask && !fxt_sys_can_read(fiber->calls[0].frame)))
		return true;
	fxt_fiber_release(fiber);
	return false;
}

/* Returns a fiber whose stack is over, or NULL. The caller holds the lock. */
static struct fxt_fiber *find_over(unsigned looks, uint64_t now_ns, bool may_ask)
{
	uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed);
	struct fxt_fiber *fiber;

	for (; looks; looks--) {
		fiber = fiber_of(all.next_look++ % count);
		if (is_over(fiber, now_ns, may_ask))
			return fiber;
	}
	return NULL;
}

/* Returns a fiber that no stack has had. The caller holds the lock. */
static struct fxt_fiber *add(void)
{
	uint32_t number = atomic_load_explicit(&all.count, memory_order_relaxed);
	struct fxt_fiber *fiber;

	if (number == FXT_FIBERS_MAX || fxt_is_forbidden(FXT_NO_CALLS))
		return NULL;
	if (!all.tables)
		all.tables = fxt_sys_memory(sizeof(*all.tables));
	if (!all.tables)
		return NULL;
	if (!all.tables->blocks[number / BLOCK])
		all.tables->blocks[number / BLOCK] = fxt_sys_memory(BLOCK * sizeof(*fiber));
	fiber = fiber_of(number);
	if (!fiber)
		return NULL;
	fiber->number = number;
	atomic_store(&fiber->is_claimed, true);
	fiber->open = fiber->calls;
	atomic_store_explicit(&all.count, number + 1, memory_order_release);
	return fiber;
}

/* Forgets fibers that have nothing in progress and lie so closely below `frame` that their stacks must
 * have been the one of that frame. The caller holds the lock. */
static void forget_below(uintptr_t frame)
{
	uintptr_t page = (frame - LEAST_BYTES) >> PAGE_BITS;
	struct fxt_fiber *fiber, *next;
	unsigned looks;

	for (; page <= frame >> PAGE_BITS; page++) {
		fiber = atomic_load_explicit(bucket_of(page), memory_order_relaxed);
		for (looks = 0; fiber && looks < LOOKS; looks++, fiber = next) {
			next = atomic_load_explicit(&fiber->next, memory_order_relaxed);
			if (high_of(fiber) <= frame && high_of(fiber) > frame - LEAST_BYTES &&
			    fiber->open == fiber->calls && fxt_fiber_claim(fiber)) {
				if (fiber->open == fiber->calls)
					set_aside(fiber);
				fxt_fiber_release(fiber);
			}
		}
	}
}

void fxt_fiber_retire(struct fxt_fiber *fiber)
{
	uint64_t mask;

	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	mask = begin_change();
	set_aside(fiber);
	end_change(mask);
}

void fxt_fiber_extend(struct fxt_fiber *fiber, uintptr_t end)
{
	uint64_t mask;
	uintptr_t low = fiber->low;

	if (end <= high_of(fiber) || fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	mask = begin_change();
	unlink_fiber(fiber);
	forget_below(end);
	fiber->low = low;
	link_fiber(fiber, end);
	end_change(mask);
}

struct fxt_fiber *fxt_fiber_make(uintptr_t frame, uintptr_t end, uint64_t now_ns)
{
	struct fxt_fiber *fiber;
	uint64_t mask;

	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_LOCKS) || fxt_stack_is_short())
		return NULL;
	mask = begin_change();
	fiber = take_unused();
	if (!fiber && atomic_load_explicit(&all.count, memory_order_relaxed) >= PLENTY)
		fiber = find_over(FEW_LOOKS, now_ns, false);
	if (!fiber)
		fiber = add();
	if (!fiber && atomic_load_explicit(&all.count, memory_order_relaxed))
		fiber = find_over(MANY_LOOKS, now_ns, !fxt_is_forbidden(FXT_NO_CALLS));
	if (fiber) {
		if (high_of(fiber))
			unlink_fiber(fiber);
		forget_below(frame);
		fiber->low = frame;
		link_fiber(fiber, end ? end : frame + SLACK_BYTES);
	}
	end_change(mask);
	return fiber;
}

/* Finds a fiber of this page whose stack begins in [low, high). */
static struct fxt_fiber *in_page_within(uintptr_t page, uintptr_t low, uintptr_t high)
{
	struct fxt_fiber *fiber = atomic_load_explicit(bucket_of(page), memory_order_acquire);
	unsigned looks;

	for (looks = 0; fiber && looks < LOOKS; looks++) {
		if (high_of(fiber) - 1 >= low && high_of(fiber) - 1 < high)
			return fiber;
		fiber = atomic_load_explicit(&fiber->next, memory_order_acquire);
	}
	return NULL;
}

struct fxt_fiber *fxt_fiber_within(uintptr_t low, uintptr_t high)
{
	uintptr_t page = low >> PAGE_BITS, last = (high - 1) >> PAGE_BITS;
	struct fxt_fiber *fiber = NULL;
	uint64_t mask;

	if (!atomic_load_explicit(&all.count, memory_order_acquire) || fxt_may_not_lock() ||
	    fxt_is_forbidden(FXT_NO_LOCKS))
		return NULL;
	/* All buckets have been looked at then. */
	if (last - page >= BUCKETS)
		last = page + BUCKETS - 1;
	mask = fxt_lock(&all.lock);
	for (; page <= last && !fiber; page++)
		fiber = in_page_within(page, low, high);
	fxt_unlock(&all.lock, mask);
	return fiber;
}

/* -- Stacks that are no fiber's ------------------------------------------------------------------ */

/* The main thread's stack grows down to its limit, which the program may have raised since. */
static bool is_main_stack(struct fxt_thread *thread, uintptr_t frame)
{
	struct rlimit limit;
	uintptr_t bytes;

	if (thread->stack.high != getauxval(AT_EXECFN) || frame >= thread->stack.high ||
	    thread->stack.high - frame > KEPT_FREE_BYTES || fxt_sys_getrlimit(RLIMIT_STACK, &limit))
		return false;
	bytes = limit.rlim_cur < KEPT_FREE_BYTES ? (uintptr_t)limit.rlim_cur : KEPT_FREE_BYTES;
	if (thread->stack.high - frame > bytes)
		return false;
	thread->stack.low = thread->stack.high - bytes;
	return true;
}

bool fxt_fiber_is_none(struct fxt_thread *thread, uintptr_t frame)
{
	stack_t stack;

	if (frame >= thread->stack.alternate_low && frame < thread->stack.alternate_high)
		return true;
	if (is_main_stack(thread, frame))
		return true;
	if (FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack))
		return false;
	if (!(stack.ss_flags & SS_ONSTACK) || frame - (uintptr_t)stack.ss_sp >= stack.ss_size)
		return false;
	thread->stack.alternate_low = (uintptr_t)stack.ss_sp;
	thread->stack.alternate_high = (uintptr_t)stack.ss_sp + stack.ss_size;
	return true;
}

/* -- All of them --------------------------------------------------------------------------------- */

void fxt_fibers_each(void (*each)(struct fxt_fiber *fiber, uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
	uint32_t count = atomic_load_explicit(&all.count, memory_order_acquire), i;
	struct fxt_fiber *fiber;

	for (i = 0; i < count; i++) {
		fiber = fiber_of(i);
		if (fiber->open > fiber->calls)
			each(fiber, a, b);
	}
}

void fxt_fibers_after_fork(void)
{
	fxt_lock_reset(&all.lock);
	atomic_store(&all.changes, 0);
	atomic_fetch_add_explicit(&fxt_fiber_generation, 1, memory_order_relaxed);
}
