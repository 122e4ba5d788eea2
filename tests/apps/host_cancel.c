/* This program cancels a thread in each call that is a cancellation point and waits for ever, such as open()
 * of the FIFO whose path it is given. Each time the cleanup handler runs, allocates and marks, and the next
 * thread goes on. It prints for each call whether the thread was cancelled and cleaned up. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "host.h"

enum { CONNECTIONS = 10 };

static const char *fifo;
static int connections[CONNECTIONS];
static int empty[2], full[2], sockets[2], full_sockets[2], listener, full_listener, queue;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static pthread_t sleeper;
static atomic_bool there;
static const struct timespec hour = {3600, 0};

static struct timespec in_an_hour(void)
{
	struct timespec when;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_sec += 3600;
	return when;
}

static void in_read(void)
{
	char byte;

	need(read(empty[0], &byte, 1) != 1);
}

static void in_readv(void)
{
	char byte;
	struct iovec vector = {&byte, 1};

	need(readv(empty[0], &vector, 1) != 1);
}

static void in_write(void)
{
	char bytes[4096] = "";

	while (write(full[1], bytes, sizeof(bytes)) > 0)
		;
}

static void in_accept(void)
{
	need(accept(listener, NULL, NULL) == -1);
}

static void in_recv(void)
{
	char byte;

	need(recv(sockets[0], &byte, 1, 0) != 1);
}

static void in_recvfrom(void)
{
	char byte;

	need(recvfrom(sockets[0], &byte, 1, 0, NULL, NULL) != 1);
}

static void in_recvmsg(void)
{
	char byte;
	struct iovec vector = {&byte, 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	need(recvmsg(sockets[0], &message, 0) != 1);
}

static void in_send(void)
{
	char bytes[4096] = "";

	while (send(full_sockets[1], bytes, sizeof(bytes), 0) > 0)
		;
}

static void in_connect(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	int i;

	need(!getsockname(full_listener, (struct sockaddr *)&address, &length));
	/* Nobody accepts here, so the listener's queue fills, and one connect() waits. in_accept() waits at
	 * another listener: how far this loop comes before the thread is cancelled, and so whether there is a
	 * connection to accept, is up to the scheduler. For the same reason main() makes the sockets: the
	 * numbers that are open at the end do not depend on it. */
	for (i = 0; i < CONNECTIONS; i++)
		connect(connections[i], (struct sockaddr *)&address, length);
}

static void in_poll(void)
{
	struct pollfd one = {empty[0], POLLIN, 0};

	poll(&one, 1, -1);
}

static void in_ppoll(void)
{
	struct pollfd one = {empty[0], POLLIN, 0};

	ppoll(&one, 1, NULL, NULL);
}

static void in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(empty[0], &set);
	select(empty[0] + 1, &set, NULL, NULL, NULL);
}

static void in_epoll_wait(void)
{
	struct epoll_event event;

	epoll_wait(queue, &event, 1, -1);
}

static void in_nanosleep(void)
{
	nanosleep(&hour, NULL);
}

static void in_clock_nanosleep(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
}

static void in_usleep(void)
{
	usleep(3600u * 1000000u);
}

static void in_sleep(void)
{
	sleep(3600);
}

static void in_sem_wait(void)
{
	sem_wait(&sem);
}

static void in_sem_timedwait(void)
{
	struct timespec when = in_an_hour();

	sem_timedwait(&sem, &when);
}

static void unlock(void *argument)
{
	need(!pthread_mutex_unlock(argument));
}

static void in_cond_wait(void)
{
	need(!pthread_mutex_lock(&mutex));
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

static void in_cond_timedwait(void)
{
	struct timespec when = in_an_hour();

	need(!pthread_mutex_lock(&mutex));
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_timedwait(&cond, &mutex, &when);
	pthread_cleanup_pop(1);
}

static void in_join(void)
{
	pthread_join(sleeper, NULL);
}

static void in_sigwait(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &number);
}

static void in_waitpid(void)
{
	waitpid(-1, NULL, 0);
}

