/* See locked_memory.h. What is mapped, and whose it is, is read from /proc/self/maps. */
#include "locked_memory.h"

#include <sys/resource.h>

#include "agent/base/agent.h"
#include "agent/base/parts.h"
#include "agent/base/stack.h"
#include "writer/sys.h"

/* Scheduling policies, as the kernel numbers them. */
enum { FIFO = 1, RR = 2, DEADLINE = 6, RESET_ON_FORK = 0x40000000 };

enum {
	READ_BYTES = 512,               /* on the stack, which may be a signal handler's */
	/* The trace's memory is populated as far as this: the rest may never be needed. */
	SHARED_MOST_BYTES = 4 << 20,
	ALL = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT,
};

/* The limits of this library, which the linker defines. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Whether memory that is mapped was to be locked before the call that is being made. */
static atomic_bool was_to_be_locked;

/* -- What is mapped --------------------------------------------------------------------------- */

/* A mapping, or the part of one that is the agent's or that is not: the kernel makes one of two that are
 * side by side, such as the library's variables and what the loader has mapped behind them. */
struct mapping {
	uintptr_t low, high;
	bool is_ours, is_library;
	bool can_write, is_shared;
	bool is_kernels;                /* [vdso], [vvar] and their kind, which no call locks */
};

/* Reads the mappings, one after the other. */
struct reader {
	int fd;
	struct mapping rest;            /* what was read and not returned yet */
	size_t at, bytes;
	char text[READ_BYTES];
};

static bool open_reader(struct reader *reader)
{
	reader->fd = fxt_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	reader->at = reader->bytes = 0;
	reader->rest.low = reader->rest.high = 0;
	return reader->fd >= 0;
}

/* Returns the next character; 0: there is no other. */
static char next_char(struct reader *reader)
{
	ssize_t bytes;

	if (reader->at == reader->bytes) {
		bytes = fxt_sys_read(reader->fd, reader->text, sizeof(reader->text));
		if (bytes <= 0)
			return 0;
		reader->at = 0;
		reader->bytes = (size_t)bytes;
	}
	return reader->text[reader->at++];
}

static uintptr_t next_address(struct reader *reader, char *end)
{
	uintptr_t address = 0;
	char c;

	while ((c = next_char(reader)) != 0 && c != '-' && c != ' ')
		address = address << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	*end = c;
	return address;
}

/* Reads a line, "LOW-HIGH rwxp OFFSET DEVICE INODE NAME". Returns false if there is no other. */
static bool read_mapping(struct reader *reader, struct mapping *mapping)
{
	char c, before = ' ';

	mapping->low = next_address(reader, &c);
	if (c != '-')
		return false;
	mapping->high = next_address(reader, &c);
	next_char(reader);
	mapping->can_write = next_char(reader) == 'w';
	next_char(reader);
	mapping->is_shared = next_char(reader) == 's';
	mapping->is_kernels = false;
	for (c = ' '; c && c != '\n'; before = c, c = next_char(reader))
		if (before == '[' && c == 'v')
			mapping->is_kernels = true;
	return true;
}

/* Returns the end of the part of [low, high) that begins at `low` and lies on one side of `limit`. */
static uintptr_t end_of_part(uintptr_t low, uintptr_t high, uintptr_t limit)
{
	return limit > low && limit < high ? limit : high;
}

/* Takes the next part of the mappings. Returns false if there is no other. */
static bool next_mapping(struct reader *reader, struct mapping *part)
{
	const uintptr_t page = FXT_PAGE_BYTES, library = (uintptr_t)__ehdr_start,
			library_end = ((uintptr_t)_end + page - 1) / page * page;
	struct mapping *rest = &reader->rest;
	struct fxt_range ours;

	if (rest->low >= rest->high && !read_mapping(reader, rest))
		return false;
	*part = *rest;
	part->high = end_of_part(part->low, part->high, library);
	part->high = end_of_part(part->low, part->high, library_end);
	ours = fxt_place_first((struct fxt_range){part->low, part->high});
	part->high = end_of_part(part->low, part->high, ours.from);
	part->high = end_of_part(part->low, part->high, ours.end);
	rest->low = part->high;
	part->is_library = part->low >= library && part->low < library_end;
	part->is_ours = part->is_library || (!fxt_range_is_empty(ours) && ours.from == part->low);
	return true;
}

static void close_reader(struct reader *reader)
{
	fxt_sys_close(reader->fd);
}

/* -- Populating ------------------------------------------------------------------------------- */

/* Files whose symbols were read stay as they are. */
static void populate(const struct mapping *mapping)
{
	size_t bytes = mapping->high - mapping->low;

	if (mapping->is_shared && bytes > SHARED_MOST_BYTES)
		bytes = SHARED_MOST_BYTES;
	if (mapping->can_write)
		fxt_sys_madvise((void *)mapping->low, bytes, MADV_POPULATE_WRITE);
	else if (mapping->is_library)
		fxt_sys_madvise((void *)mapping->low, bytes, MADV_POPULATE_READ);
}

