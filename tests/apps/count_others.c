/* This program makes a known number of calls of the less common input and output, of log messages and of the
 * loader, and prints how many (counts.h).
 *
 *	count_others ROUNDS 2>/dev/null		works in the current directory, which stays empty; has things
 *						to say on stderr
 *
 * Whether there are message queues, and what a file system can do, differs from system to system, so those
 * calls are only counted.
 */
#define CALLS(X)                                                                                        \
	X(io, aio_read) X(io, aio_write) X(io, aio_fsync) X(io, aio_error) X(io, aio_return)            \
	X(io, aio_suspend) X(io, aio_cancel) X(io, lio_listio) X(io, getrandom) X(io, getentropy)       \
	X(io, arc4random) X(io, arc4random_uniform) X(io, arc4random_buf) X(io, mq_open)                \
	X(io, mq_close) X(io, mq_unlink) X(io, mq_send) X(io, mq_timedsend) X(io, mq_receive)           \
	X(io, mq_timedreceive) X(io, mq_notify) X(io, mq_setattr) X(io, msgget) X(io, msgsnd)           \
	X(io, msgrcv) X(io, msgctl) X(io, process_vm_readv) X(io, process_vm_writev)                    \
	X(io, posix_openpt) X(io, getpt) X(io, openpty) X(io, login_tty) X(io, tcdrain) X(io, tcflush)  \
	X(io, tcflow) X(io, tcsendbreak) X(io, tcsetattr) X(io, flock) X(io, lockf)                     \
	X(io, posix_fadvise) X(io, posix_fallocate) X(io, fallocate) X(io, readahead)                   \
	X(io, sync_file_range) X(io, vmsplice) X(io, preadv2) X(io, pwritev2)                           \
	X(io, copy_file_range) X(io, sync)                                                              \
	X(io, syncfs) X(io, close_range) X(io, closefrom) X(io, open) X(io, close) X(io, unlink)        \
	X(io, pipe) X(log, openlog) X(log, closelog) X(log, syslog) X(log, vsyslog) X(log, warn)        \
	X(log, warnx) X(log, vwarn) X(log, vwarnx) X(log, perror) X(log, herror) X(log, psignal)        \
	X(log, psiginfo) X(log, error) X(log, error_at_line) X(dl, dlopen) X(dl, dlmopen) X(dl, dlclose)

#include <aio.h>
#include <dlfcn.h>
#include <err.h>
#include <error.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <syslog.h>
#include <termios.h>
#include <utmp.h>

#include "counts.h"

enum {
	OFFSET_BITS = 40,       /* bits of an offset that every file system has room for */
	LINE_MOST = 3000,       /* bytes of a message: more than a record takes */
};

/* -- Input and output ----------------------------------------------------------------------------- */

static void use_asynchronous(int fd)
{
	char text[MIDDLE_MOST] = "something";
	size_t bytes = random_length(sizeof(text));
	struct aiocb write = {.aio_fildes = fd, .aio_buf = text, .aio_nbytes = bytes}, read, flush;
	const struct aiocb *waited[1];
	struct aiocb *list[1] = {&read};

	write.aio_offset = (off_t)random_number(OFFSET_BITS);
	read = flush = write;
	NEED(CALL(aio_write, &write) == 0);
	waited[0] = &write;
	while (CALL(aio_suspend, waited, 1, NULL))
		;
	NEED(CALL(aio_error, &write) == 0 && CALL(aio_return, &write) == (ssize_t)bytes);
	NEED(CALL(aio_read, &read) == 0);
	waited[0] = &read;
	while (CALL(aio_suspend, waited, 1, NULL))
		;
	NEED(CALL(aio_error, &read) == 0 && CALL(aio_return, &read) == (ssize_t)bytes);
	NEED(CALL(aio_fsync, O_SYNC, &flush) == 0);
	waited[0] = &flush;
	while (CALL(aio_suspend, waited, 1, NULL))
		;
	NEED(CALL(aio_return, &flush) == 0);
	NEED(CALL(aio_cancel, fd, NULL) == AIO_ALLDONE);
	read.aio_lio_opcode = LIO_READ;
	NEED(CALL(lio_listio, LIO_WAIT, list, 1, NULL) == 0);
	NEED(CALL(lio_listio, 999, list, 1, NULL) == -1 && errno == EINVAL);
}

