/* See label.h. Finds names, and tells the trace of them. label_table.c knows which objects have a name, and
 * label_text.c writes names. */
#include "label.h"

#include <string.h>

#include "agent/base/stack.h"
#include "agent/emit/deferred.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"
#include "agent/emit/trace_file.h"
#include "agent/names/symbols.h"
#include "label_owed.h"
#include "label_table.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum {
	NAME_BYTES = 100,               /* the longest name of a function or a variable */
	PATH_BYTES = 96,                /* the end of a path that is kept */
	/* The words of the durable area that labels may take, because there may be any number of labels;
	 * further records stand in the chunk of the thread that met the object. Streams and blocks have a
	 * share of their own, because many may come and each live for a short time. */
	LOCK_WORDS = 8192,
	STREAM_WORDS = 4096,
	BLOCK_WORDS = 4096,
	DURABLE_RESERVE_WORDS = 2048,
	COUNTED_WORDS = 1024,
};

FXT_WIPED _Atomic uintptr_t fxt_label_known[FXT_LABEL_KNOWN_SLOTS];

static struct share {
	atomic_uint words;
	const unsigned most;
} shares[] = {{0, LOCK_WORDS}, {0, STREAM_WORDS}, {0, BLOCK_WORDS}};
/* a bit for objects without a name, by their hash */
static FXT_WIPED _Atomic uint64_t counted[COUNTED_WORDS];
/* There was ever anything in these two tables. */
static atomic_bool has_counted, has_known;

/* -- Names ------------------------------------------------------------------------------------- */

static_assert(NAME_BYTES + 3 + 8 <= FXT_LABEL_MAX_BYTES && PATH_BYTES + 32 <= FXT_LABEL_MAX_BYTES,
	      "any name");

static uint32_t cut(const char *text, size_t bytes)
{
	if (bytes <= NAME_BYTES)
		return (uint32_t)bytes;
	for (bytes = NAME_BYTES; fxt_utf8_continues(text[bytes]); bytes--)
		;
	return (uint32_t)bytes;
}

/* Names a global variable by its symbol, any other object by the function that makes or uses it. */
static struct fxt_label name(enum fxt_label_kind kind, enum fxt_label_how how, uintptr_t object,
			     uintptr_t place)
{
	struct fxt_label label = {.kind = (uint8_t)kind, .how = (uint8_t)how};
	const struct fxt_function *function;
	size_t bytes = 0;

	if (!place || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock())
		return label;
	label.text = fxt_function_object_name(object, place - 1, &bytes, &label.offset);
	if (label.text) {
		label.how = FXT_LABEL_SYMBOL;
	} else {
		function = fxt_function_find_named(place - 1);
		label.text = function ? function->name : NULL;
		bytes = function ? function->bytes : 0;
	}
	label.bytes = label.text ? cut(label.text, bytes) : 0;
	return label;
}

/* Notes that the thread owes a name. If the list is full, the place will be met again. */
static void owe(struct fxt_thread *thread, struct fxt_owed owed)
{
	owed.tid = thread->tid;
	if (fxt_owed_put(&owed))
		fxt_deferred_ask(thread);
}

const char *fxt_label_place(struct fxt_thread *thread, uintptr_t place, size_t *bytes)
{
	const struct fxt_function *function;
	const char *text;

	*bytes = 0;
	if (!place)
		return NULL;
	function = fxt_function_first(place - 1);
	if (!fxt_function_is(function, place - 1)) {
		if (fxt_holds_lock(thread)) {
			text = fxt_symbol_known_name(place - 1, bytes);
			if (!text && !fxt_owed_has(place, false))
				owe(thread,
				    (struct fxt_owed){.object = place, .place = place,
						      .since_ns = thread->last_ns});
			return text;
		}
		function = fxt_function_find_named(place - 1);
	}
	if (!function)
		return NULL;
	*bytes = function->bytes;
	return function->name;
}

/* -- Telling ----------------------------------------------------------------------------------- */

