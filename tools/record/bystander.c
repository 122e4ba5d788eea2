/* See bystander.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bystander.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The bystander only has to be scheduled for its answer. */
enum { ANSWER_MS = 1000 };

/* The process itself. All signals stay blocked, so that each waits until it is asked for. It ends when the
 * connection has no other end, whatever has become of fxt record, and keeps nothing else open. */
static _Noreturn void stand_by(int connection)
{
	static const struct timespec none;
	struct fxt_seen_signal seen[FXT_BYSTANDER_MOST];
	siginfo_t info;
	sigset_t all;
	char question;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (connection)
		close_range(0, (unsigned)connection - 1, 0);
	close_range((unsigned)connection + 1, ~0U, 0);
	while (read(connection, &question, 1) == 1) {
		size_t count = 0;

		while (count < FXT_BYSTANDER_MOST && sigtimedwait(&all, &info, &none) > 0)
			/* Those of the kernel come from the terminal, and are handed on to nobody. */
			if (info.si_code <= 0)
				seen[count++] = (struct fxt_seen_signal){info.si_signo, info.si_pid};
		if (send(connection, seen, count * sizeof(*seen), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

bool fxt_bystander_begin(struct fxt_bystander *b)
{
	int ends[2];

	*b = (struct fxt_bystander){.connection = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	b->pid = fork();
	if (b->pid == 0)
		stand_by(ends[1]);
	close(ends[1]);
	b->connection = ends[0];
	if (b->pid > 0)
		return true;
	close(ends[0]);
	*b = (struct fxt_bystander){.connection = -1};
	return false;
}

size_t fxt_bystander_ask(const struct fxt_bystander *b, struct fxt_seen_signal *seen)
{
	struct pollfd one = {.fd = b->connection, .events = POLLIN};
	ssize_t bytes;

	if (b->pid <= 0 || send(b->connection, "", 1, MSG_NOSIGNAL) != 1 || poll(&one, 1, ANSWER_MS) != 1)
		return 0;
	bytes = recv(b->connection, seen, FXT_BYSTANDER_MOST * sizeof(*seen), MSG_DONTWAIT);
	return bytes > 0 ? (size_t)bytes / sizeof(*seen) : 0;
}

void fxt_bystander_end(struct fxt_bystander *b)
{
	if (b->pid <= 0)
		return;
	close(b->connection);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*b = (struct fxt_bystander){.connection = -1};
}
