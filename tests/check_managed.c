/* This tests the chunks of a buffer that a manager saves (writer/buffer_managed.c): threads fill them, and a
 * manager in a thread of its own saves them, as fast as they can. Each chunk has one holder at a time, and
 * what was put into it is saved once. The choices follow from FXT_SEED (apps/random.h). */
#include <poll.h>
#include <sys/resource.h>

#include "buffer_managed.h"
#include "managed_fixture.h"
#include "suite.h"

enum {
	THREADS = 40,                   /* more than half of the chunks that a buffer of 1 MiB has */
	ROUNDS = 500,                   /* chunks that each thread fills */
	FIRST = FXT_MANAGED_FIRST_CHUNKS,
	FIRST_EARLY = FXT_MANAGED_LEAST_CHUNKS, /* a pass may end after so many chunks at first, */
	UNSEEN = 32,                    /* what a process that does not wait may use at first */
	MOST_EARLY = 32,                /* and after so many later: buffer_managed.c */
	QUICK_NS = 20 * 1000 * 1000,
	SLOW_NS = 1000 * 1000 * 1000,
};

/* The assertions of Check write something each time. */
#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

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
			EXPECT(chunk.base[i] == mark(thread, round));
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
		EXPECT(base[1] >> 48 == 0xabcd);
		EXPECT(thread < THREADS);
		next[thread]++;
		EXPECT(round < ROUNDS);
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

/* In the first round half of the buffer has less chunks than there are threads. In the others it may be so
 * large that a pass ends before its end. */
