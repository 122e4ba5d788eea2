/* Prints what a program can notice of its surroundings; a traced run has to print the same. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void descriptors(const char *when)
{
	struct stat status;
	int fd;

	printf("descriptors %s:", when);
	for (fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			printf(" %d", fd);
	printf("\nwith a status:");
	for (fd = 0; fd < 1024; fd++)
		if (!fstat(fd, &status))
			printf(" %d", fd);
	printf("\n");
}

/* A program gets the lowest free number, also when it is traced. */
static void lowest_descriptors(void)
{
	int ends[2], fd = dup(0);

	printf("dup gives %d\n", fd);
	close(fd);
	if (pipe(ends))
		abort();
	printf("pipe gives %d %d\n", ends[0], ends[1]);
	close(ends[0]);
	close(ends[1]);
	fd = fcntl(0, F_DUPFD, 900);
	printf("F_DUPFD from 900 gives %d\n", fd);
	close(fd);
}

static void signals(void)
{
	struct sigaction action;
	sigset_t mask;
	int i;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (i = 1; i < NSIG; i++) {
		if (sigaction(i, NULL, &action))
			continue;
		printf("signal %d: blocked %d, handler %s, flags %x\n", i, sigismember(&mask, i),
		       action.sa_handler == SIG_DFL   ? "default"
		       : action.sa_handler == SIG_IGN ? "ignored"
						      : "set",
		       (unsigned)action.sa_flags);
	}
}

#define ERRNO_OF(call)                                               \
	do {                                                         \
		errno = 0;                                           \
		long result = (long)(call);                          \
		int error = errno;                                   \
		printf("%s: %ld, errno %d\n", #call, result, error); \
	} while (0)

#define ERRNO_KEPT(call)                                           \
	do {                                                       \
		errno = 4242;                                      \
		call;                                              \
		int error = errno;                                 \
		printf("%s: errno is left at %d\n", #call, error); \
	} while (0)

static void errors(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const char *volatile unmapped = (const char *)1;
	struct pollfd none = {-1, 0, 0};
	char byte;
	void *block;

	ERRNO_OF(open("/no/such/file", O_RDONLY));
	ERRNO_OF(read(-1, &byte, 1));
	ERRNO_OF(write(-1, &byte, 1));
	ERRNO_OF(close(-1));
	ERRNO_OF(close(999));
	ERRNO_OF(lseek(-1, 0, SEEK_SET));
	ERRNO_OF(write(1, unmapped, 1));
	ERRNO_OF(open(unmapped, O_RDONLY));
	ERRNO_OF(fopen("/no/such/file", "r"));
	ERRNO_OF(socket(-1, 0, 0));
	ERRNO_OF(connect(-1, NULL, 0));
	ERRNO_OF(epoll_wait(-1, NULL, 0, 0));
	ERRNO_OF(dup2(-1, 5));
	block = malloc(1);
	ERRNO_KEPT(free(block));
	ERRNO_KEPT(block = malloc(100));
	ERRNO_KEPT(free(block));
	ERRNO_KEPT(pthread_mutex_lock(&mutex));
	ERRNO_KEPT(pthread_mutex_trylock(&mutex));
	ERRNO_KEPT(pthread_mutex_unlock(&mutex));
	ERRNO_KEPT(poll(&none, 1, 0));
	ERRNO_KEPT(close(open("/dev/null", O_WRONLY)));
}

static void limits(void)
{
	struct rlimit limit;
	int i;

	for (i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit((__rlimit_resource_t)i, &limit))
			printf("limit %d: %lu %lu\n", i, (unsigned long)limit.rlim_cur,
			       (unsigned long)limit.rlim_max);
}

static void threads(void)
{
	DIR *directory = opendir("/proc/self/task");
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	printf("threads: %d\n", count - 2);
}

int main(int argc, char **argv)
{
	char directory[4096];
	mode_t mask = umask(0);
	char **entry;
	int i;

	umask(mask);
	for (i = 0; i < argc; i++)
		printf("argument: %s\n", argv[i]);
	for (entry = environ; *entry; entry++)
		if (strncmp(*entry, "FXT_", 4) && strncmp(*entry, "LD_PRELOAD=", 11))
			printf("environment: %s\n", *entry);
	printf("umask %o, directory %s, priority %d, session %d\n", mask,
	       getcwd(directory, sizeof(directory)), getpriority(PRIO_PROCESS, 0),
	       getsid(0) == getsid(getppid()));
	descriptors("at the start");
	lowest_descriptors();
	signals();
	errors();
	limits();
	threads();
	descriptors("in the end");
	for (i = 3; i < 1024; i++)
		close(i);
	descriptors("when all are closed");
	close_range(3, ~0u, 0);
	free(malloc(10));
	descriptors("when the range is closed");
	return 5;
}
