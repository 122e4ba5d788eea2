/* This tests a buffer whose system calls are refused (writer/). A run makes a trace file and does everything
 * with it that there is to do. It is repeated for each system call that it makes, and that one call fails, or
 * writes less than it was asked to. Then nothing may be left behind: no descriptor, no mapping, no file of
 * another name. The file is a whole trace, which has each event once that was not said to be lost, and no
 * other; and a refusal that is over does not end the recording. FXT_SEED names the choices. */
#include <linux/falloc.h>
#include <sys/mman.h>

#include "apart.h"
#include "apps/random.h"
#include "buffer_fixture.h"
#include "suite.h"
#include "syscalls_fixture.h"

enum { IDS = 40000, PAGE = 4096, PAGE_PLACES = 1 << 17, SECOND_NS = 1000 * 1000 * 1000, FDS = 8192 };

/* The assertions of Check write something each time. */
#define EXPECT(what, ...)                          \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

static unsigned long calls, fails_at;
static long failed_number, failed_with;
static bool has_no_nameless, is_counted;
static bool open_fds[FDS];
static uintptr_t pages[PAGE_PLACES];
static size_t page_count;
static uint64_t failing_state;

/* What has become of each event, by its time. */
static enum fate { NONE, WRITTEN, LOST } fates[IDS];
static unsigned ids;
static uint64_t now;
static bool was_rewritten;

/* -- The kernel ------------------------------------------------------------------------------------ */

static uintptr_t *page_at(uintptr_t page)
{
	size_t i = page / PAGE * UINT64_C(0x9e3779b97f4a7c15) >> 47;

	while (pages[i] && pages[i] != page && pages[i] != page + 1)
		i = (i + 1) % PAGE_PLACES;
	return &pages[i];
}

/* Notes pages that are mapped, or not any more. A page that was unmapped keeps its place, with a mark. */
static void note_pages(uintptr_t at, size_t bytes, bool is_mapped)
{
	uintptr_t page, *place;

	for (page = at; page < at + bytes; page += PAGE) {
		place = page_at(page);
		if (is_mapped && *place != page)
			*place = page, page_count++;
		else if (!is_mapped && *place == page)
			*place = page + 1, page_count--;
	}
}

static long real(long number, const long *a)
{
	long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	return result == -1 ? -errno : result;
}

/* Returns an error that this call may meet, or 0 if it is never refused here: it cannot fail, or its failure
 * is that of a descriptor which somebody else has closed. */
static long error_of(long number, const long *a)
{
	static const long full[] = {-ENOSPC, -EDQUOT, -EIO, -EINTR, 1};
	uint64_t choice = random_of(&failing_state);

	switch (number) {
	case SYS_openat:
		return choice % 2 ? -EMFILE : -EACCES;
	case SYS_newfstatat:
		return a[3] & AT_EMPTY_PATH ? 0 : -EACCES;
	case SYS_fcntl:
		return -EMFILE;
	case SYS_pwritev:
		return full[choice % 5];
	case SYS_ftruncate:
		return -EIO;
	case SYS_fallocate:
		return (const long[]){-ENOSPC, -EOPNOTSUPP, -ENOSYS, -EIO}[choice % 4];
	case SYS_mmap:
		return -ENOMEM;
	case SYS_madvise:
		return -EINVAL;
	case SYS_linkat:
		return choice % 2 ? -EEXIST : -EPERM;
	case SYS_renameat2:
		return -EPERM;
	case SYS_fstatfs:
		return -ENOSYS;
	case SYS_pread64:
		return -EIO;
	case SYS_prlimit64:
		return -EPERM;
	default:
		return 0;
	}
}

/* Does half of a write. */
static long write_less(const long *a)
{
	struct iovec first = *(const struct iovec *)a[1];

	if (first.iov_len < 2)
		return -EINTR;
	first.iov_len /= 2;
	return real(SYS_pwritev, (const long[]){a[0], (long)&first, 1, a[3], 0, 0});
}

