/* The file that a manager writes: the records of all its providers, as they arrive. serve.c opens it and
 * client.c appends to it, from one thread.
 *
 * It is written by whole records, in blocks, so it is valid whenever the manager is killed; its last record
 * may be cut short then. Each provider has an id of its own in it, and a "Provider section record" stands
 * wherever the records of another provider follow. What providers say of providers is left out: the manager
 * knows which memory a record came from. Functions of C++ and Rust get the names of their source.
 */
#ifndef FXT_TOOLS_ARCHIVE_H
#define FXT_TOOLS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive_keep.h"
#include "archive_lost.h"
#include "tools/common/pack.h"

enum { FXT_ARCHIVE_MOST_WORDS = (1 << 20) / 8 };

struct fxt_archive {
	int fd;
	int final_fd;                   /* gets the whole file when it is closed; -1: `fd` is the file */
	bool is_given;                  /* the file was opened by somebody else: fxt_archive_take() */
	const char *path;               /* in messages too */
	bool packs;                     /* the file is compressed */
	struct fxt_pack *pack;          /* NULL: the file is not compressed */
	unsigned char *block;
	size_t used;                    /* bytes of the block */
	uint32_t provider;              /* whose section the last records are in; 0: nobody's */
	uint64_t bytes;                 /* in the file */
	uint64_t most_ahead;            /* so much more is reserved at once, at most; 0: the usual */
	uint64_t reserved;              /* bytes of the file that have space already; 0: none has */
	uint64_t events;                /* in all files so far, and the block */
	uint64_t earlier_bytes;         /* in the files before this one */
	uint64_t unwritten;             /* calls that the file system had no room for */
	uint64_t block_events;          /* events in the block */
	uint64_t provider_events;       /* that were appended: fxt_archive_append() */
	uint64_t damaged;               /* pieces of providers' memory whose framing was wrong */
	struct fxt_archive_keep *keep;  /* what is kept of a long run; NULL: all is, or it is rotated */
	bool has_clock;                 /* the file tells the time of day */
	bool has_turned;                /* there are files before this one, or what is needed of them */
	bool has_failed;                /* the user has been told that the file cannot be written */
	bool is_full;                   /* because there is no room, which there may be again */
	bool tells_lost; /* what is written tells what was lost */
	uint32_t block_provider;        /* whose records the block begins with */
	uint32_t written_provider;      /* whose section the last records in the file are in */
	struct fxt_archive_lost lost;   /* what was not written */
};

/* Copies the whole file `fd` to `final_fd`, where it is to be. Returns false with errno. */
bool fxt_archive_transfer(int fd, int final_fd);

/* Creates the file, which may not exist, readable and writable by its owner alone; compressed if `packs`.
 * Returns false after a message. */
bool fxt_archive_open(struct fxt_archive *a, const char *path, bool packs);

/* Does what fxt_archive_open() does, but the file is there already: `fd` is open for writing and empty, and
 * belongs to the archive if this succeeds. If it `is_deferred`, everything is written to a file without a
 * name first, and copied when the archive is closed. There is no rotation. Returns false with errno. */
bool fxt_archive_take(struct fxt_archive *a, int fd, bool is_deferred);

/* Names provider `id`, before its first records. `name` is cut and cleaned as the format wants it. */
void fxt_archive_name(struct fxt_archive *a, uint32_t id, const char *name, size_t bytes);

/* Appends the whole records that the `count` words begin with, but for fillers and metadata. There are at
 * most FXT_ARCHIVE_MOST_WORDS, and they must not change meanwhile. Of metadata the provider events are
 * written, with this provider's id. Stops at a record whose size is 0, too large for any
 * reader, or too large for the words that are left, and notes that as damage if `is_whole`. Returns how
 * many words lie in front of what comes behind the last record that was appended. */
size_t fxt_archive_append(struct fxt_archive *a, uint32_t id, const uint64_t *words, size_t count,
			  bool is_whole);

/* Appends the provider event that says that records of this provider were lost. */
void fxt_archive_tell_full(struct fxt_archive *a, uint32_t id);

/* Ends the file and goes on in a new one of the same name. The old one gets the number 1 in its name, the
 * one that had that number 2, and so on; the one that would get `count` is removed. The caller then has to
 * say the names of the providers and their strings again. If there can be no new file, nothing is saved
 * any more. */
void fxt_archive_rotate(struct fxt_archive *a, unsigned count);

/* Returns the name of the file with a number: serve.fxt.zst, serve.1.fxt.zst, ... The caller frees it. */
char *fxt_archive_numbered(const char *path, unsigned number);

/* Creates the file of the archive's name and begins it. Returns false after a message. */
bool fxt_archive_create(struct fxt_archive *a);

/* Writes the rest and closes the file; another one may be created. */
void fxt_archive_finish(struct fxt_archive *a);

/* Writes what is in the block to the file. */
void fxt_archive_flush(struct fxt_archive *a);

/* Returns whether a file that was full can be followed by another one, because there is room again. */
bool fxt_archive_has_room(const struct fxt_archive *a);

/* Goes on in a file that was full, if there is room again, and says in it what was lost. Returns whether it
 * does: then the caller has to say the names of the providers and their strings again. */
bool fxt_archive_resume(struct fxt_archive *a);

/* Says that saving goes on, if it had stopped. */
void fxt_archive_go_on(struct fxt_archive *a);

/* Writes the rest and closes the file. */
void fxt_archive_close(struct fxt_archive *a);

#endif
