/* See label.h. A table of the objects that are known, made when there is the first. What is in it stays until it is destroyed, and its
 * place until somebody else needs that: a lock that is made at the same address by the same code is then the same again, and nothing
 * has to be told. Where a bucket is full of living objects the next one has no name, and is counted: to forget one would be to
 * look it up again at its next use.
 */
#include "label.h"

#include <string.h>

#include "function.h"
#include "stack.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum {
	BUCKETS = 1024,
	WAYS = 8,
	PATH_BYTES = FXT_LABEL_PATH_BYTES,
	NAME_BYTES = 100,               /* of a function or a variable */
	/* In a key. Locks and blocks may begin at the same address. */
	DEAD = 1,
	IS_BLOCK = 2,
	/* What labels may take of the durable area, for they may be any number; the others stand in the chunk of the thread that met the
	 * object. Streams have a part of their own: there may be many, of which each lives shortly. */
	LOCK_WORDS = 8192,
	STREAM_WORDS = 4096,
	DURABLE_RESERVE_WORDS = 2048,
};

struct detail {
	struct fxt_label label;
	uintptr_t place;                /* by which code; of a path, a hash of it and the descriptor */
};

struct table {
	_Atomic uintptr_t keys[BUCKETS][WAYS];  /* 0: free, or changing */
	struct detail details[BUCKETS][WAYS];
	char paths[BUCKETS][WAYS][PATH_BYTES];
};

_Atomic uintptr_t fxt_label_known[FXT_LABEL_KNOWN_SLOTS];
static _Atomic(struct table *) table;
static struct fxt_lock table_lock;      /* for changing what is not a key alone; nests in nothing */
static atomic_bool any_replaced;        /* somebody who was told of is not in the table any more */
static atomic_uint told_words[2];       /* locks and blocks, streams */

static const char *const kind_names[FXT_LABEL_KINDS] = {
	"", "mutex", "cond", "rwlock", "spinlock", "sem", "barrier", "FILE", "DIR", "block",
};

/* -- Names ------------------------------------------------------------------------------------- */

static unsigned digits_of(uint32_t offset)
{
	unsigned n = 0;

	for (; offset; offset >>= 4)
		n++;
	return n;
}

static const char *joint_of(const struct fxt_label *label)
{
	static const char *const joints[] = {
		[FXT_LABEL_SYMBOL] = "", [FXT_LABEL_MADE] = " of ", [FXT_LABEL_USED] = " first used by ",
		[FXT_LABEL_PATH] = " ", [FXT_LABEL_FD] = " of descriptor ",
	};

	return joints[label->how];
}

size_t fxt_label_bytes(const struct fxt_label *label)
{
	if (label->how == FXT_LABEL_SYMBOL)
		return label->bytes + (label->offset ? 3 + digits_of(label->offset) : 0);
	return strlen(kind_names[label->kind]) + strlen(joint_of(label)) + label->bytes;
}

static char *append(char *out, const char *text, size_t bytes)
{
	memcpy(out, text, bytes);
	return out + bytes;
}

/* Writes fxt_label_bytes(). */
static void compose(char *out, const struct fxt_label *label)
{
	unsigned n = digits_of(label->offset);

	static_assert(NAME_BYTES + 3 + 8 <= FXT_LABEL_MAX_BYTES && PATH_BYTES + 32 <= FXT_LABEL_MAX_BYTES, "any name");
	if (label->how != FXT_LABEL_SYMBOL) {
		out = append(out, kind_names[label->kind], strlen(kind_names[label->kind]));
		out = append(out, joint_of(label), strlen(joint_of(label)));
	}
	out = append(out, label->text, label->bytes);
	if (label->how == FXT_LABEL_SYMBOL && n) {
		out = append(out, "+0x", 3);
		while (n--)
			*out++ = "0123456789abcdef"[label->offset >> 4 * n & 15];
	}
}

uint64_t *fxt_put_label(uint64_t *at, const struct fxt_label *label)
{
	size_t bytes = fxt_label_bytes(label), words = fxt_words_of(bytes);

	at[words] = 0;
	compose((char *)(at + 1), label);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), FXT_STR_object) | fxt_arg_string(fxt_inline_ref(bytes));
	return at + 1 + words;
}