static bool answer(long number, const long *a, long *result)
{
	long error = is_counted ? error_of(number, a) : 0;

	if (error && ++calls == fails_at) {
		failed_number = number;
		failed_with = error;
		*result = error == 1 ? write_less(a) : error;
		return true;
	}
	if (number == SYS_openat && (a[2] & O_TMPFILE) == O_TMPFILE && has_no_nameless) {
		*result = -EOPNOTSUPP;
		return true;
	}
	*result = real(number, a);
	if (number == SYS_openat || number == SYS_fcntl) {
		if (*result >= 0)
			open_fds[*result] = true;
	} else if (number == SYS_close) {
		EXPECT(a[0] >= 0 && a[0] < FDS && open_fds[a[0]],
			      "%ld is closed, which is not ours", a[0]);
		open_fds[a[0]] = false;
	} else if (number == SYS_mmap && (*result >= 0 || *result < -4096)) {
		note_pages((uintptr_t)*result, (size_t)a[1], true);
	} else if (number == SYS_munmap && !*result) {
		note_pages((uintptr_t)a[0], (size_t)a[1], false);
	}
	return true;
}

/* Says which call was refused. */
static const char *refusal(void)
{
	static char text[80];

	sprintf(text, "call %lu (system call %ld) gave %ld", fails_at, failed_number, failed_with);
	return text;
}

/* -- What is done with the buffer ------------------------------------------------------------------ */

/* Puts events into a chunk, up to `most`. Returns the first of them. */
static unsigned record(const struct fxt_chunk *chunk, unsigned most)
{
	struct fxt_lane lane = lane_of(chunk);
	unsigned first = ids, i;
	uint64_t *at;

	for (i = 0; i < most && lane.at + 2 + FXT_LANE_SLACK_WORDS < lane.end; i++) {
		at = fxt_lane_place(&lane, 2);
		at[1] = 100 + ids;
		fxt_lane_commit(&lane, at, 2, INSTANT(1 + ids % STRINGS));
		EXPECT(ids < IDS, "too many events");
		fates[ids++] = WRITTEN;
	}
	return first;
}

static void lose(unsigned from, unsigned to)
{
	for (; from < to; from++)
		fates[from] = LOST;
}

/* Takes a chunk. If there is none, there is one a second later, because the kernel refuses once. */
static bool take_one(struct fxt_chunk *chunk)
{
	now += SECOND_NS;
	if (fxt_storage_take(&buffer.storage, now, chunk))
		return true;
	if (atomic_load(&buffer.cursor) < buffer.limit || buffer.tail_offset) {
		ck_assert_int_lt(fxt_storage_failure(&buffer.storage), 0);
		ck_assert_uint_lt(fxt_storage_none_before(&buffer.storage), now + SECOND_NS);
		now += SECOND_NS;
		ck_assert_msg(fxt_storage_take(&buffer.storage, now, chunk), "one refusal is for good");
		return true;
	}
	ck_assert_uint_eq(fxt_storage_none_before(&buffer.storage), FXT_NEVER);
	return false;
}

/* Fills some chunks, and finishes most of them. */
static void fill_chunks(unsigned count)
{
	struct fxt_chunk chunk;
	unsigned i, first, lost;

	for (i = 0; i < count && take_one(&chunk); i++) {
		/* In a ring events come and go, and their counts are for other tests. */
		if (chunk.overwritten)
			lose(0, ids);
		first = record(&chunk, 1 + (unsigned)random_below(60));
		if (random_below(8) == 0 && buffer.mode != FXT_CIRCULAR)
			continue;
		lost = fxt_storage_finish(&buffer.storage, chunk.number, ids - first, now);
		ck_assert(lost == 0 || lost == ids - first);
		if (lost)
			lose(first, ids);
		/* A record is taken back. The chunk's first one stands at its begin. */
		if (!lost && random_below(3) == 0) {
			uint64_t out[2];

			if (fxt_storage_retract(&buffer.storage, chunk.number, 0, out, 2, 100 + first))
				fates[first] = LOST;
		}
	}
}

