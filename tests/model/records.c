/* Writes random records by the very code that wrappers are made of. Workers call this, and so do handlers
 * that interrupt them anywhere. */
#define FXT_EMISSION inline __attribute__((always_inline))

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"

#include "agent/arrows/wait.h"
#include "agent/arrows/async.h"
#include "agent/emit/function.h"
#include "agent/stacks/return_thunk.h"
#include "interpose/functions/entry.h"
#include "agent/emit/in_progress.h"

#define CALLS(call) call(EVENT, "event") call(QUICK, "quick") call(BLOCKING, "blocking") call(RAW, "raw") \
	call(LIFETIME, "lifetime")
#define NAME(kind, text) text,
#define RECORD(kind, text) FXT_STRING_RECORD(in_##kind, text)
#define VALUE(kind, text) FXT_STRING_RECORD_VALUE(FXT_STR_CALLS + MODEL_##kind, text)

const char *const model_calls[] = {CALLS(NAME)};
const unsigned model_call_count = sizeof(model_calls) / sizeof(*model_calls);
static const struct {
	CALLS(RECORD)
} call_records = {CALLS(VALUE)};
const struct fxt_call_names model_names = {
	model_calls,
	MODEL_KINDS,
	{(const uint64_t *)&call_records, sizeof(call_records) / FXT_WORD_BYTES},
};

#define NAMES(call) fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, FXT_STR_CALLS + (call))

