/* This appends records to a file by way of a small memory. It serves to write a trace anew, at exit or as a
 * snapshot. It allocates nothing but one mapping and does not change errno. Any context may call these
 * functions, for a file that no other thread uses. */
#ifndef FXT_RECORD_FILE_H
#define FXT_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>

struct fxt_record_file {
	int fd;
	int error;                      /* the first error, a negative errno; nothing is written after it */
	uint64_t offset;                /* where in the file the words of the memory go */
	size_t used;
	char *bytes;
};

/* Takes the memory. Writing begins at `offset`, in bytes. Returns 0 or a negative errno. */
int fxt_record_file_open(struct fxt_record_file *file, int fd, uint64_t offset);

/* Appends `count` words. They must be whole records, because the file may end behind them for a while. */
void fxt_record_file_put(struct fxt_record_file *file, const uint64_t *words, size_t count);

/* fxt_record_file_room() returns room for `count` words (at most FXT_RECORD_MAX_WORDS), which the caller
 * fills; NULL after an error. fxt_record_file_filled() then says how many words the caller has stored
 * there. */
uint64_t *fxt_record_file_room(struct fxt_record_file *file, size_t count);
void fxt_record_file_filled(struct fxt_record_file *file, size_t count);

/* Writes what is in the memory to the file. Returns 0 or the first error. */
int fxt_record_file_flush(struct fxt_record_file *file);

/* Gives the memory back. The descriptor stays the caller's. */
void fxt_record_file_close(struct fxt_record_file *file);

#endif
