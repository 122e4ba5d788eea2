/* The quick ways in and out of functions that call a hook only when they are entered. entries.S calls them
 * where any vector register may have an argument or a result. So this file is compiled for integer registers
 * alone (interpose/local.mk), and calls nothing that is not. */
#include "entry.h"

#include <cpuid.h>

#include "agent/base/stack.h"
#include "agent/emit/filtered.h"
#include "agent/emit/losses.h"
#include "agent/stacks/return_thunk.h"

/* Parts of xsave's mask and area. The parts behind these hold no arguments of functions. */
enum {
	XSAVE_PARTS = 0xe7,             /* x87, SSE, AVX, and three of AVX-512 */
	XSAVE_LEAST_BYTES = 512 + 64,
	FXSAVE_BYTES = 512,
	FIRST_PART = 2, LAST_PART = 7,
};

/* The bytes of the area and the mask for xsave; a mask of 0: the processor has only fxsave. The bytes are
 * stored last; 0: not known yet. */
_Atomic uint32_t fxt_vector_bytes __attribute__((visibility("hidden")));
_Atomic uint32_t fxt_vector_mask __attribute__((visibility("hidden")));

fxt_gmon_record *_Atomic fxt_gmon;

unsigned fxt_vector_find(void)
{
	unsigned a, b, c, d, mask = 0, bytes = FXSAVE_BYTES, part;

	if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE) {
		__asm__("xgetbv" : "=a"(mask), "=d"(d) : "c"(0));
		mask &= XSAVE_PARTS;
		bytes = XSAVE_LEAST_BYTES;
		for (part = FIRST_PART; part <= LAST_PART; part++)
			if (mask & 1u << part && __get_cpuid_count(0xd, part, &a, &b, &c, &d) &&
			    a + b > bytes)
				bytes = a + b;
	}
	atomic_store_explicit(&fxt_vector_mask, mask, memory_order_relaxed);
	atomic_store_explicit(&fxt_vector_bytes, bytes, memory_order_release);
	return bytes;
}

/* Returns 1 (FXT_RETURN_SLOW), which means that the slow way has to be taken. Returns 0 if the stack is too
 * short for that, and for the vector registers, which are saved on it first. */
static unsigned long slow_way(bool is_entry)
{
	enum { MOST_VECTOR_BYTES = 2816, ENTRY_BYTES = 512 };
	uint32_t vectors = atomic_load_explicit(&fxt_vector_bytes, memory_order_relaxed);

	if (!fxt_stack_has_less((vectors ? vectors : MOST_VECTOR_BYTES) + ENTRY_BYTES + FXT_SLOW_PATH_BYTES))
		return 1;
	if (is_entry)
		fxt_agent_count_short(fxt_self ? fxt_self->last_ns : 0);
	return 0;
}

/* Finds the function at `address` if it is among the first that the search looks at. Returns NULL, or one
 * that may be recorded only after a look at its verdict. */
static inline const struct fxt_function *find(uintptr_t address)
{
	enum { LOOKS = 16 };
	size_t slot = fxt_function_slot(address), i;
	const struct fxt_function *function;
	uintptr_t there;

	for (i = 0; i < LOOKS; i++) {
		function = fxt_function_entry(slot + i);
		there = atomic_load_explicit(&function->address, memory_order_acquire);
		if (FXT_LIKELY(there == address) || there == ~address)
			return function;
		if (!there)
			break;
	}
	return NULL;
}

static inline __attribute__((always_inline)) bool enter(uintptr_t *return_word, uintptr_t address,
							enum fxt_category_bit category)
{
	const struct fxt_function *function;
	struct fxt_thread *thread = fxt_self;
	uintptr_t place = *return_word, thunk;

	if (!fxt_is_on((enum fxt_category)(1u << category)))
		return true;
	if (FXT_UNLIKELY(!thread))
		return false;
	function = find(address);
	if (FXT_UNLIKELY(!function) || FXT_UNLIKELY(!fxt_function_is(function, address)))
		return function && fxt_filtered_quick(thread, function, address);
	thunk = fxt_return_thunk_known(place);
	if (FXT_UNLIKELY(!thunk) ||
	    FXT_UNLIKELY(!fxt_function_enter_known(thread, (uintptr_t)return_word, &address, address, place,
						   function, category)))
		return false;
	fxt_return_word_set(thread->open - 1, return_word, thunk);
	return true;
}

unsigned long fxt_entry_quick(uintptr_t *return_word, uintptr_t address)
{
	return enter(return_word, address, FXT_BIT_function) ? 0 : slow_way(true);
}

/* Counts the call for the program's profile. Returns false if it is not known how. */
static inline bool count_call(const uintptr_t *return_word, uintptr_t address)
{
	fxt_gmon_record *record = atomic_load_explicit(&fxt_gmon, memory_order_acquire);

	if (FXT_UNLIKELY(!record))
		return false;
	record(fxt_return_place(*return_word), address);
	return true;
}

unsigned long fxt_entry_mcount_quick(uintptr_t *return_word, uintptr_t address)
{
	return count_call(return_word, address) && enter(return_word, address, FXT_BIT_function)
		       ? 0 : slow_way(true);
}

unsigned long fxt_entry_fentry_quick(uintptr_t *return_word, uintptr_t address)
{
	return count_call(return_word, address) &&
	       enter(fxt_fentry_return_word(return_word, address), address, FXT_BIT_function)
		       ? 0 : slow_way(true);
}

unsigned long fxt_entry_plt_quick(uintptr_t *return_word, uintptr_t address)
{
	return enter(return_word, address, FXT_BIT_plt) ? 0 : slow_way(true);
}

/* Returns FXT_RETURN_AFTER_CALL if the function of this entry, or that which it is the tail call of, was
 * called through a linkage table: those are entered by way of the call in front of the thunk. */
static inline unsigned long return_kind(const struct fxt_in_progress *entry, uintptr_t return_word)
{
	while (FXT_UNLIKELY(entry[-1].frame == return_word))
		entry--;
	return fxt_is_plt_call(entry->function) ? FXT_RETURN_AFTER_CALL : 0;
}

unsigned long fxt_return_quick(uintptr_t return_word)
{
	struct fxt_thread *thread = fxt_self_ending;
	struct fxt_in_progress *entry;
	unsigned long kind;
	uint64_t end_ns;

	if (!fxt_is_on((enum fxt_category)(FXT_CAT_function | FXT_CAT_plt)))
		return 0;
	if (FXT_UNLIKELY(!thread))
		return slow_way(false);
	entry = thread->open - 1;
	if (FXT_UNLIKELY(entry->frame != return_word) || FXT_UNLIKELY(!fxt_in_progress_function(entry)))
		return slow_way(false);
	kind = return_kind(entry, return_word);
	/* Tail calls share their return word. */
	if (FXT_UNLIKELY(entry[-1].frame == return_word) || FXT_UNLIKELY(thread->filtered.hidden) ||
	    FXT_UNLIKELY(fxt_function_exit_try(thread, entry->function, &end_ns) != FXT_EXIT_DONE))
		return kind | slow_way(false);
	return kind;
}
