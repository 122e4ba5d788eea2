/* This program makes a known number of calls on paths, on directories, and on the status and attributes of
 * files, and prints how many (counts.h).
 *
 *	count_files ROUNDS		works in the current directory, which stays empty
 *
 * Whether some calls succeed depends on the file system or the program's rights. They are only counted.
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

enum {
	MEMORY_NAME_MOST = NAME_MOST - 6,       /* the kernel writes "memfd:" in front of it */
	ROOT_MOST = PATH_MOST - 95,             /* leaves room for the paths of what is in the directory */
};

static const int here = AT_FDCWD;
/* The kernel takes NULL for a bad address. The compiler must not see it: the headers promise that no path is
 * NULL. */
static const char *volatile nowhere;

static int make_file(const char *name)
{
	int fd = CALL(open, path_to(name), O_RDWR | O_CREAT | O_EXCL, 0600);

	NEED(fd >= 0);
	return fd;
}

/* -- Names ---------------------------------------------------------------------------------------- */

static void use_names(void)
{
	char text[PATH_MAX], target[MIDDLE_MOST + 1], *path;
	ssize_t bytes;

	NEED(CALL(close, make_file("a")) == 0);
	NEED(CALL(access, path_to("a"), R_OK) == 0);
	NEED(CALL(access, path_to("none"), R_OK) == -1 && errno == ENOENT);
	NEED(CALL(access, nowhere, R_OK) == -1 && errno == EFAULT);
	NEED(CALL(faccessat, here, path_to("a"), R_OK, 0) == 0);
	NEED(CALL(eaccess, path_to("a"), R_OK) == 0);
	NEED(CALL(rename, path_to("a"), path_to("b")) == 0);
	NEED(CALL(rename, path_to("a"), path_to("b")) == -1 && errno == ENOENT);
	NEED(CALL(renameat, here, path_to("b"), here, path_to("a")) == 0);
	NEED(CALL(renameat2, here, path_to("a"), here, path_to("b"), 0) == 0);
	NEED(CALL(link, path_to("b"), path_to("a")) == 0);
	NEED(CALL(linkat, here, path_to("b"), here, path_to("c"), 0) == 0);
	/* Some file systems take no longer link than this. */
	bytes = snprintf(target, sizeof(target), "%s", path_within("a", MIDDLE_MOST));
	NEED(CALL(symlink, target, path_to("d")) == 0);
	NEED(CALL(symlinkat, target, here, path_to("e")) == 0);
	NEED(CALL(readlink, path_to("d"), text, sizeof(text)) == bytes &&
	     !memcmp(text, target, (size_t)bytes));
	NEED(CALL(readlinkat, here, path_to("e"), text, sizeof(text)) == bytes &&
	     !memcmp(text, target, (size_t)bytes));
	NEED(CALL(realpath, path_to("d"), text) == text);
	path = CALL(canonicalize_file_name, path_to("e"));
	NEED(path && !strcmp(path, text));
	free(path);
	NEED(CALL(realpath, path_to("none"), text) == NULL && errno == ENOENT);
	NEED(CALL(unlink, path_to("a")) == 0);
	NEED(CALL(unlink, path_to("a")) == -1 && errno == ENOENT);
	NEED(CALL(unlinkat, here, path_to("b"), 0) == 0);
	NEED(CALL(remove, path_to("c")) == 0 && CALL(remove, path_to("d")) == 0 &&
	     CALL(remove, path_to("e")) == 0);
}

