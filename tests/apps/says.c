/* Prints known things on standard error and to syslog, in every way there is, for tests/e2e/says.sh. The
 * trace has what standard error got.
 *
 *	says ways		a line or part of one in each way, the last without an end
 *	says formats		all conversions of printf
 *	says wide		wide characters
 *	says odd		lines that are too long, are no text, or come back to their beginning
 *	says threads N		N threads, each with lines that come in parts
 *	says handler N		N lines, and those of a handler that comes at any moment; prints how many
 *	says syslog		messages
 *	says registered		conversions of its own; prints how often they were called
 *	says fork		in the middle of a line
 *	says closed		to a descriptor that is closed
 *	says duplicated		to descriptors and streams that are duplicates of 2, or were
 *	says reopened FILE	the stream is another file
 *	says and HOW		ends within a line: by err, errx, assert and others
 */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <assert.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <printf.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <wchar.h>

#undef fwrite_unlocked
#undef fputc_unlocked
#undef putc_unlocked

extern int __overflow(FILE *stream, int c);
extern void __assert_perror_fail(int errnum, const char *file, unsigned line, const char *function);
/* Programs that were built with fortification call these. */
extern int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
extern int __dprintf_chk(int fd, int flag, const char *format, ...);
extern int __fwprintf_chk(FILE *stream, int flag, const wchar_t *format, ...);
extern void __syslog_chk(int priority, int flag, const char *format, ...);

#define LINE(text) (text), sizeof(text) - 1

/* -- Ways ------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void list(int which, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	switch (which) {
	case 0: vfprintf(stderr, format, list); break;
	case 1: vdprintf(2, format, list); break;
	case 2: vwarn(format, list); break;
	case 3: vwarnx(format, list); break;
	default: vsyslog(LOG_NOTICE, format, list); break;
	}
	va_end(list);
}

static void wide_list(const wchar_t *format, ...)
{
	va_list list;

	va_start(list, format);
	vfwprintf(stderr, format, list);
	va_end(list);
}

static void in_bytes(void)
{
	struct iovec parts[] = {{(char[]){"writev\nin two "}, 14}, {(char[]){"lines\n"}, 6}};
	static const char single[] = "character by character\n";
	size_t i;

	write(2, LINE("write\n"));
	write(2, LINE("in "));
	write(2, LINE("three "));
	write(2, LINE("parts\n"));
	writev(2, parts, 2);
	/* If standard error is a file that is appended to, this is written at its end. */
	pwrite(2, LINE("pwrite\n"), 0);
	pwritev(2, parts, 2, 0);
	fwrite(LINE("fwrite\n"), 1, stderr);
	fwrite_unlocked(LINE("fwrite_unlocked\n"), 1, stderr);
	fputs("fputs\n", stderr);
	fputs_unlocked("fputs_unlocked\n", stderr);
	for (i = 0; single[i]; i++)
		switch (i % 5) {
		case 0: putc(single[i], stderr); break;
		case 1: fputc(single[i], stderr); break;
		case 2: putc_unlocked(single[i], stderr); break;
		case 3: fputc_unlocked(single[i], stderr); break;
		default: __overflow(stderr, single[i]); break;
		}
	fputs("\n\nafter empty ones\n", stderr);
}

static void in_formats(void)
{
	errno = ENOENT;
	fprintf(stderr, "fprintf %d %s %m\n", 1, "two");
	__fprintf_chk(stderr, 1, "__fprintf_chk %s\n", "too");
	dprintf(2, "dprintf %g\n", 1.5);
	__dprintf_chk(2, 1, "__dprintf_chk %g\n", 2.5);
	list(0, "vfprintf %s\n", "list");
	list(1, "vdprintf %s\n", "list");
	errno = EACCES;
	warn("warn %d", 1);
	warn(NULL);
	warnx("warnx %d", 2);
	list(2, "vwarn %d", 3);
	list(3, "vwarnx %d", 4);
	perror("perror");
	perror(NULL);
	errno = 9999;
	perror("unknown");
	h_errno = HOST_NOT_FOUND;
	herror("herror");
	psignal(SIGHUP, "psignal");
	psignal(1000, NULL);
	error(0, 0, "error %d %d %d %d %d %s %g", 1, 2, 3, 4, 5, "six", 7.5);
	error(0, ENOENT, "error %g %g %g %g %g %g %g %g %g", 1., 2., 3., 4., 5., 6., 7., 8., 9.);
	error_at_line(0, 0, "file.c", 12, "error_at_line %d %g", 1, 2.);
	error_at_line(0, EPERM, NULL, 0, "error_at_line %s", "nowhere");
	fprintf(stderr, "no end");
}

