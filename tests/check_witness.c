/* This tests what takes the kernel's records (tools/witness/): the rings, from which records come in the
 * order of time, and what processes have mapped. Sizes, counts and orders follow from FXT_SEED
 * (apps/random.h), and all is compared with a model. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "apps/random.h"
#include "tools/common/kernel_clock.h"
#include "tools/witness/fresh_tasks.h"
#include "tools/witness/perf_events.h"
#include "tools/witness/spaces.h"
#include "tools/witness/unwind_call.h"
#include "tools/witness/unwind_stack.h"
#include "writer/apart.h"

/* -- Mappings ---------------------------------------------------------------------------------------- */

enum { PAGES = 200, PAGE = 4096, FILES = 5 };

static const uint64_t BASE = UINT64_C(0x7f0000000000);

/* What is mapped at a page: the file's number (0: nothing) and the offset in it. */
struct page {
	unsigned file;
	uint64_t offset;
};

static void compare(const struct fxt_space *space, const struct page *pages, struct fxt_module **files)
{
	for (unsigned i = 0; i < PAGES; i++) {
		uint64_t address = BASE + i * PAGE + random_below(PAGE);
		const struct fxt_mapping *found = fxt_space_find(space, address);

		ck_assert(!found == !pages[i].file);
		if (!found)
			continue;
		ck_assert_ptr_eq(found->module, files[pages[i].file]);
		ck_assert_uint_eq(address - found->start + found->offset, pages[i].offset + address % PAGE);
	}
	ck_assert_ptr_null(fxt_space_find(space, BASE - 1));
	ck_assert_ptr_null(fxt_space_find(space, BASE + PAGES * PAGE));
}

START_TEST(mappings)
{
	struct fxt_spaces spaces = {0};
	struct fxt_space *space = fxt_space_of(&spaces, 7);
	static struct page pages[PAGES];
	struct fxt_module *files[FILES + 1] = {NULL};
	char path[32];
	unsigned i, k, first, count, file;

	random_seed((uint64_t)_i);
	memset(pages, 0, sizeof(pages));
	for (i = 1; i <= FILES; i++) {
		snprintf(path, sizeof(path), "/nowhere/%u", i);
		files[i] = fxt_module_at(&spaces.modules, path, i);
		ck_assert_uint_eq(fxt_module_number(files[i]), i);
	}
	for (i = 0; i < 500; i++) {
		first = (unsigned)random_below(PAGES);
		count = 1 + (unsigned)random_below(random_below(4) ? 8 : PAGES - first);
		count = count < PAGES - first ? count : PAGES - first;
		file = 1 + (unsigned)random_below(FILES);
		for (k = 0; k < count; k++)
			pages[first + k] = (struct page){file, (uint64_t)(i + k) * PAGE};
		snprintf(path, sizeof(path), "/nowhere/%u", file);
		fxt_space_map(&spaces, space, BASE + first * PAGE, (uint64_t)count * PAGE, (uint64_t)i * PAGE,
			      path, file);
		compare(space, pages, files);
		if (random_below(100) == 0) {
			fxt_space_copy(fxt_space_of(&spaces, 8 + i), space);
			/* The list of spaces may have moved, and the spaces have not. */
			ck_assert_ptr_eq(space, fxt_space_of(&spaces, 7));
			compare(fxt_space_of(&spaces, 8 + i), pages, files);
			fxt_space_clear(space);
			ck_assert_ptr_null(fxt_space_find(space, BASE + first * PAGE));
			space = fxt_space_of(&spaces, 7);
			memset(pages, 0, sizeof(pages));
		}
	}
	/* What makes no sense is no mapping. */
	fxt_space_map(&spaces, space, BASE, 0, 0, "/nowhere/1", 1);
	fxt_space_map(&spaces, space, UINT64_MAX - 5, 100, 0, "/nowhere/1", 1);
	compare(space, pages, files);
	fxt_spaces_free(&spaces);
}
END_TEST

/* -- Rings ------------------------------------------------------------------------------------------- */

