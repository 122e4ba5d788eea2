/* The process's descriptors by their number: what is known of each, and its lifetime as an async event
 * (category of the call that made it), from the call that made it to the one that closes it.
 *
 *	fxt_fd()                a descriptor's entry: one or two loads, any context
 *	fxt_fd_opened()         a call has returned a new descriptor
 *	fxt_fd_duplicated()     a number is another name of an open one
 *	fxt_fd_take()           a number is about to be closed, and from then on another thread's; fxt_fd_end() when it is
 *
 * What closes and duplicates is told here whether or not its category is on: the end of a lifetime has to
 * follow its begin. The table is in pages that are made when needed and never freed. In the child of a vfork,
 * whose descriptors are its own and whose memory is its parent's, nothing changes; the child of a fork has a
 * copy, in which what it inherited has no lifetime: its begin is in the parent's trace.
 */
#ifndef FXT_FDS_H
#define FXT_FDS_H

#include "agent/base/agent.h"

enum {
	FXT_FDS_PAGE = 512,             /* entries */
	FXT_FDS_PAGES = 2048,
	FXT_FDS_MAX = FXT_FDS_PAGE * FXT_FDS_PAGES,     /* numbers from here on are not known */
};

/* A cache line for each: threads count in different ones at once. */
struct fxt_fd {
	union {
		struct {
			_Atomic uint32_t stream;        /* which channel between processes it is an end of; 0: not known */
			_Atomic uint32_t is_stderr;     /* it is 2, or a duplicate of that: interpose/engine/stderr_text.h */
		};
		_Atomic uint64_t is_special;            /* either of these */
	};
	_Atomic uint64_t life;          /* async id; 0: none */
	_Atomic uint64_t connection;    /* the same of what connect() began; ends no later than the descriptor */
	_Atomic uint64_t read_bytes, written_bytes;
	uint64_t begin_ns;              /* of the lifetime that began last */
	_Atomic uint64_t life_named;    /* the upper half of the header of `life`, its category and name, and the lower half of its id */
	_Atomic uint32_t generation;    /* of the process that began the lifetimes: a fork begins another */
	bool is_buffered;               /* not all that is moved is seen: fxt_fd_buffered() */
	bool is_reconnected;            /* what was moved is not that of one connection */
} __attribute__((aligned(64)));

/* The first page is there from the start, and in none of these. */
extern struct fxt_fd fxt_fd_first[FXT_FDS_PAGE] __attribute__((visibility("hidden")));
extern _Atomic(struct fxt_fd *) fxt_fd_pages[FXT_FDS_PAGES] __attribute__((visibility("hidden")));

/* The entry of a number; NULL: nothing is known. */
static inline struct fxt_fd *fxt_fd(int fd)
{
	struct fxt_fd *page;

	if (FXT_LIKELY((unsigned)fd < FXT_FDS_PAGE))
		return fxt_fd_first + (unsigned)fd;
	if ((unsigned)fd >= FXT_FDS_MAX)
		return NULL;
	page = atomic_load_explicit(&fxt_fd_pages[fd / FXT_FDS_PAGE], memory_order_acquire);
	return page ? page + fd % FXT_FDS_PAGE : NULL;
}

/* Whether what is read from it or written to it is of interest to others. */
static inline bool fxt_fd_is_special(int fd)
{
	const struct fxt_fd *entry = fxt_fd(fd);

	return FXT_UNLIKELY(entry && atomic_load_explicit(&entry->is_special, memory_order_relaxed));
}

/* The same, made if need be; NULL: the number is too large, or there is no memory. Any context. */
struct fxt_fd *fxt_fd_make(int fd);

/* Whether the caller's descriptors are those of the table: not in the child of a vfork. Costs a system call
 * after a vfork only. */
FXT_COLD bool fxt_fds_ask(struct fxt_thread *thread);

static inline bool fxt_fds_are_ours(struct fxt_thread *thread)
{
	return FXT_LIKELY(!thread->may_be_child) || fxt_fds_ask(thread);
}

/* Once, at start. */
void fxt_fds_start(void);

/* In the child of a fork. */
void fxt_fds_after_fork(void);

/* -- What is moved ----------------------------------------------------------------------------- */

/* Another thread that moves bytes through the same descriptor at the same moment may cost some of the
 * count. */
static inline void fxt_fd_add(_Atomic uint64_t *count, uint64_t bytes)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + bytes, memory_order_relaxed);
}

