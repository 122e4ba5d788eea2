/* Opens files with code, and finds functions by their symbols. See code_file.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "code_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug_dirs.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"

char *fxt_code_name(const char *symbol)
{
	struct fxt_text text = fxt_text_of(symbol);
	size_t bytes = strcspn(symbol, "@");
	char *name;

	/* The linker has appended the version: read@GLIBC_2.2.5. */
	if (bytes)
		text.bytes = (uint32_t)bytes;
	name = fxt_demangle(&text);
	return name ? name : fxt_format("%.*s", (int)text.bytes, text.text);
}

#ifdef HAVE_LIBDW
#include "libdw_calls.h"

struct fxt_late_library fxt_libdw = {.name = "libdw.so.1"};

struct function {
	uint64_t start, end;
	const char *name;
};

struct fxt_code_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr bias;
	char *path;                     /* as it was wanted */
	bool has_functions;             /* they have been read */
	struct function *functions;     /* in the order of their starts */
	size_t function_count, function_capacity;
};

/* -- Opening --------------------------------------------------------------------------------------- */

/* Each file stays open as long as its names are wanted. A trace without names is worth more than names of a
 * trace that cannot be opened, so the last descriptors are left for what else has to be opened. */
static int unless_last(int fd)
{
	enum { LEFT = 2 };
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd + LEFT < limit.rlim_cur)
		return fd;
	close(fd);
	return -1;
}

/* Returns the build id in hexadecimal digits, or NULL. */
static char *build_id_of(Dwfl_Module *module)
{
	const unsigned char *bytes;
	GElf_Addr address;
	int count = dwfl_module_build_id(module, &bytes, &address);
	char *text;

	if (count <= 0)
		return NULL;
	text = fxt_alloc(1, 2 * (size_t)count + 1);
	for (int i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

/* Returns whether a separate file with this name (.gnu_debuglink) is where libdwfl looks for it. */
static bool has_linked_file(const char *path, const char *link)
{
	static const char *const places[] = {"%.*s%s", "%.*s.debug/%s", "/usr/lib/debug%.*s%s"};
	const char *slash = path ? strrchr(path, '/') : NULL;
	bool has = false;

	for (size_t i = 0; slash && link && i < sizeof(places) / sizeof(places[0]) && !has; i++) {
		char *candidate = fxt_format(places[i], (int)(slash + 1 - path), path, link);

		has = access(candidate, F_OK) == 0;
		free(candidate);
	}
	return has;
}

/* Finds debug information of a file that has none itself. libdwfl calls this when it needs it. Its own search
 * loads the library that asks servers, and all that this needs, also where no server may be asked. That takes
 * some five milliseconds, so it is left out where it would find nothing. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const struct fxt_code_file *f = *userdata;
	char *build_id = build_id_of(module);
	int fd = build_id ? fxt_debug_dirs_open(f->path, build_id, true, found) : -1;

	free(build_id);
	if (fd < 0)
		fd = dwfl_build_id_find_debuginfo(module, userdata, name, base, file, link, crc, found);
	if (fd < 0 && (getenv("DEBUGINFOD_URLS") || has_linked_file(file, link)))
		fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, crc, found);
	return unless_last(fd);
}

static char *debug_path;

/* These are functions of ours because those of the library have no address yet. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	return dwfl_build_id_find_elf(module, userdata, name, base, file, elf);
}

static int section_address(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			   const char *section, GElf_Word number, const GElf_Shdr *header,
			   Dwarf_Addr *address)
{
	return dwfl_offline_section_address(module, userdata, name, base, section, number, header, address);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = section_address,
	.debuginfo_path = &debug_path,
};

/* Opens the file at the path, if it is the one that is wanted. */
static int open_itself(const struct fxt_code_wish *wish)
{
	int fd = *wish->path == '/' ? unless_last(fxt_debug_dirs_open_file(wish->path)) : -1;
	struct stat st;
	bool is_wanted;

	if (fd < 0)
		return -1;
	if (*wish->build_id)
		is_wanted = fxt_debug_dirs_has_id(fd, wish->build_id);
	else
		is_wanted = fstat(fd, &st) == 0 && st.st_mtime <= wish->not_after &&
			    (!wish->inode || wish->inode == st.st_ino);
	if (is_wanted)
		return fd;
	close(fd);
	return -1;
}

static Dwfl_Module *report_file(Dwfl *dwfl, const char *path, int fd)
{
	Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, fd, 0, true);

	/* It takes the descriptor if it succeeds. */
	if (!module)
		close(fd);
	return module;
}

/* Lets servers be asked for a file of which only the build id is known. */
static Dwfl_Module *report_id(Dwfl *dwfl, const struct fxt_code_wish *wish)
{
	size_t count = strlen(wish->build_id) / 2;
	unsigned char bytes[64];
	Dwfl_Module *module;

	if (!count || count > sizeof(bytes))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		char digits[3] = {wish->build_id[2 * i], wish->build_id[2 * i + 1]}, *end;

		bytes[i] = (unsigned char)strtoul(digits, &end, 16);
		if (end != digits + 2)
			return NULL;
	}
	module = dwfl_report_module(dwfl, wish->path, 0, INT64_MAX);
	return module && dwfl_module_report_build_id(module, bytes, count, 0) == 0 ? module : NULL;
}

