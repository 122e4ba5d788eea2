/* Makes the wrappers of functions that a program linked long ago calls in another version: versioned.def.
 * Each version has a wrapper that calls the same version of the C library; one for both would give an old
 * program the new meaning. The conditions are in pthread_cond.c, posix_spawn in spawn.c.
 */
#include <aio.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/arrows/signal_senders.h"
#include "exit.h"
#include "interpose/engine/object.h"
#include "interpose/files/submit.h"
#include "interpose/signals/fatal.h"

typedef char *char_pointer;
typedef FILE *stream_pointer;
typedef int (*glob_error_fn)(const char *, int);
typedef struct aiocb *const *aiocb_list;
typedef struct aiocb64 *const *aiocb64_list;

#if defined(__x86_64__)
#define BASE "GLIBC_2.2.5"
#define NEW_quick_exit "GLIBC_2.24"
#define OLD_quick_exit "GLIBC_2.10"
#define NEW_nftw "GLIBC_2.3.3"
#define NEW_realpath "GLIBC_2.3"
/* Exports the newer wrapper under one more version, which the function had between the two. */
#define ALSO(name, version) __asm__(".symver new_" #name "," #name "@" version);
#else
/* A function that has only one version here is found under its default; `old` is what programs ask for. */
#define BASE "GLIBC_2.17"
#define NEW_quick_exit "GLIBC_2.24"
#define OLD_quick_exit BASE
#define NEW_nftw "GLIBC_2.34"
#define NEW_realpath "GLIBC_2.34"
#define ALSO(name, version)
#endif
#define OLD_nftw BASE
#define OLD_realpath BASE
#define NEW_nftw64 NEW_nftw
#define OLD_nftw64 BASE
#define NEW_glob "GLIBC_2.27"
#define OLD_glob BASE
#define NEW_glob64 "GLIBC_2.27"
#define OLD_glob64 BASE
#define NEW_fmemopen "GLIBC_2.22"
#define OLD_fmemopen BASE
#define NEW_lio_listio "GLIBC_2.34"
#define OLD_lio_listio BASE
#define NEW_lio_listio64 "GLIBC_2.34"
#define OLD_lio_listio64 BASE
#define NEW_pthread_kill "GLIBC_2.34"
#define OLD_pthread_kill BASE
#define NEW_timer_create "GLIBC_2.34"
#define OLD_timer_create BASE
#define NEW_timer_delete "GLIBC_2.34"
#define OLD_timer_delete BASE
#define NEW_timer_settime "GLIBC_2.34"
#define OLD_timer_settime BASE

/* SUBMITS_LIST: an INT, of a call that submits the requests of `list`. Their lifetimes begin before the call,
 * unless the call refuses the mode before it looks at them. */
#define ENTER_SUBMITS_LIST                                                      \
	, if (mode == LIO_WAIT || mode == LIO_NOWAIT)                      \
		fxt_submit_list(thread_, list, nitems, start_ns_);
#define CALLEE_SUBMITS_LIST , submitting_list_
#define AROUND_SUBMITS_LIST , SUBMITTING_LIST
#define SUBMITTING_LIST(...)                                                            \
	FXT_FIRST_DO(submitting_list_, if (mode == LIO_WAIT || mode == LIO_NOWAIT)      \
			fxt_submit_without_ours(list, nitems), __VA_ARGS__)
#define FAILURE_SUBMITS_LIST FAILURE_INT
#define RESULT_SUBMITS_LIST RESULT_INT

