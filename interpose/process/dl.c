/* Makes the wrappers of the loader's functions: dl.def. */
#include <dlfcn.h>

#include "agent/emit/callers.h"
#include "agent/emit/function.h"
#include "agent/objects/allocation_site.h"
#include "agent/objects/label.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/trampoline.h"

#define FXT_TABLE "interpose/tables/dl.def"
#include "interpose/engine/wrappers.inc"

FXT_REAL(int, dlclose, (void *handle), (handle))

static __attribute__((noinline)) int traced_dlclose(void *handle)
FXT_BODY(fxt_enter_on(), dl, int, dlclose, real_dlclose, BLOCKS(handle), PLAIN_INT, (void *, handle, PTR))

/* dlclose() is written by hand: the locks and the code of a library that is gone are forgotten, which is no
 * part of the call. */
FXT_EXPORT int dlclose(void *handle)
{
	int result;

	if (fxt_is_on(FXT_CAT_dl)) {
		result = traced_dlclose(handle);
	} else {
		FXT_RELOCATED(dlclose);
		result = real_dlclose(handle);
	}
	if (fxt_is_on(FXT_CAT_pthread))
		fxt_labels_unloaded();
	if (fxt_is_on(FXT_CAT_malloc))
		fxt_allocation_sites_unloaded();
	fxt_callers_unloaded();
	if (fxt_is_on(FXT_CAT_function))
		fxt_functions_after_unload();
	return result;
}

#define real_dlopen fxt_real_dlopen
#define real_dlmopen fxt_real_dlmopen
#define FXT_REALS fxt_reals_dl
#include "interpose/engine/reals.inc"
