/* This tests the names of functions that programs make while they run (tools/programs/perf_map.h): which
 * function of a file an address is in, and which files are not used. Sizes, counts and orders follow from
 * FXT_SEED (apps/random.h), and all is compared with a model. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/programs/perf_map.h"
#include "writer/fxt_encode.h"

/* -- Which function an address is in ----------------------------------------------------------------- */

enum { BYTES = 6000, SMALL = 40 };

static const unsigned FIRST = 0x100000;

/* A line about a function, and where that is from FIRST on. */
struct made {
	unsigned start, bytes;
	char line[64];
};

/* Makes a function. Most are small, and some cover many others. */
static struct made make(unsigned number)
{
	unsigned start = (unsigned)random_below(BYTES), room = BYTES - start;
	unsigned most = random_below(10) && room > SMALL ? SMALL : room;
	struct made made = {.start = start, .bytes = 1 + (unsigned)random_below(most)};

	snprintf(made.line, sizeof(made.line), random_below(2) ? "%x %x made %u\n" : "0x%X 0x%x  made %u\n",
		 FIRST + start, made.bytes, number);
	return made;
}

static void put_other_line(FILE *file)
{
	static const char *const lines[] = {"no line of a function\n", "\n", "100000 10\n", "100000 10 \n",
					    "100000 0 empty\n", "ffffffffffffffff 2 behind all\n"};

	fputs(lines[random_below(sizeof(lines) / sizeof(lines[0]))], file);
}

/* Compares with the model: the number of the last function that was made at each byte, or 0. */
static void compare(struct fxt_perf_map *map, const unsigned *newest)
{
	char name[32];

	for (unsigned i = 0; i < BYTES; i++) {
		const char *found = fxt_perf_map_find(map, 0, 0, FIRST + i);

		snprintf(name, sizeof(name), "made %u", newest[i]);
		ck_assert_msg(!found == !newest[i], "byte %u: %s, and not %s", i, found, name);
		if (found)
			ck_assert_str_eq(found, name);
	}
	ck_assert_ptr_null(fxt_perf_map_find(map, 0, 0, FIRST - 1));
	ck_assert_ptr_null(fxt_perf_map_find(map, 0, 0, FIRST + BYTES));
}

/* Functions come in pieces of a file, many at the place of earlier ones. The last line of a piece is cut, and
 * counts when the rest has come. */
START_TEST(made_functions)
{
	static unsigned newest[BYTES];
	struct fxt_perf_map map = {0};
	FILE *file = tmpfile();

	random_seed(1 + (uint64_t)_i);
	memset(newest, 0, sizeof(newest));
	for (unsigned number = 1, pieces = 0; pieces < 20; pieces++) {
		unsigned lines = 1 + (unsigned)random_below(40), i, k;

		for (i = 0; i < lines; i++, number++) {
			struct made made = make(number);
			size_t whole = strlen(made.line), cut = i + 1 == lines ? random_below(whole) : whole;

			if (random_below(3) == 0)
				put_other_line(file);
			fwrite(made.line, 1, cut, file);
			if (cut < whole) {
				fseek(file, (long)map.bytes, SEEK_SET);
				fxt_perf_map_read(&map, file);
				compare(&map, newest);
				fseek(file, 0, SEEK_END);
				fputs(made.line + cut, file);
			}
			for (k = 0; k < made.bytes; k++)
				newest[made.start + k] = number;
		}
	}
	fseek(file, (long)map.bytes, SEEK_SET);
	fxt_perf_map_read(&map, file);
	compare(&map, newest);
	fclose(file);
	fxt_perf_map_free(&map);
}
END_TEST

/* -- What is in no good file --------------------------------------------------------------------------- */

/* Lines of any length that have any bytes: functions get names, which are UTF-8 and not too long. The other
 * lines begin with what no number begins with, because one in some million would tell of a function too. */
START_TEST(any_bytes)
{
	struct fxt_perf_map map = {0};
	FILE *file = tmpfile();
	unsigned lines = 200, functions = 0;

	random_seed(1000 + (uint64_t)_i);
	for (unsigned i = 0; i < lines; i++) {
		size_t length = random_below(20) ? random_below(200) : random_below(200000);

		if (random_below(2))
			fprintf(file, "%x 10 %c", FIRST + 16 * functions++, 'x');
		else
			fputc('!', file);
		for (; length; length--) {
			int byte = (int)random_below(256);

			fputc(byte == '\n' ? 0 : byte, file);
		}
		fputc('\n', file);
	}
	rewind(file);
	fxt_perf_map_read(&map, file);
	ck_assert_uint_eq(map.bytes, (uint64_t)ftell(file));
	for (unsigned i = 0; i < functions; i++) {
		const char *name = fxt_perf_map_find(&map, 0, 0, FIRST + 16 * i);

		ck_assert_ptr_nonnull(name);
		ck_assert_int_eq(*name, 'x');
		ck_assert_uint_lt(strlen(name), FXT_PERF_MAP_LINE);
		ck_assert(fxt_utf8_valid(name, strlen(name)));
	}
	fclose(file);
	fxt_perf_map_free(&map);
}
END_TEST

