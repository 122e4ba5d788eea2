/* Closes every descriptor in one of several ways, or puts others in their place, prints what the calls returned, and goes on:
 *
 *	host_fds range | from | loop | dup2 | raw MARKS
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "host.h"

static void survey(void)
{
	int fd;

	/* All that is open is below 3 now; what is not open cannot be told from what is ours. */
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

/* Over everything up to 1200, ours included, and then the other way around. */
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
	else if (!strcmp(what, "raw"))
		/* Behind the back of every wrapper: ours is gone then, and found again by its path. */
		printf("close_range: %ld\n", syscall(SYS_close_range, 3, ~0u, 0));
	else
		return 2;
	printf("errno %d\n", errno);
	survey();
	mark_times(times);
	fd = open("/dev/null", O_RDONLY);
	printf("open gives %d\n", fd);
	/* Its number taken by something else. */
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