/* The arguments of an object's record. */
struct told {
	uint64_t since_ns;              /* 0: the name holds from the beginning */
	int fd;                         /* the object's descriptor; -1: it has none */
	uint64_t bytes;                 /* the size of a block */
};

/* Counts an object without a name: each that is made, and one that is used if it has not been counted, as
 * far as its hash tells. */
static void count_unnamed(struct fxt_thread *thread, uintptr_t key, bool is_made)
{
	uint64_t hash = fxt_wait_hash(key), bit = UINT64_C(1) << (hash >> 48 & 63);

	if (!has_counted)
		has_counted = true;
	if (!(atomic_fetch_or_explicit(&counted[hash >> 54], bit, memory_order_relaxed) & bit) || is_made)
		fxt_thread_lacks(thread, FXT_LOSS_UNNAMED);
}

static struct share *share_of(unsigned kind)
{
	return kind == FXT_LABEL_BLOCK ? &shares[2]
		: kind == FXT_LABEL_FILE || kind == FXT_LABEL_DIR ? &shares[1] : &shares[0];
}

/* Writes the userspace object record. The record is made by hand, and in a function of its own, because not
 * much may be left of a small stack. */
static __attribute__((noinline)) void tell(struct fxt_thread *thread, uintptr_t object,
					   const struct fxt_label *label, const struct told *told)
{
	struct share *share = share_of(label->kind);
	uint64_t record[3 + FXT_LABEL_MAX_BYTES / FXT_WORD_BYTES + 6 + 1 + PATH_BYTES / FXT_WORD_BYTES],
		*at = record + 3;
	size_t bytes = fxt_label_bytes(label), words = fxt_words_of(bytes);
	unsigned arguments = 1;

	record[1] = object;
	record[2] = fxt_agent.koid;
	at[words - 1] = 0;
	fxt_label_compose((char *)at, label);
	at += words;
	*at++ = fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_type) |
		fxt_arg_string(FXT_STR_kind_mutex + label->kind - 1);
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
		PUT(fxt_put_text(at, FXT_STR_path, label->text, label->bytes))
	}
	if (label->kind == FXT_LABEL_BLOCK) {
		PUT(fxt_put_uint(at, FXT_STR_size, told->bytes))
	}
#undef PUT
	words = (size_t)(at - record);
	record[0] = fxt_record_type(FXT_RECORD_USERSPACE_OBJECT) | fxt_record_words(words) |
		    fxt_object_name(fxt_inline_ref(bytes)) | fxt_object_args(arguments);
	if (!fxt_agent_file())
		return;
	/* After the file was rewritten, the durable area is no longer the trace's. */
	if (!fxt_agent.buffer.tail_offset &&
	    atomic_load_explicit(&share->words, memory_order_relaxed) + words <= share->most) {
		atomic_fetch_add_explicit(&share->words, (unsigned)words, memory_order_relaxed);
		if (fxt_storage_durable(fxt_agent.storage, record, words, DURABLE_RESERVE_WORDS))
			return;
	}
	if (!fxt_thread_put_extra(thread, record, words))
		count_unnamed(thread, object, true);
}

/* -- What is called from outside --------------------------------------------------------------- */

static const struct fxt_label nameless;

static void remember(uintptr_t object)
{
	if (!has_known)
		has_known = true;
	atomic_store_explicit(&fxt_label_known[fxt_wait_hash(object) >> 52], object, memory_order_relaxed);
}

static void know_no_more(uintptr_t object)
{
	uintptr_t known = object;

	atomic_compare_exchange_strong(&fxt_label_known[fxt_wait_hash(object) >> 52], &known, 0);
}

/* Forgets the object that was at this address. */
static void end_life(uintptr_t object)
{
	fxt_owed_gone(object, object + 1);
	fxt_label_bury(object);
	know_no_more(object);
}

/* Tells whether a name cannot be found now. */
static bool is_impossible(void)
{
	return fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock() || fxt_stack_is_short();
}

