/* This tests how fxt serve copies records out of the memory of providers, and what it writes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "tools/archive/archive_told.h"
#include "tools/manager/client.h"
#include "trace_words.h"
#include "writer/buffer.h"

#define FILLER(words) HEAD(0, words, 15)
#define SECTION(id) HEAD(0, 1, 2 | AT(4, id))
#define BUFFER_FULL(id) HEAD(0, 1, 3 | AT(4, id))
#define INSTANT(words) EVENT(words, 0, 0, 1, 1, 1)
#define LOG(words, bytes) HEAD(9, words, bytes)

enum { MOST_WORDS = 1 << 20 };

static struct fxt_session session = {.config.mode = FXT_BUFFERING_CIRCULAR};
static char path[] = "/tmp/check_manager.XXXXXX";

static void begin_archive(void)
{
	int fd;

	memcpy(strrchr(path, '.'), ".XXXXXX", sizeof(".XXXXXX"));
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	unlink(path);
	ck_assert(fxt_archive_open(&session.archive, path, false));
}

/* Takes the record out that tells the time of day, which is behind the first provider's name. Returns how
 * many words are left. */
static size_t take_clock(uint64_t *words, size_t count)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		size = words[at] >> 4 & 0xfff;
		if (!size)
			break;
		if ((words[at] & 0xf) != FXT_RECORD_KERNEL_OBJECT ||
		    (words[at] >> 16 & 0xff) != FXT_OBJECT_CLOCK)
			continue;
		memmove(words + at, words + at + size, (count - at - size) * sizeof(*words));
		return count - size;
	}
	return count;
}

/* Closes the archive and returns its words, but for the time of day; the caller frees them. */
static uint64_t *end_archive(size_t *count)
{
	uint64_t *words = malloc(MOST_WORDS * sizeof(*words));
	FILE *in;

	fxt_archive_close(&session.archive);
	in = fopen(path, "r");
	ck_assert_ptr_nonnull(in);
	*count = take_clock(words, fread(words, sizeof(*words), MOST_WORDS, in));
	fclose(in);
	unlink(path);
	return words;
}

