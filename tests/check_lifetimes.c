/* This tests the ends that the join makes for lifetimes and calls in progress. It ends what is open when a
 * program is known to be over, and nothing else. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "fxt_encode.h"
#include "suite.h"
#include "tools/join/merge.h"
#include "tools/reading/reader.h"

enum { MOST_WORDS = 60000, PARTS = 3, STRINGS = 6, LIVES = 2000, ROUNDS = 50 };
enum { IO = 1, FILE_NAME, PROCESS, CHILD, EXIT, EXECVE };

static const char *const strings[] = {[IO] = "io", "file", "process", "child", "exit", "execve"};

/* The parts of a trace. A test puts them together one after the other. */
static struct {
	uint64_t words[MOST_WORDS];
	size_t count;
	uint64_t pid;
	bool still_runs;
} parts[PARTS], *part;
static size_t part_count;
static unsigned whose;                  /* the index of the thread whose events are written */
static uint64_t joined[2 * MOST_WORDS], state;

#define PUT(function, ...) \
	(part->count += function(part->words + part->count, MOST_WORDS - part->count, __VA_ARGS__))

/* Begins the part of a program. If `numbers_differ`, the process knows itself by another number than the
 * trace does, as in another namespace: that number is an argument of its name. */
static void begin_without_threads(uint64_t pid, bool numbers_differ)
{
	struct fxt_arg number = {.type = FXT_ARG_UINT32, .name = FXT_INLINE("pid", 3), .u32 = 1};

	part = &parts[part_count++];
	memset(part, 0, sizeof(*part));
	part->pid = pid;
	part->words[part->count++] = FXT_MAGIC_RECORD;
	PUT(fxt_encode_provider_info, (uint32_t)pid, "app", 3);
	PUT(fxt_encode_initialization, 1000000000);
	for (unsigned i = 1; i <= STRINGS; i++)
		PUT(fxt_encode_string, (uint16_t)i, strings[i], strlen(strings[i]));
	PUT(fxt_encode_kernel_object, FXT_OBJECT_PROCESS, pid, FXT_INLINE("app", 3),
	    (struct fxt_args){numbers_differ, &number});
	whose = 1;
}

static void register_threads(void)
{
	PUT(fxt_encode_thread, 1, part->pid, part->pid);
	PUT(fxt_encode_thread, 2, part->pid, part->pid + 100);
}

static void begin_part(uint64_t pid, bool numbers_differ)
{
	begin_without_threads(pid, numbers_differ);
	register_threads();
}

static void event(enum fxt_event_type type, uint64_t at, unsigned category, unsigned name,
		  const struct fxt_arg *args, size_t count, uint64_t extra)
{
	PUT(fxt_encode_event, type, at, (struct fxt_thread_ref){.index = (uint8_t)whose},
	    FXT_INDEXED(category), FXT_INDEXED(name), (struct fxt_args){count, args}, extra);
}

static void opens(uint64_t id, uint64_t at)
{
	event(FXT_EVENT_ASYNC_BEGIN, at, IO, FILE_NAME, NULL, 0, id);
}

static void closes(uint64_t id, uint64_t at)
{
	event(FXT_EVENT_ASYNC_END, at, IO, FILE_NAME, NULL, 0, id);
}

static void makes_child(uint64_t id, uint64_t at)
{
	event(FXT_EVENT_ASYNC_BEGIN, at, PROCESS, CHILD, NULL, 0, id);
}

static void exits(uint64_t at)
{
	struct fxt_arg status = {.type = FXT_ARG_INT32, .name = FXT_INLINE("status", 6)};

	event(FXT_EVENT_INSTANT, at, PROCESS, EXIT, &status, 1, 0);
}

/* Writes the lifetime of a child with this pid, which was killed by a signal. */
static void reaps(uint64_t id, uint64_t pid, uint64_t from, uint64_t to)
{
	struct fxt_arg args[] = {
		{.type = FXT_ARG_UINT32, .name = FXT_INLINE("pid", 3), .u32 = (uint32_t)pid},
		{.type = FXT_ARG_INT32, .name = FXT_INLINE("signal", 6), .i32 = 9},
	};

	makes_child(id, from);
	event(FXT_EVENT_ASYNC_END, to, PROCESS, CHILD, args, 2, id);
}