/* A file whose line has no end, and which has more than is read. */
START_TEST(endless)
{
	struct fxt_perf_map map = {0};
	FILE *file = tmpfile();

	ck_assert_int_eq(ftruncate(fileno(file), (off_t)1 << 40), 0);
	fputs("100000 10 first\n100010 10 second", file);
	rewind(file);
	fxt_perf_map_read(&map, file);
	ck_assert_uint_eq(map.bytes, FXT_PERF_MAP_BYTES);
	ck_assert_str_eq(fxt_perf_map_find(&map, 0, 0, 0x100005), "first");
	ck_assert_ptr_null(fxt_perf_map_find(&map, 0, 0, 0x100010));
	fclose(file);
	fxt_perf_map_free(&map);
}
END_TEST

/* More functions than are kept: the first of them have their names. */
START_TEST(too_many)
{
	struct fxt_perf_map map = {0};
	FILE *file = tmpfile();

	for (unsigned i = 0; i < FXT_PERF_MAP_FUNCTIONS + 10; i++)
		fprintf(file, "%x 10 f\n", FIRST + 16 * i);
	rewind(file);
	fxt_perf_map_read(&map, file);
	ck_assert_uint_eq(map.count, FXT_PERF_MAP_FUNCTIONS);
	ck_assert_str_eq(fxt_perf_map_find(&map, 0, 0, FIRST + 16 * FXT_PERF_MAP_FUNCTIONS - 1), "f");
	ck_assert_ptr_null(fxt_perf_map_find(&map, 0, 0, FIRST + 16 * FXT_PERF_MAP_FUNCTIONS));
	fclose(file);
	fxt_perf_map_free(&map);
}
END_TEST

/* -- Which file is used -------------------------------------------------------------------------------- */

static char *path, *other;

static void begin(void)
{
	path = fxt_format("/tmp/perf-%d.map", (int)getpid());
	other = fxt_format("/tmp/fxt-perf-%d", (int)getpid());
}

static void end(void)
{
	unlink(path);
	unlink(other);
	free(path);
	free(other);
}

static void put(const char *at, const char *mode, const char *text)
{
	FILE *file = fopen(at, mode);

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

/* Returns whether the file of this process has a function at FIRST. */
static bool is_used(uint64_t since_ns)
{
	struct fxt_perf_map map = {0};
	bool found = fxt_perf_map_find(&map, (uint32_t)getpid(), since_ns, FIRST);

	fxt_perf_map_free(&map);
	return found;
}

START_TEST(which_file)
{
	uint64_t since_ns = fxt_clock_ns(CLOCK_REALTIME_COARSE);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {(time_t)(since_ns / 1000000000), (long)(since_ns % 1000000000)}};

	ck_assert(!is_used(0));
	put(path, "we", "100000 10 name\n");
	ck_assert(is_used(since_ns));
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert(is_used(since_ns));
	ck_assert(!is_used(since_ns + 1));
	ck_assert(is_used(0));

	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert(!is_used(0));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!is_used(0));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert(!is_used(0));
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rename(other, path), 0);
	ck_assert(is_used(0));
	if (geteuid() == 0) {
		/* This process's user is root, and the file is another one's. */
		ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
		ck_assert(!is_used(0));
	}
}
END_TEST

/* A file that grows is looked at again, but not at once. */
START_TEST(grows)
{
	struct fxt_perf_map map = {0};
	uint32_t pid = (uint32_t)getpid();
	const struct timespec pause = {.tv_nsec = 110000000};

	put(path, "we", "100000 10 first\n100010 10 sec");
	ck_assert_str_eq(fxt_perf_map_find(&map, pid, 0, FIRST), "first");
	ck_assert_ptr_null(fxt_perf_map_find(&map, pid, 0, FIRST + 16));
	put(path, "ae", "ond\n");
	nanosleep(&pause, NULL);
	ck_assert_str_eq(fxt_perf_map_find(&map, pid, 0, FIRST + 16), "second");
	ck_assert_str_eq(fxt_perf_map_find(&map, pid, 0, FIRST), "first");
	fxt_perf_map_free(&map);
}
END_TEST

int main(void)
{
	TCase *names = tcase_create("names"), *files = tcase_create("files");

	random_seed(0);
	tcase_set_timeout(names, 60);
	tcase_add_loop_test(names, made_functions, 0, 20);
	tcase_add_loop_test(names, any_bytes, 0, 10);
	tcase_add_test(names, endless);
	tcase_add_test(names, too_many);
	tcase_add_checked_fixture(files, begin, end);
	tcase_add_test(files, which_file);
	tcase_add_test(files, grows);
	return RUN_SUITE("perf_map", names, files);
}
