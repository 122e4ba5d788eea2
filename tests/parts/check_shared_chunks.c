/* This tests the states of threads (agent/emit/thread_states.c), and how a thread writes on in the chunk of
 * one that records nothing (agent/emit/thread_chunks.c). The texts of both files are included, with functions
 * of ours for the kernel's. Threads begin and die, hold chunks, record and sleep, all at random; who gets
 * what is compared with a model. FXT_SEED names the choices. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/emit/function.h"
#include "agent/emit/in_progress.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

static long barrier_result, register_result;
static unsigned barriers, registers;
static bool (*lives)(uint32_t tid);
static unsigned asked;
static bool lacks_memory;
static unsigned mapped, mapped_states;

static long membarrier(long command)
{
	if (command == 1 << 4) {
		registers++;
		return register_result;
	}
	EXPECT(command == 1 << 3);
	barriers++;
	return barrier_result;
}

static bool thread_exists(int pid, int tid)
{
	EXPECT(pid == (int)fxt_agent.pid);
	asked++;
	return lives((uint32_t)tid);
}

static void *map_memory(size_t bytes);

#undef FXT_SYSCALL3
#define FXT_SYSCALL3(number, command, a, b) membarrier(command)
#define fxt_sys_thread_exists thread_exists
#include "agent/emit/thread_chunks.c"
#undef FXT_SYSCALL3
#define FXT_SYSCALL3(n, a, b, c) fxt_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define fxt_sys_memory map_memory
#define LOOKS STATE_LOOKS
#include "agent/emit/thread_states.c"
#undef LOOKS
#undef fxt_sys_memory

enum { THREADS = 64, CHUNK_WORDS = 1000, STEPS = 20000 };

uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1];

/* Returns memory for states, which is counted. */
static void *map_memory(size_t bytes)
{
	if (lacks_memory)
		return NULL;
	EXPECT(bytes % STATE_BYTES == 0);
	mapped++;
	mapped_states += (unsigned)(bytes / STATE_BYTES);
	return fxt_sys_memory(bytes);
}

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static unsigned finished, finished_events, finished_number, given;
static uint64_t finished_ns;
static struct fxt_full_chunk *given_back;

void fxt_chunk_finish(uint32_t number, uint32_t events, uint64_t last_ns)
{
	finished++;
	finished_number = number;
	finished_events = events;
	finished_ns = last_ns;
}

bool fxt_lane_give_back_full(struct fxt_full_chunk *full)
{
	given++;
	given_back = full;
	full->hold = 0;
	return true;
}

/* -- States ---------------------------------------------------------------------------------------- */

static bool alive[1 << 20];

static bool is_alive(uint32_t tid)
{
	return alive[tid];
}

static void setup(void)
{
	random_seed(0);
	part_setup();
	lives = is_alive;
	asked = mapped = mapped_states = 0;
}

static void teardown(void)
{
	EXPECT(fxt_signals == FXT_SIGNALS_OPEN && !fxt_threads.lock.taken);
}

/* Gives a thread a state, as thread.c does. */
static struct fxt_thread *begin(uint32_t tid)
{
	struct fxt_thread *thread = fxt_thread_claim_state(fxt_agent.pid);

	if (!thread)
		return NULL;
	EXPECT(thread->claimed);
	thread->in_use = true;
	thread->own_tid = tid;
	thread->pid = fxt_agent.koid;
	fxt_thread_enter_number(thread);
	thread->claimed = false;
	return thread;
}

/* Each thread that lives has a state of its own, and is found by its number. Threads that begin take over
 * what the dead have left, so there are not many more states than ever lived at once. */
