/* The directory in which the traced processes leave their files until they are joined. Record makes it;
 * record and merge find the parts in it. */
#ifndef FXT_TOOLS_RUN_DIRECTORY_H
#define FXT_TOOLS_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The manager's socket in the directory, and the archive that it writes there. */
#define FXT_PARTS_SOCKET "manager"
#define FXT_PARTS_ARCHIVE "manager.fxt"
/* What the kernel told of the run: tools/witness/witness.h */
#define FXT_PARTS_WITNESS "kernel.fxt"

struct fxt_run_part {
	char *path;
	pid_t pid;
	uint64_t first_ns;      /* of its first event in the file; UINT64_MAX without events */
	bool alive;             /* its process still runs */
};

struct fxt_parts {
	struct fxt_run_part *list;
	size_t count, capacity;
	char **snapshots;       /* paths; the parts have their events too, so they are not joined */
	size_t snapshot_count, snapshot_capacity;
};

/* Returns whether a trace gets its name `path` by renaming, when it is complete. Devices, pipes and links are
 * opened and written to instead: /dev/stdout is a link, and has to stay one. */
bool fxt_parts_is_for_file(const char *path);

/* Makes a private directory beside `out`, or in TMPDIR if `out` is no path for a file (see above), and locks
 * it for as long as this process lives. If a killed fxt record has left a directory there, a message says so
 * unless `quiet` is set. Returns the path, which the caller frees, or NULL after a message. */
char *fxt_parts_directory(const char *out, bool quiet);

/* Returns whether the directory's name is one that fxt_parts_directory() gives. */
bool fxt_parts_made_by_record(const char *directory);

/* Locks the directory. Returns false if another process holds the lock. */
bool fxt_parts_lock(const char *directory);

/* Returns whether the directory that this process has locked was renamed or removed. *now is where it is, for
 * the caller to free; NULL: it was removed, or that cannot be read. */
bool fxt_parts_are_gone(const char *directory, char **now);

/* Finds the parts, in the order in which they began, the kernel's last; the file at `except` is none (NULL:
 * all are). It waits briefly for processes that are about to end. */
void fxt_parts_find(struct fxt_parts *parts, const char *directory, const char *except);

/* Renames a part, of `bytes` bytes, to which others are about to be appended. The new name has its length, so
 * that whoever finds the file after this process was killed knows which bytes are the part's own. Returns the
 * new name, which the caller frees, or NULL. */
char *fxt_parts_grow(const struct fxt_run_part *part, uint64_t bytes);
/* Makes a part of such a file again, as fxt_parts_find() does. Returns false after a message. */
bool fxt_parts_as_it_was(const char *path);

/* Returns whether the part is what the kernel told of a run. */
bool fxt_parts_is_of_kernel(const struct fxt_run_part *part);

/* Adds the file, in no order; fxt_parts_sort() sorts. Returns false after a message if the file is no
 * trace. */
bool fxt_parts_add(struct fxt_parts *parts, const char *path);
void fxt_parts_sort(struct fxt_parts *parts);

/* Removes the parts and the directory. Parts of processes that still run stay, because these write on; a
 * message says so. */
void fxt_parts_remove(const struct fxt_parts *parts, const char *directory);

/* Moves the snapshots beside `out` (to the current directory if that is a device or pipe) and says so.
 * They keep their names, with a number added where such a file exists. Returns false after a message if
 * some could not be moved. */
bool fxt_parts_move_snapshots(const struct fxt_parts *parts, const char *out);

/* Returns how many of the parts' processes still run, and sets *pid to one of them. */
size_t fxt_parts_alive(const struct fxt_parts *parts, pid_t *pid);

void fxt_parts_free(struct fxt_parts *parts);

#endif
