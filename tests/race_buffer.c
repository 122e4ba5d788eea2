/* This races threads on the buffer under a sanitizer. Eight threads do everything with it that a traced
 * thread does, at once and in all three modes, while a ninth takes snapshots. The last word of every event
 * is a sum of its other words: each event of a snapshot has to be whole, and `fxt check` must find nothing
 * wrong. The program is built with -fsanitize=thread, and in a tree with --enable-sanitizers also with
 * those sanitizers.
 *
 * The sanitizer sees the order that locks make by the atomics they consist of, not by the futex. What the
 * threads tell each other for the test's own sake is relaxed, so it creates no order that the buffer should
 * create itself.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "fxt_encode.h"
#include "lane.h"

enum {
	MIB = 1 << 20,
	WRITERS = 8,
	ROUNDS = 64,                    /* how many chunks a writer takes; together more than the file has */
	/* a snapshot is begun once in so many rounds, and the writers wait for that */
	STEP = 4,
	/* one round in so many takes locks, because locks create an order that other accesses must not rely
	 * on */
	LOCKED_ROUNDS = 16,
	PAGES = 5,                      /* pages that a writer holds at once; less than a chunk of them */
	OPEN_CALLS = 64,                /* calls in a page, one after another and several at once */
	DEEP = 3,
	SLOT_WORDS = 4,
	PID = 1000,
	PROLOGUE_WORDS = 64,
};

/* These are the strings of the prologue; each writer's own string has a higher index. */
enum { CATEGORY = 1, NAME, SUM, FIRST_FILL, FIRST_OWN = FIRST_FILL + 4 };

#define NEED(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

extern char **environ;

static struct fxt_buffer buffer;
static pthread_barrier_t start;
static _Atomic unsigned strings;
/* `lead` is the round of the writer that is furthest, `begun` the number of snapshots that were begun. */
static _Atomic unsigned lead, begun;
/* These count what has happened: a test in which nobody got a chunk would prove nothing. */
static _Atomic unsigned chunks, refused, pages, durables, events;

struct writer {
	struct fxt_thread_ref thread;
	enum fxt_mode mode;
	uint16_t name;                  /* the last string of its own, which is the name of its events */
};

static _Noreturn void failed(const char *condition, int line)
{
	fprintf(stderr, "race_buffer: line %d: %s does not hold\n", line, condition);
	exit(1);
}

/* Goes by way of the C library, because the sanitizer has to see memory come and go. Otherwise what one
 * thread did to a window that was unmapped would race with what another does to the next window at its
 * address. */
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

	return 1 + atomic_fetch_add_explicit(&ns, 1, memory_order_relaxed);
}

