/* This tests what the trace is told of call stacks (agent/emit/call_stack.h): stacks are drawn, chunks
 * turn, the durable area fills, locks are held, and recording begins anew, all at random. The records that
 * are written are compared with the stacks, frame by frame. Who reads a stack finds each of its nodes,
 * callers come before what they called, and nothing is written twice for nothing. FXT_SEED names the
 * choices. */
#include <check.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/deferred.h"
#include "agent/emit/held_locks.h"
#include "agent/emit/losses.h"
#include "agent/emit/thread.h"
#include "agent/emit/trace_file.h"
#include "agent/stacks/code.h"
#include "agent/stacks/load_number.h"
#include "agent/stacks/stack_nodes.h"
#include "apps/random.h"
#include "suite.h"

enum {
	STEPS = 4000,
	NODES = 1 << 16,
	MODULES = 5,
	PLACES = 8,
	CALLERS_MOST = 30,
	DURABLE_MOST = 8192,            /* words of durable records of stacks, and the largest such record */
	LARGEST = 200,
	LONGEST_PATH = 1024,               /* bytes of a path; what is longer is cut */
	RESERVE = 2048,
};

#define EXPECT(what)                                                        \
	do {                                                                \
		if (!(what))                                                \
			ck_abort_msg("%s in step %u", #what, step);         \
	} while (0)

struct fxt_agent fxt_agent;
__thread struct fxt_thread *fxt_self;
static struct fxt_thread thread;
static struct fxt_walk drawn;
static struct fxt_code_module modules[MODULES];
static struct link_map maps[MODULES];
static char paths[MODULES][3 * LONGEST_PATH];      /* as the trace has them */
static unsigned step, lacks;
static bool has_file, has_durable_room, has_chunk_room, is_short;

/* Where the trace has a record: the round in which it is durable, or is in some chunk, and the chunk. */
struct told {
	unsigned durable_in, round;
	uint64_t chunk;
};
static struct told nodes_told[NODES], modules_told[MODULES];
static unsigned round_number = 1, durable_words, records;
static bool is_refused;                 /* a record found no durable room in this round */
static uint64_t chunk_number = 100;

/* -- What stands for the rest of the agent ------------------------------------------------------------ */

bool fxt_agent_file(void)
{
	return has_file;
}

uint64_t fxt_clock_from_kernel(struct fxt_thread *it)
{
	return it->last_ns;
}

struct fxt_code_module *fxt_code_module(unsigned number)
{
	EXPECT(number && number <= MODULES);
	return &modules[number - 1];
}

void fxt_load_numbers_start(void)
{
}

void fxt_thread_overtaken(struct fxt_thread *it, unsigned events)
{
	(void)it, (void)events;
	ck_abort_msg("a record in no lane");
}

bool fxt_lane_turn(struct fxt_thread *it, struct fxt_lane *at, size_t words, bool is_call)
{
	(void)it, (void)at, (void)words, (void)is_call;
	return false;
}

bool fxt_stack_has_less(size_t bytes)
{
	(void)bytes;
	return is_short;
}

void fxt_stack_walk(const struct fxt_thread *it, const uintptr_t *own, unsigned most, struct fxt_walk *walk)
{
	EXPECT(it == &thread && own);
	*walk = drawn;
	if (walk->count > most) {
		walk->count = most;
		walk->is_whole = false;
	}
}

void fxt_agent_count(enum fxt_loss why, uint64_t count, uint64_t at_ns)
{
	(void)why, (void)count, (void)at_ns;
}

void fxt_deferred_after(struct fxt_thread *it, uint64_t end_ns)
{
	(void)it, (void)end_ns;
}

void fxt_thread_lacks(struct fxt_thread *it, enum fxt_loss why)
{
	EXPECT(it == &thread && why == FXT_LOSS_STACKS);
	lacks++;
}

/* -- The records --------------------------------------------------------------------------------------- */

/* Returns whether the trace has the record, for who reads the present chunk. */
static bool has(const struct told *told)
{
	return told->durable_in == round_number ||
	       (told->round == round_number &&
		(fxt_agent.config.mode != FXT_CIRCULAR || told->chunk == atomic_load(&thread.lanes[0].hold)));
}

/* Returns whether the trace has the record for good: only a ring loses chunks. */
static bool has_for_good(const struct told *told)
{
	return told->durable_in == round_number || (fxt_agent.config.mode != FXT_CIRCULAR && has(told));
}

static const uint64_t *argument(const uint64_t *at, unsigned type, unsigned name, uint64_t *value)
{
	EXPECT(fxt_get_arg_type(*at) == type && fxt_get_arg_name(*at) == name);
	*value = type == FXT_ARG_POINTER ? at[1] : type == FXT_ARG_UINT32 ? fxt_get_arg_value32(*at) : at[1];
	return at + fxt_get_arg_words(*at);
}

/* Compares the record of a node with the node. */
static struct told *read_node(const uint64_t *record, const uint64_t *end, bool is_durable)
{
	uint32_t number = (uint32_t)(record[1] - FXT_STACK_ID);
	const struct fxt_stack_node *node = fxt_stack_node(number);
	uintptr_t place = node->place;
	unsigned arguments = 2 + (node->caller != 0) + (node->module != 0);
	const uint64_t *at = record + 3;
	uint64_t value;

	EXPECT(number && number < NODES);
	EXPECT(fxt_get_object_args(*record) == arguments && !fxt_get_object_name(*record));
	EXPECT(*at++ == (fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_type) | fxt_arg_string(FXT_STR_frame)));
	if (node->caller) {
		const struct told *caller = &nodes_told[node->caller];

		at = argument(at, FXT_ARG_POINTER, FXT_STR_parent, &value);
		EXPECT(value == FXT_STACK_ID + node->caller);
		/* A caller is told first; nothing is there for good whose caller is not. */
		EXPECT(is_durable ? has_for_good(caller) : has(caller) || !has_chunk_room);
	}
	if (node->module) {
		at = argument(at, FXT_ARG_POINTER, FXT_STR_mapping, &value);
		EXPECT(value == FXT_STACK_MODULE_ID + node->module);
		place -= modules[node->module - 1].bias;
		EXPECT(is_durable ? has_for_good(&modules_told[node->module - 1])
				  : has(&modules_told[node->module - 1]) || !has_chunk_room);
	}
	place = node->place ? place - 1 : 0;
	at = argument(at, place <= UINT32_MAX ? FXT_ARG_UINT32 : FXT_ARG_UINT64, FXT_STR_offset, &value);
	EXPECT(value == place && at == end);
	return &nodes_told[number];
}

