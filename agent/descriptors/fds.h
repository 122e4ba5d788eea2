/* The table of the process's descriptors, by number: what is known of each, and its lifetime. The lifetime is
 * an async event, in the category of the call that made the descriptor. It goes from that call to the one
 * that closes the descriptor. Wrappers call these functions around the real calls, in any context. See
 * docs/descriptors.md.
 *
 *	fxt_fd()                returns a descriptor's entry, by one or two loads
 *	fxt_fd_opened()         a call has returned a new descriptor
 *	fxt_fd_duplicated()     a call has made a duplicate of a descriptor
 *	fxt_fd_take()           a number is about to be closed, and can be given to another thread at once;
 *	                        fxt_fd_end() follows after the call
 *
 * Calls that close and duplicate are told here whether or not their category is on, because the end of a
 * lifetime has to follow its begin. The table lies in pages that are made when needed and never freed. In the
 * child of a vfork, whose descriptors are its own and whose memory is its parent's, nothing changes. The
 * child of a fork has a copy of the table. What it inherited has no lifetime there, because the begin is in
 * the parent's trace.
 */
#ifndef FXT_FDS_H
#define FXT_FDS_H

#include "agent/base/agent.h"

enum {
	FXT_FDS_PAGE = 512,             /* entries in a page */
	FXT_FDS_PAGES = 2048,
	FXT_FDS_MAX = FXT_FDS_PAGE * FXT_FDS_PAGES,     /* numbers from here on are not known */
};

/* The entry of a descriptor, with what is known of it. Each entry has a cache line of its own, because
 * threads count bytes in different entries at once. */
struct fxt_fd {
	union {
		struct {
			_Atomic uint32_t stream;        /* the side of a stream it leads to; 0: unknown */
			_Atomic uint32_t is_stderr;     /* it is 2 or a duplicate of 2: stderr_text.h */
		};
		_Atomic uint64_t is_special;            /* not 0 if one of these two is not */
	};
	_Atomic uint64_t life;          /* the id of its lifetime; 0: none */
	_Atomic uint64_t connection;    /* the id of its connection, which ends before `life`; 0: none */
	_Atomic uint64_t read_bytes, written_bytes;
	uint64_t begin_ns;              /* the begin of the lifetime that began last */
	_Atomic uint64_t life_named;    /* the upper half of the header of `life`: its category and name;
					 * and the lower half of its id */
	/* the process's generation when they began: it is a new one after a fork, and when recording begins
	 * again */
	_Atomic uint32_t generation;
	bool is_buffered;               /* some of the bytes are not seen: fxt_fd_buffered() */
	bool is_reconnected;            /* the bytes are of more than one connection */
} __attribute__((aligned(64)));

/* The first page, which is there from the start, and the others. The place of the first page in fxt_fd_pages
 * is not used. */
extern struct fxt_fd fxt_fd_first[FXT_FDS_PAGE] __attribute__((visibility("hidden")));
extern _Atomic(struct fxt_fd *) fxt_fd_pages[FXT_FDS_PAGES] __attribute__((visibility("hidden")));

/* Returns the entry of a number, or NULL if nothing is known of it. */
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

/* Returns whether the descriptor leads to a known stream or to standard error, so that its bytes are looked
 * at. */
static inline bool fxt_fd_is_special(int fd)
{
	const struct fxt_fd *entry = fxt_fd(fd);

	return FXT_UNLIKELY(entry && atomic_load_explicit(&entry->is_special, memory_order_relaxed));
}

/* Returns the entry of a number, and makes its page if that is not there. Returns NULL if the number is too
 * large or there is no memory. */
struct fxt_fd *fxt_fd_make(int fd);

/* Does what fxt_fds_are_ours() does, for a thread that has called vfork: asks the kernel for the process's
 * id. */
FXT_COLD bool fxt_fds_ask(struct fxt_thread *thread);

/* Returns whether the caller's descriptors are those of the table. They are not in the child of a vfork. Only
 * threads that have called vfork pay a system call for this. */
static inline bool fxt_fds_are_ours(struct fxt_thread *thread)
{
	return FXT_LIKELY(!thread->may_be_child) || fxt_fds_ask(thread);
}

/* Marks descriptor 2 as standard error. Called once, at start. */
void fxt_fds_start(void);

/* Called in the child of a fork: what the child inherited has no lifetime from here on. */
void fxt_fds_after_fork(void);

/* Called when the buffering mode is known: in a ring the begins of lifetimes stand in slots (fd_slots.h). */
void fxt_fds_mode(void);

/* Called when recording begins again: what is open has no lifetime, as descriptors may have been closed
 * unseen. */
void fxt_fds_again(void);

/* -- Bytes that are moved ---------------------------------------------------------------------- */

/* Adds to a count. If another thread adds to the same count at the same moment, one of the two may be
 * lost. */
