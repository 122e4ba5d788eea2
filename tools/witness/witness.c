/* See witness.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf_events.h"
#include "tools/common/message.h"
#include "witness_blocked.h"
#include "witness_trace.h"

enum { STEP_MS = 100 };

/* Signals of the terminal, and those that are sent to a whole group, are for the programs and fxt record. */
static void ignore_signals(void)
{
	static const int others[] = {SIGCHLD, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

	for (int i = 1; i <= SIGRTMAX; i++)
		signal(i, SIG_IGN);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		signal(others[i], SIG_DFL);
}

/* Closes what fxt record has open, but for these two: programs must see when it is killed. */
static void close_others(int one, int two)
{
	int low = one < two ? one : two, high = one < two ? two : one;

	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0U, 0);
}

/* Watches until `control` has no other end. A byte from there says that records are kept from now on. Returns
 * the exit status. */
static int watch(struct fxt_perf *perf, const struct fxt_witness_wish *wish, struct fxt_archive *out,
		 int control)
{
	struct fxt_witness_trace trace;
	bool is_over = false;
	char go;

	fxt_witness_trace_begin(&trace, out, wish, perf);
	if (wish->pid)
		fxt_witness_trace_know(&trace, (uint32_t)wish->pid);
	while (!is_over) {
		bool is_told = fxt_perf_wait(perf, control, STEP_MS);

		is_over = is_told && read(control, &go, 1) <= 0;
		fxt_perf_take(perf, is_over, fxt_witness_trace_take, &trace);
		fxt_witness_trace_step(&trace);
		fxt_witness_trace_flush(&trace);
		trace.is_on |= is_told;
	}
	fxt_witness_trace_lost(&trace, fxt_perf_lost(perf));
	if (wish->pid)
		fxt_witness_blocked(&trace, (uint32_t)wish->pid);
	fxt_witness_trace_end(&trace);
	fxt_perf_close(perf);
	fxt_archive_close(out);
	return out->has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The process beside fxt record, whose id is `record`. It reports 0 or an errno once it watches, or cannot.
 */
static _Noreturn void be_witness(const struct fxt_witness_wish *wish, pid_t record, int control,
				 int report)
{
	struct fxt_perf perf;
	struct fxt_archive out;
	int error;

	ignore_signals();
	close_others(control, report);
	error = fxt_perf_open(&perf,
			      wish->pid	       ? wish->pid
			      : wish->executor ? wish->executor
					       : record,
			      wish->hz, !wish->pid);
	if (!error && !fxt_archive_open(&out, wish->path, false))
		error = EIO;
	if (write(report, &error, sizeof(error)) != (ssize_t)sizeof(error) || error)
		_exit(EXIT_FAILURE);
	close(report);
	if (!perf.is_enough)
		fxt_error(NULL, "some threads of process %d cannot be watched, and are missing in the trace",
			  (int)wish->pid);
	fxt_archive_keep_begin(&out, &wish->keep);
	_exit(watch(&perf, wish, &out, control));
}

int fxt_witness_begin(struct fxt_witness *witness, const struct fxt_witness_wish *wish)
{
	pid_t record = getpid();
	int control[2], report[2], error = 0;
	ssize_t bytes;

	*witness = (struct fxt_witness){.control = -1};
	if (pipe2(control, O_CLOEXEC) != 0)
		return errno;
	if (pipe2(report, O_CLOEXEC) != 0) {
		error = errno;
		close(control[0]);
		close(control[1]);
		return error;
	}
	/* No signal tells of its end, so nobody who waits for children meets it. */
	witness->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (witness->pid == 0)
		be_witness(wish, record, control[0], report[1]);
	error = witness->pid < 0 ? errno : 0;
	close(control[0]);
	close(report[1]);
	if (!error) {
		do
			bytes = read(report[0], &error, sizeof(error));
		while (bytes < 0 && errno == EINTR);
		if (bytes != (ssize_t)sizeof(error))
			error = ECHILD;
	}
	close(report[0]);
	witness->control = control[1];
	if (!error) {
		witness->path = fxt_strdup(wish->path);
		return 0;
	}
	close(control[1]);
	if (witness->pid > 0)
		waitpid(witness->pid, NULL, __WALL);
	*witness = (struct fxt_witness){.control = -1};
	return error;
}

void fxt_witness_go(const struct fxt_witness *witness)
{
	ssize_t bytes;

	if (witness->pid <= 0)
		return;
	do
		bytes = write(witness->control, "", 1);
	while (bytes < 0 && errno == EINTR);
}

bool fxt_witness_end(struct fxt_witness *witness)
{
	int status = 0;
	bool is_one;

	if (witness->pid <= 0)
		return true;
	close(witness->control);
	while (waitpid(witness->pid, &status, __WALL) < 0 && errno == EINTR)
		;
	witness->pid = 0;
	is_one = fxt_archive_keep_put_together(witness->path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return is_one;
	fxt_error(NULL, "what the kernel told of the run is not whole: the process that takes it %s",
		  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "could not write it");
	return false;
}

char *fxt_witness_refusal(int error)
{
	static const char setting[] = "/proc/sys/kernel/perf_event_paranoid";
	FILE *file = error == EACCES || error == EPERM ? fopen(setting, "re") : NULL;
	char value[16] = "";

	if (file && fgets(value, sizeof(value), file))
		value[strcspn(value, "\n")] = '\0';
	if (file)
		fclose(file);
	if (error == ENOBUFS)
		return fxt_strdup("a share of the memory that programs may lock (ulimit -l) is too small for "
				  "what the kernel tells");
	if (strtol(value, NULL, 10) > 2)
		return fxt_format("kernel.perf_event_paranoid is %s, and 2 is the most that lets users",
				  value);
	return fxt_format("perf_event_open: %s", strerror(error));
}
