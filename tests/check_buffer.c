/* This tests writer/buffer.h and lane.h: the file is valid after each operation, and each chunk is handed
 * out once. The file is read back with pread() and walked by the sizes of its records alone.
 * check_buffer_file.c tests how the file is made and grows.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer_fixture.h"
#include "suite.h"

/* -- Chunks and lanes --------------------------------------------------------------------------- */

START_TEST(lane_valid_after_each_record)
{
	struct fxt_chunk chunk;
	struct fxt_lane lane;
	size_t n = 0;

	create(FXT_STREAMING, MIB);
	ck_assert(take(&chunk));
	ck_assert_uint_eq(chunk.words, FXT_CHUNK_WORDS);
	walk();
	for (lane = lane_of(&chunk); fxt_lane_has(&lane, 2); n++) {
		instant(&lane, 1);
		/* The first and the last records are checked one by one; at the last ones the filler behind
		 * gets small. */
		if (n < 10 || n > INSTANTS_PER_CHUNK - 10)
			ck_assert_uint_eq(walk().instants, n + 1);
	}
	ck_assert_uint_eq(n, INSTANTS_PER_CHUNK);
	ck_assert_uint_eq(walk().instants, n);
	fxt_storage_finish(&buffer.storage, chunk.number, (uint32_t)n, 0);
	walk();
}
END_TEST

/* A record that is retracted is read, and a filler replaces it. Everything else stays as it is. */
START_TEST(retracted)
{
	uint64_t record[4] = {0};
	struct fxt_lane lane;
	size_t second;

	create(_i ? FXT_STREAMING : FXT_ONESHOT, MIB);
	ck_assert(take(&taken));
	lane = lane_of(&taken);
	instant(&lane, 1);
	second = (size_t)(lane.at - taken.base);
	instant(&lane, 2);
	instant(&lane, 3);
	ck_assert(!fxt_storage_retract(&buffer.storage, taken.number, second, record, 2, 54321));
	ck_assert(!fxt_storage_retract(&buffer.storage, taken.number, second + 1, record, 2, 12345));
	ck_assert(!fxt_storage_retract(&buffer.storage, taken.number, second, record, 3, 12345));
	ck_assert_uint_eq(walk().instants, 3);
	ck_assert(fxt_storage_retract(&buffer.storage, taken.number, second, record, 2, 12345));
	ck_assert_uint_eq(record[1], 12345);
	ck_assert_uint_eq(record[0] & ~UINT64_C(0xfff0), INSTANT(2));
	ck_assert_uint_eq(walk().instants, 2);
	/* The record is gone already. */
	ck_assert(!fxt_storage_retract(&buffer.storage, taken.number, second, record, 2, 12345));
}
END_TEST

/* A record is also retracted from a chunk whose window is not mapped any more, but not from a file that is
 * gone. */
START_TEST(retracted_unmapped)
{
	uint64_t record[4] = {0};
	struct fxt_lane lane;
	struct fxt_chunk first;
	size_t second;
	unsigned i;

	create(FXT_STREAMING, 8 * MIB);
	ck_assert(take(&first));
	lane = lane_of(&first);
	instant(&lane, 1);
	second = (size_t)(lane.at - first.base);
	instant(&lane, 2);
	for (i = 0; i < FXT_WINDOW_CHUNKS; i++) {
		fxt_storage_finish(&buffer.storage, i ? taken.number : first.number, 0, 0);
		ck_assert_int_eq(buffer.windows[0].base == NULL, i == FXT_WINDOW_CHUNKS - 1);
		ck_assert(take(&taken));
	}
	ck_assert(fxt_storage_retract(&buffer.storage, first.number, second, record, 2, 12345));
	ck_assert_uint_eq(record[0] & ~UINT64_C(0xfff0), INSTANT(2));
	ck_assert_uint_eq(walk().instants, 1);
	ck_assert(!fxt_storage_retract(&buffer.storage, first.number, second, record, 2, 12345));
	ck_assert(!unlink(buffer.path) && !close(buffer.fd));
	ck_assert(!fxt_storage_retract(&buffer.storage, first.number, 0, record, 2, 12345));
}
END_TEST

