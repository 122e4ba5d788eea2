/* Makes the wrappers of calls that write messages of the program, to syslog and to standard error:
 * syslog.def. What is variadic or does not return is written by hand. */
#include <err.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "agent/base/error_text.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/stderr_text.h"
#include "writer/decimal.h"

FXT_EXPORT void __syslog_chk(int priority, int flag, const char *format, ...);
/* <assert.h> declares these only if NDEBUG is not defined. */
FXT_EXPORT void __assert_fail(const char *assertion, const char *file, unsigned linenum, const char *function)
	__attribute__((noreturn));
FXT_EXPORT void __assert_perror_fail(int errnum, const char *file, unsigned linenum, const char *function)
	__attribute__((noreturn));

/* Records a line as the functions of <err.h> write it: the program's name, what is said, and why. */
static void complain(int error, bool says_why, const char *format, va_list list)
{
	char room[FXT_NUMBERED_BYTES];
	struct fxt_stderr_line line = {{program_invocation_short_name, ": ", NULL},
				       says_why ? fxt_error_text(error, room) : NULL};

	fxt_stderr_complaint(&line, error, format, list);
}

/* Returns whether the program wants messages of the priority: nobody looks at the arguments of others. */
static bool is_wanted(int priority)
{
	return setlogmask(0) & LOG_MASK(LOG_PRI(priority));
}

/* These functions do not tell whether the text was written, so it is recorded in any case. Without a format
 * they do not look at the list. */
#define STDERR_BY(symbol, say, ...)						\
	static void to_stderr_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))	\
	{									\
		int error = errno;						\
		va_list again = {0};						\
										\
		if (format)							\
			va_copy(again, list);					\
		real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));			\
		say;								\
		va_end(again);							\
	}
#define STDERR_SYSLOG(type, symbol, ...)								\
	STDERR_BY(symbol,										\
		  if (format && is_wanted(priority))							\
			fxt_stderr_syslog(FXT_NAMES(log, syslog), priority, error, format, again),	\
		  __VA_ARGS__)
#define STDERR_WARNING(type, symbol, ...) STDERR_BY(symbol, complain(error, true, format, again), __VA_ARGS__)
#define STDERR_WARNING_ALONE(type, symbol, ...) \
	STDERR_BY(symbol, complain(error, false, format, again), __VA_ARGS__)
/* Functions of this kind are written out below. */
#define STDERR_OWN(type, symbol, ...) static type to_stderr_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__));

#define FXT_TABLE "interpose/tables/syslog.def"
#include "interpose/engine/wrappers.inc"

/* -- What is said ---------------------------------------------------------------------------------- */

static void say_about(const char *s, const char *what, const char *end)
{
	bool is_empty = !s || !*s;

	fxt_stderr_pieces(is_empty ? "" : s, is_empty ? "" : ": ", what, end, NULL);
}

static void to_stderr_perror(const char *s)
{
	char room[FXT_NUMBERED_BYTES];
	int error = errno;

	real_perror(s);
	say_about(s, fxt_error_text(error, room), "\n");
}

static void to_stderr_herror(const char *s)
{
	static const char *const texts[] = {
		"Resolver Error 0 (no error)", "Unknown host", "Host name lookup failure",
		"Unknown server error", "No address associated with name",
	};
	int error = h_errno;

	real_herror(s);
	say_about(s,
		  error < 0                                        ? "Resolver internal error"
		  : (size_t)error < sizeof(texts) / sizeof(*texts) ? texts[error]
								   : "Unknown resolver error",
		  "\n");
}

static void to_stderr_psignal(int sig, const char *s)
{
	char room[FXT_NUMBERED_BYTES];

	real_psignal(sig, s);
	say_about(s, fxt_signal_text(sig, room), "\n");
}

/* The text says which signal it was. What else the function writes of it is left out, which the ellipsis
 * says. */
static void to_stderr_psiginfo(const siginfo_t *pinfo, const char *s)
{
	char room[FXT_NUMBERED_BYTES];

	real_psiginfo(pinfo, s);
	say_about(s, fxt_signal_text(pinfo->si_signo, room), " (\xe2\x80\xa6)\n");
}

/* -- Functions with a list of what follows the format -------------------------------------------- */

#define COLLECT(call)                   \
	do {                            \
		va_list list;           \
					\
		va_start(list, format); \
		call;                   \
		va_end(list);           \
	} while (0)

/* These pointers are looked for like the others, and never called. */
static void *real_syslog, *real___syslog_chk, *real_warn, *real_warnx, *real_err, *real_errx;