static void add(_Atomic unsigned *count, unsigned more)
{
	atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static unsigned look(_Atomic unsigned *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

/* -- Records ----------------------------------------------------------------------------------- */

/* Returns the sum of all words but the last, which holds it. */
static uint64_t sum(const uint64_t *record, size_t words)
{
	uint64_t value = UINT64_C(0x9e3779b97f4a7c15);
	size_t i;

	for (i = 0; i + 1 < words; i++)
		value = (value ^ record[i]) * UINT64_C(0x100000001b3);
	return value;
}

/* Encodes an event with `fill` arguments of a word each and the sum: 4 + fill words. Returns its size. */
static size_t make_event(uint64_t *record, enum fxt_event_type type, const struct writer *writer,
			 unsigned fill)
{
	struct fxt_arg list[5] = {0};
	unsigned i;
	size_t words;

	for (i = 0; i < fill; i++)
		list[i] = (struct fxt_arg){
			.type = FXT_ARG_UINT32, .name = FXT_INDEXED(FIRST_FILL + i), .u32 = i};
	list[fill] = (struct fxt_arg){.type = FXT_ARG_UINT64, .name = FXT_INDEXED(SUM)};
	words = fxt_encode_event(record, 4 + sizeof(list) / sizeof(*list), type, now_ns(), writer->thread,
				 FXT_INDEXED(CATEGORY), FXT_INDEXED(writer->name),
				 (struct fxt_args){fill + 1, list}, 0);
	NEED(words == 4 + fill);
	record[words - 1] = sum(record, words);
	return words;
}

static void put(uint64_t *to, uint64_t value)
{
	atomic_store_explicit((_Atomic uint64_t *)to, value, memory_order_relaxed);
}

/* Stores the words behind a header, as an emission does. There the stores are plain. In a ring they may
 * meet a snapshot that still reads what the chunk held before, and that will find that the chunk's turns
 * have changed. The sanitizer cannot know this, so here the stores are atomic. */
static void put_words(uint64_t *to, const uint64_t *record, size_t words)
{
	size_t i;

	for (i = 1; i < words; i++)
		put(to + i, record[i]);
}

/* -- A writer ---------------------------------------------------------------------------------- */

static void append(struct fxt_lane *lane, const uint64_t *record, size_t words)
{
	uint64_t *at = fxt_lane_place(lane, words);

	put_words(at, record, words);
	fxt_lane_commit(lane, at, words, record[0]);
}

static void fill(const struct writer *writer, const struct fxt_chunk *chunk)
{
	struct fxt_lane lane = {0};
	uint64_t record[16];
	unsigned more = 0;
	size_t words;

	fxt_lane_enter(&lane, chunk, 1);
	words = fxt_encode_thread(record, 16, writer->thread.index, PID, writer->thread.thread);
	append(&lane, record, words);
	for (; fxt_lane_has(&lane, 16); more = (more + 1) % 4) {
		words = make_event(record, FXT_EVENT_INSTANT, writer, more);
		append(&lane, record, words);
		lane.events++;
	}
	fxt_storage_finish(&buffer.storage, lane.chunk, lane.events, now_ns());
	add(&events, lane.events);
}

/* Puts a string of the writer's own into the durable area, before the first event that it names. */
static void durable_string(struct writer *writer)
{
	unsigned index = FIRST_OWN + atomic_fetch_add_explicit(&strings, 1, memory_order_relaxed);
	uint64_t record[4];
	char text[16];
	size_t words;

	snprintf(text, sizeof(text), "name%u", index);
	words = fxt_encode_string(record, 4, (uint16_t)index, text, strlen(text));
	if (fxt_storage_durable(&buffer.storage, record, words, 64)) {
		writer->name = (uint16_t)index;
		add(&durables, 1);
	}
}

/* Rewrites slots in place, as agent/emit/in_progress.h does. */
static void open_calls(const struct writer *writer, uint64_t *page)
{
	uint64_t record[16];
	size_t level;
	unsigned i;
	uint64_t *slot;

	for (i = 0; i < OPEN_CALLS; i++) {
		for (level = 0; level <= i % DEEP; level++) {
			slot = page + SLOT_WORDS * (1 + level);
			NEED(make_event(record, FXT_EVENT_DURATION_BEGIN, writer, 0) == SLOT_WORDS);
			atomic_thread_fence(memory_order_release);
			put_words(slot, record, SLOT_WORDS);
			atomic_store_explicit((_Atomic uint64_t *)slot, record[0], memory_order_release);
		}
		while (level-- > 0) {
			slot = page + SLOT_WORDS * (1 + level);
			atomic_store_explicit((_Atomic uint64_t *)slot, fxt_filler(SLOT_WORDS),
					      memory_order_release);
		}
	}
}

static void use_pages(const struct writer *writer)
{
	uint64_t *held[PAGES], record[3];
	struct fxt_chunk taken;
	unsigned count, i, words;

	for (count = 0; count < PAGES; count++) {
		held[count] = fxt_storage_take_page(&buffer.storage, now_ns(), FXT_PAGE_WORDS, &taken);
		if (!held[count])
			break;
		add(&pages, 1);
		for (words = SLOT_WORDS; words < SLOT_WORDS * (1 + DEEP); words += SLOT_WORDS)
			put(held[count] + words, fxt_filler(SLOT_WORDS));
		put(held[count] + words, fxt_filler(FXT_PAGE_WORDS - 1 - words));
		fxt_encode_thread(record, 3, writer->thread.index, PID, writer->thread.thread);
		put_words(held[count], record, 3);
		put(held[count] + 3, fxt_filler(1));
		atomic_store_explicit((_Atomic uint64_t *)held[count], record[0], memory_order_release);
	}
	for (i = 0; i < count; i++)
		open_calls(writer, held[i]);
	while (count-- > 0)
		fxt_storage_return_page(&buffer.storage, held[count], FXT_PAGE_WORDS);
}

/* Makes all writers and the snapshots go on at about the same pace, so each snapshot meets some chunks of
 * every writer. */
static void keep_pace(unsigned round)
{
	unsigned first = look(&lead);

	while (first < round && !atomic_compare_exchange_weak_explicit(
					&lead, &first, round, memory_order_relaxed, memory_order_relaxed))
		;
	while (look(&begun) < round / STEP)
		sched_yield();
}

static void *write_all(void *argument)
{
	struct writer *writer = argument;
	struct fxt_chunk chunk;
	unsigned round;

	pthread_barrier_wait(&start);
	for (round = 0; round < ROUNDS; round++) {
		keep_pace(round);
		if (round % LOCKED_ROUNDS == 0)
			durable_string(writer);
		if (fxt_storage_take(&buffer.storage, now_ns(), &chunk)) {
			add(&chunks, 1);
			fill(writer, &chunk);
		} else {
			NEED(writer->mode != FXT_CIRCULAR);
			NEED(fxt_storage_failure(&buffer.storage) == 0);
			add(&refused, 1);
		}
		if (round % LOCKED_ROUNDS == 1)
			use_pages(writer);
	}
	return NULL;
}

/* -- What was written -------------------------------------------------------------------------- */

/* Checks that every event is whole. Returns how many there are, without calls in progress. */
static unsigned count_whole(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned found = 0;
	uint64_t *words;
	size_t count, at, n;
	long bytes;

	NEED(file && !fseek(file, 0, SEEK_END));
	bytes = ftell(file);
	NEED(bytes > 0 && bytes % FXT_WORD_BYTES == 0);
	count = (size_t)bytes / FXT_WORD_BYTES;
	words = malloc((size_t)bytes);
	rewind(file);
	NEED(words && fread(words, FXT_WORD_BYTES, count, file) == count);
	fclose(file);
	for (at = 0; at < count; at += n) {
		n = fxt_get_record_words(words[at]);
		NEED(n && n <= count - at);
		if (fxt_get_record_type(words[at]) != FXT_RECORD_EVENT)
			continue;
		NEED(words[at + n - 1] == sum(words + at, n));
		found += fxt_get_event_type(words[at]) == FXT_EVENT_INSTANT;
	}
	free(words);
	return found;
}

/* Checks the file with `fxt check`. */
static void check(const char *path)
{
	const char *fxt = getenv("FXT");
	char *arguments[] = {(char *)(fxt ? fxt : "./fxt"), (char *)"check", (char *)path, NULL};
	int status;
	pid_t pid;

	NEED(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0);
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Takes snapshots. In oneshot mode, events that were there before the previous snapshot began have to be in
 * this one. */
static void *snapshot_all(void *argument)
{
	const struct writer *with = argument;
	char path[FXT_PATH_BYTES + sizeof(".snapshot")];
	unsigned least = 0, before, found = 0, i;

	pthread_barrier_wait(&start);
	for (i = 0; i < ROUNDS / STEP; i++) {
		while (look(&lead) < i * STEP)
			sched_yield();
		before = look(&events);
		atomic_store_explicit(&begun, i + 1, memory_order_relaxed);
		snprintf(path, sizeof(path), "%s.snapshot", buffer.path);
		NEED(fxt_buffer_snapshot(&buffer, path) == 0);
		found = count_whole(path);
		NEED(with->mode != FXT_ONESHOT || found >= least);
		least = before;
		check(path);
		NEED(unlink(path) == 0);
	}
	NEED(found > 0);
	return NULL;
}

/* -- All at once ------------------------------------------------------------------------------- */

/* These kinds of threads run at once. */
static const struct kind {
	void *(*run)(void *writer);
	unsigned threads;
	/* whether they run in streaming mode too: nobody takes a snapshot of a streaming file */
	bool streaming;
} kinds[] = {
	{write_all, WRITERS, true},
	{snapshot_all, 1, false},
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds), MAX_THREADS = 32 };

static size_t write_prologue(uint64_t *out)
{
	static const char *const texts[] = {"race", "event", "sum", "a", "b", "c", "d"};
	size_t used = fxt_encode_magic(out, PROLOGUE_WORDS), i;

	used += fxt_encode_provider_info(out + used, PROLOGUE_WORDS - used, 1, "race_buffer", 11);
	used += fxt_encode_provider_section(out + used, PROLOGUE_WORDS - used, 1);
	used += fxt_encode_initialization(out + used, PROLOGUE_WORDS - used, 1000000000);
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		used += fxt_encode_string(out + used, PROLOGUE_WORDS - used, (uint16_t)(CATEGORY + i),
					  texts[i], strlen(texts[i]));
	return used;
}

static void race(enum fxt_mode mode, const char *path)
{
	/* A ring goes round some ten times; the others grow by many steps and are full before the end. */
	uint64_t bytes = (uint64_t)(mode == FXT_CIRCULAR ? 2 : 8) * MIB;
	struct fxt_buffer_config config = {.mode = mode, .bytes = bytes, .path = path,
					   .write_prologue = write_prologue};
	struct writer writers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	unsigned count = 0, found, i, k;

	chunks = refused = pages = durables = events = strings = lead = 0;
	begun = mode == FXT_STREAMING ? ROUNDS : 0;
	NEED(fxt_buffer_create(&buffer, &config) == 0);
	for (k = 0; k < KINDS; k++)
		for (i = 0; i < kinds[k].threads && (kinds[k].streaming || mode != FXT_STREAMING);
		     i++, count++)
			writers[count] =
				(struct writer){{(uint8_t)(count + 1), PID, PID + count}, mode, NAME};
	NEED(count <= MAX_THREADS && pthread_barrier_init(&start, NULL, count) == 0);
	for (k = 0, i = 0, found = 0; i < count; i++, found++) {
		if (found == kinds[k].threads) {
			found = 0;
			k++;
		}
		NEED(pthread_create(&threads[i], NULL, kinds[k].run, &writers[i]) == 0);
	}
	while (i-- > 0)
		NEED(pthread_join(threads[i], NULL) == 0);
	pthread_barrier_destroy(&start);
	printf("mode %d: %u events in %u chunks, %u refused, %u pages, %u durable records\n", (int)mode,
	       events, chunks, refused, pages, durables);
	fflush(stdout);
	found = count_whole(buffer.path);
	NEED(mode == FXT_CIRCULAR ? found > 0 && found < events : found == events);
	check(buffer.path);
	NEED(chunks > 100 && pages && durables);
	/* In the other modes the file has become full, so the race for its last chunk was run. */
	NEED((mode == FXT_CIRCULAR) == (refused == 0));
	NEED(unlink(buffer.path) == 0);
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
