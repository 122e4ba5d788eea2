/* Runs a command, and counts what the kernel does for it. count_costs LIBRARY COMMAND... preloads the
 * library, unless it is "", and prints to descriptor 3, for the command and the processes that it makes: how
 * many system calls they made, how many of these were futex() and rt_sigprocmask(), how many page faults they
 * had, and how many kilobytes that are in no file each had when it ended, together. A task that is made with
 * CLONE_UNTRACED is not seen. Exits as the command does, or with 77 where nothing can be traced. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* <linux/ptrace.h> cannot be included beside <sys/ptrace.h> everywhere. */
enum { IS_ENTRY = 1 };
#define GET_INFO ((enum __ptrace_request)0x420e)
struct info {
	unsigned char what, pad[3];
	unsigned arch;
	unsigned long long instruction, stack, number, rest[7];
};

static unsigned long calls, futexes, masks, faults, private_kb;

static void look_at(pid_t task)
{
	struct info info = {0};

	if (ptrace(GET_INFO, task, sizeof(info), &info) <= 0 || info.what != IS_ENTRY)
		return;
	calls++;
	futexes += info.number == SYS_futex;
	masks += info.number == SYS_rt_sigprocmask;
}

/* Adds the memory of a task that ends now. */
static void add_memory(pid_t task)
{
	char path[64], line[256];
	unsigned long kb;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)task);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %lu", &kb) == 1)
			private_kb += kb;
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
			     PTRACE_O_EXITKILL;
	int status, result = 1;
	pid_t first, task;

	if (argc < 3)
		return 2;
	first = fork();
	if (!first) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		close(3);
		if (*argv[1])
			setenv("LD_PRELOAD", argv[1], 1);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, first, NULL, options))
		return 77;
	ptrace(PTRACE_SYSCALL, first, NULL, NULL);
	for (;;) {
		struct rusage used;
		int signum;

		task = wait4(-1, &status, __WALL, &used);
		if (task < 0)
			break;
		if (!WIFSTOPPED(status)) {
			faults += (unsigned long)(used.ru_minflt + used.ru_majflt);
			if (task == first)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		signum = WSTOPSIG(status);
		if (signum == (SIGTRAP | 0x80))
			look_at(task);
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			add_memory(task);
		if (signum == (SIGTRAP | 0x80) || status >> 16 || signum == SIGSTOP)
			signum = 0;
		ptrace(PTRACE_SYSCALL, task, NULL, (long)signum);
	}
	dprintf(3, "%lu %lu %lu %lu %lu\n", calls, futexes, masks, faults, private_kb);
	return result;
}