static struct told *read_module(const uint64_t *record, const uint64_t *end)
{
	unsigned number = (unsigned)(record[1] - FXT_STACK_MODULE_ID), i;
	struct fxt_code_module *module = fxt_code_module(number);
	size_t bytes = strlen(paths[number - 1]);
	const uint64_t *at = record + 3 + fxt_words_of(bytes);
	char id[2 * FXT_BUILD_ID_MOST + 1] = "";
	uint64_t value;

	EXPECT(fxt_get_object_args(*record) == (module->build_id_bytes ? 3 : 2));
	EXPECT(fxt_get_object_name(*record) == fxt_inline_ref(bytes));
	EXPECT(!memcmp(record + 3, paths[number - 1], bytes));
	for (i = (unsigned)bytes; i % 8; i++)
		EXPECT(!((const char *)(record + 3))[i]);
	EXPECT(*at++ == (fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_type) | fxt_arg_string(FXT_STR_module)));
	at = argument(at, FXT_ARG_POINTER, FXT_STR_base, &value);
	EXPECT(value == module->bias);
	for (i = 0; i < module->build_id_bytes; i++)
		sprintf(id + 2 * i, "%02x", module->build_id[i]);
	if (*id) {
		EXPECT(fxt_get_arg_type(*at) == FXT_ARG_STRING && fxt_get_arg_name(*at) == FXT_STR_build_id);
		EXPECT(fxt_get_arg_string(*at) == fxt_inline_ref(strlen(id)));
		EXPECT(!memcmp(at + 1, id, strlen(id)));
		at += fxt_get_arg_words(*at);
	}
	EXPECT(at == end);
	return &modules_told[number - 1];
}

static struct told *read_record(const uint64_t *record, size_t words, bool is_durable)
{
	EXPECT(fxt_get_record_type(*record) == FXT_RECORD_USERSPACE_OBJECT);
	EXPECT(fxt_get_record_words(*record) == words && record[2] == fxt_agent.koid);
	records++;
	return record[1] >= FXT_STACK_ID ? read_node(record, record + words, is_durable)
					 : read_module(record, record + words);
}

static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	const uint64_t *end = record + words;
	struct told *told;

	(void)storage;
	EXPECT(reserve_words == RESERVE && has_file && !fxt_holds_lock(&thread));
	EXPECT(!is_refused && durable_words < DURABLE_MOST && words);
	if (!has_durable_room) {
		is_refused = true;
		return false;
	}
	durable_words += (unsigned)words;
	/* Several records are written together, and what has been called by something stands behind that. */
	for (; record < end; record += words) {
		words = fxt_get_record_words(*record);
		EXPECT(words && words <= (size_t)(end - record));
		told = read_record(record, words, true);
		EXPECT(told->durable_in != round_number);
		told->durable_in = round_number;
	}
	return true;
}

