/* Streams: what is known of whose bytes a read got, and what is left out. agent/stream.c alone, with memory of the
 * test's own. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "agent/descriptors/byte_stream.h"
#include "apps/random.h"
#include "suite.h"

enum { BYTES = 1 << 20 };

static void *memory;

static void begin(void)
{
	memory = calloc(1, BYTES);
	ck_assert_ptr_nonnull(memory);
	fxt_stream_use(memory, BYTES);
}

static void end(void)
{
	free(memory);
}

/* Writes and reads of threads by number, at times that are told apart. */
static struct fxt_transfer begin_write(fxt_stream side, uint32_t tid, uint64_t at_ns)
{
	struct fxt_transfer transfer;

	fxt_stream_write_begin(side, (struct fxt_stream_writer){7, tid, at_ns, 3}, &transfer);
	return transfer;
}

static void put(fxt_stream side, uint32_t tid, uint64_t at_ns, int64_t bytes)
{
	struct fxt_transfer transfer = begin_write(side, tid, at_ns);

	fxt_stream_write_end(&transfer, bytes);
}

static struct fxt_transfer begin_read(fxt_stream side)
{
	struct fxt_transfer transfer;

	fxt_stream_read_begin(side, &transfer);
	return transfer;
}

/* When what was read was written; 0: that is not known. */
static uint64_t end_read(const struct fxt_transfer *transfer, int64_t bytes, bool emptied)
{
	struct fxt_stream_writer who = {0};

	if (!fxt_stream_read_end(transfer, bytes, emptied, &who))
		return 0;
	ck_assert_uint_eq(who.pid, 7);
	return who.at_ns;
}

static uint64_t get(fxt_stream side, int64_t bytes)
{
	struct fxt_transfer transfer = begin_read(side);

	return end_read(&transfer, bytes, false);
}

START_TEST(boundaries)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);

	ck_assert_uint_ne(pipe, 0);
	put(pipe, 1, 100, 10);
	put(pipe, 2, 200, 10);
	put(pipe, 1, 300, -1);
	put(pipe, 1, 400, 5);
	ck_assert_uint_eq(get(pipe, 10), 100);
	ck_assert_uint_eq(get(pipe, 4), 200);
	/* From within a write; then from where one failed and another began. */
	ck_assert_uint_eq(get(pipe, 6), 0);
	ck_assert_uint_eq(get(pipe, -1), 0);
	ck_assert_uint_eq(get(pipe, 0), 0);
	ck_assert_uint_eq(get(pipe, 5), 400);
}
END_TEST

/* The amounts go round at 4 GiB; a call that moves 2 GiB or more is not counted. */
START_TEST(amounts)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE), other = fxt_stream_make(FXT_STREAM_PIPE);
	uint64_t i;

	for (i = 1; i < 10; i++) {
		put(pipe, 1, 10 * i, INT32_MAX);
		put(pipe, 2, 10 * i + 1, 3);
		ck_assert_uint_eq(get(pipe, INT32_MAX), 10 * i);
		ck_assert_uint_eq(get(pipe, 3), 10 * i + 1);
	}
	put(other, 1, 100, (int64_t)INT32_MAX + 1);
	ck_assert_uint_eq(get(other, (int64_t)INT32_MAX + 1), 0);
	put(other, 1, 200, 1);
	ck_assert_uint_eq(get(other, 1), 0);
}
END_TEST

START_TEST(read_before_written)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer write = begin_write(pipe, 1, 100);

	/* Of a write that goes on. */
	ck_assert_uint_eq(get(pipe, 3), 100);
	ck_assert_uint_eq(get(pipe, 3), 0);
	fxt_stream_write_end(&write, 8);
	ck_assert_uint_eq(get(pipe, 2), 0);
	put(pipe, 1, 200, 1);
	ck_assert_uint_eq(get(pipe, 1), 200);
}
END_TEST

