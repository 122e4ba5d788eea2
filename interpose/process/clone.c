/* Makes the wrappers of clone(), and of the system calls that make processes by way of syscall(). None of
 * them runs the C library's fork handlers. The flags decide what becomes of the child:
 *
 *	without CLONE_VM                it is a process, and gets a file of its own like the child of a fork,
 *	                                unless it shares descriptors (CLONE_FILES): then it is not recorded
 *	CLONE_VM and CLONE_SETTLS       it has thread-local storage, and so a state, of its own (or none)
 *	CLONE_VM and CLONE_VFORK        its creator waits for it, as with vfork
 *	CLONE_VM alone                  it and its creator run at once on one state, so neither may record
 */
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/arrows/parent_links.h"
#include "agent/emit/clock.h"
#include "agent/process/follow.h"
#include "agent/process/fork.h"
#include "interpose/engine/interpose.h"

typedef int (*clone_fn)(void *);

FXT_EXPORT int __clone(clone_fn fn, void *stack, int flags, void *arg, ...);

/* Returns whether the child is like that of a fork. A child that would begin with foreign thread-local
 * storage, and no C library of its own, is left alone. */
static inline bool is_fork(uint64_t flags)
{
	return !(flags & (CLONE_VM | CLONE_SETTLS));
}

/* Tells, in the parent's trace, of a child that is a process and is not recorded. */
static void tell_of(uint64_t flags, long child)
{
	if (child <= 0 || !is_fork(flags))
		return;
	if (flags & CLONE_FILES)
		fxt_agent_unseen("a child that shares its parent's descriptors (CLONE_FILES)");
	else
		fxt_follow_tell_forked();
}

static inline bool shares_state(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_SETTLS | CLONE_VFORK)) == CLONE_VM;
}

/* Counts a loss if the call has made a task that shares this thread's state; otherwise the thread is barred
 * no longer. */
static void told_or_taken_back(struct fxt_thread *barred, bool made)
{
	if (made)
		fxt_agent_lost(FXT_LOSS_SHARED, fxt_clock_kernel_ns());
	else
		fxt_thread_unbar(barred);
}

/* -- clone ------------------------------------------------------------------------------------- */

struct child {
	clone_fn fn;
	void *arg;
	bool is_seen, shares_descriptors;
	struct fxt_birth birth;
};

/* Begins the child. `argument` is in the child's copy of its parent's memory, at the same address. */
static int begin_child(void *argument)
{
	const struct child *child = argument;

	fxt_fork_in_child(false, child->shares_descriptors);
	if (child->is_seen)
		fxt_birth_forked(&child->birth);
	return child->fn(child->arg);
}

FXT_REAL(int, clone,
	 (clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid),
	 (fn, stack, flags, arg, parent_tid, tls, child_tid))
/* __clone() is the same function by another name. Its pointer is looked for, and never called. */
static void *real___clone;

/* Makes a child that is like that of a fork. With CLONE_PARENT it is its parent's parent that waits for the
 * child, so there is no parent link. */
static int forked(clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls,
		  void *child_tid)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	struct child child = {.fn = fn, .arg = arg, .is_seen = thread && !(flags & CLONE_PARENT),
			      .shares_descriptors = flags & CLONE_FILES};
	int result;

	if (child.is_seen)
		fxt_birth_begin(thread, &child.birth, FXT_BIRTH_FORKS);
	result = real_clone(begin_child, stack, flags, &child, parent_tid, tls, child_tid);
	if (child.is_seen)
		fxt_birth_end(thread, &child.birth, result);
	tell_of((uint64_t)flags, result);
	return result;
}

static int begun(clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid)
{
	struct fxt_thread *barred;
	int result;

	/* The C library refuses a call without a function. */
	if (fn && is_fork((uint64_t)flags))
		return forked(fn, stack, flags, arg, parent_tid, tls, child_tid);
	if (flags & CLONE_VFORK)
		fxt_in_progress_before_vfork();
	if (!shares_state((uint64_t)flags))
		return real_clone(fn, stack, flags, arg, parent_tid, tls, child_tid);
	barred = fxt_thread_bar();
	result = real_clone(fn, stack, flags, arg, parent_tid, tls, child_tid);
	told_or_taken_back(barred, result >= 0);
	return result;
}

