/* What locks, streams and the like are called: `app_lock`, `pool+0x28`, `mutex of pool_create`, `FILE
 * /etc/passwd`.
 *
 * The trace is told once of each, by a userspace object record ("Userspace object record"): pointer, process,
 * name, `type`, and `since`, the time from which on the name holds (without it: from the beginning). The next
 * record of that type for the same address supersedes it. What is destroyed is forgotten, and told of again
 * unless the next object there has the same name.
 *
 * fxt_label_use() is in the path of each lock: one load where the object is known. The others are slow paths.
 * Any context.
 *
 * While the thread holds a lock no name is looked for: it is owed (label_owed.h), and told as deferred work,
 * with the time before the object's first use as `since`. Until then the object has no name, and the calls on
 * it carry its pointer only.
 */
#ifndef FXT_LABEL_H
#define FXT_LABEL_H

#include "agent/emit/emit.h"
#include "agent/arrows/wait.h"

/* The order is that of the strings from FXT_STR_kind_mutex on, but for 0. */
enum fxt_label_kind {
	FXT_LABEL_NONE,
	FXT_LABEL_MUTEX,
	FXT_LABEL_COND,
	FXT_LABEL_RWLOCK,
	FXT_LABEL_SPINLOCK,
	FXT_LABEL_SEM,
	FXT_LABEL_BARRIER,
	FXT_LABEL_FILE,
	FXT_LABEL_DIR,
	FXT_LABEL_BLOCK,
	FXT_LABEL_KINDS
};

enum fxt_label_how {
	FXT_LABEL_SYMBOL,               /* `text`, or so far behind it */
	FXT_LABEL_MADE,                 /* by the function `text` */
	FXT_LABEL_USED,                 /* first, as far as was seen, by that */
	FXT_LABEL_PATH,                 /* what was opened */
	FXT_LABEL_FD,                   /* that descriptor */
};

struct fxt_label {
	const char *text;               /* UTF-8; NULL: there is no name */
	uint32_t bytes;
	uint32_t offset;                /* or the descriptor, or 1: a variable without a symbol, a path that is cut */
	uint8_t kind, how;
	bool is_repeated;               /* a lock that was destroyed and made again: it has been told of */
};

/* Objects that the trace has been told of, by their hash: the last of each. */
enum { FXT_LABEL_KNOWN_SLOTS = 4096 };
extern _Atomic uintptr_t fxt_label_known[FXT_LABEL_KNOWN_SLOTS] __attribute__((visibility("hidden")));

FXT_COLD void fxt_label_first_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place);

/* The code at `place`, a return address, is going to use `object`. Before the call's start is taken: it may
 * be slow. */
static inline void fxt_label_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place)
{
	if (FXT_UNLIKELY(atomic_load_explicit(&fxt_label_known[fxt_wait_hash(object) >> 52], memory_order_relaxed) != object))
		fxt_label_first_use(thread, kind, object, place);
}

/* The code at `place` is going to make it: it has a name from now on. */
struct fxt_label fxt_label_made(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place);

/* A stream, a directory or a semaphore with a name was opened at end_ns: of that path, command or name (NULL:
 * none), with descriptor `fd` (-1: none). */
struct fxt_label fxt_label_opened(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place,
				  uint64_t end_ns, const char *path, int fd);

/* The function that a call was made in, by its return address: as fxt_function_find() has it; while the
 * thread holds a lock only if that is known without a search, and otherwise it is owed. NULL: no name now.
 * The text is not terminated. */
const char *fxt_label_place(struct fxt_thread *thread, uintptr_t place, size_t *bytes);

/* Tells all names that the thread owes, and what any thread has owed since before before_ns; but for what
 * another thread is at, which comes with the next deferred work. */
void fxt_labels_tell_owed(struct fxt_thread *thread, uint64_t before_ns);

/* What a heap block is called that the code at `place` has asked for; and tells that the one at `block` has
 * been that since then, and so large, or owes that where there is no name now. Which blocks there are, and
 * what has been told of them, is blocks.c's: the functions below know of none. */
struct fxt_label fxt_label_block(struct fxt_thread *thread, uintptr_t place);
void fxt_label_tell_block(struct fxt_thread *thread, uintptr_t block, const struct fxt_label *label, uintptr_t place, uint64_t since_ns,
			  uint64_t bytes);

/* What it is called, if it is known. Not what it was opened by. */
struct fxt_label fxt_label_of(enum fxt_label_kind kind, uintptr_t object);

/* The same of one that is about to be destroyed: it is known no more. Of a stream or directory nothing. */
struct fxt_label fxt_label_forget(enum fxt_label_kind kind, uintptr_t object);

/* The whole name's length, the name itself, and the argument `object` with it. */
enum { FXT_LABEL_MAX_BYTES = 160 };
size_t fxt_label_bytes(const struct fxt_label *label);
void fxt_label_compose(char *out, const struct fxt_label *label);
uint64_t *fxt_put_label(uint64_t *at, const struct fxt_label *label);

/* Whether an event of its making or end says it: once for locks that a function makes again and again. */
static inline bool fxt_label_is_said(const struct fxt_label *label)
{
	return label->text && !label->is_repeated;
}

/* Of that argument; 0 where there is no name. */
static inline size_t fxt_label_words(const struct fxt_label *label)
{
	return label->text ? 2 + fxt_words_of(fxt_label_bytes(label)) : 0;
}

/* This memory was freed, or is about to be: what was in it is known no more. A C++ std::mutex is neither made
 * nor destroyed by any call. */
void fxt_labels_freed(const void *memory, size_t bytes);

/* Libraries were unloaded, perhaps: what was in them is known no more. */
void fxt_labels_unloaded(void);

/* In the child of a fork: its trace has to be told again. */
void fxt_labels_after_fork(void);

#endif