static void executes(uint64_t from, uint64_t to, bool has_failed)
{
	struct fxt_arg failure = {.type = FXT_ARG_INT32, .name = FXT_INLINE("errno", 5), .i32 = 2};

	event(FXT_EVENT_DURATION_COMPLETE, from, PROCESS, EXECVE, &failure, has_failed, to);
}

/* Writes some counters, as the agent does at any time. */
static void counts(uint64_t from, unsigned times)
{
	struct fxt_arg bytes = {.type = FXT_ARG_UINT64, .name = FXT_INLINE("bytes", 5), .u64 = from};

	for (unsigned i = 0; i < times; i++)
		event(FXT_EVENT_COUNTER, from + i, IO, FILE_NAME, &bytes, 1, 1);
}

/* The next two functions write a call of the first or the second thread: one without an end, one with it. */
static void is_in(unsigned thread, uint64_t at)
{
	whose = thread;
	event(FXT_EVENT_DURATION_BEGIN, at, IO, FILE_NAME, NULL, 0, 0);
	whose = 1;
}

static void calls(unsigned thread, uint64_t from, uint64_t to)
{
	whose = thread;
	event(FXT_EVENT_DURATION_COMPLETE, from, IO, FILE_NAME, NULL, 0, to);
	whose = 1;
}

/* Writes an event of another process's thread into this part: that thread let this process go on. */
static void is_let_go(uint64_t pid, uint64_t tid, uint64_t at)
{
	struct fxt_thread_ref thread = {.process = pid, .thread = tid};

	PUT(fxt_encode_event, FXT_EVENT_DURATION_COMPLETE, at, thread, FXT_INDEXED(IO),
	    FXT_INDEXED(FILE_NAME), (struct fxt_args){0, NULL}, at + 1);
}

/* -- The ends in the join --------------------------------------------------------------------------- */

struct end {
	uint64_t id, at;                /* `id` is that of a lifetime, or the thread of a call */
	char by[8];
};

static int by_id(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Joins the parts in their order or backwards. Returns how many ends the join made, and stores them. */
static size_t join(struct end *ends, bool backwards)
{
	static struct fxt_record rec;
	FILE *f = fmemopen(joined, sizeof(joined), "w");
	struct fxt_merge m = {0};
	struct fxt_reader r;
	size_t count = 0, bytes;

	ck_assert(fxt_merge_begin(&m, f));
	for (size_t i = 0; i < part_count; i++) {
		size_t n = backwards ? part_count - 1 - i : i;

		fxt_reader_init(&r, parts[n].words, parts[n].count * FXT_WORD_BYTES);
		m.still_runs = parts[n].still_runs;
		ck_assert(fxt_merge_trace(&m, &r));
		fxt_reader_free(&r);
	}
	ck_assert(fxt_merge_end(&m));
	bytes = m.bytes;
	fclose(f);
	fxt_merge_free(&m);
	fxt_reader_init(&r, joined, bytes);
	while (fxt_reader_next(&r, &rec)) {
		ck_assert(!rec.damaged);
		if (rec.type != FXT_RECORD_EVENT || !fxt_is_made_end(&rec))
			continue;
		ends[count] = (struct end){.id = rec.extra, .at = rec.ticks};
		if (rec.subtype == FXT_EVENT_DURATION_END) {
			ck_assert(fxt_text_is(&rec.category, "io") && fxt_text_is(&rec.name, "file"));
			ends[count].id = r.threads[rec.thread].tid;
		}
		memcpy(ends[count++].by, rec.args[0].string.text, rec.args[0].string.bytes);
	}
	ck_assert_int_eq(r.stop, FXT_STOP_END);
	fxt_reader_free(&r);
	if (count)
		qsort(ends, count, sizeof(*ends), by_id);
	return count;
}

/* Fails unless the ends, in the order of their ids, are the expected list of "ID at TIME by WHAT". Then
 * forgets the parts. */
static void expect(const char *expected)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		struct end ends[16];
		size_t count = join(ends, backwards);
		char found[512] = "";

		for (size_t i = 0; i < count; i++)
			sprintf(found + strlen(found), "%s%" PRIu64 " at %" PRIu64 " by %s", i ? ", " : "",
				ends[i].id, ends[i].at, ends[i].by);
		ck_assert_str_eq(found, expected);
	}
	part_count = 0;
}