enum { MOST_RINGS = 5, MOST_RECORDS = 4000 };

/* A record that was put into a ring. */
struct put {
	uint64_t time_ns;
	uint32_t number;
	bool is_sample, has_registers;
	size_t stack_bytes;
};

static struct put waiting[MOST_RECORDS];
static size_t waiting_count;
static uint64_t limit_ns, last_ns;
static size_t delivered;

/* Puts bytes into a ring as the kernel does. Returns false if there is no room. */
static bool put(struct fxt_perf_ring *ring, const void *bytes, size_t count)
{
	unsigned char *data = (unsigned char *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t head = ring->page->data_head;

	if (head - ring->page->data_tail + count > ring->bytes)
		return false;
	for (size_t i = 0; i < count; i++)
		data[(head + i) & (ring->bytes - 1)] = ((const unsigned char *)bytes)[i];
	__atomic_store_n(&ring->page->data_head, head + count, __ATOMIC_RELEASE);
	return true;
}

/* Fills in a record with this time and number, and notes what it has. Returns its size. */
static size_t make(uint64_t *words, struct put *it, uint32_t cpu)
{
	struct perf_event_header *header = (struct perf_event_header *)words;
	size_t n = 1, i;

	it->is_sample = random_below(2);
	it->has_registers = it->is_sample && FXT_PERF_REGISTERS && random_below(4);
	it->stack_bytes = 0;
	if (it->is_sample) {
		size_t room = random_below(3) ? 8 * random_below(200) : 0;

		words[n++] = it->number * UINT64_C(3);
		words[n++] = it->number | (uint64_t)(it->number + 1) << 32;
		words[n++] = it->time_ns;
		words[n++] = cpu;
		words[n++] = it->has_registers ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE;
		for (i = 0; it->has_registers && i < FXT_PERF_REGISTER_COUNT; i++)
			words[n++] = it->number + i;
		words[n++] = room;
		if (room) {
			for (i = 0; i < room / 8; i++)
				words[n++] = it->number ^ i;
			/* The kernel may say that less was there than there is room for. */
			it->stack_bytes = random_below(room + 1);
			words[n++] = it->stack_bytes;
		}
	} else {
		for (i = random_below(6); i > 0; i--)
			words[n++] = i;
		words[n++] = it->number | (uint64_t)(it->number + 1) << 32;
		words[n++] = it->time_ns;
		words[n++] = cpu;
	}
	*header = (struct perf_event_header){it->is_sample ? PERF_RECORD_SAMPLE : PERF_RECORD_SWITCH, 0,
					     (uint16_t)(n * 8)};
	return n * 8;
}

static void check_record(void *context, const struct fxt_perf_record *record)
{
	size_t i, at;

	(void)context;
	ck_assert_uint_ge(record->time_ns, last_ns);
	ck_assert_uint_lt(record->time_ns, limit_ns);
	last_ns = record->time_ns;
	for (at = 0; at < waiting_count; at++)
		if (waiting[at].number == record->pid)
			break;
	ck_assert_uint_lt(at, waiting_count);
	ck_assert_uint_eq(record->time_ns, waiting[at].time_ns);
	ck_assert_uint_eq(record->tid, record->pid + 1);
	ck_assert_int_eq(record->header->type == PERF_RECORD_SAMPLE, waiting[at].is_sample);
	ck_assert_int_eq(record->registers != NULL, waiting[at].has_registers);
	for (i = 0; record->registers && i < FXT_PERF_REGISTER_COUNT; i++)
		ck_assert_uint_eq(record->registers[i], record->pid + i);
	ck_assert_uint_eq(record->stack_bytes, waiting[at].stack_bytes);
	for (i = 0; i + 8 <= record->stack_bytes; i += 8) {
		uint64_t word;

		memcpy(&word, record->stack + i, 8);
		ck_assert_uint_eq(word, record->pid ^ i / 8);
	}
	waiting[at] = waiting[--waiting_count];
	delivered++;
}

static bool any_before(uint64_t time_ns)
{
	for (size_t i = 0; i < waiting_count; i++)
		if (waiting[i].time_ns < time_ns)
			return true;
	return false;
}

START_TEST(rings)
{
	static uint64_t words[1000];
	struct fxt_perf perf = {.rings = calloc(MOST_RINGS, sizeof(*perf.rings))};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), times[MOST_RINGS], now_ns;
	uint32_t number = 1;
	size_t i;

	random_seed(1000 + (uint64_t)_i);
	perf.full = perf.stop = -1;
	perf.count = 1 + random_below(MOST_RINGS);
	now_ns = fxt_clock_ns(CLOCK_BOOTTIME);
	for (i = 0; i < perf.count; i++) {
		perf.rings[i].bytes = page << random_below(4);
		perf.rings[i].page = calloc(1, page + perf.rings[i].bytes);
		/* A ring may have gone round before. */
		perf.rings[i].page->data_head = perf.rings[i].page->data_tail = 8 * random_below(1 << 20);
		times[i] = 1;
		/* The reader, if there is one, empties the rings all the time. */
		perf.rings[i].fd = eventfd(1, EFD_CLOEXEC);
		ck_assert_int_ge(perf.rings[i].fd, 0);
	}
	if (_i % 2)
		ck_assert(fxt_perf_begin_reading(&perf));
	waiting_count = delivered = 0;
	while (number < MOST_RECORDS) {
		struct put *it = &waiting[waiting_count];

		i = random_below(perf.count);
		/* Some are of a time that is still to come, and so are all behind them in that ring. */
		times[i] += random_below(500) ? random_below(1000) : random_below(10) ? 0 : 2 * now_ns;
		*it = (struct put){.time_ns = times[i], .number = number};
		if (put(&perf.rings[i], words, make(words, it, (uint32_t)i))) {
			waiting_count++;
			number += 2;
		} else if (times[i] > now_ns) {
			break;
		}
		if (random_below(20) == 0) {
			limit_ns = fxt_clock_ns(CLOCK_BOOTTIME);
			last_ns = 0;
			fxt_perf_take(&perf, false, check_record, NULL);
			ck_assert(!any_before(now_ns));
		}
	}
	fxt_perf_end_reading(&perf);
	limit_ns = UINT64_MAX;
	last_ns = 0;
	fxt_perf_take(&perf, true, check_record, NULL);
	ck_assert_uint_eq(waiting_count, 0);
	ck_assert_uint_gt(delivered, 10);
	ck_assert_uint_eq(perf.fresh_bytes, 0);
	for (i = 0; i < perf.count; i++) {
		close(perf.rings[i].fd);
		free(perf.rings[i].page);
		free(perf.rings[i].queue);
		free(perf.rings[i].fresh);
	}
	free(perf.rings);
}
END_TEST