START_TEST(full_at_its_size)
{
	struct fxt_chunk chunk;
	uint32_t chunks = 0;

	create(modes[_i], 3 * MIB);
	while (take(&chunk)) {
		ck_assert_uint_eq(chunk.number, chunks);
		ck_assert_uint_eq(chunk.base[0], fxt_filler(FXT_CHUNK_WORDS - 1));
		ck_assert_uint_eq(chunk.base[FXT_CHUNK_WORDS - 1], fxt_filler(1));
		chunks++;
		walk();
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 0);
		if (modes[_i] == FXT_CIRCULAR && chunks == (3 * MIB - DURABLE) / FXT_CHUNK_BYTES)
			break;
	}
	ck_assert_uint_eq(chunks, (3 * MIB - DURABLE) / FXT_CHUNK_BYTES);
	ck_assert_uint_eq(walk().bytes, 3 * MIB);
	if (modes[_i] != FXT_CIRCULAR)
		ck_assert_int_eq(fxt_storage_failure(&buffer.storage), 0);
}
END_TEST

START_TEST(circular_reuses_the_oldest_that_is_free)
{
	enum { CHUNKS = (MIB - DURABLE) / FXT_CHUNK_BYTES };
	struct fxt_chunk chunk;
	struct fxt_lane lane;
	uint32_t i;

	create(FXT_CIRCULAR, MIB);
	for (i = 0; i < CHUNKS; i++) {
		ck_assert(take(&chunk));
		ck_assert_uint_eq(chunk.number, i);
		lane = lane_of(&chunk);
		instant(&lane, 1);
	}
	ck_assert_uint_eq(walk().instants, CHUNKS);
	ck_assert_msg(!take(&chunk), "chunk %u was taken from its thread", chunk.number);
	/* All chunks are given back but chunk 2. */
	for (i = 0; i < CHUNKS; i++)
		if (i != 2)
			fxt_storage_finish(&buffer.storage, i, 100 + i, 0);
	for (i = 0; i < 3 * CHUNKS; i++) {
		uint32_t expected = i % (CHUNKS - 1);

		ck_assert(take(&chunk));
		ck_assert_uint_eq(chunk.number, expected < 2 ? expected : expected + 1);
		/* A chunk is emptied only when it is handed out again, and its events are counted then. */
		ck_assert_uint_eq(walk().instants, i < CHUNKS - 1 ? CHUNKS - 1 - i : 1);
		ck_assert_uint_eq(chunk.overwritten, i < CHUNKS - 1 ? 100 + chunk.number : 7);
		fxt_storage_finish(&buffer.storage, chunk.number, 7, 0);
	}
	ck_assert_uint_eq(walk().bytes, MIB);
}
END_TEST

static size_t write_magic(uint64_t *out)
{
	out[0] = MAGIC;
	return 1;
}

START_TEST(snapshot_of_nothing_yet)
{
	/* With one word of prologue the last filler of the durable area is longer than a word. */
	struct fxt_buffer_config config = {
		.mode = _i ? FXT_CIRCULAR : FXT_ONESHOT, .bytes = MIB, .path = path,
		.write_prologue = write_magic};
	char copy[FXT_PATH_BYTES];

	ck_assert_int_eq(fxt_buffer_create(&buffer, &config), 0);
	snprintf(copy, sizeof(copy), "%s/trace.1.fxt", directory);
	ck_assert_int_eq(fxt_buffer_snapshot(&buffer, copy), 0);
	ck_assert_uint_eq(walk_file(copy).bytes, DURABLE);
}
END_TEST

/* -- The durable area and pages ----------------------------------------------------------------- */

START_TEST(durable_records)
{
	uint64_t record[5] = {STRING(4) + (UINT64_C(3) << 4), TEXT, TEXT, TEXT, TEXT};
	size_t n = 0;

	create(FXT_STREAMING, MIB);
	for (; fxt_storage_durable(&buffer.storage, record, 5, 1000); n++)
		if (n % 500 == 0)
			ck_assert_uint_eq(walk().strings, STRINGS + n + 1);
	ck_assert_uint_eq(walk().strings, STRINGS + n);
	/* The records fill all but the reserve, and at most a record's size at the end of each region. */
	ck_assert_uint_ge(n, (DURABLE / 8 - 1000 - 8 * 5 - 7 - 5) / 5);
	while (fxt_storage_durable(&buffer.storage, record, 5, 0))
		n++;
	ck_assert_uint_ge(n, (DURABLE / 8 - 9 * 5 - 7) / 5);
	ck_assert_uint_eq(walk().strings, STRINGS + n);
	ck_assert_uint_eq(walk().bytes, DURABLE);
}
END_TEST

