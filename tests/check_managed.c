/* This tests the chunks of a buffer that a manager saves (writer/buffer_managed.c): threads fill them, and a
 * manager in a thread of its own saves them, as fast as they can. Each chunk has one holder at a time, and
 * what was put into it is saved once. The choices follow from FXT_SEED (apps/random.h). */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/random.h"
#include "buffer.h"

enum {
	PROLOGUE_WORDS = 8,
	THREADS = 40,                   /* more than half of the chunks that a buffer of 1 MiB has */
	ROUNDS = 500,                   /* chunks that each thread fills */
	HIGH = 1000,
};

static struct fxt_buffer buffer;
static int manager_end;
static _Atomic uint64_t put, saved, refused;
static atomic_bool is_done;

/* Returns the word that a thread fills a chunk with in a round. */
static uint64_t mark(unsigned thread, unsigned round)
{
	return UINT64_C(0xabcd) << 48 | (uint64_t)thread << 32 | round;
}

static void *fill(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument, round, words, i;
	struct fxt_chunk chunk;

	random_seed(thread);
	for (round = 0; round < ROUNDS; round++) {
		while (!fxt_storage_take(&buffer.storage, 0, &chunk)) {
			atomic_fetch_add(&refused, 1);
			usleep(50);
		}
		words = 1 + (unsigned)random_below(200);
		for (i = 1; i <= words; i++)
			chunk.base[i] = mark(thread, round);
		chunk.base[words + 1] = fxt_filler(FXT_CHUNK_WORDS - 2 - words);
		/* Nobody else has the chunk, however long this thread keeps it. */
		if (random_below(8) == 0)
			usleep((useconds_t)random_below(300));
		for (i = 1; i <= words; i++)
			ck_assert_uint_eq(chunk.base[i], mark(thread, round));
		atomic_fetch_add(&put, 1);
		fxt_storage_finish(&buffer.storage, chunk.number, words, 0);
	}
	return NULL;
}

/* Takes what is full in [from, to), as a manager does. next[] counts each thread's chunks. */
static void save(unsigned from, unsigned to, unsigned *next)
{
	const uint64_t *base;
	unsigned i, thread, round;
	uint32_t entry;

	for (i = from; i < to; i++) {
		entry = atomic_load(&buffer.states[i]);
		if (fxt_managed_state_of(entry) != FXT_MANAGED_FULL)
			continue;
		base = fxt_buffer_chunk(&buffer, i);
		thread = base[1] >> 32 & 0xffff;
		round = (uint32_t)base[1];
		ck_assert_uint_eq(base[1] >> 48, 0xabcd);
		ck_assert_uint_lt(thread, THREADS);
		next[thread]++;
		ck_assert_uint_lt(round, ROUNDS);
		atomic_fetch_add(&saved, 1);
		ck_assert(atomic_compare_exchange_strong(&buffer.states[i], &entry,
							 (entry & ~0xffu) | FXT_MANAGED_FREE));
	}
}

static void *manage(void *argument)
{
	unsigned half = buffer.limit / 2, wraps = 0, *next = argument;
	struct fxt_packet packet;

	for (;;) {
		struct pollfd wait = {manager_end, POLLIN, 0};

		if (poll(&wait, 1, 1) == 0) {
			if (atomic_load(&is_done))
				return NULL;
			continue;
		}
		ck_assert_int_eq(recv(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
		ck_assert_uint_eq(packet.request, FXT_PROVIDER_SAVE_BUFFER);
		ck_assert_uint_eq(packet.reserved, 0);
		ck_assert_uint_eq(packet.data32, wraps);
		wraps++;
		save((packet.data32 & 1) * half, (packet.data32 & 1) * half + half, next);
		packet.request = FXT_MANAGER_BUFFER_SAVED;
		ck_assert_int_eq(send(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
	}
}

static void make_buffer(enum fxt_mode mode, uint64_t bytes)
{
	static uint64_t prologue[PROLOGUE_WORDS];
	struct fxt_buffer_config config = {.mode = mode, .bytes = bytes, .path = "test", .prologue = prologue,
					   .prologue_words = PROLOGUE_WORDS, .counters_words = 2};
	int ends[2], memory, connection;

	prologue[0] = fxt_filler(PROLOGUE_WORDS);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	connection = fxt_file_move_high(ends[0]);
	ck_assert_int_ge(connection, HIGH);
	manager_end = ends[1];
	memory = fxt_buffer_create_managed(&buffer, &config, connection);
	ck_assert_int_ge(memory, 0);
	close(memory);
}

START_TEST(stream)
{
	static unsigned next[THREADS];
	pthread_t threads[THREADS], manager;
	unsigned i;

	make_buffer(FXT_STREAMING, FXT_BUFFER_MIN_BYTES);
	ck_assert_uint_lt(buffer.limit / 2, THREADS);
	pthread_create(&manager, NULL, manage, next);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fill, (void *)(uintptr_t)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&is_done, true);
	pthread_join(manager, NULL);
	/* What is left in the halves comes at the end. */
	save(0, buffer.limit, next);
	ck_assert_uint_eq(atomic_load(&put), (uint64_t)THREADS * ROUNDS);
	ck_assert_uint_eq(atomic_load(&saved), atomic_load(&put));
	for (i = 0; i < THREADS; i++)
		ck_assert_uint_eq(next[i], ROUNDS);
	fxt_buffer_forget(&buffer);
	close(manager_end);
}
END_TEST

/* A oneshot buffer hands out each chunk once. A ring's chunks come back in the order in which they were given
 * back, and say what was in them. */
START_TEST(once_or_in_turn)
{
	struct fxt_chunk chunk;
	unsigned i, count;

	random_seed(THREADS);
	make_buffer(_i ? FXT_CIRCULAR : FXT_ONESHOT, (1 + random_below(8)) * FXT_BUFFER_MIN_BYTES);
	count = buffer.limit;
	for (i = 0; i < count; i++) {
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		ck_assert_uint_eq(chunk.number, i);
		fxt_storage_finish(&buffer.storage, i, i + 1, 1000 + i);
	}
	for (i = 0; i < 2 * count; i++) {
		if (!_i) {
			ck_assert(!fxt_storage_take(&buffer.storage, 0, &chunk));
			ck_assert_uint_eq(fxt_storage_none_before(&buffer.storage), FXT_NEVER);
			continue;
		}
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		ck_assert_uint_eq(chunk.number, i % count);
		ck_assert_uint_eq(chunk.overwritten, i % count + 1);
		ck_assert_uint_eq(chunk.overwritten_ns, 1000 + i % count);
		fxt_storage_finish(&buffer.storage, chunk.number, i % count + 1, 1000 + i % count);
	}
	fxt_buffer_forget(&buffer);
	close(manager_end);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("managed");
	TCase *test = tcase_create("managed");
	SRunner *runner;
	int failed;

	tcase_set_timeout(test, 120);
	tcase_add_test(test, stream);
	tcase_add_loop_test(test, once_or_in_turn, 0, 2);
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
