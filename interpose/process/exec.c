/* Makes the wrappers of calls that execute another program: exec.def. They are called in the children of
 * vfork as well, whose memory is their parent's. Functions that are given no environment take the process's
 * own, which may have been cleared: their wrappers call functions that are given one.
 *
 * The environment is not completed for system() and popen(), which take it within the C library: `environ`
 * would have to be changed while the program's handlers and other threads may look at it.
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "complete.h"
#include "departure.h"
#include "interpose/engine/interpose.h"

/* -- exec -------------------------------------------------------------------------------------- */

FXT_REAL(int, execve, (const char *pathname, strings argv, strings envp), (pathname, argv, envp))
FXT_REAL(int, execvpe, (const char *file, strings argv, strings envp), (file, argv, envp))
FXT_REAL(int, fexecve, (int fd, strings argv, strings envp), (fd, argv, envp))
FXT_REAL(int, execveat, (int dirfd, const char *pathname, strings argv, strings envp, int flags),
	 (dirfd, pathname, argv, envp, flags))

/* These are called before the agent is relocated, and then no more: the wrappers call the functions above. */
FXT_REAL(int, execv, (const char *pathname, strings argv), (pathname, argv))
FXT_REAL(int, execvp, (const char *file, strings argv), (file, argv))
/* These are looked for like the others, and never called. */
static void *real_execl, *real_execlp, *real_execle;

/* Says how the program is found: see COMPLETE(). */
#define FOUND(...) __VA_ARGS__

/* Makes the real call in a completed environment, between what is written before the program becomes another
 * one and what takes that back if it does not. `...` are the arguments of fxt_departure_begin(). Declares the
 * result as `result`. */
#define DEPARTS(envp, found, call, ...)                         \
	struct fxt_departure departure;                         \
	int result;                                             \
								\
	COMPLETE(envp, found);                                  \
	fxt_departure_begin(&departure, refusal, __VA_ARGS__);  \
	result = call;                                          \
	fxt_departure_failed(&departure);                       \
	COMPLETED();

/* Each function is recorded under its own name, `event`. If the call fails, its wrapper records it a second
 * time, with the error. */
static __attribute__((noinline)) int by_path(uint64_t event, const char *pathname, strings argv, strings envp)
{
	DEPARTS(envp, FOUND(.directory = AT_FDCWD, .path = pathname), real_execve(pathname, argv, envp),
		event, FXT_STR_pathname, pathname, 0, argv)
	return result;
}

static __attribute__((noinline)) int by_search(uint64_t event, const char *file, strings argv, strings envp)
{
	DEPARTS(envp, FOUND(.directory = AT_FDCWD, .path = file, .searches = true, .by_shell = true),
		real_execvpe(file, argv, envp), event, FXT_STR_file, file, 0, argv)
	return result;
}

static __attribute__((noinline)) int complete_fexecve(int fd, strings argv, strings envp)
{
	/* The C library refuses what the kernel would take: no environment. */
	if (!argv || !envp)
		return real_fexecve(fd, argv, envp);
	DEPARTS(envp, FOUND(.directory = fd, .path = NULL), real_fexecve(fd, argv, envp),
		FXT_NAMES(process, fexecve), 0, NULL, fd, argv)
	return result;
}

static __attribute__((noinline)) int complete_execveat(int dirfd, const char *pathname, strings argv,
						       strings envp, int flags)
{
	DEPARTS(envp, FOUND(.directory = dirfd, .path = pathname),
		real_execveat(dirfd, pathname, argv, envp, flags), FXT_NAMES(process, execveat),
		FXT_STR_pathname, pathname, dirfd, argv)
	return result;
}

#define BY_PATH(symbol)                                                                                 \
	static int complete_##symbol(const char *pathname, strings argv, strings envp)                  \
	{                                                                                               \
		return by_path(FXT_NAMES(process, symbol), pathname, argv, envp);                       \
	}
#define BY_PATH_AS_IT_IS(symbol)									\
	static int complete_##symbol(const char *pathname, strings argv)				\
	{												\
		return by_path(FXT_NAMES(process, symbol), pathname, argv, __environ);			\
	}
#define BY_SEARCH_AS_IT_IS(symbol)									\
	static int complete_##symbol(const char *file, strings argv)					\
	{												\
		return by_search(FXT_NAMES(process, symbol), file, argv, __environ);			\
	}

BY_PATH(execve)
BY_PATH(execle)
BY_PATH_AS_IT_IS(execv)
BY_PATH_AS_IT_IS(execl)
BY_SEARCH_AS_IT_IS(execvp)
BY_SEARCH_AS_IT_IS(execlp)

static int complete_execvpe(const char *file, strings argv, strings envp)
{
	return by_search(FXT_NAMES(process, execvpe), file, argv, envp);
}

FXT_WRAP_AROUND(process, int, execve, execve, complete_execve, QUICK, INT, (const char *, pathname, TEXT),
		(strings, argv, SKIP), (strings, envp, SKIP))