static void count_records(void *context, const struct fxt_perf_record *record)
{
	(void)record;
	++*(size_t *)context;
}

/* Whatever is in a ring, nothing outside is read, and taking ends. */
START_TEST(garbage)
{
	struct fxt_perf perf = {.rings = calloc(1, sizeof(*perf.rings)), .count = 1};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct fxt_perf_ring *ring = perf.rings;
	size_t count = 0, i, round;

	random_seed(2000 + (uint64_t)_i);
	ring->bytes = page;
	ring->page = calloc(1, 2 * page);
	for (round = 0; round < 300; round++) {
		uint64_t word;

		for (i = random_below(page / 8); i > 0; i--) {
			word = random_below(2)
				       ? random_below(UINT32_MAX)
				       : (uint64_t)(random_below(12) * 8) << 48 | (1 + random_below(14));
			put(ring, &word, 8);
		}
		fxt_perf_take(&perf, random_below(2), count_records, &count);
		ck_assert_uint_eq(ring->page->data_head, ring->page->data_tail);
	}
	free(ring->page);
	free(ring->queue);
	free(ring->fresh);
	free(perf.rings);
}
END_TEST

/* All rings together have a seventh of what may be locked at most, and no ring could have twice as much. */
START_TEST(shares)
{
	const uint64_t page = UINT64_C(4096) << 2 * (_i % 3), most = 64 << 10;

	random_seed(5000 + (uint64_t)_i);
	for (unsigned round = 0; round < 10000; round++) {
		uint64_t processors = 1 + random_below(random_below(2) ? 8 : 300);
		uint64_t mlock = random_below(3) ? 516 << 10 : random_below(1 << (10 + random_below(12)));
		uint64_t limit = random_below(3) ? random_below(UINT64_C(1) << (10 + random_below(20)))
						 : UINT64_MAX;
		uint64_t all = mlock * processors < limit ? mlock * processors : limit;
		uint64_t bytes = fxt_perf_ring_bytes(mlock, limit, processors, page);

		ck_assert_uint_eq(bytes & (bytes - 1), 0);
		if (bytes) {
			ck_assert_uint_ge(bytes, page);
			ck_assert_uint_le(bytes, most);
			ck_assert_uint_le(7 * processors * (bytes + page), all);
		}
		if (bytes < most)
			ck_assert_uint_gt(7 * processors * ((bytes ? 2 * bytes : page) + page), all);
	}
	/* The usual figures of a machine with two processors. */
	ck_assert_uint_eq(fxt_perf_ring_bytes(516 << 10, 8 << 20, 2, 4096), 64 << 10);
	ck_assert_uint_eq(fxt_perf_ring_bytes(516 << 10, 64 << 10, 2, 4096), 0);
}
END_TEST