static void use_pages(void)
{
	struct fxt_chunk had;
	uint64_t *page[8];
	int i;

	for (i = 0; i < 8; i++) {
		uint32_t words = i % 2 ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS;

		now += SECOND_NS;
		page[i] = fxt_storage_take_page(&buffer.storage, now, words, &had);
		if (!page[i])
			continue;
		ck_assert_uint_eq(page[i][0], fxt_filler(words - 1));
		ck_assert_uint_eq(page[i][words - 1], fxt_filler(1));
	}
	for (i = 0; i < 8; i += 3)
		if (page[i])
			fxt_storage_return_page(&buffer.storage, page[i],
						i % 2 ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS);
}

static void use_durable(unsigned count)
{
	const uint64_t string[] = {STRING(1), TEXT};

	while (count--)
		fxt_storage_durable(&buffer.storage, string, 2, 0);
}

/* Marks the events that a file has in `found`. */
static void find_events(const char *name, unsigned char *found)
{
	struct walk walk = walk_file(name);
	uint64_t *words = malloc(walk.bytes), id;
	int fd = open(name, O_RDONLY);
	size_t at;

	ck_assert_int_eq(read(fd, words, walk.bytes), (ssize_t)walk.bytes);
	close(fd);
	for (at = 0; at < walk.bytes / 8; at += words[at] >> 4 & 0xfff)
		if ((words[at] & 15) == 4) {
			id = words[at + 1] - 100;
			EXPECT(id < ids && words[at] == (INSTANT(1 + id % STRINGS) | 2 << 4),
			       "a wrong event at word %zu", at);
			EXPECT(!found[id]++, "an event is there twice");
		}
	free(words);
}

static void snapshot(void)
{
	static unsigned char found[IDS];
	static char name[FXT_PATH_BYTES];
	unsigned i;
	int error;

	snprintf(name, sizeof(name), "%s/target", directory);
	error = fxt_buffer_snapshot(&buffer, name);
	if (buffer.mode == FXT_STREAMING)
		ck_assert_int_eq(error, -EINVAL);
	is_counted = false;
	if (error) {
		ck_assert_int_ne(access(name, F_OK), 0);
	} else {
		memset(found, 0, sizeof(found));
		find_events(name, found);
		/* It has what is held, whole. */
		for (i = 0; i < ids && buffer.mode != FXT_CIRCULAR; i++)
			EXPECT(found[i] == (fates[i] == WRITTEN), "event %u", i);
		unlink(name);
	}
	is_counted = true;
}

/* Looks at the file's contents. What is not in it was said to be lost, or `may_lack` is set. */
static void look_at_file(bool may_lack)
{
	static unsigned char found[IDS];
	unsigned i;

	is_counted = false;
	memset(found, 0, sizeof(found));
	find_events(buffer.path, found);
	for (i = 0; i < ids; i++) {
		if (buffer.mode == FXT_CIRCULAR && fates[i] == LOST)
			continue;
		EXPECT(fates[i] == WRITTEN || !found[i], "event %u was said to be lost: %s", i,
			      refusal());
		EXPECT(found[i] || fates[i] == LOST || may_lack, "event %u of %u is missing: %s",
			      i, ids, refusal());
	}
	is_counted = true;
}