static void expect_archive(const uint64_t *expected, size_t expected_count)
{
	size_t count;
	uint64_t *found = end_archive(&count);

	ck_assert_uint_eq(count, expected_count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(found[i] == expected[i], "word %zu is %#lx, expected was %#lx", i,
			      (unsigned long)found[i], (unsigned long)expected[i]);
	free(found);
}

#define WORDS(...) ((const uint64_t[]){__VA_ARGS__})
#define COUNT(...) (sizeof(WORDS(__VA_ARGS__)) / sizeof(uint64_t))
#define EXPECT_ARCHIVE(...) expect_archive(WORDS(__VA_ARGS__), COUNT(__VA_ARGS__))
#define APPEND(id, is_whole, ...) \
	fxt_archive_append(&session.archive, id, WORDS(__VA_ARGS__), COUNT(__VA_ARGS__), is_whole)

START_TEST(test_what_is_left_out)
{
	begin_archive();
	fxt_archive_name(&session.archive, 1, "a", 1);
	ck_assert_uint_eq(APPEND(1, true, MAGIC, INSTANT(2), 5, FILLER(3), 0, 0, INSTANT(2), 6, LOG(3, 8), 7,
				 8, HEAD(0, 2, 1 | AT(4, 9) | AT(36, 3)), 'x', SECTION(9), INSTANT(2), 9,
				 HEAD(0, 1, 9), FILLER(2), 0),
			  16);
	ck_assert_uint_eq(session.archive.events, 3);
	ck_assert_uint_eq(session.archive.damaged, 0);
	EXPECT_ARCHIVE(MAGIC, HEAD(0, 2, 1 | AT(4, 1) | AT(36, 1)), 'a', INSTANT(2), 5, INSTANT(2), 6,
		       LOG(3, 8), 7, 8, INSTANT(2), 9);
}
END_TEST

START_TEST(test_sections)
{
	begin_archive();
	fxt_archive_name(&session.archive, 1, "a", 1);
	fxt_archive_name(&session.archive, 2, "", 0);
	APPEND(1, true, INSTANT(2), 1);
	APPEND(1, true, INSTANT(2), 2, BUFFER_FULL(7));
	/* There is nothing of provider 2 here, so it gets no section. */
	APPEND(2, true, FILLER(1), FILLER(2), 0);
	APPEND(1, true, INSTANT(2), 3);
	APPEND(2, true, FILLER(1), INSTANT(2), 4);
	EXPECT_ARCHIVE(MAGIC, HEAD(0, 2, 1 | AT(4, 1) | AT(36, 1)), 'a', HEAD(0, 1, 1 | AT(4, 2)), SECTION(1),
		       INSTANT(2), 1, INSTANT(2), 2, BUFFER_FULL(1), INSTANT(2), 3, SECTION(2), INSTANT(2),
		       4);
}
END_TEST

START_TEST(test_damage)
{
	begin_archive();
	fxt_archive_name(&session.archive, 1, "", 0);
	ck_assert_uint_eq(APPEND(1, true, INSTANT(2), 1, 0, INSTANT(2), 2), 2);
	ck_assert_uint_eq(session.archive.damaged, 1);
	ck_assert_uint_eq(APPEND(1, true, INSTANT(2), 3, FILLER(1), INSTANT(3), 4), 2);
	ck_assert_uint_eq(session.archive.damaged, 2);
	ck_assert_uint_eq(APPEND(1, false, INSTANT(2), 5, FILLER(1), INSTANT(3), 6), 2);
	ck_assert_uint_eq(session.archive.damaged, 2);
	ck_assert_uint_eq(APPEND(1, true, 0), 0);
	ck_assert_uint_eq(session.archive.events, 3);
	EXPECT_ARCHIVE(MAGIC, HEAD(0, 1, 1 | AT(4, 1)), INSTANT(2), 1, INSTANT(2), 3, INSTANT(2), 5);
}
END_TEST

/* A large record may be as large as any other; readers take no larger one. */
START_TEST(test_large_records)
{
	static uint64_t words[5000];

	begin_archive();
	words[0] = AT(0, 15) | AT(4, 4095);
	words[4095] = INSTANT(2);
	ck_assert_uint_eq(fxt_archive_append(&session.archive, 1, words, 4097, true), 4097);
	words[0] = AT(0, 15) | AT(4, 4096);
	ck_assert_uint_eq(fxt_archive_append(&session.archive, 1, words, 4097, true), 0);
	words[0] = AT(0, 15) | AT(4, UINT32_MAX);
	ck_assert_uint_eq(fxt_archive_append(&session.archive, 1, words, 4097, true), 0);
	ck_assert_uint_eq(session.archive.damaged, 2);
	fxt_archive_close(&session.archive);
	unlink(path);
}
END_TEST

/* Puts events of `size` words into a unit of `count` words, numbered from `*number` on. */
static void fill_unit(uint64_t *words, size_t count, size_t size, uint64_t *number)
{
	for (size_t at = 0; at < count; at++)
		words[at] = FILLER(1);
	for (size_t at = 0; at + size <= count; at += size) {
		words[at] = EVENT(size, 0, 0, 1, 1, 1);
		for (size_t i = 1; i < size; i++)
			words[at + i] = (*number)++;
	}
}

/* Units of all sizes, which go over the ends of blocks. */
START_TEST(test_blocks)
{
	static uint64_t unit[FXT_ARCHIVE_MOST_WORDS];
	uint64_t number = 0, expected = 0, events = 0, *words;
	size_t count, at, sizes[] = {FXT_ARCHIVE_MOST_WORDS - 2, 4096, 5, 65536, FXT_ARCHIVE_MOST_WORDS, 100};

	begin_archive();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill_unit(unit, sizes[i], 5, &number);
		fxt_archive_append(&session.archive, 1 + i % 2, unit, sizes[i], true);
		events += sizes[i] / 5;
	}
	ck_assert_uint_eq(session.archive.events, events);
	words = end_archive(&count);
	for (at = 1; at < count; at += words[at] >> 4 & 0xfff) {
		if (words[at] != EVENT(5, 0, 0, 1, 1, 1))
			continue;
		for (size_t i = 1; i < 5; i++)
			ck_assert_uint_eq(words[at + i], expected++);
	}
	ck_assert_uint_eq(at, count);
	ck_assert_uint_eq(expected, number);
	free(words);
}
END_TEST