/* -- Helpers of the agent ------------------------------------------------------------------------------ */

enum { TASKS = 40, MOST_STEPS = 200 };

/* What a process does after it was forked. */
enum life { HELPER, EXECUTES, NAMES_ITSELF, ENDS, GOES_ON, LIVES };

static struct task {
	enum life life;
	unsigned before;                /* so many samples and switches come before it does that */
	unsigned done, samples, delivered, makers_samples;
} tasks[TASKS];

/* Delivers what belongs to a process. A helper's samples are those of its maker, 10000 above its number. */
static void take_fresh(void *context, const struct fxt_perf_record *record)
{
	bool is_sample = record->header->type == PERF_RECORD_SAMPLE;
	uint32_t pid = record->pid >= 10000 ? record->pid - 10000 : record->pid;

	(void)context;
	ck_assert_uint_lt(pid - 1, TASKS);
	ck_assert_uint_eq(record->pid, record->tid);
	if (is_sample) {
		/* What it points to is its own copy. */
		ck_assert_ptr_nonnull(record->registers);
		ck_assert_uint_eq(record->registers[0], pid);
		ck_assert_uint_eq(record->stack[0], pid);
	}
	if (record->pid >= 10000) {
		ck_assert(is_sample);
		tasks[pid - 1].makers_samples++;
		return;
	}
	/* They come in the order in which they were given. */
	ck_assert_uint_eq(record->time_ns, ++tasks[pid - 1].delivered);
}

/* Gives a record of a process, in memory that is overwritten afterwards. */
static void give(struct fxt_fresh_tasks *fresh, uint32_t pid, uint32_t type, const char *name, bool is_exec)
{
	static uint64_t words[16];
	struct fxt_perf_record record = {.header = (struct perf_event_header *)words,
					 .pid = pid,
					 .tid = pid,
					 .time_ns = tasks[pid - 1].done + 1};

	const struct perf_event_header header = {
		.type = type, .size = sizeof(words), .misc = is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0};

	memset(words, 0, sizeof(words));
	memcpy(words, &header, sizeof(header));
	if (name)
		strcpy((char *)(words + 2), name);
	if (type == PERF_RECORD_SAMPLE) {
		words[3] = words[4] = pid;
		record.registers = words + 3;
		record.stack = (unsigned char *)(words + 4);
		record.stack_bytes = 8;
	}
	if (!fxt_fresh_tasks_take(fresh, &record, take_fresh, NULL))
		take_fresh(NULL, &record);
	tasks[pid - 1].done++;
	tasks[pid - 1].samples += type == PERF_RECORD_SAMPLE;
	memset(words, 0xff, sizeof(words));
}

