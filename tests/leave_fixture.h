/* This gives a test a buffer that leaves its manager, and finds what is in the file then: check_leave.c and
 * check_left.c include it. */
#ifndef LEAVE_FIXTURE_H
#define LEAVE_FIXTURE_H

#include "lane.h"
#include "managed_fixture.h"

enum { MOST_THREADS = 6, MOST_MARKS = 200000, EVENT_WORDS = 2 };

static char path[FXT_PATH_BYTES];

/* This is what a thread has recorded, and how often each record was found. */
static struct marks {
	pthread_t thread;
	unsigned count;
	unsigned char found[MOST_MARKS];
} marks[MOST_THREADS];

static struct overwritten_sums overwritten;
static unsigned others_found;           /* records of threads */
static void leave(void)
{
	ck_assert(getcwd(path, sizeof(path) - 40) != NULL);
	sprintf(path + strlen(path), "/leave.%d.fxt", getpid());
	ck_assert_int_eq(leave_for(path), 0);
	ck_assert(buffer.storage.ops == &fxt_buffer_ops);
}

static void end(void)
{
	unlink(buffer.path);
	fxt_buffer_forget(&buffer);
}

/* Appends one record. */
static void put(struct fxt_lane *lane, uint64_t mark)
{
	uint64_t *at = fxt_lane_place(lane, EVENT_WORDS);

	at[1] = mark;
	fxt_lane_commit(lane, at, EVENT_WORDS, FXT_RECORD_EVENT);
}

/* Notes the records among these words. */
static void find(const uint64_t *words, size_t count)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		size = fxt_get_record_words(words[at]);
		ck_assert(size && size <= count - at);
		others_found += fxt_get_record_type(words[at]) == FXT_RECORD_THREAD;
		if (fxt_get_record_type(words[at]) != FXT_RECORD_EVENT ||
		    note_overwritten(&overwritten, words + at))
			continue;
		ck_assert_uint_eq(size, EVENT_WORDS);
		ck_assert_uint_lt(words[at + 1] >> 32, MOST_THREADS);
		ck_assert_uint_lt((uint32_t)words[at + 1], MOST_MARKS);
		marks[words[at + 1] >> 32].found[(uint32_t)words[at + 1]]++;
	}
}

static void find_in_file(void)
{
	FILE *file = fopen(buffer.path, "r");
	uint64_t *words;
	long bytes;

	ck_assert(file != NULL);
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);
	words = malloc((size_t)bytes);
	ck_assert_uint_eq(fread(words, 1, (size_t)bytes, file), (size_t)bytes);
	find(words, (size_t)bytes / FXT_WORD_BYTES);
	free(words);
	fclose(file);
}

#endif
