/* This tests agent/descriptors/byte_stream.c by one thread: when it knows whose bytes a read got, and when it
 * says that it does not know. It also tests agent/descriptors/byte_stream_names.c. */
#include <check.h>
#include <stdint.h>

#include "stream_fixture.h"
#include "suite.h"

START_TEST(boundaries)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);

	ck_assert_uint_ne(pipe, 0);
	put(pipe, 1, 100, 10);
	put(pipe, 2, 200, 10);
	put(pipe, 1, 300, -1);
	put(pipe, 1, 400, 5);
	ck_assert_uint_eq(get(pipe, 10), 100);
	ck_assert_uint_eq(get(pipe, 4), 200);
	/* This read begins within a write. The next two fail or get nothing. The last begins with a write. */
	ck_assert_uint_eq(get(pipe, 6), 0);
	ck_assert_uint_eq(get(pipe, -1), 0);
	ck_assert_uint_eq(get(pipe, 0), 0);
	ck_assert_uint_eq(get(pipe, 5), 400);
}
END_TEST

/* The amounts wrap around at 4 GiB. A call that moves 2 GiB or more breaks its direction. */
START_TEST(amounts)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE), other = fxt_stream_make(FXT_STREAM_PIPE);
	uint64_t i;

	for (i = 1; i < 10; i++) {
		put(pipe, 1, 10 * i, INT32_MAX);
		put(pipe, 2, 10 * i + 1, 3);
		ck_assert_uint_eq(get(pipe, INT32_MAX), 10 * i);
		ck_assert_uint_eq(get(pipe, 3), 10 * i + 1);
	}
	put(other, 1, 100, (int64_t)INT32_MAX + 1);
	ck_assert_uint_eq(get(other, (int64_t)INT32_MAX + 1), 0);
	put(other, 1, 200, 1);
	ck_assert_uint_eq(get(other, 1), 0);
}
END_TEST

START_TEST(read_before_written)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer write = begin_write(pipe, 1, 100);

	/* The write is still under way. */
	ck_assert_uint_eq(get(pipe, 3), 100);
	ck_assert_uint_eq(get(pipe, 3), 0);
	fxt_stream_write_end(&write, 8);
	ck_assert_uint_eq(get(pipe, 2), 0);
	put(pipe, 1, 200, 1);
	ck_assert_uint_eq(get(pipe, 1), 200);
}
END_TEST

START_TEST(overlapping_writes)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer first = begin_write(pipe, 1, 100), second = begin_write(pipe, 2, 200), third;

	ck_assert_uint_eq(get(pipe, 3), 0);
	fxt_stream_write_end(&first, 3);
	third = begin_write(pipe, 1, 300);
	fxt_stream_write_end(&second, 4);
	ck_assert_uint_eq(get(pipe, 4), 0);
	fxt_stream_write_end(&third, 5);
	ck_assert_uint_eq(get(pipe, 5), 0);
	put(pipe, 1, 400, 6);
	ck_assert_uint_eq(get(pipe, 6), 400);

	/* There are two pairs of overlapping writes, and nothing is read before the second pair. */
	first = begin_write(pipe, 1, 500);
	second = begin_write(pipe, 2, 600);
	fxt_stream_write_end(&first, 1);
	fxt_stream_write_end(&second, 1);
	first = begin_write(pipe, 1, 700);
	second = begin_write(pipe, 2, 800);
	ck_assert_uint_eq(get(pipe, 2), 0);
	fxt_stream_write_end(&first, -1);
	fxt_stream_write_end(&second, -1);
	/* This write begins where the last pair began, which moved nothing. */
	put(pipe, 1, 900, 1);
	ck_assert_uint_eq(get(pipe, 1), 900);
}
END_TEST

START_TEST(overlapping_reads)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer first = begin_read(pipe), second = begin_read(pipe);

	put(pipe, 1, 100, 2);
	put(pipe, 1, 200, 2);
	ck_assert_uint_eq(end_read(&first, 2, false), 0);
	ck_assert_uint_eq(end_read(&second, 2, false), 0);
	put(pipe, 1, 300, 2);
	ck_assert_uint_eq(get(pipe, 2), 300);
}
END_TEST

