/* This tests the lifetimes of children and threads (agent/arrows/task_life.h): which begin an end belongs to,
 * whichever of the two is seen first, and what both say. Children come and go at random and are compared with
 * a model; times are made up. FXT_SEED names the choices. */
#include <check.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/arrows/async.h"
#include "agent/arrows/task_life.h"
#include "agent/arrows/wait.h"
#include "agent/base/gate.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/deferred.h"
#include "agent/emit/losses.h"
#include "agent/emit/trace_file.h"
#include "apps/random.h"
#include "suite.h"

enum { PIDS = 40, STEPS = 20000, BUCKETS = 256, CHILDREN = 8, STACK = 7, LIVES = 1 << 16 };

#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

struct fxt_agent fxt_agent;
struct fxt_gate fxt_gate;
__thread struct fxt_thread *fxt_self;
static struct fxt_thread thread;
static _Alignas(64) uint64_t words[FXT_CHUNK_WORDS], end_words[64];
static bool has_room = true;
static uint32_t stack;
static uint64_t lives, end_ns;
static size_t end_most;

/* An argument of the last event, by its name. */
static struct {
	bool is_there;
	uint64_t value;
	char text[32];
} arguments[FXT_STR_CALLS];

/* The last begin and the last end. */
static struct event {
	uint64_t life, at_ns, names;
	unsigned count;
} begun, ended;
static unsigned begins, ends;

/* -- What stands for the rest of the agent ------------------------------------------------------------ */

void fxt_agent_count(enum fxt_loss why, uint64_t count, uint64_t at_ns)
{
	(void)why, (void)count, (void)at_ns;
}

void fxt_deferred_after(struct fxt_thread *it, uint64_t at_ns)
{
	(void)it, (void)at_ns;
}

uint32_t fxt_call_stack(struct fxt_thread *it)
{
	EXPECT(it == &thread);
	return stack;
}

void fxt_call_stack_tell(struct fxt_thread *it, uint32_t told)
{
	EXPECT(it == &thread && told == stack && !thread.lanes->raised_at);
}

uint64_t fxt_clock_from_kernel(struct fxt_thread *it)
{
	return it->last_ns;
}

uint64_t fxt_flow_id(void)
{
	EXPECT(lives + 1 < LIVES);
	return ++lives;
}

bool fxt_lane_turn(struct fxt_thread *it, struct fxt_lane *lane, size_t count, bool is_call)
{
	EXPECT(it == &thread && !has_room && count && !is_call);
	fxt_lane_lower(lane);
	return false;
}

bool fxt_agent_file(void)
{
	return false;
}

static void read_arguments(const uint64_t *at, const uint64_t *end, unsigned count)
{
	memset(arguments, 0, sizeof(arguments));
	for (; count--; at += fxt_get_arg_words(*at)) {
		unsigned name = (unsigned)fxt_get_arg_name(*at);

		EXPECT(at < end && !arguments[name].is_there);
		arguments[name].is_there = true;
		if (fxt_get_arg_type(*at) == FXT_ARG_STRING)
			memcpy(arguments[name].text, at + 1, (fxt_get_arg_words(*at) - 1) * FXT_WORD_BYTES);
		else
			arguments[name].value =
				fxt_get_arg_words(*at) == 1 ? fxt_get_arg_value32(*at) : at[1];
	}
	EXPECT(at == end);
}

void fxt_async_commit_begin(struct fxt_thread *it, uint64_t *at, uint64_t id, uint64_t names, unsigned count)
{
	struct fxt_lane *lane = it->lanes;

	/* The id that comes behind the arguments has its place, too. */
	EXPECT(lane == thread.lanes && lane->raised_at && at + 1 <= lane->reserved_end);
	read_arguments(lane->at + 2, at, count);
	begun = (struct event){id, lane->at[1], names, count};
	begins++;
	fxt_lane_lower(lane);
}

uint64_t *fxt_async_reserve_end(struct fxt_thread *it, uint64_t now_ns, size_t count, uint64_t id)
{
	EXPECT(it == &thread && count < 32 && id && id <= lives);
	end_ns = now_ns;
	end_most = count;
	return has_room ? end_words : NULL;
}

void fxt_async_commit_end(struct fxt_thread *it, uint64_t *at, uint64_t id, uint64_t names, unsigned count)
{
	EXPECT(it == &thread && at <= end_words + end_most);
	read_arguments(end_words, at, count);
	ended = (struct event){id, end_ns, names, count};
	ends++;
}

static void setup(void)
{
	const struct fxt_chunk chunk = {.base = words, .words = FXT_CHUNK_WORDS};

	random_seed(0);
	words[0] = fxt_filler(FXT_CHUNK_WORDS);
	fxt_lane_enter(&thread.lanes[0], &chunk, 1);
	thread.event_thread = fxt_event_thread(3);
	thread.pid = 70;
	thread.tid = 71;
	thread.last_ns = 5000;
	fxt_self = &thread;
	atomic_store(&fxt_gate.mask, FXT_CAT_pthread | FXT_CAT_process);
}

