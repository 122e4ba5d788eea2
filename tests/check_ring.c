/* This tests the queue of a ring's chunks (writer/ring.h). Chunks are taken and given back at random and
 * compared with a model; threads that stop in the middle of giving one back are passed over; and at a gate,
 * whoever takes a chunk waits until a snapshot has read it. FXT_SEED names the choices. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "apps/random.h"
#include "suite.h"
#include "writer/ring.h"

enum { CHUNKS_MOST = 40, STEPS = 1000 };

static struct fxt_ring ring;
static uint32_t chunks;

/* Makes an empty ring. */
static void make(uint32_t count)
{
	chunks = count;
	memset(&ring, 0xff, sizeof(ring));
	atomic_init(&ring.head, 0);
	atomic_init(&ring.tail, 0);
	atomic_init(&ring.gate_moves, 0);
	atomic_init(&ring.gate_waiters, 0);
	fxt_ring_init(&ring, calloc(1, fxt_ring_bytes(count)), count);
	ck_assert(!fxt_ring_is_closed(&ring));
}

/* Takes the chunk that the model has at the head, and no other. */
static void take(uint32_t expected)
{
	uint32_t chunk = UINT32_MAX;
	bool waited = true;

	ck_assert(fxt_ring_take(&ring, &chunk, &waited));
	ck_assert_uint_eq(chunk, expected);
	ck_assert(!waited);
}

static void is_empty(void)
{
	uint32_t chunk;
	bool waited;

	ck_assert(!fxt_ring_take(&ring, &chunk, &waited));
}

START_TEST(sizes)
{
	uint32_t count;

	random_seed(0);
	for (count = 1; count <= 300; count++) {
		size_t places = fxt_ring_bytes(count) / sizeof(uint64_t);

		ck_assert_uint_ge(places, count);
		ck_assert_uint_lt(places, 2 * count);
		ck_assert(!(places & (places - 1)));
	}
}
END_TEST

/* The chunk that was given back first comes first; a position tells its chunk until it is filled again. */
START_TEST(first_in_first_out)
{
	uint32_t queue[CHUNKS_MOST], held[CHUNKS_MOST], queued = 0, holds, chunk, i, step, which;
	uint64_t head = 0;

	random_seed((uint64_t)_i);
	make(1 + (uint32_t)random_below(CHUNKS_MOST));
	for (holds = 0; holds < chunks; holds++)
		held[holds] = holds;
	for (step = 0; step < STEPS; step++) {
		if (random_below(2) && holds) {
			which = (uint32_t)random_below(holds);
			fxt_ring_give_back(&ring, held[which]);
			queue[queued++] = held[which];
			held[which] = held[--holds];
		} else if (queued) {
			take(queue[0]);
			held[holds++] = queue[0];
			memmove(queue, queue + 1, --queued * sizeof(*queue));
			head++;
		} else {
			is_empty();
		}
		for (i = 0; i < queued; i++) {
			ck_assert(fxt_ring_at(&ring, head + i, &chunk));
			ck_assert_uint_eq(chunk, queue[i]);
		}
		ck_assert(!fxt_ring_at(&ring, head + queued, &chunk));
	}
	ck_assert_uint_eq(atomic_load(&ring.head), head);
	ck_assert_uint_eq(atomic_load(&ring.tail), head + queued);
}
END_TEST

/* A thread has drawn a position and not filled it: who takes goes on with the next one, and the thread draws
 * another position afterwards. */
START_TEST(unfilled_places_are_passed_over)
{
	uint32_t step, chunk, stopped, i, kept;
	uint64_t at;

	random_seed((uint64_t)_i);
	make(8);
	for (step = 0; step < 300; step++) {
		stopped = 1 + (uint32_t)random_below(3);
		kept = (uint32_t)random_below(8);
		at = atomic_load(&ring.tail);
		for (i = 0; i < stopped; i++)
			atomic_fetch_add(&ring.tail, 1);
		ck_assert(!fxt_ring_at(&ring, at, &chunk));
		if (random_below(2)) {
			fxt_ring_give_back(&ring, kept);
			take(kept);
		} else {
			is_empty();
		}
		is_empty();
		/* The places are filled with nothing now, and no chunk is there. */
		for (i = 0; i < stopped; i++)
			ck_assert(!fxt_ring_at(&ring, at + i, &chunk));
		/* A thread that comes back to one of these places takes another. */
		if (random_below(2)) {
			atomic_store(&ring.tail, at);
			fxt_ring_give_back(&ring, 5);
			ck_assert_uint_gt(atomic_load(&ring.tail), at + stopped);
			take(5);
		}
	}
}
END_TEST

/* -- The gate --------------------------------------------------------------------------------------- */

static atomic_bool is_open;

struct taken {
	uint32_t chunk;
	bool waited, was_open;
};

static void *take_at_gate(void *argument)
{
	struct taken *taken = argument;

	if (!fxt_ring_take(&ring, &taken->chunk, &taken->waited))
		taken->chunk = UINT32_MAX;
	taken->was_open = atomic_load(&is_open);
	return NULL;
}

START_TEST(who_takes_waits_at_the_gate)
{
	unsigned before, behind, i, moves;
	uint32_t chunk;
	struct taken taken = {0};
	uint64_t first, end;
	pthread_t thread;

	random_seed((uint64_t)_i);
	make(16);
	before = (uint32_t)random_below(20);
	behind = 1 + (uint32_t)random_below(10);
	for (i = 0; i < before; i++) {
		fxt_ring_give_back(&ring, i % 16);
		take(i % 16);
	}
	for (i = 0; i < behind; i++)
		fxt_ring_give_back(&ring, i);
	end = fxt_ring_close(&ring, &first);
	ck_assert(fxt_ring_is_closed(&ring));
	ck_assert_uint_eq(first, before);
	/* A thread that has taken an earlier position goes on. */
	ck_assert_uint_eq(atomic_load(&ring.gate), first);
	ck_assert_uint_eq(end, before + behind);
	/* What the snapshot has read may be taken, */
	fxt_ring_open(&ring, first + 1);
	take(0);
	/* and whoever wants the next one waits. */
	fxt_ring_give_back(&ring, 0);
	atomic_store(&is_open, false);
	ck_assert(!pthread_create(&thread, NULL, take_at_gate, &taken));
	while (!atomic_load(&ring.gate_waiters))
		sched_yield();
	for (i = 1; i < behind; i++) {
		ck_assert(fxt_ring_at(&ring, first + i, &chunk));
		ck_assert_uint_eq(chunk, i);
	}
	atomic_store(&is_open, true);
	moves = atomic_load(&ring.gate_moves);
	fxt_ring_open(&ring, random_below(2) ? first + 2 : UINT64_MAX);
	/* A thread that was about to sleep finds that the gate has moved. */
	ck_assert_uint_ne(atomic_load(&ring.gate_moves), moves);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(taken.chunk, behind > 1 ? 1 : 0);
	ck_assert(taken.waited && taken.was_open);
	ck_assert_uint_eq(atomic_load(&ring.gate_waiters), 0);
	fxt_ring_open(&ring, UINT64_MAX);
	ck_assert(!fxt_ring_is_closed(&ring));
}
END_TEST

int main(void)
{
	TCase *queue = tcase_create("queue"), *gate = tcase_create("gate");

	tcase_add_test(queue, sizes);
	tcase_add_loop_test(queue, first_in_first_out, 0, 20);
	tcase_add_loop_test(queue, unfilled_places_are_passed_over, 0, 5);
	tcase_add_loop_test(gate, who_takes_waits_at_the_gate, 0, 20);
	return RUN_SUITE("ring", queue, gate);
}
