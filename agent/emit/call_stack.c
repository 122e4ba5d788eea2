/* See call_stack.h. Writes the records about nodes and modules. */
#include "call_stack.h"

#include <string.h>
#include <sys/auxv.h>

#include "agent/base/stack.h"
#include "agent/stacks/code.h"
#include "agent/stacks/load_number.h"
#include "agent/stacks/stack_nodes.h"
#include "held_locks.h"
#include "losses.h"
#include "trace_file.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"
#include "writer/fxt_format.h"

enum {
	/* Words of the durable area that these records may take, and what they leave free behind them. */
	DURABLE_WORDS = 8192,
	/* and those of events that are not overwritten, all the same */
	DURABLE_WORDS_FOR_GOOD = 2 * DURABLE_WORDS,
	DURABLE_RESERVE_WORDS = 2048,
	PATH_BYTES = 1024,              /* longer paths are cut */
	NODE_WORDS = 3 + 1 + 2 + 2 + 2,
	TOGETHER_WORDS = 96,            /* so many words are written together: some ten nodes */
	TOGETHER_MOST = 16,
};

/* These are the values of `told`. Of the others, which lack this bit, each stands for one holding of a
 * chunk. */
#define TOLD_FOR_GOOD (UINT64_C(1) << 63)

static _Atomic uint32_t durable_words;
static _Atomic uint32_t round_number;   /* changes when the trace is to have all records anew */

/* The program's path, which is known without a system call later on. */
static FXT_LARGE char program_path[PATH_BYTES];

/* Finds the program's path if the program was loaded by the loader as a command, which is the executable
 * file of the process then. The kernel has not given such a process the address of a loader, and the loader
 * has put the program's path in the place of its own. */
static int find_loaded(char *out, size_t bytes)
{
	char link[32] = "/proc/self/fd/";
	int fd = fxt_sys_open((const char *)getauxval(AT_EXECFN), O_PATH | O_CLOEXEC, 0), length;

	if (fd < 0)
		return fd;
	/* The rest of the text is zeros. */
	fxt_decimal(link + strlen(link), (uint64_t)fd);
	length = fxt_sys_readlink(link, out, bytes);
	fxt_sys_close(fd);
	return length;
}

void fxt_call_stacks_start(void)
{
	int length = 0;

	if (fxt_agent.config.stacks && !getauxval(AT_BASE) && getauxval(AT_EXECFN))
		length = find_loaded(program_path, sizeof(program_path) - 1);
	else if (fxt_agent.config.stacks)
		length = fxt_sys_readlink("/proc/self/exe", program_path, sizeof(program_path) - 1);
	program_path[length > 0 ? length : 0] = '\0';
	fxt_load_numbers_start();
}

void fxt_call_stacks_again(void)
{
	atomic_fetch_add(&round_number, 1);
	atomic_store(&durable_words, 0);
}

/* Walks from the function outwards whose frame is `own`. This is a function of its own, because a short stack
 * may have no room for its frame. */
static __attribute__((noinline)) uint32_t walk_stack(const struct fxt_thread *thread, const uintptr_t *own,
						     unsigned frames)
{
	struct fxt_walk walk;

	fxt_stack_walk(thread, own, frames, &walk);
	return fxt_stack_node_of(&walk);
}

/* -- Telling --------------------------------------------------------------------------------------- */

/* Returns the value of `told` for a record that is in the trace for good. */
static uint64_t for_good(void)
{
	return TOLD_FOR_GOOD | atomic_load_explicit(&round_number, memory_order_relaxed);
}

/* Returns the value of `told` for a record in the chunk that the thread writes to; 0: it has no chunk. */
static uint64_t in_chunk(struct fxt_thread *thread)
{
	uint64_t hold = atomic_load_explicit(&fxt_lane_next(thread)->hold, memory_order_relaxed);

	/* Two threads may have the same chunk one after the other, as the same one of their chunks. */
	return hold ? (hold ^ (uint64_t)thread->tid * UINT64_C(0x9e3779b97f4a7c15)) & ~TOLD_FOR_GOOD : 0;
}