/* -- Formats --------------------------------------------------------------------------------------- */

/* The compiler knows that some of these mean nothing. */
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void formats(void)
{
	static const char *const flags[] = {"", "-", "+", " ", "0", "#", "-+", "+0", "#0", "- #"};
	static const char *const widths[] = {"", "1", "7", "20", ".0", ".1", ".4", "12.5", "3.9"};
	static const double doubles[] = {0.,	 -0.,	  1.,	   -1.5,     123456.789, 1e100,
					 -1e-10, DBL_MAX, DBL_MIN, INFINITY, -INFINITY,	 NAN};
	static const long longs[] = {0, 1, -1, 42, 255, 65536, INT_MAX, INT_MIN, LONG_MAX, LONG_MIN};
	const char *c, *format_of;
	char format[64];
	size_t f, w, i;
	int n = 0;

	for (f = 0; f < sizeof(flags) / sizeof(*flags); f++)
		for (w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			for (c = "dixXou"; *c; c++)
				for (i = 0; i < sizeof(longs) / sizeof(*longs); i++) {
					snprintf(format, sizeof(format), "[%%%s%s%c|%%%s%sl%c|%%%s%shh%c]\n",
						 flags[f], widths[w], *c, flags[f], widths[w], *c, flags[f],
						 widths[w], *c);
					fprintf(stderr, format, (int)longs[i], longs[i], (int)longs[i]);
				}
			for (c = "eEfFgGaA"; *c && !strchr(flags[f], '#'); c++)
				for (i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
					snprintf(format, sizeof(format), "[%%%s%s%c|%%%s%sL%c]\n", flags[f],
						 widths[w], *c, flags[f], widths[w], *c);
					fprintf(stderr, format, doubles[i],
						fabs(doubles[i]) > 1e200 ? 0.L : (long double)doubles[i] / 3);
				}
			if (strspn(flags[f], "-") != strlen(flags[f]))
				continue;
			snprintf(format, sizeof(format), "[%%%s%ss|%%%s%ss|%%%s%sc]\n", flags[f], widths[w],
				 flags[f], widths[w], flags[f], widths[w]);
			fprintf(stderr, format, "string", NULL, 'c');
			snprintf(format, sizeof(format), "[%%%s%sp|%%%s%sp]\n", flags[f],
				 *widths[w] == '.' ? "" : widths[w], flags[f],
				 *widths[w] == '.' ? "" : widths[w]);
			fprintf(stderr, format, (void *)0x1234, NULL);
		}
	fprintf(stderr, "%*d|%-*d|%*d|%.*f|%.*s|%.*d\n", 5, 1, 5, 2, -5, 3, 2, 1.23456, 3, "abcdef", -1, 4);
	format_of = "%hd %hhd %lld %qd %jd %zu %td %Lu\n";
	fprintf(stderr, format_of, (short)-7, (signed char)-3, 1LL << 40, 1LL << 41, (intmax_t)-1, (size_t)-1,
		(ptrdiff_t)-2, 7ULL);
	format_of = "%ls|%S|%5ls|%.2ls|%lc|%C\n";
	fprintf(stderr, format_of, L"wide", L"Wide", L"w", L"wide", (wint_t)L'x', (wint_t)L'y');
	fprintf(stderr, "100%%%n\n", &n);
	fprintf(stderr, "%.500d|%50.40f\n", 5, 1. / 3);
	fprintf(stderr, "%s", "");
	fprintf(stderr, "counted %d\n", n);
	/* Positions in a format are not supported: the trace has the format itself. */
	fprintf(stderr, "%2$s %1$s\n", "one", "two");
}