START_TEST(own_states)
{
	enum { MOST = 300 };
	struct {
		uint32_t tid;
		struct fxt_thread *thread;
	} all[MOST];
	unsigned count = 0, step, i, k, next_tid = 5000, most = 0;
	struct fxt_moved moved;
	uint64_t bytes;

	for (step = 0; step < 6000; step++) {
		/* Times in which threads come, and times in which they go. */
		if (count < MOST && random_below(100) < (step / 400 % 2 ? 30 : 70)) {
			/* Numbers meet again after a while. */
			next_tid += 1 + (unsigned)random_below(3);
			all[count].tid = next_tid;
			alive[next_tid] = true;
			all[count].thread = begin(next_tid);
			EXPECT(all[count].thread);
			for (i = 0; i < count; i++)
				EXPECT(all[i].thread != all[count].thread);
			/* What a state of another thread had is not left here. */
			EXPECT(all[count].thread->counts.dropped != NULL);
			EXPECT(all[count].thread->open ==
			       fxt_in_progress_entries(all[count].thread));
			count++;
		} else if (count) {
			i = (unsigned)random_below(count);
			alive[all[i].tid] = false;
			all[i] = all[--count];
		}
		most = count > most ? count : most;
		EXPECT(fxt_threads_known() == fxt_threads.count);
		if (!count)
			continue;
		k = (unsigned)random_below(count);
		EXPECT(fxt_threads_find(all[k].tid) == all[k].thread);
		EXPECT(!fxt_threads_find(next_tid + 1 + (uint32_t)random_below(5)));
		EXPECT(!fxt_threads_find(4999));
	}
	/* A state that is free is missed by chance when few of many are. In 300 runs there were 72 more
	 * than ever lived at once (mean), with a deviation of 54 and 440 at most. If none were taken over,
	 * it would be some 2800. */
	ck_assert_uint_lt(fxt_threads.count, most + 1000);
	ck_assert_uint_eq(mapped_states >= fxt_threads.count, true);
	/* Where there are many, they are mapped several at a time. */
	ck_assert_uint_lt(mapped, 100);
	ck_assert_uint_lt(mapped_states, fxt_threads.count + 40);
	/* Of a process that was forked, none of its parent's are found. */
	fxt_agent.koid++;
	EXPECT(!fxt_threads_find(all[0].tid));
	fxt_agent.koid--;
	bytes = 0;
	for (i = 0; i < fxt_threads.count; i++) {
		fxt_threads.list[i]->bytes.read = i;
		fxt_threads.list[i]->bytes.written = 3 * i;
		fxt_threads.list[i]->bytes.heap = (uint64_t)-(int64_t)i;
		bytes += i;
	}
	moved = fxt_threads_moved();
	ck_assert_uint_eq(moved.read, bytes);
	ck_assert_uint_eq(moved.written, 3 * bytes);
	ck_assert_int_eq(moved.heap, -(int64_t)bytes);
}
END_TEST

/* Where no thread ends, few are asked about; the first that ended changes that. */
START_TEST(few_looks)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		alive[5000 + i] = true;
		EXPECT(begin(5000 + i));
	}
	asked = 0;
	alive[5100] = true;
	EXPECT(begin(5100));
	ck_assert_uint_eq(asked, 1);
	for (i = 0; i < 100; i++)
		alive[5000 + i] = false;
	asked = 0;
	alive[5101] = true;
	EXPECT(begin(5101)->own_tid == 5101);
	ck_assert_uint_eq(asked, 1);
	/* From now on up to eight are asked about. */
	for (i = 0; i < 101; i++)
		alive[5000 + i] = true;
	asked = 0;
	alive[5102] = true;
	EXPECT(begin(5102));
	ck_assert_uint_eq(asked, 8);
	/* A state that is claimed is nobody else's, and its thread is not asked about. */
	for (i = 0; i < fxt_threads.count; i++)
		fxt_threads.list[i]->claimed = true;
	asked = 0;
	alive[5103] = true;
	EXPECT(begin(5103));
	ck_assert_uint_eq(asked, 0);
}
END_TEST

