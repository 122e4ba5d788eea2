/* See witness_blocked.h. The kernel tells in /proc what a thread waits for, and where its stack is. The stack
 * is read from the process's memory as it is; it does not change as long as the thread waits in one call. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness_blocked.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/common/host_clock.h"
#include "tools/common/message.h"
#include "witness_files.h"
#include "witness_stacks.h"

enum {
	TEXT_BYTES = 512,
	STACK_BYTES = 256 << 10,        /* as much is read of a stack */
	PAGES_MOST = STACK_BYTES / 4096 + 1,
	TOLD_AT_ONCE = 32,              /* threads that are told of in a step, because it costs some 100 us */
};

#define LONG "long blocked"
static const uint64_t LONGEST_NS = (uint64_t)16 * FXT_WITNESS_LONG_NS;

struct states {
	char letter;
	const char *name;
};

/* Those in which a thread does not run and has not ended: proc(5). */
static const struct states states[] = {
	{'S', "sleeping"}, {'D', "uninterruptible"}, {'T', "stopped"}, {'t', "stopped by a debugger"}};

/* Reads a file of a thread. Returns false if it is empty or cannot be read. */
static bool read_text(uint32_t pid, uint32_t tid, const char *name, char text[TEXT_BYTES])
{
	char *path = fxt_format("/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	FILE *file = fopen(path, "re");
	size_t bytes = file ? fread(text, 1, TEXT_BYTES - 1, file) : 0;

	text[bytes] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
	free(path);
	return *text;
}

/* Returns the state of a thread that is blocked, or NULL. */
static const char *state_of(uint32_t pid, uint32_t tid)
{
	char text[TEXT_BYTES];
	const char *end;

	/* The name of the program, in parentheses, may have any characters. */
	end = read_text(pid, tid, "stat", text) ? strrchr(text, ')') : NULL;
	for (size_t i = 0; end && end[1] && i < sizeof(states) / sizeof(states[0]); i++)
		if (end[2] == states[i].letter)
			return states[i].name;
	return NULL;
}

/* Finds the last two numbers of what a thread does in the kernel: its stack pointer and its address. */
static bool find_registers(const char *text, uint64_t *stack, uint64_t *pc)
{
	const char *last = strrchr(text, ' ');
	const char *before = last ? memrchr(text, ' ', (size_t)(last - text)) : NULL;

	if (!before)
		return false;
	*stack = strtoull(before, NULL, 16);
	*pc = strtoull(last, NULL, 16);
	return *stack && *pc;
}

/* Reads a stack from `from` up. Returns how many bytes there are. */
static size_t read_stack(uint32_t pid, uint64_t from, unsigned char *stack)
{
	struct iovec here = {stack, STACK_BYTES}, there[PAGES_MOST];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = from, end = from + STACK_BYTES;
	size_t count;
	ssize_t bytes;

	if (end < from)
		return 0;
	/* Each page is asked for by itself, so all that lies before one that cannot be read is there. */
	for (count = 0; at < end && count < PAGES_MOST; count++) {
		uint64_t next = (at / page + 1) * page;

		next = next < end ? next : end;
		there[count] = (struct iovec){(void *)(uintptr_t)at, next - at};
		at = next;
	}
	bytes = process_vm_readv((pid_t)pid, &here, 1, there, count, 0);
	return bytes > 0 ? (size_t)bytes : 0;
}

/* Reads the stack of a thread. `doing` says where it is; it tells nothing if this user may not know. */
static void take_stack(struct fxt_perf_record *thread, const char *doing)
{
	static uint64_t registers[FXT_PERF_REGISTER_COUNT];
	static unsigned char stack[STACK_BYTES];

	if (!FXT_PERF_REGISTERS ||
	    !find_registers(doing, &registers[FXT_PERF_STACK], &registers[FXT_PERF_PC]))
		return;
	thread->registers = registers;
	thread->stack = stack;
	thread->stack_bytes = read_stack(thread->pid, registers[FXT_PERF_STACK], stack);
}

/* This is what a thread waits for in the system call futex. */
struct futex_wait {
	uint64_t address;               /* of the futex; 0: it waits in another call */
	uint32_t value;                 /* that it had */
	uint32_t owner;                 /* what stands where a mutex of glibc has the thread that holds it */
};

static struct futex_wait take_futex(uint32_t pid, const char *doing)
{
	enum { OWNER = 8 };             /* __owner of pthread_mutex_t, on all processors with 64 bits */
	char *end;
	bool is_futex = strtol(doing, &end, 10) == SYS_futex && end > doing;
	uint64_t address = is_futex ? strtoull(end, &end, 16) : 0, operation = strtoull(end, &end, 16);
	struct futex_wait wait = {.address = address, .value = (uint32_t)strtoull(end, NULL, 16)};
	struct iovec here = {&wait.owner, sizeof(wait.owner)};
	struct iovec there = {(void *)(uintptr_t)(address + OWNER), sizeof(wait.owner)};

	operation &= FUTEX_CMD_MASK;
	if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET && operation != FUTEX_LOCK_PI)
		wait.address = 0;
	if (!wait.address ||
	    process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(wait.owner))
		wait.owner = 0;
	return wait;
}

static bool ends_with(const char *text, const char *end)
{
	size_t bytes = strlen(text), least = strlen(end);

	return bytes >= least && strcmp(text + bytes - least, end) == 0;
}

/* Adds the mutex that a thread waits for, and the thread that holds it; or the thread whose end it waits for.
 * `call` is the function of glibc that it waits in: what the futex is depends on that. */
