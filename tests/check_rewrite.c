/* This tests fxt_buffer_rewrite(): what is left of a small trace, and that more can be written behind it. */
#include <check.h>
#include <fcntl.h>
#include <unistd.h>

#include "buffer_fixture.h"
#include "suite.h"
#include "writer/forbidden.h"

/* Appends an event of `words` words, up to eight, to a lane whose records do not cross cache lines. */
static void event(struct fxt_lane *lane, size_t words)
{
	uint64_t *at = fxt_lane_place(lane, words);

	memset(at + 1, 0, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, at, words, INSTANT(1) & ~UINT64_C(0xfff0));
}

START_TEST(rewritten_small)
{
	struct fxt_chunk chunk;
	struct fxt_lane lane;
	struct walk found;
	uint64_t *page;

	create(modes[_i], MIB);
	ck_assert(take(&chunk));
	lane = lane_of(&chunk);
	/* The string with index 2 is the only one that is referred to. */
	instant(&lane, 2);
	instant(&lane, 2);
	ck_assert(!fxt_buffer_rewrite(&buffer, 16));
	ck_assert_uint_eq(walk().instants, 2);
	ck_assert(fxt_buffer_rewrite(&buffer, 4096));
	found = walk();
	ck_assert_uint_eq(found.instants, 2);
	ck_assert_uint_eq(found.strings, 1);
	ck_assert_uint_eq(found.fillers, 0);
	ck_assert_uint_eq(found.bytes, 8 * (1 + 2 + 2 * 2));
	/* Later records are appended, in a page first. The strings that were left out are there again. */
	ck_assert(take(&chunk));
	lane = lane_of(&chunk);
	for (; fxt_lane_has(&lane, 2); found.instants++) {
		instant(&lane, 3);
		ck_assert_uint_eq(walk().instants, found.instants + 1);
	}
	ck_assert_uint_ge(walk().strings, STRINGS);
	ck_assert(take(&chunk));
	walk();
	page = fxt_storage_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
	if (page)
		page[0] = fxt_filler(FXT_PAGE_WORDS - 1);
	ck_assert_uint_eq(walk().instants, found.instants);
	ck_assert(!fxt_buffer_rewrite(&buffer, MIB));
}
END_TEST

/* Wherever in a cache line the small file has ended, records that are kept within lines follow it. */
START_TEST(aligned_after_rewrite)
{
	struct fxt_chunk chunk;
	struct fxt_lane lane;
	unsigned n;

	create(FXT_STREAMING, MIB);
	ck_assert(take(&chunk));
	lane = lane_of(&chunk);
	for (n = 0; n < (unsigned)_i; n++)
		event(&lane, 3);
	ck_assert(fxt_buffer_rewrite(&buffer, 4096));
	ck_assert(take(&chunk));
	for (lane = lane_of(&chunk); fxt_lane_has(&lane, 6); n++) {
		event(&lane, 2 + n % 5);
		ck_assert_uint_eq(walk().instants, n + 1);
	}
}
END_TEST

/* The file may not grow at first. The strings that were left out come with the first chunk that is had. */
START_TEST(strings_after_refusals)
{
	struct fxt_chunk chunk;
	struct fxt_lane lane;
	int i;

	create(FXT_STREAMING, MIB);
	ck_assert(take(&chunk));
	lane = lane_of(&chunk);
	instant(&lane, 2);
	ck_assert(fxt_buffer_rewrite(&buffer, 4096));
	ck_assert_uint_eq(walk().strings, 1);
	fxt_forbidden = FXT_NO_GROWTH;
	for (i = 0; i < _i; i++)
		ck_assert(!take(&chunk));
	fxt_forbidden = 0;
	ck_assert(take(&chunk));
	lane = lane_of(&chunk);
	instant(&lane, 3);
	ck_assert_uint_eq(walk().strings, STRINGS);
	ck_assert(take(&chunk));
	ck_assert_uint_eq(walk().strings, STRINGS);
}
END_TEST

/* Counts that go on after the rewrite need a page of slots first of all. Its user relies on 512 words. */
START_TEST(page_after_rewrite)
{
	struct fxt_chunk chunk;
	uint64_t *page;

	create(FXT_STREAMING, MIB);
	ck_assert(take(&chunk));
	ck_assert(fxt_buffer_rewrite(&buffer, 4096));
	page = fxt_storage_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
	ck_assert(page != NULL);
	walk();
	page[20] = fxt_filler(FXT_PAGE_WORDS - 1 - 20);
	page[0] = fxt_filler(20);
	ck_assert_uint_eq(walk().instants, 0);
}
END_TEST

START_TEST(foreign_file_not_rewritten)
{
	create(FXT_STREAMING, MIB);
	ck_assert(unlink(path) == 0);
	ck_assert(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
	ck_assert(!fxt_buffer_rewrite(&buffer, MIB));
}
END_TEST

int main(void)
{
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_set_timeout(files, 120);
	tcase_add_loop_test(files, rewritten_small, 0, 3);
	tcase_add_loop_test(files, aligned_after_rewrite, 0, 8);
	tcase_add_loop_test(files, strings_after_refusals, 0, 5);
	tcase_add_test(files, page_after_rewrite);
	tcase_add_test(files, foreign_file_not_rewritten);
	return RUN_SUITE("rewrite", files);
}
