/* This program opens, duplicates, connects and closes descriptors of all kinds at random. Then it makes so
 * many other calls that a ring is turned over, uses each descriptor that is open a random number of times,
 * and prints a line for each:
 *
 *	NUMBER KIND NAME USES           NAME is a path or an address, or "-"
 *
 *	descriptors STEPS CALLS exit | kill | snapshot | timer
 *
 * With `timer` it reads a timerfd last, which takes 20 ms. FXT_SEED says what is opened. Files are made in
 * the current directory.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "ask_for_snapshot.h"
#include "lifetimes.h"
#include "random.h"

enum { NUMBERS = 900, MOST_OPEN = 120, NAME_BYTES = 400, LEAST = 3 };

static struct {
	const char *kind;               /* NULL if the number is not open */
	char name[NAME_BYTES];
} known[NUMBERS];
static unsigned open_count, made;

static void is(int fd, const char *kind, const char *name)
{
	need(fd >= LEAST && fd < NUMBERS);
	open_count += !known[fd].kind;
	known[fd].kind = kind;
	/* A duplicate may become what it is already: then the two names are one. */
	memmove(known[fd].name, name, strlen(name) + 1);
}

static void end(int fd)
{
	closed(fd);
	known[fd].kind = NULL;
	open_count--;
}

/* Returns a random descriptor that is open, of the kind if one is given, or -1 if there is none. */
static int any(const char *kind)
{
	int fd, at = (int)random_below(NUMBERS), n;

	for (n = 0; n < NUMBERS; n++) {
		fd = (at + n) % NUMBERS;
		if (known[fd].kind && (!kind || !strcmp(known[fd].kind, kind)))
			return fd;
	}
	return -1;
}

/* -- Kinds --------------------------------------------------------------------------------------------- */

static void make_file(void)
{
	char name[40];
	const char *path;

	snprintf(name, sizeof(name), "file%u", made++);
	path = path_within(name, 300);
	is(opened(path), "file", path);
}

static void make_pipe(void)
{
	int ends[2];

	need((random_below(2) ? pipe(ends) : pipe2(ends, O_CLOEXEC)) == 0);
	is(ends[0], "pipe", "-");
	is(ends[1], "pipe", "-");
}

static void make_pair(void)
{
	int ends[2];

	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	is(ends[0], "socketpair", "-");
	is(ends[1], "socketpair", "-");
}

static void make_other(void)
{
	switch (random_below(4)) {
	case 0: is(eventfd(0, 0), "eventfd", "-"); break;
	case 1: is(epoll_create1(0), "epoll", "-"); break;
	case 2: is(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd", "-"); break;
	default: is(socket(AF_INET, SOCK_DGRAM, 0), "socket", "-"); break;
	}
}

static void name_of(const struct sockaddr_in *address, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%s:%d", inet_ntoa(address->sin_addr), ntohs(address->sin_port));
}

static void listen_to_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char name[NAME_BYTES];

	/* Without bind() the kernel chooses all of the address. */
	need(fd >= 0 && (random_below(3) == 0 || bind(fd, (struct sockaddr *)&address, bytes) == 0) &&
	     listen(fd, 100) == 0);
	need(getsockname(fd, (struct sockaddr *)&address, &bytes) == 0);
	name_of(&address, name);
	is(fd, "tcp-listener", name);
}

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static void listen_to_unix(void)
{
	struct sockaddr_un address;
	char path[40], name[NAME_BYTES];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(path, sizeof(path), "socket%u", made++);
	address = unix_address(path);
	need(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 100) == 0);
	snprintf(name, sizeof(name), "unix:%s", path);
	is(fd, "unix-listener", name);
}

static void connect_tcp(void)
{
	struct sockaddr_in address;
	socklen_t bytes = sizeof(address);
	int listener = any("tcp-listener"), fd, accepted;
	char name[NAME_BYTES];

	if (listener < 0)
		return;
	need(getsockname(listener, (struct sockaddr *)&address, &bytes) == 0);
	name_of(&address, name);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	need(fd >= 0 && connect(fd, (struct sockaddr *)&address, bytes) == 0);
	is(fd, "tcp-client", name);
	accepted = random_below(2) ? accept(listener, NULL, NULL)
				   : accept4(listener, (struct sockaddr *)&address, &bytes, SOCK_CLOEXEC);
	need(accepted >= 0);
	is(accepted, "tcp-accepted", "127.0.0.1");
}

static void connect_unix(void)
{
	struct sockaddr_un address;
	int listener = any("unix-listener"), fd, accepted;

	if (listener < 0)
		return;
	address = unix_address(known[listener].name + strlen("unix:"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	need(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	is(fd, "unix-client", known[listener].name);
	accepted = accept(listener, NULL, NULL);
	need(accepted >= 0);
	is(accepted, "unix-accepted", "unix:");
}

static void duplicate(void)
{
	int fd = any(NULL), newfd;

	if (fd < 0)
		return;
	switch (random_below(3)) {
	case 0: newfd = dup(fd); break;
	case 1: newfd = fcntl(fd, F_DUPFD, LEAST + (int)random_below(NUMBERS - MOST_OPEN - 100)); break;
	default:
		newfd = dup2(fd, LEAST + (int)random_below(NUMBERS - LEAST));
		break;
	}
	if (newfd != fd)
		is(newfd, known[fd].kind, known[fd].name);
}

static void (*const makers[])(void) = {
	make_file, make_file, make_pipe, make_pair, make_other, make_other, listen_to_tcp, listen_to_unix,
	connect_tcp, connect_unix, duplicate, duplicate, duplicate,
};

/* ------------------------------------------------------------------------------------------------------ */

static void use(int fd)
{
	uint64_t uses = 1 + random_below(5), n;
	struct stat status;

	for (n = 0; n < uses; n++)
		need(fstat(fd, &status) == 0);
	printf("%d %s %s %d\n", fd, known[fd].kind, known[fd].name, (int)uses);
}

static void wait_for_timer(void)
{
	struct itimerspec soon = {.it_value = {0, 20000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t times;

	need(fd >= 0 && timerfd_settime(fd, 0, &soon, NULL) == 0 &&
	     read(fd, &times, sizeof(times)) == sizeof(times));
}

int main(int argc, char **argv)
{
	long steps, calls;
	int fd;

	need(argc == 4);
	steps = atol(argv[1]);
	calls = atol(argv[2]);
	random_seed(0);
	for (; steps > 0; steps--) {
		if (open_count > MOST_OPEN - 2 || random_below(3) == 0) {
			fd = any(NULL);
			if (fd >= 0)
				end(fd);
		} else {
			makers[random_below(sizeof(makers) / sizeof(makers[0]))]();
		}
	}
	for (; calls > 0; calls--)
		close(-1);
	for (fd = 0; fd < NUMBERS; fd++)
		if (known[fd].kind)
			use(fd);
	fflush(stdout);
	if (!strcmp(argv[3], "kill"))
		raise(SIGKILL);
	if (!strcmp(argv[3], "snapshot"))
		ask_for_snapshot();
	if (!strcmp(argv[3], "timer"))
		wait_for_timer();
	return 0;
}