/* A process is known as a helper by what it does first, and nothing of any other one is missing. */
START_TEST(helpers)
{
	struct fxt_fresh_tasks fresh = {0};
	unsigned left = TASKS;

	random_seed(6000 + (uint64_t)_i);
	for (uint32_t pid = 1; pid <= TASKS; pid++) {
		struct task *task = &tasks[pid - 1];

		*task = (struct task){.life = (enum life)random_below(LIVES)};
		task->before = (unsigned)random_below(task->life == GOES_ON ? MOST_STEPS
						      : random_below(2)     ? 60
									    : 4);
		fxt_fresh_task_begin(&fresh, pid, pid + 10000, pid + 10000);
	}
	while (left) {
		uint32_t pid = 1 + (uint32_t)random_below(TASKS);
		struct task *task = &tasks[pid - 1];

		if (task->done < task->before) {
			give(&fresh, pid, random_below(2) ? PERF_RECORD_SAMPLE : PERF_RECORD_SWITCH, NULL,
			     false);
		} else if (task->done == task->before) {
			switch (task->life) {
			case HELPER: give(&fresh, pid, PERF_RECORD_COMM, FXT_HELPER_NAME, false); break;
			/* A program may have any name. */
			case EXECUTES: give(&fresh, pid, PERF_RECORD_COMM, FXT_HELPER_NAME, true); break;
			case NAMES_ITSELF:
				give(&fresh, pid, PERF_RECORD_COMM, FXT_HELPER_NAME + 1, false);
				break;
			case ENDS: give(&fresh, pid, PERF_RECORD_EXIT, NULL, false); break;
			default: give(&fresh, pid, PERF_RECORD_SWITCH, NULL, false); break;
			}
		} else if (task->done < task->before + 10) {
			give(&fresh, pid, random_below(2) ? PERF_RECORD_SAMPLE : PERF_RECORD_SWITCH, NULL,
			     false);
		} else if (task->done == task->before + 10) {
			/* Of a process that goes on nothing more may be known. */
			if (task->life != GOES_ON)
				give(&fresh, pid, PERF_RECORD_EXIT, NULL, false);
			else
				task->done++;
			left--;
		}
	}
	fxt_fresh_tasks_end(&fresh, take_fresh, NULL);
	for (unsigned i = 0; i < TASKS; i++) {
		unsigned all = tasks[i].before + (tasks[i].life == GOES_ON ? 10 : 11);

		ck_assert_uint_eq(tasks[i].delivered, tasks[i].life == HELPER ? 0 : all);
		ck_assert_uint_eq(tasks[i].makers_samples, tasks[i].life == HELPER ? tasks[i].samples : 0);
	}
}
END_TEST

static void count_record(void *context, const struct fxt_perf_record *record)
{
	(void)record;
	++*(unsigned *)context;
}

/* What is known of a process that was forked and waits since then is not held back for ever. */
START_TEST(those_that_wait)
{
	struct perf_event_header out = {.type = PERF_RECORD_SWITCH, .size = sizeof(out)};
	struct fxt_fresh_tasks fresh = {0};
	unsigned waits, taken = 0;
	struct fxt_perf_record record = {.header = &out, .pid = 5, .tid = 5, .time_ns = 1000};

	random_seed(6500 + (uint64_t)_i);
	waits = (unsigned)random_below(2);
	out.misc = PERF_RECORD_MISC_SWITCH_OUT;
	if (!waits)
		out.misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	fxt_fresh_task_begin(&fresh, 5, 4, 4);
	ck_assert(fxt_fresh_tasks_take(&fresh, &record, count_record, &taken));
	fxt_fresh_tasks_settle(&fresh, 1000 - random_below(500), count_record, &taken);
	ck_assert_uint_eq(taken, 0);
	fxt_fresh_tasks_settle(&fresh, 1001 + random_below(500), count_record, &taken);
	ck_assert_uint_eq(taken, waits);
	fxt_fresh_tasks_end(&fresh, count_record, &taken);
	ck_assert_uint_eq(taken, 1);
}
END_TEST