static uint32_t cut(const char *text, size_t bytes)
{
	if (bytes <= NAME_BYTES)
		return (uint32_t)bytes;
	for (bytes = NAME_BYTES; ((unsigned char)text[bytes] & 0xc0) == 0x80; bytes--)
		;
	return (uint32_t)bytes;
}

/* A global variable by its symbol, any other object by the function that makes or uses it. */
static struct fxt_label name(enum fxt_label_kind kind, enum fxt_label_how how, uintptr_t object, uintptr_t place)
{
	struct fxt_label label = {.kind = (uint8_t)kind, .how = (uint8_t)how};
	const struct fxt_function *function;
	size_t bytes = 0;

	if (!place || fxt_is_forbidden(FXT_NO_CALLS))
		return label;
	if (kind != FXT_LABEL_BLOCK)
		label.text = fxt_function_object_name(object, place - 1, &bytes, &label.offset);
	if (label.text) {
		label.how = FXT_LABEL_SYMBOL;
	} else {
		function = fxt_function_find(place - 1);
		label.text = function ? function->name : NULL;
		bytes = function ? function->bytes : 0;
	}
	label.bytes = label.text ? cut(label.text, bytes) : 0;
	return label;
}

/* -- The table --------------------------------------------------------------------------------- */

static uintptr_t key_of(enum fxt_label_kind kind, uintptr_t object)
{
	return kind == FXT_LABEL_BLOCK ? object | IS_BLOCK : object;
}

static uint64_t bucket_of(uintptr_t key)
{
	return fxt_wait_hash(key & ~(uintptr_t)(DEAD | IS_BLOCK)) >> 54;
}

/* Blocks have no use that is seen. */
static void remember(uintptr_t key)
{
	if (!(key & IS_BLOCK))
		atomic_store_explicit(&fxt_label_known[fxt_wait_hash(key) >> 52], key, memory_order_relaxed);
}

static int find(struct table *all, uintptr_t key)
{
	_Atomic uintptr_t *keys;
	int i;

	if (!all)
		return -1;
	for (keys = all->keys[bucket_of(key)], i = 0; i < WAYS; i++)
		if ((atomic_load_explicit(&keys[i], memory_order_acquire) & ~(uintptr_t)DEAD) == key)
			return i;
	return -1;
}

/* What is known of a key, alive or not. False: nothing, or it is changing. */
static bool look(uintptr_t key, struct detail *detail, uintptr_t *found)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t bucket = bucket_of(key);
	int way = find(all, key);

	if (way < 0)
		return false;
	*found = atomic_load_explicit(&all->keys[bucket][way], memory_order_acquire);
	*detail = all->details[bucket][way];
	atomic_thread_fence(memory_order_acquire);
	return (*found & ~(uintptr_t)DEAD) == key &&
	       atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed) == *found;
}

/* It lives again: what was told of it is true of it. */
static bool revive(uintptr_t key)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t bucket = bucket_of(key);
	uintptr_t dead = key | DEAD;
	int way = find(all, key);

	return way >= 0 && (atomic_compare_exchange_strong(&all->keys[bucket][way], &dead, key) || dead == key);
}

static struct table *get_table(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire), *made;

	if (all)
		return all;
	made = fxt_sys_memory(sizeof(*made));
	if (made && !atomic_compare_exchange_strong(&table, &all, made))
		fxt_sys_munmap(made, sizeof(*made));
	return atomic_load_explicit(&table, memory_order_acquire);
}

/* Where one that is not in it goes: a place nobody has, or somebody who is dead. -1: there is none. */
static int find_place(struct table *all, uint64_t bucket)
{
	uintptr_t key;
	int i, dead = -1;

	for (i = 0; i < WAYS; i++) {
		key = atomic_load_explicit(&all->keys[bucket][i], memory_order_relaxed);
		if (!key)
			return i;
		if (key & DEAD)
			dead = i;
	}
	if (dead >= 0)
		atomic_store_explicit(&any_replaced, true, memory_order_relaxed);
	return dead;
}

