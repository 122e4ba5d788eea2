/* This tests the table of functions and the indices of their names (agent/emit/function.c). The text of the
 * file is included, with made up symbols and limits. Functions of random addresses are looked for in all
 * ways, their files come and go, the table grows, fills up and is forgotten; what is found is compared with a
 * model. FXT_SEED names the choices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/stack.h"
#include "agent/names/symbols.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

static rlim_t address_limit, data_limit;
static bool limit_refused, lacks_memory;
static unsigned limits_asked;
static size_t most_memory;

static int get_limit(int which, struct rlimit *limit)
{
	limits_asked++;
	if (limit_refused)
		return -EPERM;
	EXPECT(which == RLIMIT_AS || which == RLIMIT_DATA);
	limit->rlim_cur = which == RLIMIT_AS ? address_limit : data_limit;
	return 0;
}

static void *get_memory(size_t bytes)
{
	return lacks_memory || bytes > most_memory ? NULL : fxt_sys_memory(bytes);
}

#include <errno.h>
#define fxt_sys_getrlimit get_limit
#define fxt_sys_memory get_memory
#define part its_part
#include "agent/emit/function.c"
#undef part
#undef fxt_sys_memory

enum { MANY = 140000, FEW = 3000, STEPS = 60000, FIRST_INDEX = FXT_STR_CALLS + 10, BASE = 0x400000,
	SHARING = 16 };

struct fxt_function_filter fxt_function_filter;
atomic_bool fxt_fibers_are_there;
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));

/* The made up functions, and the model of what is known of each. */
static struct symbol {
	const char *name;
	size_t bytes;
	bool is_mapped, is_cut;
	uint8_t verdict;
	/* the model */
	const struct fxt_function *entry;
	const char *known_name;
	uint32_t index, number;
	bool is_quick, is_gone;         /* its file was found to be unloaded */
} *symbols;
static unsigned symbol_count, names_asked, forgotten, known_count, indices;
static bool any_unloaded;
static unsigned strings_most;
static unsigned filter_asked;

/* Some share a slot of any table with the one before. */
static uintptr_t address_of(unsigned i)
{
	unsigned shares = i % SHARING == 1;

	return BASE + (uintptr_t)(i - shares) * 16 + shares * 2;
}

static struct symbol *symbol_at(uintptr_t address)
{
	uintptr_t i = (address - BASE) / 16 + (address % 16 != 0);

	EXPECT(i < symbol_count && address_of((unsigned)i) == address);
	return &symbols[i];
}

/* -- What stands for the rest of the agent ------------------------------------------------------- */

const char *fxt_symbol_name(uintptr_t address, size_t *bytes, bool *is_cut)
{
	const struct symbol *symbol = symbol_at(address);

	names_asked++;
	EXPECT(functions.lock.taken);
	*bytes = symbol->bytes;
	*is_cut = symbol->is_cut;
	return symbol->name;
}

const char *fxt_symbol_file_name(uintptr_t address)
{
	return symbol_at(address)->name + 1;
}

bool fxt_symbol_is_mapped(uintptr_t address)
{
	return symbol_at(address)->is_mapped;
}

bool fxt_symbols_unloaded(void)
{
	EXPECT(functions.lock.taken);
	return any_unloaded;
}

const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset)
{
	EXPECT(functions.lock.taken && address == 1 && place == 2);
	*bytes = 3;
	*offset = 4;
	return "obj";
}

void fxt_symbol_file(uintptr_t address, struct fxt_code_file *file)
{
	EXPECT(functions.lock.taken && address == 5);
	memset(file, 0, sizeof(*file));
}

enum fxt_code_kind fxt_allocator_code(uintptr_t address)
{
	EXPECT(functions.lock.taken);
	return (enum fxt_code_kind)address;
}

static const struct fxt_plt_call plt_call = {.name = "called", .bytes = 6, .file = "lib"};

const struct fxt_plt_call *fxt_plt_call(uintptr_t address)
{
	EXPECT(fxt_is_plt_call(address));
	return &plt_call;
}