/* Populates what the agent has mapped, and from here on what it maps. */
static void populate_ours(void)
{
	struct reader reader;
	struct mapping mapping;

	atomic_fetch_or_explicit(&fxt_memory_rules, FXT_MEMORY_IS_POPULATED, memory_order_relaxed);
	if (fxt_stack_is_short())
		return;
	fxt_parts_prepare();
	if (!open_reader(&reader))
		return;
	while (next_mapping(&reader, &mapping))
		if (mapping.is_ours)
			populate(&mapping);
	close_reader(&reader);
}

void fxt_policy_is_set(int policy)
{
	/* An error of the kernel is none of these. */
	policy &= ~RESET_ON_FORK;
	if ((policy == FIFO || policy == RR || policy == DEADLINE) &&
	    !fxt_sys_memory_is(FXT_MEMORY_IS_POPULATED) && !fxt_is_forbidden(FXT_NO_CALLS))
		populate_ours();
}

void fxt_may_be_real_time(int tid)
{
	if (fxt_sys_memory_is(FXT_MEMORY_IS_POPULATED) || fxt_is_forbidden(FXT_NO_CALLS) ||
	    (tid && !fxt_sys_thread_exists((int)fxt_agent.pid, tid)))
		return;
	fxt_policy_is_set((int)FXT_SYSCALL1(SYS_sched_getscheduler, tid));
}

/* -- Locking ---------------------------------------------------------------------------------- */

/* Returns whether the program's own memory is within its limit of locked memory. */
static bool is_within_limit(void)
{
	struct reader reader;
	struct mapping mapping;
	struct rlimit limit;
	uintptr_t bytes = 0;

	if (fxt_sys_getrlimit(RLIMIT_MEMLOCK, &limit) || !open_reader(&reader))
		return false;
	while (next_mapping(&reader, &mapping))
		if (!mapping.is_ours)
			bytes += mapping.high - mapping.low;
	close_reader(&reader);
	return bytes <= limit.rlim_cur;
}

/* Locks the program's mappings, and unlocks the agent's. */
static void lock_each(int flags, struct reader *reader)
{
	struct mapping mapping;
	size_t bytes;

	while (next_mapping(reader, &mapping)) {
		bytes = mapping.high - mapping.low;
		/* A mapping that cannot be populated is locked all the same, as by mlockall(). */
		if (mapping.is_ours)
			FXT_SYSCALL2(SYS_munlock, mapping.low, bytes);
		else if (mapping.is_kernels)
			continue;
		else if (flags & MCL_ONFAULT)
			FXT_SYSCALL3(SYS_mlock2, mapping.low, bytes, MLOCK_ONFAULT);
		else
			FXT_SYSCALL2(SYS_mlock, mapping.low, bytes);
	}
}

/* Locks the program's memory and not the agent's. First everything is locked without being populated, which
 * fails where the whole is more than the limit; the kernel does not count the parts that are locked one by
 * one so. Returns false if nothing was done. */
static bool lock_program(int flags)
{
	struct reader reader;
	long result;

	if (!open_reader(&reader))
		return false;
	result = FXT_SYSCALL1(SYS_mlockall, flags | MCL_ONFAULT);
	if (result == -12 /* ENOMEM */ && is_within_limit()) {
		/* Decides about what is mapped from here on. */
		if (flags & MCL_FUTURE)
			result = FXT_SYSCALL1(SYS_mlockall, flags & ~MCL_CURRENT);
		else if (atomic_load(&was_to_be_locked))
			result = FXT_SYSCALL0(SYS_munlockall);
		else
			result = 0;
	} else if (!result && flags & MCL_FUTURE && !(flags & MCL_ONFAULT)) {
		result = FXT_SYSCALL1(SYS_mlockall, MCL_FUTURE);
	}
	if (!result)
		lock_each(flags, &reader);
	close_reader(&reader);
	return !result;
}

bool fxt_lock_all_begins(int flags)
{
	bool is_known = flags & MCL_CURRENT && !(flags & ~ALL);

	atomic_store(&was_to_be_locked, fxt_sys_memory_is(FXT_MEMORY_IS_LOCKED));
	if (flags & MCL_FUTURE)
		fxt_sys_memory_lock_begins();
	return is_known && !fxt_is_forbidden(FXT_NO_CALLS) && !fxt_stack_is_short() && lock_program(flags);
}

void fxt_lock_all_ends(int flags, bool is_done)
{
	bool is_to_be_locked = is_done ? flags & MCL_FUTURE : atomic_load(&was_to_be_locked);

	if (!is_to_be_locked)
		atomic_fetch_and(&fxt_memory_rules, ~(unsigned)FXT_MEMORY_IS_LOCKED);
	if (is_done && !fxt_is_forbidden(FXT_NO_CALLS))
		populate_ours();
}

void fxt_unlocked_all(void)
{
	atomic_fetch_and(&fxt_memory_rules, ~(unsigned)FXT_MEMORY_IS_LOCKED);
}
