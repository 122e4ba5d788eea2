/* See function.h. This file owns the table of functions and the string indices of their names. */
#include "agent/base/stack.h"
#include "agent/names/symbols.h"
#include "filtered.h"
#include "function.h"
#include "losses.h"
#include "trace_file.h"
#include "writer/fxt_encode.h"

enum {
	/* A table for 131072 functions takes 8 MiB of addresses, and memory for the pages that are used.
	 * Where functions are entered it has this size at once, so that few of them share an entry. If the
	 * program's addresses or its data are limited, it has no more than a part of the limit at first. */
	MOST_ENTRIES = 1 << 18,
	LIMIT_SHARE = 64,
	/* Names of the functions that make objects need little. */
	LEAST_ENTRIES = 1 << 11,
	GROWTH = 4,
	TABLES = 8,
	/* Names leave so much of the durable area free: for threads, objects and the agent's own records. */
	DURABLE_RESERVE_WORDS = 2048,
	NAME_MAX_BYTES = 4000,
};

/* Set in the address of a function whose file has been unloaded. No address in a program has it, nor have all
 * of these inverted. */
static const uintptr_t UNLOADED = (uintptr_t)1 << 62;

static struct fxt_function no_function;
struct fxt_functions fxt_functions = {.entries = &no_function};
FXT_LARGE uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1]
	__attribute__((aligned(FXT_PAGE_BYTES)));
static_assert(sizeof(fxt_functions_none_defined) % FXT_PAGE_BYTES == 0, "of pages");

/* The function that has each index. Only the pages that are used take memory. After a fork this is not
 * emptied: an entry counts only if the function still has the index. */
static const struct fxt_function *_Atomic *_Atomic by_index;

/* Smaller tables that were used before. They stay, because others may be reading there. */
static struct {
	struct fxt_function *entries;
	size_t count;
} tables[TABLES];
static unsigned table_count;
static atomic_bool cannot_grow;

/* What a function is looked for: to be entered by the quick way, or never by it, or for its name. */
enum use { ENTERED, LOOKED_AT, NAMED };

/* Entries are looked through by parts of this many. */
enum { PART_ENTRIES = 128 };

static struct {
	struct fxt_lock lock;           /* held while a name is looked up; durable_lock nests in it */
	atomic_uint count;              /* the number of functions in the table; changed under the lock */
	uint32_t next_index;
	bool indices_used_up;
	uint64_t has_any[MOST_ENTRIES / PART_ENTRIES / 64];     /* a bit for each part that has a function */
} functions;

/* A thread sanitizer in the program sees the memory accesses under the lock, but not the lock. So it has to
 * be told of it. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static uint64_t lock_functions(void)
{
	uint64_t mask = fxt_lock(&functions.lock);

	if (__tsan_acquire)
		__tsan_acquire(&functions.lock);
	return mask;
}

static void unlock_functions(uint64_t mask)
{
	if (__tsan_release)
		__tsan_release(&functions.lock);
	fxt_unlock(&functions.lock, mask);
}

/* Registers a name in the durable area and returns its index, or 0 if there is no room. The caller holds
 * functions.lock. */
static uint32_t give_index(const char *name, size_t bytes)
{
	/* This is static because the stack may be a signal handler's: some of these have 3632 bytes. */
	static FXT_LARGE uint64_t record[1 + NAME_MAX_BYTES / FXT_WORD_BYTES];
	uint32_t index = functions.next_index ? functions.next_index : FXT_STR_CALLS + fxt_agent.calls.count;
	size_t words;

	if (functions.indices_used_up || index > FXT_STRING_MAX_INDEX || !fxt_agent_file())
		return 0;
	words = fxt_encode_string(record, sizeof(record) / sizeof(*record), (uint16_t)index, name, bytes);
	if (!words || !fxt_storage_durable(fxt_agent.storage, record, words, DURABLE_RESERVE_WORDS)) {
		functions.indices_used_up = true;
		return 0;
	}
	functions.next_index = index + 1;
	return index;
}

/* Returns the function at `address`, or NULL if it is not in the table yet. This needs no lock: entries never
 * move, and their address is stored last. */
static const struct fxt_function *look(uintptr_t address)
{
	size_t slot = fxt_function_slot(address);
	const struct fxt_function *function;
	uintptr_t there;

	for (;; slot++) {
		function = fxt_function_entry(slot);
		there = atomic_load_explicit(&function->address, memory_order_acquire);
		if (there == address || there == ~address)
			return function;
		if (!there)
			return NULL;
	}
}

static size_t entry_count(void)
{
	return atomic_load_explicit(&fxt_functions.mask, memory_order_relaxed) + 1;
}