static void in_fgets(void)
{
	FILE *stream = fdopen(dup(empty[0]), "r");
	char line[10];

	/* The stream is left open, and locked. */
	need(!fgets(line, sizeof(line), stream));
}

static void in_open(void)
{
	open(fifo, O_RDONLY);
}

/* Is cancelled asynchronously, in a computation that makes no call. */
static void in_computation(void)
{
	volatile unsigned long sum = 0;

	need(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	for (;;)
		sum++;
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"read", in_read}, {"readv", in_readv}, {"write", in_write}, {"accept", in_accept}, {"recv", in_recv},
	{"recvfrom", in_recvfrom}, {"recvmsg", in_recvmsg}, {"send", in_send}, {"connect", in_connect},
	{"poll", in_poll}, {"ppoll", in_ppoll}, {"select", in_select}, {"epoll_wait", in_epoll_wait},
	{"nanosleep", in_nanosleep}, {"clock_nanosleep", in_clock_nanosleep}, {"usleep", in_usleep},
	{"sleep", in_sleep}, {"sem_wait", in_sem_wait}, {"sem_timedwait", in_sem_timedwait},
	{"pthread_cond_wait", in_cond_wait},
	{"pthread_cond_timedwait", in_cond_timedwait}, {"pthread_join", in_join}, {"sigwait", in_sigwait},
	{"waitpid", in_waitpid}, {"fgets", in_fgets}, {"open", in_open}, {"computation", in_computation},
};

static void clean_up(void *argument)
{
	allocate(20003);
	mark();
	*(bool *)argument = true;
}

static bool cleaned;

static void *run(void *argument)
{
	size_t i = (size_t)argument;

	pthread_cleanup_push(clean_up, &cleaned);
	atomic_store(&there, true);
	calls[i].call();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *sleep_on(void *argument)
{
	pause();
	return argument;
}

/* Gives the thread time to fall asleep in its call. A thread that has not got there yet is cancelled where
 * the call begins. Both are right, and both are wanted, so only the second round waits. */
static void wait_until_asleep(void)
{
	const struct timespec little = {0, 2000000};

	while (!atomic_load(&there))
		sched_yield();
	nanosleep(&little, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;
	pid_t child;
	void *result;
	size_t i, round;

	need(!pipe(empty) && !pipe(full) && !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) &&
	     !socketpair(AF_UNIX, SOCK_STREAM, 0, full_sockets) && !sem_init(&sem, 0, 0));
	listener = socket(AF_INET, SOCK_STREAM, 0);
	full_listener = socket(AF_INET, SOCK_STREAM, 0);
	need(!bind(listener, (struct sockaddr *)&address, sizeof(address)) && !listen(listener, 0));
	need(!bind(full_listener, (struct sockaddr *)&address, sizeof(address)) && !listen(full_listener, 0));
	for (i = 0; i < CONNECTIONS; i++)
		connections[i] = socket(AF_INET, SOCK_STREAM, 0);
	/* Nobody opens this file for writing. */
	fifo = argc > 1 ? argv[1] : "";
	unlink(fifo);
	need(!mkfifo(fifo, 0600));
	queue = epoll_create1(0);
	need(!epoll_ctl(queue, EPOLL_CTL_ADD, empty[0], &event));
	need(!pthread_create(&sleeper, NULL, sleep_on, NULL));
	child = fork();
	if (!child) {
		need(read(empty[1], &event, 0) == -1);
		pause();
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
			cleaned = false;
			atomic_store(&there, false);
			need(!pthread_create(&thread, NULL, run, (void *)i));
			if (round)
				wait_until_asleep();
			need(!pthread_cancel(thread));
			need(!pthread_join(thread, &result));
			/* A thread that had not begun had no handler yet to run. */
			if (round)
				printf("%s: cancelled %d, cleaned up %d\n", calls[i].name,
				       result == PTHREAD_CANCELED, cleaned);
		}
	}
	need(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
	fflush(stdout);
	print_marks();
	return 0;
}
