/* This gives a test a buffer that a manager saves, and the manager's end of the connection. check_leave.c,
 * check_managed.c, check_moving.c and check_overwritten.c include it. */
#ifndef MANAGED_FIXTURE_H
#define MANAGED_FIXTURE_H

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/random.h"
#include "buffer.h"

enum {
	/* behind one count of losses are those of what a ring overwrites */
	LOSSES = 8,
	COUNTERS_WORDS = (1 + FXT_OVERWRITTEN_ROWS) * FXT_COUNTER_WORDS,
	PROLOGUE_WORDS = LOSSES + COUNTERS_WORDS,
	FIRST_NUMBER = 1000,
};

static struct fxt_buffer buffer;
static int manager_end;

/* A count of what a ring has overwritten is an event of this type, and its name is this string. */
enum { OVERWRITTEN = 5, NAME_WORDS = 2 };
static const char overwritten_name[NAME_WORDS * FXT_WORD_BYTES] = "overwritten";
static const uint64_t overwritten_count[FXT_COUNTER_WORDS] = {
	FXT_RECORD_EVENT | (uint64_t)FXT_EVENT_COUNTER << 16 | (uint64_t)OVERWRITTEN << 48, 0, 2, 3, 4,
};

static size_t write_prologue(uint64_t *out)
{
	size_t at;

	memset(out, 0, PROLOGUE_WORDS * sizeof(*out));
	out[0] = FXT_MAGIC_RECORD;
	out[1] = FXT_RECORD_STRING | fxt_record_words(1 + NAME_WORDS) | (uint64_t)OVERWRITTEN << 16 |
		 (uint64_t)strlen(overwritten_name) << 32;
	memcpy(out + 2, overwritten_name, sizeof(overwritten_name));
	out[2 + NAME_WORDS] = fxt_filler(LOSSES - 2 - NAME_WORDS);
	for (at = LOSSES; at < PROLOGUE_WORDS; at += FXT_COUNTER_WORDS)
		out[at] = fxt_filler(FXT_COUNTER_WORDS);
	return PROLOGUE_WORDS;
}

/* The largest sum that was found of each of these counts, which are told apart by their numbers. */
struct overwritten_sums {
	uint64_t sum[FXT_OVERWRITTEN_ROWS];
};

/* Notes a record if it is such a count, or the copy of one. Returns whether it is. */
static inline bool note_overwritten(struct overwritten_sums *sums, const uint64_t *record)
{
	uint64_t number = record[FXT_COUNTER_SUM + 1];
	size_t i;

	if ((record[0] & ~fxt_record_words(UINT64_C(0xfff))) != overwritten_count[0])
		return false;
	ck_assert_uint_le(FXT_COUNTER_WORDS - fxt_get_record_words(record[0]), 1);
	for (i = 2; i < FXT_COUNTER_SUM; i++)
		ck_assert_uint_eq(record[i], i);
	ck_assert_uint_lt(number, FXT_OVERWRITTEN_ROWS);
	if (record[FXT_COUNTER_SUM] > sums->sum[number])
		sums->sum[number] = record[FXT_COUNTER_SUM];
	return true;
}

static inline uint64_t all_overwritten(const struct overwritten_sums *sums)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < FXT_OVERWRITTEN_ROWS; i++)
		all += sums->sum[i];
	return all;
}

/* Makes the buffer anew. Returns the descriptor of its memory. Its own file may become as large as `most`. */
static int make_memory(enum fxt_mode mode, uint64_t bytes, uint64_t most)
{
	struct fxt_buffer_config config = {.mode = mode, .bytes = bytes, .path = "test",
					   .write_prologue = write_prologue,
					   .counters_words = COUNTERS_WORDS,
					   .overwritten = overwritten_count, .file_bytes = most,
					   .waits = random_below(2)};
	int ends[2], memory, connection;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	connection = fxt_file_move_high(ends[0]);
	ck_assert_int_ge(connection, FIRST_NUMBER);
	manager_end = ends[1];
	fxt_buffer_forget(&buffer);
	ck_assert_int_eq(fxt_buffer_connect(&buffer, connection, NULL), 0);
	memory = fxt_buffer_create_managed(&buffer, &config);
	ck_assert_int_ge(memory, 0);
	return memory;
}

static inline void make_buffer(enum fxt_mode mode, uint64_t bytes)
{
	close(make_memory(mode, bytes, 64 << 20));
}

/* The manager is gone, and the buffer goes on in a file. */
static inline int leave_for(const char *path)
{
	uint64_t mask;
	int error;

	close(manager_end);
	/* Another thread may be listening. */
	while (fxt_storage_failure(&buffer.storage) != -EPIPE)
		fxt_buffer_hear(&buffer, UINT64_MAX);
	mask = fxt_sys_block_signals();
	error = fxt_buffer_leave_manager(&buffer, path);
	fxt_sys_restore_signals(mask);
	return error;
}

#endif
