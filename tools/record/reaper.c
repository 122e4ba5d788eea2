/* See reaper.h. The orphan and its parent run in the memory of this process, because that is quickest; so
 * they make system calls alone. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "reaper.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 16384 };

static _Alignas(16) char stacks[2][STACK_BYTES];
static volatile pid_t parent;

static int be_orphan(void *reaper)
{
	pid_t found;

	while ((found = (pid_t)syscall(SYS_getppid)) == parent)
		sched_yield();
	atomic_store((_Atomic uint32_t *)reaper, (uint32_t)found);
	return 0;
}

static int leave_orphan(void *reaper)
{
	parent = (pid_t)syscall(SYS_getpid);
	clone(be_orphan, stacks[1] + STACK_BYTES, CLONE_VM, reaper);
	return 0;
}

/* The orphan has its new parent before anybody can wait for its old one. */
void fxt_reaper_find(_Atomic uint32_t *reaper)
{
	pid_t child = clone(leave_orphan, stacks[0] + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD,
			    (void *)(uintptr_t)reaper);

	if (child > 0)
		waitpid(child, NULL, 0);
}