enum fxt_filter_verdict fxt_filter_decide(const struct fxt_function_filter *filter, const char *name,
					  size_t bytes, const char *module)
{
	EXPECT(filter == &fxt_function_filter && bytes);
	filter_asked++;
	if (name == plt_call.name) {
		EXPECT(module == plt_call.file);
		return FXT_FILTER_KEEP;
	}
	EXPECT(module == name + 1);
	return (enum fxt_filter_verdict)(name[0] - 'a');
}

void fxt_filtered_forget(void)
{
	forgotten++;
}

/* Strings come in the order of their indices, until there is no room for them. */
static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve)
{
	(void)storage;
	EXPECT(reserve == DURABLE_RESERVE_WORDS && words == fxt_get_record_words(record[0]));
	EXPECT(fxt_get_string_index(record[0]) == FIRST_INDEX + indices);
	if (indices == strings_most)
		return false;
	indices++;
	return true;
}

static struct fxt_storage_ops ops = {.durable = durable};
static struct fxt_storage storage = {.ops = &ops};

static void make_symbol(struct symbol *symbol)
{
	char *text;
	/* Long names are cut. */
	size_t bytes = random_below(2000) ? 8 + random_below(20) : NAME_MAX_BYTES - 2 + random_below(5);

	text = malloc(bytes + 1);
	memset(text, 'x', bytes);
	snprintf(text, bytes, "%c%06x", 'a' + symbol->verdict, (unsigned)random_below(1 << 24));
	text[strlen(text)] = 'y';
	symbol->name = text;
	symbol->bytes = bytes;
}

static void begin(unsigned count)
{
	unsigned i;

	random_seed(0);
	part_setup();
	fxt_agent.storage = &storage;
	fxt_agent.calls.count = FIRST_INDEX - FXT_STR_CALLS;
	address_limit = data_limit = RLIM_INFINITY;
	most_memory = SIZE_MAX;
	strings_most = UINT32_MAX;
	symbol_count = count;
	symbols = calloc(count, sizeof(*symbols));
	for (i = 0; i < count; i++) {
		symbols[i].verdict = random_below(4) ? FXT_FILTER_KEEP : (uint8_t)random_below(5);
		symbols[i].is_mapped = true;
		symbols[i].is_cut = random_below(100) == 0;
		make_symbol(&symbols[i]);
	}
}

/* -- One function after the other ---------------------------------------------------------------- */

static size_t cut_bytes(const struct symbol *s)
{
	return s->bytes < NAME_MAX_BYTES ? s->bytes : NAME_MAX_BYTES;
}

/* Looks for a function in a random way, and compares what comes of it with the model. */
static void look_for(unsigned i)
{
	struct symbol *s = &symbols[i];
	uintptr_t address = address_of(i);
	unsigned asked = names_asked, cut = part.lost[FXT_LOSS_UNNAMED], way = (unsigned)random_below(4);
	const struct fxt_function *found = NULL;
	bool was_known = s->entry && !s->is_gone;
	bool is_same = s->entry && s->is_gone && s->known_name == s->name;
	uint64_t names;
	size_t bytes = 0;

	if (way == 0)
		found = fxt_function_find(address);
	else if (way == 1)
		found = fxt_function_find_named(address);
	else if (way == 2)
		fxt_function_find_slow(address), found = fxt_function_find(address);
	else
		names = fxt_function_names(address), found = fxt_function_find(address);
	EXPECT(found && (way < 3 || names == fxt_function_names_in(found, FXT_BIT_function)));
	if (was_known) {
		EXPECT(found->name == s->known_name && found->index == s->index);
		EXPECT(names_asked == asked);
	} else if (is_same) {
		/* The same function has come back, and its entry with it. */
		EXPECT(found->name == s->known_name && found->index == s->index);
		EXPECT(found->number == s->number);
		s->is_gone = false;
		s->is_quick = way != 2 && s->verdict == FXT_FILTER_KEEP;
	} else {
		s->entry = found;
		s->known_name = s->name;
		s->is_gone = false;
		s->is_quick = way != 2 && s->verdict == FXT_FILTER_KEEP;
		s->index = s->verdict < FXT_FILTER_LEAVE && indices <= strings_most &&
					   FIRST_INDEX + indices - 1 <= FXT_STRING_MAX_INDEX && found->index
				   ? FIRST_INDEX + indices - 1 : 0;
		s->number = known_count++;
		EXPECT(found->number == s->number);
		EXPECT((s->verdict < FXT_FILTER_LEAVE) == (found->index != 0) || indices == strings_most ||
		       FIRST_INDEX + indices > FXT_STRING_MAX_INDEX);
		EXPECT(part.lost[FXT_LOSS_UNNAMED] == cut + s->is_cut);
	}
	EXPECT(found->index == s->index && found->verdict == s->verdict && found->bytes == cut_bytes(s));
	EXPECT(found->names == (s->index ? fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, s->index)
					 : FXT_FUNCTION_UNNAMED(address)));
	EXPECT(fxt_function_is(found, address) == s->is_quick);
	if (s->index)
		EXPECT(fxt_function_name_of(s->index, &bytes) == found->name && bytes == found->bytes);
}

