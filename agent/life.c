/* See life.h. Children are in a table without a lock: whoever reaps them may be a handler that interrupts whoever
 * made them, and the child of a vfork that is killed would leave a lock behind in its parent.
 */
#include "life.h"

#include <sys/wait.h>

#include "async.h"
#include "wait.h"
#include "writer/fxt_encode.h"

#define CATEGORY(name) FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_##name)

enum {
	BUCKETS = 256,
	CHILDREN = 8,                   /* in a bucket; those beyond have no lifetime */
	ARGS_MAX = 2,
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

static bool put(struct fxt_thread *thread, enum fxt_event_type type, struct fxt_string category, uint64_t name, uint64_t at_ns,
		uint64_t life, struct fxt_args args)
{
	uint64_t record[FXT_ASYNC_END_WORDS];
	struct fxt_thread_ref self = {thread->index, thread->pid, thread->tid};
	size_t words = fxt_encode_event(record, FXT_ASYNC_END_WORDS, type, at_ns, self, category, FXT_INDEXED(name), args, life);

	if (type == FXT_EVENT_ASYNC_END)
		fxt_async_ends(thread, life);
	if (!fxt_thread_put_extra(thread, record, words))
		return false;
	if (type == FXT_EVENT_ASYNC_BEGIN)
		fxt_async_has_begun(thread, words, life);
	return true;
}

void fxt_life_thread_begins(struct fxt_thread *thread, uint64_t at_ns)
{
	/* By this others name it when they wait for its end. */
	struct fxt_arg handle = {FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_thread), .u64 = thread->handle};
	uint64_t life = fxt_flow_id();

	if (put(thread, FXT_EVENT_ASYNC_BEGIN, CATEGORY(pthread), FXT_STR_thread, at_ns, life, (struct fxt_args){1, &handle}))
		thread->life = life;
}

void fxt_life_thread_ends(struct fxt_thread *thread)
{
	uint64_t life = thread->life;

	thread->life = 0;
	/* One that ends when nothing is recorded any more was there for as long as something was. */
	if (life && fxt_is_on(FXT_CAT_pthread))
		put(thread, FXT_EVENT_ASYNC_END, CATEGORY(pthread), FXT_STR_thread, fxt_now(thread), life, (struct fxt_args){0});
}

static struct fxt_args with_pid(struct fxt_arg *list, uint32_t pid)
{
	list[0] = (struct fxt_arg){FXT_ARG_UINT32, FXT_INDEXED(FXT_STR_pid), .u32 = pid};
	return (struct fxt_args){pid ? 1 : 0, list};
}

static uint64_t begin_child(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	struct fxt_arg list[ARGS_MAX];
	uint64_t life = fxt_flow_id();

	return put(thread, FXT_EVENT_ASYNC_BEGIN, CATEGORY(process), FXT_STR_child, at_ns, life, with_pid(list, pid)) ? life : 0;
}

static void end_child(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid, int status)
{
	struct fxt_arg list[ARGS_MAX];
	struct fxt_args args = with_pid(list, pid);

	if (status == -1)
		;
	else if (WIFSIGNALED(status))
		list[args.count++] = (struct fxt_arg){FXT_ARG_INT32, FXT_INDEXED(FXT_STR_signal), .i32 = WTERMSIG(status)};
	else
		list[args.count++] = (struct fxt_arg){FXT_ARG_INT32, FXT_INDEXED(FXT_STR_status), .i32 = WEXITSTATUS(status)};
	put(thread, FXT_EVENT_ASYNC_END, CATEGORY(process), FXT_STR_child, end_ns, life, args);
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
