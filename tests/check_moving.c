/* This kills programs while they move what a killed manager has not saved to files of their own
 * (writer/buffer_leave.c), and lets the manager's heir go on (tools/manager/heir_moves.c). Threads record and
 * count losses meanwhile. What a thread has told of is in the file or in what the heir saves, once; or a ring
 * has overwritten and counted it. Each record is the end of a call, which a page has shown in progress
 * before: no call is there both ways.
 *
 * A third of the programs are killed at any time, and a third some time after the move has begun. The others
 * are stopped at a system call of the move, and go on instruction by instruction. They are killed after some
 * of these, or when they have moved the rest as fast as ever. The choices follow from FXT_SEED
 * (apps/random.h). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "writer/apart.h"
#include "writer/lane.h"
#include "managed_fixture.h"
#include "suite.h"
#include "tools/manager/client_parts.h"
#include "tools/manager/heir_parts.h"

enum { MOST_THREADS = 4, MOST_MARKS = 8000, EVENT_WORDS = 4 };

/* What the program tells. */
static struct told {
	_Atomic uint32_t recorded[MOST_THREADS], lost[MOST_THREADS];
	_Atomic uint32_t first[MOST_THREADS];   /* so many each thread records before the manager is gone */
	uint32_t pace[MOST_THREADS];
	uint32_t events[MOST_THREADS];          /* a thread turns to another chunk after so many */
	uint64_t page;                          /* where the page of slots lies in the memory */
	atomic_uint ready;
	atomic_bool leaves;
	atomic_bool has_left;
} *told;

/* How many programs were killed before, within and after the move. */
static atomic_uint *killed_in;

/* The row behind those of the threads is for a record in a page. */
static unsigned char found[MOST_THREADS + 1][MOST_MARKS];
/* Those that were found in progress. */
static unsigned char found_begun[MOST_THREADS][MOST_MARKS];
static uint64_t *page;
static struct overwritten_sums overwritten;
static char path[FXT_PATH_BYTES], rest[sizeof(path) + 8];

static void spin(uint64_t times)
{
	while (times--)
		__asm__ volatile("" ::: "memory");
}

/* -- The program --------------------------------------------------------------------------------- */

/* Fills in the words of a record but its header: its number passes for a time, and its thread for the numbers
 * of process and thread. */
static void describe(uint64_t *at, unsigned thread, uint32_t number)
{
	at[1] = (uint64_t)thread << 32 | number;
	at[2] = at[3] = thread;
}

static uint64_t header_of(uint64_t type)
{
	return FXT_RECORD_EVENT | fxt_event_type(type);
}

static void put(struct fxt_lane *lane, unsigned thread)
{
	uint32_t number = atomic_load_explicit(&told->recorded[thread], memory_order_relaxed);
	uint64_t *slot = page + (size_t)(1 + thread) * EVENT_WORDS, *at;

	describe(slot, thread, number);
	atomic_store_explicit((_Atomic uint64_t *)slot,
			      header_of(FXT_EVENT_DURATION_BEGIN) | fxt_record_words(EVENT_WORDS),
			      memory_order_release);
	spin(told->pace[thread]);
	atomic_store_explicit((_Atomic uint64_t *)slot, fxt_filler(EVENT_WORDS), memory_order_release);
	at = fxt_lane_place(lane, EVENT_WORDS);
	describe(at, thread, number);
	fxt_lane_commit(lane, at, EVENT_WORDS, header_of(FXT_EVENT_DURATION_COMPLETE));
	lane->events++;
	atomic_store_explicit(&told->recorded[thread], number + 1, memory_order_release);
}

/* Counts as the agent does where there is no room. */
static void lose(unsigned thread)
{
	uint64_t *slot = buffer.storage.prologue + LOSSES;

	atomic_fetch_add((_Atomic uint64_t *)&slot[FXT_COUNTER_SUM], 1);
	if (fxt_get_record_type(slot[0]) != FXT_RECORD_EVENT)
		atomic_store((_Atomic uint64_t *)slot,
			     FXT_RECORD_EVENT | fxt_record_words(FXT_COUNTER_WORDS));
	atomic_fetch_add(&told->lost[thread], 1);
}

/* Waits until the manager is gone. */
static void wait_for_the_end(void)
{
	if (!atomic_load(&told->leaves))
		atomic_fetch_add(&told->ready, 1);
	while (!atomic_load(&told->leaves))
		sched_yield();
}

static void *record(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;
	struct fxt_lane lane = {0};
	struct fxt_chunk chunk;

	while (atomic_load(&told->recorded[thread]) < MOST_MARKS) {
		if (atomic_load(&told->recorded[thread]) == told->first[thread])
			wait_for_the_end();
		if (fxt_lane_has(&lane, EVENT_WORDS) && lane.events < told->events[thread]) {
			put(&lane, thread);
			continue;
		}
		if (lane.at)
			fxt_storage_finish(&buffer.storage, lane.chunk, lane.events, 1);
		fxt_lane_leave(&lane);
		lane.at = NULL;
		if (fxt_storage_take(&buffer.storage, 0, &chunk))
			fxt_lane_enter(&lane, &chunk, 1);
		else if (atomic_load(&told->leaves))
			lose(thread);
		else
			wait_for_the_end();
	}
	return NULL;
}

