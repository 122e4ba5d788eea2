/* Makes processes, in a way that the first argument names, and prints what became of them. Children are
 * traced into files of their own.
 *
 *	host_process locks				forks while other threads hold locks
 *	host_process shell				runs commands and itself by system() and popen()
 *	host_process daemon FILE			makes a daemon, which writes to the file
 *	host_process chdir|unlinked|chroot DIRECTORY	forks in another directory or root
 *	host_process nobody				forks as another user
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "host.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static atomic_bool stop;

/* -- locks: forks while other threads allocate, print and lock --------------------------------------- */

static void *keep_locks_busy(void *argument)
{
	FILE *null = fopen("/dev/null", "w");

	pthread_barrier_wait(&ready);
	while (!atomic_load(&stop)) {
		usleep(50);
		allocate(3000);
		fprintf(null, "text %d\n", 1);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	fclose(null);
	return argument;
}

static void before_fork(void)
{
	pthread_mutex_lock(&mutex);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&mutex);
}

static void *join_in_child(void *argument)
{
	mark();
	return argument;
}

static void locks(void)
{
	pthread_t threads[3], more;
	pid_t child;
	int i;

	/* A library that has to be usable in the child does this. */
	need(!pthread_atfork(before_fork, after_fork, after_fork));
	need(!pthread_barrier_init(&ready, NULL, 4));
	atomic_fetch_add(marks, 1);
	for (i = 0; i < 3; i++)
		need(!pthread_create(&threads[i], NULL, keep_locks_busy, NULL));
	pthread_barrier_wait(&ready);
	for (i = 0; i < 30; i++) {
		child = fork();
		need(child >= 0);
		if (!child) {
			allocate(3000);
			pthread_mutex_lock(&mutex);
			mark_times(10);
			pthread_mutex_unlock(&mutex);
			need(!pthread_create(&more, NULL, join_in_child, NULL) && !pthread_join(more, NULL));
			printf("buffered\n");
			exit(i);
		}
		wait_for(child);
		mark();
	}
	atomic_store(&stop, true);
	for (i = 0; i < 3; i++)
		need(!pthread_join(threads[i], NULL));
}

/* -- shell: system() and popen() ---------------------------------------------------------------------- */

static void shell(const char *self)
{
	char command[5000], line[100];
	FILE *stream;

	mark();
	printf("system: %d\n", system("echo from a shell; exit 7"));
	snprintf(command, sizeof(command), "exec '%s' grandchild", self);
	printf("system: %d\n", system(command));
	stream = popen("echo from popen; exit 3", "r");
	need(stream && fgets(line, sizeof(line), stream));
	printf("%spclose: %d\n", line, pclose(stream));
	stream = popen(command, "w");
	need(stream);
	fputs("some input\n", stream);
	printf("pclose: %d\n", pclose(stream));
	printf("no such command: %d\n", system("exec /no/such/command 2>/dev/null"));
	fflush(stdout);
	mark();
	/* The two grandchildren have made 5 marks each, in counts of their own. */
	atomic_fetch_add(marks, 2 * 5);
}

/* -- daemon: it writes what it finds to a file ---------------------------------------------------------- */

static void become_daemon(const char *result)
{
	char directory[100];
	int ends[2];

	need(!pipe(ends));
	mark();
	if (!fork()) {
		int fd;

		close(ends[0]);
		need(!daemon(0, 0));
		mark_times(20);
		fd = open(result, O_CREAT | O_WRONLY | O_TRUNC, 0600);
		need(getcwd(directory, sizeof(directory)));
		dprintf(fd, "directory %s, descriptor %d, session leader %d\n", directory, fd,
			getsid(0) == getpid());
		close(fd);
		mark();
		exit(0);
	}
	close(ends[1]);
	/* The daemon has the other end, so this read waits for the daemon's end. */
	need(read(ends[0], directory, 1) == 0);
	wait(NULL);
}

/* -- place: other directories, roots and users ----------------------------------------------------- */

/* So many marks, of 24 bytes each, make the trace grow, whatever it had room for before. */
enum { MANY = 150000 };

static void fork_here(void)
{
	pid_t child = fork();

	need(child >= 0);
	if (!child) {
		allocate(10);
		_exit(11);
	}
	wait_for(child);
}

static int place(const char *what, const char *directory)
{
	mark_times(10);
	if (!strcmp(what, "chdir"))
		need(!chdir(directory) && !chdir(".."));
	else if (!strcmp(what, "unlinked"))
		need(!mkdir(directory, 0700) && !chdir(directory) && !rmdir(directory));
	else if (!strcmp(what, "chroot"))
		need(!chroot(directory) && !chdir("/"));
	else if (!strcmp(what, "nobody"))
		need(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
	else
		return 2;
	printf("uid %d, gid %d\n", (int)getuid(), (int)getgid());
	fflush(stdout);
	mark_times(MANY);
	fork_here();
	mark_times(10);
	errno = 0;
	printf("open: %d", open("/no/such", O_RDONLY));
	printf(", errno %d\n", errno);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int status = 0;

	if (!strcmp(what, "grandchild")) {
		char line[100];

		mark_times(5);
		while (fgets(line, sizeof(line), stdin))
			;
		puts("grandchild");
		return 9;
	}
	if (!strcmp(what, "locks"))
		locks();
	else if (!strcmp(what, "shell"))
		shell(argv[0]);
	else if (!strcmp(what, "daemon"))
		become_daemon(argv[2]);
	else
		status = place(what, argc > 2 ? argv[2] : "");
	fflush(stdout);
	print_marks();
	return status;
}