/* Tells the names that are owed, because the next name of an address has to come after them. Returns true,
 * and tells none, if the thread holds a lock. */
static bool has_to_owe(struct fxt_thread *thread)
{
	if (fxt_holds_lock(thread))
		return true;
	if (fxt_owed_any() && !fxt_stack_is_short())
		fxt_labels_tell_owed(thread, 0);
	return false;
}

/* Does what fxt_label_first_use() does, with stack enough. */
static __attribute__((noinline)) void use_first(struct fxt_thread *thread, enum fxt_label_kind kind,
						uintptr_t object, uintptr_t place)
{
	uintptr_t found;
	struct told told = {.fd = -1};
	struct fxt_label_detail detail;
	enum fxt_entered entered;
	bool owes = has_to_owe(thread) || fxt_owed_has(object, true);

	/* The object is known; another one had taken its place in fxt_label_known. */
	if (fxt_label_look(object, &detail, &found) && found == object && detail.label.kind == kind) {
		remember(object);
		return;
	}
	if (owes) {
		if (!fxt_owed_has(object, false))
			owe(thread,
			    (struct fxt_owed){object, place, fxt_now(thread), 0, 0, (uint8_t)kind,
					      FXT_LABEL_USED, false});
		return;
	}
	remember(object);
	detail = (struct fxt_label_detail){.place = place};
	if (fxt_label_has_place(object))
		detail.label = name(kind, FXT_LABEL_USED, object, place);
	entered = detail.label.text ? fxt_label_enter(object, &detail) : FXT_ENTERED_NOT;
	if (entered == FXT_ENTERED_KNOWN)
		return;
	if (entered == FXT_ENTERED_NOT) {
		count_unnamed(thread, object, false);
		return;
	}
	told.since_ns = entered == FXT_ENTERED_FIRST ? 0 : fxt_now(thread);
	tell(thread, object, &detail.label, &told);
}

/* An object that is used with little stack left gets its name by a later use. */
void fxt_label_first_use(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
			 uintptr_t place)
{
	if (!fxt_stack_is_short())
		use_first(thread, kind, object, place);
}

/* Enters an object that was made or opened into the table and tells the trace of it, unless the trace was
 * told. The name holds since the caller's time, or since now. */
static struct fxt_label make(struct fxt_thread *thread, uintptr_t object, struct fxt_label_detail *new,
			     struct told *told)
{
	uintptr_t found;
	enum fxt_entered entered;
	struct fxt_label_detail old;
	bool owes = has_to_owe(thread) || fxt_owed_has(object, true);

	/* A name that is owed for this address comes in between. */
	if (!(owes && fxt_owed_has(object, true)) && fxt_label_look(object, &old, &found) &&
	    old.place == new->place && old.label.kind == new->label.kind && old.label.how != FXT_LABEL_USED &&
	    fxt_label_revive(object)) {
		remember(object);
		if (old.label.how < FXT_LABEL_PATH)
			old.label.is_repeated = true;
		return old.label.how < FXT_LABEL_PATH ? old.label : new->label;
	}
	if (owes && new->label.how == FXT_LABEL_MADE) {
		end_life(object);
		owe(thread,
		    (struct fxt_owed){object, new->place, told->since_ns ? told->since_ns : fxt_now(thread),
				      0, 0, new->label.kind, FXT_LABEL_MADE, false});
		return nameless;
	}
	if (is_impossible())
		return nameless;
	if (!told->since_ns)
		told->since_ns = fxt_now(thread);
	if (new->label.how == FXT_LABEL_MADE && fxt_label_has_place(object))
		new->label = name(new->label.kind, FXT_LABEL_MADE, object, new->place);
	entered = new->label.text ? fxt_label_enter(object, new) : FXT_ENTERED_NOT;
	if (entered == FXT_ENTERED_NOT) {
		count_unnamed(thread, object, true);
		return nameless;
	}
	remember(object);
	new->label.is_repeated = entered == FXT_ENTERED_KNOWN;
	if (!new->label.is_repeated)
		tell(thread, object, &new->label, told);
	return new->label;
}

