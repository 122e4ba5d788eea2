/* This tests what is left of a buffer that leaves its manager (writer/buffer_leave.c): which events are in
 * its file where the manager had taken part of a chunk, what a ring counts later, pages that threads store to
 * meanwhile, and what becomes of it where there can be no file. FXT_SEED names the choices. */
#include <dirent.h>
#include <sys/resource.h>

#include "leave_fixture.h"
#include "suite.h"

static atomic_bool is_done;

/* -- What the manager had taken -------------------------------------------------------------------- */

/* What the manager has taken of a chunk: the words up to so many events, in this pass or the one before. */
struct taken_part {
	unsigned events, archived;      /* of the chunk, and those of them that the archive has for sure */
	unsigned first, in_archive;     /* the number of the first event; so many are not in the file */
	unsigned others;                /* records that are no events */
	bool is_held;
};

enum { PART_EVENTS = 40, OTHER_MARK = 0xfeed };

/* Fills a chunk with events, and other records between them. Notes how many words there are up to each event
 * in ends[]. */
static void fill(const struct fxt_chunk *chunk, struct taken_part *part, uint32_t *ends)
{
	struct fxt_lane lane = {0};
	unsigned i;

	fxt_lane_enter(&lane, chunk, 1);
	ends[0] = 0;
	part->events = (unsigned)random_below(PART_EVENTS);
	for (i = 0; i < part->events; i++) {
		while (!random_below(3)) {
			uint64_t *at = fxt_lane_place(&lane, 3);

			at[1] = at[2] = OTHER_MARK;
			fxt_lane_commit(&lane, at, 3, FXT_RECORD_THREAD | 1 << 16);
			part->others++;
		}
		put(&lane, part->first + i);
		ends[i + 1] = (uint32_t)(lane.at - chunk->base);
	}
}

/* Plays what a manager does with a chunk before it is killed. Returns whether it saves all of it. */
static bool take_part(uint32_t number, uint32_t pass, const uint32_t *ends, struct taken_part *part)
{
	uint32_t entry = atomic_load(&buffer.states[number]);
	unsigned some = (unsigned)random_below(part->events + 1), less = (unsigned)random_below(some + 1);
	bool is_in_pass = random_below(2), is_of_turn = random_below(5);

	if (!random_below(5) && !part->is_held) {
		/* The chunk is saved. */
		atomic_store(&buffer.states[number], (entry & ~0xffu) | (buffer.mode == FXT_CIRCULAR
										 ? FXT_MANAGED_SAVED
										 : FXT_MANAGED_FREE));
		part->archived = part->in_archive = part->events;
		return true;
	}
	atomic_store(&buffer.taken[number],
		     fxt_taken_pack((struct fxt_taken){.turn = (entry >> 8) - !is_of_turn,
						       .words = ends[some],
						       .before = ends[less],
						       .events = some,
						       .pass = pass + is_in_pass}));
	part->in_archive = !is_of_turn ? 0 : is_in_pass ? less : some;
	part->archived = is_of_turn && !is_in_pass ? some : 0;
	return false;
}

/* A manager that saves now and then has taken parts of chunks, some of them in a pass that it has not ended.
 * The file has all events that are not in the archive, and all other records. Nothing counts as overwritten;
 * what a ring overwrites later is what the archive does not have. */
START_TEST(taken_in_part)
{
	static struct taken_part parts[2 * FXT_BUFFER_MIN_BYTES / FXT_CHUNK_BYTES];
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	unsigned mark = 0, others = 0, i, n, taken;
	uint32_t ends[PART_EVENTS + 1], pass;
	struct fxt_chunk chunk;
	size_t at;

	random_seed(0);
	random_seed(100 + (uint64_t)_i);
	memset(marks, 0, sizeof(marks));
	memset(&overwritten, 0, sizeof(overwritten));
	memset(parts, 0, sizeof(parts));
	make_buffer(mode, (1 + random_below(2)) * FXT_BUFFER_MIN_BYTES);
	pass = (uint32_t)random_number(32);
	atomic_store(&buffer.header->saved_pass, pass);
	taken = 1 + (unsigned)random_below(buffer.limit);
	for (i = 0; i < taken && fxt_storage_take(&buffer.storage, 0, &chunk); i++) {
		struct taken_part *part = &parts[chunk.number];

		part->first = mark;
		fill(&chunk, part, ends);
		part->is_held = random_below(4) == 0;
		mark += part->events;
		if (!part->is_held)
			fxt_storage_finish(&buffer.storage, chunk.number, part->events, 1);
		others += take_part(chunk.number, pass, ends, part) ? 0 : part->others;
	}
	leave();
	for (at = LOSSES; at < PROLOGUE_WORDS; at += FXT_COUNTER_WORDS)
		ck_assert(fxt_is_filler(buffer.durable[at]));
	find_in_file();
	ck_assert_uint_eq(others_found, others);
	for (i = 0; i < buffer.managed_chunks; i++)
		for (n = 0; n < parts[i].events; n++)
			ck_assert_msg(marks[0].found[parts[i].first + n] == (n >= parts[i].in_archive),
				      "event %u of chunk %u: %u in the archive", n, i, parts[i].in_archive);
	for (i = 0; i < buffer.managed_chunks; i++)
		if (parts[i].is_held)
			fxt_storage_finish(&buffer.storage, i, parts[i].events, 1);
	for (i = 0; mode == FXT_CIRCULAR && i < buffer.limit; i++) {
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		ck_assert_uint_eq(chunk.overwritten,
				  parts[chunk.number].events - parts[chunk.number].archived);
	}
	end();
}
END_TEST

