/* This tests agent/descriptors/byte_stream.c with calls that overlap. However they do, no arrow is wrong.
 * Several threads write and read at once, and another call comes behind each instruction of a call. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#include "apps/random.h"
#include "stream_fixture.h"
#include "suite.h"

/* -- At once ----------------------------------------------------------------------------------- */

enum { ROUNDS = 20000, THREADS = 3 };

/* A channel of a few bytes stands in for a pipe in non-blocking mode, and may be full or empty. Each byte
 * says which write it is of, and whether it is the first byte of that. */
enum { CHANNEL = 64, LONGEST = 5, IS_FIRST = 1u << 31 };
static struct {
	pthread_mutex_t lock;
	uint32_t bytes[CHANNEL];
	unsigned first, count;
} channel;
static fxt_stream shared_stream;
static _Atomic unsigned long arrows, wrong;

/* Writes some bytes of one write. Returns how many of them found room. */
static unsigned channel_put(uint32_t value, unsigned bytes)
{
	unsigned i;

	pthread_mutex_lock(&channel.lock);
	for (i = 0; i < bytes && channel.count < CHANNEL; i++)
		channel.bytes[(channel.first + channel.count++) % CHANNEL] = i ? value : value | IS_FIRST;
	pthread_mutex_unlock(&channel.lock);
	return i;
}

/* Reads up to so many bytes. Returns how many there were, and stores the first of them. */
static unsigned channel_get(uint32_t *value, unsigned bytes)
{
	pthread_mutex_lock(&channel.lock);
	if (bytes > channel.count)
		bytes = channel.count;
	*value = channel.bytes[channel.first % CHANNEL];
	channel.first += bytes;
	channel.count -= bytes;
	pthread_mutex_unlock(&channel.lock);
	return bytes;
}

static void *writer(void *tid)
{
	const uint32_t own = *(uint32_t *)tid;
	struct fxt_transfer transfer;
	unsigned moved;
	uint32_t i;

	random_seed(own);
	for (i = 1; i <= ROUNDS; i++) {
		transfer = begin_write(shared_stream, own, i);
		moved = channel_put(own << 24 | i, 1 + (unsigned)random_below(LONGEST));
		fxt_stream_write_end(&transfer, moved ? (int64_t)moved : -1);
	}
	return NULL;
}

