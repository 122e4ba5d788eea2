/* The buffer under the thread sanitizer: every thread does all that a traced thread does with it, at once and in all three
 * modes. Built with -fsanitize=thread and the writer's sources, whatever the tree is configured for; a report of the
 * sanitizer ends it with status 66. The order that locks make is seen by the atomics they are made of, not by the futex.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane.h"

enum {
	MIB = 1 << 20,
	ROUNDS = 64,                    /* chunks a writer takes; together more than the file has */
	LOCKED_ROUNDS = 16,             /* one in so many takes locks, which would order what they are not there to order */
	PAGES = 5,                      /* held at once by a writer, less than a chunk of them */
};

#define NEED(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

static struct fxt_buffer buffer;
static pthread_barrier_t start;
/* What happened at all: a test in which nobody got a chunk would prove nothing. */
static _Atomic unsigned chunks, refused, pages, durables;

static _Noreturn void failed(const char *condition, int line)
{
	fprintf(stderr, "race_buffer: line %d: %s does not hold\n", line, condition);
	exit(1);
}

/* By way of the C library: the sanitizer has to see memory go and come, or what one thread did to a window that was unmapped
 * races with what another does to the next one at its address. */
long fxt_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (number == SYS_mmap)
		result = (long)mmap((void *)a, (size_t)b, (int)c, (int)d, (int)e, f);
	else if (number == SYS_munmap)
		result = munmap((void *)a, (size_t)b);
	else
		result = syscall(number, a, b, c, d, e, f);
	return result == -1 ? -errno : result;
}

static uint64_t now_ns(void)
{
	static _Atomic uint64_t ns;

	return atomic_fetch_add_explicit(&ns, 1, memory_order_relaxed);
}

/* An instant of so many words, its arguments left out: the buffer does not look inside. */
static uint64_t instant(void)
{
	return FXT_RECORD_EVENT | (uint64_t)FXT_EVENT_INSTANT << 16;
}

static void fill(const struct fxt_chunk *chunk, bool aligned)
{
	struct fxt_lane lane = {0};
	size_t words = 2;

	fxt_lane_enter(&lane, chunk->base, chunk->words, chunk->number, 1);
	for (; fxt_lane_has(&lane, words + 2 * FXT_LINE_WORDS); words = words == 6 ? 2 : words + 1) {
		if (aligned)
			fxt_lane_align(&lane, words);
		memset(lane.at + 1, 0x11, (words - 1) * FXT_WORD_BYTES);
		if (aligned)
			fxt_lane_commit_aligned(&lane, words, instant());
		else
			fxt_lane_commit(&lane, words, instant());
		lane.events++;
	}
	fxt_buffer_finish(&buffer, lane.chunk, lane.events, now_ns());
}

static void durable_string(unsigned number)
{
	/* A string record of one word of text. */
	uint64_t record[2] = {FXT_RECORD_STRING | fxt_record_words(2) | (uint64_t)(number & 0x7fff) << 16 | UINT64_C(8) << 32,
			      UINT64_C(0x6161616161616161)};

	if (fxt_buffer_durable(&buffer, record, 2, 64))
		atomic_fetch_add_explicit(&durables, 1, memory_order_relaxed);
}

/* As calls in progress do: slots that are written in place, and the page given back for the next one. */
static void use_pages(void)
{
	uint64_t *held[PAGES];
	struct fxt_chunk taken;
	unsigned i, words;

	for (i = 0; i < PAGES; i++) {
		held[i] = fxt_buffer_take_page(&buffer, now_ns(), &taken);
		if (!held[i])
			break;
		atomic_fetch_add_explicit(&pages, 1, memory_order_relaxed);
		for (words = 4; words < FXT_PAGE_WORDS - 4; words += 4)
			held[i][words] = fxt_filler(FXT_PAGE_WORDS - 1 - words);
		held[i][1] = held[i][2] = held[i][3] = 0;
		atomic_store_explicit((_Atomic uint64_t *)held[i], fxt_filler(4), memory_order_release);
	}
	while (i-- > 0)
		fxt_buffer_return_page(&buffer, held[i]);
}

static void *writer(void *argument)
{
	enum fxt_mode mode = *(enum fxt_mode *)argument;
	struct fxt_chunk chunk;
	unsigned round;

	pthread_barrier_wait(&start);
	for (round = 0; round < ROUNDS; round++) {
		if (fxt_buffer_take(&buffer, now_ns(), &chunk)) {
			atomic_fetch_add_explicit(&chunks, 1, memory_order_relaxed);
			fill(&chunk, mode != FXT_CIRCULAR);
		} else {
			NEED(mode != FXT_CIRCULAR);
			NEED(fxt_buffer_failure(&buffer) == 0);
			atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
		}
		if (round % LOCKED_ROUNDS == 0) {
			durable_string(round);
			use_pages();
		}
	}
	return NULL;
}

/* Who runs at once. */
static const struct kind {
	void *(*run)(void *mode);
	unsigned threads;
} kinds[] = {
	{writer, 8},
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds), MAX_THREADS = 32 };

static void race(enum fxt_mode mode, const char *path)
{
	static const uint64_t magic = UINT64_C(0x0016547846040010);
	/* A ring goes round some ten times; the others grow by many steps and are full before the end. */
	uint64_t bytes = (uint64_t)(mode == FXT_CIRCULAR ? 2 : 8) * MIB;
	struct fxt_buffer_config config = {mode, bytes, path, &magic, 1};
	pthread_t threads[MAX_THREADS];
	unsigned count = 0, i, k;

	chunks = refused = pages = durables = 0;
	NEED(fxt_buffer_create(&buffer, &config) == 0);
	for (k = 0; k < KINDS; k++)
		count += kinds[k].threads;
	NEED(count <= MAX_THREADS && pthread_barrier_init(&start, NULL, count) == 0);
	for (k = 0, i = 0; k < KINDS; k++)
		for (count = 0; count < kinds[k].threads; count++)
			NEED(pthread_create(&threads[i++], NULL, kinds[k].run, &mode) == 0);
	while (i-- > 0)
		NEED(pthread_join(threads[i], NULL) == 0);
	pthread_barrier_destroy(&start);
	NEED(unlink(buffer.path) == 0);
	printf("mode %d: %u chunks, %u refused, %u pages, %u durable records\n", (int)mode, chunks, refused, pages,
	       durables);
	NEED(chunks > 100 && pages && durables);
	/* Full was reached where there is such a thing: the race for the last chunk was run. */
	NEED((mode == FXT_CIRCULAR) == (refused == 0));
	fxt_buffer_forget(&buffer);
}

int main(void)
{
	char directory[] = "/tmp/race_buffer.XXXXXX", path[sizeof(directory) + 16];

	NEED(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/trace.fxt", directory);
	race(FXT_STREAMING, path);
	race(FXT_ONESHOT, path);
	race(FXT_CIRCULAR, path);
	NEED(rmdir(directory) == 0);
	return 0;
}
