/* This tests how a buffer leaves a manager that is gone, and goes on in a file of its own
 * (writer/buffer_leave.c), while threads take chunks, and children of vfork are killed that do. What was
 * recorded is in the archive or in the file, and no record is in both; what a ring overwrites is counted. The
 * choices follow from FXT_SEED (apps/random.h). */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lane.h"
#include "managed_fixture.h"
#include "suite.h"

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
static atomic_bool is_done;

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

/* -- At chosen moments --------------------------------------------------------------------------- */

/* The child of a vfork, which is killed by a store to the chunk that it has just taken. */
static void take_and_die(uint32_t number)
{
	uint64_t *chunk = fxt_buffer_chunk(&buffer, number);
	struct fxt_chunk taken;
	pid_t child;
	int status;

	ck_assert_int_eq(mprotect(chunk, FXT_CHUNK_BYTES, PROT_NONE), 0);
	signal(SIGSEGV, SIG_DFL);
	child = vfork();
	if (child == 0) {
		fxt_storage_take(&buffer.storage, 0, &taken);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ck_assert_int_eq(mprotect(chunk, FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE), 0);
}

/* A child that is killed while it takes a chunk holds nobody up. What the chunk of a ring had is still there,
 * because the child could not give it up. */
START_TEST(killed_child)
{
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	struct fxt_chunk chunk;
	struct fxt_lane lane = {0};
	uint32_t number = 0, turn;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer(mode, FXT_BUFFER_MIN_BYTES);
	fxt_lender = (uint32_t)getpid();
	for (turn = 0; turn < (mode == FXT_CIRCULAR ? buffer.limit : 1); turn++) {
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, turn);
		if (mode == FXT_CIRCULAR || random_below(2))
			fxt_storage_finish(&buffer.storage, chunk.number, 1, 1);
		number = chunk.number;
	}
	take_and_die((number + 1) % buffer.limit);
	leave();
	memset(&overwritten, 0, sizeof(overwritten));
	find_in_file();
	for (number = 0; number < turn; number++)
		ck_assert_uint_eq(marks[0].found[number], 1);
	ck_assert_uint_eq(all_overwritten(&overwritten), 0);
	ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
	ck_assert_uint_eq(chunk.overwritten, mode == FXT_CIRCULAR);
	find_in_file();
	ck_assert_uint_eq(all_overwritten(&overwritten), mode == FXT_CIRCULAR);
	end();
}
END_TEST

/* What a manager took in a pass that it did not end is in no archive once it is killed. A ring that gives
 * that up counts it as overwritten: at once if the manager is gone, and else when the process leaves it,
 * unless the pass has ended before the manager was killed. */
START_TEST(taken_in_vain)
{
	static _Atomic uint32_t word;
	const uint64_t now_ns = 1000000000;
	const bool is_in_pass = _i & 1, is_killed = _i & 2, ends = _i & 4;
	struct fxt_chunk chunk;
	struct fxt_lane lane = {0};
	uint32_t turn, pass, given_up, i;
	uint64_t lost = 0;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer(FXT_CIRCULAR, FXT_BUFFER_MIN_BYTES);
	buffer.manager_word = &word;
	atomic_store(&word, 1);
	pass = (uint32_t)random_below(1 << 20);
	atomic_store(&buffer.header->saved_pass, pass);
	for (turn = 0; turn < buffer.limit; turn++) {
		ck_assert(fxt_storage_take(&buffer.storage, now_ns, &chunk));
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, turn);
		fxt_storage_finish(&buffer.storage, chunk.number, 1, 1);
		atomic_store(&buffer.taken[chunk.number],
			     fxt_taken_pack((struct fxt_taken){
				     .turn = atomic_load(&buffer.states[chunk.number]) >> 8,
				     .words = FXT_CHUNK_WORDS,
				     .events = 1,
				     .pass = pass + is_in_pass}));
	}
	/* The process has just listened, so it takes these chunks before it does so again. */
	if (is_killed)
		atomic_store(&word, FXT_MANAGER_DIED);
	given_up = 1 + (uint32_t)random_below(buffer.limit - 1);
	for (i = 0; i < given_up; i++) {
		ck_assert(fxt_storage_take(&buffer.storage, now_ns, &chunk));
		ck_assert_uint_eq(chunk.overwritten, is_in_pass && is_killed);
		lost += chunk.overwritten;
	}
	ck_assert_uint_eq(fxt_buffer_overwritten(&buffer), lost);
	if (ends && !is_killed)
		atomic_store(&buffer.header->saved_pass, pass + 1);
	atomic_store(&word, FXT_MANAGER_DIED);
	leave();
	ck_assert_uint_eq(fxt_buffer_overwritten(&buffer), is_in_pass && (is_killed || !ends) ? given_up : 0);
	buffer.manager_word = NULL;
	end();
}
END_TEST

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