#define VERSIONED(name, new_version, old_version)                                 \
	__asm__(".symver new_" #name "," #name "@@" new_version);                 \
	__asm__(".symver old_" #name "," #name "@" old_version);
#define BOTH(category, type, name, event, blocks, result, ...)                    \
	FXT_WRAP(category, type, new_##name, event, blocks, result, __VA_ARGS__)  \
	FXT_WRAP(category, type, old_##name, event, blocks, result, __VA_ARGS__)  \
	VERSIONED(name, NEW_##name, OLD_##name)

#define SENDS(symbol)											\
	FXT_REAL(int, symbol, (pthread_t thread, int sig), (thread, sig))				\
	static int send_##symbol(pthread_t thread, int sig)						\
	{												\
		uint64_t sent = fxt_signal_sent((int)fxt_agent.pid, (uint64_t)thread, sig);		\
		int error;										\
													\
		fxt_fatal_sends(sig);									\
		error = real_##symbol(thread, sig);							\
													\
		if (error)										\
			fxt_signal_unsent(sent);							\
		return error;										\
	}												\
	FXT_WRAP_AROUND(pthread, int, symbol, pthread_kill, send_##symbol, QUICK, ERROR,		\
			(pthread_t, thread, UINT), (int, sig, INT))
SENDS(new_pthread_kill)
SENDS(old_pthread_kill)
VERSIONED(pthread_kill, NEW_pthread_kill, OLD_pthread_kill)
BOTH(io, char_pointer, realpath, realpath, BLOCKS(path), PTR, (const char *, path, TEXT),
     (char *, resolved_path, SKIP))
BOTH(io, int, nftw, nftw, BLOCKS(dirpath), INT, (const char *, dirpath, TEXT), (__nftw_func_t, fn, SKIP),
     (int, nopenfd, INT), (int, flags, INT))
BOTH(io, int, nftw64, nftw, BLOCKS(dirpath), INT, (const char *, dirpath, TEXT), (__nftw64_func_t, fn, SKIP),
     (int, nopenfd, INT), (int, flags, INT))
BOTH(io, int, glob, glob, BLOCKS(pattern), PLAIN_INT, (const char *, pattern, LATER), (int, flags, INT),
     (glob_error_fn, errfunc, SKIP), (glob_t *, pglob, SKIP))
BOTH(io, int, glob64, glob, BLOCKS(pattern), PLAIN_INT, (const char *, pattern, LATER), (int, flags, INT),
     (glob_error_fn, errfunc, SKIP), (glob64_t *, pglob, SKIP))
BOTH(io, stream_pointer, fmemopen, fmemopen, QUICK, PTR, (void *, buf, OPENS_IT), (size_t, size, UINT),
     (const char *, mode, TEXT))
BOTH(io, int, lio_listio, lio_listio, BLOCKS(mode), SUBMITS_LIST, (int, mode, INT), (aiocb_list, list, SKIP),
     (int, nitems, INT), (struct sigevent *, sevp, SKIP))
BOTH(io, int, lio_listio64, lio_listio, BLOCKS(mode), SUBMITS_LIST, (int, mode, INT),
     (aiocb64_list, list, SKIP), (int, nitems, INT), (struct sigevent *, sevp, SKIP))
ALSO(lio_listio, "GLIBC_2.4")
ALSO(lio_listio64, "GLIBC_2.4")
/* A timer's number is an int in the older version, and something like a pointer in the newer. */
BOTH(time, int, timer_create, timer_create, QUICK, INT, (clockid_t, clockid, INT),
     (struct sigevent *, sevp, SKIP), (timer_t *, timerid, SKIP))
BOTH(time, int, timer_delete, timer_delete, QUICK, INT, (timer_t, timerid, PTR))
BOTH(time, int, timer_settime, timer_settime, QUICK, INT, (timer_t, timerid, PTR), (int, flags, INT),
     (const struct itimerspec *, new_value, SKIP), (struct itimerspec *, old_value, SKIP))
ALSO(timer_create, "GLIBC_2.3.3")
ALSO(timer_delete, "GLIBC_2.3.3")
ALSO(timer_settime, "GLIBC_2.3.3")

/* quick_exit() runs what at_quick_exit() was given, and is in progress until the end of the process. */
FXT_STAYS(process, new_quick_exit, quick_exit, fxt_exit_quick(status), int, status)
FXT_STAYS(process, old_quick_exit, quick_exit, fxt_exit_quick(status), int, status)
VERSIONED(quick_exit, NEW_quick_exit, OLD_quick_exit)

#define BY_HAND(category, name, role)                               \
	{#name, NEW_##name, (void **)&real_new_##name},             \
	{#name, OLD_##name, (void **)&real_old_##name},
#define BY_HAND_ALIAS(category, symbol, event) BY_HAND(category, symbol, )
const struct fxt_real fxt_reals_versioned[] = {
#include "interpose/engine/rows.inc"
#include "interpose/tables/versioned.def"
	{NULL, NULL, NULL},
};
#include "interpose/engine/unrows.inc"
