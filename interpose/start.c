/* From the first call that is seen to tracing. Whoever calls first finds every real function, once and eagerly: dlsym
 * takes the loader's lock, and close, read and write must stay fit for signal handlers. Nobody waits for another thread's
 * search: that thread may hold the loader's lock and the other one need it; both then find the same addresses.
 */
#include <dlfcn.h>

#include "agent/kin.h"
#include "exit.h"
#include "heap.h"
#include "interpose.h"
#include "key.h"
#include "next.h"
#include "signal.h"

/* Volatile: gcc takes dlsym for a leaf and would drop the store before it. */
static __thread volatile bool starting __attribute__((tls_model("initial-exec")));

static const char *const call_names[FXT_CALL_COUNT] = {
#define CALL(category, type, name, ...) #name,
#define ALIAS(...)
#define BY_HAND(category, name) #name,
#define BY_HAND_ALIAS(category, symbol, name)
#include "calls.def"
#undef CALL
#undef ALIAS
#undef BY_HAND
#undef BY_HAND_ALIAS
};

#define FXT_FAMILY(name) extern const struct fxt_real fxt_reals_##name[] __attribute__((visibility("hidden")));
#include "families.def"
#undef FXT_FAMILY

atomic_bool fxt_interpose_found;

bool fxt_interpose_starting(void)
{
	return starting;
}

/* What a function does that this C library does not have. No program that runs with it was linked against one; it can only have
 * asked the loader for the name, and found ours. */
static long absent(void)
{
	errno = ENOSYS;
	return -1;
}

static void *address_of(const struct fxt_real *real)
{
	void *address = real->version ? dlvsym(RTLD_NEXT, real->name, real->version) : NULL;

	/* A version that came later, or an allocator's own. */
	return address ? address : dlsym(RTLD_NEXT, real->name);
}

static void find(const struct fxt_next *next, const struct fxt_real *real)
{
	void *address;

	for (; real->name; real++) {
		if (real->version || !fxt_next_find(next, real->name, &address))
			address = address_of(real);
		if (address)
			__atomic_store_n(real->pointer, address, __ATOMIC_RELEASE);
	}
}

/* A search that fails is told to whoever calls dlerror() next, which is the program. One that succeeds takes that back. */
static void forget_failures(void)
{
	(void)dlsym(RTLD_NEXT, "dlsym");
}

void fxt_interpose_find(void **pointer)
{
	static const struct fxt_real *const families[] = {
#define FXT_FAMILY(name) fxt_reals_##name,
#include "families.def"
#undef FXT_FAMILY
	};
	const struct fxt_real *real;
	void *address;
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		for (real = families[i]; real->name; real++) {
			if (real->pointer != pointer)
				continue;
			address = address_of(real);
			__atomic_store_n(pointer, address ? address : (void *)absent, __ATOMIC_RELEASE);
			forget_failures();
			return;
		}
	}
}

void fxt_interpose_start(void)
{
	static const struct fxt_call_names names = {call_names, FXT_CALL_COUNT, fxt_key_create};
	static atomic_bool heap_unseen;
	static atomic_uint sizable;
	struct fxt_next next;

	if (starting)
		return;
	starting = true;
	if (!atomic_load_explicit(&fxt_interpose_found, memory_order_acquire)) {
		fxt_next_begin(&next);
#define FXT_FAMILY(name) find(&next, fxt_reals_##name);
#include "families.def"
#undef FXT_FAMILY
		atomic_store_explicit(&sizable, fxt_heap_sizable(&next, fxt_reals_malloc), memory_order_relaxed);
		forget_failures();
		atomic_store_explicit(&heap_unseen, !fxt_malloc_is_ours(), memory_order_relaxed);
		atomic_store_explicit(&fxt_interpose_found, true, memory_order_release);
	}
	starting = false;
	if (fxt_agent_start(&names)) {
		fxt_signal_start();
		if (!atomic_load_explicit(&heap_unseen, memory_order_relaxed))
			fxt_heap_start(atomic_load_explicit(&sizable, memory_order_relaxed));
		fxt_kin_start();
	}
	if (fxt_is_on(FXT_CAT_malloc) && atomic_exchange_explicit(&heap_unseen, false, memory_order_relaxed))
		fxt_agent_unseen("malloc is defined by the program, or by a library in front of the agent: its heap is not "
				 "recorded");
}

__attribute__((constructor)) static void load(void)
{
	fxt_exit_start();
	fxt_interpose_start();
}

__attribute__((destructor)) static void unload(void)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);

	if (thread)
		fxt_kin_leave(thread);
	fxt_exit_done();
	fxt_files_flushed();
	fxt_agent_exit();
}