START_TEST(pages)
{
	enum { PAGES = 20 };
	uint64_t *page[PAGES], *again;
	int i, k;

	create(FXT_STREAMING, MIB);
	for (i = 0; i < PAGES; i++) {
		page[i] = fxt_storage_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
		ck_assert(page[i] != NULL);
		ck_assert_uint_eq(page[i][0], fxt_filler(FXT_PAGE_WORDS - 1));
		ck_assert_uint_eq(page[i][FXT_PAGE_WORDS - 1], fxt_filler(1));
		for (k = 0; k < i; k++)
			ck_assert_ptr_ne(page[i], page[k]);
		walk();
	}
	fxt_storage_return_page(&buffer.storage, page[7], FXT_PAGE_WORDS);
	again = fxt_storage_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
	ck_assert_ptr_eq(again, page[7]);
}
END_TEST

/* -- Threads ------------------------------------------------------------------------------------ */

enum { TAKERS = 4, TAKEN_MAX = 600 };

struct taker {
	pthread_t thread;
	unsigned count;
	uint32_t numbers[TAKEN_MAX];
};

static void *take_all(void *argument)
{
	struct taker *taker = argument;
	struct fxt_chunk chunk;
	struct fxt_lane lane;

	while (take(&chunk) && taker->count < TAKEN_MAX) {
		for (lane = lane_of(&chunk); fxt_lane_has(&lane, 2);)
			instant(&lane, 1);
		taker->numbers[taker->count++] = chunk.number;
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 0);
	}
	return NULL;
}

START_TEST(each_chunk_once)
{
	static struct taker takers[TAKERS];
	static unsigned times[TAKEN_MAX];
	const uint64_t bytes = 16 * MIB;
	uint32_t chunks, i, k;

	memset(takers, 0, sizeof(takers));
	create(_i ? FXT_ONESHOT : FXT_STREAMING, bytes);
	chunks = buffer.limit;
	ck_assert_uint_le(chunks, TAKEN_MAX);
	for (i = 0; i < TAKERS; i++)
		ck_assert(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]) == 0);
	for (i = 0; i < TAKERS; i++)
		ck_assert(pthread_join(takers[i].thread, NULL) == 0);
	for (i = 0; i < TAKERS; i++)
		for (k = 0; k < takers[i].count; k++) {
			ck_assert_uint_lt(takers[i].numbers[k], chunks);
			times[takers[i].numbers[k]]++;
		}
	for (i = 0; i < chunks; i++)
		ck_assert_msg(times[i] == 1, "chunk %u was handed out %u times", i, times[i]);
	ck_assert_uint_eq(walk().instants, (size_t)chunks * INSTANTS_PER_CHUNK);
	/* A window whose chunks are all finished is not mapped any more. */
	if (!_i)
		for (i = 0; i < chunks / FXT_WINDOW_CHUNKS; i++)
			ck_assert_ptr_null(atomic_load(&buffer.windows[i].base));
}
END_TEST

int main(void)
{
	TCase *files = tcase_create("files"), *threads = tcase_create("threads");

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, lane_valid_after_each_record);
	tcase_add_loop_test(files, retracted, 0, 2);
	tcase_add_test(files, retracted_unmapped);
	tcase_add_loop_test(files, full_at_its_size, 0, 3);
	tcase_add_test(files, circular_reuses_the_oldest_that_is_free);
	tcase_add_loop_test(files, snapshot_of_nothing_yet, 0, 2);
	tcase_add_test(files, durable_records);
	tcase_add_test(files, pages);
	tcase_add_checked_fixture(threads, setup, teardown);
	tcase_set_timeout(threads, 120);
	tcase_add_loop_test(threads, each_chunk_once, 0, 2);
	return RUN_SUITE("buffer", files, threads);
}
