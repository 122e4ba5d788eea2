/* Memory by pages: memory.def, and the variadic one. What the C library and the agent map for themselves does not come this way. */
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapped.h"

#define FXT_TABLE "memory.def"
#include "wrappers.inc"

/* A new address is only there with MREMAP_FIXED, or what newer flags ask for; it is handed on regardless, as the C library
 * takes it. */
FXT_REAL(pointer, mremap, (pointer old_address, size_t old_size, size_t new_size, int flags, pointer new_address),
	 (old_address, old_size, new_size, flags, new_address))
FXT_TRACED(malloc, pointer, mremap, mremap, real_mremap, QUICK, MAPPED, (pointer, old_address, PTR), (size_t, old_size, UINT),
	   (size_t, new_size, UINT), (int, flags, INT), (pointer, new_address, SKIP))

FXT_EXPORT void *mremap(void *old_address, size_t old_size, size_t new_size, int flags, ...)
{
	void *new_address;
	va_list list;

	va_start(list, flags);
	new_address = va_arg(list, void *);
	va_end(list);
	return traced_mremap(old_address, old_size, new_size, flags, new_address);
}

#define FXT_REALS fxt_reals_memory
#include "reals.inc"
