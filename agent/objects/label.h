/* Names of objects (locks, streams, directories, semaphores, heap blocks): `app_lock`, `pool+0x28`, `mutex
 * of pool_create`, `FILE /etc/passwd`. Wrappers call this, in any context.
 *
 * The trace is told of each object once, by a userspace object record: pointer, process, name, `type`, and
 * `since`, the time from which the name holds (without `since` it holds from the beginning). The next
 * record of that type for the same address supersedes it. An object that is destroyed is forgotten. The
 * next object at its address is told unless it has the same name.
 *
 * fxt_label_use() is in the path of each lock call, and is one load if the object is known. The other
 * functions are slow paths.
 *
 * While the thread holds a lock no name is looked for. The name is owed (label_owed.h), and told as
 * deferred work with the time before the object's first use as `since`. Until then the object has no name,
 * and calls on it carry only its pointer.
 */
#ifndef FXT_LABEL_H
#define FXT_LABEL_H

#include "agent/arrows/wait.h"
#include "agent/emit/emit.h"

/* From FXT_LABEL_MUTEX on, the order is that of the strings from FXT_STR_kind_mutex on. */
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
	FXT_LABEL_SYMBOL,               /* lies in the variable `text`, `offset` bytes behind its beginning */
	FXT_LABEL_MADE,                 /* was made by the function `text` */
	FXT_LABEL_USED,                 /* was first used, as far as was seen, by the function `text` */
	FXT_LABEL_PATH,                 /* was opened by the path, command or name `text` */
	FXT_LABEL_FD,                   /* is of the descriptor `offset` */
};

struct fxt_label {
	const char *text;               /* UTF-8; NULL: there is no name */
	uint32_t bytes;
	/* Bytes behind the variable's beginning, or the descriptor. 1: the object lies in a variable
	 * without a symbol, or the path is cut. */
	uint32_t offset;
	uint8_t kind, how;              /* enum fxt_label_kind, enum fxt_label_how */
	/* The object is a lock that was destroyed and made again, and that the trace has been told of. */
	bool is_repeated;
};

/* The last object of each hash that the trace has been told of. */
enum { FXT_LABEL_KNOWN_SLOTS = 4096 };
extern _Atomic uintptr_t fxt_label_known[FXT_LABEL_KNOWN_SLOTS] __attribute__((visibility("hidden")));

/* Does what fxt_label_use() does for an object that is not the last known one of its hash. */
FXT_COLD void fxt_label_first_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				  uintptr_t place);

/* Tells the trace of `object` if it is not known. The code at `place`, a return address, is going to use
 * the object. It is called before the call's start is read, because it may be slow. */
static inline void fxt_label_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				 uintptr_t place)
{
	if (FXT_UNLIKELY(atomic_load_explicit(&fxt_label_known[fxt_wait_hash(object) >> 52],
					      memory_order_relaxed) != object))
		fxt_label_first_use(thread, kind, object, place);
}

/* Forgets what was at the address, and names the object that the code at `place` is going to make there.
 * Returns the name. */
struct fxt_label fxt_label_made(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				uintptr_t place);

/* Names a stream, a directory or a named semaphore that was opened at end_ns. `path` is the path, the
 * command or the name (NULL: none), `fd` the descriptor (-1: none). Returns the name. */
struct fxt_label fxt_label_opened(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				  uintptr_t place, uint64_t end_ns, const char *path, int fd);

/* Returns the function that a call was made in, by its return address, as fxt_function_find() does. While
 * the thread holds a lock, the name is returned only if it is known without a search, and is owed
 * otherwise. Returns NULL if there is no name now. The text is not terminated. */
const char *fxt_label_place(struct fxt_thread *thread, uintptr_t place, size_t *bytes);

/* Tells all names that the thread owes, and those that any thread has owed since before before_ns. A name
 * that another thread is telling, or that has to come after such a one, is left for the next deferred
 * work. */
void fxt_labels_tell_owed(struct fxt_thread *thread, uint64_t before_ns);

/* Returns the name of a heap block that the code at `place` has asked for. Only blocks.c knows which blocks
 * there are and which the trace was told of; the functions below know of no block. */
struct fxt_label fxt_label_block(struct fxt_thread *thread, uintptr_t place);
/* Tells the trace that the block at `block` has had this name and size since since_ns, or owes that if there
 * is no name now. */
void fxt_label_tell_block(struct fxt_thread *thread, uintptr_t block, const struct fxt_label *label,
			  uintptr_t place, uint64_t since_ns, uint64_t bytes);

/* Returns the object's name if it is known. A path that it was opened by is not kept. */
struct fxt_label fxt_label_of(enum fxt_label_kind kind, uintptr_t object);

/* Forgets an object that is about to be destroyed, and returns its name as fxt_label_of() does. For a
 * stream or a directory it returns no name. */
struct fxt_label fxt_label_forget(enum fxt_label_kind kind, uintptr_t object);

/* The length of the longest name. */
enum { FXT_LABEL_MAX_BYTES = 160 };
/* Returns the length of the whole name. */
size_t fxt_label_bytes(const struct fxt_label *label);
/* Writes the name. */
void fxt_label_compose(char *out, const struct fxt_label *label);
/* Writes the argument `object` with the name. Returns where the next argument goes. */
uint64_t *fxt_put_label(uint64_t *at, const struct fxt_label *label);

/* Tells whether the event of an object's making or end carries the name. For a lock that a function makes
 * again and again only the first event does. */
static inline bool fxt_label_is_said(const struct fxt_label *label)
{
	return label->text && !label->is_repeated;
}

/* Returns the number of words of the argument `object`, or 0 if there is no name. */
static inline size_t fxt_label_words(const struct fxt_label *label)
{
	return label->text ? 2 + fxt_words_of(fxt_label_bytes(label)) : 0;
}

/* Forgets all objects in memory that was freed or is about to be. This is how a C++ std::mutex is forgotten,
 * which no call makes or destroys. */
void fxt_labels_freed(const void *memory, size_t bytes);

/* Forgets the objects of libraries that are not loaded any more. It is called after libraries may have been
 * unloaded. */
void fxt_labels_unloaded(void);

/* Forgets all objects in the child of a fork, whose trace has to be told of them again. */
void fxt_labels_after_fork(void);
/* Forgets all objects because recording begins again, maybe in another trace. */
void fxt_labels_again(void);

#endif