/* Returns whether the table takes no more functions: half of its entries are used, and it cannot grow. */
static bool is_full(void)
{
	return atomic_load_explicit(&functions.count, memory_order_relaxed) == entry_count() / 2 &&
	       entry_count() > 1 &&
	       (entry_count() == MOST_ENTRIES || atomic_load_explicit(&cannot_grow, memory_order_relaxed));
}

/* Maps by_index. Returns false if there is no memory. */
static bool make_index(void)
{
	const struct fxt_function *_Atomic *index = atomic_load_explicit(&by_index, memory_order_relaxed);

	if (!index) {
		index = fxt_sys_memory((FXT_STRING_MAX_INDEX + 1) * sizeof(*index));
		atomic_store_explicit(&by_index, index, memory_order_release);
	}
	return index;
}

/* Returns how many entries the table should have, as far as addresses and data are not limited. */
static size_t entries_wanted(enum use use)
{
	size_t count = MOST_ENTRIES, now = entry_count();
	struct rlimit addresses, data;
	rlim_t limit;

	/* A full table has become larger than was wanted. */
	if (now > 1 && atomic_load_explicit(&functions.count, memory_order_relaxed) >= now / 2)
		return now < MOST_ENTRIES / GROWTH ? now * GROWTH : MOST_ENTRIES;
	if (use == NAMED)
		return LEAST_ENTRIES;
	/* A filter of the program's may kill who asks for a limit. */
	if (now == MOST_ENTRIES || fxt_is_filtered() || fxt_sys_getrlimit(RLIMIT_AS, &addresses) ||
	    fxt_sys_getrlimit(RLIMIT_DATA, &data))
		return count;
	limit = addresses.rlim_cur < data.rlim_cur ? addresses.rlim_cur : data.rlim_cur;
	while (count > LEAST_ENTRIES && count * sizeof(struct fxt_function) > limit / LIMIT_SHARE)
		count /= GROWTH;
	return count < LEAST_ENTRIES ? LEAST_ENTRIES : count;
}

static void note_part(size_t slot)
{
	size_t part = slot / PART_ENTRIES;

	functions.has_any[part / 64] |= UINT64_C(1) << part % 64;
}

/* Copies the functions of the table to a larger one, in which nobody looks yet. */
static void copy_functions(struct fxt_function *entries, size_t count)
{
	size_t from, slot;

	memset(functions.has_any, 0, sizeof(functions.has_any));
	for (from = 0; from < entry_count(); from++) {
		const struct fxt_function *function = fxt_function_entry(from);
		uintptr_t address = atomic_load_explicit(&function->address, memory_order_relaxed);

		if (!address)
			continue;
		slot = fxt_function_slot((address >> 63 ? ~address : address) & ~UNLOADED);
		while (atomic_load_explicit(&entries[slot % count].address, memory_order_relaxed))
			slot++;
		entries[slot % count] = *function;
		note_part(slot % count);
		if (function->index)
			atomic_store_explicit(&atomic_load_explicit(&by_index,
								    memory_order_relaxed)[function->index],
					      &entries[slot % count], memory_order_release);
	}
}

/* Makes the table, or a larger one. The caller holds the lock. Returns false if no function can be entered:
 * there is no memory. */
static bool make_table(enum use use)
{
	struct fxt_function *entries = NULL;
	size_t now = entry_count(), count = entries_wanted(use);

	if (count <= now)
		return true;
	if (atomic_load_explicit(&cannot_grow, memory_order_relaxed))
		return !is_full();
	if (!make_index())
		return false;
	for (; count >= LEAST_ENTRIES && count > now && !entries && table_count < TABLES; count /= GROWTH) {
		entries = fxt_sys_memory(count * sizeof(*entries));
		if (!entries)
			continue;
		copy_functions(entries, count);
		tables[table_count].entries = fxt_function_entry(0);
		tables[table_count++].count = now;
		atomic_store_explicit(&fxt_functions.entries, entries, memory_order_relaxed);
		atomic_store_explicit(&fxt_functions.mask, count - 1, memory_order_release);
	}
	if (now > 1)
		atomic_store_explicit(&cannot_grow, !entries, memory_order_relaxed);
	return (entries || now > 1) && !is_full();
}

/* Returns whether the verdict alone does not say that each call of the function is recorded. */
static bool needs_look(const struct fxt_function *function)
{
	return function->verdict != FXT_FILTER_KEEP || fxt_function_filter.has_trees ||
	       fxt_agent.config.function_depth;
}