/* The end of it, where it is too long: that tells paths apart. */
static void keep_path(char *kept, struct fxt_label *label, const char *path, size_t bytes)
{
	size_t cut_bytes = 0;

	if (bytes > PATH_BYTES) {
		cut_bytes = bytes - (PATH_BYTES - 2);
		memcpy(kept, "..", 2);
	}
	label->bytes = (uint32_t)fxt_utf8_clean(kept + (cut_bytes ? 2 : 0), path + cut_bytes, bytes - cut_bytes, bytes - cut_bytes);
	label->bytes += cut_bytes ? 2 : 0;
	label->text = kept;
}

static bool is_same(const struct fxt_label *a, const struct fxt_label *b)
{
	return a->text == b->text && a->offset == b->offset && a->kind == b->kind && a->how == b->how;
}

enum entered { ENTERED_NOT, ENTERED_KNOWN, ENTERED_FIRST, ENTERED_NEXT };

/* Puts an object into the table. Not: there is no room. Known: it was told, by another thread or as another object of the same name.
 * First: nothing was told of this address before. */
static enum entered enter(uintptr_t key, struct detail *new, const char *path, size_t path_bytes)
{
	struct table *all = get_table();
	uint64_t mask, bucket = bucket_of(key);
	enum entered how = ENTERED_NEXT;
	const struct detail *old;
	uintptr_t was = 0;
	int way;

	if (!all)
		return ENTERED_NOT;
	mask = fxt_lock(&table_lock);
	way = find(all, key);
	if (way < 0) {
		way = find_place(all, bucket);
		how = way < 0 ? ENTERED_NOT : atomic_load_explicit(&any_replaced, memory_order_relaxed) ? ENTERED_NEXT : ENTERED_FIRST;
	} else {
		was = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed);
	}
	old = way < 0 ? NULL : &all->details[bucket][way];
	if (was && ((was == key && new->label.how == FXT_LABEL_USED && old->label.kind == new->label.kind) ||
		    (!path && old->place && is_same(&old->label, &new->label)))) {
		atomic_store_explicit(&all->keys[bucket][way], key, memory_order_relaxed);
		how = ENTERED_KNOWN;
	}
	if (how == ENTERED_FIRST || how == ENTERED_NEXT) {
		atomic_store_explicit(&all->keys[bucket][way], 0, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		if (path)
			keep_path(all->paths[bucket][way], &new->label, path, path_bytes);
		all->details[bucket][way] = *new;
		atomic_store_explicit(&all->keys[bucket][way], key, memory_order_release);
	}
	fxt_unlock(&table_lock, mask);
	return how;
}

/* -- Telling ----------------------------------------------------------------------------------- */

struct told {
	uint64_t since_ns;              /* 0: from the beginning */
	int fd;                         /* -1 */
	uint64_t bytes;                 /* of a block */
};

static void count_unnamed(struct fxt_thread *thread)
{
	if (fxt_agent_file())
		fxt_agent_count(FXT_LOSS_UNNAMED, 1, thread->last_ns);
}

/* A name as the arguments of records have it. */
static uint64_t *put_text(uint64_t *at, uint64_t name, const char *text, size_t bytes)
{
	size_t words = fxt_words_of(bytes);

	at[words] = 0;
	memcpy(at + 1, text, bytes);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), name) | fxt_arg_string(bytes ? fxt_inline_ref(bytes) : 0);
	return at + 1 + words;
}

/* The "Userspace object record". By hand, and apart: of a small stack not much may be left. */
static __attribute__((noinline)) void tell(struct fxt_thread *thread, uintptr_t object, const struct fxt_label *label,
					   const struct told *told)
{
	bool is_stream = label->kind == FXT_LABEL_FILE || label->kind == FXT_LABEL_DIR;
	uint64_t record[3 + FXT_LABEL_MAX_BYTES / FXT_WORD_BYTES + 6 + 1 + PATH_BYTES / FXT_WORD_BYTES], *at = record + 3;
	size_t bytes = fxt_label_bytes(label), words = fxt_words_of(bytes);
	unsigned arguments = 1;

	record[1] = object;
	record[2] = fxt_agent.pid;
	at[words - 1] = 0;
	compose((char *)at, label);
	at += words;
	*at++ = fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_type) | fxt_arg_string(FXT_STR_kind_mutex + label->kind - 1);
