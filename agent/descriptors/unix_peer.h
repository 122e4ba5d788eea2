/* Finds the other end of a Unix socket. The name of a connection is the inode of the end that connected
 * (endpoint.c), so the end that was accepted has to ask for it. The kernel tells it by netlink, which takes
 * some 10 microseconds and a socket.
 */
#ifndef FXT_UNIX_PEER_H
#define FXT_UNIX_PEER_H

#include <stdint.h>

/* Returns the inode of the socket at the other end of the Unix socket that has this inode. Returns 0 if the
 * kernel does not tell, if a filter of system calls may forbid to ask, or if the stack is short. Called by
 * endpoint.c, in any context. */
uint64_t fxt_unix_peer(uint32_t inode);

#endif
