/* Writes socket addresses as text, and makes the kinds of parameter that the tables have for them, beside
 * those of interpose.h:
 *
 *	ADDR            an address given to a call, `addrlen` bytes long
 *	ADDR_OUT        a buffer of *addrlen bytes that a call puts an address into
 *	ADDR_BOUND      ADDR, of a socket that the call binds to it; where the kernel chooses, as for port 0,
 *	                with what it chose
 *	BOUND           INT, the descriptor of a socket with an address of its own
 *
 * The socket's own address is asked for by a system call after the program's call, and recorded as `bound`.
 * An address that was given or returned is recorded as the string `addr`, if there is an address:
 * `127.0.0.1:80`, `[fe80::1%2]:80`, `unix:/path`, `unix:@abstract`, `unix:` where the socket has no name,
 * `family:16` for others. Any context.
 */
#ifndef FXT_ADDRESS_H
#define FXT_ADDRESS_H

#include <sys/socket.h>

#include "interpose/engine/interpose.h"

enum {
	FXT_ADDRESS_TEXT_BYTES = 120,   /* the longest is "unix:" and the 108 bytes of sun_path */
	FXT_ADDRESS_WORDS = 1 + FXT_ADDRESS_TEXT_BYTES / FXT_WORD_BYTES,
};

/* glibc's transparent unions (__SOCKADDR_ARG) hold one pointer under many types. */
static inline const struct sockaddr *fxt_sockaddr(const void *argument)
{
	const struct sockaddr *address;

	memcpy(&address, argument, sizeof(address));
	return address;
}

/* These return how many bytes of an address may be looked at; 0: none. fxt_address_given() is for an address
 * that was given to a call, and is called after it; `failed` says how it ended. For an address that a call
 * returns, fxt_address_room() is called before it, and returns how much the kernel fills at most;
 * fxt_address_returned() takes that and the length that the kernel reports. */
size_t fxt_address_given(const struct fxt_thread *thread, const struct sockaddr *address, socklen_t length,
			 bool failed);
size_t fxt_address_room(const struct fxt_thread *thread, const struct sockaddr *address,
			const socklen_t *length);
size_t fxt_address_returned(size_t room, const socklen_t *length, int failure);

/* Writes the argument `addr` of an event: the text of an address that has `bytes` bytes, which is not 0. */
uint64_t *fxt_put_address(uint64_t *at, const struct sockaddr *address, size_t bytes);

/* Returns whom a connection is with, and writes it to `text`: an address of `bytes` bytes or, if that is 0,
 * what the kernel says of socket `fd`; if that is -1, nothing. */
struct fxt_fd_detail fxt_address_peer(char text[FXT_ADDRESS_TEXT_BYTES], const struct sockaddr *address,
				      size_t bytes, int fd);
#define FXT_PEER(name, fd) \
	fxt_address_peer((char[FXT_ADDRESS_TEXT_BYTES]){0}, fxt_sockaddr(&name), name##_bytes, fd)
#define FXT_OF_PEER(name) FXT_PEER(name, result_)

/* Writes to `text` what socket `fd` is bound to, and returns the text's length. Returns 0 if that is not
 * known, if the call failed, or if `given`, an address of `bytes` bytes, says it already. */
size_t fxt_address_bound(char text[FXT_ADDRESS_TEXT_BYTES], int fd, const struct sockaddr *given,
			 size_t bytes, int failure);

/* Returns what a socket is bound to, for the socket's lifetime: `text` if it has bytes, otherwise the address
 * that was given, which is written to `text`. */
struct fxt_fd_detail fxt_address_own(char text[FXT_ADDRESS_TEXT_BYTES], size_t text_bytes,
				     const struct sockaddr *given, size_t bytes);

#define COUNT_ADDR_BOUND 0
#define WORDS_ADDR_BOUND(name) (WORDS_ADDR(name) + FXT_ADDRESS_WORDS)
#define MEASURE_ADDR_BOUND(name)                        \
	MEASURE_ADDR(name)                              \
	MEASURE_OWN(sockfd, fxt_sockaddr(&name), name##_bytes)
#define PUT_ADDR_BOUND(name)    \
	PUT_ADDR(name)          \
	PUT_OWN(sockfd)
#define COUNT_BOUND 1
#define WORDS_BOUND(name) (1 + FXT_ADDRESS_WORDS)
#define MEASURE_BOUND(name) MEASURE_OWN(name, NULL, 0)
#define PUT_BOUND(name) \
	PUT_INT(name)   \
	PUT_OWN(name)
#define MEASURE_OWN(name, given, bytes)			\
	char name##_text[FXT_ADDRESS_TEXT_BYTES];	\
	size_t name##_text_bytes = fxt_address_bound(name##_text, name, given, bytes, failure_);
#define PUT_OWN(name)                                                                           \
	if (name##_text_bytes) {                                                                \
		at_ = fxt_put_text(at_, FXT_STR_bound, name##_text, name##_text_bytes);         \
		arguments_++;                                                                   \
	}
#define TAKE_ADDR_BOUND , TAKE_SOCKADDR

#define COUNT_ADDR 0
#define WORDS_ADDR(name) FXT_ADDRESS_WORDS
#define MEASURE_ADDR(name) \
	size_t name##_bytes = fxt_address_given(thread_, fxt_sockaddr(&name), addrlen, result_ < 0);
#define PUT_ADDR(name)                                                               \
	if (name##_bytes) {                                                          \
		at_ = fxt_put_address(at_, fxt_sockaddr(&name), name##_bytes);       \
		arguments_++;                                                        \
	}

#define COUNT_ADDR_OUT 0
#define WORDS_ADDR_OUT(name) FXT_ADDRESS_WORDS
#define FIRST_ADDR_OUT , BEFORE_ADDR_OUT
#define BEFORE_ADDR_OUT(name) size_t name##_bytes = fxt_address_room(thread_, fxt_sockaddr(&name), addrlen);
#define MEASURE_ADDR_OUT(name) name##_bytes = fxt_address_returned(name##_bytes, addrlen, failure_);
#define PUT_ADDR_OUT(name) PUT_ADDR(name)

#define TAKE_ADDR , TAKE_SOCKADDR
#define TAKE_ADDR_OUT , TAKE_SOCKADDR
#define TAKE_SOCKADDR(type, name) type name = {.__sockaddr__ = (struct sockaddr *)*next_++};

#endif