/* With CLONE_VFORK the call is shown in progress: the child may take long, and may leave calls in progress
 * behind that the end of this one closes. */
#define WAITS(flags) ((flags) & CLONE_VFORK ? BLOCKS(flags) : QUICK)

FXT_TRACED(process, int, clone, clone, begun, WAITS(flags), INT, (clone_fn, fn, SKIP), (void *, stack, SKIP),
	   (int, flags, UINT), (void *, arg, SKIP), (void *, parent_tid, SKIP), (void *, tls, SKIP),
	   (void *, child_tid, SKIP))

#define CLONE(symbol)                                                                   \
	FXT_EXPORT int symbol(clone_fn fn, void *stack, int flags, void *arg, ...)      \
	{                                                                               \
		void *parent_tid, *tls, *child_tid;                                     \
		va_list list;                                                           \
											\
		va_start(list, arg);                                                    \
		parent_tid = va_arg(list, void *);                                      \
		tls = va_arg(list, void *);                                             \
		child_tid = va_arg(list, void *);                                       \
		va_end(list);                                                           \
		return traced_clone(fn, stack, flags, arg, parent_tid, tls, child_tid); \
	}

CLONE(clone)
CLONE(__clone)

/* -- By number: see syscall.h ------------------------------------------------------------------- */

/* Records the call, in the parent. */
static void record(struct fxt_thread *thread, uint64_t start_ns, uint64_t names, const uint64_t *flags,
		   long child)
{
	uint64_t end_ns = fxt_end(thread, NULL), *at = fxt_room(thread, start_ns, end_ns, 5, FXT_BIT_process);
	unsigned arguments = 1;

	if (!at)
		return;
	if (flags) {
		at = fxt_put_uint(at, FXT_STR_flags, *flags);
		arguments++;
	}
	at = fxt_put_int(at, FXT_STR_ret, (int)child);
	if (child == -1) {
		at = fxt_put_errno(thread, at, errno);
		arguments++;
	}
	fxt_complete(thread, at, end_ns, names, arguments);
}

static void clone_by_number(struct fxt_by_number *call, uint64_t names, const uint64_t *given_flags)
{
	uint64_t flags = given_flags ? *given_flags : 0, start_ns = 0;
	struct fxt_thread *thread = shares_state(flags) ? NULL : fxt_enter_first(FXT_CAT_process),
			  *barred = NULL;
	struct fxt_thread *parent = is_fork(flags) && !(flags & CLONE_PARENT) ? thread : NULL;
	struct fxt_birth birth;
	long result;

	if (flags & CLONE_VFORK)
		fxt_in_progress_before_vfork();
	if (shares_state(flags))
		barred = fxt_thread_bar();
	if (thread)
		start_ns = fxt_now(thread);
	if (parent)
		fxt_birth_begin(parent, &birth, FXT_BIRTH_FORKS);
	result = fxt_by_number_make(call);
	/* A child with a stack of its own does not come here. */
	if (!result) {
		if (is_fork(flags))
			fxt_fork_in_child(true, flags & CLONE_FILES);
		if (parent)
			fxt_birth_forked(&birth);
		return;
	}
	if (thread)
		record(thread, start_ns, names, given_flags, result);
	if (parent)
		fxt_birth_end(parent, &birth, (int)result);
	tell_of(flags, result);
	if (shares_state(flags))
		told_or_taken_back(barred, result >= 0);
}

FXT_BY_HAND_NUMBER(fork)
{
	clone_by_number(call, FXT_NAMES(process, fork), NULL);
}

FXT_BY_HAND_NUMBER(clone)
{
	uint64_t flags = (uint64_t)call->args[0];

	clone_by_number(call, FXT_NAMES(process, clone), &flags);
}

FXT_BY_HAND_NUMBER(clone3)
{
	uint64_t flags;

	/* The flags come first in the structure that the argument points to. */
	if (!fxt_readable(NULL, (const void *)call->args[0], sizeof(flags))) {
		fxt_by_number_make(call);
		return;
	}
	flags = *(const uint64_t *)call->args[0];
	clone_by_number(call, FXT_NAMES(process, clone3), &flags);
}

const struct fxt_real fxt_reals_clone[] = {
	{"clone", NULL, (void **)&real_clone},
	{"__clone", NULL, (void **)&real___clone},
	{NULL, NULL, NULL},
};