static void tell_owed_block(struct fxt_thread *thread, const struct fxt_owed *owed)
{
	struct fxt_label label = fxt_label_block(thread, owed->place);

	fxt_label_tell_block(thread, owed->object, &label, owed->place, owed->since_ns, owed->bytes);
}

/* Tells a name that was owed. An object that is gone by now does not become a living one, and what another
 * thread has told meanwhile stays as it is. */
static void tell_owed(struct fxt_thread *thread, const struct fxt_owed *owed, int slot)
{
	struct told told = {.since_ns = owed->since_ns, .fd = -1};
	struct fxt_label_detail detail, old;
	enum fxt_entered entered = FXT_ENTERED_NEXT;
	uintptr_t found;
	bool lives = fxt_label_look(owed->object, &old, &found) && found == owed->object;

	if (lives && !owed->is_gone && owed->how == FXT_LABEL_USED && old.label.kind == owed->kind)
		return;
	detail = (struct fxt_label_detail){name(owed->kind, owed->how, owed->object, owed->place),
					   owed->place};
	if (!detail.label.text)
		entered = FXT_ENTERED_NOT;
	else if (!lives || !owed->is_gone)
		entered = fxt_label_enter(owed->object, &detail);
	if (entered == FXT_ENTERED_NOT) {
		count_unnamed(thread, owed->object, owed->how == FXT_LABEL_MADE);
	} else if (entered != FXT_ENTERED_KNOWN) {
		if (entered == FXT_ENTERED_FIRST && owed->how == FXT_LABEL_USED)
			told.since_ns = 0;
		tell(thread, owed->object, &detail.label, &told);
	}
	if (!owed->is_gone)
		remember(owed->object);
	if (fxt_owed_is_gone(slot) && !(owed->is_gone && lives)) {
		fxt_label_bury(owed->object);
		know_no_more(owed->object);
	}
}

void fxt_labels_tell_owed(struct fxt_thread *thread, uint64_t before_ns)
{
	struct fxt_owed owed = {0};
	int slot;

	while ((slot = fxt_owed_take(&owed, thread->tid, before_ns)) >= 0) {
		if (owed.kind == FXT_LABEL_NONE)
			fxt_function_find_named(owed.place - 1);
		else if (owed.kind == FXT_LABEL_BLOCK)
			tell_owed_block(thread, &owed);
		else
			tell_owed(thread, &owed, slot);
		fxt_owed_done(slot, owed.object);
	}
}

struct fxt_label fxt_label_made(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				uintptr_t place)
{
	struct fxt_label_detail new = {{.kind = (uint8_t)kind, .how = FXT_LABEL_MADE}, place};
	struct told told = {.fd = -1};

	/* A lock that is made is held by no thread: an allocator makes all of its locks again in the child
	 * of a fork, where it holds them. */
	fxt_held_lock_remove(thread, object);
	return make(thread, object, &new, &told);
}

struct fxt_label fxt_label_block(struct fxt_thread *thread, uintptr_t place)
{
	struct fxt_label label = {.kind = FXT_LABEL_BLOCK, .how = FXT_LABEL_MADE};
	size_t bytes;

	if (fxt_is_forbidden(FXT_NO_CALLS))
		return label;
	label.text = fxt_label_place(thread, place, &bytes);
	label.bytes = label.text ? cut(label.text, bytes) : 0;
	return label;
}

void fxt_label_tell_block(struct fxt_thread *thread, uintptr_t block, const struct fxt_label *label,
			  uintptr_t place, uint64_t since_ns, uint64_t bytes)
{
	const struct told told = {.since_ns = since_ns, .fd = -1, .bytes = bytes};

	if (label->text)
		tell(thread, block, label, &told);
	else if (fxt_holds_lock(thread))
		owe(thread,
		    (struct fxt_owed){block, place, since_ns, bytes, 0, FXT_LABEL_BLOCK, FXT_LABEL_MADE,
				      false});
}

