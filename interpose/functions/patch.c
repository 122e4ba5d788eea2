/* Patches functions that were compiled with -fpatchable-function-entry. They begin with instructions that do
 * nothing (NOPs), and a section of their module lists the addresses of these. A function that FXT_PATCH
 * chooses gets a call of fxt_entry_patched (entries.S) in their place. A call reaches 2 GiB. So modules that
 * are farther away from this library call a bridge in a page below the module, which jumps there.
 *
 * patch_sites.c finds the functions. One that has too little room, or does not look as compilers make it, is
 * left as it is. All this is done once, at start, by the only thread, with signals blocked. So nobody runs
 * code that is half patched.
 */
#include "patch.h"

#include "agent/base/agent.h"
#include "agent/base/log.h"
#include "agent/names/function_filter.h"

#if defined(__x86_64__)

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/loaded.h"
#include "agent/names/symbols.h"
#include "patch_sites.h"
#include "writer/apart.h"
#include "writer/sys.h"

enum {
	CALL = 0xe8,
	LOWEST = 1 << 20,               /* what is below may be kept free to catch null pointers */
	REACH = INT32_MAX - (1 << 16),  /* calls reach somewhat farther */
};

extern const char fxt_entry_patched[] __attribute__((visibility("hidden")));

static uintptr_t page;
static uintptr_t bridge;                  /* the bridge that was made last */

/* -- Calls and bridges --------------------------------------------------------------------------------- */

/* Returns whether calls at all chosen addresses reach the target. */
static bool reaches(const struct fxt_patch_module *module, uintptr_t target)
{
	size_t i;

	for (i = 0; i < module->count; i++) {
		uintptr_t call = module->sites[i].call;

		if (call && (call > target ? call - target : target - call) > REACH)
			return false;
	}
	return true;
}

/* Maps a page below the module. Nothing is mapped above one, where the heap of a program grows. Returns NULL
 * if all places that are tried are taken. */
static uint8_t *map_below(const struct fxt_patch_module *module)
{
	uintptr_t low = UINTPTR_MAX, distance = page, at;
	void *memory;
	unsigned i;
	int error;

	for (i = 0; i < module->header->e_phnum; i++)
		if (module->segments[i].p_type == PT_LOAD && module->bias + module->segments[i].p_vaddr < low)
			low = (module->bias + module->segments[i].p_vaddr) & -page;
	for (; low > LOWEST && distance < low - LOWEST; distance += (distance / 4 & -page) + page) {
		at = low - distance;
		if (!reaches(module, at))
			return NULL;
		memory = fxt_sys_mmap((void *)at, page, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0, &error);
		if (memory == (void *)at)
			return memory;
		/* Linux before 4.17 takes the address for a wish. */
		if (memory)
			fxt_sys_munmap(memory, page);
	}
	return NULL;
}

/* Returns what the module's functions are to call, or 0 if there is no place for a bridge. */
static uintptr_t target_of(const struct fxt_patch_module *module)
{
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
	const uintptr_t entry = (uintptr_t)fxt_entry_patched;
	uint8_t *memory;

	if (reaches(module, entry))
		return entry;
	if (bridge && reaches(module, bridge))
		return bridge;
	memory = map_below(module);
	if (!memory)
		return 0;
	memset(memory, FXT_PATCH_TRAP, page);
	memcpy(memory, jump, sizeof(jump));
	memcpy(memory + sizeof(jump), &entry, sizeof(entry));
	if (FXT_SYSCALL3(SYS_mprotect, memory, page, PROT_READ | PROT_EXEC)) {
		fxt_sys_munmap(memory, page);
		return 0;
	}
	bridge = (uintptr_t)memory;
	return bridge;
}

static void put_call(const struct fxt_patch_site *site, uintptr_t target)
{
	int32_t distance = (int32_t)(target - (site->call + FXT_PATCH_CALL_BYTES));
	uint8_t *at = (uint8_t *)site->call;

	at[0] = CALL;
	memcpy(at + 1, &distance, sizeof(distance));
	memset(at + FXT_PATCH_CALL_BYTES, FXT_PATCH_NOP, site->room - FXT_PATCH_CALL_BYTES);
}