/* Takes the room away, or gives it back. */
static void make_room(bool room)
{
	has_room = room;
	atomic_store(&thread.lanes[0].limit, room ? (uintptr_t)thread.lanes[0].end : 0);
}

/* -- Children ------------------------------------------------------------------------------------------- */

static void has_begun(uint64_t at_ns, uint32_t pid)
{
	EXPECT(begun.life == lives && begun.at_ns == at_ns);
	EXPECT(begun.names == fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_process, FXT_STR_child));
	EXPECT((int)begun.count == 1 + (pid != 0) + (stack != 0));
}

static void has_ended(uint64_t life, uint64_t at_ns, uint32_t pid, int status)
{
	EXPECT(ended.life == life && ended.at_ns == at_ns);
	EXPECT(ended.names == fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_process, FXT_STR_child));
	EXPECT(arguments[FXT_STR_pid].value == pid && (int)ended.count == (pid != 0) + (status != -1));
	EXPECT(arguments[FXT_STR_signal].is_there == (status != -1 && WIFSIGNALED(status)));
	EXPECT(arguments[FXT_STR_status].is_there == (status != -1 && !WIFSIGNALED(status)));
	if (status != -1 && WIFSIGNALED(status))
		EXPECT((int)arguments[FXT_STR_signal].value == WTERMSIG(status));
	else if (status != -1)
		EXPECT((int)arguments[FXT_STR_status].value == WEXITSTATUS(status));
}

static int any_status(void)
{
	return random_below(2) ? (int)random_below(256) << 8 : 1 + (int)random_below(64);
}

static struct {
	uint64_t life;                  /* 0: it does not live */
	uint64_t reaped_ns;             /* it was reaped then, and its begin was not seen; 0: it was not */
	int status;
} model[PIDS];

START_TEST(each_end_has_its_begin)
{
	unsigned step, n, expected = 0, before;
	uint64_t life;
	uint32_t pid;
	int status;

	setup();
	random_seed((uint64_t)_i + 1);
	for (step = 1; step <= STEPS; step++) {
		uint64_t at_ns = 1000 + step * 10, since_ns = at_ns - random_below(40);

		n = (unsigned)random_below(PIDS);
		pid = 1000 + n * 5;
		stack = random_below(2) ? STACK : 0;
		make_room(random_below(20) != 0);
		before = ends;
		if (random_below(30) == 0) {
			if (!expected || random_below(3)) {
				fxt_task_expect(1);
				expected++;
			} else {
				fxt_task_expect(-1);
				expected--;
			}
		} else if (random_below(2)) {
			/* The kernel does not give a pid again that is not reaped. */
			if (model[n].life)
				continue;
			fxt_task_child_begins(&thread, since_ns, pid);
			if (has_room) {
				model[n].life = lives;
				if (ends == before)
					EXPECT(arguments[FXT_STR_parent].value == 70);
				has_begun(since_ns, pid);
			}
			EXPECT((ends > before) == (has_room && model[n].reaped_ns > since_ns));
			if (ends > before)
				has_ended(lives, model[n].reaped_ns, pid, model[n].status);
			if (model[n].reaped_ns > since_ns)
				model[n].life = 0;
			model[n].reaped_ns = 0;
		} else {
			status = any_status();
			life = model[n].life;
			fxt_task_child_ends(&thread, at_ns, pid, status);
			EXPECT((ends > before) == (life && has_room));
			if (ends > before)
				has_ended(life, at_ns, pid, status);
			model[n].life = 0;
			/* The first entry of several is not gone, and the last one is the one that counts. */
			if (!life && expected && !model[n].reaped_ns) {
				model[n].reaped_ns = at_ns;
				model[n].status = status;
			} else if (!life && expected) {
				/* It is not known which of two was the child: take one away. */
				fxt_task_child_begins(&thread, at_ns + 1, pid);
				if (has_room)
					fxt_task_child_ends(&thread, at_ns + 2, pid, 0);
				model[n].reaped_ns = 0;
			}
		}
		EXPECT(!thread.lanes->raised_at);
	}
	EXPECT(begins > 100 && ends > 100);
}
END_TEST

