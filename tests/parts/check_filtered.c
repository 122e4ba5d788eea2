/* This tests which instrumented functions are left out (agent/emit/filtered.h), and what the trace says of
 * them. Random trees of calls run through the hooks, with rules and a depth, and are compared with what the
 * rules mean, which is a dozen lines here; calls are left by jumps now and then. FXT_SEED names the
 * choices. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/emit/filtered.h"
#include "agent/emit/threads.h"
#include "agent/names/plt_call.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

enum { FUNCTIONS = 2000, TREES = 4000, MOST_TOLD = 512, LOG = 1 << 16 };

struct fxt_threads fxt_threads;
struct fxt_functions fxt_functions;
struct fxt_function_filter fxt_function_filter;
/* The library has the code of these in assembler. */
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));
uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1];
static struct fxt_function functions[FUNCTIONS], nowhere;
static unsigned function_count, decided, made_ready;
static bool has_names = true;
static char was[LOG], is[LOG];          /* what happened, and what should have */
static uint64_t left_out[FUNCTIONS], filtered;

/* Function n lies here. */
static uintptr_t address_of(unsigned n)
{
	return 0x10000 + 64 * (uintptr_t)n;
}

static void note(char *log, char what, unsigned n)
{
	size_t at = strlen(log);

	if (at + 20 < LOG)
		sprintf(log + at, "%c%u ", what, n);
}

/* -- What stands for the rest of the agent ------------------------------------------------------- */

const struct fxt_function *fxt_function_find(uintptr_t address)
{
	return has_names ? &functions[(address - address_of(0)) / 64] : NULL;
}

const struct fxt_function *fxt_function_next(size_t *slot)
{
	return *slot < function_count ? &functions[(*slot)++] : NULL;
}

enum fxt_filter_verdict fxt_filter_decide(const struct fxt_function_filter *filter, const char *name,
					  size_t bytes, const char *module)
{
	EXPECT(filter == &fxt_function_filter && !*name && !bytes && !*module);
	decided++;
	return FXT_FILTER_LEAVE;
}

static struct fxt_in_progress *push(uintptr_t frame, uintptr_t site, uintptr_t address, uint64_t names)
{
	struct fxt_in_progress *entry = part_thread.open++;

	*entry = (struct fxt_in_progress){.frame = frame, .site = site, .function = address, .names = names};
	return entry;
}

void fxt_function_enter(struct fxt_thread *thread, uintptr_t frame, uintptr_t site, uintptr_t address,
			uintptr_t call_site)
{
	EXPECT(thread == &part_thread && call_site == 5);
	note(was, '+', (unsigned)((address - address_of(0)) / 64));
	while (thread->open > fxt_in_progress_entries(thread) && thread->open[-1].frame < frame)
		thread->open--;
	push(frame, site, address, fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, 1));
}

struct fxt_in_progress *fxt_in_progress_push_silent(struct fxt_thread *thread, uintptr_t frame,
						    uintptr_t function, uintptr_t site)
{
	EXPECT(thread == &part_thread);
	return push(frame, site, function, FXT_IN_PROGRESS_SILENT);
}

/* Ends the last function; only those that are recorded have an event. */
void fxt_function_exit(struct fxt_thread *thread, uintptr_t frame, uintptr_t address)
{
	EXPECT(thread == &part_thread && frame);
	EXPECT(thread->open > fxt_in_progress_entries(thread));
	thread->open--;
	ck_assert_uint_eq(thread->open->function, address);
	if (!fxt_in_progress_is_silent(thread->open))
		note(was, '-', (unsigned)((address - address_of(0)) / 64));
}

bool fxt_function_drop(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns)
{
	(void)thread, (void)address, (void)end_ns;
	return false;
}

bool fxt_function_end(struct fxt_thread *thread, uintptr_t address, uint64_t end_ns)
{
	(void)thread, (void)address, (void)end_ns;
	return false;
}

static unsigned dropped;

void fxt_in_progress_drop_stale(struct fxt_thread *thread, uintptr_t frame, uintptr_t function,
				uintptr_t site, uint64_t end_ns)
{
	EXPECT(thread == &part_thread && function && end_ns == thread->last_ns);
	while (thread->open > fxt_in_progress_entries(thread) &&
	       (thread->open[-1].frame < frame ||
		(thread->open[-1].frame == frame && thread->open[-1].site == site))) {
		thread->open--;
		dropped++;
	}
}