START_TEST(overlapping_writes)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer first = begin_write(pipe, 1, 100), second = begin_write(pipe, 2, 200), third;

	ck_assert_uint_eq(get(pipe, 3), 0);
	fxt_stream_write_end(&first, 3);
	third = begin_write(pipe, 1, 300);
	fxt_stream_write_end(&second, 4);
	ck_assert_uint_eq(get(pipe, 4), 0);
	fxt_stream_write_end(&third, 5);
	ck_assert_uint_eq(get(pipe, 5), 0);
	put(pipe, 1, 400, 6);
	ck_assert_uint_eq(get(pipe, 6), 400);

	/* Two overlapped writes after one another, and none of it was read so far. */
	first = begin_write(pipe, 1, 500);
	second = begin_write(pipe, 2, 600);
	fxt_stream_write_end(&first, 1);
	fxt_stream_write_end(&second, 1);
	first = begin_write(pipe, 1, 700);
	second = begin_write(pipe, 2, 800);
	ck_assert_uint_eq(get(pipe, 2), 0);
	fxt_stream_write_end(&first, -1);
	fxt_stream_write_end(&second, -1);
	/* The next one begins where one began that was overlapped and moved nothing. */
	put(pipe, 1, 900, 1);
	ck_assert_uint_eq(get(pipe, 1), 900);
}
END_TEST

START_TEST(overlapping_reads)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_transfer first = begin_read(pipe), second = begin_read(pipe);

	put(pipe, 1, 100, 2);
	put(pipe, 1, 200, 2);
	ck_assert_uint_eq(end_read(&first, 2, false), 0);
	ck_assert_uint_eq(end_read(&second, 2, false), 0);
	put(pipe, 1, 300, 2);
	ck_assert_uint_eq(get(pipe, 2), 300);
}
END_TEST

/* More than was written, or less than there should be: somebody else is at it, and nothing is known any more. */
START_TEST(unseen)
{
	fxt_stream pipe = fxt_stream_make(FXT_STREAM_PIPE), other = fxt_stream_make(FXT_STREAM_PIPE);
	fxt_stream socket = fxt_stream_make(FXT_STREAM_SOCKET);
	struct fxt_transfer read;

	put(pipe, 1, 100, 2);
	ck_assert_uint_eq(get(pipe, 3), 0);
	put(pipe, 1, 200, 2);
	ck_assert_uint_eq(get(pipe, 2), 0);

	put(other, 1, 100, 2);
	put(other, 1, 200, 2);
	read = begin_read(other);
	ck_assert_uint_eq(end_read(&read, 2, true), 0);

	fxt_stream_break(socket, true, false);
	put(socket, 1, 100, 2);
	put(fxt_stream_other(socket), 1, 200, 2);
	ck_assert_uint_eq(get(socket, 2), 0);
	ck_assert_uint_eq(get(fxt_stream_other(socket), 2), 100);
}
END_TEST

/* Who never comes back from a call is under way for ever: nobody waits for it, and what others do is not known any
 * more. */
START_TEST(killed)
{
	fxt_stream socket = fxt_stream_make(FXT_STREAM_SOCKET), pipe = fxt_stream_make(FXT_STREAM_PIPE);

	begin_write(socket, 1, 100);
	put(socket, 2, 200, 2);
	ck_assert_uint_eq(get(fxt_stream_other(socket), 2), 0);
	put(fxt_stream_other(socket), 2, 300, 2);
	ck_assert_uint_eq(get(socket, 2), 300);

	begin_read(pipe);
	put(pipe, 1, 100, 2);
	ck_assert_uint_eq(get(pipe, 2), 0);
}
END_TEST

START_TEST(events)
{
	fxt_stream count = fxt_stream_make(FXT_STREAM_COUNT), tokens = fxt_stream_make(FXT_STREAM_TOKENS);
	struct fxt_transfer read, none;

	fxt_stream_write_begin(count, (struct fxt_stream_writer){0}, &none);
	fxt_stream_write_end(&none, 3);
	put(count, 1, 100, 1);
	read = begin_read(count);
	/* All there are, the first of which nobody wrote. */
	ck_assert_uint_eq(end_read(&read, 4, true), 0);
	put(count, 1, 200, 1);
	read = begin_read(count);
	ck_assert_uint_eq(end_read(&read, 1, true), 200);

	put(tokens, 1, 100, 2);
	read = begin_read(tokens);
	ck_assert_uint_eq(end_read(&read, 1, true), 100);
	read = begin_read(tokens);
	ck_assert_uint_eq(end_read(&read, 1, true), 0);
}
END_TEST

