/* See part.h. */
#include "part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/arrows/wait.h"
#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/deferred.h"
#include "agent/emit/in_progress.h"
#include "agent/emit/trace_file.h"

#define STAND_IN __attribute__((weak))

enum { SAID_BYTES = 1 << 16, LINE_BYTES = 8192 };

struct fxt_agent fxt_agent;
struct fxt_gate fxt_gate;
atomic_bool fxt_gate_lent;
__thread struct fxt_thread *fxt_self;
__thread struct fxt_thread *fxt_self_ending;
__thread struct fxt_thread *fxt_self_leaving;
struct fxt_thread part_thread;
struct part part;
static _Alignas(64) uint64_t words[FXT_CHUNK_WORDS];
static const uint64_t *read_to;
static char said[SAID_BYTES];

static const char *const strings[] = {
	"",
#define CATEGORY(name, on, what) #name,
#include "writer/categories.def"
#undef CATEGORY
#define STRING(id, text) text,
#include "agent/base/strings.def"
#undef STRING
};

/* -- Lines --------------------------------------------------------------------------------------- */

/* Strings behind these are numbered here: they are names of calls and of functions. */
static const char *string(uint64_t index)
{
	static char number[4][24];
	static unsigned turn;

	if (index < sizeof(strings) / sizeof(*strings))
		return strings[index];
	turn = (turn + 1) % 4;
	snprintf(number[turn], sizeof(number[turn]), "call%" PRIu64, index - FXT_STR_CALLS);
	return number[turn];
}

/* Writes the string of a reference. Returns where the words behind it begin. */
static const uint64_t *put_string(char **text, uint64_t ref, const uint64_t *at)
{
	size_t bytes = fxt_get_string_ref_value(ref), i;

	if (!fxt_get_string_ref_inline(ref)) {
		*text += sprintf(*text, "%s", string(bytes));
		return at;
	}
	*text += sprintf(*text, "\"%.*s\"", (int)bytes, (const char *)at);
	for (i = bytes; i % FXT_WORD_BYTES; i++)
		EXPECT(!((const char *)at)[i]);
	return at + fxt_words_of(bytes);
}

static void put_argument(char **text, const uint64_t *at)
{
	uint64_t header = *at;
	const uint64_t *end = at + fxt_get_arg_words(header);

	*(*text)++ = ' ';
	at = put_string(text, fxt_get_arg_name(header), at + 1);
	*(*text)++ = '=';
	switch ((enum fxt_arg_type)fxt_get_arg_type(header)) {
	case FXT_ARG_INT32:
		*text += sprintf(*text, "%d", (int)fxt_get_arg_value32(header));
		break;
	case FXT_ARG_UINT32:
		*text += sprintf(*text, "%uu", (unsigned)fxt_get_arg_value32(header));
		break;
	case FXT_ARG_INT64:
		*text += sprintf(*text, "%" PRId64 "l", (int64_t)*at++);
		break;
	case FXT_ARG_UINT64:
		*text += sprintf(*text, "%" PRIu64 "ul", *at++);
		break;
	case FXT_ARG_DOUBLE: {
		double value;

		memcpy(&value, at++, sizeof(value));
		*text += sprintf(*text, "%.3f", value);
		break;
	}
	case FXT_ARG_STRING:
		at = put_string(text, fxt_get_arg_string(header), at);
		break;
	case FXT_ARG_POINTER:
		*text += sprintf(*text, "0x%" PRIx64, *at++);
		break;
	case FXT_ARG_KOID:
		*text += sprintf(*text, "koid:%" PRIu64, *at++);
		break;
	default:
		ck_abort_msg("an argument of type %d", (int)fxt_get_arg_type(header));
	}
	EXPECT(at == end);
}

static const uint64_t *put_arguments(char **text, const uint64_t *at, uint64_t count)
{
	for (; count; count--, at += fxt_get_arg_words(*at))
		put_argument(text, at);
	return at;
}

