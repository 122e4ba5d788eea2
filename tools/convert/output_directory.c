/* A directory that gets its name when it is complete. See output_directory.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "output_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"

/* nftw() may have so many directories open. */
enum { OPEN_DIRECTORIES = 8 };

static bool is_one_of(const char *name, const char *const *contents)
{
	for (; *contents; contents++) {
		if (strcmp(name, *contents) == 0)
			return true;
	}
	return false;
}

/* Returns whether the directory has nothing but `contents`. */
static bool has_only(const char *path, const char *const *contents)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	bool ok = directory;

	while (ok && (entry = readdir(directory)))
		ok = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		     is_one_of(entry->d_name, contents);
	if (directory)
		closedir(directory);
	return ok;
}

/* Returns whether there is nothing of the name, which settles it; or, with --force, whether there is
 * something to look at. Returns false after a message otherwise. */
static bool may_look(const char *path, bool is_forced, struct stat *st, bool *is_there)
{
	*is_there = lstat(path, st) == 0;
	if (*is_there ? is_forced : errno == ENOENT)
		return true;
	if (*is_there)
		fxt_error(path, "exists already and is not replaced: give --force, or another name with -o");
	else
		fxt_error(path, "%s", strerror(errno));
	return false;
}

bool fxt_output_is_free(const char *path, const char *const *contents, bool is_forced)
{
	struct stat st;
	bool is_there;

	if (!may_look(path, is_forced, &st, &is_there))
		return false;
	if (!is_there || (S_ISDIR(st.st_mode) && has_only(path, contents)))
		return true;
	fxt_error(path, "is nothing that fxt convert has written, and is not replaced");
	return false;
}

/* Returns whether the file begins as a trace does. */
static bool is_trace(const char *path)
{
	unsigned char head[8];
	FILE *file = fopen(path, "re");
	bool is = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
		  !fxt_trace_refusal(head, sizeof(head));

	if (file)
		fclose(file);
	return is;
}

bool fxt_output_file_is_free(const char *path, const char *trace, bool is_forced)
{
	struct stat st, of_trace;
	bool is_there;

	if (!may_look(path, is_forced, &st, &is_there))
		return false;
	if (!is_there)
		return true;
	if (!S_ISREG(st.st_mode) || is_trace(path) ||
	    (stat(trace, &of_trace) == 0 && st.st_dev == of_trace.st_dev && st.st_ino == of_trace.st_ino)) {
		fxt_error(path, "is nothing that fxt convert has written, and is not replaced");
		return false;
	}
	return true;
}

char *fxt_output_make(const char *path)
{
	char *directory = fxt_format("%s.XXXXXX", path);

	if (mkdtemp(directory))
		return directory;
	free(directory);
	return NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

void fxt_output_remove(const char *directory)
{
	nftw(directory, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}

bool fxt_output_rename(const char *directory, const char *path, bool is_forced)
{
	if (renameat2(AT_FDCWD, directory, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return true;
	if (errno == EEXIST && is_forced) {
		if (renameat2(AT_FDCWD, directory, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
			fxt_output_remove(directory);
			return true;
		}
		if (errno == EINVAL)
			fxt_output_remove(path);
	}
	/* Some file systems know no flags. A directory that has anything in it is not replaced by this. */
	return errno == EINVAL && rename(directory, path) == 0;
}

bool fxt_output_rename_file(const char *file, const char *path, bool is_forced)
{
	if (is_forced)
		return rename(file, path) == 0;
	if (renameat2(AT_FDCWD, file, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return true;
	/* Some file systems know no flags. */
	return errno == EINVAL && link(file, path) == 0;
}
