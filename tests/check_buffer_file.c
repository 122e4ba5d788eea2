/* This tests the trace as a file: how it is made, grows, gives room back and is found again. Where the
 * system refuses something, no damage may be left.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer_fixture.h"
#include "suite.h"

/* -- Creation ----------------------------------------------------------------------------------- */

START_TEST(created_valid)
{
	struct stat status;
	struct walk found;

	create(modes[_i], MIB);
	found = walk();
	ck_assert_uint_eq(found.strings, STRINGS);
	ck_assert_uint_eq(found.bytes, DURABLE);
	ck_assert_str_eq(buffer.path, path);
	ck_assert(stat(path, &status) == 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_ge(buffer.fd, 512);
	ck_assert_int_eq(fcntl(buffer.fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(taken_names_get_numbers)
{
	static const char precious[] = "precious";
	char read_back[sizeof(precious)];
	char second[sizeof(path)];
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	ck_assert(fd >= 0 && write(fd, precious, sizeof(precious)) == sizeof(precious) && close(fd) == 0);
	snprintf(second, sizeof(second), "%s/trace.1.fxt", directory);
	ck_assert(close(open(second, O_CREAT | O_WRONLY, 0600)) == 0);
	create(FXT_STREAMING, MIB);
	snprintf(second, sizeof(second), "%s/trace.2.fxt", directory);
	ck_assert_str_eq(buffer.path, second);
	walk();
	fd = open(path, O_RDONLY);
	ck_assert(read(fd, read_back, sizeof(read_back)) == sizeof(precious) &&
		  !memcmp(read_back, precious, sizeof(precious)));
	close(fd);
}
END_TEST

START_TEST(links_not_followed)
{
	char target[sizeof(path)];
	struct stat status;

	/* The link leads once to nothing, where a file would be made, and once to a file. */
	snprintf(target, sizeof(target), "%s/target", directory);
	if (_i)
		ck_assert(close(open(target, O_CREAT | O_WRONLY, 0600)) == 0);
	ck_assert(symlink(target, path) == 0);
	create(FXT_STREAMING, MIB);
	ck_assert_str_ne(buffer.path, path);
	walk();
	ck_assert(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
	ck_assert(stat(target, &status) == (_i ? 0 : -1));
	ck_assert(!_i || status.st_size == 0);
}
END_TEST

START_TEST(refused_leaves_nothing)
{
	struct rlimit before, small;

	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){DURABLE - 1, before.rlim_max};
	signal(SIGXFSZ, SIG_DFL);
	ck_assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
	ck_assert_int_eq(try_create(modes[_i], MIB), -EFBIG);
	ck_assert(setrlimit(RLIMIT_FSIZE, &before) == 0);
	ck_assert_int_eq(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/no/x.fxt", directory);
	ck_assert_int_eq(try_create(FXT_STREAMING, MIB), -ENOENT);
}
END_TEST

/* -- Growth ------------------------------------------------------------------------------------- */

/* The file is no more than a few chunks larger than what was written to it, until fxt_buffer_reserve()
 * gives it its full size. */
START_TEST(grows_with_its_use)
{
	enum { MANY = 64, AHEAD = 16, CHUNKS = (16 * MIB - FXT_DURABLE_MAX_BYTES) / FXT_CHUNK_BYTES };
	struct fxt_chunk chunk;
	struct stat status;
	uint32_t i;

	create(modes[_i], 16 * MIB);
	for (i = 0; i < MANY; i++) {
		ck_assert(take(&chunk));
		ck_assert_uint_eq(chunk.number, i);
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 0);
		ck_assert(stat(buffer.path, &status) == 0);
		ck_assert_int_le(status.st_size,
				 FXT_DURABLE_MAX_BYTES +
					 (long)(i + 1 + (i < AHEAD ? i + 1 : AHEAD)) * FXT_CHUNK_BYTES);
		ck_assert_int_le(status.st_blocks * 512, status.st_size + FXT_CHUNK_BYTES);
	}
	fxt_buffer_reserve(&buffer);
	ck_assert_uint_eq(walk().bytes > 15 * MIB, modes[_i] != FXT_STREAMING);
	/* From here on nothing is asked of the file system, so the descriptor is not needed. */
	if (modes[_i] != FXT_STREAMING)
		close(buffer.fd);
	for (; i < CHUNKS; i++) {
		ck_assert(take(&chunk));
		ck_assert_uint_eq(chunk.number, i);
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 0);
	}
	ck_assert(take(&chunk) == (modes[_i] == FXT_CIRCULAR));
	ck_assert_uint_eq(walk().bytes, 16 * MIB);
}
END_TEST

/* The child of a vfork takes four chunks however many were taken before, although it takes no lock, and none
 * of them had events. Nothing has failed when there are no more. */
START_TEST(stock_for_vfork)
{
	static const enum fxt_mode all[] = {FXT_ONESHOT, FXT_CIRCULAR, FXT_STREAMING};
	struct fxt_chunk chunk;
	uint32_t before, n;

	for (before = 0; before < 40; before++) {
		create(all[_i], 4 * MIB);
		for (n = 0; n < before; n++)
			ck_assert(take(&chunk));
		fxt_buffer_grow_before_vfork(&buffer, 0);
		/* No process has this id, so whoever asks is the child. */
		fxt_lender = UINT32_MAX;
		for (n = before; n < before + 4; n++) {
			ck_assert_msg(take(&chunk), "%u were taken, the child got %u", before, n - before);
			ck_assert_uint_eq(chunk.number, n);
			ck_assert_uint_eq(chunk.overwritten, 0);
		}
		while (take(&chunk))
			;
		fxt_lender = 0;
		ck_assert_int_eq(fxt_storage_failure(&buffer.storage), 0);
		ck_assert(take(&chunk));
		walk();
		unlink(buffer.path);
		fxt_buffer_forget(&buffer);
	}
}
END_TEST

/* A file with its full size gives back the room that nobody has used, and grows again. */
START_TEST(trimmed)
{
	enum { CHUNKS = (16 * MIB - FXT_DURABLE_MAX_BYTES) / FXT_CHUNK_BYTES };
	uint32_t i, used = (uint32_t)(getpid() % CHUNKS);
	struct fxt_chunk chunk;

	create(modes[_i], 16 * MIB);
	fxt_buffer_reserve(&buffer);
	ck_assert_uint_eq(walk().bytes > 15 * MIB, modes[_i] != FXT_STREAMING);
	for (i = 0; i < CHUNKS; i++) {
		if (i == used) {
			fxt_buffer_trim(&buffer);
			ck_assert_msg(walk().bytes == FXT_DURABLE_MAX_BYTES + (size_t)used * FXT_CHUNK_BYTES,
				      "%u chunks are used, and %zu bytes left", used, walk().bytes);
			fxt_buffer_trim(&buffer);
		}
		ck_assert(take(&chunk));
		ck_assert_uint_eq(chunk.number, i);
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 0);
	}
	fxt_buffer_trim(&buffer);
	ck_assert_uint_eq(walk().bytes, 16 * MIB);
}
END_TEST

/* A buffer that is mapped is its file. To save it changes nothing, whatever is in it: records, and pages of
 * words that are rewritten in place. */
START_TEST(saved_as_it_is)
{
	uint32_t random = (uint32_t)getpid(), i, records = 1 + random % 100, pages = 1 + random / 100 % 30;
	struct fxt_chunk chunk;
	uint64_t *page;

	create(modes[_i], 16 * MIB);
	ck_assert(take(&chunk));
	for (i = 0; i < records; i++) {
		chunk.base[2 * i + 1] = i;
		chunk.base[2 * i + 2] = fxt_filler(FXT_CHUNK_WORDS - 1 - 2 * i - 2);
		chunk.base[2 * i] = INSTANT(1) | 2 << 4;
	}
	for (i = 0; i < pages; i++) {
		page = buffer.storage.ops->take_page(&buffer.storage, 0, FXT_SMALL_PAGE_WORDS, &chunk);
		ck_assert_ptr_nonnull(page);
		page[1] = i;
		page[2] = fxt_filler(FXT_SMALL_PAGE_WORDS - 1 - 2);
		page[0] = INSTANT(2) | 2 << 4;
	}
	ck_assert_uint_eq(walk().instants, records + pages);
	ck_assert_int_eq(fxt_buffer_save(&buffer), 0);
	ck_assert_uint_eq(walk().instants, records + pages);
}
END_TEST

/* A ring that cannot grow any more reuses the chunks that it has, and goes on growing when it can. */
START_TEST(smaller_ring)
{
	enum { CHUNKS = 6 };
	struct rlimit before, small;
	struct fxt_chunk chunk;
	uint32_t i;

	create(FXT_CIRCULAR, 16 * MIB);
	for (i = 0; i < CHUNKS; i++)
		ck_assert(take(&chunk));
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){walk().bytes, before.rlim_max};
	signal(SIGXFSZ, SIG_DFL);
	ck_assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
	while (take(&chunk))
		i++;
	ck_assert_int_eq(fxt_storage_failure(&buffer.storage), -EFBIG);
	ck_assert_uint_eq(buffer.extended, i);
	fxt_storage_finish(&buffer.storage, 3, 77, 0);
	fxt_storage_finish(&buffer.storage, 1, 7, 0);
	ck_assert(fxt_storage_take(&buffer.storage, 1, &chunk) && chunk.number == 3 &&
		  chunk.overwritten == 77);
	ck_assert(setrlimit(RLIMIT_FSIZE, &before) == 0);
	ck_assert(fxt_storage_take(&buffer.storage, 1, &chunk) && chunk.number == 1 &&
		  chunk.overwritten == 7);
	ck_assert(fxt_storage_take(&buffer.storage, UINT64_C(1000000000), &chunk) && chunk.number == i &&
		  !chunk.overwritten);
	walk();
}
END_TEST

START_TEST(growth_refused)
{
	struct rlimit before, small;
	struct fxt_chunk chunk;
	struct walk found;

	create(FXT_STREAMING, 16 * MIB);
	ck_assert(take(&chunk));
	found = walk();
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){found.bytes + FXT_CHUNK_BYTES / 2, before.rlim_max};
	signal(SIGXFSZ, SIG_DFL);
	ck_assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
	while (take(&chunk))
		;
	ck_assert_int_eq(fxt_storage_failure(&buffer.storage), -EFBIG);
	ck_assert_uint_eq(walk().bytes, found.bytes);
	/* Growth is not tried again at once, but some time later. */
	ck_assert(setrlimit(RLIMIT_FSIZE, &before) == 0);
	ck_assert(!fxt_storage_take(&buffer.storage, 1, &chunk));
	ck_assert(fxt_storage_take(&buffer.storage, UINT64_C(1000000000), &chunk));
	ck_assert_int_eq(fxt_storage_failure(&buffer.storage), 0);
	walk();
}
END_TEST

