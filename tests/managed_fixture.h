/* This gives a test a buffer that a manager saves, and the manager's end of the connection. check_leave.c,
 * check_managed.c and check_moving.c include it. */
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

enum { PROLOGUE_WORDS = 16, FIRST_NUMBER = 1000 };

static struct fxt_buffer buffer;
static int manager_end;

/* The prologue ends in one count of losses. */
static size_t write_prologue(uint64_t *out)
{
	memset(out, 0, PROLOGUE_WORDS * sizeof(*out));
	out[0] = FXT_MAGIC_RECORD;
	out[1] = fxt_filler(PROLOGUE_WORDS - FXT_COUNTER_WORDS - 1);
	out[PROLOGUE_WORDS - FXT_COUNTER_WORDS] = fxt_filler(FXT_COUNTER_WORDS);
	return PROLOGUE_WORDS;
}

/* Makes the buffer anew. Returns the descriptor of its memory. Its own file may become as large as `most`. */
static int make_memory(enum fxt_mode mode, uint64_t bytes, uint64_t most)
{
	struct fxt_buffer_config config = {.mode = mode, .bytes = bytes, .path = "test",
					   .write_prologue = write_prologue,
					   .counters_words = FXT_COUNTER_WORDS, .file_bytes = most,
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