/* Numbers that are 4096 apart have one place. The first 1024 states are searched for the others. */
START_TEST(same_places)
{
	enum { COUNT = 1100, APART = 1 << 12, SEARCHED = 1024 };
	struct fxt_thread *all[COUNT];
	unsigned i, k;

	for (i = 0; i < COUNT; i++) {
		alive[5000 + i] = true;
		all[i] = begin(5000 + i);
	}
	/* Where many begin, so many states are mapped at a time. */
	ck_assert_uint_lt(mapped, 100);
	EXPECT(stock_bytes() < 32 * STATE_BYTES);
	for (i = 0; i < 20; i++) {
		k = i < 10 ? (unsigned)random_below(SEARCHED)
			   : SEARCHED + (unsigned)random_below(COUNT - SEARCHED);
		alive[5000 + k + APART] = true;
		EXPECT(fxt_threads_find(5000 + k) || by_tid[(5000 + k) % APART] != all[k]);
		EXPECT(!fxt_threads_find(5000 + k + 2 * APART));
		EXPECT(begin(5000 + k + APART) && fxt_threads_find(5000 + k + APART));
		EXPECT(fxt_threads_find(5000 + k) == (k < SEARCHED ? all[k] : NULL));
		if (k < SEARCHED) {
			/* A thread that is gone is not found. */
			all[k]->in_use = false;
			EXPECT(!fxt_threads_find(5000 + k));
			all[k]->in_use = true;
		}
	}
	k = SEARCHED - 1;
	by_tid[(5000 + k) % APART] = all[0];
	EXPECT(fxt_threads_find(5000 + k) == all[k]);
	by_tid[(5001 + k) % APART] = all[0];
	EXPECT(!fxt_threads_find(5001 + k));
	/* What a process had before it was forked is free, whoever has such a number. */
	fxt_agent.koid++;
	asked = 0;
	EXPECT(begin(5000)->pid == fxt_agent.koid);
	ck_assert_uint_eq(asked, 0);
}
END_TEST

/* A program that is about to forbid mapping gets states ahead. Without memory there is no state. */
START_TEST(reserved)
{
	unsigned i;

	fxt_threads_reserve();
	ck_assert_uint_eq(mapped, 1);
	ck_assert_uint_ge(mapped_states, 64);
	fxt_threads_reserve();
	ck_assert_uint_eq(mapped, 1);
	lacks_memory = true;
	for (i = 0; i < 64; i++) {
		alive[5000 + i] = true;
		EXPECT(begin(5000 + i));
	}
	EXPECT(!begin(6000));
	lacks_memory = false;
	EXPECT(begin(6000));
	/* Nothing is reserved where no lock may be taken. */
	mapped = 0;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	fxt_threads_reserve();
	ck_assert_uint_eq(mapped, 0);
	fxt_lender = 0;
}
END_TEST

/* -- Chunks ---------------------------------------------------------------------------------------- */

static struct fxt_thread *threads[THREADS];
static uint64_t chunk_words[THREADS][FXT_LANES][CHUNK_WORDS + 1];
static struct fxt_storage storage;
static uint64_t holds;

/* Gives a lane a chunk, of which `used` words are written. */
static void hold(unsigned thread, unsigned lane, unsigned used)
{
	struct fxt_lane *at = &threads[thread]->lanes[lane];

	at->at = chunk_words[thread][lane] + used;
	at->end = chunk_words[thread][lane] + CHUNK_WORDS;
	at->events = used / 3;
	at->limit = (uintptr_t)at->end;
	at->line_mask = thread % 2 ? 56 : 0;
	/* The number of a hold is above the chunk's. */
	at->hold = ++holds << 32 | (thread * FXT_LANES + lane);
	fxt_chunks_note(threads[thread]);
}

static void make_threads(unsigned count)
{
	unsigned i;

	fxt_agent.storage = &storage;
	fxt_chunks_start();
	for (i = 0; i < count; i++) {
		alive[5000 + i] = true;
		threads[i] = begin(5000 + i);
		EXPECT(threads[i]);
	}
}

