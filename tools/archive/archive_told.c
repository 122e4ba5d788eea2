/* See archive_told.h. Writes what is kept of a gap, and how much is gone. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_told.h"

#include <stdlib.h>
#include <string.h>

#include "archive_gap.h"
#include "archive_walk.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"
#include "writer/fxt_encode.h"

enum {
	COUNTER = 0x676170, /* ids that no counter of the agent has */
	LOST_COUNTER = 0x667563,
	COUNTER_BACK = 2, /* the value stands so many words before the end */
	ROOM = FXT_PROVIDER_NAME_MAX_BYTES / FXT_WORD_BYTES + 128,
};

static bool is_counter(const uint64_t *record, size_t size, uint64_t id)
{
	return fxt_get_event_type(record[0]) == FXT_EVENT_COUNTER && record[size - 1] == id &&
	       fxt_get_event_args(record[0]) == 1 && fxt_get_string_ref_inline(fxt_get_event_name(record[0]));
}

bool fxt_told_is_counter(const uint64_t *record, size_t size)
{
	return is_counter(record, size, COUNTER);
}

bool fxt_told_is_lost(const uint64_t *record, size_t size)
{
	return is_counter(record, size, LOST_COUNTER);
}

uint64_t fxt_told_calls(const uint64_t *record, size_t size)
{
	return size > COUNTER_BACK ? record[size - COUNTER_BACK] : 0;
}

static const char kernel[] = "kernel";

bool fxt_told_is_kernel(const uint64_t *record, size_t size)
{
	uint64_t category = fxt_get_event_category(record[0]);
	size_t at = fxt_get_event_thread(record[0]) ? 2 : 4;

	return fxt_get_event_type(record[0]) == FXT_EVENT_INSTANT && fxt_get_string_ref_inline(category) &&
	       fxt_get_string_ref_value(category) == strlen(kernel) && at < size &&
	       memcmp(record + at, kernel, strlen(kernel)) == 0;
}

/* Returns how many words a string takes in the record itself. */
static size_t inline_words(uint64_t reference)
{
	return fxt_get_string_ref_inline(reference) ? fxt_words_of(fxt_get_string_ref_value(reference)) : 0;
}

uint64_t fxt_told_records(const uint64_t *record, size_t size)
{
	size_t at = (fxt_get_event_thread(record[0]) ? 2 : 4) +
		    inline_words(fxt_get_event_category(record[0])) +
		    inline_words(fxt_get_event_name(record[0])), words;

	/* It is the first number that is no id. */
	for (; at < size; at += words) {
		words = fxt_get_arg_words(record[at]);
		if (fxt_get_arg_type(record[at]) == FXT_ARG_UINT64)
			return words > 1 && at + words <= size ? record[at + words - 1] : 0;
		if (!words)
			break;
	}
	return 0;
}

struct telling {
	const struct fxt_archive_gap *g;
	void (*put)(void *context, const uint64_t *words, size_t count);
	void *context;
};

uint64_t fxt_told_track(uint64_t process)
{
	static const uint64_t first = UINT64_C(1) << 22;
	uint64_t x = process * UINT64_C(0x9e3779b97f4a7c15);

	return first + (x ^ x >> 32) % (UINT32_MAX - first);
}

/* Names the track of a process's gaps. */
static void name_track(const struct telling *t, uint64_t process)
{
	static const char name[] = "recording";
	const struct fxt_arg list[] = {
		{.type = FXT_ARG_KOID, .name = FXT_INLINE("process", 7), .u64 = process},
		{.type = FXT_ARG_KOID, .name = FXT_INLINE("thread", 6), .u64 = process}};
	uint64_t words[ROOM];

	t->put(t->context, words,
	       fxt_encode_kernel_object(words, ROOM, FXT_OBJECT_THREAD, fxt_told_track(process),
					FXT_INLINE(name, strlen(name)), (struct fxt_args){2, list}));
}