bool fxt_thread_put_extra(struct fxt_thread *it, const uint64_t *record, size_t words)
{
	struct told *told = read_record(record, words, false);

	EXPECT(it == &thread && has_file);
	/* It is written where it is missing, and nowhere else. */
	EXPECT(!has(told));
	if (!has_chunk_room)
		return false;
	told->round = round_number;
	told->chunk = atomic_load(&thread.lanes[0].hold);
	return true;
}

/* -- What happens --------------------------------------------------------------------------------------- */

static void turn_chunk(void)
{
	atomic_store(&thread.lanes[0].hold, ++chunk_number);
}

static void hold_lock(bool holds)
{
	thread.held_top = thread.held + holds;
	thread.held[0].since_ns = thread.last_ns = 1000;
}

static void draw(void)
{
	unsigned i;

	drawn.count = 1 + (unsigned)random_below(random_below(3) ? 6 : FXT_WALK_MOST);
	drawn.is_whole = random_below(4) != 0;
	for (i = 0; i < drawn.count; i++) {
		unsigned place = (unsigned)random_below(PLACES);

		drawn.modules[i] = (uint16_t)(place % (MODULES + 1));
		drawn.places[i] = 0x100 + place * 8 + (place == 7 ? UINT64_C(1) << 33 : 0);
		if (drawn.modules[i])
			drawn.places[i] += modules[drawn.modules[i] - 1].bias;
	}
}

static bool may_be_durable(void)
{
	return durable_words < DURABLE_MOST && !is_refused && has_file && !fxt_holds_lock(&thread) &&
	       !fxt_agent.buffer.tail_offset;
}

/* A call has a stack, and an event names it. */
static void call(void)
{
	uint32_t stack, node;
	unsigned before;

	draw();
	stack = fxt_call_stack(&thread);
	if (!fxt_agent.config.stacks) {
		EXPECT(!stack);
		return;
	}
	EXPECT((stack != 0) == !is_short);
	/* As long as there is durable room, it is all told before the event. */
	for (node = stack; node && may_be_durable(); node = fxt_stack_node(node)->caller)
		EXPECT(has_for_good(&nodes_told[node]));
	if (random_below(6) == 0)
		turn_chunk();
	fxt_call_stack_tell(&thread, stack);
	if (!has_file || (!has_chunk_room && !may_be_durable()))
		return;
	for (node = stack; node; node = fxt_stack_node(node)->caller)
		EXPECT(has(&nodes_told[node]));
	/* What is told is not told again. */
	before = records;
	fxt_call_stack_tell(&thread, stack);
	EXPECT(records == before || (!has_durable_room && is_refused));
}

static void begin_again(void)
{
	fxt_call_stacks_again();
	round_number++;
	durable_words = 0;
	is_refused = false;
	turn_chunk();
}

static void start(void)
{
	static const struct fxt_storage_ops ops = {.durable = durable};
	static struct fxt_storage storage = {.ops = &ops};
	/* A path, one from the working directory, a name, one that is too long, and the program, whose path
	 * the loader does not have. */
	static const char *const names[MODULES] = {"/lib/libabc.so", "sub/lib.so", "vdso.so.1", NULL, ""};
	static char longest[2 * LONGEST_PATH];
	unsigned i, n;

	random_seed((uint64_t)0);
	fxt_agent.storage = &storage;
	fxt_agent.koid = 77;
	fxt_agent.config.stacks = true;
	thread.tid = 5;
	for (i = 0; i < MODULES; i++) {
		memset(longest, 'x', sizeof(longest) - 1);
		longest[0] = '/';
		maps[i].l_name = names[i] ? (char *)(uintptr_t)names[i] : longest;
		snprintf(paths[i], LONGEST_PATH + 1, "%s", maps[i].l_name);
		modules[i].map = &maps[i];
		modules[i].path = maps[i].l_name;
		modules[i].path_bytes = strlen(maps[i].l_name);
		modules[i].bias = 0x7f0000000000 + (uintptr_t)i * 0x100000;
		modules[i].build_id_bytes = i ? (uint8_t)random_below(FXT_BUILD_ID_MOST + 1) : 0;
		for (n = 0; n < modules[i].build_id_bytes; n++)
			modules[i].build_id[n] = (uint8_t)random_below(256);
	}
	ck_assert(getcwd(paths[1], LONGEST_PATH / 2));
	strcat(paths[1], "/sub/lib.so");
	ck_assert_int_gt(readlink("/proc/self/exe", paths[4], LONGEST_PATH - 1), 0);
	fxt_call_stacks_start();
	hold_lock(false);
	turn_chunk();
	has_file = has_durable_room = has_chunk_room = true;
}

