/* Does what it reads from standard input, a line at a time, in its threads and in processes that it makes.
 * Each call looks for /nowhere/NUMBER. The number is the call's own among all processes, and a file that they
 * share has when the call began and ended, and in which process. So whoever reads the file knows which calls
 * a trace has to have. What it prints follows from what it reads.
 *
 *	rounds FILE THREADS
 *
 *	r N	each thread makes N calls, and `ok r` is printed
 *	g	each thread makes calls until `h` is read; `ok g` is printed at once
 *	z SEED [WAYS]
 *		the same as g, but each thread does now and then one of the things that a program may do: it
 *		makes a child by fork() or vfork() or posix_spawn() or a thread, which makes some calls, or it
 *		executes what is not there. WAYS has an s: it also asks for filters of system calls that the
 *		kernel refuses. WAYS has a t: it forbids itself to read the processor's counter for a moment
 *	h	and `ok h`, when the threads have come to a rest
 *	f N	a forked child makes N calls, in a thread too, and ends; its exit status is printed
 *	k N	a forked child makes N calls and kills itself; its signal is printed
 *	x N	a forked child executes this program, whose thread makes N calls; the exit status is printed
 *	v N	the same with vfork()
 *	e	the process executes this program, which goes on
 *
 * The file's first word is how many calls there are, and from byte 4096 on each has three words: the process,
 * and two times in nanoseconds of CLOCK_BOOTTIME. Calls that the file has no room for look for /unnoted.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

enum { HEAD_BYTES = 4096, MOST_CALLS = 1 << 22, MOST_THREADS = 64, LINE_BYTES = 64, EXIT_STATUS = 7 };

struct note {
	uint64_t process, began_ns, ended_ns;
};

static _Atomic uint64_t *made;
static struct note *notes;
static char **arguments;

/* What the threads are to do: `count` calls each, in a round that has a number, or calls without end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long round_number, count, at_work, threads;
static atomic_bool goes_on;

/* The things that restless threads do; 0: they are not restless. */
static unsigned long restless;
static bool asks_for_filters, forbids_counter;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void look(void)
{
	uint64_t number = atomic_fetch_add(made, 1);
	char path[LINE_BYTES];

	if (number >= MOST_CALLS) {
		need(access("/unnoted", F_OK) != 0);
		return;
	}
	snprintf(path, sizeof(path), "/nowhere/%lu", (unsigned long)number);
	notes[number].process = (uint64_t)getpid();
	notes[number].began_ns = now_ns();
	need(access(path, F_OK) != 0);
	notes[number].ended_ns = now_ns();
}

static void look_often(unsigned long times)
{
	while (times--)
		look();
}

static void *look_argument(void *times)
{
	look_often((unsigned long)(uintptr_t)times);
	return NULL;
}

/* Makes so many calls in this thread, and as many in another one. */
static void look_in_two(unsigned long times)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, look_argument, (void *)(uintptr_t)times) == 0);
	look_often(times);
	pthread_join(thread, NULL);
}

static void execute(const char *what, const char *times)
{
	execl("/proc/self/exe", arguments[0], arguments[1], arguments[2], what, times, NULL);
	_exit(1);
}

static unsigned draw(uint64_t *state, unsigned below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(*state >> 33) % below;
}

/* Waits for a child that is to end normally, or was killed if `may_be_killed`. */
static void await_child(pid_t child, int exit_status, bool may_be_killed)
{
	int status;

	need(child > 0 && waitpid(child, &status, 0) == child);
	need(WIFEXITED(status) ? WEXITSTATUS(status) == exit_status
			       : may_be_killed && WTERMSIG(status) == SIGKILL);
}

static void fork_child(uint64_t *state)
{
	unsigned times = draw(state, 60);
	bool in_two = draw(state, 2), is_killed = draw(state, 4) == 0;
	pid_t child = fork();

	if (!child) {
		if (in_two)
			look_in_two(times);
		else
			look_often(times);
		_exit(EXIT_STATUS);
	}
	look_often(draw(state, 20));
	if (is_killed)
		kill(child, SIGKILL);
	await_child(child, EXIT_STATUS, is_killed);
}

static void vfork_child(uint64_t *state)
{
	bool is_there = draw(state, 2);
	pid_t child = vfork();

	if (!child) {
		execl("/nowhere/first", "first", NULL);
		if (is_there)
			execute("child", "5");
		_exit(EXIT_STATUS);
	}
	await_child(child, EXIT_STATUS, false);
}

static void spawn_child(uint64_t *state)
{
	char *const argv[] = {arguments[0], arguments[1], arguments[2], "child", "3", NULL};
	pid_t child;

	if (draw(state, 2))
		need(posix_spawn(&child, "/nowhere/spawned", NULL, NULL, argv, environ) != 0);
	else if (need(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) == 0), true)
		await_child(child, EXIT_STATUS, false);
}