static void *reader(void *tid)
{
	struct fxt_stream_writer who;
	struct fxt_transfer transfer;
	unsigned i, wanted, got;
	uint32_t value;

	random_seed(THREADS + *(uint32_t *)tid);
	for (i = 0; i < ROUNDS; i++) {
		wanted = 1 + (unsigned)random_below(LONGEST);
		transfer = begin_read(shared_stream);
		got = channel_get(&value, wanted);
		if (!fxt_stream_read_end(&transfer, got, got < wanted, &who))
			continue;
		atomic_fetch_add(&arrows, 1);
		if (!got || value != (IS_FIRST | who.tid << 24 | (uint32_t)who.at_ns))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

/* However the calls overlap, no arrow is wrong. When all of them are over, the next write is known. */
START_TEST(at_once)
{
	static uint32_t tids[THREADS] = {1, 2, 3};
	pthread_t threads[2 * THREADS];
	unsigned i, count = (unsigned)_i + 1;
	uint32_t value;

	random_seed(0);
	memset(&channel, 0, sizeof(channel));
	pthread_mutex_init(&channel.lock, NULL);
	shared_stream = fxt_stream_make(FXT_STREAM_PIPE);
	for (i = 0; i < count; i++) {
		ck_assert_int_eq(pthread_create(&threads[2 * i], NULL, writer, &tids[i]), 0);
		ck_assert_int_eq(pthread_create(&threads[2 * i + 1], NULL, reader, &tids[i]), 0);
	}
	for (i = 0; i < 2 * count; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(wrong, 0);
	while (channel_get(&value, 1))
		get(shared_stream, 1);
	put(shared_stream, 1, 4711, 1);
	ck_assert_uint_eq(get(shared_stream, 1), 4711);
}
END_TEST

/* -- Behind each instruction ------------------------------------------------------------------- */

#if defined(__x86_64__)

/* A thread writes and then reads. One step of that runs instruction by instruction, and behind one of its
 * instructions the act comes: another write or read. The next turn takes the next instruction. */
enum step { WRITE_BEGIN, WRITE_END, READ_BEGIN, READ_END, STEPS };
enum act {
	WRITES, WRITES_AND_READS, BEGINS_TO_WRITE, BEGINS_AND_GOES_ON_LATER, WRITES_AND_GOES_ON, READS, ACTS
};
enum { TRAP_FLAG = 0x100, LATER = 30 };

static struct {
	enum act act;
	unsigned long steps_left;       /* instructions until the act; 0: the act or the step is over */
	bool has_acted;
	struct fxt_transfer late;       /* a write of the act that has not ended; stream 0: none */
	int64_t late_moved;             /* what it has moved so far; 0: it has not tried */
} turn;

static void begin_steps(unsigned long steps)
{
	turn.steps_left = steps;
	if (steps)
		__asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

/* Ends a step. The trap behind this store finds that no instructions are left. */
static void end_steps(void)
{
	turn.steps_left = 0;
}

static int64_t move_in(uint32_t tid)
{
	unsigned moved = channel_put(tid << 24 | tid, 1 + (unsigned)random_below(LONGEST));

	return moved ? (int64_t)moved : -1;
}

static void read_one(unsigned long steps_of_begin, unsigned long steps_of_end)
{
	struct fxt_stream_writer who = {0};
	struct fxt_transfer transfer;
	unsigned wanted = 1 + (unsigned)random_below(LONGEST), got;
	uint32_t value;
	bool found;

	begin_steps(steps_of_begin);
	fxt_stream_read_begin(shared_stream, &transfer);
	end_steps();
	got = channel_get(&value, wanted);
	begin_steps(steps_of_end);
	found = fxt_stream_read_end(&transfer, got, got < wanted, &who);
	end_steps();
	if (!found)
		return;
	arrows++;
	ck_assert_msg(got && value == (IS_FIRST | who.tid << 24 | (uint32_t)who.at_ns),
		      "a read of %#x got an arrow from %#x", value, who.tid);
}

static void act(void)
{
	turn.has_acted = true;
	if (turn.act == READS) {
		read_one(0, 0);
		return;
	}
	turn.late = begin_write(shared_stream, 2, 2);
	if (turn.act == BEGINS_TO_WRITE || turn.act == BEGINS_AND_GOES_ON_LATER)
		return;
	turn.late_moved = move_in(2);
	if (turn.act == WRITES_AND_GOES_ON)
		return;
	fxt_stream_write_end(&turn.late, turn.late_moved);
	turn.late.stream = 0;
	if (turn.act == WRITES_AND_READS)
		read_one(0, 0);
}

/* Does the second half of BEGINS_AND_GOES_ON_LATER. */
static void go_on(void)
{
	turn.late_moved = move_in(2);
	read_one(0, 0);
}

static void by_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number, (void)info;
	if (turn.steps_left > 1) {
		turn.steps_left--;
		return;
	}
	if (turn.steps_left && turn.act == BEGINS_AND_GOES_ON_LATER && !turn.has_acted) {
		act();
		turn.steps_left = 1 + random_below(LATER);
		return;
	}
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (turn.steps_left && turn.has_acted)
		go_on();
	else if (turn.steps_left)
		act();
	turn.steps_left = 0;
}

/* Runs a write and a read, with the act behind so many instructions of the step. Returns false if the step
 * has fewer instructions, so that there was no act. */
static bool one_turn(enum step step, enum act which, unsigned long steps)
{
	struct fxt_transfer transfer;
	int64_t moved;

	memset(&channel, 0, sizeof(channel));
	pthread_mutex_init(&channel.lock, NULL);
	memset(&turn, 0, sizeof(turn));
	turn.act = which;
	shared_stream = fxt_stream_make(FXT_STREAM_PIPE);
	/* Sometimes there are unread bytes. */
	if (random_below(2)) {
		transfer = begin_write(shared_stream, 3, 3);
		fxt_stream_write_end(&transfer, move_in(3));
	}
	begin_steps(step == WRITE_BEGIN ? steps : 0);
	fxt_stream_write_begin(shared_stream, (struct fxt_stream_writer){7, 1, 1, 3}, &transfer);
	end_steps();
	moved = move_in(1);
	begin_steps(step == WRITE_END ? steps : 0);
	fxt_stream_write_end(&transfer, moved);
	end_steps();
	read_one(step == READ_BEGIN ? steps : 0, step == READ_END ? steps : 0);
	if (turn.late.stream)
		fxt_stream_write_end(&turn.late, turn.late_moved ? turn.late_moved : move_in(2));
	while (channel.count)
		read_one(0, 0);
	return turn.has_acted;
}

/* Wherever another call comes in between, no arrow is wrong, and some arrows are found. */
START_TEST(interrupted)
{
	struct sigaction action = {.sa_sigaction = by_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
	unsigned long steps;

	random_seed(0);
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	for (steps = 1; one_turn((enum step)(_i / ACTS), (enum act)(_i % ACTS), steps); steps++)
		;
	ck_assert_uint_gt(steps, 20);
	ck_assert_uint_gt(arrows, 0);
	ck_assert_int_eq(signal(SIGTRAP, SIG_DFL) == SIG_ERR, 0);
}
END_TEST

#endif

/* Both ends of a connection join the stream at the same moment. */
static fxt_stream joined[2];
static pthread_barrier_t together;
static unsigned long connection;

static void *join(void *side)
{
	pthread_barrier_wait(&together);
	joined[*(int *)side] = fxt_stream_join(name(77, connection), FXT_STREAM_SOCKET, *(int *)side);
	return NULL;
}

START_TEST(joined_at_once)
{
	static int sides[2] = {0, 1};
	pthread_t threads[2];
	unsigned i;

	pthread_barrier_init(&together, NULL, 2);
	for (connection = 0; connection < 500; connection++) {
		for (i = 0; i < 2; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, join, &sides[i]), 0);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		ck_assert_uint_ne(joined[0], 0);
		ck_assert_uint_eq(joined[1], fxt_stream_other(joined[0]));
	}
	pthread_barrier_destroy(&together);
}
END_TEST

int main(void)
{
	TCase *several = tcase_create("several threads");

	tcase_add_checked_fixture(several, begin, end);
	tcase_add_loop_test(several, at_once, 0, THREADS);
	tcase_add_test(several, joined_at_once);
#if defined(__x86_64__)
	tcase_add_loop_test(several, interrupted, 0, (int)STEPS * ACTS);
#endif
	tcase_set_timeout(several, 120);
	return RUN_SUITE("stream races", several);
}
