/* The directory in which the traced processes leave their files until they are joined. Used by record. */
#ifndef FXT_TOOLS_RUN_DIRECTORY_H
#define FXT_TOOLS_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fxt_part {
	char *path;
	pid_t pid;
	uint64_t first_ns;      /* of its first event in the file; UINT64_MAX without events */
	bool alive;             /* its process still runs */
};

struct fxt_parts {
	struct fxt_part *list;
	size_t count, capacity;
	char **snapshots;       /* paths; they are of what the parts have too, and not joined */
	size_t snapshot_count, snapshot_capacity;
};

/* Makes a private directory beside `out`, or in TMPDIR when `out` is a device or pipe, and locks it for as long as this process
 * lives. Says, unless `quiet`, when one that nobody holds is there. NULL after a message. */
char *fxt_parts_directory(const char *out, bool quiet);

/* Whether fxt_parts_directory() has made it, by its name. */
bool fxt_parts_made_by_record(const char *directory);

/* False when another process holds it. */
bool fxt_parts_lock(const char *directory);

/* Finds the parts, in the order in which they began. Processes that are about to end are waited for,
 * briefly. */
void fxt_parts_find(struct fxt_parts *parts, const char *directory);

/* Renames a part of so many bytes that others are about to be appended to, so that whoever finds it after this process was killed knows what is
 * its own; returns the name, to be freed, or NULL. fxt_parts_as_it_was() makes a part of it again, as fxt_parts_find() does; it is
 * false after a message. */
char *fxt_parts_grow(const struct fxt_part *part, uint64_t bytes);
bool fxt_parts_as_it_was(const char *path);

/* Adds the file; false after a message: it is no trace. The order is made by fxt_parts_sort(). */
bool fxt_parts_add(struct fxt_parts *parts, const char *path);
void fxt_parts_sort(struct fxt_parts *parts);

/* Removes the parts and the directory. Parts of processes that still run stay, as these write on; a message says so. */
void fxt_parts_remove(const struct fxt_parts *parts, const char *directory);

/* Moves the snapshots beside `out` (to the current directory where that is a device or pipe), under their own names or, where there
 * is such a file, numbered ones, and says so. False after a message: some stay where they are. */
bool fxt_parts_move_snapshots(const struct fxt_parts *parts, const char *out);

/* How many processes of them still run; *pid is one of them. */
size_t fxt_parts_alive(const struct fxt_parts *parts, pid_t *pid);

void fxt_parts_free(struct fxt_parts *parts);

#endif
