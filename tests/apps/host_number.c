/* Makes calls through the number of the trace's descriptor and through that of a closed one, in random
 * order, and prints those whose results or error numbers differ. There are none, because for the program
 * both are closed.
 *
 *	host_number ROUNDS LIMIT
 *
 * LIMIT is the number of descriptors that the program may have (RLIMIT_NOFILE). The program executes itself
 * again under this limit, so that the trace is made under it. In the bare run no number is the trace's, so
 * it takes another one. It asks the kernel which numbers are open by calls that nobody sees.
 */
#include <aio.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <termios.h>

#include "host.h"
#include "random.h"

enum { HIGHEST = 8192, HOME = 1000, BYTES = 4096 };

extern char **environ;

static union {
	char bytes[BYTES];
	struct stat status;
	struct statx statusx;
	struct statfs file_system;
	struct statvfs file_system_too;
	struct epoll_event event;
	struct itimerspec timer;
	eventfd_t count;
	int number;
} room;

static int null, epoll, pair[2], pipes[2], regular;
static struct iovec vector = {room.bytes, 1};
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "none"};
static char *nothing[] = {NULL};
static struct mmsghdr messages[1];
static struct msghdr message;

/* -- Calls that find the number in memory ------------------------------------------------------------- */

static long polls(int fd, int times)
{
	struct pollfd files[3] = {{.fd = null, .events = POLLPRI},
				  {.fd = fd, .events = POLLIN | POLLOUT},
				  {.fd = null, .events = POLLPRI}};
	struct timespec none = {0};
	int found = times == 0	 ? poll(files, 3, 1000)
		    : times == 1 ? ppoll(files, 3, &none, NULL)
				 : (int)syscall(SYS_poll, files, 3, 1000);

	return found << 16 | files[1].revents;
}

static long selects(int fd, int which)
{
	union {
		fd_set set;
		unsigned long words[HIGHEST / (8 * sizeof(long))];
	} sets = {0};
	struct timeval none = {0};
	struct timespec no_time = {0};

	sets.words[fd / (8 * (int)sizeof(long))] |= 1ul << fd % (8 * (int)sizeof(long));
	switch (which) {
	case 0:
		return select(fd + 1, &sets.set, NULL, NULL, &none);
	case 1:
		return pselect(fd + 1, NULL, NULL, &sets.set, &no_time, NULL);
	default:
		return syscall(SYS_pselect6, fd + 1, NULL, &sets.set, NULL, &no_time, NULL);
	}
}

/* Sends two descriptors: one that is open, and `fd`. */
static long sends(int fd, bool by_number)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr one = {.msg_iov = &vector,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int fds[2] = {null, fd};

	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return by_number ? syscall(SYS_sendmsg, pair[0], &one, MSG_DONTWAIT)
			 : sendmsg(pair[0], &one, MSG_DONTWAIT);
}

/* Makes a request. Either the call refuses it at once, or its own error is known when it is over. */
static long requests(int fd, int which)
{
	struct aiocb block = {
		.aio_fildes = fd, .aio_buf = room.bytes, .aio_nbytes = 1, .aio_lio_opcode = LIO_READ};
	struct aiocb *list[] = {&block};
	const struct aiocb *wait[] = {&block};
	int result = which == 0	  ? aio_read(&block)
		     : which == 1 ? aio_fsync(O_SYNC, &block)
				  : lio_listio(LIO_WAIT, list, 1, NULL);
	int error = errno, of_request;

	if (result && which < 2) {
		errno = error;
		return result;
	}
	while ((of_request = aio_error(&block)) == EINPROGRESS)
		aio_suspend(wait, 1, NULL);
	aio_return(&block);
	errno = error;
	return result << 16 | of_request;
}