uint64_t model_random(uint64_t *state)
{
	uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

/* -- What a record holds ------------------------------------------------------------------------ */

/* Returns the length of a text: mostly short, now and then as long as it may be. */
static size_t random_bytes(uint64_t *state)
{
	switch (model_random(state) % 16) {
	case 0:
		return model_random(state) % (MODEL_TEXT_BYTES + 1);
	case 1:
		return MODEL_TEXT_BYTES;
	case 2:
	case 3:
		return model_random(state) % 400;
	default:
		return model_random(state) % 80;
	}
}

void model_event_of(uint64_t id, struct model_event *event)
{
	uint64_t state = model.seed ^ id * UINT64_C(0xd1342543de82ef95);
	unsigned i;

	event->numbers = (unsigned)(model_random(&state) % 4);
	event->texts = model_random(&state) % 3 ? (unsigned)(model_random(&state) % 2)
						: (unsigned)(model_random(&state) % (MODEL_TEXTS + 1));
	for (i = 0; i < 3; i++)
		event->number[i] = model_random(&state) >> model_random(&state) % 64;
	for (i = 0; i < MODEL_TEXTS; i++)
		event->text_bytes[i] = random_bytes(&state);
}

void model_text(uint64_t id, unsigned which, char *text, size_t bytes)
{
	uint64_t state = id << 2 ^ which ^ model.seed << 1, word = 0;
	size_t i;

	for (i = 0; i < bytes; i++) {
		if (i % 8 == 0)
			word = model_random(&state);
		text[i] = (char)('a' + (word >> i % 8 * 8 & 15));
	}
}

uint64_t model_raw_word(uint64_t id, size_t at)
{
	uint64_t state = id ^ at << 50;

	return model_random(&state);
}

void model_balanced(const struct fxt_thread *thread, const struct fxt_in_progress *before)
{
	if (thread->open != before && !model.has_jumps)
		model_fail("%ld calls are left in progress", (long)(thread->open - before));
}

/* -- Writing ------------------------------------------------------------------------------------ */

/* Begins a record. Returns its identity, or 0 if there are enough records. A handler may interrupt this
 * anywhere: the counter comes first, so that the handler uses the next place. */
static uint64_t begin(struct model_worker *worker, enum model_kind kind, size_t raw_words)
{
	struct model_life *life = worker->life;
	unsigned sequence = atomic_fetch_add(&life->next, 1);
	uint64_t id = model_id(life->process, worker->number, kind, sequence);
	int place;

	if (sequence >= MODEL_SEQUENCE || worker->active_count >= MODEL_ACTIVE)
		return 0;
	place = worker->active_count++;
	worker->active[place] = id;
	life->raw_words[sequence] = (uint16_t)raw_words;
	atomic_store(&life->fate[sequence], MODEL_STARTED);
	return id;
}

/* Ends a record. In the child of a fork, a record that had begun in its parent is not its own. */
static void end(struct model_worker *worker, uint64_t id, bool is_written)
{
	struct model_life *life = worker->life;

	if (model_process_of(id) == life->process)
		atomic_store(&life->fate[model_sequence_of(id)], is_written ? MODEL_WRITTEN : MODEL_REFUSED);
	worker->active_count--;
}

void model_abandon(struct model_worker *worker)
{
	struct model_life *life = worker->life;
	int i;

	for (i = 0; i < worker->active_count; i++) {
		uint64_t id = worker->active[i];

		if (model_process_of(id) == life->process &&
		    atomic_load(&life->fate[model_sequence_of(id)]) == MODEL_STARTED)
			atomic_store(&life->fate[model_sequence_of(id)], MODEL_ABANDONED);
		__atomic_fetch_add(&model.abandoned_calls, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&model.abandoned_calls, worker->functions_entered - worker->functions_left,
			   __ATOMIC_RELAXED);
	atomic_store(&worker->functions_entered, worker->functions_left);
	worker->active_count = 0;
}

unsigned model_lifetime_texts(const struct model_event *event)
{
	return event->texts > 1 && event->text_bytes[0] < 400;
}

static uint64_t *put_arguments(uint64_t *at, uint64_t id, const struct model_event *event,
			       char (*text)[MODEL_TEXT_BYTES + 1])
{
	unsigned i;

	at = fxt_put_pointer(at, FXT_STR_ptr, (const void *)(uintptr_t)id);
	for (i = 0; i < event->numbers; i++)
		at = fxt_put_uint(at, FXT_STR_size, event->number[i]);
	for (i = 0; i < event->texts; i++)
		at = fxt_put_text(at, FXT_STR_path, text[i], fxt_text_bytes(text[i]));
	return at;
}

static size_t argument_words(const struct model_event *event)
{
	size_t words = 2 + (size_t)event->numbers * 2;
	unsigned i;

	for (i = 0; i < event->texts; i++)
		words += 2 + fxt_words_of(event->text_bytes[i]);
	return words;
}

/* Writes a call, with or without an entry among the calls in progress. */
static void write_event(struct fxt_thread *thread, struct model_worker *worker, enum model_kind kind,
			void (*inside)(struct model_worker *))
{
	/* A handler that interrupts this has texts of its own, so they are on the stack. */
	char text[MODEL_TEXTS][MODEL_TEXT_BYTES + 1];
	struct fxt_in_progress *open = NULL, *before = thread->open;
	struct model_event event;
	uint64_t id = begin(worker, kind, 0), start_ns, end_ns, *at;
	unsigned i;

	if (!id)
		return;
	model_event_of(id, &event);
	for (i = 0; i < event.texts; i++) {
		model_text(id, i, text[i], event.text_bytes[i]);
		text[i][event.text_bytes[i]] = '\0';
	}
	start_ns = fxt_now(thread);
	if (kind == MODEL_BLOCKING)
		open = fxt_in_progress_push(thread, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns,
				     NAMES(kind), fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_ptr), id);
	if (inside)
		inside(worker);
	end_ns = fxt_end(thread, open);
	at = fxt_room(thread, start_ns, end_ns, argument_words(&event), FXT_BIT_io);
	if (at) {
		at = put_arguments(at, id, &event, text);
		fxt_complete(thread, at, end_ns, NAMES(kind), 1 + event.numbers + event.texts);
	}
	end(worker, id, at != NULL);
	model_balanced(thread, before);
}

/* Writes a call in the form of malloc() and of locks: interpose/engine/engine.h. */
static void write_quick(struct fxt_thread *thread, struct model_worker *worker)
{
	uint64_t id = begin(worker, MODEL_QUICK, 0), start_ns, end_ns, *at;
	struct fxt_spot spot;
	struct model_event event;

	if (!id)
		return;
	model_event_of(id, &event);
	start_ns = fxt_now(thread);
	end_ns = fxt_now(thread);
	if (event.number[0] <= UINT32_MAX && fxt_quick_room(thread, start_ns, end_ns, 3, &spot)) {
		at = fxt_put_pointer(spot.arguments, FXT_STR_ptr, (const void *)(uintptr_t)id);
		at = fxt_put_uint(at, FXT_STR_size, event.number[0]);
		fxt_quick_complete(thread, &spot, at, end_ns, NAMES(MODEL_QUICK), 2);
		end(worker, id, true);
		return;
	}
	at = fxt_room(thread, start_ns, end_ns, 4, FXT_BIT_io);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, (const void *)(uintptr_t)id);
		at = fxt_put_uint(at, FXT_STR_size, event.number[0]);
		fxt_complete(thread, at, end_ns, NAMES(MODEL_QUICK), 2);
	}
	end(worker, id, at != NULL);
}

/* Chooses the size of a raw record: from one word to more than a chunk holds, and often just what fits, or
 * a little more or less. */