/* A read gets more than was written, or less than there should be. So somebody unseen writes or reads too,
 * and nothing is known of the direction any more. */
START_TEST(unseen)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE), other = fxt_stream_make(FXT_STREAM_PIPE);
	fxt_stream socket = fxt_stream_make(FXT_STREAM_SOCKET);
	struct fxt_transfer read;

	put(pipe, 1, 100, 2);
	ck_assert_uint_eq(get(pipe, 3), 0);
	put(pipe, 1, 200, 2);
	ck_assert_uint_eq(get(pipe, 2), 0);

	put(other, 1, 100, 2);
	put(other, 1, 200, 2);
	read = begin_read(other);
	ck_assert_uint_eq(end_read(&read, 2, true), 0);

	fxt_stream_break(socket, true, false);
	put(socket, 1, 100, 2);
	put(fxt_stream_other(socket), 1, 200, 2);
	ck_assert_uint_eq(get(socket, 2), 0);
	ck_assert_uint_eq(get(fxt_stream_other(socket), 2), 100);
}
END_TEST

/* A call in which its thread was killed is under way for ever. Nobody waits for it, and nothing is known of
 * that direction any more. */
START_TEST(killed)
{
	fxt_stream socket = fxt_stream_make(FXT_STREAM_SOCKET), pipe = fxt_stream_make(FXT_STREAM_PIPE);

	begin_write(socket, 1, 100);
	put(socket, 2, 200, 2);
	ck_assert_uint_eq(get(fxt_stream_other(socket), 2), 0);
	put(fxt_stream_other(socket), 2, 300, 2);
	ck_assert_uint_eq(get(socket, 2), 300);

	begin_read(pipe);
	put(pipe, 1, 100, 2);
	ck_assert_uint_eq(get(pipe, 2), 0);
}
END_TEST

START_TEST(events)
{
	fxt_stream count = fxt_stream_make(FXT_STREAM_COUNT), tokens = fxt_stream_make(FXT_STREAM_TOKENS);
	struct fxt_transfer read, none;

	fxt_stream_write_begin(count, (struct fxt_stream_writer){0}, &none);
	fxt_stream_write_end(&none, 3);
	put(count, 1, 100, 1);
	read = begin_read(count);
	/* This read gets all events that there are, and nobody is known to have written the first. */
	ck_assert_uint_eq(end_read(&read, 4, true), 0);
	put(count, 1, 200, 1);
	read = begin_read(count);
	ck_assert_uint_eq(end_read(&read, 1, true), 200);

	put(tokens, 1, 100, 2);
	read = begin_read(tokens);
	ck_assert_uint_eq(end_read(&read, 1, true), 100);
	read = begin_read(tokens);
	ck_assert_uint_eq(end_read(&read, 1, true), 0);
}
END_TEST

START_TEST(names)
{
	fxt_stream pair = fxt_stream_make(FXT_STREAM_SOCKET), client, server;

	fxt_stream_call(name(1, 1), pair);
	fxt_stream_call(name(1, 2), fxt_stream_other(pair));
	ck_assert_uint_eq(fxt_stream_find(name(1, 1)), pair);
	ck_assert_uint_eq(fxt_stream_find(name(1, 2)), fxt_stream_other(pair));
	ck_assert_uint_eq(fxt_stream_find(name(2, 1)), 0);

	client = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 0);
	server = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 1);
	ck_assert_uint_eq(server, fxt_stream_other(client));
	put(client, 1, 100, 9);
	ck_assert_uint_eq(get(server, 9), 100);
	/* The same addresses make another connection, of which nothing has been read. */
	server = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 1);
	ck_assert_uint_ne(server, fxt_stream_other(client));
	ck_assert_uint_eq(fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 0), fxt_stream_other(server));
	/* A FIFO is the same stream for whoever opens it. */
	ck_assert_uint_eq(fxt_stream_join(name(5, 5), FXT_STREAM_PIPE, -1),
			  fxt_stream_join(name(5, 5), FXT_STREAM_PIPE, -1));
}
END_TEST