START_TEST(stream)
{
	static unsigned next[THREADS];
	pthread_t threads[THREADS], manager;
	unsigned i;

	random_seed(2 * THREADS + (uint64_t)_i);
	make_buffer(FXT_STREAMING, (_i ? 1 + random_below(24) : 1) * FXT_BUFFER_MIN_BYTES);
	if (!_i)
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

/* The manager's part in passes(). */
static struct {
	unsigned pass, at;              /* of the provider */
	unsigned asked, answered;       /* requests to save a half */
	unsigned early;                 /* the least length of a pass */
	unsigned plenty;                /* so many free chunks are plenty */
	uint64_t now_ns, pass_ns;       /* the time, and when the pass began */
	unsigned granted;               /* chunks of each half that the manager has granted; 0: all */
	bool *busy;                     /* the chunks that are not free */
} play;

/* Answers the request that is pending, if there is one. The chunks of that half are free then, but for one
 * in `kept`. */
static void answer(unsigned kept)
{
	struct fxt_packet packet;
	unsigned half = buffer.limit / 2, first = (play.answered & 1) * half, i;

	if (play.asked == play.answered)
		return;
	EXPECT(recv(manager_end, &packet, sizeof(packet), MSG_DONTWAIT) == sizeof(packet));
	EXPECT(packet.request == FXT_PROVIDER_SAVE_BUFFER);
	EXPECT(packet.data32 == play.answered);
	for (i = first; i < first + half; i++) {
		uint32_t entry = atomic_load(&buffer.states[i]);

		if (fxt_managed_state_of(entry) != FXT_MANAGED_FULL || i % kept == 0)
			continue;
		atomic_store(&buffer.states[i], (entry & ~0xffu) | FXT_MANAGED_FREE);
		play.busy[i] = false;
	}
	packet.request = FXT_MANAGER_BUFFER_SAVED;
	EXPECT(send(manager_end, &packet, sizeof(packet), 0) == sizeof(packet));
	play.answered++;
}

/* Returns how many chunks of each half may be used. Before the manager has answered for the first time it may
 * not have seen the memory. */
static unsigned usable(void)
{
	unsigned half = buffer.limit / 2, granted = play.granted;

	if (!granted)
		granted = play.answered ? half : buffer.waits ? FXT_MANAGED_LEAST_CHUNKS : UNSEEN;
	return granted < half ? granted : half;
}

/* The provider begins the next pass. A quick one is followed by a longer one, and a slow one by one of the
 * first length. */
static void expect_pass(void)
{
	uint64_t took_ns = play.now_ns - play.pass_ns;

	play.pass_ns = play.now_ns;
	play.plenty = usable() / 2 < MOST_EARLY ? usable() / 2 : MOST_EARLY;
	play.pass++, play.asked++, play.at = 0;
	if (took_ns < QUICK_NS && play.early < MOST_EARLY)
		play.early *= 2;
	else if (took_ns > SLOW_NS)
		play.early = FIRST_EARLY;
}

/* Returns the number of the chunk that the provider takes next, or -1 if it finds none. */
static int expected(void)
{
	unsigned half = buffer.limit / 2, number;

	for (;;) {
		unsigned least = usable() < play.early ? usable() : play.early;

		if (play.at >= least && play.answered == play.asked) {
			expect_pass();
			continue;
		}
		if (play.at >= usable())
			return -1;
		number = play.at++ + (play.pass & 1) * half;
		if (!play.busy[number])
			return (int)number;
	}
}

/* A pass over a half ends at its end, or sooner if the other half is known to be saved. The manager answers
 * as late as it likes, and never gives back some of the chunks. */
START_TEST(passes)
{
	static const uint64_t pauses_ns[] = {0, QUICK_NS - 1, QUICK_NS, SLOW_NS - 1, SLOW_NS, SLOW_NS + 1};
	unsigned i, late, kept, found = 0;
	bool may_want = false;

	random_seed(3 * THREADS + (uint64_t)_i);
	make_buffer(FXT_STREAMING, (1 + random_below(24)) * FXT_BUFFER_MIN_BYTES);
	play.pass = play.at = play.asked = play.answered = 0;
	play.plenty = atomic_load(&buffer.storage.plenty);
	play.now_ns = play.pass_ns = 0;
	play.early = FIRST_EARLY;
	/* Some managers grant nothing, and thereby all. */
	play.granted = random_below(3) ? FIRST + (unsigned)random_below(buffer.limit / 2) : 0;
	atomic_store(&buffer.header->granted_chunks, play.granted);
	play.busy = calloc(buffer.limit, sizeof(*play.busy));
	late = 1 + (unsigned)random_below(buffer.limit);
	kept = 2 + (unsigned)random_below(40);
	for (i = 0; i < 20000; i++) {
		struct fxt_chunk chunk;
		int number;

		/* Passes take no time, or as long as it needs to be no quick one, or a slow one. */
		if (random_below(8) == 0) {
			uint64_t then_ns = play.pass_ns + pauses_ns[random_below(6)];

			play.now_ns = then_ns > play.now_ns ? then_ns : play.now_ns;
		}
		fxt_buffer_hear(&buffer, UINT64_MAX);
		number = expected();
		EXPECT(fxt_storage_take(&buffer.storage, play.now_ns, &chunk) == (number >= 0));
		/* It asks for more memory if it finds no chunk, or if a pass has more than it may use, and
		 * not before: other processes may need it. */
		may_want = may_want || number < 0 || play.early > usable();
		EXPECT(may_want || !atomic_load(&buffer.header->wanted_chunks));
		/* The manager lives, and may yet save something. */
		EXPECT(number >= 0 || fxt_storage_failure(&buffer.storage) == -EAGAIN);
		EXPECT(atomic_load(&buffer.storage.plenty) == play.plenty);
		if (number >= 0) {
			EXPECT(chunk.number == (unsigned)number);
			play.busy[number] = true;
			fxt_storage_finish(&buffer.storage, chunk.number, 1, 0);
			found++;
		}
		/* A child of vfork cannot begin a pass, so that is done before there is one: where one chunk
		 * is left at most, or the pass may end. */
		if (random_below(30) == 0) {
			bool is_near = play.at + 1 >= usable() || play.at >= play.early;

			fxt_managed_before_vfork(&buffer, play.now_ns);
			if (is_near && play.answered == play.asked)
				expect_pass();
			may_want = may_want || is_near || play.early > usable();
			EXPECT(atomic_load(&buffer.cursor) >> 32 == play.pass);
		}
		if (random_below(late) == 0)
			answer(kept);
		/* The manager grants more, or takes something back. */
		if (play.granted && random_below(200) == 0) {
			play.granted = FIRST + (unsigned)random_below(buffer.limit);
			atomic_store(&buffer.header->granted_chunks, play.granted);
		}
	}
	EXPECT(found > 100);
	free(play.busy);
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
			/* The manager may clear the buffer. */
			ck_assert_uint_lt(fxt_storage_none_before(&buffer.storage), FXT_NEVER);
			continue;
		}
		/* A chunk of a ring comes back some time, whatever was refused before. */
		atomic_store(&buffer.retry_ns, 1000);
		ck_assert_uint_eq(fxt_storage_none_before(&buffer.storage), 0);
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		ck_assert_uint_eq(chunk.number, i % count);
		ck_assert_uint_eq(chunk.overwritten, i % count + 1);
		fxt_storage_finish(&buffer.storage, chunk.number, i % count + 1, 1000 + i % count);
	}
	fxt_buffer_forget(&buffer);
	close(manager_end);
}
END_TEST

static long bytes_there(int memory)
{
	struct stat status;

	ck_assert_int_eq(fstat(memory, &status), 0);
	return status.st_blocks * 512;
}

/* All of a chunk is touched at once when it is taken for the first time; the first chunks, which may be all
 * that is used, are touched as they are needed. */
