/* This lets a test answer the writer's system calls in the kernel's place. The writer's sources are compiled
 * with FXT_SYSCALL_ELSEWHERE for it (writer/sys.h). */
#ifndef SYSCALLS_FIXTURE_H
#define SYSCALLS_FIXTURE_H

#include <errno.h>
#include <unistd.h>

#include "sys.h"

/* Is asked before each system call. Returns whether it has set the call's result itself. */
static bool (*answers)(long number, const long *arguments, long *result);

long fxt_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const long arguments[] = {a, b, c, d, e, f};
	long result;

	if (fxt_is_forbidden(fxt_call_kind(number, d)))
		return -EPERM;
	if (answers && answers(number, arguments, &result))
		return result;
	/* The process has a task of its own apart, whose stack the C library must not return to. */
	result = syscall(number, a, b, c, d, e, f);
	return result == -1 ? -errno : result;
}

#endif
