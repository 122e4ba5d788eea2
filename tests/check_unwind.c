/* This tests agent/stacks/unwind.h and code.h. Stacks of functions with frames of every kind, called in a
 * random order, are followed by our rules and by the compiler's unwinder, which has to find the same. Damaged
 * tables are read without reading anything else. FXT_SEED names the order and the damage. */
#include <alloca.h>
#include <check.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "agent/stacks/code.h"
#include "suite.h"

enum { DEPTH_MOST = 40, FRAMES_MOST = 200, WALKS = 3000, DAMAGES = 200000 };

static unsigned long long state;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % below;
}

static void begin_random(void)
{
	const char *seed = getenv("FXT_SEED");

	state = seed ? strtoull(seed, NULL, 10) : (unsigned long long)getpid() * 2654435761u;
	printf("FXT_SEED=%llu\n", state);
	fflush(stdout);
}

/* -- Stacks ---------------------------------------------------------------------------------------- */

#define APART __attribute__((noinline, noclone))

static size_t compared, frames_of_library;

struct stack {
	uintptr_t places[FRAMES_MOST];
	int count;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
	struct stack *stack = argument;

	if (stack->count == FRAMES_MOST)
		return _URC_END_OF_STACK;
	stack->places[stack->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Follows the stack as a wrapper of the agent does, and compares it with the unwinder's, as far as there are
 * rules. At least so many frames have some. */
APART static void look(unsigned least)
{
	const uintptr_t *own = __builtin_frame_address(0);
	struct fxt_frame at = {own[1], (uintptr_t)(own + 2), own[0]};
	struct stack all = {.count = 0};
	struct fxt_code_latest latest = {0};
	struct fxt_code code;
	int i;

	_Unwind_Backtrace(take_frame, &all);
	/* The first address is in this function. */
	for (i = 1; i < all.count; i++, compared++) {
		/* An assertion of Check writes something each time. */
		if (at.place != all.places[i])
			ck_abort_msg("frame %d: %#lx and not %#lx", i, at.place, all.places[i]);
		code = fxt_code_at(at.place, &latest);
		frames_of_library += code.module != fxt_code_own();
		if (code.how != FXT_UNWIND_RULE || !fxt_unwind_step(&code.rule, UINTPTR_MAX, &at))
			break;
	}
	ck_assert_msg(i > (int)least, "%d of %d frames", i, all.count);
}

static void call_on(unsigned depth);
static volatile unsigned sink;

/* Has no frame but the return address, and perhaps a few registers. */
APART static void plain(unsigned depth)
{
	call_on(depth);
	sink++;
}

APART __attribute__((optimize("no-omit-frame-pointer"))) static void with_frame_pointer(unsigned depth)
{
	call_on(depth);
	sink++;
}

APART static void with_array(unsigned depth)
{
	volatile char array[3000];

	array[depth] = (char)depth;
	call_on(depth);
	sink += (unsigned char)array[depth];
}

/* Its frame has no fixed size, so it is found by the frame pointer. */
APART static void with_alloca(unsigned depth)
{
	volatile char *array = alloca(16 + draw(2000));

	array[0] = (char)depth;
	call_on(depth);
	sink += (unsigned char)array[0];
}

/* Aligns its stack, and has no fixed size either. */
APART static void with_alignment(unsigned depth)
{
	_Alignas(64) volatile char array[64];
	volatile char *more = alloca(16 + draw(500));

	array[depth] = more[0] = (char)depth;
	ck_assert_uint_eq((uintptr_t)array % 64, 0);
	call_on(depth);
	sink += (unsigned char)array[depth];
}

/* Uses all registers that a function has to keep. */
APART static void with_registers(unsigned depth)
{
	unsigned a = sink, b = a * 3 + 1, c = b ^ a, d = c * 7, e = d - b, f = e * a;

	call_on(depth);
	sink = a + b * 3 + c * 5 + d * 7 + e * 11 + f;
}

/* Passes more arguments than there are registers for them. */
APART static unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,
			   unsigned h, unsigned depth)
{
	call_on(depth);
	return a + b + c + d + e + f + g + h;
}

APART static void with_arguments(unsigned depth)
{
	sink = many(1, 2, sink, 4, 5, 6, 7, sink, depth);
}

/* Returns in its middle, so its table remembers a state. */
APART static int returns_early(unsigned depth, int way)
{
	char text[40];

	if (way == 3)
		return snprintf(text, sizeof(text), "%d", way);
	call_on(depth);
	return way + snprintf(text, sizeof(text), "%u", depth);
}

APART static void with_early_return(unsigned depth)
{
	sink = (unsigned)returns_early(depth, 3) + (unsigned)returns_early(depth, (int)draw(3));
}

static unsigned depth_below;

static int compare(const void *a, const void *b)
{
	unsigned depth = depth_below;

	if (depth) {
		depth_below = 0;
		call_on(depth);
	}
	return *(const int *)a - *(const int *)b;
}

/* Calls through functions of the C library. */
APART static void through_sort(unsigned depth)
{
	int numbers[] = {3, 1, 2, (int)draw(9)};

	depth_below = depth;
	qsort(numbers, 4, sizeof(*numbers), compare);
	sink++;
}

APART static void through_search(unsigned depth)
{
	static const int numbers[] = {1, 2, 3, 4, 5};
	int key = (int)draw(6);

	depth_below = depth;
	sink += bsearch(&key, numbers, 5, sizeof(*numbers), compare) != NULL;
}

static void (*const kinds[])(unsigned depth) = {plain, with_frame_pointer, with_array, with_alloca,
	with_alignment, with_registers, with_arguments, with_early_return, through_sort, through_search};
static unsigned depth_of_all;

APART static void call_on(unsigned depth)
{
	if (depth == 0)
		look(depth_of_all);
	else
		kinds[draw(sizeof(kinds) / sizeof(*kinds))](depth - 1);
	sink++;
}

START_TEST(stacks_are_as_the_unwinder_has_them)
{
	int i;

	begin_random();
	for (i = 0; i < WALKS; i++) {
		depth_of_all = draw(DEPTH_MOST);
		call_on(depth_of_all);
	}
	/* The stack ends above main(), so no walk has fewer frames than calls. */
	ck_assert_uint_gt(compared, WALKS);
	ck_assert_uint_gt(frames_of_library, WALKS);
}
END_TEST

START_TEST(no_rule_leads_out_of_the_stack)
{
	uintptr_t stack[8] = {0, 0, 0, 0, 0, 0, 0, 77};
	struct fxt_unwind_rule rule = {.caller_sp = 16, .saved_fp = -16};
	struct fxt_frame frame = {1, (uintptr_t)stack, 2}, before = frame;
	uintptr_t high = (uintptr_t)(stack + 8);

	/* The caller's frame has to begin above this one, and not above the stack's end. */
	rule.caller_sp = 0;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	rule.caller_sp = sizeof(stack) + 8;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	rule.caller_sp = -64;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	rule.caller_sp = 20;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	/* What it has saved lies in its frame. */
	rule = (struct fxt_unwind_rule){.caller_sp = 16, .saved_fp = -24};
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	ck_assert(!fxt_unwind_step_from(&rule, frame.sp - 7, high, &frame));
	ck_assert_mem_eq(&frame, &before, sizeof(frame));
	rule = (struct fxt_unwind_rule){.caller_sp = 16, .saved_fp = 8};
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	/* The frame pointer may be anything. */
	rule = (struct fxt_unwind_rule){.caller_sp = 16, .is_from_fp = true};
	frame.fp = UINTPTR_MAX - 7;
	before = frame;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	ck_assert_mem_eq(&frame, &before, sizeof(frame));
	rule = (struct fxt_unwind_rule){.caller_sp = sizeof(stack), .saved_fp = -16};
	ck_assert(fxt_unwind_step(&rule, high, &frame));
	ck_assert_uint_eq(frame.place, 77);
	ck_assert_uint_eq(frame.sp, high);
	ck_assert_uint_eq(frame.fp, 0);
}
END_TEST

/* A function that has aligned its stack keeps in memory where its caller's frame is. The frame pointer and
 * what stands there may be anything: all that lies outside of the stack, or is odd, is refused. */
START_TEST(aligned_frames)
{
	enum { WORDS = 12, PAST = 3 };
	uintptr_t memory[WORDS + 2 * PAST], *stack = memory + PAST, high = (uintptr_t)(stack + WORDS), i;
	unsigned round, right = 0;

	begin_random();
	for (round = 0; round < 200000; round++) {
		uintptr_t sp = (uintptr_t)(stack + draw(3)), holder, held;
		uintptr_t fp = (uintptr_t)memory + draw(WORDS + 2 * PAST) * 8 + (draw(8) ? 0 : draw(8));
		struct fxt_unwind_rule rule = {.caller_sp = (int32_t)draw(9) * 8 - 32, .is_aligned = true};
		struct fxt_frame frame = {1, sp, fp}, before = frame;
		bool is_right;

		for (i = 0; i < WORDS + 2 * PAST; i++)
			memory[i] = (uintptr_t)memory + draw(WORDS + 2 * PAST) * 8 + (draw(16) ? 0 : draw(8));
		holder = fp + (uintptr_t)(intptr_t)rule.caller_sp;
		is_right = holder >= sp && holder + 8 <= high && holder % 8 == 0 && fp >= sp &&
			   fp + 8 <= high && fp % 8 == 0;
		held = is_right ? *(uintptr_t *)holder : 0;
		is_right = is_right && held >= sp + 8 && held <= high && held % 8 == 0;
		if (fxt_unwind_step(&rule, high, &frame) != is_right)
			ck_abort_msg("fp %zd, sp %zd, caller_sp %d", (ssize_t)(fp - (uintptr_t)stack),
				     (ssize_t)(sp - (uintptr_t)stack), rule.caller_sp);
		if (is_right)
			before = (struct fxt_frame){((uintptr_t *)held)[-1], held, *(uintptr_t *)fp};
		if (memcmp(&frame, &before, sizeof(frame)))
			ck_abort_msg("the frame is another one");
		right += is_right;
	}
	ck_assert_uint_gt(right, 0);
}
END_TEST

/* -- Damaged files --------------------------------------------------------------------------------- */

/* Maps memory of this size that ends where nothing may be read. */
static uint8_t *guarded(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
	uint8_t *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(memory != MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + room, page, PROT_NONE), 0);
	return memory + room - bytes;
}