#define PUT(put)                \
	at = put;               \
	arguments++;
	if (told->since_ns) {
		PUT(fxt_put_uint(at, FXT_STR_since, told->since_ns))
	}
	if (told->fd >= 0) {
		PUT(fxt_put_int(at, FXT_STR_fd, told->fd))
	}
	if (label->how == FXT_LABEL_PATH) {
		PUT(put_text(at, FXT_STR_path, label->text, label->bytes))
	}
	if (label->kind == FXT_LABEL_BLOCK) {
		PUT(fxt_put_uint(at, FXT_STR_size, told->bytes))
	}
#undef PUT
	words = (size_t)(at - record);
	record[0] = fxt_record_type(FXT_RECORD_USERSPACE_OBJECT) | fxt_record_words(words) | fxt_object_name(fxt_inline_ref(bytes)) |
		    fxt_object_args(arguments);
	if (!fxt_agent_file())
		return;
	/* After the file was rewritten the durable area is not the trace's any more. */
	if (!fxt_agent.buffer.tail_offset &&
	    atomic_load_explicit(&told_words[is_stream], memory_order_relaxed) + words <= (is_stream ? STREAM_WORDS : LOCK_WORDS)) {
		atomic_fetch_add_explicit(&told_words[is_stream], (unsigned)words, memory_order_relaxed);
		if (fxt_buffer_durable(&fxt_agent.buffer, record, words, DURABLE_RESERVE_WORDS))
			return;
	}
	if (!fxt_thread_put_extra(thread, record, words))
		count_unnamed(thread);
}

/* -- What is called from outside --------------------------------------------------------------- */

static const struct fxt_label nameless;

/* Whether there is no way to find a name now. */
static bool is_impossible(void)
{
	return fxt_is_forbidden(FXT_NO_CALLS) || fxt_stack_is_short();
}

void fxt_label_first_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place)
{
	uintptr_t key = key_of(kind, object), found;
	struct told told = {.fd = -1};
	struct detail detail;
	enum entered entered;

	/* Another one had its place among those that are known at once. */
	if (look(key, &detail, &found) && found == key && detail.label.kind == kind) {
		remember(key);
		return;
	}
	if (fxt_stack_is_short())
		return;
	detail = (struct detail){name(kind, FXT_LABEL_USED, object, place), place};
	remember(key);
	entered = detail.label.text ? enter(key, &detail, NULL, 0) : ENTERED_NOT;
	if (entered == ENTERED_KNOWN)
		return;
	if (entered == ENTERED_NOT) {
		count_unnamed(thread);
		return;
	}
	told.since_ns = entered == ENTERED_FIRST ? 0 : fxt_now(thread);
	tell(thread, object, &detail.label, &told);
}

/* Enters and tells, unless it has been told. */
static struct fxt_label make(struct fxt_thread *thread, uintptr_t object, struct detail *new, struct told *told, const char *path,
			     size_t path_bytes)
{
	uintptr_t key = key_of(new->label.kind, object), found;
	enum entered entered;
	struct detail old;

	if (look(key, &old, &found) && old.place == new->place && old.label.kind == new->label.kind &&
	    old.label.how != FXT_LABEL_USED && revive(key)) {
		remember(key);
		return old.label;
	}
	if (is_impossible())
		return nameless;
	if (new->label.how == FXT_LABEL_MADE)
		new->label = name(new->label.kind, FXT_LABEL_MADE, object, new->place);
	entered = new->label.text || path ? enter(key, new, path, path_bytes) : ENTERED_NOT;
	if (entered == ENTERED_NOT) {
		count_unnamed(thread);
		return nameless;
	}
	remember(key);
	if (entered != ENTERED_KNOWN)
		tell(thread, object, &new->label, told);
	return new->label;
}

struct fxt_label fxt_label_made(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place)
{
	struct detail new = {{.kind = (uint8_t)kind, .how = FXT_LABEL_MADE}, place};
	struct told told = {.since_ns = fxt_now(thread), .fd = -1};

	return make(thread, object, &new, &told, NULL, 0);
}