/* What is in the file is whole when no more fits, and what comes later is counted. */
START_TEST(test_full_disk)
{
	static uint64_t unit[FXT_ARCHIVE_MOST_WORDS / 2];
	struct rlimit before, limit;
	uint64_t number = 0, told = 0, *words;
	size_t count;

	signal(SIGXFSZ, SIG_IGN);
	begin_archive();
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){1 << 20, before.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill_unit(unit, sizeof(unit) / 8, 4, &number);
	fxt_archive_append(&session.archive, 1, unit, sizeof(unit) / 8, true);
	fxt_archive_flush(&session.archive);
	ck_assert(!session.archive.has_failed);
	fxt_archive_append(&session.archive, 1, unit, sizeof(unit) / 8, true);
	fxt_archive_flush(&session.archive);
	ck_assert(session.archive.has_failed);
	fxt_archive_append(&session.archive, 1, unit, 4, true);
	setrlimit(RLIMIT_FSIZE, &before);
	words = end_archive(&count);
	/* The magic number and a section record are there too. What follows says how much is lost. */
	ck_assert_uint_gt(count, 2 + sizeof(unit) / 8);
	for (size_t at = 2 + sizeof(unit) / 8; at < count; at += words[at] >> 4 & 0xfff)
		if (fxt_told_is_lost(words + at, words[at] >> 4 & 0xfff))
			told = fxt_told_calls(words + at, words[at] >> 4 & 0xfff);
	ck_assert_uint_eq(told, session.archive.unwritten);
	ck_assert_uint_eq(session.archive.events, sizeof(unit) / 8 / 4);
	ck_assert_uint_eq(session.archive.unwritten, sizeof(unit) / 8 / 4 + 1);
	free(words);
}
END_TEST

/* Appends an event with this number to a new file, which gets the name that the older one had. */
static void rotate(unsigned count, uint64_t number)
{
	uint64_t event[] = {INSTANT(2), number};

	fxt_archive_rotate(&session.archive, count);
	fxt_archive_append(&session.archive, 1, event, 2, true);
	fxt_archive_flush(&session.archive);
}

/* Older files are kept, as many as were asked for: one here, and then none. */
START_TEST(test_rotation)
{
	char older[sizeof(path) + 2];

	begin_archive();
	snprintf(older, sizeof(older), "%s.1", path);
	for (uint64_t number = 0; number < 4; number++)
		rotate(1, number);
	ck_assert_int_eq(access(older, F_OK), 0);
	ck_assert_int_eq(unlink(older), 0);
	for (uint64_t number = 4; number < 8; number++)
		rotate(0, number);
	ck_assert_int_ne(access(older, F_OK), 0);
	ck_assert(!session.archive.has_failed);
	ck_assert_uint_eq(session.archive.events, 8);
	EXPECT_ARCHIVE(MAGIC, SECTION(1), INSTANT(2), 7);
}
END_TEST

