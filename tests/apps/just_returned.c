/* A thread of this program waits long in a call. As soon as the call has returned from the kernel, and most
 * often before it has returned to its caller, the process is killed. Then the call is in the trace, complete
 * or in progress.
 *
 *	just_returned read|write
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "need.h"
#include "unseen.h"

static int ends[2];

static void *waits_to_read(void *unused)
{
	char byte;

	need(read(ends[0], &byte, 1) == 1);
	for (;;)
		unseen(SYS_pause);
	return unused;
}

static void *waits_to_write(void *unused)
{
	need(write(ends[1], "x", 1) == 1);
	for (;;)
		unseen(SYS_pause);
	return unused;
}

/* Fills the pipe, so that the next write waits. */
static void fill(void)
{
	static char bytes[4096];

	need(!fcntl(ends[1], F_SETFL, O_NONBLOCK));
	while (write(ends[1], bytes, sizeof(bytes)) > 0 || write(ends[1], bytes, 1) > 0)
		;
	need(!fcntl(ends[1], F_SETFL, 0));
}

int main(int argc, char **argv)
{
	const int reads = argc > 1 && !strcmp(argv[1], "read");
	struct pollfd looks = {.events = reads ? POLLIN : POLLOUT};
	static char bytes[1 << 16];
	pthread_t thread;

	need(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	if (!reads)
		fill();
	need(!pthread_create(&thread, NULL, reads ? waits_to_read : waits_to_write, NULL));
	/* The call has to be a long one. */
	usleep(20000);
	if (reads) {
		need(unseen(SYS_write, ends[1], "x", 1) == 1);
		looks.fd = ends[0];
	} else {
		/* The thread's byte is in the pipe as soon as there is room for it. */
		need(unseen(SYS_read, ends[0], bytes, sizeof(bytes)) == 4096);
		looks.fd = ends[0];
		looks.events = POLLIN;
	}
	/* The byte is gone, or there. */
	while ((unseen(SYS_poll, &looks, 1, 0) == 1) == reads)
		;
	unseen(SYS_kill, getpid(), SIGKILL);
	return 0;
}
