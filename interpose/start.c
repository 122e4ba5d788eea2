/* Starts tracing at the first call that is seen: whoever calls first finds every real function, once and
 * eagerly. That call may come from within an allocator, from a signal handler or from a thread that another
 * one waits for. So nothing that is done here allocates, takes a lock that is not the agent's, or calls a
 * function that may be the program's. No thread waits for another's search: both find the same addresses. See
 * docs/start.md.
 */
#include "agent/arrows/parent_links.h"
#include "agent/base/bind.h"
#include "agent/base/stack.h"
#include "agent/process/fork.h"
#include "agent/process/lifecycle.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/next.h"
#include "interpose/functions/patch.h"
#include "interpose/functions/plt.h"
#include "interpose/memory/heap_sizes.h"
#include "interpose/process/exit.h"
#include "interpose/signals/fatal.h"
#include "interpose/signals/signal.h"
#include "writer/apart.h"

/* Keeps a handler that interrupts the search from beginning another one. It is volatile, so that the store
 * comes before the search. */
static __thread volatile bool starting __attribute__((tls_model("initial-exec")));

static const char *const call_names[FXT_CALL_COUNT] = {
#define CALL(category, type, name, ...) #name,
#define BY_HAND(category, name, role) #name,
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#define EVENT(category, name, role) #name,
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

static const struct {
#define CALL(category, type, name, ...) FXT_STRING_RECORD(name_of_##name, #name)
#define BY_HAND(category, name, role) FXT_STRING_RECORD(name_of_##name, #name)
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#define EVENT(category, name, role) FXT_STRING_RECORD(name_of_##name, #name)
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
} call_records = {
#define CALL(category, type, name, ...) FXT_STRING_RECORD_VALUE(FXT_STR_CALLS + FXT_CALL_##name, #name)
#define BY_HAND(category, name, role) FXT_STRING_RECORD_VALUE(FXT_STR_CALLS + FXT_CALL_##name, #name)
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#define EVENT(category, name, role) FXT_STRING_RECORD_VALUE(FXT_STR_CALLS + FXT_CALL_##name, #name)
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

#define FXT_FAMILY(name) \
	extern const struct fxt_real fxt_reals_##name[] __attribute__((visibility("hidden")));
#include "interpose/tables/families.def"
#undef FXT_FAMILY

atomic_bool fxt_interpose_found;

/* Stands for a function that this C library does not have. No program that runs with this C library was
 * linked against that function: it can only have asked the loader for the name, and found our wrapper. */
static long absent(void)
{
	errno = ENOSYS;
	return -1;
}

void fxt_interpose_find(void **pointer)
{
	static const struct fxt_real *const families[] = {
#define FXT_FAMILY(name) fxt_reals_##name,
#include "interpose/tables/families.def"
#undef FXT_FAMILY
	};
	const struct fxt_real *real;
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		for (real = families[i]; real->name; real++) {
			if (real->pointer != pointer)
				continue;
			if (!fxt_next_find_one(real))
				__atomic_store_n(pointer, (void *)absent, __ATOMIC_RELEASE);
			return;
		}
	}
}

void fxt_interpose_start(void)
{
	static const struct fxt_call_names names = {
		call_names,
		FXT_CALL_COUNT,
		{(const uint64_t *)&call_records, sizeof(call_records) / FXT_WORD_BYTES},
	};
	static atomic_bool heap_unseen;
	static atomic_uint sizable;

	if (!fxt_is_relocated_by_loader()) {
		fxt_bind_early();
		return;
	}
	if (starting)
		return;
	starting = true;
	if (!atomic_load_explicit(&fxt_interpose_found, memory_order_acquire)) {
		fxt_bind_imports();
#define FXT_FAMILY(name) fxt_next_find(fxt_reals_##name);
#include "interpose/tables/families.def"
#undef FXT_FAMILY
		/* Valgrind, whose core loads this function into its programs, ends a program that makes a
		 * task for work that is done apart, and reports questions about stacks. */
		if (fxt_is_anywhere("_vgnU_freeres")) {
			fxt_apart_never();
			fxt_stack_may_not_read();
		}
		atomic_store_explicit(&sizable, fxt_heap_sizable(fxt_reals_malloc), memory_order_relaxed);
		atomic_store_explicit(&heap_unseen, !fxt_is_first("malloc"), memory_order_relaxed);
		atomic_store_explicit(&fxt_interpose_found, true, memory_order_release);
	}
	starting = false;
	if (fxt_agent_start(&names)) {
		fxt_signal_start();
		fxt_fatal_start();
		/* Our fork handler has to run before those of libraries, which unlock and make anew what
		 * their other handlers have locked. But it is not registered here if the program has an
		 * allocator of its own: we may be within that allocator, which waits for us to come back. */
		if (!atomic_load_explicit(&heap_unseen, memory_order_relaxed)) {
			fxt_fork_start();
			fxt_heap_start(atomic_load_explicit(&sizable, memory_order_relaxed));
		}
		fxt_parent_start();
	}
	if (fxt_is_on(FXT_CAT_malloc) && atomic_exchange_explicit(&heap_unseen, false, memory_order_relaxed))
		fxt_agent_unseen("malloc is defined by the program, or by a library in front of the agent: "
				 "its heap is not recorded");
}

/* The C library calls fork handlers of the child in the order in which they were registered, and what a
 * handler calls before ours has run is in no trace. So this registers ours in front of the first other one,
 * which may be that of an allocator or of a library whose constructor comes before ours. That is possible
 * here, because the caller is about to enter the C library's list of handlers itself. pthread_atfork() is
 * part of each object, and calls this function. */
FXT_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
				 void *object);

FXT_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
				 void *object)
{
	static int (*real)(void (*)(void), void (*)(void), void (*)(void), void *);
	static const struct fxt_real its_real = {"__register_atfork", NULL, (void **)&real};

	if (!fxt_is_relocated_by_loader())
		fxt_bind_early();
	if (!real && !fxt_next_find_one(&its_real))
		return ENOMEM;
	if (fxt_is_relocated_by_loader())
		fxt_fork_start();
	return real(prepare, parent, child, object);
}

__attribute__((constructor)) static void load(void)
{
	fxt_interpose_start();
	fxt_fork_start();
	fxt_exit_start();
	fxt_patch_start();
	fxt_plt_start();
}