/* A new file that cannot be made is told of once. */
START_TEST(test_rotation_that_fails)
{
	begin_archive();
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	rotate(0, 1);
	ck_assert(session.archive.has_failed);
	rotate(0, 2);
	ck_assert_uint_eq(session.archive.unwritten, 2);
	fxt_archive_close(&session.archive);
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* -- A memory that is rewritten while it is saved -------------------------------------------------- */

enum { CHUNKS = 2, TABLE = 4096, DURABLE = 8192, DURABLE_BYTES = 4096, ROLLING = DURABLE + DURABLE_BYTES };

static struct fxt_client client;
static atomic_bool is_over;
static atomic_uint saves;

static void make_client(void)
{
	client = (struct fxt_client){.id = 1, .bytes = ROLLING + CHUNKS * FXT_CHUNK_BYTES, .chunks = CHUNKS,
				     .durable_offset = DURABLE, .durable_bytes = DURABLE_BYTES,
				     .rolling_offset = ROLLING};
	client.memory = mmap(NULL, client.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(client.memory, MAP_FAILED);
	client.table = (fxt_managed_entry *)(client.memory + TABLE);
	client.saved = calloc(CHUNKS, sizeof(*client.saved));
}

static uint64_t *chunk(unsigned number)
{
	return (uint64_t *)(client.memory + ROLLING + (size_t)number * FXT_CHUNK_BYTES);
}

static void store(uint64_t *at, uint64_t value)
{
	atomic_store_explicit((_Atomic uint64_t *)at, value, memory_order_release);
}

/* Returns whether a record names the provider or begins its section. */
static bool is_about_provider(uint64_t header)
{
	return (header & 15) == 0;
}

/* Returns the place of the first event at `at` or behind it, or `count` if there is none. Its size is in
 * *size. */
static size_t event_from(const uint64_t *words, size_t count, size_t at, size_t *size)
{
	for (; at < count; at += *size) {
		*size = words[at] >> 4 & 0xfff;
		ck_assert_uint_gt(*size, 0);
		if (!is_about_provider(words[at]))
			break;
	}
	return at;
}

/* Takes pages, divides them into slots of 4 or 8 words, shows one call after another in each slot, and gives
 * the pages back. All words of a call but its header have its time. */
static void *rewrite_pages(void *unused)
{
	uint64_t time = 1000;

	for (unsigned round = 0; !atomic_load_explicit(&is_over, memory_order_relaxed); round++) {
		uint64_t *page = chunk(0) + (size_t)(round % FXT_CHUNK_PAGES) * FXT_PAGE_WORDS;
		unsigned size = round & 16 ? 4 : 8, slots = (FXT_PAGE_WORDS - 2) / size, n;

		for (n = 0; n < slots; n++)
			store(page + 1 + n * size, FILLER(size));
		store(page + 1 + n * size, FILLER(FXT_PAGE_WORDS - 2 - n * size));
		store(page, FILLER(1));
		for (n = 0; n < 300; n++) {
			uint64_t *slot = page + 1 + (size_t)(n % slots) * size;

			store(slot, FILLER(size));
			time++;
			for (unsigned i = size; i-- > 1;)
				store(slot + i, time);
			store(slot, EVENT(size, 2, 0, 1, 1, 1));
		}
		store(page + FXT_PAGE_WORDS - 1, FILLER(1));
		store(page, FILLER(FXT_PAGE_WORDS - 1));
	}
	return unused;
}

/* Saves the pages again and again while they are rewritten. Every call that is in the archive is one that
 * was there. */
START_TEST(test_pages_that_change)
{
	pthread_t thread;
	size_t count, at, size, calls = 0;
	uint64_t *words;

	begin_archive();
	make_client();
	for (unsigned i = 0; i < FXT_CHUNK_PAGES; i++)
		fxt_chunk_empty(chunk(0) + (size_t)i * FXT_PAGE_WORDS, FXT_PAGE_WORDS);
	atomic_store(&client.table[0], 1 << 8 | FXT_MANAGED_PAGES);
	ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_pages, NULL), 0);
	while (session.archive.bytes < MOST_WORDS)
		fxt_client_save(&client, &session, true);
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	words = end_archive(&count);
	for (at = 1; (at = event_from(words, count, at, &size)) < count; at += size) {
		ck_assert_uint_eq(words[at], EVENT(size, 2, 0, 1, 1, 1));
		ck_assert(size == 4 || size == 8);
		for (size_t i = 2; i < size; i++)
			ck_assert_uint_eq(words[at + i], words[at + 1]);
		calls++;
	}
	ck_assert_uint_gt(calls, 0);
	free(words);
}
END_TEST

/* Empties a chunk of a ring in a new turn and appends events to it, again and again. All words of an event
 * but its header have its number. */