/* Puts an event of category agent on the track of the process's gaps. */
static void put_agent(const struct telling *t, uint64_t process, enum fxt_event_type type, uint64_t at_ns,
		      const char *name, struct fxt_args args, uint64_t extra)
{
	const struct fxt_thread_ref track = {.process = process, .thread = fxt_told_track(process)};
	uint64_t words[ROOM];

	t->put(t->context, words,
	       fxt_encode_event(words, ROOM, type, at_ns, track,
				FXT_INLINE("agent", 5), FXT_INLINE(name, strlen(name)), args, extra));
}

/* Tells how much is gone of a program, and from when to when. */
static void tell_sum(const struct telling *t, const struct fxt_gap_program *program, uint64_t process)
{
	const char *why = t->g->reason ? t->g->reason : "";
	const struct fxt_arg calls = {
		.type = FXT_ARG_UINT64, .name = FXT_INLINE("records", 7), .u64 = program->calls};
	const struct fxt_arg reason = {.type = FXT_ARG_STRING,
				       .name = FXT_INLINE("reason", 6),
				       .string = FXT_INLINE(why, strlen(why))};
	const struct fxt_args none = {0, NULL}, with_calls = {1, &calls}, with_reason = {1, &reason};

	name_track(t, process);
	put_agent(t, process, FXT_EVENT_INSTANT, program->first_ns, "recording stopped", none, 0);
	put_agent(t, process, FXT_EVENT_INSTANT, program->first_ns, "dropped", with_reason, 0);
	put_agent(t, process, FXT_EVENT_COUNTER, program->last_ns, "dropped", with_calls,
		  t->g->lost ? LOST_COUNTER : COUNTER);
	put_agent(t, process, FXT_EVENT_INSTANT, program->last_ns, "recording started", none, 0);
}

/* Tells how many of the kernel's records are gone, and from when to when. */
static void tell_kernel(const struct telling *t, const struct fxt_gap_program *program, uint64_t records)
{
	const char *why = t->g->reason ? t->g->reason : "";
	const struct fxt_arg list[] = {
		{.type = FXT_ARG_UINT64, .name = FXT_INLINE("records", 7), .u64 = records},
		{.type = FXT_ARG_UINT64,
		 .name = FXT_INLINE("ns", 2),
		 .u64 = program->last_ns - program->first_ns},
		{.type = FXT_ARG_STRING,
		 .name = FXT_INLINE("reason", 6),
		 .string = FXT_INLINE(why, strlen(why))}};
	const struct fxt_thread_ref cpu = {.process = FXT_KERNEL_PROVIDER_ID,
					   .thread = FXT_KERNEL_PROVIDER_ID - 1};
	uint64_t words[ROOM];

	t->put(t->context, words,
	       fxt_encode_event(words, ROOM, FXT_EVENT_INSTANT, program->last_ns, cpu,
				FXT_INLINE(kernel, strlen(kernel)), FXT_INLINE("lost", 4),
				(struct fxt_args){3, list}, 0));
}

static void put_copy(const struct telling *t, const struct fxt_map *copies, uint64_t index,
		     struct fxt_map *written)
{
	const struct fxt_slot *copy = fxt_map_find(copies, index, 0);
	const uint64_t *record;
	bool is_new;

	fxt_map_put(written, index, (uint64_t)(uintptr_t)copies, &is_new);
	if (!copy || !is_new)
		return;
	record = (const uint64_t *)(uintptr_t)copy->value[0];
	t->put(t->context, record, fxt_archive_words(record[0]));
}

/* Puts a record, and before it what it refers to, unless that was `written`. */
static void put_record(const struct telling *t, const struct fxt_gap_program *program,
		       const struct fxt_gap_record *record, struct fxt_map *written)
{
	struct fxt_archive_refs refs;

	fxt_archive_refs(&refs, record->words, record->size);
	for (size_t i = 0; i < refs.count; i++)
		put_copy(t, &program->strings, refs.strings[i], written);
	if (refs.thread)
		put_copy(t, &program->threads, refs.thread, written);
	t->put(t->context, record->words, record->size);
}