START_TEST(ends_with_the_process)
{
	begin_part(7, false);
	opens(1, 100);
	opens(2, 110);
	closes(2, 120);
	/* Another thread exited before this one had written its event. */
	opens(3, 600);
	exits(500);
	expect("1 at 500 by exit, 3 at 600 by exit");
	/* The parent says that the process was killed, whichever of the two is read first. */
	begin_part(7, false);
	reaps(1, 8, 50, 700);
	begin_part(8, false);
	opens(2, 100);
	expect("2 at 700 by signal");
	/* Nothing says how the process ended. */
	begin_part(7, false);
	opens(1, 100);
	expect("");
	/* The process says itself that it exits, which is nearer to the end than what its parent says. */
	begin_part(7, false);
	reaps(1, 8, 50, 700);
	begin_part(8, false);
	opens(2, 100);
	exits(600);
	expect("2 at 600 by exit");
}
END_TEST

/* Nothing is known of an event of a type that the specification does not have, not even its thread. */
START_TEST(passes_unknown_events)
{
	begin_without_threads(7, false);
	for (uint64_t type = FXT_EVENT_FLOW_END + 1; type < 16; type++) {
		part->words[part->count++] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(2) |
					     fxt_event_type(type);
		part->words[part->count++] = 50;
	}
	register_threads();
	opens(1, 100);
	exits(500);
	expect("1 at 500 by exit");
}
END_TEST

START_TEST(ends_with_the_program)
{
	begin_part(7, false);
	opens(1, 100);
	makes_child(2, 110);
	executes(300, 310, false);
	begin_part(7, false);
	opens(3, 400);
	exits(900);
	expect("1 at 310 by exec, 2 at 900 by exit, 3 at 900 by exit");
	/* The call that executed the next program is not in the trace. */
	begin_part(7, false);
	opens(1, 100);
	begin_part(7, false);
	opens(3, 400);
	expect("1 at 400 by exec");
	/* The call is in the trace, and the next program is not. */
	begin_part(7, false);
	opens(1, 100);
	makes_child(2, 110);
	executes(300, 310, false);
	expect("1 at 310 by exec");
	/* The agent wrote counters while the program was executed. */
	begin_part(7, false);
	opens(1, 100);
	executes(300, 310, false);
	counts(311, 1 + (unsigned)random_below(8));
	begin_part(7, false);
	counts(400, 1 + (unsigned)random_below(8));
	opens(3, 500);
	exits(900);
	expect("1 at 310 by exec, 3 at 900 by exit");
	/* The child of a vfork executed a program, because the thread went on. */
	begin_part(7, false);
	reaps(1, 8, 50, 700);
	begin_part(8, false);
	opens(2, 100);
	executes(300, 310, false);
	calls(1, 400, 410);
	expect("2 at 700 by signal");
	/* The call failed after all. */
	begin_part(7, false);
	opens(1, 100);
	executes(300, 310, false);
	executes(300, 320, true);
	expect("");
}
END_TEST

START_TEST(believes_no_other)
{
	/* A process that got the same number later is no program that process 8 executed. */
	begin_part(9, false);
	reaps(1, 8, 50, 500);
	begin_part(8, false);
	opens(2, 100);
	begin_part(8, false);
	opens(3, 1000);
	expect("2 at 500 by signal");
	/* Process 8 of another namespace is another process. */
	begin_part(9, true);
	reaps(1, 8, 50, 500);
	begin_part(8, false);
	opens(2, 100);
	expect("");
	/* A process that still runs may do more before its end than the join has read. */
	begin_part(9, false);
	reaps(1, 8, 50, 500);
	begin_part(8, false);
	part->still_runs = true;
	opens(2, 100);
	expect("");
	/* But a program that the process was before has ended. */
	begin_part(8, false);
	part->still_runs = true;
	opens(1, 100);
	begin_part(8, false);
	part->still_runs = true;
	opens(2, 200);
	expect("1 at 200 by exec");
}
END_TEST

