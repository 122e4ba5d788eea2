/* A signal comes behind each instruction of a call. Its handler makes the same call, which is interrupted
 * behind the same instruction, and so on.
 *
 *	stepped DEPTH		prints which process made the calls, and how many: "PID CALLS"
 *
 * A child calls close(-1), and its parent lets it run instruction by instruction up to the one in turn.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "unseen.h"

static struct {
	volatile bool in_call, is_over;
	volatile long level, calls;
} *shared;

static long depth;

/* -- The child --------------------------------------------------------------------------------- */

static void call(void)
{
	shared->calls++;
	if (shared->level < depth) {
		shared->in_call = true;
		unseen(SYS_kill, getpid(), SIGSTOP);
	}
	need(close(-1) == -1 && errno == EBADF);
	shared->in_call = false;
}

static void handle(int number)
{
	int error = errno;

	(void)number;
	shared->level++;
	call();
	shared->level--;
	errno = error;
}

static void child(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};

	need(sigaction(SIGUSR1, &action, NULL) == 0);
	need(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	while (!shared->is_over)
		call();
	_exit(0);
}

/* -- The parent -------------------------------------------------------------------------------- */

/* Keeps this process and its children to one processor. A step wakes one of the two and lets the other sleep,
 * which takes twenty times as long if two processors fall asleep in turn; and what takes long has more
 * instructions, because the agent reads the clock again. */
static void stay_here(void)
{
	cpu_set_t here;
	int processor = sched_getcpu();

	CPU_ZERO(&here);
	if (processor >= 0 && processor < CPU_SETSIZE) {
		CPU_SET(processor, &here);
		need(sched_setaffinity(0, sizeof(here), &here) == 0);
	}
}

/* Waits until the child stops. Returns the signal that stopped it, or 0 if the child is gone. */
static int wait_for_stop(pid_t pid)
{
	int status;

	need(waitpid(pid, &status, 0) == pid);
	need(WIFSTOPPED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Lets the child make so many instructions. Returns false if the call was over before. */
static bool step(pid_t pid, long instructions)
{
	long i;

	for (i = 0; i < instructions && shared->in_call; i++) {
		need(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		need(wait_for_stop(pid) == SIGTRAP);
	}
	return shared->in_call;
}

static void lead(pid_t pid)
{
	long instructions = 0;
	int signal;

	while ((signal = wait_for_stop(pid))) {
		/* The child stops itself where each of its calls begins. */
		if (signal == SIGSTOP) {
			if (!shared->level)
				instructions++;
			if (step(pid, instructions))
				kill(pid, SIGUSR1);
			else
				shared->is_over = true;
			signal = 0;
		}
		need(ptrace(PTRACE_CONT, pid, NULL, signal) == 0);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	depth = argc > 1 ? atol(argv[1]) : 1;
	stay_here();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED);
	pid = fork();
	need(pid >= 0);
	if (!pid)
		child();
	lead(pid);
	printf("%d %ld\n", (int)pid, shared->calls);
	return 0;
}