/* Functions are known when they are met again; those whose files are gone are not, until they are back. */
START_TEST(table)
{
	unsigned step, i, gone = 0;
	size_t slot, count;

	begin(FEW);
	for (step = 0; step < STEPS; step++) {
		look_for((unsigned)random_below(FEW));
		if (random_below(600))
			continue;
		/* A file goes, with the functions of a stretch. */
		any_unloaded = random_below(3) != 0;
		i = (unsigned)random_below(FEW);
		for (count = random_below(100); count-- && i < FEW; i++)
			symbols[i].is_mapped = false;
		EXPECT(fxt_functions_unloaded() == any_unloaded);
		for (i = 0; i < FEW; i++) {
			struct symbol *s = &symbols[i];

			if (any_unloaded && s->entry && !s->is_mapped && !s->is_gone) {
				s->is_gone = true;
				gone++;
			}
			if (any_unloaded && !s->is_mapped && random_below(2) == 0) {
				/* Another one is loaded there. */
				make_symbol(s);
			}
			s->is_mapped = true;
		}
	}
	ck_assert_uint_gt(gone, 0);
	for (slot = count = 0; fxt_function_next(&slot); count++)
		;
	ck_assert_uint_eq(count, known_count);
	size_t bytes;
	EXPECT(!fxt_function_name_of(0, &bytes));
	EXPECT(!fxt_function_name_of(FIRST_INDEX + indices, &bytes));
}
END_TEST

/* Half of the largest table is used at most; then functions have no entry, and those that are known still
 * have theirs. A small table grows. */
START_TEST(full)
{
	unsigned i;

	begin(MANY);
	if (_i == 1)
		address_limit = 64 * sizeof(struct fxt_function) * 3000;
	if (_i == 2)
		EXPECT(fxt_function_find_named(address_of(0)));
	for (i = 0; i < MANY; i++) {
		const struct fxt_function *found = fxt_function_find(address_of(i));

		EXPECT((found != NULL) == (i < MOST_ENTRIES / 2));
		if (i == 0)
			EXPECT(entry_count() == (_i ? (size_t)LEAST_ENTRIES : (size_t)MOST_ENTRIES));
	}
	for (i = 0; i < MANY; i += 7)
		EXPECT((fxt_function_find(address_of(i)) != NULL) == (i < MOST_ENTRIES / 2));
	EXPECT(fxt_function_names(address_of(MANY - 1)) == FXT_FUNCTION_UNNAMED(address_of(MANY - 1)));
	EXPECT(fxt_function_names(address_of(5)) != FXT_FUNCTION_UNNAMED(address_of(5)) ||
	       symbols[5].verdict >= FXT_FILTER_LEAVE);
	/* Those that were copied when the table grew are found when their file is gone. */
	any_unloaded = true;
	for (i = 0; i < 9; i++)
		symbols[i * 30].is_mapped = false;
	EXPECT(fxt_functions_unloaded());
	for (i = 0; i < 270; i++)
		EXPECT(!look(address_of(i)) == (i % 30 == 0));
	/* There are no more indices than the format has. */
	ck_assert_uint_eq(FIRST_INDEX + indices - 1, FXT_STRING_MAX_INDEX);
}
END_TEST

