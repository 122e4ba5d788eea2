/* This program sets itself limits, or meets those it is given, makes marks, and prints what it is refused.
 *
 *	host_limits fsize KIB | nofile N [M] | as MIB | stack KIB | none		MARKS comes before
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "host.h"

static void set(__rlimit_resource_t which, unsigned long value)
{
	struct rlimit limit;

	need(!getrlimit(which, &limit));
	limit.rlim_cur = value;
	need(!setrlimit(which, &limit));
}

static void try_descriptors(void)
{
	int fd, last = -1, count = 0;

	while ((fd = dup(0)) >= 0) {
		last = fd;
		count++;
	}
	printf("%d descriptors, the last %d, then errno %d\n", count, last, errno);
	while (count--)
		close(last--);
}

static void try_file(void)
{
	char bytes[4096] = "";
	FILE *file = tmpfile();
	int count = 0;

	if (!file) {
		printf("no file: errno %d\n", errno);
		return;
	}
	while (count < 100 && write(fileno(file), bytes, sizeof(bytes)) == sizeof(bytes))
		count++;
	printf("%d blocks\n", count);
	fclose(file);
}

static void try_memory(void)
{
	void *huge = malloc((size_t)1 << 40), *some = malloc(1 << 20);

	printf("huge %d, some %d\n", huge != NULL, some != NULL);
	free(some);
	free(huge);
}

static void *run(void *argument)
{
	mark_times(100);
	return argument;
}

int main(int argc, char **argv)
{
	unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	const char *what = argc > 2 ? argv[2] : "none";
	unsigned long value = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	pthread_t thread;

	mark_times(times);
	if (!strcmp(what, "fsize"))
		set(RLIMIT_FSIZE, value << 10);
	else if (!strcmp(what, "nofile"))
		set(RLIMIT_NOFILE, value);
	else if (!strcmp(what, "as"))
		set(RLIMIT_AS, value << 20);
	else if (!strcmp(what, "stack"))
		set(RLIMIT_STACK, value << 10);
	try_descriptors();
	try_memory();
	mark_times(times);
	if (argc > 4) {
		set(RLIMIT_NOFILE, strtoul(argv[4], NULL, 0));
		try_descriptors();
	}
	if (strcmp(what, "as")) {
		need(!pthread_create(&thread, NULL, run, NULL) && !pthread_join(thread, NULL));
	}
	if (strcmp(what, "fsize"))
		try_file();
	mark_times(times);
	fflush(stdout);
	print_marks();
	return 0;
}
