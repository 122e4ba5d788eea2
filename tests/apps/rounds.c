/* Does what it reads from standard input, a line at a time, in its threads and in processes that it makes.
 * Each call looks for /nowhere/NUMBER. The number is the call's own among all processes, and a file that they
 * share has when the call began and ended, and in which process. So whoever reads the file knows which calls
 * a trace has to have. What it prints follows from what it reads.
 *
 *	rounds FILE THREADS
 *
 *	r N	each thread makes N calls, and `ok r` is printed
 *	g	each thread makes calls until `h` is read; `ok g` is printed at once
 *	h	and `ok h`, when the threads have come to a rest
 *	f N	a forked child makes N calls, in a thread too, and ends; its exit status is printed
 *	k N	a forked child makes N calls and kills itself; its signal is printed
 *	x N	a forked child executes this program, whose thread makes N calls; the exit status is printed
 *	v N	the same with vfork()
 *	e	the process executes this program, which goes on
 *
 * The file's first word is how many calls there are, and from byte 4096 on each has three words: the process,
 * and two times in nanoseconds of CLOCK_BOOTTIME.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

	need(number < MOST_CALLS);
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

static void *work(void *argument)
{
	const struct timespec pause = {0, 100 * 1000};
	unsigned long seen = 0, mine;

	(void)argument;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (round_number == seen)
			pthread_cond_wait(&changed, &lock);
		seen = round_number;
		mine = count;
		pthread_mutex_unlock(&lock);
		look_often(mine);
		for (unsigned long i = 1; atomic_load(&goes_on); i++) {
			look();
			if (i % 64 == 0)
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
		need(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_detach(thread) == 0);
	while (fgets(line, sizeof(line), stdin))
		obey(line[0], line + 1);
	return EXIT_STATUS;
}