/* A thread may have read what kind of buffer it is before, and go on after another one has left. */
START_TEST(late_thread)
{
	const struct fxt_storage_ops *ops;
	struct fxt_chunk chunk, held;
	struct fxt_lane lane = {0};
	unsigned i, count;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer((enum fxt_mode)(_i % 3), (1 + random_below(4)) * FXT_BUFFER_MIN_BYTES);
	ops = buffer.storage.ops;
	ck_assert(ops->take(&buffer.storage, 0, &held));
	fxt_lane_enter(&lane, &held, 1);
	put(&lane, 0);
	leave();
	count = 2 + (unsigned)random_below(buffer.managed_chunks / 2);
	for (i = 1; i < count; i++) {
		ck_assert(ops->take(&buffer.storage, i * UINT64_C(1000000000), &chunk));
		ck_assert_uint_ne(chunk.number, held.number);
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, i);
		if (random_below(2))
			ops->finish(&buffer.storage, chunk.number, 1, 1);
		fxt_buffer_hear(&buffer, UINT64_MAX);
		fxt_buffer_tell(&buffer, (struct fxt_packet){.request = FXT_PROVIDER_STOPPED});
		fxt_buffer_tell_dropped(&buffer, i);
		fxt_buffer_leaves(&buffer, random_below(2));
		fxt_buffer_hand_over(&buffer);
		ck_assert_int_eq(fxt_storage_failure(&buffer.storage), 0);
		ck_assert_int_ne(ops->failure(&buffer.storage), -EPIPE);
	}
	find_in_file();
	for (i = 0; i < count; i++)
		ck_assert_uint_eq(marks[0].found[i], 1);
	end();
}
END_TEST

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

/* -- At random moments --------------------------------------------------------------------------- */

/* Records until it is done, in chunks that it finishes, and in one that it keeps. */
static void *record(void *argument)
{
	struct marks *own = argument;
	uint64_t number = (uint64_t)(own - marks);
	struct fxt_lane lane = {0};
	struct fxt_chunk chunk;
	unsigned left;

	random_seed(1 + number);
	while (!atomic_load(&is_done)) {
		if (!fxt_storage_take(&buffer.storage, random_below(2), &chunk)) {
			sched_yield();
			continue;
		}
		fxt_lane_enter(&lane, &chunk, 1);
		for (left = (unsigned)random_below(100); left && own->count < MOST_MARKS; left--)
			put(&lane, number << 32 | own->count++), lane.events++;
		if (random_below(4) == 0)
			sched_yield();
		if (!atomic_load(&is_done))
			fxt_storage_finish(&buffer.storage, chunk.number, lane.events, 1);
	}
	return NULL;
}

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

static _Atomic pid_t victim;

/* Makes children that take chunks, and are killed at any instruction. */
static void *make_victims(void *argument)
{
	static volatile bool has_given_back;
	static struct fxt_chunk chunk;
	pid_t child;
	unsigned i;

	(void)argument;
	fxt_lender = (uint32_t)getpid();
	while (!atomic_load(&is_done)) {
		child = vfork();
		if (child == 0) {
			atomic_store(&victim, fxt_sys_getpid());
			for (i = 0; i < 1000; i++) {
				if (!fxt_storage_take(&buffer.storage, 0, &chunk))
					continue;
				/* It may be killed before it has given the chunk back, or after that. */
				has_given_back = true;
				fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
				chunk.words = 0;
				has_given_back = false;
			}
			_exit(0);
		}
		atomic_store(&victim, 0);
		waitpid(child, NULL, 0);
		/* The agent does this before the thread takes its next chunk. */
		if (chunk.words && !has_given_back) {
			fxt_storage_clear(&buffer.storage, &chunk);
			fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
		}
		chunk.words = 0;
		has_given_back = false;
	}
	return NULL;
}