/* Patches the functions of one segment. Returns 0 or a negative errno. */
static long patch_segment(const struct fxt_patch_module *module, const Elf64_Phdr *segment, uintptr_t target)
{
	const int protection = PROT_READ | PROT_EXEC | (segment->p_flags & PF_W ? PROT_WRITE : 0);
	uintptr_t low = UINTPTR_MAX, high = 0;
	const struct fxt_patch_site *site, *end = module->sites + module->count;
	long error;

	for (site = module->sites; site < end; site++) {
		if (!site->call || fxt_patch_segment(module, site->call, site->room, PF_R | PF_X) != segment)
			continue;
		low = site->call < low ? site->call : low;
		high = site->call + site->room > high ? site->call + site->room : high;
	}
	if (!high)
		return 0;
	low &= -page;
	high = (high + page - 1) & -page;
	error = FXT_SYSCALL3(SYS_mprotect, low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (site = module->sites; !error && site < end; site++)
		if (site->call && fxt_patch_segment(module, site->call, site->room, PF_R | PF_X) == segment)
			put_call(site, target);
	/* A call that fails may have changed the first of these pages. */
	FXT_SYSCALL3(SYS_mprotect, low, high - low, protection);
	return error;
}

static void patch_chosen(const struct fxt_patch_module *module)
{
	uintptr_t target = target_of(module);
	long error = 0;
	unsigned i;

	if (!target) {
		fxt_log("FXT_PATCH: no function of %s is patched: there is no memory for code near it",
			module->name);
		return;
	}
	for (i = 0; i < module->header->e_phnum && !error; i++)
		if (module->segments[i].p_type == PT_LOAD)
			error = patch_segment(module, &module->segments[i], target);
	if (error)
		fxt_log("FXT_PATCH: functions of %s are not patched: their memory cannot be changed: %s",
			module->name, fxt_error_name((int)-error));
}

/* -- Modules ----------------------------------------------------------------------------------------- */

/* Returns whether no function of the object may be patched. It is this library, the loader, the C library
 * (whose functions this library calls) or the kernel's. */
static bool is_excluded(const struct link_map *object)
{
	static const char libc[] = "libc.so.";
	struct fxt_loaded tables;

	return object == fxt_loaded_own() || object->l_addr == _r_debug.r_ldbase ||
	       object->l_addr == getauxval(AT_SYSINFO_EHDR) ||
	       (fxt_loaded_read(object, &tables) && tables.soname &&
		!strncmp(tables.soname, libc, sizeof(libc) - 1));
}

/* Patches the chosen functions of one module. Returns whether there are any. */
static bool patch_module(const struct link_map *object)
{
	struct fxt_patch_module module = {.object = object, .bias = object->l_addr};
	struct fxt_code_file file;

	if (!fxt_patch_open(&module))
		return false;
	if (fxt_patch_read(&module)) {
		/* There is no other thread, so the lock of the function table is not needed. */
		fxt_symbol_file((uintptr_t)object->l_ld, &file);
		module.name = file.name;
		fxt_patch_choose(&module);
		if (module.chosen)
			patch_chosen(&module);
	}
	fxt_patch_close(&module);
	return module.chosen;
}

/* Returns how many modules have chosen functions. */
static long patch_all(void *argument)
{
	const struct link_map *object;
	long modules = 0;

	(void)argument;
	for (object = fxt_loaded_first(); object; object = object->l_next)
		modules += !is_excluded(object) && patch_module(object);
	return modules;
}

void fxt_patch_start(void)
{
	if (!fxt_patch_rules.is_set || fxt_agent.state != FXT_ON)
		return;
	if (!fxt_is_alone()) {
		fxt_log("FXT_PATCH: no function is patched, because the program may have several threads "
			"already");
		return;
	}
	page = getauxval(AT_PAGESZ);
	if (!fxt_apart_from_locks(patch_all, NULL))
		fxt_log("FXT_PATCH: no function with room for a hook matches; compile with "
			"-fpatchable-function-entry=5");
}

#else

void fxt_patch_start(void)
{
	if (fxt_patch_rules.is_set && fxt_agent.state == FXT_ON)
		fxt_log("FXT_PATCH: functions are patched on x86_64 only");
}

#endif
