/* Makes a known number of calls on paths, directories and what is kept of files, and prints how many: see counts.h.
 *
 *	count_files ROUNDS		works in the current directory, which stays empty
 *
 * Where the file system or the program's rights decide whether a call succeeds it is only counted.
 */
#define CALLS(X)                                                                                        \
	X(io, access) X(io, faccessat) X(io, eaccess) X(io, rename) X(io, renameat) X(io, renameat2)    \
	X(io, link) X(io, linkat) X(io, symlink) X(io, symlinkat) X(io, unlink) X(io, unlinkat)         \
	X(io, rmdir) X(io, remove) X(io, readlink) X(io, readlinkat) X(io, canonicalize_file_name)      \
	X(io, realpath) X(io, mkdir) X(io, mkdirat) X(io, mkdtemp) X(io, mknod) X(io, mknodat)          \
	X(io, mkfifo) X(io, mkfifoat) X(io, chdir) X(io, fchdir) X(io, chroot) X(io, getcwd)            \
	X(io, getwd) X(io, get_current_dir_name) X(io, memfd_create) X(io, shm_open) X(io, shm_unlink)  \
	X(io, name_to_handle_at) X(io, open_by_handle_at) X(io, mount) X(io, umount) X(io, umount2)     \
	X(io, stat) X(io, lstat) X(io, fstatat) X(io, statx) X(io, statfs) X(io, fstatfs)               \
	X(io, statvfs) X(io, fstatvfs) X(io, chmod) X(io, lchmod) X(io, fchmod) X(io, fchmodat)         \
	X(io, chown) X(io, lchown) X(io, fchown) X(io, fchownat) X(io, utime) X(io, utimes)             \
	X(io, lutimes) X(io, futimes) X(io, futimesat) X(io, futimens) X(io, utimensat)                 \
	X(io, getxattr) X(io, lgetxattr) X(io, fgetxattr) X(io, setxattr) X(io, lsetxattr)              \
	X(io, fsetxattr) X(io, listxattr) X(io, llistxattr) X(io, flistxattr) X(io, removexattr)        \
	X(io, lremovexattr) X(io, fremovexattr) X(io, opendir) X(io, fdopendir) X(io, readdir)          \
	X(io, readdir_r) X(io, closedir) X(io, seekdir) X(io, telldir) X(io, rewinddir) X(io, scandir)  \
	X(io, scandirat) X(io, getdents64) X(io, getdirentries) X(io, ftw) X(io, nftw) X(io, glob)      \
	X(io, fts_open) X(io, fts_read) X(io, fts_children) X(io, fts_set) X(io, fts_close)             \
	X(io, open) X(io, close) X(io, mkstemp) X(io, mkostemp) X(io, mkstemps) X(io, mkostemps)

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "counts.h"

static const int here = AT_FDCWD;
/* The headers promise the compiler that no path is NULL; the kernel takes it for a bad address. */
static const char *volatile nowhere;

static int make_file(const char *name)
{
	int fd = CALL(open, name, O_RDWR | O_CREAT | O_EXCL, 0600);

	NEED(fd >= 0);
	return fd;
}

/* -- Names ---------------------------------------------------------------------------------------- */

static void use_names(void)
{
	char text[PATH_MAX], *path;

	NEED(CALL(close, make_file("a")) == 0);
	NEED(CALL(access, "a", R_OK) == 0);
	NEED(CALL(access, "none", R_OK) == -1 && errno == ENOENT);
	NEED(CALL(access, nowhere, R_OK) == -1 && errno == EFAULT);
	NEED(CALL(faccessat, here, "a", R_OK, 0) == 0);
	NEED(CALL(eaccess, "a", R_OK) == 0);
	NEED(CALL(rename, "a", "b") == 0);
	NEED(CALL(rename, "a", "b") == -1 && errno == ENOENT);
	NEED(CALL(renameat, here, "b", here, "a") == 0);
	NEED(CALL(renameat2, here, "a", here, "b", 0) == 0);
	NEED(CALL(link, "b", "a") == 0);
	NEED(CALL(linkat, here, "b", here, "c", 0) == 0);
	NEED(CALL(symlink, "a", "d") == 0);
	NEED(CALL(symlinkat, "a", here, "e") == 0);
	NEED(CALL(readlink, "d", text, sizeof(text)) == 1 && text[0] == 'a');
	NEED(CALL(readlinkat, here, "e", text, sizeof(text)) == 1 && text[0] == 'a');
	NEED(CALL(realpath, "d", text) == text);
	path = CALL(canonicalize_file_name, "e");
	NEED(path && !strcmp(path, text));
	free(path);
	NEED(CALL(realpath, "none", text) == NULL && errno == ENOENT);
	NEED(CALL(unlink, "a") == 0);
	NEED(CALL(unlink, "a") == -1 && errno == ENOENT);
	NEED(CALL(unlinkat, here, "b", 0) == 0);
	NEED(CALL(remove, "c") == 0 && CALL(remove, "d") == 0 && CALL(remove, "e") == 0);
}