static void *rewrite_ring(void *unused)
{
	uint64_t number = 0, *base = chunk(1);
	unsigned seen;

	for (uint32_t turn = 1; !atomic_load_explicit(&is_over, memory_order_relaxed); turn++) {
		atomic_store(&client.table[1], turn << 8 | FXT_MANAGED_TAKEN);
		atomic_thread_fence(memory_order_release);
		fxt_chunk_empty(base, FXT_CHUNK_WORDS);
		atomic_store(&client.table[1], turn << 8 | FXT_MANAGED_HELD);
		for (size_t at = 0, size = 2 + turn % 7; at + size < FXT_CHUNK_WORDS - 1; at += size) {
			number++;
			store(base + at + size, FILLER(FXT_CHUNK_WORDS - 1 - at - size));
			for (size_t i = 1; i < size; i++)
				store(base + at + i, number);
			store(base + at, INSTANT(size));
		}
		atomic_store(&client.table[1], turn << 8 | FXT_MANAGED_FULL);
		/* Without a rest now and then no copy would be whole. */
		seen = atomic_load(&saves);
		while (turn % 3 == 0 && atomic_load(&saves) - seen < 2 && !atomic_load(&is_over))
			sched_yield();
	}
	return unused;
}

/* Saves a ring while its chunk is overwritten. Every event is whole, and comes once. */
START_TEST(test_ring_that_turns)
{
	uint64_t *words, last = 0;
	pthread_t thread;
	size_t count, at, size;

	begin_archive();
	make_client();
	ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_ring, NULL), 0);
	for (; session.archive.bytes < 4 * MOST_WORDS; atomic_fetch_add(&saves, 1))
		fxt_client_save(&client, &session, false);
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(session.archive.damaged, 0);
	words = end_archive(&count);
	for (at = 1; (at = event_from(words, count, at, &size)) < count; at += size) {
		ck_assert_uint_eq(words[at], INSTANT(size));
		ck_assert_uint_gt(words[at + 1], last);
		for (size_t i = 1; i < size; i++)
			ck_assert_uint_eq(words[at + i], words[at + 1]);
		last = words[at + 1];
	}
	ck_assert_uint_gt(last, 0);
	free(words);
}
END_TEST

enum { PROVIDERS = 40, MOST_CHUNKS = 512 };

static uint64_t seed;

static uint64_t rand_below(uint64_t *state, uint64_t end)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % end;
}

/* Returns how many chunks of each half all providers have been granted beyond the least. */
static uint64_t granted_beyond(struct fxt_client *const *clients, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += clients[i]->grant.chunks - FXT_MANAGED_LEAST_CHUNKS;
	return sum;
}

/* Returns how many of the first `chunks` chunks of the half that has fewer of them have no pages of calls in
 * progress. */
static uint32_t without_pages(const struct fxt_client *p, uint32_t chunks)
{
	uint32_t found[2] = {0};

	for (uint32_t i = 0; i < 2 * chunks; i++)
		found[i % 2] += fxt_managed_state_of(p->table[i % 2 * (p->chunks / 2) + i / 2]) !=
				FXT_MANAGED_PAGES;
	return found[0] < found[1] ? found[0] : found[1];
}

/* Checks what an idle provider has, of which so many chunks of each half had been granted. It keeps room for
 * records beside its pages. */
static void check_idle(const struct fxt_client *p, uint32_t before, uint32_t least)
{
	uint32_t chunks = p->grant.chunks;

	if (chunks < before)
		ck_assert_uint_ge(without_pages(p, chunks), least);
	if (chunks > least)
		ck_assert_uint_lt(without_pages(p, chunks - 1), least);
}

/* Providers come, want more and are idle in random order. The sum of what they are granted stays within the
 * bound of the run, each has the least and what its memory has at most, and one that wants more gets it if
 * there is any. */