/* The first table has the size that the limits allow. */
START_TEST(sizes)
{
	static const struct {
		unsigned entries, wanted;
	} cases[] = {{MOST_ENTRIES, MOST_ENTRIES}, {MOST_ENTRIES - 1, MOST_ENTRIES / 4},
		     {MOST_ENTRIES / 4, MOST_ENTRIES / 4}, {MOST_ENTRIES / 4 - 1, MOST_ENTRIES / 16},
		     {5, LEAST_ENTRIES}};
	rlim_t limit = (rlim_t)cases[_i % 5].entries * sizeof(struct fxt_function) * LIMIT_SHARE;

	begin(10);
	(_i >= 5 ? &data_limit : &address_limit)[0] = limit;
	EXPECT(fxt_function_find(address_of(1)));
	ck_assert_uint_eq(entry_count(), cases[_i % 5].wanted);
}
END_TEST

/* Without memory, or in a bad moment, there is no entry, and later there is. */
START_TEST(not_now)
{
	struct fxt_code_file file;

	begin(LEAST_ENTRIES * 2);
	lacks_memory = true;
	EXPECT(!fxt_function_find(address_of(0)));
	lacks_memory = false;
	fxt_forbidden = FXT_NO_OTHERS;
	EXPECT(!fxt_function_find(address_of(0)) && !fxt_function_file(5, &file));
	fxt_forbidden = 0;
	part.stack_is_short = true;
	EXPECT(!fxt_function_find(address_of(0)) && !fxt_function_file(5, &file));
	part.stack_is_short = false;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	EXPECT(!fxt_function_find(address_of(0)) && !fxt_function_file(5, &file));
	fxt_lender = 0;
	EXPECT(!names_asked && fxt_function_file(5, &file));
	/* Where there is little memory, the table is smaller. */
	most_memory = _i ? SIZE_MAX : LEAST_ENTRIES * 4 * sizeof(struct fxt_function) + 5;
	if (!_i)
		most_memory = most_memory < (FXT_STRING_MAX_INDEX + 1) * 8 ? (FXT_STRING_MAX_INDEX + 1) * 8
									    : most_memory;
	limit_refused = _i == 2;
	EXPECT(fxt_function_find(address_of(0)));
	EXPECT(_i ? entry_count() == MOST_ENTRIES : entry_count() < MOST_ENTRIES);
	EXPECT(entry_count() * sizeof(struct fxt_function) <= most_memory);
}
END_TEST

/* A table that cannot grow is full when half of it is used. */
START_TEST(cannot)
{
	unsigned i;

	begin(LEAST_ENTRIES * 2);
	EXPECT(fxt_function_find_named(address_of(0)));
	lacks_memory = true;
	for (i = 1; i < LEAST_ENTRIES; i++)
		EXPECT((fxt_function_find_named(address_of(i)) != NULL) == (i < LEAST_ENTRIES / 2));
	EXPECT(fxt_function_find(address_of(5)));
	ck_assert_uint_eq(entry_count(), LEAST_ENTRIES);
}
END_TEST

/* Strings that find no room end the giving of indices. */
START_TEST(no_room_for_strings)
{
	unsigned i;

	begin(100);
	part.has_file = _i;
	strings_most = 20;
	for (i = 0; i < 100; i++)
		symbols[i].verdict = FXT_FILTER_KEEP, make_symbol(&symbols[i]);
	for (i = 0; i < 100; i++) {
		EXPECT(fxt_function_find(address_of(i))->index == (_i && i < 20 ? FIRST_INDEX + i : 0u));
		if (i == 50)
			strings_most = UINT32_MAX;
	}
}
END_TEST