/* Who wants a chunk gets the rest of one whose thread has recorded nothing since, and is not in the middle of
 * a record, and no other; the thread that had it does not have it any more. */
START_TEST(rests)
{
	struct fxt_chunk rest;
	unsigned step, i, lane, taken = 0, none = 0;

	make_threads(THREADS);
	for (step = 0; step < STEPS; step++) {
		unsigned self = (unsigned)random_below(THREADS), candidates = 0;
		uint64_t before_ns, now_ns = 1000 * 1000 * 1000 + step * (uint64_t)100000;

		for (i = 0; i < 3; i++) {
			unsigned who = (unsigned)random_below(THREADS);

			lane = random_below(4) ? 0 : (unsigned)random_below(FXT_LANES);
			threads[who]->last_ns = now_ns - random_below(4 * FXT_IDLE_NS);
			if (!threads[who]->lanes[lane].hold)
				hold(who, lane, (unsigned)random_below(CHUNK_WORDS - 2));
			threads[who]->lanes[lane].raised_at = random_below(6) == 0 ? 1 : 0;
			threads[who]->claimed = random_below(12) == 0;
		}
		before_ns = random_below(8) ? now_ns - FXT_IDLE_NS : UINT64_MAX;
		barrier_result = random_below(20) ? 0 : -EPERM;
		finished = barriers = given = 0;
		for (i = 0; i < THREADS; i++)
			for (lane = 0; lane < FXT_LANES; lane++)
				candidates += i != self && threads[i]->lanes[lane].hold &&
					      threads[i]->last_ns <= before_ns;
		if (!fxt_chunks_take_rest(threads[self], 100, before_ns, &rest)) {
			none++;
			continue;
		}
		taken++;
		i = rest.number / FXT_LANES;
		lane = rest.number % FXT_LANES;
		EXPECT(i < THREADS && i != self && !threads[i]->claimed);
		EXPECT(candidates || !barriers);
		EXPECT(rest.base == threads[i]->lanes[lane].at && rest.words > 164);
		EXPECT(rest.base + rest.words - 1 == threads[i]->lanes[lane].end);
		EXPECT(rest.events == threads[i]->lanes[lane].events);
		EXPECT(rest.is_copied == (threads[i]->lanes[lane].line_mask != 0));
		EXPECT(!threads[i]->lanes[lane].hold);
		EXPECT(threads[self]->is_holder);
		/* So is the full chunk that its thread had before, and no other. */
		ck_assert_uint_eq(given, 1 + finished);
		ck_assert_ptr_eq(given_back, &threads[i]->full[lane]);
		/* One that was too small is given back, with what it has. */
		if (finished) {
			i = finished_number / FXT_LANES;
			lane = finished_number % FXT_LANES;
			EXPECT(!threads[i]->lanes[lane].hold);
			EXPECT(threads[i]->lanes[lane].end + 1 - threads[i]->lanes[lane].at <= 164);
			EXPECT(finished_events == threads[i]->lanes[lane].events);
			EXPECT(finished_ns == threads[i]->last_ns);
		}
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_gt(none, 0);
}
END_TEST

/* A thread in the middle of a record keeps its chunk, and so do all if there is no barrier. */
START_TEST(kept)
{
	struct fxt_chunk rest;

	make_threads(2);
	threads[0]->last_ns = 1000;
	hold(0, 0, 10);
	threads[0]->lanes[0].raised_at = 1;
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 5000, &rest));
	EXPECT(threads[0]->lanes[0].hold);
	threads[0]->lanes[0].raised_at = 0;
	threads[0]->lanes[0].limit = 1;
	barrier_result = -EPERM;
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 5000, &rest));
	barrier_result = 0;
	/* It has seen that the chunk was wanted, and has it again. */
	threads[0]->lanes[0].limit = 1;
	fxt_forbidden = FXT_NO_APART;
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 5000, &rest));
	fxt_forbidden = 0;
	/* A chunk of an earlier session is not wanted. */
	threads[0]->lanes[0].limit = 0;
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 5000, &rest));
	threads[0]->lanes[0].limit = 1;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 5000, &rest));
	fxt_lender = 0;
	EXPECT(!fxt_chunks_take_rest(threads[0], 10, 5000, &rest));
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 999, &rest));
	EXPECT(fxt_chunks_take_rest(threads[1], 10, 1000, &rest));
	EXPECT(!fxt_chunks_take_rest(threads[1], 10, 1000, &rest));
}
END_TEST