static size_t raw_words(struct model_worker *worker, const struct fxt_lane *lane)
{
	intptr_t room =
		(intptr_t)(atomic_load_explicit(&lane->limit, memory_order_relaxed) - (uintptr_t)lane->at) /
		FXT_WORD_BYTES;

	if (room > FXT_LANE_SLACK_WORDS + 8 && room < 1500 && model_below(worker, 2))
		return (size_t)room - FXT_LANE_SLACK_WORDS - 3 + model_below(worker, 6);
	switch (model_below(worker, 16)) {
	case 0:
		return 1 + model_below(worker, FXT_RECORD_MAX_WORDS);
	case 1:
		return FXT_RECORD_MAX_WORDS - model_below(worker, 100);
	default:
		return 1 + model_below(worker, 40);
	}
}

/* Writes a raw record, which readers step over. */
static void write_raw(struct fxt_thread *thread, struct model_worker *worker)
{
	size_t words = raw_words(worker, fxt_lane_next(thread)), i;
	uint64_t id = begin(worker, MODEL_RAW, words), record[FXT_RECORD_MAX_WORDS];

	if (!id)
		return;
	record[0] = fxt_record_type(FXT_RECORD_METADATA) | fxt_record_words(words) |
		    fxt_metadata_type(MODEL_METADATA) | id << 20;
	for (i = 1; i < words; i++)
		record[i] = model_raw_word(id, i);
	end(worker, id, fxt_thread_put(thread, record, words));
}

/* -- Lifetimes ---------------------------------------------------------------------------------- */

static void begin_lifetime(struct fxt_thread *thread, struct model_worker *worker, _Atomic uint64_t *place)
{
	char text[MODEL_TEXTS][MODEL_TEXT_BYTES + 1];
	uint64_t id = begin(worker, MODEL_LIFETIME, MODEL_LIFETIME_WORDS), none = 0, flow, *at;
	struct model_life *life = worker->life;
	struct model_event event;

	if (!id)
		return;
	model_event_of(id, &event);
	event.texts = model_lifetime_texts(&event);
	model_text(id, 0, text[0], event.text_bytes[0]);
	text[0][event.text_bytes[0]] = '\0';
	at = fxt_reserve_extra(thread, fxt_now(thread), argument_words(&event) + 1);
	if (at) {
		flow = fxt_flow_id();
		/* In the child of a fork the record is not its own. */
		if (model_process_of(id) == life->process)
			life->flow[model_sequence_of(id)] = flow;
		at = put_arguments(at, id, &event, text);
		fxt_async_commit_begin(thread, at, flow, NAMES(MODEL_LIFETIME),
				       1 + event.numbers + event.texts);
	}
	end(worker, id, at != NULL);
	if (at)
		atomic_compare_exchange_strong(place, &none, id);
}

/* Ends a lifetime, which mostly another thread has begun. */
static void end_lifetime(struct fxt_thread *thread, struct model_worker *worker, uint64_t id)
{
	struct model_life *life = model.worker[model_thread_of(id)].life;
	uint64_t flow, *at;

	if (model_process_of(id) != life->process || worker->active_count >= MODEL_ACTIVE)
		return;
	/* The entry has no identity, because a longjmp may count what it leaves as a call. */
	worker->active[worker->active_count++] = 0;
	/* The begin may be lost from here on: while it is moved, a longjmp may come, or a handler may take
	 * the room. */
	atomic_store(&life->fate[model_sequence_of(id)], MODEL_ABANDONED);
	flow = life->flow[model_sequence_of(id)];
	at = fxt_async_reserve_end(thread, fxt_now(thread), 2, flow);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, (const void *)(uintptr_t)id);
		fxt_async_commit_end(thread, at, flow, NAMES(MODEL_LIFETIME), 1);
		atomic_store(&life->fate[model_sequence_of(id)], MODEL_ENDED);
	}
	worker->active_count--;
}

static void write_lifetime(struct fxt_thread *thread, struct model_worker *worker)
{
	_Atomic uint64_t *place = &model.lifetime[model_below(worker, MODEL_LIFETIMES)];
	uint64_t id = atomic_exchange(place, 0);

	if (id)
		end_lifetime(thread, worker, id);
	else
		begin_lifetime(thread, worker, place);
}

/* -- Instrumented functions --------------------------------------------------------------------- */

#define ADDRESS(function) ((uintptr_t)(function))

static void nothing_1(void) {}
static void nothing_2(void) {}
static void nothing_3(void) {}

/* Enters and leaves a function. The hooks are called with a function's address, and return into this one. */
static __attribute__((noinline)) void call_function(struct fxt_thread *thread, struct model_worker *worker,
						    void (*inside)(struct model_worker *))
{
	static void (*const functions[])(void) = {nothing_1, nothing_2, nothing_3,
						  (void (*)(void))call_function};
	uintptr_t function = ADDRESS(functions[model_below(worker, 4)]),
		  frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t site = (uintptr_t)__builtin_return_address(0);

	struct fxt_in_progress *before = thread->open;

	atomic_fetch_add(&worker->functions_entered, 1);
	if (!fxt_function_enter_quick(thread, frame, &site, function, site))
		fxt_function_enter(thread, frame, site, function, site);
	if (inside)
		inside(worker);
	if (!fxt_function_exit_quick(thread, function))
		fxt_function_exit(thread, frame, function);
	atomic_fetch_add(&worker->functions_left, 1);
	model_balanced(thread, before);
}