FXT_WRAP_AROUND(process, int, execv, execv, complete_execv, QUICK, INT, (const char *, pathname, TEXT),
		(strings, argv, SKIP))
FXT_WRAP_AROUND(process, int, execvp, execvp, complete_execvp, QUICK, INT, (const char *, file, TEXT),
		(strings, argv, SKIP))
FXT_WRAP_AROUND(process, int, execvpe, execvpe, complete_execvpe, QUICK, INT, (const char *, file, TEXT),
		(strings, argv, SKIP), (strings, envp, SKIP))
FXT_WRAP_AROUND(process, int, fexecve, fexecve, complete_fexecve, QUICK, INT, (int, fd, INT),
		(strings, argv, SKIP), (strings, envp, SKIP))
FXT_WRAP_AROUND(process, int, execveat, execveat, complete_execveat, QUICK, INT, (int, dirfd, INT),
		(const char *, pathname, TEXT), (strings, argv, SKIP), (strings, envp, SKIP),
		(int, flags, INT))

/* -- exec with a list of arguments ---------------------------------------------------------------- */

FXT_TRACED(process, int, execl, execl, complete_execl, QUICK, INT, (const char *, pathname, TEXT),
	   (strings, argv, SKIP))
FXT_TRACED(process, int, execlp, execlp, complete_execlp, QUICK, INT, (const char *, file, TEXT),
	   (strings, argv, SKIP))
FXT_TRACED(process, int, execle, execle, complete_execle, QUICK, INT, (const char *, pathname, TEXT),
	   (strings, argv, SKIP), (strings, envp, SKIP))

/* Returns how many pointers a list has, the NULL that ends it included. */
static inline size_t count_list(va_list list)
{
	size_t count = 1;

	while (va_arg(list, char *))
		count++;
	return count;
}

/* Puts the arguments into argv, from `arg` on; `list` is left behind the NULL. */
#define COLLECT_LIST(argv, arg, list)                                           \
	do {                                                                    \
		size_t i_ = 0;                                                  \
										\
		(argv)[0] = (char *)(uintptr_t)(arg);                           \
		while ((argv)[i_])                                              \
			(argv)[++i_] = va_arg(list, char *);                    \
	} while (0)

/* Makes the wrapper of a function with a list of arguments. argv is on the stack, as in the C library. The
 * function is exported by an assembler name: the header promises that `arg` is not NULL, and the compiler
 * would believe it. */
#define LISTED(symbol, name, given, ...)								\
	FXT_EXPORT int listed_##symbol(const char *name, const char *arg, ...) __asm__(#symbol);	\
	FXT_EXPORT int listed_##symbol(const char *name, const char *arg, ...)				\
	{												\
		va_list list;										\
		size_t count = 1;									\
		char **argv;										\
													\
		if (arg) {										\
			va_start(list, arg);								\
			count += count_list(list);							\
			va_end(list);									\
		}											\
		argv = alloca(count * sizeof(*argv));							\
		va_start(list, arg);									\
		COLLECT_LIST(argv, arg, list);								\
		given;											\
		va_end(list);										\
		return traced_##symbol(name, argv __VA_ARGS__);						\
	}

LISTED(execl, pathname, (void)0)
LISTED(execlp, file, (void)0)
LISTED(execle, pathname, strings envp = va_arg(list, strings), , envp)

/* -- By number ----------------------------------------------------------------------------------- */

/* Makes a system call whose argv is at `position`, with the environment behind it. */
static __attribute__((noinline)) int complete_by_number(struct fxt_by_number *call, uint64_t event, int fd,
							const char *pathname, unsigned position)
{
	strings envp = (strings)call->args[position + 1];
	struct fxt_departure departure;
	int result;

	COMPLETE(envp, .directory = position == 1 ? AT_FDCWD : fd, .path = pathname);
	call->args[position + 1] = (long)envp;
	fxt_departure_begin(&departure, refusal, event, FXT_STR_pathname, pathname, fd,
			    (strings)call->args[position]);
	result = (int)fxt_by_number_make(call);
	fxt_departure_failed(&departure);
	COMPLETED();
	return result;
}

#define FXT_NUMBER_execve , EXECVE_BY_NUMBER
#define FXT_NUMBER_execveat , EXECVEAT_BY_NUMBER
#define EXECVE_BY_NUMBER(...) FXT_APPLY(EXECVE_OF, __VA_ARGS__)
#define EXECVEAT_BY_NUMBER(...) FXT_APPLY(EXECVEAT_OF, __VA_ARGS__)
#define EXECVE_OF(pathname) complete_by_number(call_, FXT_NAMES(process, execve), 0, pathname, 1)
#define EXECVEAT_OF(dirfd, pathname, ...) \
	complete_by_number(call_, FXT_NAMES(process, execveat), dirfd, pathname, 2)

#define FXT_TABLE "interpose/tables/exec.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_exec
#include "interpose/engine/reals.inc"