static void wide_formats(void)
{
	bool has_utf8 = setlocale(LC_CTYPE, "C.UTF-8");

	fwprintf(stderr, L"fwprintf %d %ls %s %5s %.2ls\n", 1, L"wide", "narrow", "n", L"wide");
	__fwprintf_chk(stderr, 1, L"__fwprintf_chk %d\n", 2);
	wide_list(L"vfwprintf %d %g\n", 3, 1.5);
	fputws(L"fputws\n", stderr);
	fputws_unlocked(L"fputws_unlocked\n", stderr);
	putwc(L'p', stderr);
	fputwc(L'f', stderr);
	putwc_unlocked(L'u', stderr);
	fputwc_unlocked(L'\n', stderr);
	if (has_utf8)
		fwprintf(stderr, L"\u00fcber %ls %s\n", L"\u20ac", "\xe2\x82\xac");
}

/* -- Odd ones --------------------------------------------------------------------------------------- */

static void repeat(const char *text, int times)
{
	while (times--)
		fputs(text, stderr);
}

static void odd(void)
{
	char *volatile gone = (char *)8;

	write(2, LINE("not UTF-8: \xff \xc3\xa9 \xc3\n"));
	write(2, LINE("NUL \0 and controls \x01\x1b[1m\t\n"));
	write(2, LINE("carriage return\r\n"));
	write(2, LINE("over\rwritten\n"));
	repeat("0123456789abcdef", 128);
	repeat("\n", 1);
	repeat("0123456789abcdef", 129);
	repeat("\n", 1);
	repeat("\xe2\x82\xac", 1000);
	repeat("\n", 1);
	repeat("\rprogress: 0123456789abcdef", 100);
	repeat("\rprogress: done\n", 1);
	repeat("0123456789abcdef", 200);
	repeat("\r\n", 1);
	fprintf(stderr, "%3000d|\n", 1);
	/* The kernel does not look at what is written there. */
	close(2);
	if (open("/dev/null", O_WRONLY) != 2 || write(2, gone, 100) != 100)
		_exit(3);
}

/* -- Threads and handlers ---------------------------------------------------------------------------- */

static void *speaks(void *number)
{
	int i;

	for (i = 0; i < 200; i++) {
		fprintf(stderr, "thread %d", (int)(intptr_t)number);
		fputs(" line", stderr);
		putc(' ', stderr);
		dprintf(2, "%d\n", i);
	}
	fprintf(stderr, "thread %d ends", (int)(intptr_t)number);
	return NULL;
}

static void threads(int count)
{
	pthread_t all[64];
	int i;

	for (i = 0; i < count; i++)
		pthread_create(&all[i], NULL, speaks, (void *)(intptr_t)i);
	for (i = 0; i < count; i++)
		pthread_join(all[i], NULL);
}

static volatile int handled;

static void on_alarm(int signum)
{
	(void)signum;
	handled++;
	write(2, LINE("handler\n"));
}

static void handler(int count)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	int i;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < count; i++)
		write(2, LINE("line\n"));
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d\n", handled);
}

/* -- The rest --------------------------------------------------------------------------------------- */

static int converted;

static int convert(FILE *stream, const struct printf_info *info, const void *const *arguments)
{
	(void)info;
	converted++;
	return fprintf(stream, "<%u>", **(const unsigned *const *)arguments);
}

static int arguments_of(const struct printf_info *info, size_t n, int *types, int *sizes)
{
	(void)info;
	if (n > 0) {
		types[0] = PA_INT;
		sizes[0] = sizeof(int);
	}
	return 1;
}

static void registered(void)
{
	fprintf(stderr, "before %d\n", 1);
	if (register_printf_specifier('W', convert, arguments_of) ||
	    register_printf_specifier('d', convert, arguments_of))
		_exit(3);
	fprintf(stderr, "after %W\n", 22);
	printf("%d\n", 0);
	printf("converted %c\n", '0' + converted);
}