/* There are places for so many children of one bucket. Those that were reaped give way. */
START_TEST(as_many_as_there_are_places)
{
	unsigned i;

	setup();
	for (i = 0; i <= CHILDREN; i++) {
		fxt_task_child_begins(&thread, 1000 + i, 5 + i * BUCKETS);
		EXPECT(begins == (i < CHILDREN ? i + 1 : CHILDREN));
	}
	/* Another bucket has places. */
	fxt_task_child_begins(&thread, 2000, 6);
	EXPECT(begins == CHILDREN + 1);
	for (i = 0; i <= CHILDREN; i++) {
		fxt_task_child_ends(&thread, 3000 + i, 5 + i * BUCKETS, 0);
		EXPECT(ends == (i < CHILDREN ? i + 1 : CHILDREN));
	}
	/* While a child is being made, each that is reaped may be that one. */
	fxt_task_expect(1);
	for (i = 0; i < 3 * CHILDREN; i++)
		fxt_task_child_ends(&thread, 4000 + i, 5 + i * BUCKETS, 0);
	fxt_task_expect(-1);
	fxt_task_child_ends(&thread, 5000, 7, 0);
	for (i = 0; i < CHILDREN; i++)
		fxt_task_child_begins(&thread, 6000 + i, 5 + (100 + i) * BUCKETS);
	EXPECT(begins == 2 * CHILDREN + 1 && ends == CHILDREN);
	/* What was reaped while no child was expected is forgotten. */
	fxt_task_child_begins(&thread, 4000, 7);
	EXPECT(begins == 2 * CHILDREN + 2 && ends == CHILDREN);
}
END_TEST

START_TEST(hidden_children)
{
	uint64_t life;
	unsigned round;

	setup();
	for (round = 0; round < 100; round++) {
		uint32_t pid = random_below(2) ? 9 : 0;
		int status = pid ? any_status() : -1;

		stack = random_below(2) ? STACK : 0;
		make_room(random_below(4));
		life = fxt_task_hidden_begins(&thread, 1000);
		EXPECT((life != 0) == has_room);
		if (!life)
			continue;
		has_begun(1000, 0);
		EXPECT(arguments[FXT_STR_parent].value == 70 && !arguments[FXT_STR_pid].is_there);
		fxt_task_hidden_ends(&thread, life, 2000, pid, status);
		has_ended(life, 2000, pid, status);
	}
	ends = 0;
	fxt_task_hidden_ends(&thread, 0, 2000, 9, 0);
	EXPECT(!ends);
}
END_TEST

/* -- Threads -------------------------------------------------------------------------------------------- */

START_TEST(threads)
{
	static const char *const names[] = {"", "worker", "fifteen letters"};
	const uint64_t name = fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_pthread, FXT_STR_thread);
	unsigned round, before;
	uint64_t life;

	setup();
	for (round = 0; round < 200; round++) {
		const char *own = names[random_below(3)];
		bool is_self = random_below(2), is_on = random_below(4), is_filtered = random_below(3) == 0;

		thread.handle = random_below(2) ? 0x7f0000001000 : 0;
		stack = random_below(2) ? STACK : 0;
		make_room(random_below(4));
		prctl(PR_SET_NAME, own);
		before = begins;
		thread.life = 99;
		fxt_task_thread_begins(&thread, 1000, stack);
		EXPECT((begins > before) == has_room && (thread.life != 0) == has_room);
		if (has_room) {
			EXPECT(begun.life == thread.life && begun.at_ns == 1000 && begun.names == name);
			EXPECT(arguments[FXT_STR_tid].value == 71);
			EXPECT(arguments[FXT_STR_thread].value == thread.handle);
			EXPECT(arguments[FXT_STR_thread].is_there == (thread.handle != 0));
			EXPECT(arguments[FXT_STR_stack].is_there == (stack != 0));
			EXPECT(!stack || arguments[FXT_STR_stack].value == FXT_STACK_ID + STACK);
		}
		before = ends;
		life = thread.life;
		make_room(random_below(4));
		atomic_store(&fxt_gate.mask, is_on ? FXT_CAT_pthread : 0);
		atomic_store(&fxt_agent.filtered, is_filtered);
		fxt_self = is_self ? &thread : NULL;
		fxt_task_thread_ends(&thread);
		fxt_self = &thread;
		EXPECT(!thread.life && (ends > before) == (life && has_room && is_on));
		if (ends == before)
			continue;
		EXPECT(ended.life == life && ended.names == name && ended.at_ns > 5000);
		EXPECT(ended.count == (is_self && !is_filtered && *own));
		EXPECT(!ended.count || !strcmp(arguments[FXT_STR_name].text, own));
	}
	EXPECT(begins > 50 && ends > 50);
}
END_TEST

int main(void)
{
	TCase *lifetimes = tcase_create("lifetimes");

	tcase_set_timeout(lifetimes, 60);
	tcase_add_loop_test(lifetimes, each_end_has_its_begin, 0, 4);
	tcase_add_test(lifetimes, as_many_as_there_are_places);
	tcase_add_test(lifetimes, hidden_children);
	tcase_add_test(lifetimes, threads);
	return RUN_SUITE("task life", lifetimes);
}