/* -- Pages ----------------------------------------------------------------------------------------- */

/* What a thread that stores to a word of a page has found there, which it has not stored; and its last
 * value. */
static _Atomic uint64_t wrong, latest;

/* Stores larger and larger numbers to a word of a page. */
static void *store_on(void *argument)
{
	_Atomic uint64_t *word = argument;
	uint64_t value = 0, found;

	while (!atomic_load(&is_done)) {
		atomic_store(word, ++value);
		atomic_store(&latest, value);
		found = atomic_load(word);
		if (!found || found > value)
			atomic_store(&wrong, found);
	}
	return NULL;
}

/* A page moves to the file while threads store to it and read from it. They find what they have stored. */
START_TEST(pages_go_on)
{
	uint64_t *page, before;
	struct fxt_chunk taken;
	pthread_t thread;

	random_seed(0);
	atomic_store(&is_done, false);
	atomic_store(&latest, 0);
	make_buffer((enum fxt_mode)(_i % 3), FXT_BUFFER_MIN_BYTES);
	page = fxt_buffer_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
	ck_assert_ptr_nonnull(page);
	ck_assert_int_eq(pthread_create(&thread, NULL, store_on, page + 1), 0);
	while (!atomic_load(&latest))
		sched_yield();
	leave();
	/* It has stored there since. */
	before = atomic_load(&latest);
	while (atomic_load(&latest) < before + 2)
		sched_yield();
	atomic_store(&is_done, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_msg(!atomic_load(&wrong), "the word had %llx", (unsigned long long)atomic_load(&wrong));
	ck_assert_uint_eq(page[1], atomic_load(&latest));
	end();
}
END_TEST

/* -- No file --------------------------------------------------------------------------------------- */

static unsigned descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* The file may not become as large as it has to be. Nothing is left of it, and the memory hands out what it
 * has room for. */
START_TEST(no_file)
{
	enum { CHECK_BYTES = 1 << 17 };
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	struct fxt_chunk chunk;
	struct rlimit limit;
	unsigned before, i, some;

	random_seed(0);
	make_buffer(mode, (1 + random_below(4)) * FXT_BUFFER_MIN_BYTES);
	some = (unsigned)random_below(buffer.limit);
	for (i = 0; i < some && fxt_storage_take(&buffer.storage, 0, &chunk); i++)
		if (random_below(2))
			fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
	before = descriptors();
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	/* Check writes what a test finds to a file, too. */
	limit.rlim_cur = CHECK_BYTES + random_below(FXT_BUFFER_MIN_BYTES - CHECK_BYTES);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(getcwd(path, sizeof(path) - 40) != NULL);
	sprintf(path + strlen(path), "/leave.%d.fxt", getpid());
	ck_assert_int_eq(leave_for(path), -EFBIG);
	/* Both ends of the connection are closed. */
	ck_assert_uint_eq(descriptors(), before - 2);
	ck_assert_int_eq(buffer.fd, -1);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert(buffer.managed && !buffer.leaves);
	for (i = 0; i < buffer.limit; i++) {
		enum fxt_managed_state state = fxt_managed_state_of(atomic_load(&buffer.states[i]));

		ck_assert(state != FXT_MANAGED_LEFT && state != FXT_MANAGED_FREEING);
	}
	end();
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("left");

	tcase_set_timeout(test, 120);
	tcase_add_loop_test(test, taken_in_part, 0, 30);
	tcase_add_loop_test(test, no_file, 0, 6);
	tcase_add_loop_test(test, pages_go_on, 0, 60);
	return RUN_SUITE("what has left a manager", test);
}
