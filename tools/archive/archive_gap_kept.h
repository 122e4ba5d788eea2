/* A gap keeps some records of the files that went (archive_gap.h): archive_gap_take.c says which, and
 * archive_gap.c stores and bounds them. */
#ifndef FXT_TOOLS_ARCHIVE_GAP_KEPT_H
#define FXT_TOOLS_ARCHIVE_GAP_KEPT_H

#include "archive_gap.h"

/* The lowest byte of the first word of a key says what its record is about. */
enum { FXT_GAP_LIFETIME = 1, FXT_GAP_OBJECT, FXT_GAP_KERNEL_OBJECT, FXT_GAP_LOST };

/* Returns a copy of a record. The caller frees it. */
uint64_t *fxt_gap_copy(const uint64_t *words, size_t size);

/* Puts a copy of the record in the place of the one that was there. */
void fxt_gap_set(uint64_t **record, const uint64_t *words, size_t size);

/* Returns the index of the provider's program. */
size_t fxt_gap_program_of(struct fxt_archive_gap *g, uint32_t id);

/* Keeps a copy of a record of this program, under a key if `kind` is not 0. */
void fxt_gap_keep(struct fxt_archive_gap *g, size_t program, const uint64_t *words, size_t size,
		  uint64_t kind, uint64_t id);

/* Forgets the record at an index of `records`. */
void fxt_gap_forget(struct fxt_archive_gap *g, size_t at);

/* Bounds what is kept, after a file was taken. */
void fxt_gap_taken(struct fxt_archive_gap *g);

#endif