/* The program has closed our descriptor: the file is found again by its name. Then the name is gone too. */
START_TEST(descriptor_lost)
{
	struct fxt_chunk chunk;
	unsigned n;

	create(FXT_STREAMING, 16 * MIB);
	close(buffer.fd);
	for (n = 0; n < 10; n++)
		ck_assert(take(&chunk));
	walk();
	close(buffer.fd);
	ck_assert(dup2(0, buffer.fd) >= 0);
	for (n = 0; n < 30; n++)
		ck_assert(take(&chunk));
	walk();
	close(buffer.fd);
	ck_assert(unlink(path) == 0);
	while (take(&chunk))
		;
	ck_assert_int_eq(fxt_storage_failure(&buffer.storage), -EBADF);
}
END_TEST

int main(void)
{
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_set_timeout(files, 120);
	tcase_add_loop_test(files, created_valid, 0, 3);
	tcase_add_test(files, taken_names_get_numbers);
	tcase_add_loop_test(files, links_not_followed, 0, 2);
	tcase_add_loop_test(files, refused_leaves_nothing, 0, 3);
	tcase_add_loop_test(files, grows_with_its_use, 0, 3);
	tcase_add_loop_test(files, stock_for_vfork, 0, 3);
	tcase_add_loop_test(files, trimmed, 0, 3);
	tcase_add_loop_test(files, saved_as_it_is, 0, 3);
	tcase_add_test(files, smaller_ring);
	tcase_add_test(files, growth_refused);
	tcase_add_test(files, descriptor_lost);
	return RUN_SUITE("buffer file", files);
}
