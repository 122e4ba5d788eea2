/* Streams (agent/stream.h) that are read and written by way of syscall(), which is not recorded: from there on nothing is
 * known of them. Any context.
 */
#include "by_number.h"

#include <sys/syscall.h>

#include "agent/emit.h"
#include "agent/endpoint.h"

static void unseen(long fd)
{
	if (fxt_endpoint((int)fd))
		fxt_endpoint_unseen((int)fd);
}

/* The number is not the stream's any more; others are. */
static void leaves(long fd)
{
	if (!fxt_endpoint((int)fd))
		return;
	if (fxt_self)
		fxt_endpoint_disconnected(fxt_self, (int)fd);
	else
		fxt_endpoint_unseen((int)fd);
}

void fxt_streams_by_number(long number, const long *args)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_vmsplice:
	/* By another number. */
	case SYS_dup:
	case SYS_fcntl:
		unseen(args[0]);
		break;
	case SYS_splice:
		unseen(args[0]);
		unseen(args[2]);
		break;
	case SYS_tee:
	case SYS_sendfile:
		unseen(args[0]);
		unseen(args[1]);
		break;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		unseen(args[0]);
		leaves(args[1]);
		break;
	case SYS_close:
		leaves(args[0]);
		break;
	}
}