static void use_file(int fd)
{
	char text[MIDDLE_MOST] = "something";
	ssize_t bytes = (ssize_t)random_length(sizeof(text));
	struct iovec vector = {text, (size_t)bytes}, other = {text, 4};
	off_t at = (off_t)random_number(OFFSET_BITS);
	int ends[2];

	NEED(CALL(pwritev2, fd, &vector, 1, at, 0) == bytes);
	NEED(CALL(preadv2, fd, &vector, 1, at, 0) == bytes);
	NEED(CALL(flock, fd, LOCK_EX) == 0 && CALL(lockf, fd, F_LOCK, at) == 0);
	NEED(CALL(flock, -1, LOCK_EX) == -1 && errno == EBADF);
	NEED(CALL(posix_fadvise, fd, (off_t)random_number(OFFSET_BITS), at, POSIX_FADV_NORMAL) == 0);
	NEED(CALL(posix_fallocate, fd, at, random_negative()) == EINVAL);
	CALL(fallocate, fd, 0, at, (off_t)random_length(PATH_MOST));
	CALL(readahead, fd, at, random_number(OFFSET_BITS));
	CALL(sync_file_range, fd, at, (off_t)random_number(OFFSET_BITS), 0);
	CALL(copy_file_range, fd, NULL, fd, NULL, 0, 0);
	CALL(syncfs, fd);
	NEED(CALL(pipe, ends) == 0);
	NEED(CALL(vmsplice, ends[1], &vector, 1, 0) == bytes);
	NEED(CALL(close, ends[0]) == 0 && CALL(close, ends[1]) == 0);
	CALL(process_vm_readv, getpid(), &vector, 1, &other, 1, 0);
	CALL(process_vm_writev, getpid(), &vector, 1, &other, 1, 0);
	NEED(CALL(close_range, 900, 901, 0) == 0);
	CALL(closefrom, 900);
}

static void use_terminal(void)
{
	struct termios settings = {0};
	int fd = CALL(getpt), other;

	if (fd >= 0)
		NEED(CALL(close, fd) == 0);
	fd = CALL(posix_openpt, O_RDWR | O_NOCTTY);
	if (fd >= 0)
		NEED(CALL(close, fd) == 0);
	if (CALL(openpty, &fd, &other, NULL, NULL, NULL) == 0)
		NEED(CALL(close, fd) == 0 && CALL(close, other) == 0);
	NEED(CALL(login_tty, -1) == -1);
	NEED(CALL(tcdrain, -1) == -1 && CALL(tcflush, -1, TCIFLUSH) == -1 && CALL(tcflow, -1, TCOON) == -1);
	NEED(CALL(tcsendbreak, -1, 0) == -1 && CALL(tcsetattr, -1, TCSANOW, &settings) == -1);
}

static void use_randomness(void)
{
	char bytes[1000];
	size_t count = random_length(256);

	NEED(CALL(getrandom, bytes, count, 0) == (ssize_t)count);
	NEED(CALL(getentropy, bytes, count) == 0);
	NEED(CALL(getentropy, bytes, 1000) == -1 && errno == EIO);
	CALL(arc4random);
	NEED(CALL(arc4random_uniform, (uint32_t)count) < count);
	CALL(arc4random_buf, bytes, count);
}

