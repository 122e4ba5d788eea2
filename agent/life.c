/* See life.h. Children are in a table without a lock: whoever reaps them may be a handler that interrupts whoever
 * made them, and the child of a vfork that is killed would leave a lock behind in its parent.
 */
#include "life.h"

#include <sys/wait.h>

#include "async.h"
#include "wait.h"

#define NAMES(category, name) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, FXT_STR_##name)

enum {
	BUCKETS = 256,
	CHILDREN = 8,                   /* in a bucket; those beyond have no lifetime */
};

/* What an entry holds: the child's pid and one of these. An entry that is being filled belongs to whoever fills it. */
enum state {
	FREE,
	FILLED,
	BORN,                           /* began, as `life` */
	REAPED,                         /* before it was known to have begun: at end_ns, with `status` */
};

struct child {
	_Atomic uint64_t word;
	uint64_t life;
	uint64_t at_ns;                 /* when it began, or was reaped */
	int status;
};

static _Atomic(struct child *) children;        /* CHILDREN for each of BUCKETS; made when there is one for the first time */
static atomic_int expected;

/* -- Events ------------------------------------------------------------------------------------ */

/* One argument at most, of two words, and the id. `handle` or `pid` may be 0. Returns 0 where there is no room: then there is no end. */
static uint64_t begin(struct fxt_thread *thread, uint64_t names, uint64_t at_ns, uintptr_t handle, uint32_t pid)
{
	uint64_t *at = fxt_reserve_extra(thread, at_ns, 3), life;

	if (!at)
		return 0;
	if (handle)
		at = fxt_put_uint(at, FXT_STR_thread, handle);
	else if (pid)
		at = fxt_put_uint(at, FXT_STR_pid, pid);
	life = fxt_flow_id();
	fxt_async_commit_begin(thread, at, life, names, handle || pid);
	return life;
}

void fxt_life_thread_begins(struct fxt_thread *thread, uint64_t at_ns)
{
	/* By this others name it when they wait for its end. */
	thread->life = begin(thread, NAMES(pthread, thread), at_ns, thread->handle, 0);
}

void fxt_life_thread_ends(struct fxt_thread *thread)
{
	uint64_t life = thread->life, *at;

	thread->life = 0;
	/* One that ends when nothing is recorded any more was there for as long as something was. */
	if (!life || !fxt_is_on(FXT_CAT_pthread))
		return;
	at = fxt_async_reserve_end(thread, fxt_now(thread), 0, life);
	if (at)
		fxt_async_commit_end(thread, at, life, NAMES(pthread, thread), 0);
}

static uint64_t begin_child(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	return begin(thread, NAMES(process, child), at_ns, 0, pid);
}

static void end_child(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid, int status)
{
	uint64_t *at = fxt_async_reserve_end(thread, end_ns, 2, life);
	unsigned arguments = 0;

	if (!at)
		return;
	if (pid) {
		at = fxt_put_uint(at, FXT_STR_pid, pid);
		arguments++;
	}
	if (status != -1) {
		at = WIFSIGNALED(status) ? fxt_put_int(at, FXT_STR_signal, WTERMSIG(status))
					 : fxt_put_int(at, FXT_STR_status, WEXITSTATUS(status));
		arguments++;
	}
	fxt_async_commit_end(thread, at, life, NAMES(process, child), arguments);
}

/* -- Children by pid --------------------------------------------------------------------------- */

static uint64_t word_of(uint32_t pid, enum state state)
{
	return (uint64_t)pid << 8 | state;
}

/* NULL: there is no memory. */
static struct child *bucket_of(uint32_t pid)
{
	struct child *all = atomic_load_explicit(&children, memory_order_acquire), *made;

	if (!all) {
		made = fxt_sys_memory(BUCKETS * CHILDREN * sizeof(*made));
		if (!made)
			return NULL;
		if (atomic_compare_exchange_strong(&children, &all, made))
			all = made;
		else
			fxt_sys_munmap(made, BUCKETS * CHILDREN * sizeof(*made));
	}
	return all + (size_t)(pid % BUCKETS) * CHILDREN;
}

/* The caller has the entry to itself, its state being FILLED. One of another child that was reaped, and that nobody
 * has asked for since, may be had. */
static struct child *take_free(uint32_t pid)
{
	struct child *child, *bucket = bucket_of(pid);
	uint64_t word;

	for (child = bucket; bucket && child < bucket + CHILDREN; child++) {
		word = atomic_load(&child->word);
		if ((!word || ((word & 0xff) == REAPED && word != word_of(pid, REAPED))) &&
		    atomic_compare_exchange_strong(&child->word, &word, word_of(pid, FILLED)))
			return child;
	}
	return NULL;
}

/* The child's entry in that state; a copy is made and the entry is free. */
static bool take(uint32_t pid, enum state state, struct child *copy)
{
	struct child *child, *bucket = bucket_of(pid);
	uint64_t word = word_of(pid, state);

	for (child = bucket; bucket && child < bucket + CHILDREN; child++) {
		if (atomic_load(&child->word) != word)
			continue;
		copy->life = child->life;
		copy->at_ns = child->at_ns;
		copy->status = child->status;
		if (atomic_compare_exchange_strong(&child->word, &word, FREE))
			return true;
		word = word_of(pid, state);
	}
	return false;
}

void fxt_life_expect(int more)
{
	atomic_fetch_add(&expected, more);
}

void fxt_life_child_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	struct child *child = take_free(pid), born, reaped;

	if (!child)
		return;
	child->at_ns = at_ns;
	child->life = begin_child(thread, at_ns, pid);
	atomic_store(&child->word, child->life ? word_of(pid, BORN) : FREE);
	/* Whoever reaps it now looks for this entry after making its own; so one of the two finds the other's.
	 * There may be one of an earlier child, which nobody has asked for. */
	while (take(pid, REAPED, &reaped))
		if (reaped.at_ns > at_ns && take(pid, BORN, &born))
			end_child(thread, born.life, reaped.at_ns, pid, reaped.status);
}

void fxt_life_child_ends(struct fxt_thread *thread, uint64_t end_ns, uint32_t pid, int status)
{
	struct child *child, born;

	if (take(pid, BORN, &born)) {
		end_child(thread, born.life, end_ns, pid, status);
		return;
	}
	child = atomic_load(&expected) > 0 ? take_free(pid) : NULL;
	if (!child)
		return;
	child->at_ns = end_ns;
	child->status = status;
	atomic_store(&child->word, word_of(pid, REAPED));
	if (take(pid, BORN, &born)) {
		take(pid, REAPED, &(struct child){0});
		end_child(thread, born.life, end_ns, pid, status);
	}
}

uint64_t fxt_life_hidden_begins(struct fxt_thread *thread, uint64_t at_ns)
{
	return begin_child(thread, at_ns, 0);
}

void fxt_life_hidden_ends(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid, int status)
{
	if (life)
		end_child(thread, life, end_ns, pid, status);
}

void fxt_life_after_fork(void)
{
	atomic_store(&expected, 0);
	/* Emptied and not unmapped: see fork.c. */
	if (atomic_load(&children) &&
	    fxt_sys_madvise(atomic_load(&children), BUCKETS * CHILDREN * sizeof(struct child), MADV_DONTNEED))
		atomic_store(&children, NULL);
}
