/* This tests agent/names/unwind.h. Stacks of functions with frames of every kind, called in a random order,
 * are followed by our rules and by the compiler's unwinder, which has to find the same. Damaged tables
 * are read without reading anything else. FXT_SEED names the order and the damage. */
#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include "agent/names/unwind.h"
#include "suite.h"

enum { DEPTH_MOST = 40, FRAMES_MOST = 200, FILES_MOST = 16, WALKS = 3000, DAMAGES = 200000 };

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

/* -- Files of the objects -------------------------------------------------------------------------- */

struct file {
	uintptr_t base;
	const void *image;
	size_t bytes;
};

static struct file files[FILES_MOST];
static size_t file_count;

/* Returns the file of the object with code at `address`, mapped for good. */
static const struct file *file_of(uintptr_t address)
{
	struct link_map *object;
	struct file *file;
	struct stat status;
	Dl_info info;
	int fd;

	ck_assert(dladdr1((void *)address, &info, (void **)&object, RTLD_DL_LINKMAP));
	for (file = files; file < files + file_count; file++)
		if (file->base == (uintptr_t)info.dli_fbase)
			return file;
	ck_assert_uint_lt(file_count, FILES_MOST);
	fd = open(object->l_name[0] ? object->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	file->image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(file->image != MAP_FAILED);
	close(fd);
	file->bytes = (size_t)status.st_size;
	file->base = (uintptr_t)info.dli_fbase;
	file_count++;
	return file;
}

static bool rule_at(uintptr_t address, struct fxt_unwind_rule *rule)
{
	const struct file *file = file_of(address);
	const Elf64_Ehdr *header = file->image;
	const Elf64_Phdr *first = (const void *)((const char *)file->image + header->e_phoff);
	struct fxt_unwind_tables tables;

	while (first->p_type != PT_LOAD)
		first++;
	return fxt_unwind_find(file->image, file->bytes, &tables) &&
	       fxt_unwind_rule(&tables, address - file->base + first->p_vaddr, rule);
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
	struct fxt_unwind_rule rule;
	struct stack all = {.count = 0};
	int i;

	_Unwind_Backtrace(take_frame, &all);
	/* The first address is in this function. */
	for (i = 1; i < all.count; i++, compared++) {
		ck_assert_msg(at.place == all.places[i], "frame %d: %#lx and not %#lx", i, at.place,
			      all.places[i]);
		frames_of_library += file_of(at.place)->base != file_of((uintptr_t)look)->base;
		if (!rule_at(at.place - 1, &rule) || !fxt_unwind_step(&rule, UINTPTR_MAX, &at))
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
	with_registers, with_arguments, with_early_return, through_sort, through_search};
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
	struct fxt_unwind_rule rule = {16, -16, false};
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
	rule = (struct fxt_unwind_rule){16, -24, false};
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	rule = (struct fxt_unwind_rule){16, 8, false};
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	/* The frame pointer may be anything. */
	rule = (struct fxt_unwind_rule){16, 0, true};
	frame.fp = UINTPTR_MAX - 7;
	before = frame;
	ck_assert(!fxt_unwind_step(&rule, high, &frame));
	ck_assert_mem_eq(&frame, &before, sizeof(frame));
	rule = (struct fxt_unwind_rule){sizeof(stack), -16, false};
	ck_assert(fxt_unwind_step(&rule, high, &frame));
	ck_assert_uint_eq(frame.place, 77);
	ck_assert_uint_eq(frame.sp, high);
	ck_assert_uint_eq(frame.fp, 0);
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

START_TEST(damaged_tables_are_only_read)
{
	const struct file *file = file_of((uintptr_t)look);
	struct fxt_unwind_tables whole, tables;
	struct fxt_unwind_rule rule;
	size_t bytes, span, found = 0, at;
	uint8_t *copy, before;
	unsigned i, n;

	begin_random();
	ck_assert(fxt_unwind_find(file->image, file->bytes, &whole));
	/* The copy ends with the segment that has the tables. ELF headers are aligned, and so is the copy. */
	bytes = ((size_t)(whole.high - (const uint8_t *)file->image) + 15) / 16 * 16;
	bytes = bytes < file->bytes ? bytes : file->bytes / 16 * 16;
	copy = guarded(bytes);
	memcpy(copy, file->image, bytes);
	span = bytes - (size_t)(whole.header - (const uint8_t *)file->image);
	for (i = 0; i < DAMAGES; i++) {
		/* Most of the damage is to the tables and some of it to the headers. */
		at = draw(8) ? bytes - 1 - draw((unsigned)span) : draw(1024);
		before = copy[at];
		copy[at] = (uint8_t)draw(256);
		for (n = 0; n < 4; n++)
			if (fxt_unwind_find(copy, bytes, &tables))
				found += fxt_unwind_rule(&tables, whole.low_address - draw((unsigned)bytes),
							 &rule);
		/* Damage piles up for a while. */
		if (draw(16))
			copy[at] = before;
		else if (!draw(8))
			memcpy(copy, file->image, bytes);
	}
	ck_assert_uint_gt(found, 0);
	/* A file that was cut short has its tables or none. */
	memcpy(copy, file->image, bytes);
	for (i = 0; i < 2000; i++) {
		size_t less = draw((unsigned)bytes) / 8 * 8;
		uint8_t *end = copy + less;

		if (fxt_unwind_find(end, bytes - less, &tables))
			fxt_unwind_rule(&tables, whole.low_address - draw((unsigned)bytes), &rule);
		if (fxt_unwind_find(copy, less, &tables))
			ck_assert(tables.high <= end);
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("unwind");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, stacks_are_as_the_unwinder_has_them);
	tcase_add_test(tests, no_rule_leads_out_of_the_stack);
	tcase_add_test(tests, damaged_tables_are_only_read);
	RUN_SUITE("unwind", tests);
}