START_TEST(touched)
{
	void *page = aligned_alloc(FXT_PAGE_BYTES, FXT_PAGE_BYTES);
	struct fxt_chunk chunk;
	unsigned i, half;
	long before;
	int memory;

	random_seed(0);
	/* The kernel may be too old for it. */
	if (madvise(page, FXT_PAGE_BYTES, MADV_POPULATE_WRITE))
		return;
	memory = make_memory(_i ? FXT_CIRCULAR : FXT_ONESHOT, (1 + random_below(8)) * FXT_BUFFER_MIN_BYTES,
			     64 << 20);
	half = buffer.limit / 2;
	for (i = 0; i < buffer.limit; i++) {
		before = bytes_there(memory);
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		EXPECT(chunk.number == i);
		/* The tables in front may be touched, too. */
		EXPECT((bytes_there(memory) - before >= FXT_CHUNK_BYTES) == (i % half >= FIRST));
	}
	fxt_buffer_forget(&buffer);
	close(memory);
	close(manager_end);
	free(page);
}
END_TEST

/* Memory beyond the limit for the sizes of files would kill the process, so there is none. What could not be
 * made is not left behind. */
START_TEST(limited)
{
	enum { CHECK_BYTES = 1 << 17 };
	struct fxt_buffer_config config = {.mode = FXT_STREAMING, .bytes = 4 * FXT_BUFFER_MIN_BYTES,
					   .path = "test", .write_prologue = write_prologue,
					   .counters_words = COUNTERS_WORDS};
	struct rlimit limit;
	int error, fd;

	random_seed(0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	/* Check writes what a test finds to a file, too. */
	limit.rlim_cur = CHECK_BYTES + random_below(4 * FXT_BUFFER_MIN_BYTES - CHECK_BYTES);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fd = dup(0);
	close(fd);
	fxt_buffer_forget(&buffer);
	error = fxt_buffer_create_managed(&buffer, &config);
	ck_assert_int_eq(error, -EFBIG);
	ck_assert_int_eq(dup(0), fd);
}
END_TEST

static void manager_stops(void)
{
	struct fxt_packet packet = {.request = FXT_MANAGER_STOP};
	struct fxt_chunk chunk;

	ck_assert_int_eq(send(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
	fxt_buffer_hear(&buffer, UINT64_MAX);
	ck_assert_int_eq(fxt_storage_failure(&buffer.storage), -ESHUTDOWN);
	ck_assert(!fxt_storage_take(&buffer.storage, 0, &chunk));
}

/* The model of a chunk. */
static struct model {
	enum fxt_managed_state state;   /* FREE, HELD, FULL or SAVED */
	unsigned events;
} *model;

/* Does to all chunks that are full what a manager does that saves or clears them. */
static void manager_saves(enum fxt_managed_state to)
{
	unsigned i;

	for (i = 0; i < buffer.limit; i++) {
		uint32_t entry = atomic_load(&buffer.states[i]);

		EXPECT(fxt_managed_state_of(entry) == model[i].state);
		if (model[i].state != FXT_MANAGED_FULL && model[i].state != FXT_MANAGED_SAVED)
			continue;
		atomic_store(&buffer.states[i], (entry & ~0xffu) | to);
		model[i].state = to;
	}
}

static void give_back(unsigned i)
{
	model[i].state = FXT_MANAGED_FULL;
	model[i].events = (unsigned)random_below(9);
	fxt_storage_finish(&buffer.storage, i, model[i].events, 5);
}

/* Takes up to `most` chunks, keeps some, and gives others back. Returns how many it has taken. */
static unsigned record(unsigned most)
{
	struct fxt_chunk chunk;
	unsigned taken, i;

	for (taken = 0; taken < most && fxt_storage_take(&buffer.storage, 0, &chunk); taken++) {
		struct model *it = &model[chunk.number];

		if (it->state == FXT_MANAGED_FULL) {
			EXPECT(buffer.mode == FXT_CIRCULAR);
			EXPECT(chunk.overwritten == it->events);
		} else {
			EXPECT(it->state == FXT_MANAGED_FREE || it->state == FXT_MANAGED_SAVED);
			EXPECT(chunk.overwritten == 0);
		}
		it->state = FXT_MANAGED_HELD;
		if (random_below(16))
			give_back(chunk.number);
		i = (unsigned)random_below(buffer.limit);
		if (random_below(8) == 0 && model[i].state == FXT_MANAGED_HELD)
			give_back(i);
	}
	return taken;
}

static unsigned free_chunks(void)
{
	unsigned i, count = 0;

	for (i = 0; i < buffer.limit; i++)
		count += model[i].state == FXT_MANAGED_FREE;
	return count;
}

/* Sessions in random modes follow each other in one buffer, while threads keep some chunks through all of
 * them. No chunk has two holders. After a start all that were cleared can be had again. What the manager has
 * saved or cleared is not counted as overwritten; what it has not, is. */
START_TEST(sessions)
{
	unsigned session, start;

	random_seed(THREADS + (uint64_t)_i);
	make_buffer((enum fxt_mode)random_below(3), (1 + random_below(8)) * FXT_BUFFER_MIN_BYTES);
	model = calloc(buffer.limit, sizeof(*model));
	for (session = 0; session < 100; session++) {
		for (start = 0; start < 3; start++) {
			/* All chunks that are free where the buffer looks can be taken. */
			unsigned room = free_chunks();

			if (buffer.mode == FXT_ONESHOT)
				ck_assert_uint_ge(record(room), room);
			else
				record((unsigned)random_below(3 * buffer.limit));
			manager_stops();
			if (random_below(2)) {
				fxt_managed_go_on(&buffer, false);
				record((unsigned)random_below(buffer.limit));
				manager_stops();
			}
			manager_saves(buffer.mode == FXT_CIRCULAR ? FXT_MANAGED_SAVED : FXT_MANAGED_FREE);
			fxt_managed_go_on(&buffer, true);
		}
		manager_stops();
		fxt_managed_begin(&buffer, (enum fxt_mode)random_below(3));
		manager_saves(FXT_MANAGED_FREE);
		fxt_managed_go_on(&buffer, true);
	}
	free(model);
	fxt_buffer_forget(&buffer);
	close(manager_end);
}
END_TEST

static pthread_barrier_t together;

/* Takes pages until there are none. */
static void *take_pages(void *unused)
{
	struct fxt_chunk chunk;

	(void)unused;
	pthread_barrier_wait(&together);
	while (fxt_buffer_take_page(&buffer.storage, 0, FXT_SMALL_PAGE_WORDS, &chunk))
		;
	return NULL;
}

/* Threads that begin at once leave room for records, however many pages of calls in progress they need and
 * whatever the manager has granted. */
START_TEST(pages)
{
	pthread_t threads[THREADS];
	struct fxt_chunk chunk;
	unsigned granted, i;

	random_seed(5 * THREADS + (uint64_t)_i);
	make_buffer(FXT_STREAMING, 24 * FXT_BUFFER_MIN_BYTES);
	granted = FXT_MANAGED_LEAST_CHUNKS + (unsigned)random_below(4);
	atomic_store(&buffer.header->granted_chunks, granted);
	pthread_barrier_init(&together, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_pages, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
	ck_assert_uint_eq(atomic_load(&buffer.page_chunks), granted);
	/* The first pass ends early, and the other half of the buffer has as many chunks as were granted. */
	for (i = 0; i < FIRST_EARLY; i++)
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
	ck_assert(!fxt_storage_take(&buffer.storage, 0, &chunk));
	fxt_buffer_forget(&buffer);
	close(manager_end);
}
END_TEST

/* What the manager has taken of a chunk goes through one word: a turn and a pass by their lower bits, words
 * and events as they are, up to those that a chunk has. */
START_TEST(taken_words)
{
	unsigned i;

	random_seed(7 * THREADS);
	for (i = 0; i < 100000; i++) {
		struct fxt_taken t = {.turn = (uint32_t)random_number(32),
				      .words = (uint32_t)random_below(8192),
				      .before = (uint32_t)random_below(8192),
				      .events = (uint32_t)random_below(3000),
				      .pass = (uint32_t)random_number(32)};
		struct fxt_taken u = fxt_taken_unpack(fxt_taken_pack(t));

		EXPECT(u.turn == t.turn % 4096 && u.pass == t.pass % 32768);
		EXPECT(u.words == t.words && u.before == t.before);
		EXPECT(u.events == (t.events < 2047 ? t.events : 2047));
	}
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("managed"), *long_ones = tcase_create("passes"),
	      *streams = tcase_create("streams");

	tcase_set_timeout(test, 120);
	tcase_add_loop_test(test, once_or_in_turn, 0, 2);
	tcase_add_loop_test(test, touched, 0, 2);
	tcase_add_loop_test(test, limited, 0, 4);
	tcase_add_test(test, taken_words);
	tcase_add_loop_test(test, sessions, 0, 5);
	tcase_add_loop_test(test, pages, 0, 30);
	tcase_set_timeout(long_ones, 120);
	tcase_add_loop_test(long_ones, passes, 0, 40);
	tcase_set_timeout(streams, 120);
	tcase_add_loop_test(streams, stream, 0, 3);
	return RUN_SUITE("managed", test, long_ones, streams);
}