#if defined(__x86_64__)

/* Stands for the code of interpose/functions/entries.S, of which only the addresses count here. */
const char fxt_return_thunks[FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES] __attribute__((aligned(128)));
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));

static void enter_by_word(struct model_worker *worker, uintptr_t *word)
{
	static void (*const functions[])(void) = {nothing_1, nothing_2, nothing_3};
	uintptr_t function = ADDRESS(functions[model_below(worker, 3)]);

	atomic_fetch_add(&worker->functions_entered, 1);
	if (fxt_entry_quick(word, function))
		fxt_return_word_enter(fxt_self, word, function);
}

/* Enters and leaves a function as the hooks at entries and the return thunks do. Such a function may make a
 * tail call, which returns to the same thunk. Some of the return addresses are new. */
static __attribute__((noinline)) void call_by_word(struct fxt_thread *thread, struct model_worker *worker,
						   void (*inside)(struct model_worker *))
{
	static atomic_uint call_sites;
	uintptr_t site = model_below(worker, 50) ? ADDRESS(call_by_word) + model_below(worker, 64)
						 : ADDRESS(call_by_word) + atomic_fetch_add(&call_sites, 1);
	struct fxt_in_progress *before = thread->open;
	volatile uintptr_t word = site;
	unsigned entered = model_below(worker, 4) ? 1 : 2, i;

	for (i = 0; i < entered; i++)
		enter_by_word(worker, (uintptr_t *)&word);
	if (fxt_return_place(word) != site)
		model_fail("a thunk goes on at %lx instead of %lx", (unsigned long)fxt_return_place(word),
			    (unsigned long)site);
	if (inside)
		inside(worker);
	if (word != site && fxt_return_quick((uintptr_t)&word) & FXT_RETURN_SLOW)
		fxt_return_word_leave(fxt_self, (uintptr_t)&word);
	atomic_fetch_add(&worker->functions_left, entered);
	model_balanced(thread, before);
}

#else

#define call_by_word call_function

#endif

static void write_one(struct fxt_thread *thread, struct model_worker *worker,
		      void (*inside)(struct model_worker *))
{
	switch (model_below(worker, 12)) {
	case 0:
		write_raw(thread, worker);
		break;
	case 11:
		write_lifetime(thread, worker);
		break;
	case 1:
		write_event(thread, worker, MODEL_BLOCKING, inside);
		break;
	case 2:
		call_function(thread, worker, inside);
		break;
	case 3:
		call_by_word(thread, worker, inside);
		break;
	case 4:
	case 5:
		write_event(thread, worker, MODEL_EVENT, NULL);
		break;
	default:
		write_quick(thread, worker);
		break;
	}
}

/* -- Stacks -------------------------------------------------------------------------------------- */

/* The agent leaves its own frames out of a stack, and it is linked to the model. So some records are written
 * from calls that go through code in memory of its own, as that of a compiler at run time. Each of these
 * functions has a frame and calls its first argument with the second. */
struct deep_write {
	struct fxt_thread *thread;
	struct model_worker *worker;
	void (*inside)(struct model_worker *);
	unsigned depth;
};

enum { CALLERS = 256, CALLER_BYTES = 16 };
typedef void model_caller(void (*function)(const struct deep_write *), const struct deep_write *argument);

static char *callers;

void model_stacks_start(void)
{
	/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; pop %rbp; ret */
	static const unsigned char code[CALLER_BYTES] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48,
							 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	unsigned i;

	callers = mmap(NULL, CALLERS * CALLER_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (callers == MAP_FAILED)
		model_fail("no memory for code: %s", strerror(errno));
	for (i = 0; i < CALLERS; i++)
		memcpy(callers + (size_t)i * CALLER_BYTES, code, CALLER_BYTES);
}

static void write_deep(const struct deep_write *deep)
{
	struct deep_write next = *deep;
	model_caller *caller;

	if (!next.depth--) {
		write_one(deep->thread, deep->worker, deep->inside);
		return;
	}
	caller = (model_caller *)(void *)(callers + model_below(deep->worker, CALLERS) * CALLER_BYTES);
	caller(write_deep, &next);
}

void model_write(struct model_worker *worker, void (*inside)(struct model_worker *))
{
	struct deep_write deep = {fxt_enter(FXT_CAT_io), worker, inside, 0};

	if (callers)
		deep.depth = (unsigned)model_below(worker, 4);
	if (deep.thread)
		write_deep(&deep);
}
