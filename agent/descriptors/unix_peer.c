/* See unix_peer.h. Asks the kernel by netlink who is at the other end of a socket. */
#include "unix_peer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/base/stack.h"
#include "writer/apart.h"
#include "writer/sys.h"

static _Atomic int may_use;             /* 0: not tried, 1: netlink may be used, -1: it may not */

/* Returns whether netlink may be asked. It may not if the process was started with a filter of system calls,
 * which may kill for a kind of socket that it does not know. */
static bool may_use_netlink(void)
{
	int state = atomic_load_explicit(&may_use, memory_order_relaxed);

	if (!state) {
		state = FXT_SYSCALL1(SYS_prctl, 21 /* PR_GET_SECCOMP */) ? -1 : 1;
		atomic_store_explicit(&may_use, state, memory_order_relaxed);
	}
	return state > 0 && !fxt_stack_is_short();
}

/* Returns the inode at the other end of a Unix socket, or 0 if the kernel does not tell. The kernel answers
 * before the call that asks returns, so nothing waits here. */
static uint64_t peer_inode(int netlink, uint32_t inode)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req question;
	} request = {
		{sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
		{.sdiag_family = AF_UNIX,
		 .udiag_states = UINT32_MAX,
		 .udiag_ino = inode,
		 .udiag_show = UDIAG_SHOW_PEER,
		 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};
	struct {
		struct nlmsghdr header;
		struct unix_diag_msg answer;
		struct nlattr attribute;
		uint32_t value;
		char rest[64];
	} reply;
	ssize_t bytes;

	memset(&reply, 0, sizeof(reply));
	if (FXT_SYSCALL6(SYS_sendto, netlink, &request, sizeof(request), MSG_DONTWAIT, NULL, 0) !=
	    (long)sizeof(request))
		return 0;
	bytes = FXT_SYSCALL6(SYS_recvfrom, netlink, &reply, sizeof(reply), MSG_DONTWAIT, NULL, NULL);
	if (bytes < (ssize_t)offsetof(typeof(reply), rest) ||
	    reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY || reply.answer.udiag_ino != inode ||
	    reply.attribute.nla_type != UNIX_DIAG_PEER)
		return 0;
	return reply.value;
}

/* Replaces the inode of a Unix socket, to which `argument` points, by that of its peer, or by 0. Runs apart,
 * because it opens a socket. */
static long ask_for_peer(void *argument)
{
	uint64_t *inode = argument;
	uint32_t own = (uint32_t)*inode;
	int netlink = (int)FXT_SYSCALL3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	*inode = 0;
	if (netlink < 0) {
		if (netlink != -EMFILE && netlink != -ENFILE)
			atomic_store_explicit(&may_use, -1, memory_order_relaxed);
		return netlink;
	}
	*inode = peer_inode(netlink, own);
	fxt_sys_close(netlink);
	return 0;
}

uint64_t fxt_unix_peer(uint32_t inode)
{
	uint64_t peer = inode;

	return may_use_netlink() && !fxt_apart(ask_for_peer, &peer) ? peer : 0;
}
