/* See callers.h. Which addresses are wanted is kept in a table that is read and written without a lock. */
#include "callers.h"

#include <link.h>
#include <stdatomic.h>

#include "agent/base/agent.h"
#include "agent/base/stack.h"
#include "agent/names/caller_list.h"
#include "function.h"

enum {
	PLACES = 4096,
	FRAMES_MOST = 24,               /* wrappers are a few frames deep */
	ADDRESS_BITS = 48,
	AGE_SHIFT = ADDRESS_BITS + 1,
};

/* The head of this library in memory, from the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Each place has one address, whether its calls are wanted, and the age in which that was found out. */
static FXT_LARGE _Atomic uint64_t places[PLACES];
static atomic_uint age;

void fxt_callers_unloaded(void)
{
	if (!fxt_agent.config.filters_callers)
		return;
	if (!fxt_is_forbidden(FXT_NO_CALLS) && !fxt_may_not_lock() && !fxt_stack_is_short())
		fxt_functions_unloaded();
	atomic_fetch_add_explicit(&age, 1, memory_order_release);
}

/* Returns whether the address lies in the code of this library. */
static bool is_own(uintptr_t address)
{
	const char *base = (const char *)&__ehdr_start;
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);
	unsigned i;

	for (i = 0; i < __ehdr_start.e_phnum; i++, part++)
		if (part->p_type == PT_LOAD && part->p_flags & PF_X)
			return address - (uintptr_t)base - part->p_vaddr < part->p_memsz;
	return false;
}

/* Returns the address, in the code that has called this library, behind the call. Returns 0 if it is not
 * found. */
__attribute__((noinline)) static uintptr_t caller(void)
{
	const uintptr_t *frame = __builtin_frame_address(0), *next;
	unsigned i;

	for (i = 0; i < FRAMES_MOST; i++, frame = next) {
		if (!is_own(frame[1]))
			return frame[1];
		next = (const uintptr_t *)frame[0];
		if (next <= frame || (uintptr_t)next % sizeof(*next))
			return 0;
	}
	return 0;
}

bool fxt_callers_want_this(void)
{
	uintptr_t address = caller();
	_Atomic uint64_t *place = &places[(address ^ address >> 12) % PLACES];
	uint64_t is_of_age = (uint64_t)(atomic_load_explicit(&age, memory_order_acquire) & 0x7fff)
			     << AGE_SHIFT;
	uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
	struct fxt_code_file file;
	bool wanted;

	if (address >> ADDRESS_BITS || !address)
		return true;
	if ((found & ~UINT64_C(1)) == (is_of_age | address << 1))
		return found & 1;
	/* Where files cannot be looked at now, the call is recorded. */
	if (!fxt_function_file(address, &file))
		return true;
	wanted = fxt_caller_list_has(&file);
	atomic_store_explicit(place, is_of_age | address << 1 | wanted, memory_order_relaxed);
	return wanted;
}