void fxt_in_progress_make_ready(struct fxt_thread *thread)
{
	thread->ready = true;
	made_ready++;
}

static struct fxt_thread *threads[3];

static void setup(void)
{
	unsigned n;

	random_seed(0);
	part_setup();
	threads[0] = &part_thread;
	threads[1] = threads[2] = NULL;
	fxt_threads.list = threads;
	fxt_threads.count = 3;
	filtered = 0;
	part_thread.counts.filtered = &filtered;
	memset(functions, 0, sizeof(functions));
	memset(left_out, 0, sizeof(left_out));
	memset(&fxt_function_filter, 0, sizeof(fxt_function_filter));
	function_count = FUNCTIONS;
	for (n = 0; n < FUNCTIONS; n++)
		functions[n] = (struct fxt_function){.address = address_of(n), .name = "name", .bytes = 4,
						     .number = n + 1000};
	atomic_store(&fxt_functions.entries, &nowhere);
	has_names = true;
	decided = made_ready = dropped = 0;
	*was = *is = 0;
	fxt_agent.config.filters_functions = true;
	fxt_agent.file_made = true;
}

/* -- Trees of calls ------------------------------------------------------------------------------ */

struct below {
	bool is_kept, is_hidden;
	unsigned level;
};

/* Calls a function with what it calls. Returns false if all of it is left by a jump. */
static bool call(unsigned budget, unsigned deep, struct below below, unsigned jumps)
{
	unsigned n = (unsigned)random_below(12), calls = (unsigned)random_below(4);
	enum fxt_filter_verdict verdict = (enum fxt_filter_verdict)functions[n].verdict;
	uintptr_t frame = 0x100000 - 16 * (uintptr_t)(deep - (deep && random_below(6) == 0));
	bool is_in = verdict != FXT_FILTER_LEAVE && !(verdict == FXT_FILTER_IN_TREE && !below.is_kept) &&
		     !below.is_hidden && verdict != FXT_FILTER_LEAVE_TREE;
	struct below inner = below;

	if (is_in) {
		inner.level++;
		inner.is_kept |= verdict == FXT_FILTER_KEEP_TREE;
		inner.is_hidden = fxt_agent.config.function_depth &&
				  inner.level >= fxt_agent.config.function_depth;
		note(is, '+', n);
	} else {
		left_out[n]++;
		inner.is_hidden |= verdict == FXT_FILTER_LEAVE_TREE;
	}
	fxt_filtered_enter(&part_thread, frame, 1000 + deep, address_of(n), 5);
	while (calls-- && budget)
		if (!call(budget - 1, deep + 1, inner, jumps))
			return false;
	if (jumps && deep && random_below(jumps) == 0)
		return false;
	fxt_filtered_leave(&part_thread, frame - 8 * random_below(2), address_of(n));
	if (is_in)
		note(is, '-', n);
	return true;
}

static void choose_rules(void)
{
	unsigned n, kind = (unsigned)random_below(3);

	for (n = 0; n < 12; n++)
		functions[n].verdict = random_below(3) ? FXT_FILTER_KEEP
				       : kind == 0    ? (random_below(2) ? FXT_FILTER_LEAVE : FXT_FILTER_KEEP)
						      : (unsigned)random_below(5);
	fxt_function_filter.has_trees = kind != 0;
	fxt_agent.config.function_depth = random_below(2) ? 0 : 1 + (unsigned)random_below(5);
	EXPECT(fxt_filtered_is_nested() == (kind != 0 || fxt_agent.config.function_depth));
}

static void compare(void)
{
	uint64_t all = 0;
	unsigned n;

	ck_assert_str_eq(was, is);
	for (n = 0; n < 12; n++) {
		const struct fxt_filtered_count *block =
			part_thread.filtered.counts[(n + 1000) / FXT_FILTERED_BLOCK];

		ck_assert_uint_eq(block ? block[(n + 1000) % FXT_FILTERED_BLOCK].calls : 0, left_out[n]);
		all += left_out[n];
	}
	ck_assert_uint_eq(filtered, all);
}