START_TEST(test_grants)
{
	struct fxt_session run = {.state = FXT_SESSION_STARTED, .config.mode = FXT_BUFFERING_STREAMING};
	struct fxt_client *clients[PROVIDERS];
	uint64_t state = seed + (uint64_t)_i, bound, taken;

	run.clients = clients;
	run.config.waits = _i % 2;
	bound = 1 + rand_below(&state, 3000);
	run.config.memory_bytes = bound * 2 * FXT_CHUNK_BYTES;
	for (unsigned step = 0; step < 3000; step++) {
		struct fxt_managed_header *header;
		struct fxt_client *p;
		uint32_t wanted, before, left;

		if (run.count < PROVIDERS && rand_below(&state, 20) == 0) {
			p = calloc(1, sizeof(*p));
			p->memory = calloc(1, FXT_MANAGED_HEADER_BYTES);
			p->chunks = (uint32_t)rand_below(&state, MOST_CHUNKS);
			p->chunks = 2 * (FXT_MANAGED_FIRST_CHUNKS + p->chunks);
			p->table = calloc(p->chunks, sizeof(*p->table));
			clients[run.count++] = p;
			fxt_memory_begin(p, &run);
		}
		if (!run.count)
			continue;
		p = clients[rand_below(&state, run.count)];
		header = (struct fxt_managed_header *)p->memory;
		before = p->grant.chunks;
		wanted = (uint32_t)rand_below(&state, 2 * MOST_CHUNKS);
		taken = granted_beyond(clients, run.count) + run.count * FXT_MANAGED_LEAST_CHUNKS;
		left = bound > taken ? (uint32_t)(bound - taken) : 0;
		atomic_store(&header->wanted_chunks, wanted);
		fxt_memory_grant(p, &run);
		ck_assert_uint_eq(atomic_load(&header->granted_chunks), p->grant.chunks);
		ck_assert_uint_ge(p->grant.chunks, before);
		ck_assert_uint_le(p->grant.chunks, p->chunks / 2);
		if (wanted > p->chunks / 2)
			wanted = p->chunks / 2;
		if (wanted > before)
			ck_assert_uint_eq(p->grant.chunks,
					  before + (wanted - before < left ? wanted - before : left));
		ck_assert(granted_beyond(clients, run.count) <= bound);
		/* All of them have been idle for long. */
		if (rand_below(&state, 100) == 0) {
			uint32_t had[PROVIDERS];

			for (size_t i = 0; i < run.count; i++) {
				had[i] = clients[i]->grant.chunks;
				for (uint32_t k = 0; k < had[i] && _i % 4 > 1; k++) {
					uint64_t first = rand_below(&state, 2) * (clients[i]->chunks / 2);

					clients[i]->table[first + k] =
						rand_below(&state, 8) ? FXT_MANAGED_FREE : FXT_MANAGED_PAGES;
				}
			}
			fxt_memory_take_back(&run, fxt_now_ns() + UINT64_C(10000000000));
			for (size_t i = 0; i < run.count; i++)
				check_idle(clients[i], had[i], clients[i]->grant.least_chunks);
		}
	}
	for (size_t i = 0; i < run.count; i++) {
		free(clients[i]->memory);
		free(clients[i]->table);
		free(clients[i]);
	}
}
END_TEST

int main(void)
{
	TCase *written = tcase_create("archive"), *copied = tcase_create("memory");
	const char *given = getenv("CHECK_MANAGER_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)fxt_now_ns();
	printf("CHECK_MANAGER_SEED=%llu\n", (unsigned long long)seed);

	tcase_add_test(written, test_what_is_left_out);
	tcase_add_test(written, test_sections);
	tcase_add_test(written, test_damage);
	tcase_add_test(written, test_large_records);
	tcase_add_test(written, test_blocks);
	tcase_add_test(written, test_full_disk);
	tcase_add_test(written, test_rotation);
	tcase_add_test(written, test_rotation_that_fails);
	tcase_add_test(copied, test_pages_that_change);
	tcase_add_test(copied, test_ring_that_turns);
	tcase_add_loop_test(copied, test_grants, 0, 20);
	tcase_set_timeout(copied, 60);
	return RUN_SUITE("manager", written, copied);
}