/* The exact room that a rest has to have, and one barrier for the chunks of several threads. */
START_TEST(rooms)
{
	struct fxt_chunk rest;
	unsigned i;

	make_threads(10);
	threads[0]->last_ns = 1000;
	hold(0, 0, CHUNK_WORDS + 1 - 164);
	EXPECT(!fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	ck_assert_uint_eq(finished, 1);
	hold(0, 0, CHUNK_WORDS + 1 - 165);
	EXPECT(fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	barriers = 0;
	for (i = 0; i < 8; i++) {
		/* All but the first have recorded something since, but not for most of the time. */
		threads[i]->last_ns = i ? 1000 + FXT_IDLE_NS / 8 * 7 : 1000;
		hold(i, 0, 10);
	}
	for (i = 0; i < 8; i++)
		EXPECT(fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	ck_assert_uint_eq(barriers, 1);
	EXPECT(!fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	/* A nanosecond more, and it is not idle. */
	for (i = 0; i < 2; i++) {
		threads[i]->last_ns = i ? 1001 + FXT_IDLE_NS / 8 * 7 : 1000;
		hold(i, 0, 10);
	}
	EXPECT(fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	ck_assert_uint_eq(rest.number, 0);
	EXPECT(!fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	threads[1]->lanes[0].hold = 0;
	/* Without one that is idle, none is taken. */
	threads[1]->last_ns = 1001;
	hold(1, 0, 10);
	barriers = 0;
	EXPECT(!fxt_chunks_take_rest(threads[9], 100, 1000, &rest));
	ck_assert_uint_eq(barriers, 0);
	EXPECT(threads[1]->lanes[0].limit != FXT_LANE_WANTED);
}
END_TEST

/* Chunks are shared once threads hold more of them than is plenty; threads without one do not count. */
START_TEST(plenty)
{
	unsigned i;
	struct fxt_chunk rest;

	storage.plenty = 5;
	make_threads(8);
	for (i = 0; i < 6; i++) {
		EXPECT(!fxt_chunks_are_plenty());
		hold(i, 0, 10);
		/* A second one of the same thread is not counted. */
		hold(i, 1, 10);
	}
	EXPECT(fxt_chunks_are_plenty());
	for (i = 0; i < 6; i++) {
		threads[i]->lanes[0].hold = threads[i]->lanes[1].hold = 0;
		threads[i]->last_ns = UINT64_MAX;
	}
	EXPECT(!fxt_chunks_take_rest(threads[7], 1, 1, &rest));
	EXPECT(!fxt_chunks_are_plenty());
	EXPECT(!threads[0]->is_holder);
	hold(0, 0, 10);
	EXPECT(threads[0]->is_holder);
	fxt_chunks_after_fork();
	EXPECT(!fxt_chunks_take_rest(threads[7], 1, UINT64_MAX, &rest));
}
END_TEST

/* Of the full chunks that threads of a ring have kept, the oldest is given back. */
START_TEST(full)
{
	unsigned i, oldest = 0;

	make_threads(8);
	EXPECT(!fxt_chunks_give_back_full());
	for (i = 0; i < 8; i++) {
		threads[i]->full[i % FXT_LANES].hold = 1;
		threads[i]->full[i % FXT_LANES].last_ns = 1 + random_below(1000000);
		if (threads[i]->full[i % FXT_LANES].last_ns <
		    threads[oldest]->full[oldest % FXT_LANES].last_ns)
			oldest = i;
		fxt_chunks_note(threads[i]);
	}
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	EXPECT(!fxt_chunks_give_back_full());
	fxt_lender = 0;
	EXPECT(fxt_chunks_give_back_full());
	ck_assert_ptr_eq(given_back, &threads[oldest]->full[oldest % FXT_LANES]);
	for (i = 0; i < 7; i++)
		EXPECT(fxt_chunks_give_back_full());
	EXPECT(!fxt_chunks_give_back_full());
}
END_TEST

/* The process is registered for barriers once, and says so only if the program had not done it. */
START_TEST(registered)
{
	struct fxt_chunk rest;

	fxt_forbidden = _i == 3 ? FXT_NO_APART : 0;
	barrier_result = _i ? -EPERM : 0;
	register_result = _i == 2 ? -EPERM : 0;
	make_threads(2);
	fxt_forbidden = 0;
	barrier_result = 0;
	threads[0]->last_ns = 1;
	hold(0, 0, 1);
	ck_assert_uint_eq(registers, _i == 1 || _i == 2);
	EXPECT(fxt_chunks_registered() == (_i == 1));
	EXPECT(fxt_chunks_take_rest(threads[1], 1, 1, &rest) == (_i < 2));
}
END_TEST

/* -- Sessions and sums ----------------------------------------------------------------------------- */

START_TEST(sums)
{
	static uint64_t filtered[5], dropped[5], slot[FXT_COUNTER_WORDS];
	unsigned i, lane;

	make_threads(5);
	for (i = 0; i < 5; i++) {
		filtered[i] = 10 + i;
		dropped[i] = 1000 * i;
		threads[i]->counts.filtered = &filtered[i];
		threads[i]->counts.dropped = &dropped[i];
		hold(i, i % FXT_LANES, 4);
	}
	ck_assert_uint_eq(fxt_threads_lost(FXT_LOSS_ROOM), 10000);
	ck_assert_uint_eq(fxt_threads_lost(FXT_LOSS_FILTERED), 60);
	ck_assert_uint_eq(fxt_threads_lost(FXT_LOSS_SIGNALS), 0);
	fxt_counter_clear(slot, 0);
	slot[FXT_COUNTER_SUM] = 5;
	fxt_agent.losses[FXT_LOSS_ROOM] = fxt_agent.losses[FXT_LOSS_SIGNALS] = slot;
	ck_assert_uint_eq(fxt_threads_lost(FXT_LOSS_ROOM), 10000 + fxt_counter_value(slot));
	ck_assert_uint_eq(fxt_threads_lost(FXT_LOSS_SIGNALS), fxt_counter_value(slot));
	for (i = 0; i < 5; i++)
		threads[i]->clock.until = 77;
	fxt_threads_expire();
	for (i = 0; i < 5; i++)
		ck_assert_uint_eq(threads[i]->clock.until, 0);
	for (i = 0; i < 5; i++)
		for (lane = 0; lane < FXT_LANES; lane++)
			ck_assert_uint_eq(threads[i]->lanes[lane].limit, 0);
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("shared chunks");

	tcase_set_timeout(test, 60);
	tcase_add_checked_fixture(test, setup, teardown);
	tcase_add_test(test, own_states);
	tcase_add_test(test, few_looks);
	tcase_add_test(test, same_places);
	tcase_add_test(test, reserved);
	tcase_add_test(test, rests);
	tcase_add_test(test, kept);
	tcase_add_test(test, rooms);
	tcase_add_test(test, plenty);
	tcase_add_test(test, full);
	tcase_add_loop_test(test, registered, 0, 4);
	tcase_add_test(test, sums);
	return RUN_SUITE("shared chunks", test);
}