static void use_special_names(void)
{
	char name[NAME_MOST + 1];
	struct {
		struct file_handle handle;
		char bytes[128];
	} handle = {.handle.handle_bytes = 128};
	int fd, id;

	NEED(CALL(mkfifo, path_to("fifo"), 0600) == 0);
	NEED(CALL(mkfifo, path_to("fifo"), 0600) == -1 && errno == EEXIST);
	NEED(CALL(mkfifoat, here, path_to("fifo2"), 0600) == 0);
	NEED(CALL(mknod, path_to("fifo3"), S_IFIFO | 0600, 0) == 0);
	NEED(CALL(mknodat, here, path_to("fifo4"), S_IFIFO | 0600, 0) == 0);
	NEED(CALL(unlink, path_to("fifo")) == 0 && CALL(unlink, path_to("fifo2")) == 0 &&
	     CALL(unlink, path_to("fifo3")) == 0 && CALL(unlink, path_to("fifo4")) == 0);
	NEED(CALL(chroot, path_to("none/none")) == -1);
	NEED(CALL(mount, path_to("none"), path_to("none/none"), random_word(NAME_MOST), random_below(2),
		  NULL) == -1);
	NEED(CALL(umount, path_to("none/none")) == -1);
	NEED(CALL(umount2, path_to("none/none"), 0) == -1);
	CALL(name_to_handle_at, here, path_to("."), &handle.handle, &id, 0);
	NEED(CALL(open_by_handle_at, -1, &handle.handle, O_RDONLY) == -1);
	fd = CALL(memfd_create, random_word(MEMORY_NAME_MOST), MFD_CLOEXEC);
	NEED(fd >= 0 && CALL(close, fd) == 0);
	snprintf(name, sizeof(name), "/count_files.%ld.%s", (long)getpid(), random_word(MIDDLE_MOST));
	fd = CALL(shm_open, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(fd >= 0 && CALL(close, fd) == 0);
	NEED(CALL(shm_unlink, name) == 0);
}

static void use_temporary_names(void)
{
	/* These are all the rooms there are: no other path may be asked for before the files are gone. */
	char *names[PATH_ROOMS] = {path_to("plain.XXXXXX"), path_to("flags.XXXXXX"),
				   path_to("suffix.XXXXXX.c"), path_to("both.XXXXXX.c")};
	int fds[4], i;

	fds[0] = CALL(mkstemp, names[0]);
	fds[1] = CALL(mkostemp, names[1], O_CLOEXEC);
	fds[2] = CALL(mkstemps, names[2], 2);
	fds[3] = CALL(mkostemps, names[3], 2, O_CLOEXEC);
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

	NEED(CALL(stat, path_to("s"), &status) == 0 && S_ISREG(status.st_mode));
	NEED(CALL(stat, path_to("none"), &status) == -1 && errno == ENOENT);
	NEED(CALL(lstat, path_to("s"), &status) == 0);
	NEED(CALL(fstatat, here, path_to("s"), &status, AT_SYMLINK_NOFOLLOW) == 0);
	NEED(CALL(statx, here, path_to("s"), 0, STATX_MODE, &more) == 0 && S_ISREG(more.stx_mode));
	NEED(CALL(statfs, path_to("."), &fs) == 0 && CALL(fstatfs, fd, &fs) == 0);
	NEED(CALL(statvfs, path_to("."), &vfs) == 0 && CALL(fstatvfs, fd, &vfs) == 0);
	NEED(CALL(chmod, path_to("s"), 0640) == 0);
	CALL(lchmod, path_to("s"), 0600);
	NEED(CALL(fchmod, fd, 0600) == 0);
	NEED(CALL(fchmodat, here, path_to("s"), 0640, 0) == 0);
	NEED(CALL(chown, path_to("s"), (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(lchown, path_to("s"), (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(fchown, fd, (uid_t)-1, (gid_t)-1) == 0);
	NEED(CALL(fchownat, here, path_to("s"), (uid_t)-1, (gid_t)-1, 0) == 0);
	NEED(CALL(utime, path_to("s"), NULL) == 0);
	NEED(CALL(utimes, path_to("s"), NULL) == 0);
	NEED(CALL(lutimes, path_to("s"), NULL) == 0);
	NEED(CALL(futimes, fd, NULL) == 0);
	NEED(CALL(futimesat, here, path_to("s"), NULL) == 0);
	NEED(CALL(futimens, fd, NULL) == 0);
	NEED(CALL(utimensat, here, path_to("s"), NULL, 0) == 0);
	NEED(CALL(close, fd) == 0 && CALL(unlink, path_to("s")) == 0);
}

/* Not every file system has attributes, so most results are not looked at. */
static void use_attributes(void)
{
	char name[NAME_MOST + 1], text[1000] = "";
	size_t bytes = random_length(sizeof(text));
	int fd = make_file("x");

	snprintf(name, sizeof(name), "user.%s", random_word(MIDDLE_MOST));
	CALL(setxattr, path_to("x"), name, text, bytes, 0);
	CALL(lsetxattr, path_to("x"), name, text, bytes, 0);
	CALL(fsetxattr, fd, name, text, bytes, 0);
	CALL(getxattr, path_to("x"), name, text, random_length(sizeof(text)));
	CALL(lgetxattr, path_to("x"), name, text, random_length(sizeof(text)));
	CALL(fgetxattr, fd, name, text, random_length(sizeof(text)));
	CALL(listxattr, path_to("x"), text, random_length(sizeof(text)));
	CALL(llistxattr, path_to("x"), text, random_length(sizeof(text)));
	CALL(flistxattr, fd, text, random_length(sizeof(text)));
	CALL(removexattr, path_to("x"), name);
	NEED(CALL(lremovexattr, path_to("x"), name) == -1);
	NEED(CALL(fremovexattr, fd, name) == -1);
	NEED(CALL(close, fd) == 0 && CALL(unlink, path_to("x")) == 0);
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
	/* The end of a directory leaves errno alone. */
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
	char *roots[2] = {NULL};
	glob_t found;
	FTSENT *entry;
	FTS *tree;

	seen = 0;
	NEED(CALL(ftw, path_within("dir", ROOT_MOST), see, 4) == 0);
	NEED(CALL(nftw, path_within("dir", ROOT_MOST), see_more, 4, FTW_PHYS) == 0 && seen == 4);
	NEED(CALL(glob, path_within("dir/*", ROOT_MOST), 0, NULL, &found) == 0 && found.gl_pathc == 1);
	globfree(&found);
	NEED(CALL(glob, path_within("none/*", ROOT_MOST), 0, NULL, &found) == GLOB_NOMATCH);
	roots[0] = path_within("dir", ROOT_MOST);
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
	char *template, path[PATH_MAX], bytes[4096], *name;
	struct dirent **list;
	off_t base = 0;
	int fd, n;

	NEED(CALL(mkdir, path_to("dir"), 0700) == 0);
	NEED(CALL(mkdir, path_to("dir"), 0700) == -1 && errno == EEXIST);
	NEED(CALL(mkdirat, here, path_to("dir/inner"), 0700) == 0);
	template = path_to("temporary.XXXXXX");
	NEED(CALL(mkdtemp, template) == template && CALL(rmdir, template) == 0);
	read_directory(CALL(opendir, path_to("dir")));
	NEED(CALL(opendir, path_to("none")) == NULL && errno == ENOENT);
	fd = CALL(open, path_to("dir"), O_RDONLY | O_DIRECTORY);
	NEED(fd >= 0 && CALL(getdents64, fd, bytes, sizeof(bytes)) > 0);
	NEED(CALL(getdirentries, fd, bytes, sizeof(bytes), &base) == 0);
	read_directory(CALL(fdopendir, fd));
	n = CALL(scandir, path_to("dir"), &list, NULL, alphasort);
	NEED(n == 3);
	while (n)
		free(list[--n]);
	free(list);
	n = CALL(scandirat, here, path_to("dir"), &list, NULL, NULL);
	NEED(n == 3);
	while (n)
		free(list[--n]);
	free(list);
	walk();
	fd = CALL(open, path_to("."), O_RDONLY | O_DIRECTORY);
	NEED(fd >= 0 && CALL(chdir, path_to("dir")) == 0);
	NEED(CALL(getcwd, path, sizeof(path)) == path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	NEED(CALL(getwd, path) == path);
#pragma GCC diagnostic pop
	name = CALL(get_current_dir_name);
	NEED(name && !strcmp(name, path));
	free(name);
	NEED(CALL(fchdir, fd) == 0 && CALL(close, fd) == 0);
	NEED(CALL(rmdir, path_to("dir/inner")) == 0 && CALL(rmdir, path_to("dir")) == 0);
}

static void use_all(void)
{
	use_names();
	use_special_names();
	use_temporary_names();
	use_status();
	use_attributes();
	use_directories();
}

int main(int argc, char **argv)
{
	random_seed(0);
	run_rounds(argc > 1 ? atol(argv[1]) : 1, use_all);
	return 0;
}