START_TEST(reopened)
{
	fxt_stream fifo = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_stream_moment moment;

	put(fifo, 1, 100, 4);
	put(fifo, 1, 200, 4);
	ck_assert_uint_eq(get(fifo, 4), 100);
	/* The bytes that were left were lost when the last descriptor was closed. */
	fxt_stream_reopened(fifo, fxt_stream_look(fifo), 0);
	put(fifo, 1, 300, 4);
	ck_assert_uint_eq(get(fifo, 4), 300);
	/* Somebody writes after the stream was looked at. */
	moment = fxt_stream_look(fifo);
	put(fifo, 1, 350, 4);
	fxt_stream_reopened(fifo, moment, 0);
	ck_assert_uint_eq(get(fifo, 4), 350);
	/* Here somebody unseen has left a byte. */
	fxt_stream_reopened(fifo, fxt_stream_look(fifo), 1);
	put(fifo, 1, 400, 4);
	ck_assert_uint_eq(get(fifo, 4), 0);
}
END_TEST

/* When the table is full, an old stream is replaced. A call that still uses it changes no other stream. */
START_TEST(replaced)
{
	fxt_stream first = fxt_stream_make(FXT_STREAM_PIPE), last = 0;
	struct fxt_transfer write = begin_write(first, 1, 100);
	unsigned i;

	fxt_stream_call(name(1, 1), first);
	for (i = 0; i < 5000; i++) {
		last = fxt_stream_make(FXT_STREAM_PIPE);
		ck_assert_uint_ne(last, 0);
		fxt_stream_call(name(2, i), last);
		fxt_stream_write_end(&write, 1);
		put(last, 1, i + 1, 1);
		ck_assert_uint_eq(get(last, 1), i + 1);
	}
	ck_assert_uint_eq(fxt_stream_find(name(1, 1)), 0);
	ck_assert_uint_eq(fxt_stream_find(name(2, 4999)), last);
	put(first, 1, 300, 1);
	ck_assert_uint_eq(get(first, 1), 0);
}
END_TEST

/* Returns a random number. */
static uint32_t any(void)
{
	static uint64_t state = 4711;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 32);
}

/* Other processes write to this memory too, and may write nonsense into it. No function crashes or hangs
 * then. */
START_TEST(nonsense)
{
	unsigned char *bytes = memory;
	struct fxt_transfer transfer;
	unsigned round, i;
	fxt_stream side;

	for (round = 0; round < 200; round++) {
		side = fxt_stream_make((enum fxt_stream_kind)(round % 4));
		fxt_stream_call(name(round, 1), side);
		transfer = begin_write(side, 1, 100);
		for (i = 0; i < BYTES; i += 1 + any() % 64)
			bytes[i] = (unsigned char)any();
		fxt_stream_write_end(&transfer, any());
		get(side, any());
		get(fxt_stream_find(name(round, 1)), 1);
		fxt_stream_join(name(round, 2), FXT_STREAM_SOCKET, (int)(round % 2));
		put(any(), 1, 200, 1);
		fxt_stream_break(any(), true, true);
		fxt_stream_reopened(side, fxt_stream_look(any()), 1);
	}
}
END_TEST

int main(void)
{
	TCase *one = tcase_create("one thread");

	tcase_add_checked_fixture(one, begin, end);
	tcase_add_test(one, boundaries);
	tcase_add_test(one, amounts);
	tcase_add_test(one, read_before_written);
	tcase_add_test(one, overlapping_writes);
	tcase_add_test(one, overlapping_reads);
	tcase_add_test(one, unseen);
	tcase_add_test(one, killed);
	tcase_add_test(one, events);
	tcase_add_test(one, names);
	tcase_add_test(one, reopened);
	tcase_add_test(one, replaced);
	tcase_add_test(one, nonsense);
	return RUN_SUITE("stream", one);
}
