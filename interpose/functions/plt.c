/* Puts stubs between modules and the functions of libraries that they call. A module calls such a function by
 * way of a word of its own, which the loader fills: when the module is loaded, or at the first call. Here all
 * these words are filled, once, with addresses of stubs (agent/names/plt_call.h). A function that this
 * library stands in for has none, because it is recorded anyway.
 *
 * The loader would look for a function at its first call; here that is done at start, in the loader's order.
 * What is not found is left to the loader.
 */
#include "plt.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/base/agent.h"
#include "agent/base/glob.h"
#include "agent/base/loaded.h"
#include "agent/base/log.h"
#include "agent/names/caller_list.h"
#include "agent/names/function_filter.h"
#include "agent/names/plt_call.h"
#include "agent/names/symbols.h"
#include "writer/sys.h"

#if defined(__x86_64__)

/* Modules whose calls are not recorded: the loader and the C library, whose calls of themselves say nothing
 * about the program. */
static const char *const silent_modules[] = {"ld-linux-*", "libc.so.*", "libpthread.so.*", "libm.so.*",
					     "libdl.so.*", "librt.so.*"};

/* Functions that have no stub. Some go by the address or the stack of their caller, some return twice or
 * never, and the hooks of compilers are recorded as functions. */
static const char *const excluded[] = {
	"dlopen", "dlmopen", "dlsym", "dlvsym", "_Unwind_*", "__tls_get_addr", "__libc_start_main",
	"*setjmp", "*longjmp*", "vfork", "__vfork", "getcontext", "setcontext", "swapcontext", "makecontext",
	"mcount", "_mcount", "__fentry__", "__cyg_profile_func_*", "__stack_chk_fail", "__morestack*",
	"__gmon_start__", "_ITM_*", "__cxa_finalize",
};

/* A module with its tables and its bounds in memory. */
struct module {
	struct fxt_loaded tables;
	const char *file;               /* its name without directories */
	uintptr_t low, high;
	uintptr_t fixed_low, fixed_high;        /* the loader has made these pages read-only */
};

/* The modules, in the loader's order. */
static struct module *modules;
static size_t module_count;

static bool is_any(const char *name, const char *const *patterns, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (fxt_glob_match(patterns[i], patterns[i] + strlen(patterns[i]), name, name + strlen(name)))
			return true;
	return false;
}

#define IS_ANY(name, patterns) is_any(name, patterns, sizeof(patterns) / sizeof((patterns)[0]))

/* Reads a module. Returns false if it has no tables or no headers. */
static bool read_module(const struct link_map *object, struct module *module)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->l_addr;
	const ElfW(Phdr) *segment;
	const uintptr_t page = getauxval(AT_PAGESZ);
	const char *slash;
	unsigned count, i;

	*module = (struct module){.low = UINTPTR_MAX};
	if (!fxt_loaded_read(object, &module->tables))
		return false;
	if (object == fxt_loaded_first()) {
		segment = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		count = (unsigned)getauxval(AT_PHNUM);
		module->file = fxt_agent.program;
	} else {
		segment = (const ElfW(Phdr) *)(object->l_addr + header->e_phoff);
		count = header->e_phnum;
		slash = strrchr(object->l_name, '/');
		module->file = slash ? slash + 1 : object->l_name;
	}
	for (i = 0; i < count; i++) {
		uintptr_t low = object->l_addr + segment[i].p_vaddr, high = low + segment[i].p_memsz;

		if (segment[i].p_type == PT_LOAD) {
			module->low = low < module->low ? low : module->low;
			module->high = high > module->high ? high : module->high;
		} else if (segment[i].p_type == PT_GNU_RELRO) {
			module->fixed_low = low & -page;
			module->fixed_high = high & -page;
		}
	}
	return module->high;
}

/* Returns the name of the version in which a module needs the symbol; NULL: in its default version. */
static const char *version_of(const struct fxt_loaded *tables, size_t symbol)
{
	enum { HIDDEN_VERSION = 0x8000, FIRST_OWN = 2 };
	unsigned index = tables->versions ? tables->versions[symbol] & ~HIDDEN_VERSION : 0, i;
	const char *at = index >= FIRST_OWN ? tables->needs : NULL, *name;

	while (at) {
		const ElfW(Verneed) *need = (const ElfW(Verneed) *)at;

		name = at + need->vn_aux;
		for (i = 0; i < need->vn_cnt; i++, name += ((const ElfW(Vernaux) *)name)->vna_next)
			if (((const ElfW(Vernaux) *)name)->vna_other == index)
				return tables->strings + ((const ElfW(Vernaux) *)name)->vna_name;
		at = need->vn_next ? at + need->vn_next : NULL;
	}
	return NULL;
}

/* Returns whether the loader has not filled the word yet. The word has the address of code in the module's
 * table then, which pushes the number of the relocation. */