static size_t add_awaited(struct fxt_witness_trace *w, uint32_t pid, const char *call,
			  const struct futex_wait *wait, struct fxt_arg *list, size_t count)
{
	const char *name = call + strspn(call, "_");
	bool is_mutex = !strncmp(name, "pthread_mutex_", strlen("pthread_mutex_")) && ends_with(name, "lock");
	bool is_join = !strncmp(name, "pthread_", strlen("pthread_")) && strstr(name, "join");
	uint32_t thread = is_mutex ? wait->owner : is_join ? wait->value : 0;
	char text[TEXT_BYTES];

	if (!wait->address)
		return count;
	if (is_mutex)
		list[count++] = (struct fxt_arg){FXT_ARG_POINTER, fxt_witness_string(w, "lock"),
						 .u64 = wait->address};
	/* It may have ended. */
	if (thread && read_text(pid, thread, "stat", text))
		list[count++] = (struct fxt_arg){FXT_ARG_KOID, fxt_witness_string(w, "waits_for"),
						 .u64 = thread};
	return count;
}

/* Returns whether the agent has told what the thread waits for, and where: it does before each wait for
 * another thread. */
static bool is_told(struct fxt_witness_trace *w, uint32_t pid, const char *doing)
{
	char *end;

	return strtol(doing, &end, 10) == SYS_futex && end > doing &&
	       fxt_space_of(&w->spaces, pid)->is_traced;
}

/* Writes the instant `name` about a thread. If it is `long blocked`, that says what it is blocked at. */
static void put_thread(struct fxt_witness_trace *w, uint32_t pid, uint32_t tid, const char *name)
{
	struct fxt_perf_record thread = {.pid = pid, .tid = tid, .time_ns = fxt_host_now_ns()};
	char doing[TEXT_BYTES], channel[TEXT_BYTES], after[TEXT_BYTES], *call = NULL;
	const char *state = state_of(pid, tid);
	struct fxt_arg list[FXT_WITNESS_MORE_ARGS];
	struct fxt_blocked_file file = {.wants = NULL};
	struct futex_wait wait;
	bool is_long = strcmp(name, LONG) == 0;
	size_t count = 0;
	uint64_t node;

	if (!state)
		return;
	read_text(pid, tid, "syscall", doing);
	read_text(pid, tid, "wchan", channel);
	if (is_long && is_told(w, pid, doing))
		return;
	take_stack(&thread, doing);
	if (is_long)
		fxt_witness_blocked_file(&file, pid, doing);
	wait = take_futex(pid, doing);
	/* It may have gone on meanwhile. */
	read_text(pid, tid, "syscall", after);
	if (strcmp(doing, after) != 0 || state_of(pid, tid) != state || !fxt_witness_keeps(w, &thread))
		return;
	list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "state"),
					 .string = fxt_witness_string(w, state)};
	if (*channel && strcmp(channel, "0") != 0)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "in"),
						 .string = fxt_witness_string(w, channel)};
	node = thread.registers ? fxt_witness_stack(w, &thread, &call) : 0;
	if (node)
		list[count++] =
			(struct fxt_arg){FXT_ARG_POINTER, fxt_witness_string(w, "stack"), .u64 = node};
	if (call)
		count = add_awaited(w, pid, call, &wait, list, count);
	if (file.wants)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "wants"),
						 .string = fxt_witness_string(w, file.wants)};
	if (file.wants)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "file"),
						 .string = fxt_witness_string(w, file.file)};
	if (*file.by)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "by"),
						 .string = fxt_witness_string(w, file.by)};
	fxt_witness_fact(w, &thread, name, (struct fxt_args){count, list});
	fxt_witness_holders(w, &file);
	free(call);
}

void fxt_witness_blocked(struct fxt_witness_trace *w, uint32_t pid)
{
	char *path = fxt_format("/proc/%" PRIu32 "/task", pid);
	DIR *tasks = opendir(path);
	const struct dirent *task;

	free(path);
	while (tasks && (task = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);

		if (tid)
			put_thread(w, pid, tid, "blocked");
	}
	if (tasks)
		closedir(tasks);
}

void fxt_witness_blocks(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&w->blocked, record->pid, record->tid, &fresh);

	slot->value[0] = record->time_ns;
	if (fresh)
		slot->value[1] = FXT_WITNESS_LONG_NS;
}

void fxt_witness_goes_on(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	struct fxt_slot *slot = fxt_map_find(&w->blocked, record->pid, record->tid);

	if (slot)
		slot->value[0] = 0;
}

void fxt_witness_is_gone(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	struct fxt_slot *slot = fxt_map_find(&w->blocked, record->pid, record->tid);

	if (slot)
		fxt_map_remove(&w->blocked, slot);
}

void fxt_witness_long_blocked(struct fxt_witness_trace *w, uint64_t now_ns)
{
	unsigned told = 0;

	for (struct fxt_slot *slot = fxt_map_next(&w->blocked, NULL); slot && told < TOLD_AT_ONCE;
	     slot = fxt_map_next(&w->blocked, slot)) {
		if (!slot->value[0] || now_ns - slot->value[0] < slot->value[1] || now_ns < slot->value[0])
			continue;
		put_thread(w, (uint32_t)slot->a, (uint32_t)slot->b, LONG);
		slot->value[0] = 0;
		if (slot->value[1] < LONGEST_NS)
			slot->value[1] *= 2;
		told++;
	}
}