/* Returns whether records go to the durable area now. That takes a lock and system calls, for which nobody
 * waits that waits for the thread's own locks. The area may be full, and after the file was rewritten it is
 * no longer the trace's. A handler that has forked meanwhile may have left us in a child without a file. */
static bool is_durable_now(struct fxt_thread *thread, uint32_t most_words)
{
	return atomic_load_explicit(&durable_words, memory_order_relaxed) < most_words &&
	       !fxt_agent.buffer.tail_offset && !fxt_holds_lock(thread) && fxt_agent_file();
}

/* The telling of a stack. Its records are written together: the durable area's lock is taken, and signals are
 * blocked, once for several of them. */
struct telling {
	struct fxt_thread *thread;
	/* the records go to the durable area or nowhere, as in the middle of an emission */
	bool is_durable_alone;
	uint32_t most_words;            /* of the durable area, for all records */
	uint64_t good;                  /* for_good() when it began */
	/* records that are still to be written, one behind the other, and where to note that each is told */
	unsigned count;
	size_t words;
	uint64_t records[TOGETHER_WORDS];
	_Atomic uint64_t *told[TOGETHER_MOST];
};

/* Returns whether the record need not be written, or is going to be. One that is in the present chunk alone
 * is written again when it can be durable, because the records of what it has called will be. */
static bool is_told(const struct telling *telling, _Atomic uint64_t *told)
{
	struct fxt_thread *thread = telling->thread;
	uint64_t how = atomic_load_explicit(told, memory_order_relaxed);
	unsigned i;

	for (i = 0; i < telling->count; i++)
		if (telling->told[i] == told)
			return true;
	return how == for_good() || (how && how == in_chunk(thread) &&
				      !is_durable_now(thread, telling->most_words));
}

/* Writes records to the durable area, all or none of them. Returns whether they are there. */
static bool put_durable(const struct telling *telling, const uint64_t *records, size_t words)
{
	bool is_durable;

	if (!is_durable_now(telling->thread, telling->most_words))
		return false;
	is_durable = fxt_storage_durable(fxt_agent.storage, records, words, DURABLE_RESERVE_WORDS);
	/* When some records found no room, no later ones are durable either: so nothing is that has been
	 * called by something which is not. In the child of a fork that came just now, it was the parent's
	 * area that had no room. */
	if (is_durable || telling->good == for_good())
		atomic_fetch_add_explicit(&durable_words,
					  is_durable ? (unsigned)words : DURABLE_WORDS_FOR_GOOD,
					  memory_order_relaxed);
	return is_durable;
}

/* Writes records and notes that they are told. What is noted was read before they are written: a handler that
 * comes in between may fork, and the child does not have the records, or it may turn to another chunk. Then
 * they pass for untold, and are written once more. */
static void put_all(const struct telling *telling, const uint64_t *record, size_t words,
		    _Atomic uint64_t *const *told, unsigned count)
{
	struct fxt_thread *thread = telling->thread;
	bool is_durable = put_durable(telling, record, words);
	uint64_t chunk;

	for (; count; count--, told++, record += words) {
		chunk = in_chunk(thread);
		words = fxt_get_record_words(record[0]);
		if (!is_durable &&
		    (telling->is_durable_alone || !fxt_thread_put_extra(thread, record, words)))
			return;
		atomic_store_explicit(*told,
				      is_durable || fxt_agent.config.mode != FXT_CIRCULAR ? telling->good
											  : chunk,
				      memory_order_relaxed);
	}
}

/* Writes what has gathered, unless a handler has forked meanwhile: then all is told anew. */
static void put_gathered(struct telling *telling)
{
	if (telling->count && telling->good == for_good())
		put_all(telling, telling->records, telling->words, telling->told, telling->count);
	telling->count = 0;
	telling->words = 0;
}

