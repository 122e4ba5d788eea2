/* The files of the merge share this. merge.c begins, follows and ends an archive; merge_part.c takes the
 * records of one part of it; merge_copy.c writes them; merge_sums.c adds up what the parts have. */
#ifndef FXT_TOOLS_MERGE_INTERNAL_H
#define FXT_TOOLS_MERGE_INTERNAL_H

#include "merge.h"
#include "writer/fxt_format.h"

/* A block of the output. Any record that is not a large one finds room behind what is written at once. */
enum { FXT_MERGE_BUFFER_BYTES = (128 << 10) + FXT_RECORD_MAX_WORDS * FXT_WORD_BYTES };

/* -- Writing, merge_copy.c ------------------------------------------------------------------------------- */

/* Makes room for a record in the buffer. This and the following return false if the archive cannot be
 * written; errno says why. */
bool fxt_merge_make_room(struct fxt_merge *m);

/* Puts `count` bytes into the archive, unless the part is only counted. */
bool fxt_merge_put(struct fxt_merge *m, const void *bytes, uint64_t count);

/* Puts words that the encoder has made. They are turned from this machine's byte order into the file's, which
 * is little-endian. */
bool fxt_merge_put_words(struct fxt_merge *m, uint64_t *words, size_t count);

/* Returns the id in the archive of the provider with this id in the part. `ids` maps the ids of this part. */
uint32_t fxt_merge_unique_id(struct fxt_merge *m, struct fxt_map *ids, uint32_t id);

/* Puts the record as it is to be in the archive, or nothing if it does not belong there. */
bool fxt_merge_copy(struct fxt_merge *m, struct fxt_map *ids, const struct fxt_reader *r,
		    const struct fxt_record *rec);

/* -- One part, merge_part.c ------------------------------------------------------------------------------ */

/* The part that is being read. */
struct fxt_merged_part {
	struct fxt_merge *merge;
	const struct fxt_reader *r;
	struct fxt_overview overview;
	struct fxt_map ids;             /* ids of providers in the part -> ids in the archive */
	struct fxt_frame_part frames;
	struct fxt_skims skims;
	struct fxt_profile_part profile;
	struct fxt_record rec;
};

/* Begins a part, which `r` reads. The caller ends or frees it. */
struct fxt_merged_part *fxt_merged_part_begin(struct fxt_merge *m, const struct fxt_reader *r);

/* Takes as many records of known forms as there are, and the one that follows. Returns false at the end, if
 * the archive cannot be written (then *ok is false), or if the part has to be read again. */
bool fxt_merged_part_next(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part, bool *ok);

/* Adds the part to the sums, keeps what its programs left open, and frees it. */
void fxt_merged_part_end(struct fxt_merged_part *part, struct fxt_reader *r);

void fxt_merged_part_free(struct fxt_merged_part *part);

/* -- Sums, merge_sums.c ---------------------------------------------------------------------------------- */

/* Counts the processes, and what the kernel tells of threads. All parts were added. */
void fxt_merge_sum_processes(struct fxt_merge *m);

/* Adds what was found in a part to the sums, after that has been read. */
void fxt_merge_add(struct fxt_merge *m, struct fxt_overview *o, const struct fxt_reader *r);

/* Frees the memory of the sums. */
void fxt_merge_free_sums(struct fxt_merge *m);

#endif
