/* Finds lines of source. See source_lines.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "source_lines.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <uthash.h>

#include "tools/analysis/demangle.h"
#include "tools/common/hash.h"

/* A file. It stays open, and is tried once. */
struct file {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *module;            /* NULL: nothing is known of it */
	UT_hash_handle hh;
};

struct fxt_source_lines {
	struct file *files;
	time_t not_after;
};

struct fxt_source_lines *fxt_source_lines_open(time_t not_after)
{
	struct fxt_source_lines *s = fxt_alloc(1, sizeof(*s));

	s->not_after = not_after;
	/* libdwfl would ask the servers that are named there, and wait for them. */
	unsetenv("DEBUGINFOD_URLS");
	return s;
}

/* Returns whether the kernel makes the file up. Such files are regular too, and one of them is an image of
 * all memory. */
static bool is_made_up(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
}

/* Opens the file, without waiting for anybody. Returns -1 if it is not one to look into. */
static int open_regular(const char *path, time_t not_after)
{
	int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_mtime > not_after ||
			is_made_up(fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void open_module(struct file *file, time_t not_after)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	int fd = open_regular(file->path, not_after);

	if (fd < 0)
		return;
	file->dwfl = dwfl_begin(&callbacks);
	if (!file->dwfl) {
		close(fd);
		return;
	}
	dwfl_report_begin(file->dwfl);
	/* It takes the descriptor if it succeeds. */
	file->module = dwfl_report_offline(file->dwfl, file->path, file->path, fd);
	if (!file->module)
		close(fd);
	dwfl_report_end(file->dwfl, NULL, NULL);
}

static struct file *file_of(struct fxt_source_lines *s, const char *path)
{
	struct file *file;

	HASH_FIND_STR(s->files, path, file);
	if (file)
		return file;
	file = fxt_alloc(1, sizeof(*file));
	file->path = fxt_strdup(path);
	open_module(file, s->not_after);
	HASH_ADD_KEYPTR(hh, s->files, file->path, strlen(file->path), file);
	return file;
}

/* Returns the unit of the compiler that has the address, also where the file has no table of addresses. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	while (!unit && (unit = dwfl_module_nextcu(module, unit, bias))) {
		if (dwarf_haspc(unit, address - *bias) > 0)
			break;
	}
	return unit;
}

static const char *name_of(Dwarf_Die *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dwarf_Attribute attribute;
		const char *name = dwarf_formstring(dwarf_attr_integrate(function, names[i], &attribute));

		if (name)
			return name;
	}
	return NULL;
}

/* Sets place->function, if the innermost function at the address was inlined. */
static void find_inlined(Dwfl_Module *module, Dwarf_Addr address, struct fxt_source_place *place)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = unit_of(module, address, &bias), *scopes;
	int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;

	for (int i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = tag == DW_TAG_inlined_subroutine ? name_of(&scopes[i]) : NULL;
		struct fxt_text text;
		char *demangled;

		if (name) {
			text = fxt_text_of(name);
			demangled = fxt_demangle_short(&text, sizeof(place->function) - 1);
			snprintf(place->function, sizeof(place->function), "%s",
				 demangled ? demangled : name);
			free(demangled);
		}
		if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
			break;
	}
	if (count > 0)
		free(scopes);
}

bool fxt_source_line(struct fxt_source_lines *s, const char *path, uint64_t address,
		     struct fxt_source_place *place)
{
	struct file *file = file_of(s, path);
	const char *source = NULL, *slash;
	GElf_Addr bias = 0;
	Dwfl_Line *line;

	*place = (struct fxt_source_place){.line = 0};
	if (!file->module || !dwfl_module_getelf(file->module, &bias))
		return false;
	address += bias;
	line = dwfl_module_getsrc(file->module, address);
	if (line)
		source = dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL);
	if (!source || place->line <= 0)
		return false;
	slash = strrchr(source, '/');
	snprintf(place->file, sizeof(place->file), "%s", slash && slash[1] ? slash + 1 : source);
	find_inlined(file->module, address, place);
	return true;
}

void fxt_source_lines_close(struct fxt_source_lines *s)
{
	struct file *file = s ? s->files : NULL, *next;

	if (s)
		HASH_CLEAR(hh, s->files);
	for (; file; file = next) {
		next = file->hh.next;
		if (file->dwfl)
			dwfl_end(file->dwfl);
		free(file->path);
		free(file);
	}
	free(s);
}
#else
struct fxt_source_lines *fxt_source_lines_open(time_t not_after)
{
	(void)not_after;
	return NULL;
}

bool fxt_source_line(struct fxt_source_lines *s, const char *path, uint64_t address,
		     struct fxt_source_place *place)
{
	(void)s;
	(void)path;
	(void)address;
	*place = (struct fxt_source_place){.line = 0};
	return false;
}

void fxt_source_lines_close(struct fxt_source_lines *s)
{
	(void)s;
}
#endif
