/* Threads look for /nowhere/THREAD/NUMBER, again and again, and note in a file when each of these calls
 * began and ended. So whoever reads the file knows which calls a trace has to have, whatever becomes of the
 * program.
 *
 *	noted FILE THREADS MOST BURST PAUSE_US
 *
 * A thread makes MOST calls at most, and rests for a moment after BURST of them. All end when standard input
 * does. The file has a word for each thread, which says how many calls it has made, and from byte 4096 on two
 * words for each call of the first thread, then of the second, ...: nanoseconds of CLOCK_BOOTTIME.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

enum { HEAD_BYTES = 4096, MOST_THREADS = 64 };

struct note {
	uint64_t began_ns, ended_ns;
};

static _Atomic uint64_t *done;
static struct note *notes;
static unsigned long most, burst;
static struct timespec pause_time;
static atomic_bool is_over;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *look(void *argument)
{
	size_t thread = (size_t)argument;
	struct note *note = notes + thread * most;
	char path[64];

	for (unsigned long i = 0; i < most && !atomic_load_explicit(&is_over, memory_order_relaxed); i++) {
		snprintf(path, sizeof(path), "/nowhere/%zu/%lu", thread, i);
		note[i].began_ns = now_ns();
		need(access(path, F_OK) != 0);
		note[i].ended_ns = now_ns();
		atomic_store_explicit(&done[thread], i + 1, memory_order_release);
		if ((i + 1) % burst == 0)
			nanosleep(&pause_time, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	unsigned long count;
	size_t bytes;
	char *memory, byte;
	int fd;

	need(argc == 6);
	count = strtoul(argv[2], NULL, 10);
	most = strtoul(argv[3], NULL, 10);
	burst = strtoul(argv[4], NULL, 10);
	pause_time.tv_nsec = strtol(argv[5], NULL, 10) * 1000;
	need(count <= MOST_THREADS && most && burst);
	bytes = HEAD_BYTES + count * most * sizeof(*notes);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(memory != MAP_FAILED);
	close(fd);
	done = (void *)memory;
	notes = (void *)(memory + HEAD_BYTES);
	for (size_t i = 0; i < count; i++)
		need(pthread_create(&threads[i], NULL, look, (void *)i) == 0);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		;
	atomic_store(&is_over, true);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