static struct fxt_stream_name name(uint64_t a, uint64_t b)
{
	return (struct fxt_stream_name){1, a, b};
}

START_TEST(names)
{
	fxt_stream pair = fxt_stream_make(FXT_STREAM_SOCKET), client, server;

	fxt_stream_call(name(1, 1), pair);
	fxt_stream_call(name(1, 2), fxt_stream_other(pair));
	ck_assert_uint_eq(fxt_stream_find(name(1, 1)), pair);
	ck_assert_uint_eq(fxt_stream_find(name(1, 2)), fxt_stream_other(pair));
	ck_assert_uint_eq(fxt_stream_find(name(2, 1)), 0);

	client = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 0);
	server = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 1);
	ck_assert_uint_eq(server, fxt_stream_other(client));
	put(client, 1, 100, 9);
	ck_assert_uint_eq(get(server, 9), 100);
	/* The same addresses again: another connection, of which nothing has been read. */
	server = fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 1);
	ck_assert_uint_ne(server, fxt_stream_other(client));
	ck_assert_uint_eq(fxt_stream_join(name(3, 4), FXT_STREAM_SOCKET, 0), fxt_stream_other(server));
	/* A FIFO is whoever opens it. */
	ck_assert_uint_eq(fxt_stream_join(name(5, 5), FXT_STREAM_PIPE, -1), fxt_stream_join(name(5, 5), FXT_STREAM_PIPE, -1));
}
END_TEST

START_TEST(reopened)
{
	fxt_stream fifo = fxt_stream_make(FXT_STREAM_PIPE);
	struct fxt_stream_moment moment;

	put(fifo, 1, 100, 4);
	put(fifo, 1, 200, 4);
	ck_assert_uint_eq(get(fifo, 4), 100);
	/* What was left went when the last had closed it. */
	fxt_stream_reopened(fifo, fxt_stream_look(fifo), 0);
	put(fifo, 1, 300, 4);
	ck_assert_uint_eq(get(fifo, 4), 300);
	/* Somebody wrote after it was looked at. */
	moment = fxt_stream_look(fifo);
	put(fifo, 1, 350, 4);
	fxt_stream_reopened(fifo, moment, 0);
	ck_assert_uint_eq(get(fifo, 4), 350);
	/* And here somebody unseen has left something. */
	fxt_stream_reopened(fifo, fxt_stream_look(fifo), 1);
	put(fifo, 1, 400, 4);
	ck_assert_uint_eq(get(fifo, 4), 0);
}
END_TEST

/* The table is full: the oldest makes room, and whoever still has it harms nobody. */
START_TEST(replaced)
{
	fxt_stream first = fxt_stream_make(FXT_STREAM_PIPE), last = 0;
	struct fxt_transfer write = begin_write(first, 1, 100);
	unsigned i;

	fxt_stream_call(name(1, 1), first);
	for (i = 0; i < 5000; i++) {
		last = fxt_stream_make(FXT_STREAM_PIPE);
		ck_assert_uint_ne(last, 0);
		fxt_stream_call(name(2, i), last);
		fxt_stream_write_end(&write, 1);
		put(last, 1, i + 1, 1);
		ck_assert_uint_eq(get(last, 1), i + 1);
	}
	ck_assert_uint_eq(fxt_stream_find(name(1, 1)), 0);
	ck_assert_uint_eq(fxt_stream_find(name(2, 4999)), last);
	put(first, 1, 300, 1);
	ck_assert_uint_eq(get(first, 1), 0);
}
END_TEST

/* What stands in the memory was written by others, who may have lost their mind. */
static uint32_t any(void)
{
	static uint64_t state = 4711;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 32);
}

START_TEST(nonsense)
{
	unsigned char *bytes = memory;
	struct fxt_transfer transfer;
	unsigned round, i;
	fxt_stream side;

	for (round = 0; round < 200; round++) {
		side = fxt_stream_make((enum fxt_stream_kind)(round % 4));
		fxt_stream_call(name(round, 1), side);
		transfer = begin_write(side, 1, 100);
		for (i = 0; i < BYTES; i += 1 + any() % 64)
			bytes[i] = (unsigned char)any();
		fxt_stream_write_end(&transfer, any());
		get(side, any());
		get(fxt_stream_find(name(round, 1)), 1);
		fxt_stream_join(name(round, 2), FXT_STREAM_SOCKET, (int)(round % 2));
		put(any(), 1, 200, 1);
		fxt_stream_break(any(), true, true);
		fxt_stream_reopened(side, fxt_stream_look(any()), 1);
	}
}
END_TEST