/* Puts a record into a page of words that are rewritten in place, and a slot for each thread. */
static void put_in_page(void)
{
	struct fxt_chunk taken;
	unsigned i;

	page = fxt_storage_take_page(&buffer.storage, 0, FXT_PAGE_WORDS, &taken);
	if (!page)
		abort();
	told->page = (uint64_t)((char *)page - (char *)buffer.header);
	for (i = 1; i <= MOST_THREADS; i++)
		page[i * EVENT_WORDS] = fxt_filler(EVENT_WORDS);
	page[i * EVENT_WORDS] = fxt_filler(FXT_PAGE_WORDS - 1 - i * EVENT_WORDS);
	describe(page, MOST_THREADS, 0);
	page[0] = header_of(FXT_EVENT_DURATION_COMPLETE) | fxt_record_words(EVENT_WORDS);
}

static void __attribute__((noreturn)) run(unsigned threads)
{
	pthread_t thread;
	unsigned i;

	/* The thread that leaves is the one that is stopped. */
	fxt_apart_never();
	put_in_page();
	for (i = 0; i < threads; i++)
		pthread_create(&thread, NULL, record, (void *)(uintptr_t)i);
	while (atomic_load(&told->ready) < threads)
		sched_yield();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	atomic_store(&told->leaves, true);
	if (leave_for(path))
		abort();
	atomic_store(&told->has_left, true);
	for (;;)
		pause();
}

/* -- Its end ------------------------------------------------------------------------------------- */

/* Lets the program go on to its next stop, and returns whether it has stopped. */
static bool go_on(pid_t child, int how)
{
	int status;

	return ptrace((enum __ptrace_request)how, child, NULL, NULL) == 0 &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}

/* Returns a number below 2^bits, of any size alike. */
static uint64_t any_size(unsigned bits)
{
	return random_below(UINT64_C(1) << random_below(bits + 1));
}

static bool moves(void)
{
	return atomic_load(&buffer.header->leaving) == FXT_MOVES;
}

enum moment { ANY_TIME, FROM_THE_MOVE_ON, AT_AN_INSTRUCTION };

static void kill_at(enum moment moment, pid_t child)
{
	uint64_t calls = any_size(6), steps = any_size(11);
	bool goes_on = random_below(2);
	int status;

	/* The pages move in these system calls, behind the durable area. */
	if (random_below(2))
		calls = 6 + random_below(6);

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSTOPPED(status));
	if (moment == AT_AN_INSTRUCTION) {
		while (!atomic_load(&told->has_left) && (!moves() || calls--) &&
		       go_on(child, PTRACE_SYSCALL))
			;
		while (moves() && steps-- && go_on(child, PTRACE_SINGLESTEP))
			;
		/* Meanwhile threads have stored much to the file, and the move may go on. */
		while (goes_on && !atomic_load(&told->has_left) && go_on(child, PTRACE_SYSCALL))
			;
	} else {
		ptrace(PTRACE_DETACH, child, NULL, NULL);
		while (moment == FROM_THE_MOVE_ON && !moves() && !atomic_load(&told->has_left))
			;
		spin(any_size(moment == ANY_TIME ? 22 : 16));
	}
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, __WALL), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Makes the memory what it is where each thread was in its last call when the page was mapped, and has ended
 * the call since: the file has the event. */
static void leave_in_progress(struct fxt_client *client)
{
	uint64_t *slots = (uint64_t *)(client->memory + told->page);

	for (unsigned i = 0; i < MOST_THREADS; i++) {
		if (!atomic_load(&told->recorded[i]))
			continue;
		describe(slots + (1 + i) * EVENT_WORDS, i, atomic_load(&told->recorded[i]) - 1);
		slots[(1 + i) * EVENT_WORDS] =
			header_of(FXT_EVENT_DURATION_BEGIN) | fxt_record_words(EVENT_WORDS);
	}
}

/* Does what an heir does. Returns how the program has left. */
static uint32_t inherit(int memory)
{
	struct fxt_session *session = calloc(1, sizeof(*session));
	struct fxt_client *client = calloc(1, sizeof(*client));
	uint32_t leaving;

	session->config.mode = FXT_BUFFERING_STREAMING;
	ck_assert_ptr_null(fxt_client_map(client, session, memory, 0));
	leaving = atomic_load(&((struct fxt_managed_header *)client->memory)->leaving);
	if (leaving == FXT_MOVES) {
		leave_in_progress(client);
		ck_assert(fxt_heir_completes(client));
		/* It may have been killed itself after this. */
		ck_assert(fxt_heir_completes(client));
	} else if (leaving == FXT_STAYS) {
		client->id = 1;
		ck_assert(fxt_archive_open(&session->archive, rest, false));
		fxt_client_save(client, session, true);
		fxt_archive_close(&session->archive);
	}
	munmap(client->memory, client->bytes);
	free(client->saved);
	free(client);
	free(session);
	return leaving;
}