const struct fxt_function *fxt_function_next(size_t *slot)
{
	while (*slot < entry_count()) {
		const struct fxt_function *function = fxt_function_entry((*slot)++);

		if (atomic_load_explicit(&function->address, memory_order_acquire))
			return function;
	}
	return NULL;
}

/* Returns the name of a function, with its length in *bytes, and in *file the name of its file. Sets *is_cut
 * if the file was cut off, and the name is only made. The caller holds the lock. */
static const char *name_of(uintptr_t address, size_t *bytes, const char **file, bool *is_cut)
{
	const struct fxt_plt_call *call;
	const char *name;

	*is_cut = false;
	if (fxt_is_plt_call(address)) {
		call = fxt_plt_call(address);
		*bytes = call->bytes;
		*file = call->file;
		return call->name;
	}
	name = fxt_symbol_name(address, bytes, is_cut);
	*file = fxt_symbol_file_name(address);
	return name;
}

/* Returns whether the function has the name of the one at `address` now. The caller holds the lock. */
static bool is_back(const struct fxt_function *function, uintptr_t address, bool *is_cut)
{
	const char *name, *file;
	size_t bytes;

	name = name_of(address, &bytes, &file, is_cut);
	return function->bytes == (bytes < NAME_MAX_BYTES ? bytes : NAME_MAX_BYTES) &&
	       !memcmp(function->name, name, function->bytes);
}

/* Lets others find the function, whose entry is filled. */
static void publish(struct fxt_function *function, uintptr_t address, enum use use)
{
	atomic_store_explicit(&function->address,
			      use == LOOKED_AT || needs_look(function) ? ~address : address,
			      memory_order_release);
}

/* Finds a function or enters it: fxt_function_find(). */
static const struct fxt_function *find(uintptr_t address, enum use use)
{
	const struct fxt_function *known = look(address);
	struct fxt_function *function = NULL;
	size_t slot = fxt_function_slot(address), bytes;
	const char *name, *file;
	uint64_t mask;
	bool may_enter, is_cut = false;

	if (known)
		return known;
	/* The function stays without a name where it cannot be looked up. */
	if (is_full() || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock() || fxt_stack_is_short())
		return NULL;
	mask = lock_functions();
	for (may_enter = make_table(use); may_enter;) {
		uintptr_t there;

		function = fxt_function_entry(slot);
		there = atomic_load_explicit(&function->address, memory_order_relaxed);
		if (there == address || there == ~address)
			break;
		if (there == (address | UNLOADED) && is_back(function, address, &is_cut)) {
			publish(function, address, use);
			break;
		}
		if (there) {
			slot++;
			continue;
		}
		if (is_full()) {
			function = NULL;
			break;
		}
		note_part((size_t)(function - fxt_function_entry(0)));
		function->number = atomic_fetch_add_explicit(&functions.count, 1, memory_order_relaxed) &
				   (MOST_ENTRIES - 1);
		name = name_of(address, &bytes, &file, &is_cut);
		function->name = name;
		function->bytes = (uint16_t)(bytes < NAME_MAX_BYTES ? bytes : NAME_MAX_BYTES);
		function->verdict = fxt_filter_decide(&fxt_function_filter, name, bytes, file) & 0xff;
		/* A function that is left out needs no string. */
		function->index = function->verdict < FXT_FILTER_LEAVE
					  ? (uint16_t)give_index(name, function->bytes) : 0;
		function->names =
			function->index ? fxt_names_of(FXT_STR_CATEGORIES + fxt_function_category(address),
						       function->index)
					: FXT_FUNCTION_UNNAMED(address);
		atomic_store_explicit(&atomic_load_explicit(&by_index, memory_order_relaxed)[function->index],
				      function, memory_order_release);
		publish(function, address, use);
		break;
	}
	unlock_functions(mask);
	if (is_cut && fxt_self)
		fxt_thread_lacks(fxt_self, FXT_LOSS_UNNAMED);
	return function;
}

const struct fxt_function *fxt_function_find(uintptr_t address)
{
	return find(address, ENTERED);
}

const struct fxt_function *fxt_function_find_named(uintptr_t address)
{
	return find(address, NAMED);
}

void fxt_function_find_slow(uintptr_t address)
{
	find(address, LOOKED_AT);
}

const char *fxt_function_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset)
{
	uint64_t mask = lock_functions();
	const char *name = fxt_symbol_object_name(address, place, bytes, offset);

	unlock_functions(mask);
	return name;
}

enum fxt_code_kind fxt_function_code(uintptr_t address)
{
	uint64_t mask = lock_functions();
	enum fxt_code_kind kind = fxt_allocator_code(address);

