/* Finds the calls that did not wait. See no_wait.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "no_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"
#include "tools/common/message.h"

enum test { HAS, IS };

#define CALL(name) {.text = (name), .bytes = sizeof(name) - 1}

/* Arguments by which a call promises not to wait: the argument has a certain bit, or is a certain number. */
static const struct promise {
	struct fxt_text call;
	const char *argument;
	enum test test;
	uint64_t value;
} promises[] = {
	{CALL("wait3"), "options", HAS, WNOHANG},
	{CALL("wait4"), "options", HAS, WNOHANG},
	{CALL("waitpid"), "options", HAS, WNOHANG},
	{CALL("waitid"), "options", HAS, WNOHANG},
	{CALL("recv"), "flags", HAS, MSG_DONTWAIT},
	{CALL("recvfrom"), "flags", HAS, MSG_DONTWAIT},
	{CALL("recvmsg"), "flags", HAS, MSG_DONTWAIT},
	{CALL("recvmmsg"), "flags", HAS, MSG_DONTWAIT},
	{CALL("send"), "flags", HAS, MSG_DONTWAIT},
	{CALL("sendto"), "flags", HAS, MSG_DONTWAIT},
	{CALL("sendmsg"), "flags", HAS, MSG_DONTWAIT},
	{CALL("sendmmsg"), "flags", HAS, MSG_DONTWAIT},
	{CALL("preadv2"), "flags", HAS, RWF_NOWAIT},
	{CALL("pwritev2"), "flags", HAS, RWF_NOWAIT},
	{CALL("tee"), "flags", HAS, SPLICE_F_NONBLOCK},
	{CALL("vmsplice"), "flags", HAS, SPLICE_F_NONBLOCK},
	{CALL("msgsnd"), "msgflg", HAS, IPC_NOWAIT},
	{CALL("msgrcv"), "msgflg", HAS, IPC_NOWAIT},
	{CALL("getrandom"), "flags", HAS, GRND_NONBLOCK},
	{CALL("flock"), "operation", HAS, LOCK_NB},
	{CALL("flock"), "operation", IS, LOCK_UN},
	{CALL("lockf"), "op", IS, F_TLOCK},
	{CALL("lockf"), "op", IS, F_TEST},
	{CALL("lockf"), "op", IS, F_ULOCK},
	{CALL("fcntl"), "cmd", IS, F_DUPFD},
	{CALL("fcntl"), "cmd", IS, F_DUPFD_CLOEXEC},
	{CALL("fcntl"), "cmd", IS, F_GETFD},
	{CALL("fcntl"), "cmd", IS, F_SETFD},
	{CALL("fcntl"), "cmd", IS, F_GETFL},
	{CALL("fcntl"), "cmd", IS, F_SETFL},
	{CALL("ioctl"), "request", IS, FIONBIO},
	{CALL("ioctl"), "request", IS, FIONREAD},
	{CALL("ioctl"), "request", IS, FIOCLEX},
	{CALL("ioctl"), "request", IS, FIONCLEX},
	{CALL("poll"), "timeout", IS, 0},
	{CALL("ppoll"), "tmo_p", IS, 0},
	{CALL("select"), "timeout", IS, 0},
	{CALL("pselect"), "timeout", IS, 0},
	{CALL("epoll_wait"), "timeout", IS, 0},
	{CALL("epoll_pwait"), "timeout", IS, 0},
	{CALL("epoll_pwait2"), "timeout", IS, 0},
	{CALL("sigtimedwait"), "timeout", IS, 0},
	{CALL("aio_suspend"), "timeout", IS, 0},
	{CALL("semtimedop"), "timeout", IS, 0},
	{CALL("futex_wait"), "timeout", IS, 0},
};

/* No name of these is longer: "epoll_pwait2". */
enum { LONGEST = 12 };

static bool promises_not_to(const struct fxt_record *rec)
{
	uint64_t value;

	if (rec->name.bytes > LONGEST)
		return false;
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
		const struct promise *p = &promises[i];

		if (!fxt_text_equal(&rec->name, &p->call) ||
		    !fxt_argument_u64(fxt_argument(rec, p->argument), &value))
			continue;
		if (p->test == IS ? value == p->value : value & p->value)
			return true;
	}
	return false;
}

/* Returns whether the call failed because it would have had to wait. For some calls the same error means
 * that a time limit is over, and these do not count. */
static bool refused_to(const struct fxt_record *rec)
{
	static const char *const timed[] = {"sigtimedwait", "semtimedop", "aio_suspend"};
	uint64_t error;

	if (!fxt_argument_u64(fxt_argument(rec, "errno"), &error) ||
	    (error != EAGAIN && error != EINPROGRESS))
		return false;
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
		if (fxt_text_is(&rec->name, timed[i]))
			return false;
	return true;
}

bool fxt_says_no_wait(const struct fxt_record *rec)
{
	return refused_to(rec) || promises_not_to(rec);
}

bool fxt_may_say_no_wait(const struct fxt_record *rec)
{
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
		if (fxt_text_equal(&rec->name, &promises[i].call))
			return true;
	return fxt_argument(rec, "errno");
}

/* -- Marks: the words at which records of calls begin
 * ------------------------------------------------------- */

enum { WORD = 8 };

static void mark(struct fxt_no_wait *n, uint64_t file_bytes, uint64_t offset)
{
	uint64_t word = offset / WORD;

	/* Its pages take no memory until they are touched. */
	if (!n->marks)
		n->marks = fxt_alloc(file_bytes / WORD / CHAR_BIT + 1, 1);
	n->marks[word / CHAR_BIT] |= (uint8_t)(1u << word % CHAR_BIT);
}

bool fxt_is_marked_no_wait(const struct fxt_no_wait *n, uint64_t offset)
{
	uint64_t word = offset / WORD;

	return n->marks && n->marks[word / CHAR_BIT] >> word % CHAR_BIT & 1;
}

void fxt_no_wait_take(struct fxt_no_wait *n, const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, struct fxt_files *files)
{
	enum fxt_fd_mode mode;

	/* Shorter calls, and those that never count as waiting, are not asked for. */
	if (fxt_duration_ns(rec) < FXT_STANDING_LEAST_NS ||
	    fxt_role_standing(role) == FXT_STANDING_NONE)
		return;
	mode = fxt_file_mode(files, r, rec, role);
	/* A call that fails with EAGAIN on a descriptor that blocks had a time limit (SO_RCVTIMEO), and
	 * waited. */
	if (mode == FXT_FD_NONBLOCKING || (refused_to(rec) && mode != FXT_FD_BLOCKING) ||
	    promises_not_to(rec))
		mark(n, r->size, rec->offset);
}

void fxt_no_wait_free(struct fxt_no_wait *n)
{
	free(n->marks);
	*n = (struct fxt_no_wait){0};
}