static Dwfl_Module *report(Dwfl *dwfl, const struct fxt_code_wish *wish)
{
	bool may_ask = fxt_debug_dirs_may_ask();
	Dwfl_Module *module = NULL;
	char *found = NULL;
	int fd = open_itself(wish);

	if (fd >= 0)
		return report_file(dwfl, wish->path, fd);
	if (!*wish->build_id)
		return NULL;
	fd = unless_last(fxt_debug_dirs_open(wish->path, wish->build_id, false, &found));
	if (fd >= 0)
		module = report_file(dwfl, found, fd);
	else if (may_ask && getenv("DEBUGINFOD_URLS"))
		module = report_id(dwfl, wish);
	free(found);
	return module;
}

/* Compares two functions by their starts. Of those that begin at one address, the one that readers know comes
 * first: symbols are put in with global ones first, and sorting keeps that order by the end of names. */
static int by_start(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return strcmp(b->name, a->name);
}

static void add_function(struct fxt_code_file *f, const GElf_Sym *symbol, GElf_Addr address, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !name || !*name ||
	    *name == '$' || symbol->st_shndx == SHN_UNDEF || (type == STT_NOTYPE && !symbol->st_size))
		return;
	f->functions = fxt_grow(f->functions, &f->function_capacity, f->function_count + 1,
				sizeof(*f->functions));
	f->functions[f->function_count++] = (struct function){address, address + symbol->st_size, name};
}

/* Reads the symbols when a function is first asked for. That takes most of what a file takes to open, and
 * many are opened only for what their headers say. */
static void read_functions(struct fxt_code_file *f)
{
	int count;

	if (f->has_functions)
		return;
	f->has_functions = true;
	count = dwfl_module_getsymtab(f->module);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(f->module, i, &symbol, &address, NULL, NULL, NULL);

		add_function(f, &symbol, address - f->bias, name);
	}
	if (f->function_count)
		qsort(f->functions, f->function_count, sizeof(*f->functions), by_start);
}

struct fxt_code_file *fxt_code_file_open(const struct fxt_code_wish *wish)
{
	struct fxt_code_file *f;
	void **userdata;

	if (!fxt_late_open(&fxt_libdw))
		return NULL;
	f = fxt_alloc(1, sizeof(*f));
	f->path = fxt_strdup(wish->path);
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->module = report(f->dwfl, wish);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	if (f->module) {
		dwfl_module_info(f->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = f;
	}
	if (!f->module || !dwfl_module_getelf(f->module, &f->bias)) {
		fxt_code_file_close(f);
		return NULL;
	}
	return f;
}

void fxt_code_file_close(struct fxt_code_file *f)
{
	if (!f)
		return;
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->functions);
	free(f->path);
	free(f);
}

char *fxt_code_file_build_id(const struct fxt_code_file *f)
{
	return build_id_of(f->module);
}

bool fxt_code_file_has_own_lines(const struct fxt_code_file *f)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (name && (strcmp(name, ".debug_line") == 0 || strcmp(name, ".zdebug_line") == 0))
			return true;
	}
	return false;
}

Dwfl_Module *fxt_code_file_module(const struct fxt_code_file *f, uint64_t *bias)
{
	*bias = f->bias;
	return f->module;
}

/* -- Functions ------------------------------------------------------------------------------------- */

const char *fxt_code_file_function(struct fxt_code_file *f, uint64_t address, uint64_t *start)
{
	size_t low = 0, high, at;

	read_functions(f);
	high = f->function_count;
	while (low < high) {
		at = low + (high - low) / 2;
		if (f->functions[at].start <= address)
			low = at + 1;
		else
			high = at;
	}
	/* Of functions that begin together, the longest comes first. An inner one may end before the address.
	 */
	for (at = low; at > 0 && low - at < 8; at--) {
		const struct function *one = &f->functions[at - 1];

		if (address >= one->end && one->start != one->end)
			continue;
		while (at > 1 && f->functions[at - 2].start == one->start &&
		       f->functions[at - 2].end > address) {
			at--;
			one = &f->functions[at - 1];
		}
		*start = one->start;
		return one->name;
	}
	return NULL;
}
#else
struct fxt_code_file *fxt_code_file_open(const struct fxt_code_wish *wish)
{
	(void)wish;
	return NULL;
}

void fxt_code_file_close(struct fxt_code_file *f)
{
	(void)f;
}

bool fxt_code_file_has_own_lines(const struct fxt_code_file *f)
{
	(void)f;
	return false;
}

char *fxt_code_file_build_id(const struct fxt_code_file *f)
{
	(void)f;
	return NULL;
}

const char *fxt_code_file_function(struct fxt_code_file *f, uint64_t address, uint64_t *start)
{
	(void)f, (void)address, (void)start;
	return NULL;
}
#endif
