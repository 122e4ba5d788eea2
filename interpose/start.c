/* From the first call that is seen to tracing. Whoever calls first finds every real function, once and eagerly: dlsym
 * takes the loader's lock, and close, read and write must stay fit for signal handlers. Nobody waits for another thread's
 * search: that thread may hold the loader's lock and the other one need it; both then find the same addresses.
 */
#include <dlfcn.h>

#include "interpose.h"
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

bool fxt_interpose_starting(void)
{
	return starting;
}

static void find(const struct fxt_real *real)
{
	void *address;

	for (; real->name; real++) {
		address = real->version ? dlvsym(RTLD_NEXT, real->name, real->version)
					: dlsym(RTLD_NEXT, real->name);
		/* Absent from this C library: then nobody can have been linked against it. */
		if (address)
			__atomic_store_n(real->pointer, address, __ATOMIC_RELEASE);
	}
}

void fxt_interpose_start(void)
{
	static const struct fxt_call_names names = {call_names, FXT_CALL_COUNT};
	static atomic_bool found;

	if (starting)
		return;
	starting = true;
	if (!atomic_load_explicit(&found, memory_order_acquire)) {
#define FXT_FAMILY(name) find(fxt_reals_##name);
#include "families.def"
#undef FXT_FAMILY
		atomic_store_explicit(&found, true, memory_order_release);
	}
	starting = false;
	if (fxt_agent_start(&names))
		fxt_signal_start();
}

__attribute__((constructor)) static void load(void)
{
	fxt_interpose_start();
}

__attribute__((destructor)) static void unload(void)
{
	fxt_agent_exit();
}