static inline void fxt_fd_add(_Atomic uint64_t *count, uint64_t bytes)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + bytes,
			      memory_order_relaxed);
}

/* Counts bytes that were read from a descriptor. */
static inline void fxt_fd_has_read(struct fxt_thread *thread, int fd, uint64_t bytes)
{
	struct fxt_fd *entry;

	/* Makes the compiler find the entry anew: one that is kept across the call would have to be
	 * stored. */
	__asm__("" : "+r"(fd));
	entry = fxt_fd(fd);
	if (FXT_LIKELY(entry && fxt_fds_are_ours(thread)))
		fxt_fd_add(&entry->read_bytes, bytes);
}

/* Counts bytes that were written to a descriptor. */
static inline void fxt_fd_has_written(struct fxt_thread *thread, int fd, uint64_t bytes)
{
	struct fxt_fd *entry;

	/* The reason is the same as in fxt_fd_has_read(). */
	__asm__("" : "+r"(fd));
	entry = fxt_fd(fd);
	if (FXT_LIKELY(entry && fxt_fds_are_ours(thread)))
		fxt_fd_add(&entry->written_bytes, bytes);
}

/* -- Opened ------------------------------------------------------------------------------------ */

/* An argument of the call that made a descriptor, for the begin of the descriptor's lifetime. */
struct fxt_fd_detail {
	uint64_t name;                  /* the name of the argument (FXT_STR_...); 0: there is none */
	const char *text;               /* its value; NULL: the value is `number` */
	size_t bytes;                   /* the length of the text */
	int number;
	uint64_t of;                    /* the lifetime of the descriptor that was duplicated; 0: none */
	uint64_t original;              /* the lifetime whose slot has the text (fd_slots.h); 0: none */
};

/* Begins the lifetime of `fd` at now_ns. A call has returned it; `names` is the call's category and name, and
 * `what` (FXT_STR_...) says what the descriptor is. */
void fxt_fd_opened(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names, uint64_t what,
		   struct fxt_fd_detail detail);

/* Begins the lifetime of a connection: the socket `fd` is connected, or on its way to be. The lifetime goes
 * on until the socket is closed, shut down in both directions, or connected to something else. */
void fxt_fd_connected(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names,
		      struct fxt_fd_detail detail);

/* Ends the lifetime of a connection at now_ns. */
void fxt_fd_disconnected(struct fxt_thread *thread, int fd, uint64_t now_ns);

/* Adds the address that a socket got (`bound`) to the begin of the socket's lifetime. Only circular mode
 * calls this, because there the call that has the address as an argument may be overwritten. */
void fxt_fd_bound(struct fxt_thread *thread, int fd, struct fxt_fd_detail detail);

/* Notes that some bytes are not seen from here on: the C library moves them for a stream, or a call does not
 * say how many it moved. The end of the lifetime gives no bytes then. */
void fxt_fd_buffered(struct fxt_thread *thread, int fd);

/* Begins the lifetime of a duplicate: a call of `names` has made `newfd` another number of what `oldfd` is.
 * If newfd had a lifetime, that ends. Any thread may call this; without a state it is attached. */
void fxt_fd_duplicated(int oldfd, int newfd, uint64_t names);

/* -- Closed ------------------------------------------------------------------------------------ */

/* The contents of an entry when it was emptied. */
struct fxt_fd_taken {
	uint64_t life, connection;      /* 0: no end is due */
	uint64_t read_bytes, written_bytes, begin_ns;
	uint32_t life_names;            /* 0: not known, because threads raced for the number */
	uint32_t generation;            /* the process's, as in struct fxt_fd, when it emptied the entry */
	int fd;
	bool is_buffered, is_reconnected;
};

/* Returns whether the entry has anything that fxt_fd_take() would empty. */
static inline bool fxt_fd_is_known(const struct fxt_fd *entry)
{
	return atomic_load_explicit(&entry->life, memory_order_relaxed) |
	       atomic_load_explicit(&entry->connection, memory_order_relaxed) |
	       atomic_load_explicit(&entry->stream, memory_order_relaxed);
}

/* Empties the entry of a number that is about to be closed, because another thread may get the number the
 * moment it is closed. *taken gets what the entry knew, for fxt_fd_end() after the call. */
void fxt_fd_take(int fd, struct fxt_fd_taken *taken);

/* Ends the lifetimes that fxt_fd_take() has taken. It does so also if the call failed: a close that fails has
 * closed the descriptor, or there was nothing to close. */
void fxt_fd_end(const struct fxt_fd_taken *taken);

/* Makes `call`, which closes descriptor `fd_`, and ends the descriptor's lifetimes. */
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

/* These two are for calls that close a range of numbers at once. fxt_fds_mark() is called before such a call,
 * and fxt_fds_closed() after it: it ends the lifetimes in the range that began before the mark. */
uint64_t fxt_fds_mark(void);
void fxt_fds_closed(unsigned first, unsigned last, uint64_t mark);

#endif
