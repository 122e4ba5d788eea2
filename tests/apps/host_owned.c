/* Has what the kernel gives to a process, and takes back when the process closes the file: locks, a lease,
 * notifications. Two more threads make what the agent has to look up in files meanwhile, so it opens some. In
 * the end everything has to be there still, and nobody has waited for a child that the program did not make.
 * Prints what is there. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "host.h"

enum {
	LOOKS = 150,
	PATIENCE_S = 20,
	MESSAGE_BYTES = 8,
};

static atomic_bool is_over;
static atomic_int strange_children;
static sem_t told;

static void tell(union sigval value)
{
	(void)value;
	sem_post(&told);
}

/* -- What makes the agent open files --------------------------------------------------------------- */

static void look_once(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number = 1;
	int fd = eventfd(0, 0), pair[2];
	socklen_t bytes = sizeof(address);

	need(fd >= 0);
	need(write(fd, &number, sizeof(number)) == sizeof(number));
	need(read(fd, &number, sizeof(number)) == sizeof(number));
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	need(!getsockname(pair[0], (struct sockaddr *)&address, &bytes));
	need(write(pair[0], "x", 1) == 1);
	need(read(pair[1], &number, 1) == 1);
	need(!close(pair[0]) && !close(pair[1]) && !close(fd));
	pthread_setname_np(pthread_self(), "looks");
	mark_times(200);
}

static void *look(void *unused)
{
	int i;

	for (i = 0; i < LOOKS; i++)
		look_once();
	is_over = true;
	return unused;
}

/* Waits for all children of any kind, of which there are none. */
static void *wait_for_all(void *unused)
{
	siginfo_t info;
	unsigned i;
	long result;

	for (i = 0; !is_over; i++) {
		errno = 0;
		switch (i % 4) {
		case 0: result = waitpid(-1, NULL, __WALL); break;
		case 1: result = wait4(-1, NULL, __WCLONE | WNOHANG, NULL); break;
		case 2: result = syscall(SYS_wait4, -1, NULL, __WALL | WNOHANG, NULL); break;
		default: result = waitid(P_ALL, 0, &info, WEXITED | __WALL);
		}
		atomic_fetch_add(&strange_children, result != -1 || errno != ECHILD);
	}
	return unused;
}

/* -- What the process has -------------------------------------------------------------------------- */

static int new_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	need(fd >= 0);
	return fd;
}

static mqd_t new_queue(const struct sigevent *event)
{
	struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = MESSAGE_BYTES};
	char name[40];
	mqd_t queue;

	snprintf(name, sizeof(name), "/host_owned.%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
	need(queue != -1);
	need(!mq_unlink(name));
	need(!mq_notify(queue, event));
	return queue;
}

/* Returns whether another process finds the file locked. */
static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int status;
	pid_t child = fork();

	need(child >= 0);
	if (!child)
		_exit(fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK);
	need(waitpid(child, &status, 0) == child);
	return !status;
}

static bool has_come(int signum)
{
	struct timespec patience = {PATIENCE_S, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signum);
	return sigtimedwait(&set, NULL, &patience) == signum;
}

int main(void)
{
	struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell};
	struct epoll_event event = {.events = EPOLLIN};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timespec until = {time(NULL) + PATIENCE_S, 0};
	int locked, own_lock, whole, leased, directory, watch, poll, ends[2];
	pthread_t threads[2];
	mqd_t queues[2];
	sigset_t blocked;
	char text[400];

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGRTMIN);
	need(!sigprocmask(SIG_BLOCK, &blocked, NULL));
	sem_init(&told, 0, 0);
	mkdir("owned", 0700);
	unlink("owned/new");
	need(!fcntl(locked = new_file("locked"), F_SETLK, &lock));
	need(!fcntl(own_lock = new_file("own_lock"), F_OFD_SETLK, &lock));
	need(!flock(whole = new_file("whole"), LOCK_EX));
	leased = new_file("leased");
	if (fcntl(leased, F_SETLEASE, F_WRLCK))
		leased = -1;            /* not every file system has leases */
	need((directory = open("owned", O_RDONLY | O_DIRECTORY)) >= 0);
	need(!fcntl(directory, F_SETSIG, SIGRTMIN));
	if (fcntl(directory, F_NOTIFY, DN_CREATE | DN_MULTISHOT))
		directory = -1;
	need((watch = inotify_init1(IN_NONBLOCK)) >= 0);
	need(inotify_add_watch(watch, "owned", IN_CREATE) >= 0);
	need(!pipe(ends) && (poll = epoll_create1(0)) >= 0);
	need(!epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event));
	queues[0] = new_queue(&by_signal);
	queues[1] = new_queue(&by_thread);

	need(!pthread_create(&threads[0], NULL, look, NULL));
	need(!pthread_create(&threads[1], NULL, wait_for_all, NULL));
	need(!pthread_join(threads[0], NULL));
	need(!pthread_join(threads[1], NULL));

	printf("strange children: %d\n", strange_children);
	printf("a lock of the process: %d\n", is_locked(locked));
	need((own_lock = open("own_lock", O_RDWR)) >= 0);
	printf("a lock of a description: %d\n", fcntl(own_lock, F_OFD_SETLK, &lock) == -1);
	need((whole = open("whole", O_RDWR)) >= 0);
	printf("a lock of a file: %d\n", flock(whole, LOCK_EX | LOCK_NB) == -1);
	printf("a lease: %d\n", leased < 0 || fcntl(leased, F_GETLEASE) == F_WRLCK);
	need(!close(new_file("owned/new")));
	printf("a directory's signal: %d\n", directory < 0 || has_come(SIGRTMIN));
	printf("a watch: %d\n", read(watch, text, sizeof(text)) > 0);
	need(write(ends[1], "x", 1) == 1);
	printf("a set of descriptors: %d\n", epoll_wait(poll, &event, 1, PATIENCE_S * 1000));
	need(!mq_send(queues[0], "hello", 5, 0));
	printf("a queue's signal: %d\n", has_come(SIGUSR1));
	need(!mq_send(queues[1], "hello", 5, 0));
	printf("a queue's thread: %d\n", !sem_timedwait(&told, &until));
	print_marks();
	return 0;
}
