/* From the first call that is seen to tracing. Whoever calls first finds every real function, once and eagerly. The call may come from
 * within an allocator, from a signal handler or from a thread that another one waits for: so nothing that is done here allocates, takes a
 * lock that is not the agent's, or calls what may be the program's. Nobody waits for another thread's search: both find the same addresses.
 */
#include "agent/arrows/parent_links.h"
#include "agent/base/bind.h"
#include "agent/process/fork.h"
#include "agent/process/lifecycle.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/next.h"
#include "interpose/memory/heap_sizes.h"
#include "interpose/process/exit.h"
#include "interpose/signals/bus.h"
#include "interpose/signals/signal.h"
#include "writer/apart.h"

/* A handler that interrupts the search does not begin another. Volatile, so that the store comes before it. */
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

#define FXT_FAMILY(name) extern const struct fxt_real fxt_reals_##name[] __attribute__((visibility("hidden")));
#include "interpose/tables/families.def"
#undef FXT_FAMILY

atomic_bool fxt_interpose_found;

/* What a function does that this C library does not have. No program that runs with it was linked against one; it can only have
 * asked the loader for the name, and found ours. */
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
	static const struct fxt_call_names names = {call_names, FXT_CALL_COUNT};
	static atomic_bool heap_unseen;
	static atomic_uint sizable;

	if (starting)
		return;
	starting = true;
	if (!atomic_load_explicit(&fxt_interpose_found, memory_order_acquire)) {
		fxt_bind_imports();
#define FXT_FAMILY(name) fxt_next_find(fxt_reals_##name);
#include "interpose/tables/families.def"
#undef FXT_FAMILY
		/* What valgrind's core loads into its programs. */
		if (fxt_is_anywhere("_vgnU_freeres"))
			fxt_apart_never();
		atomic_store_explicit(&sizable, fxt_heap_sizable(fxt_reals_malloc), memory_order_relaxed);
		atomic_store_explicit(&heap_unseen, !fxt_is_first("malloc"), memory_order_relaxed);
		atomic_store_explicit(&fxt_interpose_found, true, memory_order_release);
	}
	starting = false;
	if (fxt_agent_start(&names)) {
		fxt_signal_start();
		fxt_bus_start();
		/* Before those of libraries, which unlock and make anew what their other handlers have locked; but not within an allocator of
		 * the program's, which may be waiting for us to come back. */
		if (!atomic_load_explicit(&heap_unseen, memory_order_relaxed)) {
			fxt_fork_start();
			fxt_heap_start(atomic_load_explicit(&sizable, memory_order_relaxed));
		}
		fxt_parent_start();
	}
	if (fxt_is_on(FXT_CAT_malloc) && atomic_exchange_explicit(&heap_unseen, false, memory_order_relaxed))
		fxt_agent_unseen("malloc is defined by the program, or by a library in front of the agent: its heap is not "
				 "recorded");
}

/* The C library calls fork handlers of the child in the order in which they were registered, and what a handler calls before ours has run
 * is in no trace. So ours are registered in front of the first, which may be those of an allocator or of a library whose constructor comes
 * before ours: whoever comes here would enter the C library's list the next moment. pthread_atfork() is part of each object, and calls this. */
FXT_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

FXT_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
{
	static int (*real)(void (*)(void), void (*)(void), void (*)(void), void *);
	static const struct fxt_real its_real = {"__register_atfork", NULL, (void **)&real};

	if (!real && !fxt_next_find_one(&its_real))
		return ENOMEM;
	fxt_fork_start();
	return real(prepare, parent, child, object);
}

__attribute__((constructor)) static void load(void)
{
	fxt_interpose_start();
	fxt_fork_start();
	fxt_exit_start();
}

