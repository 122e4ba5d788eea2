/* fxt record -p: a program that runs already is watched by the kernel's records alone. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"
#include "saver.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/join/join.h"
#include "tools/programs/program.h"
#include "tools/witness/witness.h"

static volatile sig_atomic_t is_interrupted;

static void note(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* Waits until the process has ended, a signal wants the trace, or the time (0: no time) is over. */
static void wait_for(int process, uint64_t duration_ns)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = note};
	struct pollfd one = {process, POLLIN, 0};
	uint64_t end_ns = fxt_clock_ns(CLOCK_MONOTONIC) + duration_ns, now_ns;
	struct timespec left;
	sigset_t blocked, before;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&blocked, ends[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &action, NULL);
	while (!is_interrupted) {
		now_ns = fxt_clock_ns(CLOCK_MONOTONIC);
		if (duration_ns && now_ns >= end_ns)
			break;
		left = (struct timespec){(time_t)((end_ns - now_ns) / 1000000000),
					 (long)((end_ns - now_ns) % 1000000000)};
		if (ppoll(&one, 1, duration_ns ? &left : NULL, &before) != 0 && errno != EINTR)
			break;
		if (one.revents)
			break;
	}
	/* A second signal ends fxt record. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Returns NAME.PID.fxt, by the name that the kernel has for the process. */
static char *default_output(const struct fxt_record_options *o)
{
	char *comm = fxt_format("/proc/%d/comm", (int)o->pid), name[32] = "process", *path;
	FILE *file = fopen(comm, "re");

	free(comm);
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "/\n")] = '\0';
	if (file)
		fclose(file);
	path = fxt_format("%s.%d.fxt%s", name, (int)o->pid, o->compresses ? ".zst" : "");
	return path;
}

/* Makes the trace of what the witness has. Returns false after a message. */
static bool collect(const struct fxt_record_options *o, const char *directory, const char *path,
		    uint64_t start_ns)
{
	struct fxt_run run = {.pid = o->pid, .wall_ns = fxt_clock_ns(CLOCK_MONOTONIC) - start_ns};
	struct fxt_merge merge = {.lacks_perfetto = o->lacks_perfetto};
	struct fxt_parts parts;
	bool ok;

	fxt_parts_find(&parts, directory, NULL);
	ok = parts.count && fxt_join(&merge, &parts, path, NULL, false);
	if (ok) {
		if (o->compresses)
			fxt_join_pack(path, &merge.packed_bytes);
		fxt_record_summary(o, &merge, &run, path);
		fxt_parts_remove(&parts, directory);
	}
	if (parts.count)
		fxt_merge_free(&merge);
	fxt_parts_free(&parts);
	return ok;
}

/* Watches with a directory for the part. Returns the exit status. */
static int watch(const struct fxt_record_options *o, int process, const char *directory, const char *path)
{
	char *part = fxt_format("%s/" FXT_PARTS_WITNESS, directory), *why;
	const struct fxt_witness_wish wish = {
		.pid = o->pid, .hz = o->hz, .keep = fxt_saver_kernel_alone(o), .path = part};
	uint64_t start_ns = fxt_clock_ns(CLOCK_MONOTONIC);
	struct fxt_witness witness;
	int error = fxt_witness_begin(&witness, &wish);
	bool ok = false;

	if (error) {
		why = fxt_witness_refusal(error);
		fxt_error(NULL, "process %d cannot be watched: %s", (int)o->pid, why);
		free(why);
	} else {
		wait_for(process, o->duration_ns ? strtoull(o->duration_ns, NULL, 10) : 0);
		ok = fxt_witness_end(&witness) && collect(o, directory, path, start_ns);
		free(witness.path);
	}
	free(part);
	rmdir(directory);
	return ok ? EXIT_SUCCESS : FXT_STATUS_FAILED;
}

int fxt_record_watch(const struct fxt_record_options *o)
{
	int process = (int)syscall(SYS_pidfd_open, o->pid, 0), status = FXT_STATUS_FAILED;
	char *path, *directory;

	if (process < 0) {
		fxt_error(NULL, "process %d: %s", (int)o->pid, strerror(errno));
		return status;
	}
	path = o->out ? fxt_strdup(o->out) : default_output(o);
	directory = fxt_parts_directory(path, o->quiet);
	if (directory)
		status = watch(o, process, directory, path);
	free(directory);
	free(path);
	close(process);
	return status;
}