/* -- Stacks ------------------------------------------------------------------------------------------ */

/* A chain of frame pointers is followed to its end, and not out of the copy of the stack. */
START_TEST(frame_pointers)
{
	static uint64_t stack[1024], registers[FXT_PERF_REGISTER_COUNT];
	uint64_t base, at = 0, next, frames = 0, followed = 0;
	struct fxt_perf_record sample = {.registers = registers, .stack = (unsigned char *)stack};
	struct fxt_unwind unwind;

	random_seed(3000 + (uint64_t)_i);
	base = BASE + 8 * random_below(100);
	memset(stack, 0, sizeof(stack));
	sample.stack_bytes = 8 * random_below(1024);
	fxt_unwind_begin(&unwind, &sample);
	unwind.begin = unwind.registers[FXT_UNWIND_STACK] = base;
	unwind.registers[FXT_UNWIND_FRAME] = base;
	while (at + 2 <= sample.stack_bytes / 8) {
		next = at + 2 + random_below(30);
		stack[at] = base + 8 * next;
		stack[at + 1] = 1000 + frames++;
		at = next;
	}
	while (fxt_unwind_by_frame_pointer(&unwind)) {
		ck_assert_uint_eq(unwind.registers[FXT_UNWIND_PC], 1000 + followed);
		followed++;
	}
	ck_assert_uint_eq(followed, frames);
}
END_TEST

#if defined(__x86_64__)
enum {
	CODE_BYTES = 8192, FUNCTION = 2048, OTHER = 3000, WORD_AT = 1024, STUB = 1100, STACK_WORDS = 512,
	USUAL = 4096, LESS_USUAL = 5000,        /* functions that jump to the function, by steps */
};
enum how {
	DIRECT, BY_STUB, BY_STUB_ENDBR, BY_STUB_BND, BY_WORD, BY_JUMP, BY_WORD_AND_JUMPS, HOWS,
	BY_REGISTER, OF_ANOTHER
};

static unsigned char code[CODE_BYTES];

static uint64_t address_of(size_t at)
{
	return (uint64_t)(uintptr_t)(code + at);
}

/* Writes an instruction that ends with the distance to `target`. Returns the place behind it. */
static size_t put_relative(size_t at, const char *instruction, size_t bytes, size_t target)
{
	int32_t distance = (int32_t)target - (int32_t)(at + bytes + 4);

	memcpy(code + at, instruction, bytes);
	memcpy(code + at + bytes, &distance, sizeof(distance));
	return at + bytes + 4;
}

/* Writes a call at a random place, and returns the address behind it. Calls of the function, and others, have
 * places of their own. */
