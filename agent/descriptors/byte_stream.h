/* Streams of bytes between threads and processes, as far as they were seen: from which write a read got its
 * bytes.
 *
 * A stream is a pipe or FIFO (one direction), a connection of sockets (two directions), or an eventfd. An
 * eventfd's count is taken for bytes: a write of 3 is three bytes, and a read takes those that are there.
 * For sockets that keep messages apart, messages are counted instead of bytes. For each direction the table
 * has how much was moved, and where the newest writes began. A read that begins where a write began has got
 * that write's bytes.
 *
 * An origin is known or it is left out. A write is known if no other was under way in the same direction,
 * and a read likewise. Each call is counted at its end, so after calls that overlapped the count is right
 * again when all of them are over. A call that overlaps another marks the direction before its own system
 * call, so that no reader takes its bytes for the other's. The mark stays until no call is under way. A
 * direction in which bytes were moved that nobody saw is broken for good: a read got more than was ever
 * written, or left nothing where something should be left, or it is known beforehand that bytes go unseen.
 *
 * All of this is in the memory that processes share, without locks. The words that count are changed by
 * compare-and-exchange and name the generation of their stream, so that a call that is late changes nothing
 * of the stream that has the place now. Only a write that is alone stores where it begins, as a boundary with
 * a checksum: a late write can destroy a boundary, and cannot make a wrong one. A process that is killed in a
 * call leaves the call under way for ever, and the direction has no arrows any more.
 *
 * endpoint.c and transfer.c call these functions, in any context.
 */
#ifndef FXT_BYTE_STREAM_H
#define FXT_BYTE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The side of a stream that a descriptor leads to; 0: none. */
typedef uint32_t fxt_stream;

enum fxt_stream_kind {
	/* A pipe has one direction. A read that got less than it wanted has emptied it. */
	FXT_STREAM_PIPE,
	FXT_STREAM_COUNT,               /* an eventfd: one direction, and a read takes all */
	FXT_STREAM_TOKENS,              /* an eventfd with EFD_SEMAPHORE: a read takes one */
	FXT_STREAM_SOCKET,              /* a socket: two directions */
	FXT_STREAM_KINDS,
	/* A flag: messages are counted and not bytes, because each is read as a whole. */
	FXT_STREAM_BY_MESSAGE = 1 << 13,
	FXT_STREAM_MESSAGES = FXT_STREAM_SOCKET | FXT_STREAM_BY_MESSAGE,
};

/* The name by which a stream is found: the device and inode of one of its ends, or other numbers of that
 * kind. Two kinds of names differ in `what`. */
struct fxt_stream_name {
	uint64_t what, a, b;
};

/* Sets the memory for streams and names, which is all 0 at first. If it is NULL or too small, no stream is
 * ever known. */
void fxt_stream_use(void *memory, size_t bytes);

/* Tells whether any stream was ever made. */
bool fxt_stream_any(void);

/* Makes a stream and returns its first side; the other one is fxt_stream_other(). If the table is full, the
 * stream takes the place of an older one. Returns 0 if there is no memory for streams. */
fxt_stream fxt_stream_make(enum fxt_stream_kind kind);
/* Returns the other side of the same stream. */
static inline fxt_stream fxt_stream_other(fxt_stream side)
{
	return side ^ 4u;
}

/* Returns the side that has this name, or 0. */
fxt_stream fxt_stream_find(struct fxt_stream_name name);
/* Gives a side a name, which belonged to another side before, or to none. */
void fxt_stream_call(struct fxt_stream_name name, fxt_stream side);
/* Returns a side of the stream with a name that each end can find out by itself, such as the addresses of a
 * connection. The first end that calls this makes the stream. `side` is 0 or 1: if that side has called this
 * before, the name was that of a connection that is over, and a new stream is made. `side` is -1 if all ends
 * share one side. Returns 0 if there is no memory for streams. */
fxt_stream fxt_stream_join(struct fxt_stream_name name, enum fxt_stream_kind kind, int side);

/* A call that is about to write or to read. */
struct fxt_transfer {
	fxt_stream stream;              /* 0: no known stream */
	/* the number of the boundary that tells where the write began; -1: there is none */
	int32_t boundary;
	uint64_t writers;               /* the direction's word of writers when the read began */
};

/* A thread that wrote, and when. */
struct fxt_stream_writer {
	uint32_t pid, tid;              /* koids (koid.h); of more than 22 bits: the writer is not known */
	uint64_t at_ns;
	uint32_t cpu_and_1;             /* its processor plus 1, of 20 bits; 0: not known */
};

/* These are called before and after a call that writes. It moved `moved` bytes, or nothing if that is 0 or
 * less. */
void fxt_stream_write_begin(fxt_stream side, struct fxt_stream_writer who, struct fxt_transfer *transfer);
void fxt_stream_write_end(const struct fxt_transfer *transfer, int64_t moved);

/* These are called before and after a call that reads. `emptied` says that there were no more bytes.
 * fxt_stream_read_end() returns true if the first bytes that were read were the first of a write, and stores
 * in `*who` which thread made that write. */
void fxt_stream_read_begin(fxt_stream side, struct fxt_transfer *transfer);
bool fxt_stream_read_end(const struct fxt_transfer *transfer, int64_t moved, bool emptied,
			 struct fxt_stream_writer *who);

/* Breaks the directions into this side (`in`), out of it (`out`), or both, because bytes go unseen
 * there. */
void fxt_stream_break(fxt_stream side, bool in, bool out);

/* A FIFO forgets its bytes when all its descriptors are closed. When it is opened again, fxt_stream_look()
 * returns what was counted so far. fxt_stream_reopened() then corrects the counts: so many `bytes` were found
 * in the FIFO after fxt_stream_look(). If there are any, and not as many as the counts say, it breaks the
 * direction. */
struct fxt_stream_moment {
	uint64_t writers, readers;
};
struct fxt_stream_moment fxt_stream_look(fxt_stream side);
void fxt_stream_reopened(fxt_stream side, struct fxt_stream_moment moment, uint64_t bytes);

/* Tells whether so many bytes may be in the stream. Returns false only if no call is under way and the counts
 * say that there are more or fewer. */
bool fxt_stream_holds(fxt_stream side, uint64_t bytes);

/* Returns the kind of the stream, without FXT_STREAM_BY_MESSAGE. */
static inline enum fxt_stream_kind fxt_stream_kind_of(fxt_stream side)
{
	return (enum fxt_stream_kind)(side & (FXT_STREAM_KINDS - 1u));
}

/* Tells whether messages are counted and not bytes. */
static inline bool fxt_stream_has_messages(fxt_stream side)
{
	return side & FXT_STREAM_BY_MESSAGE;
}

#endif
