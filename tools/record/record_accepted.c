/* Asks the agent itself which options and variables it does not accept, so that there is one reader of each
 * (config.c of the agent), and a mistake is said before the command runs. See record.h.
 *
 *   fxt record ----> fxt --version, with the agent and the command's variables, and a FXT_OUTPUT that the
 *        ^               agent never accepts: so it prints its mistakes, records nothing and makes no file
 *        +--- a pipe ------ its standard error
 *
 * Where neither an option nor the environment has anything for the agent, there is nothing to ask, and a run
 * begins two milliseconds sooner. If no line about FXT_OUTPUT comes, the agent was not asked, as where /proc
 * is missing, and the command runs.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/programs/program.h"

static const char output[] = "FXT_OUTPUT", untraced[] = "; the program runs untraced";

/* Executes fxt with the agent. It says what the agent thinks on `said`. */
static void __attribute__((noreturn))
be_asked(const struct fxt_record_options *o, const char *agent, int said)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fxt_record_environment(o, agent, "/", NULL, NULL, NULL);
	setenv("LD_PRELOAD", agent, 1);
	setenv(output, "%", 1);
	unsetenv("FXT_QUIET");
	unsetenv("FXT_BUDGET");
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
	    dup2(said, STDERR_FILENO) >= 0)
		execl("/proc/self/exe", "fxt", "--version", (char *)NULL);
	_exit(FXT_STATUS_FAILED);
}

/* Waits for process `pid`, a child. */
static void wait_for(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* Begins a process that has the agent asked, and returns its number. It sends no signal when it ends: a
 * SIGCHLD that the caller blocks would be pending still when the command is executed in this process. A
 * process that executes something sends one, so that is done by a child of this one. */
static pid_t begin(const struct fxt_record_options *o, const char *agent, int said)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL), asked;

	if (pid)
		return pid;
	asked = fork();
	if (asked == 0)
		be_asked(o, agent, said);
	wait_for(asked);
	_exit(0);
}

/* Returns what the agent has said, or NULL. */
static char *ask(const struct fxt_record_options *o, const char *agent)
{
	char *text = NULL, part[1024];
	size_t bytes = 0;
	FILE *all;
	int ends[2], said;
	ssize_t n = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	/* The end of the pipe may not be a standard descriptor, which would be closed for it. */
	said = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pid = said >= 0 ? begin(o, agent, said) : -1;
	close(ends[1]);
	if (said >= 0)
		close(said);
	all = fxt_text_stream(&text, &bytes);
	while (pid > 0 && ((n = read(ends[0], part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))) {
		if (n > 0)
			fwrite(part, 1, (size_t)n, all);
	}
	fclose(all);
	close(ends[0]);
	wait_for(pid);
	return text;
}

/* Prints a line of the agent as one of fxt. It begins with the variable's name. */
static void say(const struct fxt_record_options *o, char *line)
{
	size_t bytes = strcspn(line, ": ="), value = line[bytes] == '=' ? strcspn(line + bytes, " ") : 0;
	const char *option = fxt_record_option_of(o, line, bytes);
	char *end = strstr(line, untraced);

	if (end)
		*end = '\0';
	if (option)
		fxt_error(NULL, "%s%s", option, line + bytes + value);
	else
		fxt_error(NULL, "%s", line);
}

/* The variables that somebody may have meant who set one that does not exist. */
static const char *const variables[] = {
	"FXT_AGENT",
	"FXT_BUDGET",
	"FXT_BUFFERING_MODE",
	"FXT_BUFFER_SIZE_MB",
	"FXT_CALLERS",
	"FXT_CATEGORIES",
	"FXT_CLOCK",
	"FXT_DEPTH",
	"FXT_EXPLAIN_NS",
	"FXT_FILTER",
	"FXT_FOLLOW",
	"FXT_HEAP_SAMPLE_BYTES",
	"FXT_HEAP_TRACK_BYTES",
	"FXT_MANAGER",
	"FXT_MAX_SIZE_MB",
	"FXT_NAMESPACE",
	"FXT_ON_FULL",
	"FXT_OUTPUT",
	"FXT_PATCH",
	"FXT_PLT",
	"FXT_QUIET",
	"FXT_RUN",
	"FXT_SANITIZER",
	"FXT_SHARED",
	"FXT_SIGNAL",
	"FXT_STACKS",
	"FXT_START",
	"FXT_STORAGE",
	"FXT_THRESHOLD_NS",
	"FXT_TRIGGER",
	"FXT_TRIGGER_KEEP",
	"FXT_WRAPPERS",
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* Refuses a variable of the environment whose name is nearly that of one of ours. Returns false after a
 * message. */
static bool check_names(void)
{
	extern char **environ;
	bool ok = true;

	for (char **at = environ; *at; at++) {
		char *name = fxt_format("%.*s", (int)strcspn(*at, "="), *at);
		const char *meant =
			strncmp(name, "FXT_", 4) == 0 ? fxt_nearest(name, variables, VARIABLES) : NULL;

		/* The first four characters are the same, and no sign that something was misspelt. */
		if (meant && strcmp(meant, name) != 0 &&
		    fxt_nearest(name + 4, &(const char *){meant + 4}, 1)) {
			fxt_error(NULL, "there is no variable %s: did you mean %s?", name, meant);
			ok = false;
		}
		free(name);
	}
	return ok;
}

static bool has_variables(void)
{
	extern char **environ;
	char **at = environ;

	while (*at && strncmp(*at, "FXT_", 4) != 0)
		at++;
	return *at;
}

bool fxt_record_accepted(const struct fxt_record_options *o, const char *agent)
{
	static const char prefix[] = "fxtagent[";
	bool is_asked = fxt_record_sets_any(o) || has_variables();
	char *text = is_asked ? ask(o, agent) : NULL, *rest = text, *line;
	bool is_answered = text && strstr(text, output), ok = check_names();

	while (is_answered && (line = strsep(&rest, "\n"))) {
		char *message = strstr(line, "]: ");

		if (strncmp(line, prefix, strlen(prefix)) != 0 || !message ||
		    strncmp(message + 3, output, strlen(output)) == 0)
			continue;
		say(o, message + 3);
		ok = false;
	}
	free(text);
	return ok;
}