START_TEST(ends_calls_in_progress)
{
	/* The calls of each thread are ended, on every level. */
	begin_part(7, false);
	is_in(1, 100);
	is_in(2, 150);
	calls(2, 160, 170);
	is_in(2, 180);
	executes(300, 310, false);
	begin_part(7, false);
	is_in(1, 400);
	exits(900);
	expect("7 at 310 by exec, 7 at 900 by exit, 107 at 310 by exec, 107 at 310 by exec");
	/* Another thread went on for a moment after the exec, and began a call. */
	begin_part(7, false);
	is_in(2, 150);
	calls(2, 160, 320);
	is_in(2, 330);
	executes(300, 310, false);
	expect("107 at 330 by exec, 107 at 330 by exec");
	/* The call that executed the next program is not in the trace. The ends come before the first event
	 * of that program, whose events are in any order. */
	begin_part(7, false);
	is_in(1, 100);
	begin_part(7, false);
	calls(1, 410, 500);
	calls(1, 400, 510);
	expect("7 at 399 by exec");
	/* Process 9 knows what the program did last, because that let process 9 go on. The next program has
	 * let it go on since then. */
	begin_part(7, false);
	is_in(1, 150);
	executes(300, 310, false);
	begin_part(7, false);
	calls(1, 400, 410);
	begin_part(9, false);
	is_let_go(7, 7, 320);
	is_let_go(7, 7, 405);
	is_let_go(7, 107, 330);
	expect("7 at 321 by exec");
	/* A copy that was made while the program ran has a call twice. */
	begin_part(8, false);
	is_in(1, 100);
	is_in(1, 110);
	is_in(2, 100);
	calls(1, 110, 200);
	begin_part(9, false);
	reaps(1, 8, 50, 700);
	expect("8 at 700 by signal, 108 at 700 by signal");
	/* The program still runs. */
	begin_part(7, false);
	part->still_runs = true;
	is_in(1, 100);
	expect("");
}
END_TEST

/* Writes a lifetime. Its begin and end stand in one of the orders that traces have, which `how` chooses.
 * Returns whether the lifetime stays open. */
static bool lives(uint64_t id, unsigned how)
{
	switch (how) {
	case 0: closes(id, 20); opens(id, 10); return false;
	/* In a copy the begin may be there twice. */
	case 1: opens(id, 10); opens(id, 10); closes(id, 20); return false;
	case 2: closes(id, 20); opens(id, 10); opens(id, 10); return false;
	case 3: opens(id, 10); closes(id, 20); return false;
	/* The begin was overwritten. */
	case 4: closes(id, 20); return false;
	default: opens(id, 10); return true;
	}
}

START_TEST(knows_what_is_open)
{
	static struct end ends[LIVES];
	static uint64_t open[LIVES];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seed = state;
		size_t count = 0;

		begin_part(7, false);
		for (uint64_t id = 1; id <= LIVES; id++) {
			size_t old = count ? random_of(&state) % count : 0;

			if (lives(id, (unsigned)(random_of(&state) % 8)))
				open[count++] = id;
			/* A lifetime that began long before ends now. */
			if (old && random_of(&state) % 2) {
				closes(open[old], 20);
				open[old] = open[--count];
			}
		}
		exits(30);
		ck_assert_uint_eq(join(ends, false), count);
		qsort(open, count, sizeof(*open), by_number);
		for (size_t i = 0; i < count; i++)
			ck_assert_msg(ends[i].id == open[i] && ends[i].at == 30,
				      "state %#" PRIx64 ": lifetime %" PRIu64, seed, open[i]);
		part_count = 0;
	}
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("lifetimes");

	random_begin();
	state = random_state_of(1);
	tcase_add_test(c, ends_with_the_process);
	tcase_add_test(c, passes_unknown_events);
	tcase_add_test(c, ends_with_the_program);
	tcase_add_test(c, believes_no_other);
	tcase_add_test(c, ends_calls_in_progress);
	tcase_add_test(c, knows_what_is_open);
	return RUN_SUITE("lifetimes", c);
}