static inline void fxt_fd_has_read(struct fxt_thread *thread, int fd, uint64_t bytes)
{
	struct fxt_fd *entry;

	/* Found again: kept during the call, it would have to be stored. */
	__asm__("" : "+r"(fd));
	entry = fxt_fd(fd);
	if (FXT_LIKELY(entry && fxt_fds_are_ours(thread)))
		fxt_fd_add(&entry->read_bytes, bytes);
}

static inline void fxt_fd_has_written(struct fxt_thread *thread, int fd, uint64_t bytes)
{
	struct fxt_fd *entry;

	/* Found again: kept during the call, it would have to be stored. */
	__asm__("" : "+r"(fd));
	entry = fxt_fd(fd);
	if (FXT_LIKELY(entry && fxt_fds_are_ours(thread)))
		fxt_fd_add(&entry->written_bytes, bytes);
}

/* -- Opened ------------------------------------------------------------------------------------ */

/* What else is known of a new descriptor: an argument of the call that made it, by its name. */
struct fxt_fd_detail {
	uint64_t name;                  /* FXT_STR_; 0: nothing */
	const char *text;               /* NULL: it is a number */
	size_t bytes;                   /* of the text */
	int number;
	uint64_t of;                    /* the lifetime this one is a duplicate of; 0 */
	uint64_t original;              /* the lifetime whose slot says what it is a duplicate of: fd_slots.h; 0 */
};

/* A call of `names` has returned `fd`, which is `what` (FXT_STR_): its lifetime begins, at now_ns. */
void fxt_fd_opened(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names, uint64_t what,
		   struct fxt_fd_detail detail);

/* A socket is connected, or on its way to be: until it is closed, shut down, or connected to something
 * else. */
void fxt_fd_connected(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names, struct fxt_fd_detail detail);
void fxt_fd_disconnected(struct fxt_thread *thread, int fd, uint64_t now_ns);

/* A socket has this address of its own from here on. Circular mode alone tells of it in the socket's
 * lifetime, as the call may be overwritten: others do not ask. */
void fxt_fd_bound(struct fxt_thread *thread, int fd, struct fxt_fd_detail detail);

/* What is moved through it is not all seen from here on: the C library does so for a stream, or a call does
 * not say how much. */
void fxt_fd_buffered(struct fxt_thread *thread, int fd);

/* A call of `names` has made `newfd` another number of what `oldfd` is. What newfd was before is closed. For
 * any thread. */
void fxt_fd_duplicated(int oldfd, int newfd, uint64_t names);

/* -- Closed ------------------------------------------------------------------------------------ */

/* What an entry knew when the number was given away. */
struct fxt_fd_taken {
	uint64_t life, connection;      /* 0: no end is due */
	uint64_t read_bytes, written_bytes, begin_ns;
	uint32_t life_names;            /* 0: not known, as threads raced for the number */
	uint32_t generation;            /* of the process that has taken them */
	int fd;
	bool is_buffered, is_reconnected;
};

/* Whether there is anything to take. */
static inline bool fxt_fd_is_known(const struct fxt_fd *entry)
{
	return atomic_load_explicit(&entry->life, memory_order_relaxed) |
	       atomic_load_explicit(&entry->connection, memory_order_relaxed) |
	       atomic_load_explicit(&entry->stream, memory_order_relaxed);
}

/* Empties the entry of a number that is about to be closed: the next moment another thread may have it.
 * `taken` is for fxt_fd_end() after the call. However that ends, the descriptor is not open any more: a close
 * that fails has closed, or there was nothing to close. */
void fxt_fd_take(int fd, struct fxt_fd_taken *taken);
void fxt_fd_end(const struct fxt_fd_taken *taken);

/* `call`, which closes descriptor `fd_`. */
#define FXT_FD_CLOSE(fd_, call)                                                 \
	do {                                                                    \
		int number_ = (fd_);                                            \
		const struct fxt_fd *entry_ = fxt_fd(number_);                  \
		struct fxt_fd_taken taken_;                                     \
										\
		if (FXT_LIKELY(!entry_ || !fxt_fd_is_known(entry_))) {          \
			call;                                                   \
		} else {                                                        \
			fxt_fd_take(number_, &taken_);                          \
			call;                                                   \
			fxt_fd_end(&taken_);                                    \
		}                                                               \
	} while (0)

/* Of a range that is closed at once: what is open before the call is over after it, if it is so old. */
uint64_t fxt_fds_mark(void);
void fxt_fds_closed(unsigned first, unsigned last, uint64_t mark);

#endif
