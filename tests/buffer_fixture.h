/* This gives a test a buffer in a directory of its own, and walks over its file. check_buffer.c,
 * check_buffer_file.c and check_rewrite.c include it.
 *
 * The file is read back by its name and walked by the sizes of its records alone, without the project's
 * reader or its header of bit fields.
 */
#ifndef BUFFER_FIXTURE_H
#define BUFFER_FIXTURE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "lane.h"

#define MAGIC UINT64_C(0x0016547846040010)
/* This is the header of a string record with this index and one word of text, which is TEXT: "text". */
#define STRING(index) (UINT64_C(2) | 2 << 4 | (uint64_t)(index) << 16 | UINT64_C(4) << 32)
#define TEXT UINT64_C(0x0000000074786574)
/* This is the header of an instant of thread 1 without arguments. Its category and its name are string
 * `name`. */
#define INSTANT(name) (UINT64_C(4) | UINT64_C(1) << 24 | (uint64_t)(name) << 32 | (uint64_t)(name) << 48)

enum { MIB = 1 << 20, DURABLE = FXT_DURABLE_MIN_BYTES, STRINGS = 3 };

static char directory[] = "/tmp/check_buffer.XXXXXX";
static char path[sizeof(directory) + 16];
static struct fxt_buffer buffer;

struct walk {
	size_t bytes, records, fillers, instants, strings;
};

static size_t write_prologue(uint64_t *out)
{
	size_t i;

	out[0] = MAGIC;
	for (i = 0; i < STRINGS; i++) {
		out[1 + 2 * i] = STRING(i + 1);
		out[2 + 2 * i] = TEXT;
	}
	return 1 + 2 * STRINGS;
}

static void setup(void)
{
	memcpy(directory + sizeof(directory) - 7, "XXXXXX", 7);
	ck_assert(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/trace.fxt", directory);
	memset(&buffer, 0, sizeof(buffer));
	buffer.fd = -1;
}

static void teardown(void)
{
	static const char *const names[] = {"trace.fxt", "trace.1.fxt", "trace.2.fxt", "target",
					    "trace.fxt.tmp"};
	char name[sizeof(path)];
	size_t i;

	fxt_buffer_forget(&buffer);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", directory, names[i]);
		unlink(name);
	}
	ck_assert_msg(rmdir(directory) == 0, "%s is not empty: a file of another name was made", directory);
}

static int try_create(enum fxt_mode mode, uint64_t bytes)
{
	struct fxt_buffer_config config = {
		.mode = mode, .bytes = bytes, .path = path, .write_prologue = write_prologue};

	return fxt_buffer_create(&buffer, &config);
}

__attribute__((unused)) static void create(enum fxt_mode mode, uint64_t bytes)
{
	int error = try_create(mode, bytes);

	ck_assert_msg(error == 0, "cannot create: %s", strerror(-error));
}

/* Reads the file by its name, and follows the sizes of its records to its end. Fails if they do not lead
 * there. Returns how many records of each kind there are. */
static struct walk walk_file(const char *name)
{
	struct walk walk = {0};
	struct stat status;
	int fd = open(name, O_RDONLY);
	uint64_t *words;
	size_t at, n, end;

	ck_assert_msg(fd >= 0 && fstat(fd, &status) == 0, "%s cannot be opened: %s", name, strerror(errno));
	walk.bytes = (size_t)status.st_size;
	words = malloc(walk.bytes + 1);
	ck_assert(words && pread(fd, words, walk.bytes, 0) == (ssize_t)walk.bytes);
	close(fd);
	ck_assert_uint_eq(walk.bytes % 8, 0);
	ck_assert_uint_eq(words[0], MAGIC);
	end = walk.bytes / 8;
	for (at = 0; at < end; at += n) {
		uint64_t type = words[at] & 15;

		n = words[at] >> 4 & 0xfff;
		/* An assertion of Check writes something each time. */
		if (!n)
			ck_abort_msg("a record of size 0 at byte %zu of %zu", at * 8, walk.bytes);
		walk.records++;
		walk.fillers += type == 0 && (words[at] >> 16 & 15) == 15;
		walk.instants += type == 4;
		walk.strings += type == 2;
	}
	ck_assert_msg(at == end, "the last record ends at byte %zu of %zu", at * 8, walk.bytes);
	free(words);
	return walk;
}

__attribute__((unused)) static struct walk walk(void)
{
	return walk_file(buffer.path);
}

/* -- Chunks and what is put into them ---------------------------------------------------------------- */

static const enum fxt_mode modes[] = {FXT_ONESHOT, FXT_CIRCULAR, FXT_STREAMING};

__attribute__((unused)) static bool take(struct fxt_chunk *chunk)
{
	return fxt_storage_take(&buffer.storage, 0, chunk);
}

/* INSTANTS_PER_CHUNK instants of two words fit into a chunk. The last one may begin at LAST_PLACE; behind
 * it is the room that every lane keeps free. */
enum {
	LAST_PLACE = FXT_CHUNK_WORDS - 1 - FXT_LANE_SLACK_WORDS - 2 - 1,
	INSTANTS_PER_CHUNK = LAST_PLACE / 2 + 1,
};

__attribute__((unused)) static void instant(struct fxt_lane *lane, uint64_t name)
{
	uint64_t *at = fxt_lane_place(lane, 2);

	at[1] = 12345;
	fxt_lane_commit(lane, at, 2, INSTANT(name));
}

__attribute__((unused)) static struct fxt_chunk taken;

__attribute__((unused)) static struct fxt_lane lane_of(const struct fxt_chunk *chunk)
{
	struct fxt_lane lane = {0};

	fxt_lane_enter(&lane, chunk, 1);
	return lane;
}

#endif
