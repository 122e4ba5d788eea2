/* A file that records are appended to by way of a small memory: for a trace that is written anew, at exit or
 * as a snapshot. No allocation but one mapping, no errno; any context. */
#ifndef FXT_RECORD_FILE_H
#define FXT_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>

struct fxt_record_file {
	int fd;
	int error;                      /* the first that was met, negative errno; nothing is written after it */
	uint64_t offset;                /* in the file, of what the memory holds */
	size_t used;
	char *bytes;
};

/* Takes the memory; writing begins at `offset`. 0 or negative errno. */
int fxt_record_file_open(struct fxt_record_file *file, int fd, uint64_t offset);

/* Appends words, which a reader must not be able to see cut off: whole records. */
void fxt_record_file_put(struct fxt_record_file *file, const uint64_t *words, size_t count);

/* Room for `count` words (at most FXT_RECORD_MAX_WORDS) to be filled by the caller, who then says how many it
 * was. NULL after an error. */
uint64_t *fxt_record_file_room(struct fxt_record_file *file, size_t count);
void fxt_record_file_filled(struct fxt_record_file *file, size_t count);

/* Writes what is left. 0 or the first error. */
int fxt_record_file_flush(struct fxt_record_file *file);

/* Gives the memory back; the descriptor stays the caller's. */
void fxt_record_file_close(struct fxt_record_file *file);

#endif