static void unmap_guarded(uint8_t *memory, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;

	ck_assert_int_eq(munmap(memory + bytes - room, room + page), 0);
}

/* Finds the tables of this program. */
static int find_tables(struct dl_phdr_info *info, size_t bytes, void *tables)
{
	(void)bytes;
	ck_assert(fxt_unwind_find(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, tables));
	return 1;
}

START_TEST(damaged_tables_are_only_read)
{
	struct fxt_unwind_known known = {0};
	struct fxt_unwind_tables whole, tables;
	struct fxt_unwind_rule rule;
	size_t bytes, header, found = 0, at;
	uintptr_t code;
	uint8_t *copy, before;
	unsigned i, n;

	begin_random();
	ck_assert_int_eq(dl_iterate_phdr(find_tables, &whole), 1);
	/* All addresses in the tables are relative to themselves, so a copy is about code that lies as far
	 * from it. The copy is aligned as the original. */
	bytes = ((size_t)(whole.high - whole.low) + 15) / 16 * 16;
	header = (size_t)(whole.header - whole.low);
	copy = guarded(bytes);
	memcpy(copy, whole.low, (size_t)(whole.high - whole.low));
	code = (uintptr_t)copy + ((uintptr_t)look - (uintptr_t)whole.low);
	tables = (struct fxt_unwind_tables){.header = copy + header, .low = copy, .high = copy + bytes};
	ck_assert_int_eq(fxt_unwind_rule(&tables, code, &rule), FXT_UNWIND_RULE);
	for (i = 0; i < DAMAGES; i++) {
		at = header + draw((unsigned)(bytes - header));
		before = copy[at];
		copy[at] = (uint8_t)draw(256);
		if (!draw(4))
			known = (struct fxt_unwind_known){.functions = 0};
		tables.known = draw(2) ? &known : NULL;
		for (n = 0; n < 4; n++)
			found += fxt_unwind_rule(&tables, code - 4096 + draw(8192), &rule) == FXT_UNWIND_RULE;
		/* Damage piles up for a while. */
		if (draw(16))
			copy[at] = before;
		else if (!draw(8))
			memcpy(copy, whole.low, (size_t)(whole.high - whole.low));
	}
	ck_assert_uint_gt(found, 0);
	/* Tables that were cut short are not read behind their end. */
	memcpy(copy, whole.low, (size_t)(whole.high - whole.low));
	for (i = 0; i < 2000; i++) {
		size_t less = draw((unsigned)(bytes - header)) / 8 * 8;
		uint8_t *end = guarded(bytes - less);

		memcpy(end, copy, bytes - less);
		tables = (struct fxt_unwind_tables){
			.header = end + header, .low = end, .high = end + bytes - less};
		/* What is kept need not be what stands there. */
		if (draw(2))
			tables.known = &known;
		fxt_unwind_rule(&tables, (uintptr_t)end + (code - (uintptr_t)copy) + draw(4096), &rule);
		unmap_guarded(end, bytes - less);
	}
}
END_TEST

