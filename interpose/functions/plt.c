/* Puts stubs between modules and the functions of libraries that they call. A module calls such a function by
 * way of a word of its own, which the loader fills: when the module is loaded, or at the first call. Here all
 * these words are filled, once, with addresses of stubs (agent/names/plt_call.h). A function that this
 * library stands in for has none, because it is recorded anyway.
 *
 * The loader would look for a function at its first call; here that is done at start, in the loader's order.
 * Functions that are not found are left to the loader.
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
#include "agent/stacks/code.h"
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
	/* These return the stack from their caller on, which would begin with a thunk. */
	"backtrace", "unw_getcontext", "__unw_getcontext", "_U*_getcontext",
};

/* A module with its tables and its bounds in memory. */
struct module {
	struct fxt_loaded tables;
	const ElfW(Dyn) *entries;       /* its dynamic section */
	const char *file;               /* its name without directories */
	uintptr_t low, high;
	uintptr_t fixed_low, fixed_high;        /* the loader has made these pages read-only */
	bool is_open;                   /* they are writable at the moment */
};

/* The modules that the program began with, in the loader's order. */
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

/* Reads a module. Returns false if it has no tables or no headers, or if it is the kernel's (vDSO): that is
 * in the loader's list, but the loader finds no functions there. */
static bool read_module(const struct link_map *object, struct module *module)
{
	const uintptr_t page = getauxval(AT_PAGESZ);
	const Elf64_Phdr *segment;
	const char *slash;
	size_t count, i;

	*module = (struct module){.low = UINTPTR_MAX, .entries = object->l_ld};
	if (object->l_addr == getauxval(AT_SYSINFO_EHDR) || !fxt_loaded_read(object, &module->tables))
		return false;
	if (object == fxt_loaded_first()) {
		segment = (const Elf64_Phdr *)getauxval(AT_PHDR);
		count = getauxval(AT_PHNUM);
		module->file = fxt_agent.program;
	} else {
		segment = fxt_code_segments(object, &count);
		if (!segment)
			return false;
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

/* Returns the name of the version with that index, among those that a module needs of others. */
static const char *needed_version(const struct fxt_loaded *tables, unsigned index)
{
	const char *at = tables->needs, *name;
	unsigned i;

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

/* Returns the name of the version with that index, among those of a module's own functions. */
static const char *own_version(const struct fxt_loaded *tables, unsigned index)
{
	const char *at = tables->definitions;

	while (at) {
		const ElfW(Verdef) *definition = (const ElfW(Verdef) *)at;

		if (definition->vd_ndx == index)
			return tables->strings + ((const ElfW(Verdaux) *)(at + definition->vd_aux))->vda_name;
		at = definition->vd_next ? at + definition->vd_next : NULL;
	}
	return NULL;
}

/* Returns the name of the version that a module's symbol refers to: a version of another module or, of a
 * function that the module has itself, one of its own. */
static const char *version_of(const struct fxt_loaded *tables, size_t symbol)
{
	enum { HIDDEN_VERSION = 0x8000 };
	unsigned index = tables->versions ? tables->versions[symbol] & ~HIDDEN_VERSION : VER_NDX_GLOBAL;
	const char *version = NULL;

	if (index > VER_NDX_GLOBAL) {
		version = needed_version(tables, index);
		if (!version)
			version = own_version(tables, index);
	}
	return version ? version : fxt_loaded_first_version;
}

/* Returns the function as the loader finds it in one module. */
static uintptr_t find_in(const struct module *module, const struct fxt_export_name *name, const char *version)
{
	void *found = fxt_loaded_find(&module->tables, name, version);

	if (!found && version == fxt_loaded_first_version)
		found = fxt_loaded_find(&module->tables, name, NULL);
	return (uintptr_t)found;
}

/* Returns whether the loader has not filled the word yet. The word has an address in the module's linkage
 * table then, and not that of a function of the module which is meant. */
static bool is_unfilled(const struct module *module, uintptr_t value, const struct fxt_export_name *name,
			const char *version)
{
	return value >= module->low && value < module->high && value != find_in(module, name, version);
}

/* Returns the function that the loader would find. */
static uintptr_t find(const struct fxt_export_name *name, const char *version)
{
	const struct module *module;
	uintptr_t found = 0;

	for (module = modules; module < modules + module_count && !found; module++)
		if (fxt_loaded_may_have(&module->tables, name))
			found = find_in(module, name, version);
	return found;
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

static bool protect_fixed(const struct module *module, int protection)
{
	return !FXT_SYSCALL3(SYS_mprotect, module->fixed_low, module->fixed_high - module->fixed_low,
			     protection);
}

/* Fills a word. The pages stay writable until all words are filled: programs with many libraries have tens of
 * thousands of such words. */
static bool fill(struct module *module, uintptr_t *word, uintptr_t address)
{
	const uintptr_t at = (uintptr_t)word;

	if (at >= module->fixed_low && at < module->fixed_high && !module->is_open) {
		if (!protect_fixed(module, PROT_READ | PROT_WRITE))
			return false;
		module->is_open = true;
	}
	__atomic_store_n(word, address, __ATOMIC_RELEASE);
	return true;
}

/* Gives a stub to the function of one relocation. Returns false if there is none left. */
static bool redirect(struct module *module, const ElfW(Rela) * relocation)
{
	size_t symbol = ELF64_R_SYM(relocation->r_info);
	const char *name = module->tables.strings +
			   ((const ElfW(Sym) *)module->tables.symbols)[symbol].st_name;
	uintptr_t *word = (uintptr_t *)(module->tables.base + relocation->r_offset), target = *word, stub;
	struct fxt_export_name wanted;
	const struct module *owner;
	const char *version;

	if (IS_ANY(name, excluded))
		return true;
	if (target >= module->low && target < module->high) {
		wanted = fxt_export_name(name);
		version = version_of(&module->tables, symbol);
		if (is_unfilled(module, target, &wanted, version))
			target = find(&wanted, version);
	}
	owner = target ? module_of(target) : NULL;
	if (!owner || is_own(owner))
		return true;
	if (fxt_filter_decide(&fxt_plt_rules, name, strlen(name), owner->file) != FXT_FILTER_KEEP)
		return true;
	stub = fxt_plt_call_make(name, owner->file, target);
	return stub && fill(module, word, stub);
}

static bool redirect_all(struct module *module)
{
	const ElfW(Rela) *relocation = module->tables.jump_slots;
	size_t count = module->tables.jump_slot_bytes / sizeof(*relocation), i;
	bool is_done = true;

	for (i = 0; i < count && is_done; i++)
		if (ELF64_R_TYPE(relocation[i].r_info) == R_X86_64_JUMP_SLOT)
			is_done = redirect(module, &relocation[i]);
	if (module->is_open)
		protect_fixed(module, PROT_READ);
	return is_done;
}

/* Returns whether `name`, which a module needs, is that of a module. */
static bool is_module(const struct module *module, const char *name)
{
	const char *slash = strrchr(name, '/');

	return (module->tables.soname && !strcmp(module->tables.soname, name)) ||
	       !strcmp(module->file, slash ? slash + 1 : name);
}

/* Returns how many modules the program began with. Those that a constructor has loaded stand behind them.
 * They may find other functions than the program does, and may be closed. */
static size_t count_first(void)
{
	size_t last = 0, i, k;

	for (i = 0; i <= last && i < module_count; i++) {
		const struct fxt_loaded *tables = &modules[i].tables;
		const ElfW(Dyn) *entry;

		for (entry = modules[i].entries; entry->d_tag != DT_NULL; entry++)
			for (k = module_count - 1; entry->d_tag == DT_NEEDED && k > last; k--)
				if (is_module(&modules[k], tables->strings + entry->d_un.d_val))
					last = k;
	}
	return module_count ? last + 1 : 0;
}

/* Reads the modules that the program began with. Returns the bytes of the list, or 0 if there is no memory
 * for it. */
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
	module_count = count_first();
	return count * sizeof(*modules);
}

void fxt_plt_start(void)
{
	struct module *module;
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
			"-fno-plt, or call only what is recorded in other categories, or FXT_PLT and "
			"FXT_CALLERS leave all out");
}

#else

void fxt_plt_start(void)
{
	if (fxt_agent.config.own_categories & FXT_CAT_plt)
		fxt_log("plt: calls of library functions are recorded on x86_64 only");
}

#endif
