/* See address.h. Called by the wrappers of socket.c around the real call, in any context. */
#include "address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include "interpose/engine/readable.h"

enum {
	GROUPS = 8,                     /* groups of an IPv6 address */
	INET_BYTES = offsetof(struct sockaddr_in, sin_zero),
	/* The kernel takes an address without its scope. */
	INET6_BYTES = offsetof(struct sockaddr_in6, sin6_scope_id),
};

/* An address is copied to this before it is read: the program's has any alignment, and may be changing. */
union address {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

size_t fxt_address_given(const struct fxt_thread *thread, const struct sockaddr *address, socklen_t length,
			 bool failed)
{
	if (!address || length < sizeof(sa_family_t) || length > sizeof(union address))
		return 0;
	/* A call that failed need not have read the address: connect(-1, bad, 16) is EBADF. */
	if (failed && !fxt_readable(thread, address, length))
		return 0;
	return length;
}

size_t fxt_address_room(const struct fxt_thread *thread, const struct sockaddr *address,
			const socklen_t *length)
{
	return address && fxt_readable(thread, length, sizeof(*length)) ? *length : 0;
}

size_t fxt_address_returned(size_t room, const socklen_t *length, int failure)
{
	/* With too little room there is the beginning of an address, which would pass for a whole one. */
	if (failure || !room || *length > room)
		return 0;
	return *length < sizeof(sa_family_t) || *length > sizeof(union address) ? 0 : *length;
}

/* -- As text: each function returns where the next character goes ------------------------------ */

static char *put_string(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *put_number(char *at, uint32_t value, unsigned base)
{
	char digits[10];
	size_t n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (n)
		*at++ = digits[--n];
	return at;
}

static char *put_port(char *at, in_port_t port)
{
	*at++ = ':';
	return put_number(at, ntohs(port), 10);
}

static char *put_inet(char *at, const uint8_t *bytes)
{
	unsigned i;

	for (i = 0; i < 4; i++) {
		if (i)
			*at++ = '.';
		at = put_number(at, bytes[i], 10);
	}
	return at;
}

static unsigned zeros_at(const struct in6_addr *address, unsigned group)
{
	unsigned n = 0;

	while (group + n < GROUPS && !address->s6_addr16[group + n])
		n++;
	return n;
}

/* Writes the address as RFC 5952 has it: the first of the longest runs of two or more zero groups becomes
 * "::". */
static char *put_inet6(char *at, const struct in6_addr *address)
{
	size_t run = 0, run_groups = 0, i;

	if (IN6_IS_ADDR_V4MAPPED(address))
		return put_inet(put_string(at, "::ffff:"), address->s6_addr + 12);
	for (i = 0; i < GROUPS; i++) {
		if (zeros_at(address, i) > run_groups) {
			run = i;
			run_groups = zeros_at(address, i);
		}
	}
	for (i = 0; i < GROUPS;) {
		if (run_groups >= 2 && i == run) {
			at = put_string(at, "::");
			i += run_groups;
			continue;
		}
		if (i && at[-1] != ':')
			*at++ = ':';
		at = put_number(at, (uint32_t)address->s6_addr[2 * i] << 8 | address->s6_addr[2 * i + 1], 16);
		i++;
	}
	return at;
}

/* A path ends at its NUL, if it has one. An abstract name begins with NUL and is as long as the address says;
 * NULs are shown as '@', as ss(8) does. */
static char *put_unix(char *at, const struct sockaddr_un *un, size_t bytes)
{
	size_t n = bytes - offsetof(struct sockaddr_un, sun_path), i;

	if (n > sizeof(un->sun_path))
		n = sizeof(un->sun_path);
	at = put_string(at, "unix:");
	for (i = 0; i < n && (un->sun_path[i] || !un->sun_path[0]); i++)
		*at++ = (char)(un->sun_path[i] ? un->sun_path[i] : '@');
	return at;
}

static size_t describe(char *text, const union address *address, size_t bytes)
{
	char *at = text;

	if (address->family == AF_INET && bytes >= INET_BYTES) {
		at = put_inet(at, (const uint8_t *)&address->in.sin_addr);
		at = put_port(at, address->in.sin_port);
	} else if (address->family == AF_INET6 && bytes >= INET6_BYTES) {
		*at++ = '[';
		at = put_inet6(at, &address->in6.sin6_addr);
		if (address->in6.sin6_scope_id)
			at = put_number(put_string(at, "%"), address->in6.sin6_scope_id, 10);
		*at++ = ']';
		at = put_port(at, address->in6.sin6_port);
	} else if (address->family == AF_UNIX) {
		at = put_unix(at, &address->un, bytes);
	} else {
		at = put_number(put_string(at, "family:"), address->family, 10);
	}
	return (size_t)(at - text);
}

static size_t describe_copy(char text[FXT_ADDRESS_TEXT_BYTES], const struct sockaddr *address, size_t bytes)
{
	union address copy;

	static_assert(sizeof("unix:") - 1 + sizeof(copy.un.sun_path) <= FXT_ADDRESS_TEXT_BYTES,
		      "the longest text");
	memset(&copy, 0, sizeof(copy));
	memcpy(&copy, address, bytes);
	return describe(text, &copy, bytes);
}

uint64_t *fxt_put_address(uint64_t *at, const struct sockaddr *address, size_t bytes)
{
	char text[FXT_ADDRESS_TEXT_BYTES];

	return fxt_put_text(at, FXT_STR_addr, text, describe_copy(text, address, bytes));
}

struct fxt_fd_detail fxt_address_peer(char text[FXT_ADDRESS_TEXT_BYTES], const struct sockaddr *address,
				      size_t bytes, int fd)
{
	union address peer;
	socklen_t length = sizeof(peer);

	/* A filter of system calls may kill the process for this call, so it is not made under one. */
	if (!bytes && fd >= 0 && !fxt_is_filtered() && !FXT_SYSCALL3(SYS_getpeername, fd, &peer, &length)) {
		address = (const struct sockaddr *)&peer;
		bytes = fxt_address_returned(sizeof(peer), &length, 0);
	}
	if (!bytes)
		return (struct fxt_fd_detail){0};
	return (struct fxt_fd_detail){
		.name = FXT_STR_addr, .text = text, .bytes = describe_copy(text, address, bytes)};
}

/* Returns whether the kernel chooses what the socket is bound to: the port, or a Unix socket's name. */
static bool is_open(const struct sockaddr *given, size_t bytes)
{
	union address address;

	memset(&address, 0, sizeof(address));
	memcpy(&address, given, bytes);
	switch (address.family) {
	case AF_INET: return !address.in.sin_port;
	case AF_INET6: return !address.in6.sin6_port;
	case AF_UNIX: return bytes == sizeof(sa_family_t);
	default: return false;
	}
}

size_t fxt_address_bound(char text[FXT_ADDRESS_TEXT_BYTES], int fd, const struct sockaddr *given,
			 size_t bytes, int failure)
{
	union address address;
	socklen_t length = sizeof(address);

	/* A filter of system calls may kill the process for this call, so it is not made under one. */
	if (failure || (bytes && !is_open(given, bytes)) || fxt_is_filtered() ||
	    FXT_SYSCALL3(SYS_getsockname, fd, &address, &length))
		return 0;
	bytes = fxt_address_returned(sizeof(address), &length, 0);
	return bytes ? describe_copy(text, (const struct sockaddr *)&address, bytes) : 0;
}

struct fxt_fd_detail fxt_address_own(char text[FXT_ADDRESS_TEXT_BYTES], size_t text_bytes,
				     const struct sockaddr *given, size_t bytes)
{
	if (!text_bytes && bytes)
		text_bytes = describe_copy(text, given, bytes);
	return (struct fxt_fd_detail){.name = FXT_STR_bound, .text = text, .bytes = text_bytes};
}
