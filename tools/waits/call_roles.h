/* The roles of the calls of the C library, for fxt report: which calls take and give memory, which wait for
 * what, and which move bytes through which descriptor. Roles follow from the tables of interpose/, as
 * interpose/engine/roles.h says. */
#ifndef FXT_TOOLS_CALL_ROLES_H
#define FXT_TOOLS_CALL_ROLES_H

#include "tools/reading/reader.h"

enum fxt_role_family { FXT_FAMILY_NONE, FXT_FAMILY_HEAP, FXT_FAMILY_WAIT, FXT_FAMILY_FD, FXT_FAMILY_IDLE };

enum fxt_effect {
	FXT_EFFECT_NONE,
	FXT_EFFECT_ALLOC,
	FXT_EFFECT_REALLOC,
	FXT_EFFECT_FREE,
	FXT_EFFECT_OPEN,
	FXT_EFFECT_OPEN_STREAM,
	FXT_EFFECT_STREAM_OF,           /* makes a stream of a descriptor */
	FXT_EFFECT_SOCKET,
	FXT_EFFECT_ACCEPT,
	FXT_EFFECT_CONNECT,             /* names a socket for its peer */
	FXT_EFFECT_ADDRESS,             /* names a socket */
	FXT_EFFECT_SPECIAL,             /* makes a descriptor that is known by this call's name */
	FXT_EFFECT_PAIR,
	FXT_EFFECT_DUP,
	FXT_EFFECT_FCNTL,
	FXT_EFFECT_IOCTL,
	FXT_EFFECT_MODE,                /* says whether calls may wait */
	FXT_EFFECT_CLOSE,
	FXT_EFFECT_CLOSE_RANGE,
	FXT_EFFECT_CLOSE_STREAM,
	FXT_EFFECT_READ,                /* returns bytes */
	FXT_EFFECT_WRITE,
	FXT_EFFECT_COPY,                /* moves bytes from one descriptor to another */
	FXT_EFFECT_READ_THINGS,         /* returns how many elements of `size` bytes it read */
	FXT_EFFECT_WRITE_THINGS,
	FXT_EFFECT_GET,                 /* moves one byte */
	FXT_EFFECT_PUT,
	FXT_EFFECT_READ_SOME,           /* does not say how many bytes it moved */
	FXT_EFFECT_WRITE_SOME,
	FXT_EFFECT_MOVE,                /* moves something that is not counted */
	FXT_EFFECT_USE,                 /* takes its time and moves nothing */
};

struct fxt_role {
	const char *name;
	enum fxt_role_family family;
	enum fxt_effect effect;
	const char *kind;               /* the thing that the call waits for: "mutex", "join", ... */
	const char *argument;           /* the argument that has the object or descriptor */
};

/* The standing of a thread in a call that takes its time. */
enum fxt_standing {
	FXT_STANDING_NONE,              /* it runs */
	FXT_STANDING_BLOCKED,           /* it waits for another thread: locks, conditions, joins */
	FXT_STANDING_WAITING,           /* it waits for the world outside: files, sockets, children, time */
};

/* A thread that sleeps is gone for longer than this, so shorter calls have not waited, whatever their
 * role. */
enum { FXT_STANDING_LEAST_NS = 2000 };

enum fxt_standing fxt_role_standing(const struct fxt_role *role);

/* Returns how long the thread was off the processor in a finished call that may have waited. */
uint64_t fxt_waited_ns(const struct fxt_record *rec);

/* Roles by the symbol of an event's name. At the beginning all members are zero. */
struct fxt_roles {
	const struct fxt_role **by_symbol;
	size_t count, capacity;
};

/* Returns the role of a call, or NULL if it has none. Calls of the category "function" are the program's own
 * functions and have none, whatever their names. */
const struct fxt_role *fxt_role_of(struct fxt_roles *roles, struct fxt_reader *r,
				   const struct fxt_record *rec);
void fxt_roles_free(struct fxt_roles *roles);

#endif