static uint64_t put_a_call(enum how how)
{
	size_t at = 16 * (1 + random_below(30) + (how < HOWS ? 30 : 0));
	uint64_t word;

	switch (how) {
	case DIRECT:
		return address_of(put_relative(at, "\xe8", 1, FUNCTION));
	case BY_STUB:
		put_relative(STUB, "\xff\x25", 2, WORD_AT);
		return address_of(put_relative(at, "\xe8", 1, STUB));
	case BY_STUB_ENDBR:
		put_relative(STUB, "\xf3\x0f\x1e\xfa\xff\x25", 6, WORD_AT);
		return address_of(put_relative(at, "\xe8", 1, STUB));
	case BY_STUB_BND:
		put_relative(STUB, "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7, WORD_AT);
		return address_of(put_relative(at, "\xe8", 1, STUB));
	case BY_WORD:
		return address_of(put_relative(at, "\xff\x15", 2, WORD_AT));
	case BY_JUMP:
		put_relative(LESS_USUAL + random_below(100), "\xe9", 1, FUNCTION);
		return address_of(put_relative(at, "\xe8", 1, LESS_USUAL));
	case BY_WORD_AND_JUMPS:
		put_relative(USUAL + random_below(100), "\xe9", 1, LESS_USUAL);
		put_relative(LESS_USUAL + random_below(2000), "\xe9", 1, FUNCTION);
		word = address_of(USUAL);
		memcpy(code + WORD_AT + 8, &word, sizeof(word));
		return address_of(put_relative(at, "\xff\x15", 2, WORD_AT + 8));
	case OF_ANOTHER:
		return address_of(put_relative(at, "\xe8", 1, OTHER));
	default:
		memcpy(code + at, "\xff\xd0", 2);
		return address_of(at + 2);
	}
}

/* A frame is found by the call of the function, whatever else lies on the stack before it. */
START_TEST(calls)
{
	static uint64_t stack[STACK_WORDS], registers[FXT_PERF_REGISTER_COUNT];
	struct fxt_perf_record sample = {
		.registers = registers, .stack = (unsigned char *)stack, .stack_bytes = sizeof(stack)};
	struct fxt_spaces spaces = {0};
	struct fxt_space *space = fxt_space_of(&spaces, 7);
	size_t place, i;
	uint64_t begin, word = 0, caller, frame;
	enum how how;
	struct fxt_unwind unwind;

	random_seed(4000 + (uint64_t)_i);
	begin = BASE + 8 * random_below(100);
	place = random_below(STACK_WORDS - 2);
	how = (enum how)random_below(BY_REGISTER + 1);
	how = how == HOWS ? DIRECT : how;
	fxt_space_map(&spaces, space, address_of(0), CODE_BYTES, 0, "/nowhere/1", 1);
	memset(code, 0x90, sizeof(code));
	word = address_of(FUNCTION);
	memcpy(code + WORD_AT, &word, sizeof(word));
	/* Each pair looks like a frame: with a call of another function, or with a frame pointer that does
	 * not lead up. */
	for (i = 0; i + 1 < place; i += 2) {
		bool leads_up = random_below(2);

		stack[i] = begin + 8 * (leads_up ? i + 2 + random_below(50) : random_below(i + 1));
		stack[i + 1] = random_below(3) ? random_number(60)
			       : leads_up      ? put_a_call(OF_ANOTHER)
					       : address_of(FUNCTION);
	}
	if (i < place)
		stack[i] = random_number(60);
	frame = stack[place] = begin + 8 * (place + 2 + random_below(50));
	caller = stack[place + 1] = put_a_call(how);
	for (i = place + 2; i < STACK_WORDS; i++)
		stack[i] = random_number(60);
	fxt_unwind_begin(&unwind, &sample);
	unwind.pid = (uint32_t)getpid();
	unwind.begin = unwind.registers[FXT_UNWIND_STACK] = begin;
	ck_assert_int_eq(fxt_unwind_by_call(&unwind, space, address_of(FUNCTION)), how != BY_REGISTER);
	if (how != BY_REGISTER) {
		ck_assert_uint_eq(unwind.registers[FXT_UNWIND_PC], caller);
		ck_assert_uint_eq(unwind.registers[FXT_UNWIND_FRAME], frame);
		ck_assert_uint_eq(unwind.registers[FXT_UNWIND_STACK], begin + 8 * (place + 2));
	}
	fxt_spaces_free(&spaces);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("witness");
	TCase *test = tcase_create("witness");
	SRunner *runner;
	int failed;

	tcase_set_timeout(test, 120);
	tcase_add_loop_test(test, mappings, 0, 10);
	tcase_add_loop_test(test, helpers, 0, 20);
	tcase_add_loop_test(test, those_that_wait, 0, 20);
	tcase_add_loop_test(test, rings, 0, 20);
	tcase_add_loop_test(test, garbage, 0, 10);
	tcase_add_loop_test(test, shares, 0, 6);
	tcase_add_loop_test(test, frame_pointers, 0, 50);
#if defined(__x86_64__)
	tcase_add_loop_test(test, calls, 0, 200);
#endif
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
