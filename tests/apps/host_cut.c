/* This program cuts its own trace at random moments and to random lengths: it does so itself, or a child
 * does. In a bare run there is no trace, and nothing is cut.
 *
 *	host_cut self|other TIMES       two threads make marks meanwhile
 *	host_cut handler                has actions of its own for SIGBUS, and faults of its own
 *	host_cut sent TIMES             gets the signal from a child, while it makes marks; nothing is cut
 */
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"        /* siginterrupt() is deprecated */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "host.h"
#include "random.h"

static char trace[4096];

/* Finds the path of the trace. hosts_lib.sh has asked for DIRECTORY/%e.%p.fxt. */
static void find_trace(void)
{
	const char *output = getenv("FXT_OUTPUT"), *name = output ? strrchr(output, '/') : NULL;

	if (name)
		snprintf(trace, sizeof(trace), "%.*s/host_cut.%d.fxt", (int)(name - output), output,
			 getpid());
}

/* Cuts the trace to a length below its own, and in one of three times to nothing. */
static void cut(void)
{
	struct stat status;

	if (*trace && !stat(trace, &status) && status.st_size)
		need(!truncate(trace, random_below(3) ? (off_t)random_below((unsigned)status.st_size) : 0));
}

static void cut_by(const char *who)
{
	pid_t child;
	int status;

	if (!strcmp(who, "self")) {
		cut();
		return;
	}
	child = fork();
	if (!child) {
		cut();
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && !status);
}

/* -- Cut while marks are made --------------------------------------------------------------------- */

static atomic_bool is_over;

static void *run(void *unused)
{
	while (!atomic_load(&is_over)) {
		mark();
		sched_yield();
	}
	return unused;
}

static void cuts(const char *who, unsigned times)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, run, NULL));
	mark_times(random_below(20000));
	while (times--) {
		cut_by(who);
		mark_times(random_below(20000));
	}
	atomic_store(&is_over, true);
	need(!pthread_join(thread, NULL));
	puts("over");
}

/* -- A handler of its own ------------------------------------------------------------------------ */

static volatile char *mapped;
static char stack[1 << 16];

/* Maps two pages of a file that has one. */
static void map_beyond(void)
{
	char name[] = "/tmp/host_cut.XXXXXX";
	int fd = mkstemp(name);

	need(fd >= 0 && !unlink(name) && !ftruncate(fd, 4096));
	mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(mapped != MAP_FAILED);
	close(fd);
}

static void show_action(const char *what)
{
	struct sigaction now;

	memset(&now, 0, sizeof(now));
	need(!sigaction(SIGBUS, NULL, &now));
	printf("%s: %s, flags %x, mask %lx, restorer %d\n", what,
	       now.sa_handler == SIG_DFL   ? "default"
	       : now.sa_handler == SIG_IGN ? "ignored"
					   : "a handler",
	       (unsigned)now.sa_flags, *(unsigned long *)&now.sa_mask, now.sa_restorer != NULL);
}

static volatile int code, is_at, is_on_stack;
static volatile unsigned long mask;

