/* This program closes every descriptor in one of several ways, or puts others in their place, prints what the
 * calls returned, and goes on:
 *
 *	host_fds range | from | loop | dup2 | raw | unseen MARKS
 *
 * or, while another thread makes calls, looks for descriptors that are not its own:
 *
 *	host_fds threads MARKS
 *	host_fds list MARKS
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "host.h"
#include "unseen.h"

static void survey(void)
{
	int fd;

	/* Only numbers below 3 are open now. The agent's descriptor must look like one that is not open. */
	for (fd = 0; fd < 1300; fd++) {
		int flags = fcntl(fd, F_GETFD), copy;

		if (flags == -1 && errno == EBADF)
			continue;
		copy = dup(fd);
		printf("%d: flags %d, dup %d\n", fd, flags, copy);
		close(copy);
	}
}

static void close_loop(void)
{
	int fd, closed = 0, refused = 0;

	for (fd = 3; fd < 1300; fd++) {
		errno = 0;
		if (!close(fd))
			closed++;
		else if (errno == EBADF)
			refused++;
	}
	printf("closed %d, not open %d\n", closed, refused);
}

/* Duplicates one descriptor to every number up to 1200, the agent's included. Then it tries to duplicate
 * higher numbers, none of which is the program's. */
static void dup_over(void)
{
	int null = open("/dev/null", O_RDWR), fd, made = 0, refused = 0;

	for (fd = 5; fd <= 1200; fd++)
		made += (fd % 2 ? dup2(null, fd) : dup3(null, fd, O_CLOEXEC)) == fd;
	printf("made %d\n", made);
	for (fd = 1201; fd < 1300; fd++)
		refused += dup2(fd, 4) == -1 && errno == EBADF;
	printf("refused %d\n", refused);
	printf("dup gives %d\n", dup(null));
	printf("bad: %d", dup2(-1, 1003));
	printf(", errno %d\n", errno);
	for (fd = 3; fd <= 1201; fd++)
		close(fd);
}

static atomic_bool stop;

static void *make_calls(void *argument)
{
	while (!atomic_load(&stop))
		allocate(64);
	return argument;
}

/* Counts the descriptors that are open below those where the agent keeps traces. */
static int count_open(void)
{
	int fd, count = 0;

	for (fd = 0; fd < 64; fd++)
		count += syscall(SYS_fcntl, fd, F_GETFD) != -1;
	return count;
}

/* Opens and forks beside a thread that makes calls. The lowest number has to be free each time, and no child
 * may have a file that its parent had not. The calls of the other thread go on for as long as it takes the
 * agent to look at its counters some times. */
static void threads(void)
{
	struct timespec begun, now;
	unsigned long wrong = 0, extra = 0, times;
	int status, before;
	pthread_t thread;
	pid_t child;

	close(0);
	need(open("/dev/null", O_RDWR) == 0);
	before = count_open();
	need(!pthread_create(&thread, NULL, make_calls, NULL));
	need(!clock_gettime(CLOCK_MONOTONIC, &begun));
	for (times = 0;; times++) {
		close(0);
		wrong += open("/dev/null", O_RDWR) != 0;
		if (times % 100 == 0) {
			child = fork();
			if (!child)
				_exit(count_open() != before);
			need(child > 0 && waitpid(child, &status, 0) == child);
			extra += status != 0;
		}
		need(!clock_gettime(CLOCK_MONOTONIC, &now));
		if (now.tv_sec - begun.tv_sec > 1)
			break;
	}
	atomic_store(&stop, true);
	need(!pthread_join(thread, NULL));
	printf("not 0: %lu, extra: %lu\n", wrong, extra);
	fflush(stdout);
}

/* Lists a directory of descriptors, and prints whether each that is listed is open. */
static void list(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	struct stat status;

	need(directory);
	while ((entry = readdir(directory))) {
		int fd = atoi(entry->d_name), numbers[2];

		if (entry->d_name[0] == '.')
			continue;
		numbers[0] = fcntl(fd, F_GETFD) == -1 ? errno : 0;
		numbers[1] = fstat(fd, &status) == -1 ? errno : 0;
		printf("%s: %d: %d %d\n", path, fd, numbers[0], numbers[1]);
	}
	closedir(directory);
}

static void list_raw(void)
{
	union {
		char bytes[4096];
		struct dirent64 entry;
	} buffer;
	int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), by;
	ssize_t bytes, at;

	for (by = 0; by < 2; by++) {
		need(!lseek(directory, 0, SEEK_SET));
		while ((bytes = by ? syscall(SYS_getdents64, directory, &buffer, sizeof(buffer))
				   : getdents64(directory, &buffer, sizeof(buffer))) > 0)
			for (at = 0; at < bytes; at += ((struct dirent64 *)(buffer.bytes + at))->d_reclen)
				printf("%s: %s\n", by ? "syscall" : "getdents64",
				       ((struct dirent64 *)(buffer.bytes + at))->d_name);
	}
	close(directory);
}

static void list_all(void)
{
	list("/proc/self/fd");
	list("/proc/thread-self/fd");
	list("/dev/fd");
	list("/proc/self/fdinfo");
	list("/proc/thread-self/fdinfo");
	list_raw();
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct rlimit limit = {4096, 4096};
	int fd;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	setrlimit(RLIMIT_NOFILE, &limit);
	mark_times(times);
	if (!strcmp(what, "threads") || !strcmp(what, "list")) {
		if (*what == 't')
			threads();
		else
			list_all();
		mark_times(times);
		print_marks();
		return 0;
	}
	open("/dev/null", O_RDONLY);
	errno = 0;
	if (!strcmp(what, "range"))
		printf("close_range: %d\n", close_range(3, ~0u, 0));
	else if (!strcmp(what, "from"))
		closefrom(3);
	else if (!strcmp(what, "loop"))
		close_loop();
	else if (!strcmp(what, "dup2"))
		dup_over();
	else if (!strcmp(what, "unseen"))
		/* The agent's descriptor is closed too: it finds its file again by the path. */
		printf("close_range: %ld\n", unseen(SYS_close_range, 3, ~0u, 0));
	else if (!strcmp(what, "raw"))
		/* The agent steps around its descriptor, as with the function. */
		printf("close_range: %ld\n", syscall(SYS_close_range, 3, ~0u, 0));
	else
		return 2;
	printf("errno %d\n", errno);
	survey();
	mark_times(times);
	fd = open("/dev/null", O_RDONLY);
	printf("open gives %d\n", fd);
	/* Something else takes the numbers from 900 on, one of which the agent's descriptor may have. */
	for (fd = 900; fd < 1100 && fd != -1; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			dup2(1, fd);
	mark_times(times);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	survey();
	fflush(stdout);
	print_marks();
	return 0;
}