START_TEST(rules_mean_what_they_say)
{
	unsigned tree;

	for (tree = 0; tree < TREES; tree++) {
		choose_rules();
		*was = *is = 0;
		call(5, 0, (struct below){false, false, 0}, 0);
		compare();
		EXPECT(part_thread.open == fxt_in_progress_entries(&part_thread));
		EXPECT(!part_thread.filtered.hidden);
	}
	EXPECT(filtered > TREES);
	fxt_filtered_forget();
	memset(left_out, 0, sizeof(left_out));
	filtered = 0;
	compare();
}
END_TEST

/* Jumps leave functions without an end; what begins further up the stack finds out. */
START_TEST(jumps_leave_functions)
{
	unsigned tree, jumps = 0, n;

	for (tree = 0; tree < TREES; tree++) {
		choose_rules();
		/* The outermost function is always recorded, so that it shows what was left. */
		for (n = 0; n < 12 && functions[n].verdict != FXT_FILTER_KEEP; n++)
			;
		if (n == 12)
			continue;
		*was = *is = 0;
		if (call(4, 1, (struct below){false, false, 0}, 3))
			continue;
		jumps++;
		*was = *is = 0;
		filtered = 0;
		fxt_filtered_enter(&part_thread, 0x200000, 1000, address_of(n), 5);
		EXPECT(part_thread.open == fxt_in_progress_entries(&part_thread) + 1);
		EXPECT(!part_thread.filtered.hidden && !filtered);
		fxt_filtered_leave(&part_thread, 0x200000, address_of(n));
		EXPECT(part_thread.open == fxt_in_progress_entries(&part_thread));
		memset(left_out, 0, sizeof(left_out));
		fxt_filtered_forget();
	}
	EXPECT(jumps > TREES / 20 && dropped);
}
END_TEST

START_TEST(functions_that_share_a_frame)
{
	fxt_function_filter.has_trees = true;
	fxt_filtered_enter(&part_thread, 0x9000, 11, address_of(1), 5);
	/* It was inlined there. */
	fxt_filtered_enter(&part_thread, 0x9000, 12, address_of(2), 5);
	EXPECT(!dropped && part_thread.open == fxt_in_progress_entries(&part_thread) + 2);
	/* None is entered twice from one site. */
	fxt_filtered_enter(&part_thread, 0x9000, 12, address_of(2), 5);
	EXPECT(dropped == 1 && part_thread.open == fxt_in_progress_entries(&part_thread) + 2);
	fxt_filtered_enter(&part_thread, 0x9000, 11, address_of(1), 5);
	/* The one further down the list counts too, but a call that is no function does not. */
	EXPECT(dropped == 1);
	part_thread.open = fxt_in_progress_entries(&part_thread);
	fxt_filtered_enter(&part_thread, 0x9000, 11, address_of(1), 5);
	push(0x8000, 12, 0, fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, 1));
	fxt_filtered_enter(&part_thread, 0x7000, 12, address_of(2), 5);
	EXPECT(part_thread.filter_marks[2] == 2);
	/* So many functions have entries. */
	setup();
	fxt_function_filter.has_trees = true;
	functions[3].verdict = FXT_FILTER_LEAVE_TREE;
	part_thread.open += FXT_FUNCTION_DEPTH;
	fxt_filtered_enter(&part_thread, 0x100, 12, address_of(3), 5);
	EXPECT(part_thread.open == fxt_in_progress_entries(&part_thread) + FXT_FUNCTION_DEPTH &&
	       filtered == 1);
	part_thread.open--;
	fxt_filtered_enter(&part_thread, 0x100, 12, address_of(3), 5);
	EXPECT(fxt_in_progress_is_silent(part_thread.open - 1));
}
END_TEST

START_TEST(a_function_that_is_not_known)
{
	has_names = false;
	fxt_filtered_enter(&part_thread, 0x9000, 11, address_of(1), 5);
	EXPECT(decided == 1 && filtered == 1 && !*was);
	fxt_filtered_leave(&part_thread, 0x9000, address_of(1));
	EXPECT(decided == 2 && filtered == 1 && !*was);
	/* Counting makes the thread ready, if there is a file. */
	has_names = true;
	part_thread.ready = false;
	fxt_agent.file_made = false;
	fxt_filtered_leave_out(&part_thread, &functions[0]);
	EXPECT(!made_ready);
	fxt_agent.file_made = true;
	fxt_filtered_leave_out(&part_thread, &functions[0]);
	EXPECT(made_ready == 1 && part_thread.filtered.counts[0][1000].calls == 2);
}
END_TEST