/* Finds the records of a file, unless there is none, and returns how many were counted as lost. */
static uint64_t find_in(const char *name)
{
	FILE *file = fopen(name, "r");
	size_t count, at, size;
	uint64_t *words, lost = 0;

	if (!file)
		return 0;
	words = malloc(64 << 20);
	count = fread(words, sizeof(*words), (64 << 20) / sizeof(*words), file);
	fclose(file);
	for (at = 0; at < count; at += size) {
		size = fxt_get_record_words(words[at]);
		ck_assert_msg(size && size <= count - at, "%s: word %zu of %zu is %lx", name, at, count,
			      (unsigned long)words[at]);
		if (fxt_get_record_type(words[at]) != FXT_RECORD_EVENT)
			continue;
		if (note_overwritten(&overwritten, words + at))
			continue;
		if (size == FXT_COUNTER_WORDS) {
			lost += words[at + FXT_COUNTER_SUM];
			continue;
		}
		ck_assert_uint_eq(size, EVENT_WORDS);
		ck_assert_uint_le(words[at + 1] >> 32, MOST_THREADS);
		ck_assert_uint_lt((uint32_t)words[at + 1], MOST_MARKS);
		if (fxt_get_event_type(words[at]) == FXT_EVENT_DURATION_BEGIN) {
			ck_assert_uint_lt(words[at + 1] >> 32, MOST_THREADS);
			found_begun[words[at + 1] >> 32][(uint32_t)words[at + 1]]++;
			continue;
		}
		found[words[at + 1] >> 32][(uint32_t)words[at + 1]]++;
	}
	free(words);
	unlink(name);
	return lost;
}

/* -- Rounds -------------------------------------------------------------------------------------- */

enum { ROUNDS = 90 };

START_TEST(killed)
{
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	unsigned threads, i, k, size;
	uint64_t lost_told = 0, missing = 0, lost;
	int memory;
	pid_t child;

	random_seed(0);
	random_seed(1 + (uint64_t)_i);
	memset(found, 0, sizeof(found));
	memset(found_begun, 0, sizeof(found_begun));
	memset(&overwritten, 0, sizeof(overwritten));
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(getcwd(path, sizeof(path) - 40) != NULL);
	sprintf(path + strlen(path), "/moving.%d.fxt", getpid());
	sprintf(rest, "%s.rest", path);
	memory = make_memory(mode, FXT_BUFFER_MIN_BYTES, 64 << 20);
	threads = 1 + (unsigned)random_below(MOST_THREADS);
	for (i = 0; i < threads; i++) {
		told->first[i] = (uint32_t)random_below(4000);
		told->pace[i] = (uint32_t)any_size(14);
		/* A ring turns over. */
		told->events[i] = mode == FXT_CIRCULAR ? 30 + (uint32_t)random_below(400) : UINT32_MAX;
	}
	child = fork();
	if (child == 0)
		run(threads);
	close(manager_end);
	kill_at((enum moment)(_i / 3 % 3), child);
	atomic_fetch_add(&killed_in[inherit(memory)], 1);
	lost = find_in(path) + find_in(rest);
	for (i = 0; i < threads; i++) {
		size = atomic_load(&told->recorded[i]);
		for (k = 0; k < size; k++) {
			ck_assert_msg(found[i][k] == 1 || (found[i][k] == 0 && mode == FXT_CIRCULAR),
				      "record %u of %u of thread %u is there %u times", k, size, i,
				      found[i][k]);
			missing += !found[i][k];
		}
		/* It may have been killed before it could tell of one more. */
		ck_assert_uint_le(found[i][k], 1);
		for (k++; k < MOST_MARKS; k++)
			ck_assert_uint_eq(found[i][k], 0);
		for (k = 0; k < MOST_MARKS; k++)
			ck_assert_msg(!found[i][k] || !found_begun[i][k],
				      "call %u of thread %u has ended, and is in progress", k, i);
		lost_told += atomic_load(&told->lost[i]);
	}
	ck_assert_uint_eq(missing, all_overwritten(&overwritten));
	ck_assert_uint_eq(found[MOST_THREADS][0], 1);
	ck_assert_uint_ge(lost, lost_told);
	ck_assert_uint_le(lost, lost_told + threads);
	fxt_buffer_forget(&buffer);
	close(memory);
	munmap(told, sizeof(*told));
}
END_TEST

int main(void)
{
	TCase *any = tcase_create("any moment");
	int status;

	killed_in = mmap(NULL, 3 * sizeof(*killed_in), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	tcase_set_timeout(any, 120);
	tcase_add_loop_test(any, killed, 0, ROUNDS);
	status = RUN_SUITE("killed within the move", any);
	printf("killed %u times before the move, %u times within it, %u times after it\n",
	       killed_in[FXT_STAYS], killed_in[FXT_MOVES], killed_in[FXT_HAS_LEFT]);
	return status;
}