/* Saves what is full, as a manager does in streaming mode. */
static void save(unsigned from, unsigned to)
{
	uint32_t entry, i;

	for (i = from; i < to; i++) {
		entry = atomic_load(&buffer.states[i]);
		if (fxt_managed_state_of(entry) != FXT_MANAGED_FULL)
			continue;
		find(fxt_buffer_chunk(&buffer, i), FXT_CHUNK_WORDS);
		ck_assert(atomic_compare_exchange_strong(&buffer.states[i], &entry,
							 (entry & ~0xffu) | FXT_MANAGED_FREE));
	}
}

/* Manages for so many answers at most. */
static void manage(unsigned answers)
{
	unsigned half = buffer.managed_chunks / 2;
	struct fxt_packet packet;

	while (answers--) {
		struct pollfd wait = {manager_end, POLLIN, 0};

		if (poll(&wait, 1, 20) != 1)
			return;
		ck_assert_int_eq(recv(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
		ck_assert_uint_eq(packet.request, FXT_PROVIDER_SAVE_BUFFER);
		save((packet.data32 & 1) * half, (packet.data32 & 1) * half + half);
		packet.request = FXT_MANAGER_BUFFER_SAVED;
		ck_assert_int_eq(send(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
	}
}

static void spin(uint64_t times)
{
	while (times--)
		__asm__ volatile("" ::: "memory");
}

START_TEST(any_moment)
{
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	const bool has_victims = _i / 3 % 2;
	uint64_t put_all = 0, found = 0;
	unsigned threads, i, k;
	pthread_t maker;

	random_seed(0);
	random_seed(MOST_THREADS + 1 + (uint64_t)_i);
	memset(marks, 0, sizeof(marks));
	memset(&overwritten, 0, sizeof(overwritten));
	atomic_store(&is_done, false);
	make_buffer(mode, (1 + random_below(8)) * FXT_BUFFER_MIN_BYTES);
	threads = 1 + (unsigned)random_below(MOST_THREADS);
	for (i = 0; i < threads; i++)
		ck_assert_int_eq(pthread_create(&marks[i].thread, NULL, record, &marks[i]), 0);
	if (has_victims)
		ck_assert_int_eq(pthread_create(&maker, NULL, make_victims, NULL), 0);
	if (mode == FXT_STREAMING)
		manage((unsigned)random_below(20));
	spin(random_below(1 << 20));
	for (i = 0; has_victims && i < 50; i++) {
		pid_t child = atomic_load(&victim);

		spin(random_below(20000));
		if (child && atomic_load(&victim) == child)
			kill(child, SIGKILL);
		if (i == 25)
			leave();
	}
	if (!has_victims)
		leave();
	spin(random_below(1 << 20));
	atomic_store(&is_done, true);
	if (has_victims) {
		while (atomic_load(&victim))
			sched_yield();
		ck_assert_int_eq(pthread_join(maker, NULL), 0);
	}
	for (i = 0; i < threads; i++)
		ck_assert_int_eq(pthread_join(marks[i].thread, NULL), 0);
	find_in_file();
	for (i = 0; i < threads; i++) {
		put_all += marks[i].count;
		for (k = 0; k < marks[i].count; k++) {
			ck_assert_uint_le(marks[i].found[k], 1);
			found += marks[i].found[k];
		}
	}
	ck_assert_uint_eq(found + all_overwritten(&overwritten), put_all);
	end();
}
END_TEST

int main(void)
{
	TCase *chosen = tcase_create("chosen moments"), *any = tcase_create("any moment");

	tcase_add_loop_test(chosen, killed_child, 0, 12);
	tcase_add_loop_test(chosen, taken_in_vain, 0, 8);
	tcase_add_loop_test(chosen, late_thread, 0, 12);
	tcase_add_loop_test(chosen, taken_in_part, 0, 30);
	tcase_add_loop_test(chosen, no_file, 0, 6);
	tcase_set_timeout(any, 120);
	tcase_add_loop_test(any, any_moment, 0, 60);
	tcase_add_loop_test(any, pages_go_on, 0, 60);
	return RUN_SUITE("leaving a manager", chosen, any);
}