static void use_special_names(void)
{
	char name[40];
	struct {
		struct file_handle handle;
		char bytes[128];
	} handle = {.handle.handle_bytes = 128};
	int fd, id;

	NEED(CALL(mkfifo, "fifo", 0600) == 0);
	NEED(CALL(mkfifo, "fifo", 0600) == -1 && errno == EEXIST);
	NEED(CALL(mkfifoat, here, "fifo2", 0600) == 0);
	NEED(CALL(mknod, "fifo3", S_IFIFO | 0600, 0) == 0);
	NEED(CALL(mknodat, here, "fifo4", S_IFIFO | 0600, 0) == 0);
	NEED(CALL(unlink, "fifo") == 0 && CALL(unlink, "fifo2") == 0 && CALL(unlink, "fifo3") == 0 &&
	     CALL(unlink, "fifo4") == 0);
	NEED(CALL(chroot, "none/none") == -1);
	NEED(CALL(mount, "none", "none/none", "none", 0, NULL) == -1);
	NEED(CALL(umount, "none/none") == -1);
	NEED(CALL(umount2, "none/none", 0) == -1);
	CALL(name_to_handle_at, here, ".", &handle.handle, &id, 0);
	NEED(CALL(open_by_handle_at, -1, &handle.handle, O_RDONLY) == -1);
	fd = CALL(memfd_create, "counted", MFD_CLOEXEC);
	NEED(fd >= 0 && CALL(close, fd) == 0);
	snprintf(name, sizeof(name), "/count_files.%ld", (long)getpid());
	fd = CALL(shm_open, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(fd >= 0 && CALL(close, fd) == 0);
	NEED(CALL(shm_unlink, name) == 0);
}

static void use_temporary_names(void)
{
	char plain[] = "plain.XXXXXX", flags[] = "flags.XXXXXX", suffix[] = "suffix.XXXXXX.c", both[] = "both.XXXXXX.c";
	char *names[] = {plain, flags, suffix, both};
	int fds[4], i;

	fds[0] = CALL(mkstemp, plain);
	fds[1] = CALL(mkostemp, flags, O_CLOEXEC);
	fds[2] = CALL(mkstemps, suffix, 2);
	fds[3] = CALL(mkostemps, both, 2, O_CLOEXEC);
	for (i = 0; i < 4; i++)
		NEED(fds[i] >= 0 && CALL(close, fds[i]) == 0 && CALL(unlink, names[i]) == 0);
}

/* -- Status --------------------------------------------------------------------------------------- */

static void use_status(void)
{
	struct statx more;
	struct stat status;
	struct statfs fs;
	struct statvfs vfs;
	int fd = make_file("s");

	NEED(CALL(stat, "s", &status) == 0 && S_ISREG(status.st_mode));
	NEED(CALL(stat, "none", &status) == -1 && errno == ENOENT);
	NEED(CALL(lstat, "s", &status) == 0);
	NEED(CALL(fstatat, here, "s", &status, AT_SYMLINK_NOFOLLOW) == 0);
	NEED(CALL(statx, here, "s", 0, STATX_MODE, &more) == 0 && S_ISREG(more.stx_mode));
	NEED(CALL(statfs, ".", &fs) == 0 && CALL(fstatfs, fd, &fs) == 0);
	NEED(CALL(statvfs, ".", &vfs) == 0 && CALL(fstatvfs, fd, &vfs) == 0);
	NEED(CALL(chmod, "s", 0640) == 0);
	CALL(lchmod, "s", 0600);
	NEED(CALL(fchmod, fd, 0600) == 0);
	NEED(CALL(fchmodat, here, "s", 0640, 0) == 0);
	NEED(CALL(chown, "s", (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(lchown, "s", (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(fchown, fd, (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(fchownat, here, "s", (uid_t)-1, (gid_t)-1, 0) == 0);
	NEED(CALL(utime, "s", NULL) == 0);
	NEED(CALL(utimes, "s", NULL) == 0);
	NEED(CALL(lutimes, "s", NULL) == 0);
	NEED(CALL(futimes, fd, NULL) == 0);
	NEED(CALL(futimesat, here, "s", NULL) == 0);
	NEED(CALL(futimens, fd, NULL) == 0);
	NEED(CALL(utimensat, here, "s", NULL, 0) == 0);
	NEED(CALL(close, fd) == 0 && CALL(unlink, "s") == 0);
}

/* Not every file system has attributes. */
static void use_attributes(void)
{
	const char *name = "user.counted";
	char text[100];
	int fd = make_file("x");

	CALL(setxattr, "x", name, "1", 1, 0);
	CALL(lsetxattr, "x", name, "1", 1, 0);
	CALL(fsetxattr, fd, name, "1", 1, 0);
	CALL(getxattr, "x", name, text, sizeof(text));
	CALL(lgetxattr, "x", name, text, sizeof(text));
	CALL(fgetxattr, fd, name, text, sizeof(text));
	CALL(listxattr, "x", text, sizeof(text));
	CALL(llistxattr, "x", text, sizeof(text));
	CALL(flistxattr, fd, text, sizeof(text));
	CALL(removexattr, "x", name);
	NEED(CALL(lremovexattr, "x", name) == -1);
	NEED(CALL(fremovexattr, fd, name) == -1);
	NEED(CALL(close, fd) == 0 && CALL(unlink, "x") == 0);
}

/* -- Directories ---------------------------------------------------------------------------------- */

static int seen;

static int see(const char *path, const struct stat *status, int flag)
{
	(void)path, (void)status, (void)flag;
	seen++;
	return 0;
}

static int see_more(const char *path, const struct stat *status, int flag, struct FTW *at)
{
	(void)at;
	return see(path, status, flag);
}

static void read_directory(DIR *directory)
{
	struct dirent *entry, *result, room;
	long first;

	NEED(directory);
	first = CALL(telldir, directory);
	/* An end leaves errno alone. */
	errno = ECHILD;
	do {
		entry = CALL(readdir, directory);
	} while (entry);
	NEED(errno == ECHILD);
	CALL(seekdir, directory, first);
	CALL(rewinddir, directory);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	NEED(CALL(readdir_r, directory, &room, &result) == 0 && result);
#pragma GCC diagnostic pop
	NEED(CALL(closedir, directory) == 0);
}

static void walk(void)
{
	char directory[] = "dir", *roots[] = {directory, NULL};
	glob_t found;
	FTSENT *entry;
	FTS *tree;

	seen = 0;
	NEED(CALL(ftw, "dir", see, 4) == 0);
	NEED(CALL(nftw, "dir", see_more, 4, FTW_PHYS) == 0 && seen == 4);
	NEED(CALL(glob, "dir/*", 0, NULL, &found) == 0 && found.gl_pathc == 1);
	globfree(&found);
	NEED(CALL(glob, "none/*", 0, NULL, &found) == GLOB_NOMATCH);
	tree = CALL(fts_open, roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	NEED(tree);
	entry = CALL(fts_read, tree);
	NEED(entry && CALL(fts_children, tree, 0) && CALL(fts_set, tree, entry, FTS_SKIP) == 0);
	while (CALL(fts_read, tree))
		;
	NEED(CALL(fts_close, tree) == 0);
}

static void use_directories(void)
{
	char template[] = "temporary.XXXXXX", path[PATH_MAX], bytes[4096], *name;
	struct dirent **list;
	off_t base = 0;
	int fd, n;

	NEED(CALL(mkdir, "dir", 0700) == 0);
	NEED(CALL(mkdir, "dir", 0700) == -1 && errno == EEXIST);
	NEED(CALL(mkdirat, here, "dir/inner", 0700) == 0);
	NEED(CALL(mkdtemp, template) == template && CALL(rmdir, template) == 0);
	read_directory(CALL(opendir, "dir"));
	NEED(CALL(opendir, "none") == NULL && errno == ENOENT);
	fd = CALL(open, "dir", O_RDONLY | O_DIRECTORY);
	NEED(fd >= 0 && CALL(getdents64, fd, bytes, sizeof(bytes)) > 0);
	NEED(CALL(getdirentries, fd, bytes, sizeof(bytes), &base) == 0);
	read_directory(CALL(fdopendir, fd));
	n = CALL(scandir, "dir", &list, NULL, alphasort);
	NEED(n == 3);
	while (n)
		free(list[--n]);
	free(list);
	n = CALL(scandirat, here, "dir", &list, NULL, NULL);
	NEED(n == 3);
	while (n)
		free(list[--n]);
	free(list);
	walk();
	fd = CALL(open, ".", O_RDONLY | O_DIRECTORY);
	NEED(fd >= 0 && CALL(chdir, "dir") == 0);
	NEED(CALL(getcwd, path, sizeof(path)) == path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	NEED(CALL(getwd, path) == path);
#pragma GCC diagnostic pop
	name = CALL(get_current_dir_name);
	NEED(name && !strcmp(name, path));
	free(name);
	NEED(CALL(fchdir, fd) == 0 && CALL(close, fd) == 0);
	NEED(CALL(rmdir, "dir/inner") == 0 && CALL(rmdir, "dir") == 0);
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 1;

	for (i = 0; i < rounds; i++) {
		use_names();
		use_special_names();
		use_temporary_names();
		use_status();
		use_attributes();
		use_directories();
	}
	print_counts();
	return 0;
}