static long spawns(int fd, int which)
{
	char path[] = "/bin/true", *arguments[] = {path, NULL};
	posix_spawn_file_actions_t actions;
	int error, started = 0;
	pid_t child = 0;

	posix_spawn_file_actions_init(&actions);
	error = which == 0 ? posix_spawn_file_actions_adddup2(&actions, fd, 5)
			   : posix_spawn_file_actions_addfchdir_np(&actions, fd);
	if (!error)
		started = posix_spawn(&child, path, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (child)
		waitpid(child, NULL, 0);
	return error << 16 | started;
}

static long streams(int fd)
{
	FILE *stream = fdopen(fd, "r");

	if (stream)
		fclose(stream);
	return stream != NULL;
}

static long directories(int fd)
{
	DIR *directory = fdopendir(fd);

	if (directory)
		closedir(directory);
	return directory != NULL;
}

static long maps(int fd, int flags, bool by_number)
{
	void *map = by_number ? (void *)syscall(SYS_mmap, NULL, BYTES, PROT_READ, flags, fd, 0L)
			      : mmap(NULL, BYTES, PROT_READ, flags, fd, 0);

	if (map != MAP_FAILED)
		munmap(map, BYTES);
	return map != MAP_FAILED;
}

/* Closes the descriptor that a call has made, if any. Its number does not matter, so it is not returned. */
static long makes(long result)
{
	if (result >= 0)
		unseen(SYS_close, result);
	return result >= 0;
}

/* -- All calls ------------------------------------------------------------------------------------------- */

#define CALLS(X)											\
	X(read(fd, room.bytes, 1)) X(pread(fd, room.bytes, 1, 0)) X(readv(fd, &vector, 1))		\
	X(preadv(fd, &vector, 1, 0)) X(preadv2(fd, &vector, 1, 0, 0)) X(write(fd, "", 0))		\
	X(pwrite(fd, "", 0, 0)) X(writev(fd, &vector, 0)) X(pwritev(fd, &vector, 0, 0))			\
	X(pwritev2(fd, &vector, 0, 0, 0)) X(lseek(fd, 0, SEEK_CUR)) X(ftruncate(fd, LONG_MAX))		\
	X(fsync(fd)) X(fdatasync(fd)) X(syncfs(fd)) X(fallocate(fd, -1, 0, 1))				\
	X(posix_fallocate(fd, 0, LONG_MAX)) X(posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL))		\
	X(readahead(fd, 0, 1)) X(sync_file_range(fd, 0, 1, 0)) X(flock(fd, LOCK_UN))			\
	X(lockf(fd, F_TEST, 1)) X(fcntl(fd, F_GETFL)) X(fcntl(fd, F_GETFD))				\
	X(makes(fcntl(fd, F_DUPFD, 3))) X(ioctl(fd, FIONREAD, &room)) X(makes(dup(fd)))			\
	X(makes(dup2(fd, 4))) X(makes(dup3(fd, 4, 0))) X(close(fd)) X(fstat(fd, &room.status))		\
	X(fstatat(fd, "", &room.status, AT_EMPTY_PATH))							\
	X(fstatat(fd, "none", &room.status, 0)) X(fstatat(fd, "/dev/null", &room.status, 0))		\
	X(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &room.statusx))					\
	X(makes(openat(fd, "none", O_RDONLY))) X(makes(openat(fd, "/dev/null", O_RDONLY)))		\
	X(faccessat(fd, "none", 0, 0)) X(mkdirat(fd, "none", 0)) X(mkfifoat(fd, "none", 0))		\
	X(unlinkat(fd, "none", 0)) X(linkat(fd, "none", null, "other", 0))				\
	X(linkat(fd, "", AT_FDCWD, "/dev/null/none", AT_EMPTY_PATH))					\
	X(linkat(AT_FDCWD, "/dev/null", fd, "none", 0))							\
	X(renameat(fd, "none", AT_FDCWD, "other")) X(renameat(AT_FDCWD, "none", fd, "other"))		\
	X(renameat2(fd, "none", fd, "other", 0)) X(symlinkat("none", fd, "other"))			\
	X(readlinkat(fd, "none", room.bytes, 1)) X(fchmodat(fd, "none", 0, 0))				\
	X(fchownat(fd, "", 0, 0, AT_EMPTY_PATH)) X(utimensat(fd, "none", NULL, 0))			\
	X(futimens(fd, NULL)) X(futimes(fd, NULL)) X(fchmod(fd, 0600)) X(fchown(fd, -1u, -1u))		\
	X(fchdir(fd)) X(fstatfs(fd, &room.file_system)) X(fstatvfs(fd, &room.file_system_too))		\
	X(fgetxattr(fd, "user.none", &room, 1)) X(fsetxattr(fd, "none", &room, 1, 0))			\
	X(flistxattr(fd, room.bytes, BYTES)) X(fremovexattr(fd, "user.none")) X(streams(fd))		\
	X(directories(fd)) X(getdents64(fd, &room, BYTES))						\
	X(getdirentries(fd, room.bytes, BYTES, &(off_t){0})) X(maps(fd, MAP_SHARED, false))		\
	X(maps(fd, MAP_PRIVATE, true)) X(maps(fd, MAP_PRIVATE | MAP_ANONYMOUS, false))			\
	X(sendfile(pipes[1], fd, NULL, 1)) X(sendfile(fd, regular, NULL, 1))				\
	X(splice(fd, NULL, pipes[1], NULL, 1, 0))							\
	X(splice(pipes[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK)) X(tee(fd, pipes[1], 1, 0))		\
	X(tee(pipes[0], fd, 1, SPLICE_F_NONBLOCK)) X(vmsplice(fd, &vector, 1, 0))			\
	X(copy_file_range(fd, NULL, regular, NULL, 1, 0))						\
	X(copy_file_range(regular, NULL, fd, NULL, 1, 0)) X(send(fd, "", 1, 0))				\
	X(sendto(fd, "", 1, 0, NULL, 0)) X(sendmsg(fd, &message, 0))					\
	X(sendmmsg(fd, messages, 1, 0)) X(recv(fd, room.bytes, 1, 0))					\
	X(recvfrom(fd, room.bytes, 1, 0, NULL, NULL)) X(recvmsg(fd, &message, 0))			\
	X(recvmmsg(fd, messages, 1, 0, NULL))								\
	X(bind(fd, (struct sockaddr *)&address, sizeof(address))) X(listen(fd, 1))			\
	X(makes(accept(fd, NULL, NULL))) X(makes(accept4(fd, NULL, NULL, 0)))				\
	X(connect(fd, (struct sockaddr *)&address, sizeof(address))) X(shutdown(fd, SHUT_RD))		\
	X(getsockname(fd, (struct sockaddr *)&room, &(socklen_t){sizeof(room)}))			\
	X(getpeername(fd, (struct sockaddr *)&room, &(socklen_t){sizeof(room)}))			\
	X(getsockopt(fd, SOL_SOCKET, SO_TYPE, &room, &(socklen_t){sizeof(int)}))			\
	X(setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &room, sizeof(int)))					\
	X(isfdtype(fd, S_IFREG)) X(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &room.event))			\
	X(epoll_ctl(fd, EPOLL_CTL_ADD, null, &room.event))						\
	X(epoll_wait(fd, &room.event, 1, 0)) X(epoll_pwait(fd, &room.event, 1, 0, NULL))		\
	X(makes(signalfd(fd, &(sigset_t){0}, 0)))							\
	X(timerfd_settime(fd, 0, &(struct itimerspec){0}, NULL))					\
	X(timerfd_gettime(fd, &room.timer)) X(inotify_add_watch(fd, "/dev", IN_OPEN))			\
	X(inotify_rm_watch(fd, 1)) X(eventfd_read(fd, &room.count)) X(eventfd_write(fd, 1))		\
	X(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/dev"))					\
	X(mq_send(fd, "", 1, 0)) X(mq_receive(fd, room.bytes, 1, NULL)) X(mq_notify(fd, NULL))		\
	X(mq_close(fd)) X(dprintf(fd, "%s", "")) X(dprintf(fd, "%d", 7)) X(tcdrain(fd))			\
	X(tcflush(fd, TCIFLUSH)) X(tcsendbreak(fd, 0)) X(fexecve(fd, nothing, nothing))			\
	X(execveat(fd, "", nothing, nothing, AT_EMPTY_PATH)) X(setns(fd, 0))				\
	X(pidfd_send_signal(fd, 0, NULL, 0)) X(process_madvise(fd, &vector, 1, MADV_COLD, 0))		\
	X(makes(pidfd_getfd(fd, 0, 0)))									\
	X(scandirat(fd, "none", &(struct dirent **){NULL}, NULL, NULL))					\
	X(aio_cancel(fd, NULL))										\
	X(name_to_handle_at(fd, "none", &(struct file_handle){0}, &room.number, 0))			\
	X(polls(fd, 0)) X(polls(fd, 1)) X(polls(fd, 2)) X(selects(fd, 0)) X(selects(fd, 1))		\
	X(selects(fd, 2)) X(sends(fd, false)) X(sends(fd, true)) X(requests(fd, 0))			\
	X(requests(fd, 1)) X(requests(fd, 2)) X(spawns(fd, 0)) X(spawns(fd, 1))				\
	X(syscall(SYS_read, fd, &room, 1)) X(syscall(SYS_write, fd, &room, 0))				\
	X(syscall(SYS_pread64, fd, &room, 1, 0L)) X(syscall(SYS_close, fd))				\
	X(makes(syscall(SYS_dup, fd))) X(makes(syscall(SYS_dup3, fd, 4, 0)))				\
	X(syscall(SYS_fstat, fd, &room)) X(syscall(SYS_fcntl, fd, F_GETFD))				\
	X(syscall(SYS_lseek, fd, 0L, SEEK_CUR)) X(syscall(SYS_getdents64, fd, &room, BYTES))		\
	X(syscall(SYS_ftruncate, fd, LONG_MAX)) X(syscall(SYS_fsync, fd))				\
	X(syscall(SYS_sendfile, pipes[1], fd, NULL, 1))							\
	X(makes(syscall(SYS_openat, fd, "none", O_RDONLY)))						\
	X(syscall(SYS_unlinkat, fd, "none", 0)) X(syscall(SYS_fchdir, fd))				\
	X(syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, fd, &room))					\
	X(makes(syscall(SYS_signalfd4, fd, &room, 8, 0)))						\
	X(syscall(SYS_sendto, fd, "", 1, 0, NULL, 0))							\
	X(syscall(SYS_execveat, fd, "", nothing, nothing, AT_EMPTY_PATH))

#define ROW(...)                                        \
	{                                               \
		.name = #__VA_ARGS__, .number = __COUNTER__ \
	},
static const struct row {
	const char *name;
	int number;
} rows[] = {CALLS(ROW)};
enum { ROWS = sizeof(rows) / sizeof(*rows), FIRST_CASE = __COUNTER__ + 1 };

static long make(int number, int fd)
{
#define CASE(...)                         \
	case __COUNTER__ - FIRST_CASE:    \
		return (long)(__VA_ARGS__);
	switch (number) {
		CALLS(CASE)
	default:
		abort();
	}
}

/* -- The numbers --------------------------------------------------------------------------------------- */

static bool is_open(int fd)
{
	return unseen(SYS_fcntl, fd, F_GETFD) >= 0;
}

/* Returns the first open number from HOME on, which is the trace's, because the program opened none there;
 * otherwise `usual`. */
static int number_of_trace(int usual)
{
	int fd;

	for (fd = HOME; fd < HIGHEST; fd++)
		if (is_open(fd))
			return fd;
	return usual;
}

/* `most` is the limit of numbers. The closed number that is compared lies on the same side of it: the
 * kernel's table may end there, and select() passes over what lies behind the table. */
static void compare(const struct row *row, int *ours, unsigned long most)
{
	long results[2];
	int errors[2], numbers[2], step, i;

	if (!is_open(*ours))
		*ours = number_of_trace(*ours);
	numbers[0] = *ours;
	step = (unsigned long)*ours + 1 == most ? -1 : 1;
	for (numbers[1] = *ours + step; is_open(numbers[1]); numbers[1] += step)
		;
	for (i = 0; i < 2; i++) {
		errno = 0;
		results[i] = make(row->number, numbers[i]);
		errors[i] = errno;
	}
	if (results[0] != results[1] || errors[0] != errors[1])
		printf("%s: %ld, errno %d; of a closed number %ld, errno %d\n", row->name, results[0],
		       errors[0], results[1], errors[1]);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[1], NULL, 0) : 0,
		      most = argc > 2 ? strtoul(argv[2], NULL, 0) : 0, at, with;
	unsigned char order[ROWS];
	struct rlimit limit;
	int ours = HOME, fd;

	static_assert(ROWS <= UCHAR_MAX, "an order of bytes");
	need(rounds && !getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur != most && limit.rlim_max >= most) {
		limit.rlim_cur = most;
		need(!setrlimit(RLIMIT_NOFILE, &limit));
		execv("/proc/self/exe", argv);
	}
	for (fd = 3; fd < HOME; fd++)
		close(fd);
	random_seed(0);
	null = open("/dev/null", O_RDWR);
	regular = memfd_create("regular", 0);
	epoll = epoll_create1(0);
	need(regular >= 0 && epoll >= 0 && !pipe(pipes) && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (; rounds--; mark()) {
		for (at = 0; at < ROWS; at++) {
			with = random_below(at + 1);
			order[at] = order[with];
			order[with] = (unsigned char)at;
		}
		for (at = 0; at < ROWS; at++)
			compare(&rows[order[at]], &ours, most);
	}
	printf("%d calls\n", ROWS);
	fflush(stdout);
	print_marks();
	/* Which call was the last is random, and what select() makes of a closed number depends on the
	 * size of the kernel's table: docs/own-files.md. */
	errno = 0;
	return 0;
}