static uintptr_t hash_of_path(const char *path, size_t bytes, int fd)
{
	uint64_t hash = (unsigned)fd;
	size_t i;

	for (i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
	return (uintptr_t)(hash ^ hash >> 29);
}

struct fxt_label fxt_label_opened(struct fxt_thread *thread, enum fxt_label_kind kind, uintptr_t object,
				  uintptr_t place, uint64_t end_ns, const char *path, int fd)
{
	struct fxt_label_detail new = {{.kind = (uint8_t)kind, .how = FXT_LABEL_MADE}, place};
	struct told told = {.since_ns = end_ns, .fd = fd};
	size_t bytes = path ? fxt_text_bytes(path) : 0;
	char number[FXT_DECIMAL_BYTES];

	if (path) {
		new.place = hash_of_path(path, bytes, fd);
		new.label.how = FXT_LABEL_PATH;
		new.label.offset = bytes > PATH_BYTES;
		new.label.text = path + (bytes > PATH_BYTES ? bytes - (PATH_BYTES - 2) : 0);
		new.label.bytes = (uint32_t)(bytes > PATH_BYTES ? PATH_BYTES - 2 : bytes);
	} else if (fd >= 0) {
		new.place = hash_of_path("", 0, fd);
		new.label.how = FXT_LABEL_FD;
		new.label.offset = (uint32_t)fd;
		new.label.text = "";
		new.label.bytes = (uint32_t)fxt_decimal(number, (uint64_t)fd);
	}
	return make(thread, object, &new, &told);
}

struct fxt_label fxt_label_of(enum fxt_label_kind kind, uintptr_t object)
{
	struct fxt_label_detail detail;
	uintptr_t found;

	return fxt_label_look(object, &detail, &found) && found == object && detail.label.kind == kind
		? detail.label : nameless;
}

struct fxt_label fxt_label_forget(enum fxt_label_kind kind, uintptr_t object)
{
	struct fxt_label label = fxt_label_of(kind, object);

	end_life(object);
	return kind == FXT_LABEL_FILE || kind == FXT_LABEL_DIR ? nameless : label;
}

void fxt_labels_freed(const void *memory, size_t bytes)
{
	uintptr_t low = (uintptr_t)memory;

	/* The caller may give any size, unless the memory is a block. */
	if (bytes <= UINTPTR_MAX - low) {
		fxt_owed_gone(low, low + bytes);
		fxt_label_bury_within(low, low + bytes, know_no_more);
	}
}

static void know_none(void)
{
	unsigned i;

	for (i = 0; has_known && i < FXT_LABEL_KNOWN_SLOTS; i++)
		if (atomic_load_explicit(&fxt_label_known[i], memory_order_relaxed))
			atomic_store_explicit(&fxt_label_known[i], 0, memory_order_relaxed);
}

void fxt_labels_unloaded(void)
{
	if (is_impossible() || fxt_label_table_is_empty() || !fxt_functions_unloaded())
		return;
	fxt_label_bury_variables();
	/* The code whose names are owed may have been unloaded. */
	fxt_owed_clear();
	know_none();
}

/* Forgets what the child of a fork has from its parent and is not wiped. */
static void forget_owed(void)
{
	unsigned i;

	fxt_owed_clear();
	for (i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		if (atomic_load_explicit(&shares[i].words, memory_order_relaxed))
			atomic_store(&shares[i].words, 0);
}

/* Forgets what is not in the table. */
static void forget_rest(void)
{
	unsigned i;

	forget_owed();
	for (i = 0; has_counted && i < COUNTED_WORDS; i++)
		if (atomic_load_explicit(&counted[i], memory_order_relaxed))
			atomic_store_explicit(&counted[i], 0, memory_order_relaxed);
	know_none();
}

void fxt_labels_after_fork(void)
{
	fxt_label_table_after_fork();
	forget_owed();
}

void fxt_labels_again(void)
{
	fxt_label_table_empty();
	forget_rest();
}