static void messages(void)
{
	openlog("says", LOG_NDELAY, LOG_USER);
	errno = ENOENT;
	syslog(LOG_ERR, "syslog %d %m", 1);
	__syslog_chk(LOG_USER | LOG_WARNING, 1, "chk %s\n", "two");
	list(4, "list\nof %s", "lines");
	closelog();
}

static void forks(void)
{
	pid_t child;

	fputs("parent ", stderr);
	child = fork();
	if (!child) {
		fputs("child\n", stderr);
		fputs("child's rest", stderr);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	fputs("goes on\n", stderr);
}

static void closed(void)
{
	fputs("open\n", stderr);
	close(2);
	fputs("closed\n", stderr);
	fprintf(stderr, "%s\n", "closed");
	putc('c', stderr);
	write(2, LINE("closed\n"));
	dprintf(2, "closed\n");
	clearerr(stderr);
}

/* Lines of other files have "no" in front. */
static void duplicated(void)
{
	int saved = dup(1), copy = dup(2), other;

	write(copy, LINE("dup\n"));
	write(1, LINE("no: before\n"));
	dup2(2, 1);
	write(1, LINE("dup2\n"));
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("printf %d\n", 1);
	puts("puts");
	putchar('c');
	putchar_unlocked('\n');
	fputs("fputs\n", stdout);
	dup3(saved, 1, O_CLOEXEC);
	write(1, LINE("no: after\n"));
	puts("no: after");
	close(copy);
	other = dup(1);
	write(other, LINE("no: in its place\n"));
	dup2(2, 1);
	fclose(stdout);
	other = open("/dev/null", O_WRONLY);
	write(other, LINE("no: not seen to be closed\n"));
	/* Bash and Python make duplicates in this way. */
	copy = fcntl(2, F_DUPFD, 10);
	write(copy, LINE("F_DUPFD\n"));
	close(copy);
	copy = fcntl(2, F_DUPFD_CLOEXEC, 10);
	write(copy, LINE("F_DUPFD_CLOEXEC\n"));
	other = fcntl(copy, F_DUPFD, 20);
	dprintf(other, "of a %s\n", "duplicate");
	close(copy);
	/* Another file gets a number that a duplicate of standard error had. */
	close(other);
	other = fcntl(open("/dev/null", O_WRONLY), F_DUPFD, 10);
	write(other, LINE("no: in the place of one\n"));
}

static void ends(const char *how)
{
	fputs("the ", stderr);
	if (!strcmp(how, "err")) {
		errno = ENOENT;
		err(4, "end %d", 1);
	} else if (!strcmp(how, "errx")) {
		errx(4, "end %d", 2);
	} else if (!strcmp(how, "assert")) {
		assert(!*how);
	} else if (!strcmp(how, "assert_perror")) {
		__assert_perror_fail(ENOENT, "file.c", 12, "ends");
	} else if (!strcmp(how, "error")) {
		error(4, 0, "end %d", 3);
	}
	fputs("end", stderr);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "_exit"))
		_exit(4);
	fputs("\nlost", stderr);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "ways")) {
		in_bytes();
		in_formats();
	} else if (!strcmp(what, "formats")) {
		formats();
	} else if (!strcmp(what, "wide")) {
		wide_formats();
	} else if (!strcmp(what, "odd")) {
		odd();
	} else if (!strcmp(what, "threads")) {
		threads(number);
	} else if (!strcmp(what, "handler")) {
		handler(number);
	} else if (!strcmp(what, "registered")) {
		registered();
	} else if (!strcmp(what, "syslog")) {
		messages();
	} else if (!strcmp(what, "fork")) {
		forks();
	} else if (!strcmp(what, "closed")) {
		closed();
	} else if (!strcmp(what, "duplicated")) {
		duplicated();
	} else if (!strcmp(what, "reopened")) {
		if (!freopen(argv[2], "w", stderr))
			return 3;
		in_formats();
	} else if (!strcmp(what, "and")) {
		ends(argv[2]);
	}
	return 0;
}