static bool is_unfilled(const struct module *module, uintptr_t value, size_t number)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	enum { PUSH = 0x68 };
	const uint8_t *code = (const uint8_t *)value;
	uint32_t pushed;

	if (value < module->low || value + 16 > module->high)
		return false;
	if (!memcmp(code, landing, sizeof(landing)))
		code += sizeof(landing);
	memcpy(&pushed, code + 1, sizeof(pushed));
	return *code == PUSH && pushed == number;
}

/* Returns the function that the loader would find. */
static uintptr_t find(const char *text, const char *version)
{
	struct fxt_export_name name = fxt_export_name(text);
	const struct module *module;
	void *found = NULL;

	for (module = modules; module < modules + module_count && !found; module++)
		if (fxt_loaded_may_have(&module->tables, &name))
			found = fxt_loaded_find(&module->tables, &name, version);
	return (uintptr_t)found;
}

/* Returns the module that the address lies in, or NULL. */
static const struct module *module_of(uintptr_t address)
{
	const struct module *module;

	for (module = modules; module < modules + module_count; module++)
		if (address >= module->low && address < module->high)
			return module;
	return NULL;
}

/* Returns whether this library is the module. */
static bool is_own(const struct module *module)
{
	return module->tables.base == fxt_loaded_own()->l_addr;
}

/* Fills a word. */
static bool fill(const struct module *module, uintptr_t *word, uintptr_t address)
{
	const uintptr_t page = getauxval(AT_PAGESZ), at = (uintptr_t)word & -page;
	bool is_fixed = at >= module->fixed_low && at < module->fixed_high;

	if (is_fixed && FXT_SYSCALL3(SYS_mprotect, at, page, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(word, address, __ATOMIC_RELEASE);
	if (is_fixed)
		FXT_SYSCALL3(SYS_mprotect, at, page, PROT_READ);
	return true;
}

/* Gives a stub to the function of one relocation. Returns false if there is none left. */
static bool redirect(const struct module *module, const ElfW(Rela) * relocation, size_t number)
{
	size_t symbol = ELF64_R_SYM(relocation->r_info);
	const char *name = module->tables.strings +
			   ((const ElfW(Sym) *)module->tables.symbols)[symbol].st_name;
	uintptr_t *word = (uintptr_t *)(module->tables.base + relocation->r_offset), target = *word, stub;
	const struct module *owner;

	if (IS_ANY(name, excluded))
		return true;
	if (is_unfilled(module, target, number))
		target = find(name, version_of(&module->tables, symbol));
	owner = target ? module_of(target) : NULL;
	if (!owner || is_own(owner))
		return true;
	if (fxt_filter_decide(&fxt_plt_rules, name, strlen(name), owner->file) != FXT_FILTER_KEEP)
		return true;
	stub = fxt_plt_call_make(name, owner->file, target);
	return stub && fill(module, word, stub);
}

static bool redirect_all(const struct module *module)
{
	const ElfW(Rela) *relocation = module->tables.jump_slots;
	size_t count = module->tables.jump_slot_bytes / sizeof(*relocation), i;

	for (i = 0; i < count; i++)
		if (ELF64_R_TYPE(relocation[i].r_info) == R_X86_64_JUMP_SLOT &&
		    !redirect(module, &relocation[i], i))
			return false;
	return true;
}

/* Reads all modules. Returns the bytes of the list, or 0 if there is no memory for it. */
static size_t read_modules(void)
{
	const struct link_map *object;
	size_t count = 0;

	for (object = fxt_loaded_first(); object; object = object->l_next)
		count++;
	modules = fxt_sys_memory(count * sizeof(*modules));
	if (!modules)
		return 0;
	for (object = fxt_loaded_first(); object; object = object->l_next)
		if (read_module(object, &modules[module_count]))
			module_count++;
	return count * sizeof(*modules);
}

void fxt_plt_start(void)
{
	const struct module *module;
	struct fxt_code_file file;
	size_t bytes;

	if (!(fxt_agent.config.own_categories & FXT_CAT_plt))
		return;
	bytes = read_modules();
	for (module = modules; module < modules + module_count; module++) {
		file = (struct fxt_code_file){module == modules, module->file};
		if (is_own(module) || IS_ANY(module->file, silent_modules) ||
		    (fxt_agent.config.filters_callers && !fxt_caller_list_has(&file)))
			continue;
		if (!redirect_all(module))
			fxt_log("plt: not all calls of %s are recorded: there is no room for more functions, "
				"or its memory cannot be changed", module->file);
	}
	if (bytes)
		fxt_sys_munmap(modules, bytes);
	if (!fxt_plt_call_count())
		fxt_log("plt: no call of a library function is chosen; the program may be linked with "
			"-fno-plt, or FXT_PLT and FXT_CALLERS leave all out");
}

#else

void fxt_plt_start(void)
{
	if (fxt_agent.config.own_categories & FXT_CAT_plt)
		fxt_log("plt: calls of library functions are recorded on x86_64 only");
}

#endif
