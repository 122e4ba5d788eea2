/* See follow_program.h. What is needed besides a program that can be traced: that the loader may read and map
 * the library, that limits leave room for it, and that the program can write its trace. A program inherits
 * limits and user of whoever runs it. */
#include "follow_program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "agent/base/agent.h"
#include "agent/base/connection.h"
#include "agent/base/output.h"
#include "agent/emit/losses.h"
#include "follow.h"
#include "writer/sys.h"

/* The library takes 5 MiB of addresses, and 2 MiB of them count as data. The C library and its loader have
 * 2.5, and what is recorded needs some: with 11 MiB the library was loaded, and found no memory. */
#define LEAST_ADDRESSES (UINT64_C(16) << 20)
#define LEAST_DATA (UINT64_C(6) << 20)

#define NO_FILE "cannot write into the directory of the run, where its trace would be"

static bool has_less(int resource, uint64_t bytes)
{
	struct rlimit limit;

	return !fxt_sys_getrlimit(resource, &limit) && limit.rlim_cur < bytes;
}

/* Returns whether the kernel tells a program that it has more rights than whoever runs it. It does so too if
 * only the effective ids were changed, as by seteuid(). */
static bool is_privileged(void)
{
	return FXT_SYSCALL0(SYS_geteuid) != FXT_SYSCALL0(SYS_getuid) ||
	       FXT_SYSCALL0(SYS_getegid) != FXT_SYSCALL0(SYS_getgid);
}

/* Returns whether a program cannot make its file in the directory of a run of fxt record. Only buffers of a
 * fixed size have files there: whoever streams is connected, and reaches the manager as any user. */
static bool cannot_make_file(void)
{
	char *path;
	long error;

	if (fxt_agent.config.manager[0] || !fxt_run_is_run())
		return false;
	path = fxt_sys_memory(FXT_PATH_BYTES);
	if (!path)
		return false;
	error = 0;
	if (fxt_output_path(path, &fxt_agent.config, fxt_agent.program, fxt_agent.koid,
			    fxt_agent.start_seconds) &&
	    strrchr(path, '/')) {
		*strrchr(path, '/') = '\0';
		error = FXT_SYSCALL4(SYS_faccessat2, AT_FDCWD, path, 3 /* W_OK | X_OK */, AT_EACCESS);
	}
	fxt_sys_munmap(path, FXT_PATH_BYTES);
	return error == -EACCES || error == -EROFS || error == -ENOENT || error == -ENOTDIR;
}

const char *fxt_followed_library(const char *library)
{
	struct statfs files;
	long error = 0;

	if (!fxt_is_forbidden(FXT_NO_APART | FXT_NO_LOCKS))
		error = FXT_SYSCALL3(SYS_faccessat, AT_FDCWD, library, 4 /* R_OK */);
	if (error == -EACCES)
		return "may not read the agent's library";
	if (error)
		return "cannot read the agent's library, whose path does not lead to it here";
	/* Nobody knows whether a filter lets us ask for the rest. */
	if (fxt_is_filtered())
		return NULL;
	if (is_privileged())
		return "has other effective ids than real ones: the loader ignores LD_PRELOAD for such "
		       "programs";
	if (!FXT_SYSCALL2(SYS_statfs, library, &files) && files.f_flags & ST_NOEXEC)
		return "cannot map the agent's library, whose file system is mounted noexec here";
	if (cannot_make_file())
		return NO_FILE;
	if (has_less(RLIMIT_AS, LEAST_ADDRESSES))
		return "may have so few addresses (ulimit -v) that the agent's library would take its own";
	if (has_less(RLIMIT_DATA, LEAST_DATA))
		return "may have so little data (ulimit -d) that the agent's library would take its own";
	return NULL;
}

/* Says once in this process what is not traced, and why. */
static void tell(_Atomic uint32_t *told_pid, const char *what, const char *why)
{
	char text[256];

	if (atomic_exchange(told_pid, fxt_agent.pid) == fxt_agent.pid)
		return;
	text[0] = '\0';
	strncat(text, what, sizeof(text) / 2);
	strncat(text, why, sizeof(text) / 2 - 1);
	fxt_agent_unseen(text);
}

static bool is_told(_Atomic uint32_t *told_pid)
{
	return atomic_load_explicit(told_pid, memory_order_relaxed) == fxt_agent.pid ||
	       fxt_is_forbidden(FXT_NO_LOCKS);
}

/* One reason is told, that of the first call. */
void fxt_follow_tell_shell(void)
{
	static _Atomic uint32_t told_pid;
	const char *why = is_told(&told_pid) ? NULL : fxt_follow_shell_refusal();

	if (why)
		tell(&told_pid, "what system() and popen() run, which ", why);
}

void fxt_follow_tell_forked(void)
{
	static _Atomic uint32_t told_pid;

	if (!is_told(&told_pid) && !fxt_is_filtered() && cannot_make_file())
		tell(&told_pid, "forked children, each of which ", NO_FILE);
}