START_TEST(counts_have_memory_of_their_own)
{
	struct fxt_filtered_count *first, *other;

	part.stack_is_short = true;
	EXPECT(!fxt_filtered_make(&part_thread, 5));
	part.stack_is_short = false;
	atomic_store(&fxt_forbidden, FXT_NO_WORD);
	EXPECT(!fxt_filtered_make(&part_thread, 5));
	fxt_filtered_count(&part_thread, &functions[0], 1);
	atomic_store(&fxt_forbidden, 0);
	first = fxt_filtered_make(&part_thread, 5);
	other = fxt_filtered_make(&part_thread, FXT_FILTERED_BLOCK * (FXT_FILTERED_BLOCKS + 1) + 7);
	EXPECT(first == part_thread.filtered.counts[0] + 5 && other == part_thread.filtered.counts[1] + 7);
	EXPECT(fxt_filtered_make(&part_thread, 6) == first + 1);
	fxt_filtered_count(&part_thread, &functions[0], 30);
	fxt_filtered_count(&part_thread, &functions[0], 12);
	fxt_filtered_count(&part_thread, NULL, 12);
	EXPECT(first[995].calls == 2 && first[995].ns == 42);
	first[FXT_FILTERED_BLOCK - 6].calls = 9;
	fxt_filtered_forget();
	EXPECT(!first[995].calls && !first[995].ns && !first[FXT_FILTERED_BLOCK - 6].calls);
	/* The quick way counts only what is known to be left out. */
	EXPECT(!fxt_filtered_quick(&part_thread, &functions[0], address_of(0)));
	functions[0].verdict = FXT_FILTER_LEAVE;
	functions[0].address = ~address_of(0);
	EXPECT(fxt_filtered_quick(&part_thread, &functions[0], address_of(0)));
	EXPECT(first[995].calls == 1 && filtered == 1 && !part_thread.lanes->raised_at);
	EXPECT(!fxt_filtered_quick(&part_thread, &functions[0], address_of(1)));
	part_thread.ready = false;
	EXPECT(!fxt_filtered_quick(&part_thread, &functions[0], address_of(0)));
	part_thread.ready = true;
	part_thread.lanes->raised_at = 5;
	EXPECT(!fxt_filtered_quick(&part_thread, &functions[0], address_of(0)) && filtered == 1);
	part_thread.lanes->raised_at = 0;
	functions[0].verdict = FXT_FILTER_LEAVE_TREE;
	EXPECT(!fxt_filtered_quick(&part_thread, &functions[0], address_of(0)));
}
END_TEST

/* -- In the trace -------------------------------------------------------------------------------- */

static void count(struct fxt_thread *thread, unsigned n, unsigned calls, uint64_t ns)
{
	while (calls--)
		fxt_filtered_count(thread, &functions[n], calls ? 0 : ns);
}