static void note(int signum, siginfo_t *info, void *data)
{
	char here;
	sigset_t blocked;

	(void)data;
	mark();
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	mask = *(unsigned long *)&blocked;
	code = info->si_code;
	is_at = signum == SIGBUS && info->si_addr == (void *)(mapped + 4096);
	is_on_stack = &here >= stack && &here < stack + sizeof(stack);
	if (code > 0)
		mmap((void *)(mapped + 4096), 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void note_signal(int signum)
{
	(void)signum;
	code = -1;
	mmap((void *)(mapped + 4096), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
}

static void fault(const char *what)
{
	map_beyond();
	code = is_at = is_on_stack = 0;
	mask = 0;
	mapped[4096] = 1;
	printf("%s: code %d, at the place %d, on the stack %d, mask %lx, stored %d\n", what, code, is_at,
	       is_on_stack, mask, mapped[4096]);
	mark();
}

/* Faults in a child, and prints how the child ended. */
static void fault_in_child(const char *what)
{
	const struct rlimit none = {0, 0};
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		cut();
		fault(what);
		fflush(stdout);
		fault("again");
		fflush(stdout);
		_exit(3);
	}
	wait_for(child);
}

/* Prints which signals a program ignores that is executed. */
static void execute(void)
{
	pid_t child;

	fflush(stdout);
	child = vfork();
	if (!child) {
		execlp("sh", "sh", "-c", "grep SigIgn /proc/self/status", NULL);
		_exit(1);
	}
	wait_for(child);
}

static void set(int flags, int blocked)
{
	struct sigaction act = {.sa_sigaction = note, .sa_flags = flags};

	sigemptyset(&act.sa_mask);
	if (blocked)
		sigaddset(&act.sa_mask, blocked);
	need(!sigaction(SIGBUS, &act, NULL));
}

static void handlers(void)
{
	static const int flags[] = {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK, SA_SIGINFO | SA_NODEFER,
				    SA_SIGINFO | SA_RESETHAND,
				    SA_SIGINFO | SA_RESTART | SA_RESETHAND | SA_ONSTACK};
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} by_number = {0};
	unsigned i;

	show_action("at first");
	fault_in_child("default");
	need(!sigaltstack(&alternate, NULL));
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		set(flags[i], i % 2 ? SIGUSR1 : 0);
		show_action("set");
		fault_in_child("child");
		cut();
		fault("own");
		show_action("after");
		execute();
	}
	printf("signal: %d\n", signal(SIGBUS, note_signal) == SIG_DFL);
	show_action("signal");
	fault("signal");
	printf("siginterrupt: %d\n", siginterrupt(SIGBUS, 1));
	show_action("siginterrupt");
	fault("siginterrupt");
	need(!syscall(SYS_rt_sigaction, SIGBUS, NULL, &by_number, 8));
	printf("by number: %d, flags %lx, mask %lx\n", by_number.handler == (void *)note_signal,
	       by_number.flags, by_number.mask);
	by_number.handler = (void *)note;
	by_number.flags |= SA_SIGINFO;
	need(!syscall(SYS_rt_sigaction, SIGBUS, &by_number, NULL, 8));
	show_action("by number");
	cut();
	fault("by number");
	printf("ignored: %d\n", signal(SIGBUS, SIG_IGN) == (sighandler_t)(void *)note);
	show_action("ignored");
	need(!raise(SIGBUS));
	execute();
	fault_in_child("ignored");
	printf("default: %d\n", signal(SIGBUS, SIG_DFL) == SIG_IGN);
	show_action("default");
	execute();
	fault_in_child("default");
}

/* -- Sent by another process --------------------------------------------------------------------- */

enum { MOST_TURNS = 100 * 1000 };

static atomic_uint *seen;

static void count(int signum, siginfo_t *info, void *data)
{
	(void)signum, (void)data;
	if (info->si_code == SI_USER && info->si_uid == getuid())
		atomic_fetch_add(seen, 1);
	mark();
}

static void sent(unsigned times)
{
	struct sigaction act = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
	pid_t child, parent = getpid();
	unsigned i;
	int status, left;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(!sigaction(SIGBUS, &act, NULL));
	child = fork();
	if (!child) {
		for (i = 0; i < times; i++) {
			need(!kill(parent, SIGBUS));
			/* The child does not wait for ever if its parent was killed. */
			while (atomic_load(seen) == i && getppid() == parent)
				sched_yield();
		}
		_exit(0);
	}
	/* On a busy machine a signal may take the child a whole turn of the scheduler. Marks for all that
	 * time would fill any trace. */
	for (left = MOST_TURNS; !waitpid(child, &status, WNOHANG); left--)
		if (left > 0)
			mark_times(10);
		else
			sched_yield();
	printf("signals %u, child %x\n", atomic_load(seen), status);
}

int main(int argc, char **argv)
{
	need(argc > 1);
	random_seed(0);
	find_trace();
	if (!strcmp(argv[1], "handler"))
		handlers();
	else if (!strcmp(argv[1], "sent"))
		sent((unsigned)atoi(argv[2]));
	else
		cuts(argv[1], (unsigned)atoi(argv[2]));
	return 0;
}