static void put(struct telling *telling, const uint64_t *record, size_t words, _Atomic uint64_t *told)
{
	if (telling->count == TOGETHER_MOST || words > TOGETHER_WORDS - telling->words)
		put_gathered(telling);
	if (words > TOGETHER_WORDS) {
		put_all(telling, record, words, &told, 1);
		return;
	}
	memcpy(telling->records + telling->words, record, words * FXT_WORD_BYTES);
	telling->words += words;
	telling->told[telling->count++] = told;
}

/* Completes and gathers a record whose arguments end at `at`. `name` is a string reference. */
static void put_object(struct telling *telling, uint64_t *record, const uint64_t *at, uint64_t id,
		       uint64_t name, unsigned arguments, _Atomic uint64_t *told)
{
	size_t words = (size_t)(at - record);

	record[0] = fxt_record_type(FXT_RECORD_USERSPACE_OBJECT) | fxt_record_words(words) |
		    fxt_object_name(name) | fxt_object_args(arguments);
	record[1] = id;
	record[2] = fxt_agent.koid;
	put(telling, record, words, told);
}

static uint64_t *put_type(uint64_t *at, uint64_t type)
{
	*at = fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_type) | fxt_arg_string(type);
	return at + 1;
}

/* Writes the path of a module to `out`, without a null byte. A relative path of the loader's is made absolute
 * as far as the directory is still the same. Returns the length. */
static size_t path_of(const struct fxt_code_module *module, char out[PATH_BYTES])
{
	const char *path = module->path_bytes ? module->path : program_path;
	size_t bytes = strnlen(path, PATH_BYTES), used = 0;

	if (*path != '/' && strchr(path, '/') && !fxt_is_filtered() &&
	    fxt_sys_getcwd(out, PATH_BYTES) > 0 && *out == '/') {
		used = strnlen(out, PATH_BYTES - 1);
		out[used++] = '/';
	}
	if (bytes > PATH_BYTES - used)
		bytes = PATH_BYTES - used;
	return used + fxt_utf8_clean(out + used, path, bytes, bytes);
}

static uint64_t *put_build_id(uint64_t *at, const struct fxt_code_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * FXT_BUILD_ID_MOST];
	unsigned i;

	for (i = 0; i < module->build_id_bytes; i++) {
		text[2 * i] = digits[module->build_id[i] >> 4];
		text[2 * i + 1] = digits[module->build_id[i] & 15];
	}
	return fxt_put_text(at, FXT_STR_build_id, text, 2 * (size_t)module->build_id_bytes);
}

static __attribute__((noinline)) void tell_module(struct telling *telling, unsigned number)
{
	struct fxt_code_module *module = fxt_code_module(number);
	uint64_t record[3 + PATH_BYTES / FXT_WORD_BYTES + 1 + 2 + 1 + 2 * FXT_BUILD_ID_MOST / FXT_WORD_BYTES],
		*at = record + 3;
	size_t bytes;

	if (is_told(telling, &module->told))
		return;
	bytes = path_of(module, (char *)at);
	memset((char *)at + bytes, 0, -bytes % FXT_WORD_BYTES);
	at = put_type(at + fxt_words_of(bytes), FXT_STR_module);
	at = fxt_put_pointer(at, FXT_STR_base, (const void *)module->bias);
	if (module->build_id_bytes)
		at = put_build_id(at, module);
	put_object(telling, record, at, FXT_STACK_MODULE_ID + number, bytes ? fxt_inline_ref(bytes) : 0,
		   module->build_id_bytes ? 3 : 2, &module->told);
}

