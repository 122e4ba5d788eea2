/* See task_life.h. Children are in a table without a lock. A child may be reaped by a handler that
 * interrupts the thread which made the child, and the child of a vfork that is killed would leave a lock
 * locked in its parent. */
#include "task_life.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/base/lazy_table.h"
#include "agent/arrows/async.h"
#include "agent/emit/call_stack.h"
#include "wait.h"
#include "writer/fxt_encode.h"

#define NAMES(category, name) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_##category, FXT_STR_##name)

enum {
	BUCKETS = 256,
	THREAD_NAME_BYTES = 16,         /* the kernel's limit */
	CHILDREN = 8,                   /* the size of a bucket; further children have no lifetime */
};

/* The states of an entry, whose word has the child's pid and one of these. An entry that is being filled
 * belongs to the thread that fills it. */
enum state {
	FREE,
	FILLED,
	BORN,                           /* the lifetime `life` began */
	/* the child was reaped, at at_ns and with `status`, before its begin was noted */
	REAPED,
};

struct child {
	_Atomic uint64_t word;
	uint64_t life;
	uint64_t at_ns;                 /* when it began, or was reaped */
	int status;
};

static _Atomic(void *) children;        /* struct child: CHILDREN in each of BUCKETS */
static atomic_int expected;             /* the number of children that are being made: fxt_task_expect() */

/* -- Events ------------------------------------------------------------------------------------ */

/* Commits a begin whose arguments are stored up to `at`. */
static uint64_t commit(struct fxt_thread *thread, uint64_t *at, uint64_t names, unsigned arguments)
{
	uint64_t life = fxt_flow_id();

	fxt_async_commit_begin(thread, at, life, names, arguments);
	return life;
}

void fxt_task_thread_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t stack)
{
	uint64_t *at = fxt_reserve_extra(thread, at_ns,
					 2 + FXT_ASYNC_OWNER_WORDS + 2 + FXT_STACK_WORDS + 1);
	unsigned arguments = 2;

	thread->life = 0;
	if (!at)
		return;
	/* Other threads name this thread by its handle when they wait for its end. */
	if (thread->handle) {
		at = fxt_put_uint(at, FXT_STR_thread, thread->handle);
		arguments++;
	}
	at = fxt_async_put_owner(thread, at);
	at = fxt_put_uint(at, FXT_STR_tid, thread->tid);
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	arguments += stack != 0;
	thread->life = commit(thread, at, NAMES(pthread, thread), arguments);
	/* It is the stack of the thread that made this one, which has told it in its own chunk. */
	fxt_call_stack_tell(thread, stack);
}

/* Reads the calling thread's name. Returns its length, or 0 if it is not known. */
static size_t read_name(char name[THREAD_NAME_BYTES])
{
	size_t bytes;

	memset(name, 0, THREAD_NAME_BYTES);
	/* A filter may kill the process for the call. */
	if (fxt_is_filtered() || FXT_SYSCALL2(SYS_prctl, PR_GET_NAME, name))
		return 0;
	bytes = strnlen(name, THREAD_NAME_BYTES - 1);
	return fxt_utf8_clean(name, name, bytes, THREAD_NAME_BYTES - 1);
}

void fxt_task_thread_ends(struct fxt_thread *thread)
{
	char name[THREAD_NAME_BYTES];
	uint64_t life = thread->life, *at;
	size_t bytes;

	thread->life = 0;
	/* If nothing is recorded any more, the lifetime gets no end: it lasted for as long as anything was
	 * recorded. */
	if (!life || !fxt_is_on(FXT_CAT_pthread))
		return;
	bytes = thread == fxt_self ? read_name(name) : 0;
	at = fxt_async_reserve_end(thread, fxt_now(thread), 2 + fxt_words_of(bytes), life);
	if (!at)
		return;
	if (bytes)
		at = fxt_put_text(at, FXT_STR_name, name, bytes);
	fxt_async_commit_end(thread, at, life, NAMES(pthread, thread), bytes != 0);
}

/* Writes a child's begin. `pid` is 0 if it is not known yet. */
static uint64_t begin_child(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	uint32_t stack = fxt_call_stack(thread);
	uint64_t *at = fxt_reserve_extra(thread, at_ns, 2 + 2 + FXT_STACK_WORDS + 1), life;

	if (!at)
		return 0;
	if (pid)
		at = fxt_put_uint(at, FXT_STR_pid, pid);
	at = fxt_put_uint(at, FXT_STR_parent, thread->pid);
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	life = commit(thread, at, NAMES(process, child), 1 + (pid != 0) + (stack != 0));
	fxt_call_stack_tell(thread, stack);
	return life;
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

/* Returns the bucket of a pid, or NULL if there is no memory. */
static struct child *bucket_of(uint32_t pid)
{
	struct child *all = fxt_lazy_table(&children, BUCKETS * CHILDREN * sizeof(*all));

	return all ? all + (size_t)(pid % BUCKETS) * CHILDREN : NULL;
}

/* Takes an entry for the child. The caller has it alone, because its state is FILLED. An entry of another
 * child that was reaped, and for which nobody has asked since, is taken as well. Returns NULL if there is
 * none. */
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

/* Copies the child's entry that has this state, and frees the entry. Returns false if there is none. */
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

void fxt_task_expect(int more)
{
	atomic_fetch_add(&expected, more);
}

void fxt_task_child_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	struct child *child = take_free(pid), born, reaped;

	if (!child)
		return;
	child->at_ns = at_ns;
	child->life = begin_child(thread, at_ns, pid);
	atomic_store(&child->word, child->life ? word_of(pid, BORN) : FREE);
	/* A thread that reaps the child now makes its own entry first and then looks for this one, so one
	 * of the two finds the other's. There may also be an entry of an earlier child, for which nobody
	 * has asked. */
	while (take(pid, REAPED, &reaped))
		if (reaped.at_ns > at_ns && take(pid, BORN, &born))
			end_child(thread, born.life, reaped.at_ns, pid, reaped.status);
}

void fxt_task_child_ends(struct fxt_thread *thread, uint64_t end_ns, uint32_t pid, int status)
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

uint64_t fxt_task_hidden_begins(struct fxt_thread *thread, uint64_t at_ns)
{
	return begin_child(thread, at_ns, 0);
}

void fxt_task_hidden_ends(struct fxt_thread *thread, uint64_t life, uint64_t end_ns, uint32_t pid, int status)
{
	if (life)
		end_child(thread, life, end_ns, pid, status);
}

void fxt_task_after_fork(void)
{
	atomic_store(&expected, 0);
	fxt_lazy_table_after_fork(&children, BUCKETS * CHILDREN * sizeof(struct child));
}
