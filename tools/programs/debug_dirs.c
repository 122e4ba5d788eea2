/* Looks for debug information. See debug_dirs.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "debug_dirs.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifdef HAVE_LIBDW
#include <gelf.h>

#include "libdw_calls.h"
#endif
#include "tools/common/message.h"

/* Where distributions put debug information. */
#define SYSTEM_DIRECTORY "/usr/lib/debug"

static const char **directories;
static size_t directory_count, directory_capacity;
static bool may_ask;

void fxt_debug_dirs_add(const char *directory)
{
	struct stat st;
	bool is_there = stat(directory, &st) == 0;

	if (!is_there || !S_ISDIR(st.st_mode)) {
		fxt_error(NULL, "--debug-dir=%s: %s", directory, strerror(is_there ? ENOTDIR : errno));
		exit(argp_err_exit_status);
	}
	directories = fxt_grow(directories, &directory_capacity, directory_count + 1, sizeof(*directories));
	directories[directory_count++] = directory;
}

void fxt_debug_dirs_ask_servers(void)
{
	may_ask = true;
}

bool fxt_debug_dirs_may_ask(void)
{
	if (!may_ask)
		unsetenv("DEBUGINFOD_URLS");
	return may_ask;
}

static bool is_made_up(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
}

int fxt_debug_dirs_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || is_made_up(fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

#ifdef HAVE_LIBDW
bool fxt_debug_dirs_has_id(int fd, const char *build_id)
{
	const unsigned char *bytes;
	const void *note = NULL;
	ssize_t count;
	bool is_same;
	Elf *elf;

	if (!fxt_late_open(&fxt_libdw))
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return false;
	count = elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &note) : 0;
	bytes = note;
	is_same = count > 0 && strlen(build_id) == 2 * (size_t)count;
	for (ssize_t i = 0; is_same && i < count; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", bytes[i]);
		is_same = strncasecmp(digits, build_id + 2 * i, 2) == 0;
	}
	elf_end(elf);
	return is_same;
}

/* Returns whether the file has symbols or debug information. One that was stripped has not. */
static bool has_debug(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *section = NULL;
	size_t names = 0;
	bool found = false;

	if (!elf)
		return false;
	elf_getshdrstrndx(elf, &names);
	while (!found && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = NULL;

		if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS)
			name = elf_strptr(elf, names, header.sh_name);
		found = name && (header.sh_type == SHT_SYMTAB || strcmp(name, ".debug_info") == 0 ||
				 strcmp(name, ".zdebug_info") == 0);
	}
	elf_end(elf);
	return found;
}
#else
static bool has_debug(int fd)
{
	(void)fd;
	return false;
}

bool fxt_debug_dirs_has_id(int fd, const char *build_id)
{
	(void)fd, (void)build_id;
	return false;
}
#endif

/* What is searched for. */
struct search {
	const char *path, *build_id;
	bool for_debug;                 /* a stripped file will not do */
	char **found;
};

/* Opens the file at a path, which it frees, if it is what is searched for. */
static int open_candidate(const struct search *s, char *path)
{
	int fd = fxt_debug_dirs_open_file(path);

	if (fd >= 0 && !(fxt_debug_dirs_has_id(fd, s->build_id) && (!s->for_debug || has_debug(fd)))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		*s->found = path;
	else
		free(path);
	return fd;
}

/* Opens the file that a directory has under the name of the build id. */
static int open_by_id(const struct search *s, const char *directory)
{
	return open_candidate(
		s, fxt_format("%s/.build-id/%.2s/%s.debug", directory, s->build_id, s->build_id + 2));
}

static int open_in(const struct search *s, const char *directory)
{
	const char *slash = strrchr(s->path, '/'), *base = slash ? slash + 1 : s->path;
	int fd = open_by_id(s, directory);

	if (fd < 0)
		fd = open_candidate(s, fxt_format("%s/%s.debug", directory, s->path));
	if (fd < 0)
		fd = open_candidate(s, fxt_format("%s/%s.debug", directory, base));
	if (fd < 0)
		fd = open_candidate(s, fxt_format("%s/%s", directory, s->path));
	if (fd < 0)
		fd = open_candidate(s, fxt_format("%s/%s", directory, base));
	return fd;
}

/* Returns whether the text can be part of a path. It comes from a trace. */
static bool is_id(const char *build_id)
{
	size_t digits = strspn(build_id, "0123456789abcdefABCDEF");

	return digits > 2 && !build_id[digits] && digits % 2 == 0;
}

int fxt_debug_dirs_open(const char *path, const char *build_id, bool for_debug, char **found)
{
	const struct search s = {path, build_id, for_debug, found};
	int fd = -1;

	if (!is_id(build_id))
		return -1;
	for (size_t i = 0; fd < 0 && i < directory_count; i++)
		fd = open_in(&s, directories[i]);
	if (fd < 0 && !for_debug)
		fd = open_by_id(&s, SYSTEM_DIRECTORY);
	return fd;
}
