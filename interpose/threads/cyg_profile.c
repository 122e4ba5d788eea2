/* Defines the hooks of -finstrument-functions. The loader finds ours before glibc's, which do nothing, so
 * ours call no real function. Instrumented code calls them in any context, also before constructors. */
#include "agent/emit/filtered.h"
#include "agent/fibers/fiber.h"
#include "interpose/engine/interpose.h"

/* The address at which a hook begins changes its cost by a twentieth: the cost is least at the head of a
 * cache line. */
#define HOOK FXT_EXPORT __attribute__((aligned(64)))

HOOK void __cyg_profile_func_enter(void *function, void *call_site);
HOOK void __cyg_profile_func_exit(void *function, void *call_site);

/* HERE is an address that stands for the instrumented function's frame: it lies above the frames of the
 * wrappers that this function calls. The hook has no frame of its own. */
#define HERE ((uintptr_t)__builtin_dwarf_cfa() - sizeof(void *))
/* SITE points to the address that a hook returns to. */
#if defined(__x86_64__)
#define SITE ((const uintptr_t *)__builtin_dwarf_cfa() - 1)
#else
#define SITE (&(uintptr_t){(uintptr_t)__builtin_return_address(0)})
#endif

/* The first parameters are those of the hooks, which stay in their registers that way. */
static __attribute__((noinline)) void enter(uintptr_t function, uintptr_t call_site, uintptr_t frame,
					    uintptr_t site)
{
	struct fxt_thread *thread = fxt_self;

	if (thread && fxt_filtered_quick(thread, fxt_function_first(function), function))
		return;
	thread = fxt_enter_on();
	if (thread && fxt_fiber_is_near(thread, frame) &&
	    fxt_fiber_enter(thread, frame, site, function, call_site, FXT_FIBER_EXIT_HOOK) !=
		    FXT_FIBER_ELSEWHERE)
		return;
	if (thread && fxt_agent.config.filters_functions)
		fxt_filtered_enter(thread, frame, site, function, call_site);
	else if (thread)
		fxt_function_enter(thread, frame, site, function, call_site);
}

/* A thread without a state is in no function that is known: the function was dropped, and counted, when it
 * was entered. */
static __attribute__((noinline)) void leave(uintptr_t function, uintptr_t frame)
{
	/* There is nothing to end, whatever stack this is. */
	if (fxt_filtered_is_left_out(fxt_function_first(function), function))
		return;
	if (fxt_self && fxt_fiber_is_near(fxt_self, frame) && fxt_fiber_leave(fxt_self, frame, function))
		return;
	if (fxt_self && fxt_agent.config.filters_functions)
		fxt_filtered_leave(fxt_self, frame, function);
	else if (fxt_self)
		fxt_function_exit(fxt_self, frame, function);
}

HOOK void __cyg_profile_func_enter(void *function, void *call_site)
{
	uintptr_t frame = HERE;

	if (FXT_UNLIKELY(!fxt_is_on(FXT_CAT_function)))
		return;
	if (FXT_UNLIKELY(!fxt_function_enter_quick(fxt_self, frame, SITE, (uintptr_t)function,
						   (uintptr_t)call_site)))
		enter((uintptr_t)function, (uintptr_t)call_site, frame, *SITE);
}

HOOK void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	if (FXT_UNLIKELY(!fxt_is_on(FXT_CAT_function)))
		return;
	if (FXT_UNLIKELY(!fxt_function_exit_quick(fxt_self_leaving, (uintptr_t)function)))
		leave((uintptr_t)function, HERE);
}
