/* What a program says of itself: log.def, and what is variadic or does not return. */
#include <err.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "interpose.h"

FXT_EXPORT void __syslog_chk(int priority, int flag, const char *format, ...);

#define FXT_TABLE "log.def"
#include "wrappers.inc"

/* -- With a list of what follows the format ------------------------------------------------------ */

#define COLLECT(call)                   \
	do {                            \
		va_list list;           \
					\
		va_start(list, format); \
		call;                   \
		va_end(list);           \
	} while (0)

/* Looked for like any other, and never called. */
static void *real_syslog, *real___syslog_chk, *real_warn, *real_warnx, *real_err, *real_errx;

FXT_TRACED(log, void, syslog, syslog, real_vsyslog, BLOCKS(priority), VOID, (int, priority, INT), (const char *, format, SKIP),
	   (va_list, list, SKIP))
FXT_TRACED(log, void, __syslog_chk, syslog, real___vsyslog_chk, BLOCKS(priority), VOID, (int, priority, INT), (int, flag, SKIP),
	   (const char *, format, SKIP), (va_list, list, SKIP))
FXT_TRACED(log, void, warn, warn, real_vwarn, BLOCKS(format), VOID, (const char *, format, SKIP), (va_list, list, SKIP))
FXT_TRACED(log, void, warnx, warnx, real_vwarnx, BLOCKS(format), VOID, (const char *, format, SKIP), (va_list, list, SKIP))

FXT_EXPORT void syslog(int priority, const char *format, ...)
{
	COLLECT(traced_syslog(priority, format, list));
}

FXT_EXPORT void __syslog_chk(int priority, int flag, const char *format, ...)
{
	COLLECT(traced___syslog_chk(priority, flag, format, list));
}

FXT_EXPORT void warn(const char *format, ...)
{
	COLLECT(traced_warn(format, list));
}

FXT_EXPORT void warnx(const char *format, ...)
{
	COLLECT(traced_warnx(format, list));
}

/* -- That end the program: in progress until its last moment ------------------------------------- */

#define LEAVES(event)                                                           \
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_log);                    \
										\
	if (thread_) {                                                          \
		const uint64_t names_ = FXT_NAMES(log, event);                  \
		uint64_t start_ns_ = fxt_now(thread_);                          \
										\
		BLOCKS(eval);                                                   \
	}

FXT_REAL(void, verr, (int eval, const char *format, va_list list), (eval, format, list))
FXT_REAL(void, verrx, (int eval, const char *format, va_list list), (eval, format, list))

FXT_EXPORT void verr(int eval, const char *format, va_list list)
{
	LEAVES(verr)
	real_verr(eval, format, list);
	__builtin_unreachable();
}

FXT_EXPORT void verrx(int eval, const char *format, va_list list)
{
	LEAVES(verrx)
	real_verrx(eval, format, list);
	__builtin_unreachable();
}

FXT_EXPORT void err(int eval, const char *format, ...)
{
	LEAVES(err)
	COLLECT(real_verr(eval, format, list));
	__builtin_unreachable();
}

FXT_EXPORT void errx(int eval, const char *format, ...)
{
	LEAVES(errx)
	COLLECT(real_verrx(eval, format, list));
	__builtin_unreachable();
}

/* By trampoline.c. */
#define real_error fxt_real_error
#define real_error_at_line fxt_real_error_at_line
#include "trampoline.h"

#define FXT_REALS fxt_reals_log
#include "reals.inc"
