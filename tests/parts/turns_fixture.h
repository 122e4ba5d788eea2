/* What the tests of lanes that turn to their next chunk share (agent/emit/lane.c). The text of the file is
 * included; the storage here hands out chunks of an array, as many as a test lets it. */
#ifndef TURNS_FIXTURE_H
#define TURNS_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/parts.h"
#include "agent/emit/in_progress.h"
#include "agent/emit/sample.h"
#include "part.h"
#include "suite.h"

static bool is_saving;
static unsigned pauses, sleeps;
static void (*while_sleeping)(void);

static long nap(long number, const void *time)
{
	EXPECT(number == SYS_nanosleep && time);
	EXPECT(++sleeps < 100000);
	if (while_sleeping)
		while_sleeping();
	return 0;
}

#undef FXT_SYSCALL2
#define FXT_SYSCALL2(number, time, rest) nap(number, time)
#define fxt_managed_is_saving(buffer) is_saving
#include "agent/emit/lane.c"

enum { CHUNKS = 8, SECOND_NS = 1000 * 1000 * 1000 };

static _Alignas(64) uint64_t chunks[CHUNKS][FXT_CHUNK_WORDS];
static char asked[4000];                /* what was asked of the storage and of other parts */
static unsigned next, available, ready_asked;
static int failure;
static struct fxt_chunk template;       /* what the next chunk has besides its memory */
static bool is_ready, plenty, has_rest;
static uint32_t kept_out;               /* events that the storage could not keep */
static uint64_t rest_before_ns;
static size_t window_words;
static void (*while_taking)(void), (*while_ending)(void);

static void ask(const char *what, uint64_t number)
{
	if (strlen(asked) < 3900)
		sprintf(asked + strlen(asked), "%s %llu;", what, (unsigned long long)number);
}

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static void fill(struct fxt_chunk *chunk, unsigned number)
{
	*chunk = template;
	chunk->base = chunks[number];
	chunk->number = number;
	if (!chunk->words)
		chunk->words = FXT_CHUNK_WORDS;
	chunks[number][0] = fxt_filler(chunk->words - 1);
}

static bool take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	(void)storage;
	ask("take", now_ns);
	if (while_taking)
		while_taking();
	if (!available)
		return false;
	available--;
	fill(chunk, next++ % CHUNKS);
	return true;
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	(void)storage, (void)last_ns;
	ask("finish", number);
	ask("with", events);
	return kept_out;
}

static void clear(struct fxt_storage *storage, const struct fxt_chunk *chunk)
{
	(void)storage;
	ask("clear", chunk->number);
}

static int why_none(const struct fxt_storage *storage)
{
	(void)storage;
	return failure;
}

static void pause_storage(struct fxt_storage *storage)
{
	(void)storage;
	EXPECT(++pauses < 100000);
	part_thread.last_ns += 1000 * 1000;
	if (while_sleeping)
		while_sleeping();
}

void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns)
{
	EXPECT(now_ns);
	ask("lost", why);
}

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	EXPECT(now_ns);
	if (chunk->overwritten)
		ask("overwritten", chunk->overwritten);
}

bool fxt_chunks_are_plenty(void)
{
	return plenty;
}

bool fxt_chunks_take_rest(struct fxt_thread *self, size_t words, uint64_t before_ns, struct fxt_chunk *rest)
{
	EXPECT(self == &part_thread && words);
	rest_before_ns = before_ns;
	ask("rest", before_ns == UINT64_MAX);
	if (!has_rest)
		return false;
	fill(rest, next++ % CHUNKS);
	rest->events = 4;
	return true;
}

static unsigned full_of_others;

bool fxt_chunks_give_back_full(void)
{
	ask("full", full_of_others);
	return full_of_others && full_of_others--;
}

void fxt_chunks_note(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread);
	ask("note", thread->serial);
}

bool fxt_thread_ready(struct fxt_thread *thread)
{
	ready_asked++;
	thread->ready = is_ready;
	return is_ready;
}

size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record)
{
	EXPECT(thread == &part_thread);
	if (!window_words)
		return 0;
	record[0] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(2) | fxt_event_thread(PART_INDEX) |
		    fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, FXT_STR_dropped);
	record[1] = 3;
	return 2;
}

void fxt_loss_note(const struct fxt_thread *thread, bool may_pass)
{
	EXPECT(thread == &part_thread);
	ask("noted", may_pass);
}

void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns)
{
	EXPECT(thread == &part_thread && now_ns == thread->last_ns);
	ask("sample", 1);
}

void fxt_parts_storage_ends(int error)
{
	ask("ends", (uint64_t)-error);
	if (while_ending)
		while_ending();
}

void fxt_agent_count_short(uint64_t now_ns)
{
	ask("short", now_ns);
}

static unsigned settled;

void fxt_in_progress_settle(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread && !thread->lanes->raised_at);
	settled++;
}

static bool wait_nests;

bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	EXPECT(thread == &part_thread && start_ns <= end_ns && end_ns == thread->last_ns);
	return wait_nests;
}

static uint64_t dropped, dropped_ns;

static inline void setup(void)
{
	static const struct fxt_storage_ops ops = {.take = take, .finish = finish, .clear = clear,
						   .failure = why_none, .pause = pause_storage};
	static struct fxt_storage storage = {.ops = &ops};

	part_setup();
	fxt_lanes_reset(&part_thread);
	fxt_agent.storage = &storage;
	fxt_agent.config.mode = FXT_STREAMING;
	part_thread.counts.dropped = &dropped;
	part_thread.counts.dropped_ns = &dropped_ns;
	dropped = dropped_ns = 0;
	memset(&template, 0, sizeof(template));
	next = ready_asked = pauses = sleeps = settled = full_of_others = kept_out = 0;
	available = CHUNKS;
	failure = 0;
	is_ready = wait_nests = true;
	plenty = has_rest = is_saving = false;
	window_words = 0;
	while_sleeping = while_taking = while_ending = NULL;
	fxt_lender = 0;
	fxt_gate_lent = false;
	*asked = 0;
}

/* Asks for room in a lane, and returns whether there was some. Nothing is written. */
static inline bool turn_to(unsigned lane, size_t words, bool is_call)
{
	bool has_turned;

	part_thread.lanes[lane].raised_at = 5;
	has_turned = fxt_lane_turn(&part_thread, &part_thread.lanes[lane], words, is_call);
	EXPECT((part_thread.lanes[lane].raised_at != 0) == has_turned);
	part_thread.lanes[lane].raised_at = 0;
	return has_turned;
}

/* Returns what stands at the head of a chunk. */
static const char *head(unsigned number)
{
	static char text[1000];
	const uint64_t *at = chunks[number];
	char *end = text;

	*end = 0;
	for (; !fxt_is_filler(*at); at += fxt_get_record_words(*at)) {
		part_describe(end, at);
		end += strlen(end);
	}
	return text;
}

#endif
