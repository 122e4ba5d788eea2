/* The hooks of -finstrument-functions. glibc has empty ones; ours come first. They take the place of no real function: glibc's
 * do nothing. Called by instrumented code in any context, also before constructors. */
#include "agent/function.h"
#include "interpose.h"

FXT_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
FXT_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

FXT_EXPORT void __cyg_profile_func_enter(void *function, void *call_site)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_function);

	if (thread)
		fxt_function_enter(thread, (uintptr_t)__builtin_frame_address(0),
				   (uintptr_t)__builtin_return_address(0), (uintptr_t)function, (uintptr_t)call_site);
}

FXT_EXPORT void __cyg_profile_func_exit(void *function, void *call_site)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_function);

	(void)call_site;
	if (thread)
		fxt_function_exit(thread, (uintptr_t)__builtin_frame_address(0), (uintptr_t)function);
}