/* -- The rest -------------------------------------------------------------------------------------- */

/* The child of a fork knows no function. */
START_TEST(forked)
{
	uint32_t own[4];
	size_t home;
	size_t slot = 0;

	begin(FEW);
	EXPECT(fxt_function_find_named(address_of(1)) && fxt_function_find(address_of(2)));
	functions.lock.taken = 1;
	part_thread.names.defined = own;
	part_thread.names.quick = own;
	fxt_functions_after_fork();
	/* Memory that cannot be given back is not the child's. */
	EXPECT(part_thread.names.defined == fxt_functions_none_defined);
	EXPECT(part_thread.names.quick == fxt_functions_none_defined);
	EXPECT(!functions.lock.taken && forgotten == 1 && !fxt_function_next(&slot));
	indices = known_count = 0;
	look_for(2);
	look_for(1);
	EXPECT(names_asked >= 4);
	/* The table that was used before is empty as well. */
	home = fxt_function_slot(address_of(1)) & (tables[1].count - 1);
	EXPECT(table_count < 2 || !tables[1].entries[home].address);
}
END_TEST

/* A call through a linkage table has its name from there, and is never unloaded. Looks with other needs. */
START_TEST(others)
{
	uintptr_t stub = (uintptr_t)fxt_plt_stubs;
	const struct fxt_function *found;
	size_t bytes;
	uint32_t offset;

	begin(FEW);
	found = fxt_function_find(stub);
	EXPECT(found && found->bytes == 6 && !memcmp(found->name, "called", 6) && !names_asked);
	EXPECT(found->names == fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_plt, found->index));
	any_unloaded = true;
	EXPECT(fxt_functions_unloaded() && fxt_function_find(stub) == found && filter_asked == 1);
	EXPECT(!strcmp(fxt_function_object_name(1, 2, &bytes, &offset), "obj") && bytes == 3 && offset == 4);
	EXPECT(fxt_function_code(2) == (enum fxt_code_kind)2);
	EXPECT(fxt_function_is_mapped(address_of(3)));
	symbols[3].is_mapped = false;
	EXPECT(!fxt_function_is_mapped(address_of(3)) && !functions.lock.taken);
	/* With a filter of trees, or one of depth, each function needs a look. */
	fxt_function_filter.has_trees = true;
	symbols[8].verdict = symbols[9].verdict = symbols[10].verdict = FXT_FILTER_KEEP;
	make_symbol(&symbols[8]), make_symbol(&symbols[9]), make_symbol(&symbols[10]);
	EXPECT(!fxt_function_is(fxt_function_find(address_of(8)), address_of(8)));
	fxt_function_filter.has_trees = false;
	fxt_agent.config.function_depth = 4;
	EXPECT(!fxt_function_is(fxt_function_find(address_of(9)), address_of(9)));
	fxt_agent.config.function_depth = 0;
	EXPECT(fxt_function_is(fxt_function_find(address_of(10)), address_of(10)));
	/* After each dlclose, unless it is a bad moment. */
	symbols[10].is_mapped = false;
	part.stack_is_short = true;
	fxt_functions_after_unload();
	EXPECT(look(address_of(10)));
	part.stack_is_short = false;
	fxt_functions_after_unload();
	EXPECT(!look(address_of(10)));
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("function table");

	tcase_set_timeout(test, 60);
	tcase_add_test(test, table);
	tcase_add_loop_test(test, full, 0, 3);
	tcase_add_loop_test(test, sizes, 0, 10);
	tcase_add_loop_test(test, not_now, 0, 3);
	tcase_add_test(test, cannot);
	tcase_add_loop_test(test, no_room_for_strings, 0, 2);
	tcase_add_test(test, forked);
	tcase_add_test(test, others);
	return RUN_SUITE("function table", test);
}