/* Puts the name and the clock of a program, and what its provider said. */
static void put_begin(const struct telling *t, const struct fxt_gap_program *program)
{
	uint64_t words[4];

	if (program->name)
		t->put(t->context, program->name, fxt_archive_words(program->name[0]));
	else if (t->g->lost)
		t->put(t->context, words, fxt_encode_provider_section(words, 4, program->id));
	else
		t->put(t->context, words, fxt_encode_provider_info(words, 4, program->id, "", 0));
	if (program->clock)
		t->put(t->context, program->clock, fxt_archive_words(program->clock[0]));
	if (program->was_full)
		t->put(t->context, words,
		       fxt_encode_provider_event(words, 4, program->id, FXT_PROVIDER_EVENT_BUFFER_FULL));
}

/* Names the process of a program whose own records of that the disk had no room for. */
static void tell_name(const struct telling *t, const struct fxt_gap_program *program, uint64_t process)
{
	size_t bytes = fxt_get_provider_name_bytes(program->name[0]);
	uint64_t words[ROOM];

	t->put(t->context, words,
	       fxt_encode_kernel_object(words, ROOM, FXT_OBJECT_PROCESS, process,
					FXT_INLINE((const char *)(program->name + 1), bytes),
					(struct fxt_args){0, NULL}));
}

static void tell_others(const struct telling *t)
{
	char *name = fxt_format("%llu other programs", (unsigned long long)t->g->other_count);
	struct fxt_gap_program others = t->g->others;
	uint64_t words[ROOM];

	t->put(t->context, words, fxt_encode_provider_info(words, ROOM, FXT_OTHERS_ID, name, strlen(name)));
	t->put(t->context, words,
	       fxt_encode_kernel_object(words, ROOM, FXT_OBJECT_PROCESS, FXT_OTHERS_ID,
					FXT_INLINE(name, strlen(name)), (struct fxt_args){0, NULL}));
	if (others.first_ns != UINT64_MAX)
		tell_sum(t, &others, FXT_OTHERS_ID);
	free(name);
}

/* Orders the records by their programs, and those of a program as they came. */
static int by_program(const void *a, const void *b)
{
	const struct fxt_gap_record *const *x = a, *const *y = b;

	if ((*x)->program != (*y)->program)
		return (*x)->program < (*y)->program ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

void fxt_gap_put(const struct fxt_archive_gap *g,
		 void (*put)(void *context, const uint64_t *words, size_t count), void *context)
{
	const struct telling t = {g, put, context};
	const struct fxt_gap_record **order = fxt_alloc(g->record_count + 1, sizeof(*order));
	size_t count = 0, next = 0;

	for (size_t i = 0; i < g->record_count; i++)
		if (g->records[i].words)
			order[count++] = &g->records[i];
	if (count)
		qsort(order, count, sizeof(*order), by_program);
	for (size_t i = 0; i < g->program_count; i++) {
		const struct fxt_gap_program *program = &g->programs[i];
		struct fxt_map written = {0};

		bool has_gap = program->first_ns != UINT64_MAX;
		bool is_kernel = program->id == FXT_KERNEL_PROVIDER_ID;
		uint64_t process = program->process ? program->process : program->id;

		put_begin(&t, program);
		if (g->lost && program->name && has_gap && !is_kernel)
			tell_name(&t, program, process);
		/* Readers take the kernel's records in their order: nothing is known of a thread from the
		 * beginning of the gap on, and again at its end, whatever facts lie between. */
		if (has_gap && is_kernel)
			tell_kernel(&t, program, program->calls);
		for (; next < count && order[next]->program == i; next++)
			put_record(&t, program, order[next], &written);
		if (has_gap && is_kernel)
			tell_kernel(&t, program, 0);
		else if (has_gap)
			tell_sum(&t, program, process);
		fxt_map_free(&written);
	}
	if (g->other_count)
		tell_others(&t);
	free(order);
}
