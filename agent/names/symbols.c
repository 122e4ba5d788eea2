/* See symbols.h. Called by function.c, under its lock and with signals blocked, but for the one function
 * that says otherwise. */
#include "symbols.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/base/growing_table.h"
#include "agent/base/loaded.h"
#include "agent/base/reach.h"
#include "module.h"
#include "writer/apart.h"
#include "writer/fxt_encode.h"
#include "writer/sys.h"

enum {
	MAX_MODULES = 512,
	MAPS_BYTES = 8192,              /* longer lines of /proc/self/maps are left out */
	PATH_BYTES = 4096,
	PATHS_BYTES = 16 << 10,         /* room for the paths of most processes */
	TEXT_BYTES = 64 << 20,          /* as much room there may be for names */
};

static struct fxt_growing_table module_table = {.most_bytes = MAX_MODULES * sizeof(struct fxt_module)};
static struct fxt_module *modules;      /* its memory, which stays where it is */
static unsigned module_count, removed_count;
/* Odd while modules change, for readers without the lock. */
static atomic_uint module_version;
static struct fxt_growing_table texts = {.most_bytes = TEXT_BYTES};
static size_t texts_used;

/* Returns room for so much text, or NULL if there is none. What is kept of it is added to texts_used. */
static char *room_for_text(size_t bytes)
{
	char *text = bytes <= TEXT_BYTES ? fxt_growing_table(&texts, texts_used + bytes) : NULL;

	return text ? text + texts_used : NULL;
}

/* -- Modules ----------------------------------------------------------------------------------- */