START_TEST(the_trace_says_what_is_left_out)
{
	static struct fxt_thread other;
	static char name[300];

	memset(&other, 0, sizeof(other));
	threads[2] = &other;
	function_count = 3;
	functions[1].name = "second";
	functions[1].bytes = 6;
	count(&part_thread, 0, 3, 70);
	count(&other, 0, 2, 5);
	count(&other, 1, 1, 9);
	fxt_filtered_tell(&part_thread);
	SAID("instant agent:left out @1001 calls=5ul ns=75ul function=\"name\"\n"
	     "instant agent:left out @1002 calls=1ul ns=9ul function=\"second\"\n");
	/* Names of many bytes are cut, between characters. */
	memset(name, 'n', 199);
	strcpy(name + 199, "\xc3\xa4" "b");
	functions[1].name = name;
	functions[1].bytes = (uint16_t)strlen(name);
	fxt_filtered_tell(&part_thread);
	EXPECT(strstr(part_said(), "nnn\"\n"));
	functions[1].bytes = 199;
	fxt_filtered_tell(&part_thread);
	EXPECT(strstr(part_said(), "nnn\"\n"));
	memset(name, 'n', 201);
	functions[1].bytes = 201;
	name[200] = 'm';
	fxt_filtered_tell(&part_thread);
	EXPECT(strstr(part_said(), "nnn\"\n"));
	name[199] = 'm';
	functions[1].bytes = 200;
	fxt_filtered_tell(&part_thread);
	EXPECT(strstr(part_said(), "nm\"\n"));
	/* Where nothing can be left out, nothing is looked for. */
	fxt_agent.config.filters_functions = false;
	fxt_filtered_tell(&part_thread);
	SAID("");
	fxt_agent.config.threshold_ns[FXT_BIT_function] = 1;
	fxt_filtered_tell(&part_thread);
	EXPECT(*part_said());
	fxt_agent.config.threshold_ns[FXT_BIT_function] = 0;
	fxt_agent.config.threshold_ns[FXT_BIT_plt] = 1;
	fxt_filtered_tell(&part_thread);
	EXPECT(*part_said());
	part.stack_is_short = true;
	fxt_filtered_tell(&part_thread);
	part.stack_is_short = false;
	part_thread.ready = false;
	fxt_filtered_tell(&part_thread);
	SAID("");
}
END_TEST

static struct {
	unsigned functions;             /* how many instants were written about one function */
	uint64_t calls, ns, others;     /* what the one about all others says */
} told;

/* Reads what was written, and makes room for more. */
static void read_told(void)
{
	const char *line, *rest;

	for (line = part_said(); *line; line = strchr(line, '\n') + 1) {
		rest = strstr(line, " functions=");
		if (!rest || rest > strchr(line, '\n')) {
			told.functions++;
			continue;
		}
		EXPECT(!told.others);
		ck_assert_int_eq(sscanf(strstr(line, "calls="), "calls=%luul ns=%luul functions=%luul",
					&told.calls, &told.ns, &told.others), 3);
	}
	part_lane(FXT_CHUNK_WORDS);
}

bool fxt_thread_put_extra(struct fxt_thread *thread, const uint64_t *record, size_t words)
{
	struct fxt_lane *lane;

	if (!fxt_lane_has(thread->lanes, words))
		read_told();
	lane = fxt_open_lane(thread, words, false);
	fxt_lane_put(lane, record, words);
	fxt_close_lane(lane, 0);
	return true;
}

static unsigned tell(void)
{
	memset(&told, 0, sizeof(told));
	fxt_filtered_tell(&part_thread);
	read_told();
	return told.functions;
}

START_TEST(the_rest_is_one_instant)
{
	unsigned n;

	function_count = MOST_TOLD;
	for (n = 0; n < MOST_TOLD; n++)
		count(&part_thread, n, 1, 2);
	EXPECT(tell() == MOST_TOLD && !told.others);
	/* One more, and of so many none is called more than the others: they are one. */
	function_count = MOST_TOLD + 1;
	count(&part_thread, MOST_TOLD, 1, 2);
	EXPECT(tell() == 0 && told.others == MOST_TOLD + 1 && told.calls == told.others &&
	       told.ns == 2 * told.others);
	/* Those that are called more, by powers of two, are told of. */
	for (n = 0; n < 10; n++)
		count(&part_thread, n, 1, 0);
	EXPECT(tell() == 10 && told.others == MOST_TOLD - 9 && told.calls == told.others);
	function_count = 0;
	EXPECT(!tell() && !told.others);
}
END_TEST

int main(void)
{
	TCase *filter = tcase_create("filtered");

	tcase_add_checked_fixture(filter, setup, NULL);
	tcase_set_timeout(filter, 60);
	tcase_add_test(filter, rules_mean_what_they_say);
	tcase_add_test(filter, jumps_leave_functions);
	tcase_add_test(filter, functions_that_share_a_frame);
	tcase_add_test(filter, a_function_that_is_not_known);
	tcase_add_test(filter, counts_have_memory_of_their_own);
	tcase_add_test(filter, the_trace_says_what_is_left_out);
	tcase_add_test(filter, the_rest_is_one_instant);
	return RUN_SUITE("filtered", filter);
}