/* -- At once ----------------------------------------------------------------------------------- */

enum { ROUNDS = 20000, THREADS = 3 };

/* A channel of a few bytes, each of which knows the write it is of, and whether it is the first of it; full and
 * empty are seen, as a pipe that does not block has it. */
enum { CHANNEL = 64, LONGEST = 5, IS_FIRST = 1u << 31 };
static struct {
	pthread_mutex_t lock;
	uint32_t bytes[CHANNEL];
	unsigned first, count;
} channel;
static fxt_stream shared_stream;
static _Atomic unsigned long arrows, wrong;

/* Returns how many of the bytes found room. */
static unsigned channel_put(uint32_t value, unsigned bytes)
{
	unsigned i;

	pthread_mutex_lock(&channel.lock);
	for (i = 0; i < bytes && channel.count < CHANNEL; i++)
		channel.bytes[(channel.first + channel.count++) % CHANNEL] = i ? value : value | IS_FIRST;
	pthread_mutex_unlock(&channel.lock);
	return i;
}

/* Returns how many bytes there were, and the first of them. */
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

/* However they overlap, no arrow is wrong; and when all is over what comes next is known. */
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

/* A write and then a read of one thread, of which one step runs instruction by instruction. Behind the one whose
 * turn it is another write, or read, is made. */
enum step { WRITE_BEGIN, WRITE_END, READ_BEGIN, READ_END, STEPS };
enum act { WRITES, WRITES_AND_READS, BEGINS_TO_WRITE, BEGINS_AND_GOES_ON_LATER, WRITES_AND_GOES_ON, READS, ACTS };
enum { TRAP_FLAG = 0x100, LATER = 30 };

static struct {
	enum act act;
	unsigned long steps_left;       /* instructions until the act; 0: it is over, or the step is */
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

/* The trap behind this store finds nothing left. */
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
	ck_assert_msg(got && value == (IS_FIRST | who.tid << 24 | (uint32_t)who.at_ns), "a read of %#x got an arrow from %#x", value,
		      who.tid);
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

/* The second half of BEGINS_AND_GOES_ON_LATER. */
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

/* Returns whether the act had its turn: false behind the step's last instruction. */
static bool one_turn(enum step step, enum act which, unsigned long steps)
{
	struct fxt_transfer transfer;
	int64_t moved;

	memset(&channel, 0, sizeof(channel));
	pthread_mutex_init(&channel.lock, NULL);
	memset(&turn, 0, sizeof(turn));
	turn.act = which;
	shared_stream = fxt_stream_make(FXT_STREAM_PIPE);
	/* Something is unread, sometimes. */
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

/* Wherever another call comes in between, no arrow is wrong; and where none does each is found. */
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

/* Both ends of a connection come to know it at the same moment. */
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
	TCase *one = tcase_create("one thread"), *several = tcase_create("several threads");

	tcase_add_checked_fixture(one, begin, end);
	tcase_add_test(one, boundaries);
	tcase_add_test(one, amounts);
	tcase_add_test(one, read_before_written);
	tcase_add_test(one, overlapping_writes);
	tcase_add_test(one, overlapping_reads);
	tcase_add_test(one, unseen);
	tcase_add_test(one, killed);
	tcase_add_test(one, events);
	tcase_add_test(one, names);
	tcase_add_test(one, reopened);
	tcase_add_test(one, replaced);
	tcase_add_test(one, nonsense);
#if defined(__x86_64__)
	tcase_add_loop_test(one, interrupted, 0, (int)STEPS * ACTS);
#endif
	tcase_add_checked_fixture(several, begin, end);
	tcase_add_loop_test(several, at_once, 0, THREADS);
	tcase_add_test(several, joined_at_once);
	tcase_set_timeout(several, 120);
	return RUN_SUITE("stream", one, several);
}