/* Returns whether the run has made a file. */
static bool run(enum fxt_mode mode, bool in_memory)
{
	struct fxt_buffer_config config = {.mode = mode, .bytes = FXT_BUFFER_MIN_BYTES, .path = path,
					   .write_prologue = write_prologue, .in_memory = in_memory};
	struct fxt_chunk chunk;
	uint64_t bytes;
	int error, saved;

	error = fxt_buffer_create(&buffer, &config);
	ck_assert_int_le(error, 0);
	if (error) {
		ck_assert_int_lt(buffer.fd, 0);
		return false;
	}
	use_durable(2);
	fill_chunks(5);
	use_pages();
	fill_chunks(mode == FXT_CIRCULAR ? 40 : 9);
	fxt_buffer_grow_before_vfork(&buffer, now += SECOND_NS);
	snapshot();
	use_durable(300);
	saved = fxt_buffer_save(&buffer);
	ck_assert_int_le(saved, 0);
	look_at_file(saved);
	fxt_buffer_trim(&buffer);
	fill_chunks(3);
	if (random_below(2))
		fxt_buffer_reserve(&buffer);
	ck_assert(!fxt_buffer_find_cut(&buffer, &bytes));
	fill_chunks(2);
	saved = fxt_buffer_save(&buffer);
	look_at_file(saved);
	if (mode != FXT_CIRCULAR && random_below(4)) {
		bool done = fxt_buffer_rewrite(&buffer, 1 << 20);

		ck_assert_int_eq(done, buffer.tail_offset != 0);
		was_rewritten = done;
		look_at_file(saved);
		if (done) {
			ck_assert(take_one(&chunk));
			record(&chunk, 20);
			fxt_storage_finish(&buffer.storage, chunk.number, 20, now);
			ck_assert(take_one(&chunk));
			record(&chunk, 200);
			look_at_file(saved);
		}
	}
	return true;
}

/* -- One call after the other ---------------------------------------------------------------------- */

static size_t run_once(enum fxt_mode mode, bool in_memory, uint64_t seed, unsigned long at)
{
	struct rlimit before, after;
	size_t left, i;
	bool made;

	random_state = random_state_of(seed);
	failing_state = random_state_of(seed + at);
	setup();
	ids = 0;
	now = SECOND_NS;
	memset(pages, 0, sizeof(pages));
	page_count = 0;
	memset(open_fds, 0, sizeof(open_fds));
	calls = 0;
	fails_at = at;
	failed_number = 0;
	was_rewritten = false;
	has_no_nameless = random_below(3) == 0;
	getrlimit(RLIMIT_NOFILE, &before);
	before.rlim_cur = (rlim_t[]){300, 1024, 1500, 5000}[random_below(4)];
	setrlimit(RLIMIT_NOFILE, &before);
	is_counted = true;
	made = run(mode, in_memory);
	is_counted = false;
	getrlimit(RLIMIT_NOFILE, &after);
	if (failed_number != SYS_prlimit64)
		ck_assert_mem_eq(&before, &after, sizeof(before));
	else
		setrlimit(RLIMIT_NOFILE, &before);
	ck_assert_int_eq(buffer.extend_lock.taken + buffer.durable_lock.taken + buffer.page_lock.taken, 0);
	ck_assert_int_eq(fxt_signals, FXT_SIGNALS_OPEN);
	ck_assert_msg(made || failed_number, "no file");
	if (!made)
		ck_assert_int_ne(access(path, F_OK), 0);
	/* teardown() fails if there is a file of another name. */
	teardown();
	for (i = 0; i < FDS; i++)
		EXPECT(!open_fds[i], "descriptor %zu is left open", i);
	left = page_count;
	return left;
}

START_TEST(refused)
{
	const enum fxt_mode mode = modes[_i % 3];
	const bool in_memory = _i / 3;
	unsigned long at = 0, count = 1;
	size_t left = 0, now_left;
	uint64_t seed;

	random_seed(0);
	seed = (uint64_t)_i * 1000000 + 1;
	fxt_apart_never();
	answers = answer;
	for (at = 0; at <= count; at++) {
		now_left = run_once(mode, in_memory, seed, at);
		if (!at) {
			count = calls;
			left = now_left;
		}
		/* What was appended to a file that was rewritten stays mapped. */
		ck_assert_msg(was_rewritten || now_left <= left, "%zu pages are mapped, not %zu: %s",
			      now_left, left, refusal());
	}
	ck_assert_uint_gt(count, 30);
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("refused");

	tcase_set_timeout(test, 120);
	tcase_add_loop_test(test, refused, 0, 6);
	return RUN_SUITE("refused", test);
}