FXT_TRACED(log, void, syslog, syslog, to_stderr_vsyslog, BLOCKS(priority), VOID, (int, priority, INT),
	   (const char *, format, SKIP), (va_list, list, SKIP))
FXT_TRACED(log, void, __syslog_chk, syslog, to_stderr___vsyslog_chk, BLOCKS(priority), VOID,
	   (int, priority, INT), (int, flag, SKIP), (const char *, format, SKIP), (va_list, list, SKIP))
FXT_TRACED(log, void, warn, warn, to_stderr_vwarn, BLOCKS(format), VOID, (const char *, format, SKIP),
	   (va_list, list, SKIP))
FXT_TRACED(log, void, warnx, warnx, to_stderr_vwarnx, BLOCKS(format), VOID, (const char *, format, SKIP),
	   (va_list, list, SKIP))

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

/* -- Functions that end the program: they are in progress until its last moment ------------------- */

#define LEAVES(event, shown)							\
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_log);			\
										\
	if (thread_) {								\
		const uint64_t names_ = FXT_NAMES(log, event);			\
		uint64_t start_ns_ = fxt_now(thread_);				\
										\
		BLOCKS(shown);							\
	}

FXT_REAL(void, verr, (int eval, const char *format, va_list list), (eval, format, list))
FXT_REAL(void, verrx, (int eval, const char *format, va_list list), (eval, format, list))
FXT_REAL(void, __assert_fail,
	 (const char *assertion, const char *file, unsigned linenum, const char *function),
	 (assertion, file, linenum, function))
FXT_REAL(void, __assert_perror_fail, (int errnum, const char *file, unsigned linenum, const char *function),
	 (errnum, file, linenum, function))

/* The text is recorded before it is written, because the real function does not return. */
#define COMPLAIN(says_why, list)                                        \
	do {                                                            \
		va_list again = {0};                                    \
									\
		if (format)                                             \
			va_copy(again, list);                           \
		complain(errno, says_why, format, again);               \
		va_end(again);                                          \
	} while (0)

FXT_EXPORT void verr(int eval, const char *format, va_list list)
{
	LEAVES(verr, eval)
	COMPLAIN(true, list);
	real_verr(eval, format, list);
	__builtin_unreachable();
}

FXT_EXPORT void verrx(int eval, const char *format, va_list list)
{
	LEAVES(verrx, eval)
	COMPLAIN(false, list);
	real_verrx(eval, format, list);
	__builtin_unreachable();
}

FXT_EXPORT void err(int eval, const char *format, ...)
{
	LEAVES(err, eval)
	COLLECT(COMPLAIN(true, list); real_verr(eval, format, list));
	__builtin_unreachable();
}

FXT_EXPORT void errx(int eval, const char *format, ...)
{
	LEAVES(errx, eval)
	COLLECT(COMPLAIN(false, list); real_verrx(eval, format, list));
	__builtin_unreachable();
}

/* Records a line as assert() writes it: where the program was when it gave up, and why. */
static void say_where(const char *file, unsigned linenum, const char *function, const char *what,
		      const char *which, const char *end)
{
	const char *program = program_invocation_short_name;
	char number[FXT_DECIMAL_BYTES + 1];

	number[fxt_decimal(number, linenum)] = '\0';
	fxt_stderr_pieces(program, *program ? ": " : "", file, ":", number, ": ", function ? function : "",
			  function ? ": " : "", what, which, end, NULL);
}

FXT_EXPORT void __assert_fail(const char *assertion, const char *file, unsigned linenum, const char *function)
{
	LEAVES(__assert_fail, linenum)
	say_where(file, linenum, function, "Assertion `", assertion, "' failed.\n");
	real___assert_fail(assertion, file, linenum, function);
	__builtin_unreachable();
}

FXT_EXPORT void __assert_perror_fail(int errnum, const char *file, unsigned linenum, const char *function)
{
	char room[FXT_NUMBERED_BYTES];

	LEAVES(__assert_perror_fail, linenum)
	say_where(file, linenum, function, "Unexpected error: ", fxt_error_text(errnum, room), ".\n");
	real___assert_perror_fail(errnum, file, linenum, function);
	__builtin_unreachable();
}

/* trampoline.c has these two. */
#define real_error fxt_real_error
#define real_error_at_line fxt_real_error_at_line
#include "interpose/engine/trampoline.h"

#define FXT_REALS fxt_reals_syslog
#include "interpose/engine/reals.inc"
