/* This program needs what its limits allow, and says how much of it there was.
 *
 *	host_memory data MOST           takes blocks of 1 MiB until there is no memory, or it has MOST
 *	host_memory size BLOCKS         makes so many small blocks, and prints how many KiB of addresses and
 *	                                of data its process takes
 *	host_memory lock HOW KIB        locks its memory with at most so many KiB of locked memory (0: as
 *	                                many as it may), and prints how many KiB are locked then, and after it
 *	                                has mapped memory and had threads. HOW is current, future, both,
 *	                                onfault, number (by syscall()), twice (current after both), or child
 *	                                (in the child of a fork)
 *	host_memory faults HOW ROUNDS   locks its memory (lock), gets a real-time policy (fifo, number,
 *	                                thread), or has one (chrt); makes calls, and prints how many page
 *	                                faults they had, and how many KiB are resident
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

/* Returns a line of /proc/self/status, in KiB. Nothing is allocated, because the limit may be reached. */
static long status(const char *field)
{
	static char text[4096];
	FILE *file = fopen("/proc/self/status", "r");
	size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *at;

	if (file)
		fclose(file);
	text[bytes] = '\0';
	at = strstr(text, field);
	return at ? atol(at + strlen(field)) : -1;
}

static int take_data(long most)
{
	long taken;

	for (taken = 0; taken < most; taken++) {
		void *block = malloc(1 << 20);

		if (!block)
			break;
		kept = block;
	}
	printf("%ld MiB\n", taken);
	return 0;
}

static int take_blocks(long blocks)
{
	for (long i = 0; i < blocks; i++) {
		kept = malloc((size_t)(i % 3000 + 10));
		if (i % 3)
			free(kept);
	}
	printf("addresses %ld data %ld\n", status("VmSize:"), status("VmData:"));
	return 0;
}

/* Leaves nobody the right to lock more than the limit. */
static int limit_locked(long kib)
{
	struct rlimit limit = {(rlim_t)kib << 10, (rlim_t)kib << 10};

	return kib && (setrlimit(RLIMIT_MEMLOCK, &limit) || (!getuid() && (setgid(65534) || setuid(65534))));
}

static int lock(const char *how)
{
	if (!strcmp(how, "current"))
		return mlockall(MCL_CURRENT);
	if (!strcmp(how, "future"))
		return mlockall(MCL_FUTURE);
	if (!strcmp(how, "onfault"))
		return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	if (!strcmp(how, "number"))
		return (int)syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE);
	if (!strcmp(how, "twice") && mlockall(MCL_CURRENT | MCL_FUTURE))
		return -1;
	return mlockall(strcmp(how, "twice") ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT);
}

static void *use_heap(void *mutex)
{
	pthread_mutex_lock(mutex);
	kept = malloc(100);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* Takes memory in the usual ways, and returns how many of them there were none for. */
static int take_memory(void)
{
	enum { THREADS = 3 };
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_attr_t small;
	pthread_t thread;
	void *block = malloc(300000);
	int failed = !block;

	kept = block;
	block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	failed += block == MAP_FAILED;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, &small, use_heap, &mutex))
			failed++;
		else
			pthread_join(thread, NULL);
	return failed;
}

static int lock_memory(const char *how, long kib)
{
	long locked;
	int result;

	if (limit_locked(kib))
		return 77;
	if (!strcmp(how, "child")) {
		if (lock(how))
			return 1;
		/* What is locked is not inherited. */
		if (fork()) {
			wait(&result);
			return result != 0;
		}
	} else {
		result = lock(how);
		printf("mlockall: %s\n", result ? strerror(errno) : "locked");
	}
	locked = status("VmLck:");
	printf("without memory: %d\n", take_memory());
	printf("locked %ld %ld\n", locked, status("VmLck:"));
	return 0;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static int count_faults(const char *how, long rounds)
{
	const struct sched_param first = {.sched_priority = 1};
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int null = open("/dev/null", O_WRONLY);
	long before;

	/* The heap has what it needs from here on. */
	kept = malloc(100000);
	free(kept);
	if ((!strcmp(how, "lock") && mlockall(MCL_CURRENT | MCL_FUTURE)) ||
	    (!strcmp(how, "fifo") && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first)) ||
	    (!strcmp(how, "number") && syscall(SYS_sched_setscheduler, getpid(), SCHED_RR, &first)) ||
	    (!strcmp(how, "thread") && pthread_setschedparam(pthread_self(), SCHED_RR, &first)))
		return 77;
	before = faults();
	for (long i = 0; i < rounds; i++) {
		kept = malloc((size_t)(i % 1000));
		pthread_mutex_lock(&mutex);
		if (write(null, "text", 4) != 4)
			return 1;
		pthread_mutex_unlock(&mutex);
		free(kept);
	}
	printf("faults %ld resident %ld\n", faults() - before, status("VmRSS:"));
	return 0;
}

int main(int argc, char **argv)
{
	long number = argc > 2 ? atol(argv[argc - 1]) : 0;

	if (argc > 1 && !strcmp(argv[1], "data"))
		return take_data(number);
	if (argc > 1 && !strcmp(argv[1], "size"))
		return take_blocks(number);
	if (argc > 3 && !strcmp(argv[1], "lock"))
		return lock_memory(argv[2], number);
	if (argc > 3 && !strcmp(argv[1], "faults"))
		return count_faults(argv[2], number);
	return 2;
}
