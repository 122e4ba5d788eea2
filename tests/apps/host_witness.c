/* libhost_witness.so is preloaded into a program, bare or behind the agent. It appends a line to the file
 * $WITNESS when a process begins, and one when it ends by exit() or _exit(). A line says what the process
 * has, as far as the C library tells. The lines of a bare and of a traced run have to be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIGHEST_DESCRIPTOR = 4200 };

struct line {
	size_t used;
	char text[8192];
};

static char path[512];

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, list);
	va_end(list);
	if (n > 0 && (size_t)n < sizeof(line->text) - line->used)
		line->used += (size_t)n;
}

static void add_descriptors(struct line *line)
{
	struct stat status;
	int fd, flags;

	add(line, " descriptors");
	for (fd = 0; fd < HIGHEST_DESCRIPTOR; fd++) {
		flags = fcntl(fd, F_GETFD);
		if (flags != -1)
			add(line, " %d:%x:%x", fd, (unsigned)flags,
			    !fstat(fd, &status) ? status.st_mode & S_IFMT : 0);
	}
}

static void add_set(struct line *line, const char *what, const sigset_t *set)
{
	int number;

	add(line, " %s", what);
	for (number = 1; number < NSIG; number++)
		if (sigismember(set, number) == 1)
			add(line, ",%d", number);
}

static void add_signals(struct line *line)
{
	struct sigaction action;
	stack_t stack;
	sigset_t set;
	int number;

	if (!sigprocmask(SIG_BLOCK, NULL, &set))
		add_set(line, "blocked", &set);
	if (!sigpending(&set))
		add_set(line, "pending", &set);
	for (number = 1; number < NSIG; number++) {
		if (sigaction(number, NULL, &action) || (action.sa_handler == SIG_DFL && !action.sa_flags))
			continue;
		add(line, " action %d:%s:%x", number,
		    action.sa_handler == SIG_DFL   ? "default"
		    : action.sa_handler == SIG_IGN ? "ignored"
						   : "handled",
		    (unsigned)action.sa_flags);
		add_set(line, "mask", &action.sa_mask);
	}
	if (!sigaltstack(NULL, &stack))
		add(line, " alternate stack %zu:%x", stack.ss_size, (unsigned)stack.ss_flags);
}

static void add_limits(struct line *line)
{
	struct rlimit limit;
	int i;

	add(line, " limits");
	for (i = 0; i < (int)RLIM_NLIMITS; i++)
		if (!getrlimit((__rlimit_resource_t)i, &limit))
			add(line, " %lx:%lx", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
}

static void testify(const char *when)
{
	/* This is the program's errno, which vsnprintf() and the others change. */
	int error = errno, out;
	struct line line = {0};
	char directory[512];
	mode_t mask = umask(0);

	umask(mask);
	add(&line, "%s %s: errno %d umask %o", program_invocation_short_name, when, error, (unsigned)mask);
	add_descriptors(&line);
	add_signals(&line);
	add_limits(&line);
	add(&line, " in %s\n", getcwd(directory, sizeof(directory)) ? directory : "?");
	/* The file is open only here, after the list of descriptors is made. */
	out = path[0] ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (out >= 0) {
		if (write(out, line.text, line.used) != (ssize_t)line.used)
			abort();
		close(out);
	}
	errno = error;
}

__attribute__((constructor)) static void begin(void)
{
	const char *value = getenv("WITNESS");

	if (value && strlen(value) < sizeof(path))
		strcpy(path, value);
	testify("begins");
}

__attribute__((destructor)) static void end(void)
{
	testify("ends");
}

__attribute__((noreturn)) void _exit(int status)
{
	testify("ends at once");
	for (;;)
		syscall(SYS_exit_group, status);
}