static const uint64_t *put_event(char **text, const uint64_t *record)
{
	static const char *const types[] = {"instant", "counter", "begin", "end", "slice", "async-begin",
					    "async-instant", "async-end", "flow-begin", "flow-step",
					    "flow-end"};
	enum fxt_event_type type = (enum fxt_event_type)fxt_get_event_type(*record);
	const uint64_t *at = record + 2;
	char names[2][LINE_BYTES / 4], *end = names[0];

	if (!fxt_get_event_thread(*record))
		at += 2;
	at = put_string(&end, fxt_get_event_category(*record), at);
	end = names[1];
	at = put_string(&end, fxt_get_event_name(*record), at);
	*text += sprintf(*text, "%s %s:%s @%" PRIu64, types[type], names[0], names[1], record[1]);
	if (!fxt_get_event_thread(*record))
		*text += sprintf(*text, " %" PRIu64 "/%" PRIu64, record[2], record[3]);
	else if (fxt_get_event_thread(*record) != PART_INDEX)
		*text += sprintf(*text, " t%" PRIu64, fxt_get_event_thread(*record));
	at = put_arguments(text, at, fxt_get_event_args(*record));
	if (fxt_event_has_extra(type))
		*text += sprintf(*text, type == FXT_EVENT_DURATION_COMPLETE ? " -> %" PRIu64 : " #%" PRIu64,
				 *at++);
	/* What stands in a slot has the size of the slot. */
	while ((type == FXT_EVENT_COUNTER || type == FXT_EVENT_DURATION_BEGIN) &&
	       at < record + fxt_get_record_words(*record))
		EXPECT(!*at++);
	return at;
}

void part_describe(char *text, const uint64_t *record)
{
	uint64_t header = *record;
	const uint64_t *at = record + 1;

	switch ((enum fxt_record_type)fxt_get_record_type(header)) {
	case FXT_RECORD_EVENT:
		at = put_event(&text, record);
		break;
	case FXT_RECORD_LOG:
		text += sprintf(text, "log @%" PRIu64 " t%" PRIu64 " ", record[1],
				fxt_get_log_thread(header));
		at = put_string(&text, fxt_inline_ref(fxt_get_log_bytes(header)), record + 2);
		break;
	case FXT_RECORD_THREAD:
		text += sprintf(text, "thread %" PRIu64 " is %" PRIu64 "/%" PRIu64,
				fxt_get_thread_index(header), record[1], record[2]);
		at = record + 3;
		break;
	case FXT_RECORD_STRING:
		text += sprintf(text, "string %" PRIu64 " is ", fxt_get_string_index(header));
		at = put_string(&text, fxt_inline_ref(fxt_get_string_bytes(header)), record + 1);
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
		text += sprintf(text, "object 0x%" PRIx64 " of %" PRIu64 " ", record[1], record[2]);
		at = put_string(&text, fxt_get_object_name(header), record + 3);
		at = put_arguments(&text, at, fxt_get_object_args(header));
		break;
	case FXT_RECORD_KERNEL_OBJECT:
		text += sprintf(text, "%s %" PRIu64 " ",
				fxt_get_object_type(header) == FXT_OBJECT_THREAD ? "thread" : "kernel object",
				record[1]);
		at = put_string(&text, fxt_get_object_name(header), record + 2);
		at = put_arguments(&text, at, fxt_get_object_args(header));
		break;
	case FXT_RECORD_SCHEDULING:
		text += sprintf(text, "wakeup type%d cpu%d @%" PRIu64 " of %" PRIu64,
				(int)fxt_get_scheduling_type(header), (int)fxt_get_scheduling_cpu(header),
				record[1], record[2]);
		at = put_arguments(&text, record + 3, fxt_get_scheduling_args(header));
		break;
	default:
		ck_abort_msg("a record of type %d", (int)fxt_get_record_type(header));
	}
	ck_assert_msg((size_t)(at - record) == fxt_get_record_words(header),
		      "%d words, and the header has %d", (int)(at - record),
		      (int)fxt_get_record_words(header));
	strcpy(text, "\n");
}

const char *part_said(void)
{
	char *end = said;

	*end = 0;
	for (; read_to < part_thread.lanes->at; read_to += fxt_get_record_words(*read_to)) {
		if (fxt_is_filler(*read_to))
			continue;
		EXPECT(end + LINE_BYTES < said + SAID_BYTES);
		part_describe(end, read_to);
		end += strlen(end);
	}
	return said;
}

void part_lane(size_t most)
{
	struct fxt_chunk chunk = {.base = words, .words = (uint32_t)(most + FXT_LANE_SLACK_WORDS + 2)};

	if (chunk.words > FXT_CHUNK_WORDS)
		chunk.words = FXT_CHUNK_WORDS;
	read_to = words;
	words[0] = fxt_filler(chunk.words);
	fxt_lane_enter(&part_thread.lanes[0], &chunk, 1);
}

