/* See allocator_code.h. Names of libraries and functions decide. The list has no allocators of other
 * projects: their users know whose these are, and a wrong entry would hide who is responsible. */
#include "allocator_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "module.h"
#include "symbols.h"

/* Beginnings of the file names of libraries that allocate for their callers. */
static const char *const libraries[] = {"libc.so", "libc-", "libstdc++.so", "libc++.so", "libc++abi.so"};
static const char *const loaders[] = {"ld-linux", "ld-"};

/* Beginnings of the names of functions, as symbol tables have them: operators new, and what belongs to std or
 * to __gnu_cxx; Rust's allocator, and its crates alloc and std. */
static const char *const functions[] = {
	"_Znw", "_Zna", "_ZNSt", "_ZNKSt", "_ZSt", "_ZNSa", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx",
	"__rust_", "__rdl_", "__rg_", "_ZN5alloc", "_ZN3std",
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Returns whether the text, of `bytes` bytes, begins with one of the list. */
static bool begins_with_any(const char *text, size_t bytes, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (bytes >= strlen(list[i]) && !memcmp(text, list[i], strlen(list[i])))
			return true;
	return false;
}

static bool is_ours(const struct fxt_module *module)
{
	uintptr_t here = (uintptr_t)fxt_allocator_code;

	return here >= module->low && here < module->high;
}

static bool is_allocator(uintptr_t address, const struct fxt_module *module)
{
	const char *name;
	size_t bytes;

	if (is_ours(module) ||
	    begins_with_any(module->name, strlen(module->name), libraries, COUNT(libraries)))
		return true;
	name = fxt_symbol_text(address, &bytes);
	return name && begins_with_any(name, bytes, functions, COUNT(functions));
}

enum fxt_code_kind fxt_allocator_code(uintptr_t address)
{
	const struct fxt_module *module = fxt_symbol_module(address);

	/* Code that was made at run time is nobody's library. */
	if (!module || !module->path)
		return FXT_CODE_OWN;
	if (begins_with_any(module->name, strlen(module->name), loaders, COUNT(loaders)))
		return FXT_CODE_END;
	return is_allocator(address, module) ? FXT_CODE_ALLOCATOR : FXT_CODE_OWN;
}