enum { OBJECTS = 8 };

struct objects {
	struct fxt_unwind_tables tables[OBJECTS];
	uintptr_t low[OBJECTS], bytes[OBJECTS];         /* their code */
	unsigned count;
};

/* Finds the tables and the code of each object that has both. */
static int find_objects(struct dl_phdr_info *info, size_t bytes, void *to)
{
	struct objects *all = to;
	int i;

	(void)bytes;
	if (all->count == OBJECTS ||
	    !fxt_unwind_find(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &all->tables[all->count]))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			all->low[all->count] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			all->bytes[all->count] = info->dlpi_phdr[i].p_memsz;
			all->count++;
			return 0;
		}
	return 0;
}

/* What is kept of a table leads to the same rules, and to fewer questions. */
START_TEST(what_is_kept_of_tables_changes_no_rule)
{
	static struct fxt_unwind_known known[OBJECTS];
	struct objects all = {.count = 0};
	unsigned i, found = 0, asked = 0, asked_less = 0;

	begin_random();
	dl_iterate_phdr(find_objects, &all);
	ck_assert_uint_gt(all.count, 1);
	for (i = 0; i < 20000; i++) {
		unsigned which = draw(all.count);
		uintptr_t place = all.low[which] + draw((unsigned)all.bytes[which]);
		struct fxt_unwind_tables without = all.tables[which], with = without;
		struct fxt_unwind_rule right = {0}, rule = {0};
		enum fxt_unwind_found how = fxt_unwind_rule(&without, place, &right);

		with.known = &known[which];
		ck_assert_int_eq(fxt_unwind_rule(&with, place, &rule), how);
		ck_assert(rule.caller_sp == right.caller_sp && rule.saved_fp == right.saved_fp &&
			  rule.is_from_fp == right.is_from_fp && rule.is_aligned == right.is_aligned);
		found += how == FXT_UNWIND_RULE;
		asked += without.reach.next;
		asked_less += with.reach.next;
	}
	ck_assert_uint_gt(found, 1000);
	ck_assert_msg(asked_less * 6 < asked * 5, "%u questions, and %u without", asked_less, asked);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("unwind");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, stacks_are_as_the_unwinder_has_them);
	tcase_add_test(tests, no_rule_leads_out_of_the_stack);
	tcase_add_test(tests, aligned_frames);
	tcase_add_test(tests, damaged_tables_are_only_read);
	tcase_add_test(tests, what_is_kept_of_tables_changes_no_rule);
	return RUN_SUITE("unwind", tests);
}