void part_setup(void)
{
	memset(&part, 0, sizeof(part));
	memset(&part_thread, 0, sizeof(part_thread));
	memset(&fxt_agent, 0, sizeof(fxt_agent));
	part.has_file = true;
	part_lane(FXT_CHUNK_WORDS);
	part_thread.index = PART_INDEX;
	part_thread.event_thread = fxt_event_thread(PART_INDEX);
	part_thread.pid = PART_PID;
	part_thread.tid = PART_TID;
	part_thread.last_ns = PART_START_NS;
	part_thread.usual_ns = UINT64_MAX;
	part_thread.until_sample = INT64_MAX;
	part_thread.ready = part_thread.in_use = true;
	part_thread.open = fxt_in_progress_entries(&part_thread);
	part_thread.fenced_entries[0].frame = UINTPTR_MAX;
	part_thread.held_top = part_thread.held;
	part_thread.own_tid = (uint32_t)fxt_sys_gettid();
	fxt_agent.pid = (uint32_t)fxt_sys_getpid();
	fxt_agent.koid = PART_KOID;
	fxt_agent.statm_fd = -1;
	fxt_self = &part_thread;
	atomic_store(&fxt_gate.mask, UINT32_MAX);
}

/* -- What stands for the rest of the agent ------------------------------------------------------- */

STAND_IN bool fxt_agent_file(void)
{
	return part.has_file;
}

STAND_IN void fxt_agent_count(enum fxt_loss why, uint64_t count, uint64_t at_ns)
{
	(void)at_ns;
	part.lost[why] += (unsigned)count;
}

STAND_IN void fxt_thread_lacks(struct fxt_thread *thread, enum fxt_loss why)
{
	(void)thread;
	part.lost[why]++;
}

STAND_IN void fxt_thread_dropped(struct fxt_thread *thread, enum fxt_loss why)
{
	EXPECT(thread == &part_thread);
	part.lost[why]++;
}

STAND_IN void fxt_thread_overtaken(struct fxt_thread *thread, unsigned events)
{
	(void)thread, (void)events;
	ck_abort_msg("a record in no lane");
}

STAND_IN bool fxt_lane_turn(struct fxt_thread *thread, struct fxt_lane *lane, size_t count, bool is_call)
{
	EXPECT(thread == &part_thread && count);
	part.lost[FXT_LOSS_ROOM] += is_call;
	fxt_lane_lower(lane);
	return false;
}

STAND_IN bool fxt_thread_put_extra(struct fxt_thread *thread, const uint64_t *record, size_t count)
{
	struct fxt_lane *lane = fxt_open_lane(thread, count, false);

	if (!lane)
		return false;
	fxt_lane_put(lane, record, count);
	fxt_close_lane(lane, 0);
	return true;
}

STAND_IN void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	fxt_commit_as(thread, at, header, 1);
}

STAND_IN bool fxt_stack_has_less(size_t bytes)
{
	(void)bytes;
	return part.stack_is_short;
}

STAND_IN uint64_t fxt_clock_from_kernel(struct fxt_thread *thread)
{
	return thread->last_ns;
}

STAND_IN uint64_t fxt_clock_kernel_ns(void)
{
	return part_thread.last_ns;
}

STAND_IN uint64_t fxt_flow_id(void)
{
	return ++part.flow;
}

STAND_IN uint32_t fxt_call_stack(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread);
	return part.stack;
}

STAND_IN uint32_t fxt_call_stack_of(struct fxt_thread *thread, unsigned most)
{
	EXPECT(thread == &part_thread && most);
	return part.stack;
}

STAND_IN void fxt_call_stack_tell(struct fxt_thread *thread, uint32_t stack)
{
	EXPECT(thread == &part_thread && (!stack || stack == part.stack) && !thread->lanes->raised_at);
}

STAND_IN uint32_t fxt_call_stack_say(struct fxt_thread *thread, uint64_t name, int error)
{
	uint64_t *at = fxt_reserve_extra(thread, fxt_now(thread), 1);

	if (at)
		fxt_commit_extra(thread, fxt_put_int(at, FXT_STR_errno_, error),
				 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
					 fxt_event_args(1) |
					 fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, name));
	return part.stack;
}

STAND_IN void fxt_deferred_after(struct fxt_thread *thread, uint64_t end_ns)
{
	(void)thread, (void)end_ns;
	part.deferred++;
}

STAND_IN void fxt_in_progress_make_ready(struct fxt_thread *thread)
{
	thread->ready = true;
}

STAND_IN struct fxt_thread *fxt_threads_find(uint32_t tid)
{
	return tid == PART_TID ? &part_thread : NULL;
}

STAND_IN struct fxt_thread *fxt_thread_attach(void)
{
	return NULL;
}

void *volatile fxt_bind_mark = (void *)&fxt_bind_mark;

STAND_IN void fxt_bind_early(void)
{
}