/* Asks for a filter with a flag that no kernel knows. */
static void ask_for_filter(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog filter = {1, code};

	need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 30, &filter) != 0);
}

/* Makes a call while this thread may not read the processor's counter: the C library would do that too, for
 * the time. */
static void forbid_counter(void)
{
#if defined(__x86_64__)
	need(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
	need(access("/nowhere/without/counter", F_OK) != 0);
	need(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) == 0);
#endif
}

static void do_something(uint64_t *state)
{
	pthread_t thread;

	switch (draw(state, 200)) {
	case 0:
		fork_child(state);
		break;
	case 1:
		vfork_child(state);
		break;
	case 2:
		spawn_child(state);
		break;
	case 3:
	case 4:
		need(pthread_create(&thread, NULL, look_argument, (void *)(uintptr_t)draw(state, 20)) == 0);
		look_often(draw(state, 20));
		pthread_join(thread, NULL);
		break;
	case 5:
	case 6:
		need(execl("/nowhere/executed", "executed", NULL) != 0);
		break;
	case 7:
		if (asks_for_filters)
			ask_for_filter();
		break;
	case 8:
		if (forbids_counter)
			forbid_counter();
		break;
	default:
		look_often(1 + draw(state, 30));
	}
}

static void *work(void *argument)
{
	const struct timespec pause = {0, 100 * 1000};
	unsigned long seen = 0, mine;
	uint64_t state;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (round_number == seen)
			pthread_cond_wait(&changed, &lock);
		seen = round_number;
		mine = count;
		pthread_mutex_unlock(&lock);
		look_often(mine);
		state = restless + (uintptr_t)argument;
		for (unsigned long i = 1; atomic_load(&goes_on); i++) {
			if (restless)
				do_something(&state);
			else
				look();
			if (i % (restless ? 2 : 64) == 0)
				nanosleep(&pause, NULL);
		}
		pthread_mutex_lock(&lock);
		at_work--;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void begin_round(unsigned long calls)
{
	pthread_mutex_lock(&lock);
	count = calls;
	at_work = threads;
	round_number++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void await_round(void)
{
	pthread_mutex_lock(&lock);
	while (at_work)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* Makes a child of the kind `what`, and prints how it has ended. */
static void make_child(char what, const char *times)
{
	pid_t child = what == 'v' ? vfork() : fork();
	int status;

	if (!child && (what == 'x' || what == 'v'))
		execute("child", times);
	if (!child) {
		look_in_two(strtoul(times, NULL, 10));
		if (what == 'k')
			raise(SIGKILL);
		_exit(EXIT_STATUS);
	}
	need(child > 0 && waitpid(child, &status, 0) == child);
	printf("%c %d %d\n", what, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

static void obey(char what, const char *rest)
{
	switch (what) {
	case 'r':
		begin_round(strtoul(rest, NULL, 10));
		await_round();
		break;
	case 'z':
		restless = strtoul(rest, NULL, 10);
		asks_for_filters = strchr(rest, 's');
		forbids_counter = strchr(rest, 't');
		/* fall through */
	case 'g':
		atomic_store(&goes_on, true);
		begin_round(0);
		break;
	case 'h':
		atomic_store(&goes_on, false);
		await_round();
		break;
	case 'e':
		execute("again", "0");
		return;
	default:
		make_child(what, rest);
		return;
	}
	printf("ok %c\n", what);
}

int main(int argc, char **argv)
{
	char line[LINE_BYTES];
	pthread_t thread;
	char *memory;
	int fd;

	need(argc == 3 || argc == 5);
	arguments = argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* What follows a line that makes the process execute belongs to the program that is executed. */
	setvbuf(stdin, NULL, _IONBF, 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	need(fd >= 0 && ftruncate(fd, HEAD_BYTES + (off_t)MOST_CALLS * (off_t)sizeof(*notes)) == 0);
	memory = mmap(NULL, HEAD_BYTES + MOST_CALLS * sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	need(memory != MAP_FAILED);
	close(fd);
	made = (void *)memory;
	notes = (void *)(memory + HEAD_BYTES);
	if (argc == 5 && !strcmp(argv[3], "child")) {
		look_in_two(strtoul(argv[4], NULL, 10));
		return EXIT_STATUS;
	}
	if (argc == 5)
		printf("executed\n");
	threads = strtoul(argv[2], NULL, 10);
	need(threads <= MOST_THREADS);
	for (unsigned long i = 0; i < threads; i++)
		need(pthread_create(&thread, NULL, work, (void *)i) == 0 && pthread_detach(thread) == 0);
	while (fgets(line, sizeof(line), stdin))
		obey(line[0], line + 1);
	return EXIT_STATUS;
}