static void use_messages(void)
{
	struct {
		long type;
		char text[MIDDLE_MOST];
	} message = {(long)random_number(62) + 1, "message"};
	size_t bytes = random_length(sizeof(message.text));
	struct timespec past = {1, 0};
	char name[NAME_MOST + 1], room[8192] = "";
	mqd_t queue;
	int id = CALL(msgget, IPC_PRIVATE, 0600);

	NEED(id >= 0 && CALL(msgsnd, id, &message, bytes, 0) == 0);
	NEED(CALL(msgrcv, id, &message, bytes, message.type, 0) == (ssize_t)bytes &&
	     CALL(msgctl, id, IPC_RMID, NULL) == 0);
	snprintf(name, sizeof(name), "/count_others.%ld.%s", (long)getpid(), random_word(MIDDLE_MOST));
	queue = CALL(mq_open, name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, NULL);
	CALL(mq_send, queue, room, random_length(MIDDLE_MOST), (unsigned)random_below(100));
	CALL(mq_timedsend, queue, room, random_length(MIDDLE_MOST), 0, &past);
	CALL(mq_receive, queue, room, sizeof(room), NULL);
	CALL(mq_timedreceive, queue, room, sizeof(room), NULL, &past);
	CALL(mq_notify, queue, NULL);
	CALL(mq_setattr, queue, &(struct mq_attr){.mq_flags = O_NONBLOCK}, NULL);
	CALL(mq_unlink, name);
	CALL(mq_close, queue);
}

/* -- Messages of its own -------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say_list(int which, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (which == 0)
		CALL(vsyslog, LOG_DEBUG, format, list);
	else if (which == 1)
		CALL(vwarn, format, list);
	else
		CALL(vwarnx, format, list);
	va_end(list);
}

static void say_things(void)
{
	static char ident[MIDDLE_MOST + 1];
	siginfo_t info = {.si_signo = SIGHUP};

	/* The library keeps the pointer, so the text is static. */
	random_text(ident, MIDDLE_MOST);
	CALL(openlog, ident, LOG_NDELAY, LOG_USER);
	CALL(syslog, LOG_DEBUG, "%s %g", random_word(LINE_MOST), 1.5);
	say_list(0, "%s %d", random_word(LINE_MOST), 2);
	CALL(closelog);
	errno = ENOENT;
	CALL(warn, "%s %g", random_word(LINE_MOST), 1.5);
	CALL(warnx, "%s %d", random_word(LINE_MOST), 3);
	say_list(1, "%s %d", random_word(LINE_MOST), 4);
	say_list(2, "%s %d", random_word(LINE_MOST), 5);
	CALL(perror, random_word(LINE_MOST));
	CALL(herror, random_word(LINE_MOST));
	CALL(psignal, SIGHUP, random_word(LINE_MOST));
	CALL(psiginfo, &info, random_word(LINE_MOST));
	CALL(error, 0, ENOENT, "%s %g %d %d %d %d %Lg", random_word(LINE_MOST), 1.5, 1, 2, 3, 4,
	     (long double)2.5);
	CALL(error_at_line, 0, 0, random_word(NAME_MOST), (unsigned)random_number(32), "%s %g",
	     random_word(LINE_MOST), 2.5);
}

/* -- The loader ------------------------------------------------------------------------------------- */

static void use_loader(void)
{
	void *handle = CALL(dlopen, "libm.so.6", RTLD_NOW);

	NEED(handle && CALL(dlclose, handle) == 0);
	NEED(CALL(dlopen, path_to("no such library"), RTLD_NOW) == NULL);
	handle = CALL(dlmopen, LM_ID_BASE, "libm.so.6", RTLD_NOW);
	NEED(handle && CALL(dlclose, handle) == 0);
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 1;
	int fd;

	random_seed(0);
	for (i = 0; i < rounds; i++) {
		fd = CALL(open, path_to("file"), O_RDWR | O_CREAT, 0600);
		NEED(fd >= 0);
		use_file(fd);
		use_asynchronous(fd);
		NEED(CALL(close, fd) == 0 && CALL(unlink, path_to("file")) == 0);
		use_terminal();
		use_randomness();
		use_messages();
		say_things();
		use_loader();
	}
	CALL(sync);
	print_counts();
	return 0;
}