static __attribute__((noinline)) void tell_node(struct telling *telling, uint32_t number)
{
	struct fxt_stack_node *node = fxt_stack_node(number);
	uintptr_t place = node->place;
	uint64_t record[NODE_WORDS], *at = put_type(record + 3, FXT_STR_frame);
	unsigned arguments = 2;

	if (is_told(telling, &node->told))
		return;
	if (node->caller) {
		at = fxt_put_pointer(at, FXT_STR_parent, (const void *)(FXT_STACK_ID + node->caller));
		arguments++;
	}
	if (node->module) {
		tell_module(telling, node->module);
		at = fxt_put_pointer(at, FXT_STR_mapping,
				     (const void *)(FXT_STACK_MODULE_ID + node->module));
		arguments++;
		place -= fxt_code_module(node->module)->bias;
	}
	at = fxt_put_uint(at, FXT_STR_offset, node->place ? place - 1 : 0);
	put_object(telling, record, at, FXT_STACK_ID + number, 0, arguments, &node->told);
}

/* Tells what is untold of a stack, its callers first: so the callers of what was told for good were. Begins
 * again if a handler has forked meanwhile. */
static void tell(struct fxt_thread *thread, bool is_durable_alone, uint32_t most_words, uint32_t stack)
{
	uint32_t untold[FXT_WALK_MOST + 1], count, node;
	struct telling telling;

	telling.thread = thread;
	telling.is_durable_alone = is_durable_alone;
	telling.most_words = most_words;
	do {
		telling.count = 0;
		telling.words = 0;
		telling.good = for_good();
		count = 0;
		for (node = stack; node && count <= FXT_WALK_MOST; node = fxt_stack_node(node)->caller) {
			if (atomic_load_explicit(&fxt_stack_node(node)->told, memory_order_relaxed) ==
			    telling.good)
				break;
			untold[count++] = node;
		}
		while (count-- > 0 && telling.good == for_good())
			tell_node(&telling, untold[count]);
		put_gathered(&telling);
	} while (telling.good != for_good());
}

void fxt_call_stack_tell(struct fxt_thread *thread, uint32_t stack)
{
	if (stack && fxt_agent_file())
		tell(thread, false, DURABLE_WORDS, stack);
}

void fxt_call_stack_tell_for_good(struct fxt_thread *thread, uint32_t stack)
{
	if (stack && fxt_agent_file())
		tell(thread, false, DURABLE_WORDS_FOR_GOOD, stack);
}

uint32_t fxt_call_stack_of(struct fxt_thread *thread, unsigned frames)
{
	uint32_t stack = fxt_stack_has_less(FXT_WALK_BYTES)
				 ? 0
				 : walk_stack(thread, __builtin_frame_address(0), frames);

	if (fxt_agent.config.stacks && stack == FXT_STACK_NO_ROOM)
		fxt_thread_lacks(thread, FXT_LOSS_STACKS);
	if (stack == FXT_STACK_NO_ROOM)
		return 0;
	/* The program may be killed, or a handler may leave by longjmp, as soon as an event names the
	 * stack. */
	if (fxt_agent.config.stacks && stack && is_durable_now(thread, DURABLE_WORDS))
		tell(thread, true, DURABLE_WORDS, stack);
	return stack;
}

uint32_t fxt_call_stack(struct fxt_thread *thread)
{
	return fxt_agent.config.stacks ? fxt_call_stack_of(thread, FXT_WALK_MOST) : 0;
}

uint32_t fxt_call_stack_say(struct fxt_thread *thread, uint64_t name, int error)
{
	uint32_t stack = fxt_call_stack(thread);
	uint64_t *at;

	if (!stack)
		return 0;
	at = fxt_reserve_extra(thread, fxt_now(thread), FXT_STACK_WORDS + 1);
	if (!at)
		return stack;
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	if (error)
		at = fxt_put_int(at, FXT_STR_errno_, error);
	fxt_commit_extra(thread, at,
			 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				 fxt_event_args(error ? 2 : 1) |
				 fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, name));
	fxt_call_stack_tell(thread, stack);
	return stack;
}