struct fxt_label fxt_label_block(struct fxt_thread *thread, uintptr_t block, uintptr_t place, uint64_t end_ns, uint64_t bytes)
{
	struct detail new = {{.kind = FXT_LABEL_BLOCK, .how = FXT_LABEL_MADE}, place};
	struct told told = {.since_ns = end_ns, .fd = -1, .bytes = bytes};

	return make(thread, block, &new, &told, NULL, 0);
}

static uintptr_t hash_of_path(const char *path, size_t bytes, int fd)
{
	uint64_t hash = (unsigned)fd;
	size_t i;

	for (i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
	return (uintptr_t)(hash ^ hash >> 29);
}

struct fxt_label fxt_label_opened(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object, uintptr_t place,
				  uint64_t end_ns, const char *path, int fd)
{
	struct detail new = {{.kind = (uint8_t)kind, .how = FXT_LABEL_MADE}, place};
	struct told told = {.since_ns = end_ns, .fd = fd};
	size_t bytes = path ? fxt_text_bytes(path) : 0;
	char number[20];

	if (path) {
		new.label.how = FXT_LABEL_PATH;
	} else if (fd >= 0) {
		new.label.how = FXT_LABEL_FD;
		path = number;
		bytes = fxt_decimal(number, (uint64_t)fd);
	}
	if (path)
		new.place = hash_of_path(path, bytes, fd);
	return make(thread, object, &new, &told, path, bytes);
}

struct fxt_label fxt_label_of(enum fxt_label_kind kind, uintptr_t object)
{
	struct detail detail;
	uintptr_t found, key = key_of(kind, object);

	return look(key, &detail, &found) && found == key && detail.label.kind == kind ? detail.label : nameless;
}

struct fxt_label fxt_label_forget(enum fxt_label_kind kind, uintptr_t object, char text[FXT_LABEL_PATH_BYTES])
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	struct fxt_label label = fxt_label_of(kind, object);
	uintptr_t key = key_of(kind, object), living = key, known = object;
	int way = find(all, key);

	/* Its place may go to another. */
	if (label.text && label.how >= FXT_LABEL_PATH)
		label.text = memcpy(text, label.text, label.bytes);
	if (way >= 0)
		atomic_compare_exchange_strong(&all->keys[bucket_of(key)][way], &living, key | DEAD);
	atomic_compare_exchange_strong(&fxt_label_known[fxt_wait_hash(object) >> 52], &known, 0);
	return label;
}

static void know_none(void)
{
	unsigned i;

	for (i = 0; i < FXT_LABEL_KNOWN_SLOTS; i++)
		if (atomic_load_explicit(&fxt_label_known[i], memory_order_relaxed))
			atomic_store_explicit(&fxt_label_known[i], 0, memory_order_relaxed);
}

/* Variables of a library that is gone: the next one at their addresses is another. */
static void forget_variables(struct table *all)
{
	const struct detail *detail;
	uintptr_t key;
	unsigned bucket, way;

	for (bucket = 0; bucket < BUCKETS; bucket++) {
		for (way = 0; way < WAYS; way++) {
			key = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed);
			detail = &all->details[bucket][way];
			if (!key || detail->label.how != FXT_LABEL_SYMBOL || fxt_function_is_mapped(key & ~(uintptr_t)DEAD))
				continue;
			/* Not the same variable again, should it come back to the same place: the trace is told. */
			all->details[bucket][way].place = 0;
			atomic_store_explicit(&all->keys[bucket][way], key | DEAD, memory_order_relaxed);
		}
	}
}

void fxt_labels_unloaded(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t mask;

	if (!all || is_impossible() || !fxt_functions_unloaded())
		return;
	mask = fxt_lock(&table_lock);
	forget_variables(all);
	know_none();
	fxt_unlock(&table_lock, mask);
}

void fxt_labels_after_fork(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_relaxed);

	fxt_lock_reset(&table_lock);
	if (all)
		fxt_sys_munmap(all, sizeof(*all));
	atomic_store(&table, NULL);
	atomic_store(&any_replaced, false);
	atomic_store(&told_words[0], 0);
	atomic_store(&told_words[1], 0);
	know_none();
}
