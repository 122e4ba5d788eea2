/* Streams of bytes between threads and processes, as far as they were seen: which write the bytes came from
 * that a read got.
 *
 * A stream is a pipe or FIFO (one direction), a connection of sockets (two), or an eventfd, whose count is
 * taken for bytes: a write of 3 is three, and a read takes those there are. Of sockets that keep messages
 * apart the messages are what is counted. What was moved in each direction is counted, and where the newest
 * writes began. A read that begins where a write began has got that write's bytes.
 *
 * It is known or it is left out. A write is known where no other was under way in the same direction, a read
 * likewise; what overlapped is counted when all is over. Whoever overlaps a write says so before its own
 * system call, so that nobody takes the other's bytes for the first one's: it marks the direction as one whose
 * calls overlap, until none is under way. A direction in which bytes were
 * moved that nobody saw is broken, for good: where a read gets more than was ever written, where it leaves
 * nothing and should have left something, or where it is known beforehand that bytes go unseen.
 *
 * All of this is in the memory that processes share, without locks: each word is changed by
 * compare-and-exchange, and names the generation of what it is about, so that who is late changes nothing of
 * the stream that has its place now. Who is killed in a call leaves it under way for ever, and with it its
 * direction without arrows. Any context.
 */
#ifndef FXT_AGENT_STREAM_H
#define FXT_AGENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One side of a stream: what a descriptor leads to. 0: none. */
typedef uint32_t fxt_stream;

enum fxt_stream_kind {
	FXT_STREAM_PIPE,                /* one direction, and a read that got less than it wanted has emptied it */
	FXT_STREAM_COUNT,               /* an eventfd: one direction, and a read takes all */
	FXT_STREAM_TOKENS,              /* one with EFD_SEMAPHORE: a read takes one */
	FXT_STREAM_SOCKET,              /* two directions */
	FXT_STREAM_KINDS,
	FXT_STREAM_BY_MESSAGE = 1 << 13,        /* what is counted are messages and not bytes: each is read as a whole */
	FXT_STREAM_MESSAGES = FXT_STREAM_SOCKET | FXT_STREAM_BY_MESSAGE,
};

/* What a stream is found by: the device and inode of one of its ends, or something like it. Two kinds of
 * names share nothing if `what` differs. */
struct fxt_stream_name {
	uint64_t what, a, b;
};

/* Room for streams and names; NULL: there is none, and none is ever known. All of it is 0 at first. */
void fxt_stream_use(void *memory, size_t bytes);

/* Whether there are any. */
bool fxt_stream_any(void);

/* A new stream's first side; the other is fxt_stream_other(). 0: there is no room. */
fxt_stream fxt_stream_make(enum fxt_stream_kind kind);
static inline fxt_stream fxt_stream_other(fxt_stream side)
{
	return side ^ 4u;
}

/* The side that has this name; 0. */
fxt_stream fxt_stream_find(struct fxt_stream_name name);
/* Names a side: the name belonged to another before, or to none. */
void fxt_stream_call(struct fxt_stream_name name, fxt_stream side);
/* The side of that name, which all ends come to know, each in its time: whoever comes first makes the stream.
 * `side` is 0 or 1: one that comes for the second time has the name of a connection that is over, and makes a
 * new one. -1: for all who come, it is one. */
fxt_stream fxt_stream_join(struct fxt_stream_name name, enum fxt_stream_kind kind, int side);

/* A call that is about to write or to read. */
struct fxt_transfer {
	fxt_stream stream;              /* 0: nothing that is known */
	int32_t boundary;               /* of a write: the number of the boundary that tells where it began; -1: none does */
	uint64_t writers;               /* of a read: the direction's word of writers when it began */
};

/* Who wrote, and when. */
struct fxt_stream_writer {
	uint32_t pid, tid;              /* of 22 bits each, as the kernel has them */
	uint64_t at_ns;
	uint32_t cpu_and_1;             /* on which processor, of 20 bits; 0: not known */
};

/* Around a call that writes; `moved` bytes, or nothing if it is 0 or less. */
void fxt_stream_write_begin(fxt_stream side, struct fxt_stream_writer who, struct fxt_transfer *transfer);
void fxt_stream_write_end(const struct fxt_transfer *transfer, int64_t moved);

/* Around a call that reads. `emptied`: there was no more. True: the first of its bytes were the first of a
 * write, `who`'s. */
void fxt_stream_read_begin(fxt_stream side, struct fxt_transfer *transfer);
bool fxt_stream_read_end(const struct fxt_transfer *transfer, int64_t moved, bool emptied, struct fxt_stream_writer *who);

/* Bytes go unseen, into or out of this side, or both. */
void fxt_stream_break(fxt_stream side, bool in, bool out);

/* A FIFO was opened that may have been closed by all before, and forgotten what was in it: `bytes` were in it
 * after the moment that fxt_stream_look() took. */
struct fxt_stream_moment {
	uint64_t writers, readers;
};
struct fxt_stream_moment fxt_stream_look(fxt_stream side);
void fxt_stream_reopened(fxt_stream side, struct fxt_stream_moment moment, uint64_t bytes);

/* Whether so much may be in it: not where nobody is under way, and it should be more or less. */
bool fxt_stream_holds(fxt_stream side, uint64_t bytes);

static inline enum fxt_stream_kind fxt_stream_kind_of(fxt_stream side)
{
	return (enum fxt_stream_kind)(side & (FXT_STREAM_KINDS - 1u));
}

static inline bool fxt_stream_has_messages(fxt_stream side)
{
	return side & FXT_STREAM_BY_MESSAGE;
}

#endif
