/* This gives a test a table of streams in memory of its own, and functions that write and read.
 * check_stream.c and check_stream_races.c include it. Process 7 writes; the test chooses thread and time of
 * each write.
 */
#ifndef STREAM_FIXTURE_H
#define STREAM_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "agent/descriptors/byte_stream.h"

enum { BYTES = 1 << 20 };

static void *memory;

static inline void begin(void)
{
	memory = calloc(1, BYTES);
	ck_assert_ptr_nonnull(memory);
	fxt_stream_use(memory, BYTES);
}

static inline void end(void)
{
	free(memory);
}

static inline struct fxt_transfer begin_write(fxt_stream side, uint32_t tid, uint64_t at_ns)
{
	struct fxt_transfer transfer;

	fxt_stream_write_begin(side, (struct fxt_stream_writer){7, tid, at_ns, 3}, &transfer);
	return transfer;
}

static inline void put(fxt_stream side, uint32_t tid, uint64_t at_ns, int64_t bytes)
{
	struct fxt_transfer transfer = begin_write(side, tid, at_ns);

	fxt_stream_write_end(&transfer, bytes);
}

static inline struct fxt_transfer begin_read(fxt_stream side)
{
	struct fxt_transfer transfer;

	fxt_stream_read_begin(side, &transfer);
	return transfer;
}

/* Ends a read. Returns the time at which the bytes were written, or 0 if that is not known. */
static inline uint64_t end_read(const struct fxt_transfer *transfer, int64_t bytes, bool emptied)
{
	struct fxt_stream_writer who = {0};

	if (!fxt_stream_read_end(transfer, bytes, emptied, &who))
		return 0;
	ck_assert_uint_eq(who.pid, 7);
	return who.at_ns;
}

static inline uint64_t get(fxt_stream side, int64_t bytes)
{
	struct fxt_transfer transfer = begin_read(side);

	return end_read(&transfer, bytes, false);
}

static inline struct fxt_stream_name name(uint64_t a, uint64_t b)
{
	return (struct fxt_stream_name){1, a, b};
}

#endif