static uint64_t hex(const char **text)
{
	uint64_t value = 0;

	for (;; ++*text) {
		char c = **text;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* Mappings of one file that follow each other. */
struct group {
	uintptr_t low, high, code_low, code_high;
	uint64_t offset;
	bool is_ended;
	char path[PATH_BYTES];          /* "": the memory is of no file */
};

static struct fxt_module *module_at(uintptr_t address)
{
	unsigned i;

	for (i = 0; i < module_count; i++)
		if (address >= modules[i].low && address < modules[i].high)
			return &modules[i];
	return NULL;
}

static const char *keep_text(const char *text)
{
	static FXT_LARGE char near[PATHS_BYTES];
	static size_t near_used;
	size_t bytes = strlen(text) + 1;
	char *kept;

	if (bytes <= PATHS_BYTES - near_used) {
		near_used += bytes;
		return memcpy(near + near_used - bytes, text, bytes);
	}
	kept = room_for_text(bytes);
	if (!kept)
		return NULL;
	texts_used += bytes;
	return memcpy(kept, text, bytes);
}

/* Takes a module's addresses away. The symbols that were read stay, because the file may come back. */
static void remove_module(struct fxt_module *module)
{
	module->low = module->high = module->code_low = module->code_high = 0;
	removed_count++;
}

/* Returns a module for the group: one of the same file that is unmapped, or a new one. Returns NULL if
 * there is no room. */
static struct fxt_module *find_or_make_module(const struct group *group)
{
	struct fxt_module *module, *table;
	const char *name, *p;

	for (module = modules; group->path[0] && module < modules + module_count; module++) {
		if (!module->high && module->path && module->offset == group->offset &&
		    !strcmp(module->path, group->path)) {
			module->is_read = false;
			return module;
		}
	}
	table = fxt_growing_table(&module_table, (module_count + 1) * sizeof(*module));
	if (!table)
		return NULL;
	modules = table;
	memset(module = &modules[module_count++], 0, sizeof(*module));
	module->offset = group->offset;
	if (group->path[0]) {
		module->path = keep_text(group->path);
		for (name = p = group->path; *p; p++)
			if (*p == '/')
				name = p + 1;
		module->name[fxt_utf8_clean(module->name, name, strlen(name),
					    sizeof(module->name) - 1)] = '\0';
	}
	return module;
}

/* Takes over a complete group. Memory that is of no file is kept only if it was asked for, because it may
 * be used for something else at any time. */
static void take_group(const struct group *group, uintptr_t address)
{
	struct fxt_module *module;

	if (group->code_low == group->code_high ||
	    (!group->path[0] && (address < group->low || address >= group->high)))
		return;
	for (module = modules; module < modules + module_count; module++) {
		if (module->low == group->low && module->path && !strcmp(module->path, group->path)) {
			module->high = group->high;
			module->is_there = true;
			return;
		}
	}
	/* Modules that overlap the group are not mapped any more. */
	for (module = modules; module < modules + module_count; module++)
		if (module->low < group->high && group->low < module->high)
			remove_module(module);
	module = find_or_make_module(group);
	if (!module)
		return;
	module->low = group->low;
	module->high = group->high;
	module->code_low = group->code_low;
	module->code_high = group->code_high;
	module->is_there = true;
}

/* Takes one line: "low-high perms offset device inode   path". */
static void take_line(struct group *group, const char *line, uintptr_t address)
{
	uintptr_t low, high;
	const char *path, *rest;
	uint64_t offset;
	bool is_code;

	low = hex(&line);
	line++;
	high = hex(&line);
	is_code = line[3] == 'x';
	line += 6;
	offset = hex(&line);
	path = strchr(line, '/');
	rest = strchr(line, '[');
	/* A mapping without a name that directly follows a file's mappings holds those variables of the
	 * file that are zero at first. */
	if (low == group->high && group->path[0] && !group->is_ended &&
	    (path ? !strcmp(path, group->path) : !rest && !is_code)) {
		group->high = high;
		group->is_ended = !path;
	} else {
		take_group(group, address);
		group->low = group->code_low = group->code_high = low;
		group->high = high;
		group->offset = offset;
		group->is_ended = false;
		/* The kernel also writes paths that open() would refuse as too long. A file with such a path
		 * has no name here. */
		if (!path || strlen(path) >= sizeof(group->path))
			path = "";
		memcpy(group->path, path, strlen(path) + 1);
	}
	if (is_code) {
		if (group->code_low == group->code_high)
			group->code_low = low;
		group->code_high = high;
	}
}

/* Begins a change; the caller holds the lock. In the child of a fork that came in the middle of a change,
 * the version is odd already. */
static void begin_change(void)
{
	atomic_store_explicit(&module_version,
			      atomic_load_explicit(&module_version, memory_order_relaxed) | 1,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(void)
{
	atomic_store_explicit(&module_version,
			      atomic_load_explicit(&module_version, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Finds all files that have code mapped, and the memory around `address`. Returns false if the list cannot
 * be read. */
static long scan_opened(void *argument)
{
	uintptr_t address = *(const uintptr_t *)argument;
	static FXT_LARGE char text[MAPS_BYTES];
	static FXT_LARGE struct group group;
	bool is_rest = false;           /* what comes is the rest of a line that was too long */
	size_t used = 0;
	ssize_t n;
	int fd = fxt_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	begin_change();
	memset(&group, 0, offsetof(struct group, path) + 1);
	while ((n = fxt_sys_read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		char *line = text, *end;

		used += (size_t)n;
		text[used] = '\0';
		while ((end = memchr(line, '\n', used - (size_t)(line - text)))) {
			*end = '\0';
			if (!is_rest)
				take_line(&group, line, address);
			is_rest = false;
			line = end + 1;
		}
		used -= (size_t)(line - text);
		if (used == sizeof(text) - 1) {
			is_rest = true;
			used = 0;
		}
		memmove(text, line, used);
	}
	fxt_sys_close(fd);
	take_group(&group, address);
	end_change();
	return n == 0;
}

static bool scan(uintptr_t address)
{
	return fxt_apart(scan_opened, &address) > 0;
}

static struct fxt_module *find_module(uintptr_t address)
{
	struct fxt_module *module = module_at(address);

	if (!module && module_count < MAX_MODULES && scan(address))
		module = module_at(address);
	return module;
}

/* Reads the module's symbols if they are needed for the first time. Returns the module. */
static const struct fxt_module *with_symbols(struct fxt_module *module)
{
	if (module && module->path && !module->is_read) {
		begin_change();
		module->is_read = true;
		fxt_module_read(module);
		end_change();
	}
	return module;
}

bool fxt_symbols_unloaded(void)
{
	unsigned removed = removed_count;
	struct fxt_module *module;

	for (module = modules; module < modules + module_count; module++)
		module->is_there = false;
	if (!module_count || !scan(0))
		return false;
	for (module = modules; module < modules + module_count; module++)
		if (!module->is_there && module->high)
			remove_module(module);
	return removed_count != removed;
}

const struct fxt_module *fxt_symbol_module(uintptr_t address)
{
	return with_symbols(find_module(address));
}

bool fxt_symbol_is_mapped(uintptr_t address)
{
	return module_at(address) != NULL;
}

/* -- Names ------------------------------------------------------------------------------------- */

static const struct fxt_symbol *find_symbol(const struct fxt_module *module, uint64_t address)
{
	size_t low = 0, high = module->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* The symbol is the last that begins at or before the address; of several at one address any will
	 * do. */
	for (; low > 0; low--) {
		const struct fxt_symbol *s = &module->symbols[low - 1];

		if (address - s->address < (s->bytes ? s->bytes : 1))
			return s;
		if (address - s->address > 1 << 20)
			break;
	}
	return NULL;
}

/* Returns a symbol's name in its file, and sets its length without the version that the linker may have
 * appended: read@@GLIBC_2.2.5. The length is 0 if the name cannot be read any more. */
static const char *name_of(const struct fxt_module *module, const struct fxt_symbol *symbol, size_t *bytes)
{
	const char *text = module->strings + symbol->name, *version;
	struct fxt_reach reach = {0};

	*bytes = fxt_reaches_text(&reach, text, module->strings_bytes - symbol->name);
	version = memchr(text, '@', *bytes);
	if (version && version > text)
		*bytes = (size_t)(version - text);
	return text;
}

static const char *made_name(const char *module, uintptr_t offset, size_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	char number[16], *out;
	size_t n = 0, length = strlen(module);

	*bytes = 1;
	out = room_for_text(length + 20);
	if (!out)
		return "?";
	memcpy(out, module, length);
	if (length)
		out[length++] = '+';
	out[length++] = '0';
	out[length++] = 'x';
	do
		number[n++] = digits[offset % 16];
	while (offset /= 16);
	while (n)
		out[length++] = number[--n];
	texts_used += length;
	*bytes = length;
	return out;
}

/* Returns a copy of a name that stands in a file, as UTF-8, which the trace requires: symbol names may be any
 * bytes. Returns NULL if there is no room. */
static const char *copy_of(const char *text, size_t *bytes)
{
	char *out = *bytes ? room_for_text(*bytes) : NULL;

	if (!out)
		return NULL;
	*bytes = fxt_utf8_clean(out, text, *bytes, *bytes);
	texts_used += *bytes;
	return out;
}

static bool is_ascii(const char *text, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (text[i] & 0x80)
			return false;
	return true;
}

const char *fxt_symbol_text(uintptr_t address, size_t *bytes)
{
	const struct fxt_module *module = with_symbols(find_module(address));
	const struct fxt_symbol *symbol = module ? find_symbol(module, address - module->bias) : NULL;
	const char *text = symbol ? name_of(module, symbol, bytes) : NULL;

	return text && *bytes ? text : NULL;
}

const char *fxt_symbol_name(uintptr_t address, size_t *bytes, bool *is_cut)
{
	const char *text = fxt_symbol_text(address, bytes);
	const struct fxt_module *module = module_at(address);

	/* Whoever keeps the name needs no file, which may be cut off, or be another one. */
	*is_cut = !text && module && (module->is_cut || find_symbol(module, address - module->bias));
	if (text)
		text = copy_of(text, bytes);
	if (text)
		return text;
	if (!module)
		return made_name("", address, bytes);
	return made_name(module->name, module->name[0] ? address - module->bias : address, bytes);
}

const char *fxt_symbol_file_name(uintptr_t address)
{
	const struct fxt_module *module = module_at(address);
	const char *slash = module && module->path ? strrchr(module->path, '/') : NULL;

	return slash ? slash + 1 : module && module->path ? module->path : "";
}

void fxt_symbol_file(uintptr_t address, struct fxt_code_file *file)
{
	const struct link_map *program = fxt_loaded_first();
	const struct fxt_module *module = find_module(address);

	file->is_program = module && program && module == find_module((uintptr_t)program->l_ld);
	file->name = fxt_symbol_file_name(address);
}

const char *fxt_symbol_known_name(uintptr_t address, size_t *bytes)
{
	unsigned version = atomic_load_explicit(&module_version, memory_order_acquire);
	const struct fxt_module *module = module_at(address);
	const struct fxt_symbol *symbol;
	struct fxt_module copy;
	const char *text;

	if (!module)
		return NULL;
	copy.symbols = module->symbols;
	copy.count = module->count;
	copy.strings = module->strings;
	copy.strings_bytes = module->strings_bytes;
	copy.bias = module->bias;
	copy.is_read = module->is_read;
	atomic_thread_fence(memory_order_acquire);
	/* The symbols that were read stay where they are, so the copy can be used. */
	if (version % 2 || atomic_load_explicit(&module_version, memory_order_relaxed) != version ||
	    !copy.is_read || !copy.symbols)
		return NULL;
	symbol = find_symbol(&copy, address - copy.bias);
	if (!symbol)
		return NULL;
	text = name_of(&copy, symbol, bytes);
	/* Names that have to be cleaned have another text. */
	return *bytes && is_ascii(text, *bytes) ? text : NULL;
}

const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset)
{
	const struct fxt_module *module;
	const struct fxt_symbol *symbol;
	const char *text;

	find_module(place);
	module = with_symbols(module_at(address));
	symbol = module ? find_symbol(module, address - module->bias) : NULL;
	*offset = module != NULL;
	/* Code is not an object. */
	if (!symbol || (address >= module->code_low && address < module->code_high))
		return NULL;
	*offset = (uint32_t)(address - module->bias - symbol->address);
	text = name_of(module, symbol, bytes);
	return *bytes && is_ascii(text, *bytes) ? text : copy_of(text, bytes);
}