	unlock_functions(mask);
	return kind;
}

bool fxt_function_file(uintptr_t address, struct fxt_code_file *file)
{
	uint64_t mask;

	if (fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock() || fxt_stack_is_short())
		return false;
	mask = lock_functions();
	fxt_symbol_file(address, file);
	unlock_functions(mask);
	return true;
}

/* Marks the functions whose files are not loaded any more: another function may come to lie at such an
 * address. If the same one comes back, it has its entry again. The caller holds the lock. */
static void mark_unloaded(void)
{
	uintptr_t address;
	size_t slot;

	for (slot = 0; slot < entry_count(); slot++) {
		_Atomic uintptr_t *at = &fxt_function_entry(slot)->address;
		size_t part = slot / PART_ENTRIES;

		if (!(functions.has_any[part / 64] & UINT64_C(1) << part % 64)) {
			slot = (part + 1) * PART_ENTRIES - 1;
			continue;
		}

		address = atomic_load_explicit(at, memory_order_relaxed);
		if (address >> 63)
			address = ~address;
		if (address && !(address & UNLOADED) && !fxt_is_plt_call(address) &&
		    !fxt_symbol_is_mapped(address))
			atomic_store_explicit(at, address | UNLOADED, memory_order_relaxed);
	}
}

bool fxt_functions_unloaded(void)
{
	uint64_t mask = lock_functions();
	bool any = fxt_symbols_unloaded();

	if (any)
		mark_unloaded();

	unlock_functions(mask);
	return any;
}

void fxt_functions_after_unload(void)
{
	if (atomic_load_explicit(&functions.count, memory_order_relaxed) && !fxt_is_forbidden(FXT_NO_CALLS) &&
	    !fxt_may_not_lock() && !fxt_stack_is_short())
		fxt_functions_unloaded();
}

bool fxt_function_is_mapped(uintptr_t address)
{
	uint64_t mask = lock_functions();
	bool is_mapped = fxt_symbol_is_mapped(address);

	unlock_functions(mask);
	return is_mapped;
}

void fxt_functions_start(void)
{
	/* Keeps the table out of the program's core dumps. */
	fxt_sys_madvise(fxt_functions_none_defined, sizeof(fxt_functions_none_defined), MADV_DONTDUMP);
}

/* Empties the table in the child of a fork. */
static void forget_all(void)
{
	struct fxt_function *entries = atomic_load_explicit(&fxt_functions.entries, memory_order_relaxed);
	size_t i;

	for (i = 1; i < table_count; i++)
		fxt_sys_madvise(tables[i].entries, tables[i].count * sizeof(*entries), MADV_DONTNEED);
	/* The pages are given back: writing to each would copy what is shared with the parent. */
	if (!fxt_sys_madvise(entries, entry_count() * sizeof(*entries), MADV_DONTNEED))
		return;
	for (i = 0; i < entry_count(); i++)
		if (atomic_load_explicit(&entries[i].address, memory_order_relaxed))
			atomic_store_explicit(&entries[i].address, 0, memory_order_relaxed);
}

void fxt_functions_after_fork(void)
{
	fxt_lock_reset(&functions.lock);
	if (atomic_load(&functions.count))
		forget_all();
	atomic_store(&functions.count, 0);
	memset(functions.has_any, 0, sizeof(functions.has_any));
	fxt_filtered_forget();
	functions.next_index = 0;
	functions.indices_used_up = false;
	/* The memory is emptied and not unmapped: the fork may be a signal handler's, and the code that the
	 * handler interrupted may go on reading there. */
	if (fxt_self && fxt_self->names.defined != fxt_functions_none_defined &&
	    fxt_sys_madvise(fxt_self->names.defined, FXT_DEFINED_BYTES, MADV_DONTNEED)) {
		fxt_self->names.defined = fxt_functions_none_defined;
		fxt_self->names.quick = fxt_functions_none_defined;
	}
}

const char *fxt_function_name_of(uint32_t index, size_t *bytes)
{
	const struct fxt_function *_Atomic *all = atomic_load_explicit(&by_index, memory_order_acquire);
	const struct fxt_function *function =
		all ? atomic_load_explicit(&all[index], memory_order_acquire) : NULL;

	if (!index || !function || function->index != index)
		return NULL;
	*bytes = function->bytes;
	return function->name;
}

uint64_t fxt_function_names(uintptr_t address)
{
	const struct fxt_function *function = fxt_function_at(address);

	return function ? fxt_function_names_in(function, fxt_function_category(address))
			: FXT_FUNCTION_UNNAMED(address);
}