START_TEST(each_stack_can_be_read)
{
	static const enum fxt_mode modes[] = {FXT_STREAMING, FXT_ONESHOT, FXT_CIRCULAR};

	start();
	random_seed((uint64_t)_i + 1);
	fxt_agent.config.mode = modes[_i % 3];
	for (step = 0; step < STEPS; step++) {
		switch (random_below(40)) {
		case 0:
			begin_again();
			break;
		case 1:
			hold_lock(random_below(2));
			break;
		case 2:
			has_durable_room = random_below(3);
			break;
		case 3:
			has_chunk_room = random_below(5);
			break;
		case 4:
			has_file = random_below(6);
			break;
		case 5:
			is_short = random_below(8) == 0;
			break;
		case 6:
		case 7:
		case 8:
			turn_chunk();
			break;
		default:
			call();
		}
	}
	EXPECT(!lacks && records);
	/* Without stacks in the trace nothing is told. Heap samples ask for stacks even so. */
	fxt_agent.config.stacks = false;
	has_file = has_durable_room = has_chunk_room = true;
	is_short = false;
	hold_lock(false);
	begin_again();
	records = 0;
	call();
	EXPECT(fxt_call_stack_of(&thread, 3) && !records);
}
END_TEST

/* The durable area takes so much of stacks, and what comes later goes to chunks. */
START_TEST(durable_records_have_a_bound)
{
	start();
	fxt_agent.config.mode = FXT_CIRCULAR;
	while (durable_words < DURABLE_MOST && step++ < 100 * STEPS)
		call();
	EXPECT(durable_words >= DURABLE_MOST && durable_words < DURABLE_MOST + LARGEST);
	for (step = 0; step < STEPS / 4; step++) {
		call();
		if (random_below(4) == 0)
			turn_chunk();
	}
	begin_again();
	call();
	EXPECT(durable_words);
	/* Nothing is durable after the file was rewritten. */
	fxt_agent.buffer.tail_offset = 1;
	begin_again();
	call();
	EXPECT(!durable_words);
}
END_TEST

/* An instant names the stack, and the error if there is one. */
START_TEST(an_instant_says_the_stack)
{
	static _Alignas(64) uint64_t words[FXT_CHUNK_WORDS];
	const struct fxt_chunk chunk = {.base = words, .words = FXT_CHUNK_WORDS};
	const uint64_t *at = words, *argument_at;
	uint64_t value;
	unsigned said = 0, found = 0;
	int errors[STEPS];

	start();
	thread.event_thread = fxt_event_thread(3);
	thread.last_ns = 5000;
	words[0] = fxt_filler(FXT_CHUNK_WORDS);
	fxt_lane_enter(&thread.lanes[0], &chunk, 1);
	for (step = 0; step < STEPS; step++) {
		draw();
		is_short = random_below(4) == 0;
		errors[said] = random_below(2) ? (int)random_below(100) : 0;
		fxt_call_stack_say(&thread, FXT_STR_frame, errors[said]);
		EXPECT(!thread.lanes->raised_at);
		/* What no room is for is missing. */
		said += !is_short && thread.lanes[0].at > at;
		if (thread.lanes[0].at > words + FXT_CHUNK_WORDS - 64)
			break;
	}
	EXPECT(step < STEPS && !thread.lanes[0].events);
	for (; at < thread.lanes[0].at; at += fxt_get_record_words(*at)) {
		int error = errors[found];

		if (fxt_get_record_type(*at) != FXT_RECORD_EVENT)
			continue;
		EXPECT(found++ < said);
		EXPECT(fxt_get_event_type(*at) == FXT_EVENT_INSTANT && fxt_get_event_thread(*at) == 3);
		EXPECT(fxt_get_event_category(*at) == FXT_STR_CATEGORIES + FXT_BIT_agent);
		EXPECT(fxt_get_event_name(*at) == FXT_STR_frame && at[1] > 5000);
		EXPECT(fxt_get_event_args(*at) == (error ? 2 : 1));
		argument_at = argument(at + 2, FXT_ARG_POINTER, FXT_STR_stack, &value);
		EXPECT(value > FXT_STACK_ID && has(&nodes_told[value - FXT_STACK_ID]));
		if (error) {
			EXPECT(fxt_get_arg_type(*argument_at) == FXT_ARG_INT32);
			EXPECT(fxt_get_arg_name(*argument_at) == FXT_STR_errno_);
			EXPECT(fxt_get_arg_value32(*argument_at) == (uint64_t)error);
			argument_at++;
		}
		EXPECT(argument_at == at + fxt_get_record_words(*at));
	}
	EXPECT(found == said && said > 10);
}
END_TEST

int main(void)
{
	TCase *told = tcase_create("told");

	tcase_set_timeout(told, 60);
	tcase_add_loop_test(told, each_stack_can_be_read, 0, 9);
	tcase_add_test(told, durable_records_have_a_bound);
	tcase_add_test(told, an_instant_says_the_stack);
	return RUN_SUITE("told", told);
}
