/* Makes slow calls of each sort. Prints what each cost as the program measured it around the call, "NAME
 * cpu_ns voluntary involuntary".
 *
 *	slow sleeps		waits in nanosleep(), with short calls before that need no explanation
 *	slow works		works in readv() of zeros
 *	slow preempted		works on a processor that somebody else wants as well
 *	slow functions		has functions that sleep and that work
 *	slow filtered		sleeps under a filter that kills for each call that the agent might learn by
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

enum { TIMES = 20, PIECES = 256, PIECE_BYTES = 1 << 20 };

struct totals {
	long long cpu_ns, voluntary, involuntary;
};

static char piece[PIECE_BYTES];
static int null, zero;

static PLAIN void need(int condition)
{
	if (!condition)
		abort();
}

static PLAIN struct totals totals(void)
{
	struct timespec cpu;
	struct rusage usage;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	getrusage(RUSAGE_THREAD, &usage);
	return (struct totals){cpu.tv_sec * 1000000000LL + cpu.tv_nsec, usage.ru_nvcsw, usage.ru_nivcsw};
}

static PLAIN void pause_for(long ns)
{
	struct timespec time = {0, ns};

	need(!nanosleep(&time, NULL));
}

static PLAIN void work(void)
{
	struct iovec pieces[PIECES];
	int i;

	for (i = 0; i < PIECES; i++)
		pieces[i] = (struct iovec){piece, PIECE_BYTES};
	need(readv(zero, pieces, PIECES) == (ssize_t)PIECES * PIECE_BYTES);
}

static __attribute__((noinline, noclone)) void sleeper(void)
{
	pause_for(3000000);
}

static __attribute__((noinline, noclone)) void worker(void)
{
	work();
}

static PLAIN void sleep_once(void)
{
	pause_for(3000000);
}

static PLAIN void measure(const char *name, void (*call)(void))
{
	struct totals before, after;
	int i;

	for (i = 0; i < 200; i++)
		need(write(null, "", 1) == 1);
	before = totals();
	call();
	after = totals();
	printf("%s %lld %lld %lld\n", name, after.cpu_ns - before.cpu_ns, after.voluntary - before.voluntary,
	       after.involuntary - before.involuntary);
}

static PLAIN void share_processor(void)
{
	cpu_set_t set;
	pid_t self = getpid(), rival;
	int i;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	need(!sched_setaffinity(0, sizeof(set), &set));
	rival = fork();
	need(rival >= 0);
	if (!rival) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* If the parent was killed before the prctl(), no signal comes, but getppid() differs. */
		while (getppid() == self)
			;
		_exit(0);
	}
	for (i = 0; i < TIMES; i++)
		measure("readv", work);
	kill(rival, SIGKILL);
	waitpid(rival, NULL, 0);
}

#define KILL_FOR(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static PLAIN void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_FOR(SYS_getrusage),
		KILL_FOR(SYS_clock_gettime),
		KILL_FOR(SYS_openat),
		KILL_FOR(SYS_newfstatat),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

PLAIN int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int i;

	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	memset(piece, 1, sizeof(piece));
	if (!strcmp(what, "sleeps")) {
		for (i = 0; i < TIMES; i++)
			measure("nanosleep", sleep_once);
	} else if (!strcmp(what, "works")) {
		for (i = 0; i < TIMES; i++)
			measure("readv", work);
	} else if (!strcmp(what, "preempted")) {
		share_processor();
	} else if (!strcmp(what, "functions")) {
		for (i = 0; i < TIMES; i++) {
			measure("sleeper", sleeper);
			measure("worker", worker);
		}
	} else if (!strcmp(what, "filtered")) {
		filter();
		for (i = 0; i < TIMES; i++)
			pause_for(3000000);
	} else {
		return 2;
	}
	return 0;
}
