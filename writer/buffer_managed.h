/* What the files of a managed buffer share: the functions of the storage, and a rule.
 *
 * The rule says what counts while the shared memory moves to the provider's own file (buffer_leave.c). The
 * provider may be killed at any moment of that. Then the manager's heir, which has the memory, goes on in the
 * file (tools/manager/heir_moves.c). docs/manager.md says why each record is there once.
 *
 * Each word that is to move has a value in the file at first that nobody else stores: the word is open. Then
 * the file is mapped in the memory's place: from that moment on nobody stores to the memory, and what threads
 * store closes a word. So there is one rule: a word of the file counts unless it is open, and then that of
 * the memory does. Whoever moves it closes it, in one step. It makes no difference who does that, and how
 * often it is tried. */
#ifndef FXT_BUFFER_MANAGED_H
#define FXT_BUFFER_MANAGED_H

#include "buffer.h"

extern const struct fxt_storage_ops fxt_managed_ops __attribute__((visibility("hidden")));

/* Counts what a ring has overwritten of chunks that its manager was saving when it was killed
 * (buffer_retract.c). The process leaves its manager. */
void fxt_managed_count_taken_in_vain(struct fxt_buffer *buffer);

/* The open word of a chunk: a filler up to the chunk's last word, so that a chunk that begins with it has no
 * records; with bits, "moving", that no other filler has, and which are no time, text or number of a
 * program. */
#define FXT_MOVING ((FXT_RECORD_METADATA | UINT64_C(4095) << 4 | (uint64_t)FXT_METADATA_FILLER << 16) | \
		    UINT64_C(0x6d6f76696e67) << 20)

/* An open sum has this bit. Threads add to it at any time, and the memory's sum is added when it closes. */
#define FXT_MOVING_SUM (UINT64_C(1) << 63)

/* Returns what counts of a chunk's word. */
static inline uint64_t fxt_moving_word(uint64_t file, uint64_t memory)
{
	return file == FXT_MOVING ? memory : file;
}

/* Returns the open word number `i` of the counts of losses: they are as if nothing had been counted. */
static inline uint64_t fxt_moving_open_count(size_t i)
{
	if (i % FXT_COUNTER_WORDS == FXT_COUNTER_SUM)
		return FXT_MOVING_SUM;
	return i % FXT_COUNTER_WORDS ? 0 : fxt_filler(FXT_COUNTER_WORDS);
}

/* Returns what counts of word number `i` of the counts of losses. */
static inline uint64_t fxt_moving_count(size_t i, uint64_t file, uint64_t memory)
{
	if (i % FXT_COUNTER_WORDS == FXT_COUNTER_SUM)
		return file & FXT_MOVING_SUM ? (file ^ FXT_MOVING_SUM) + memory : file;
	return file == fxt_moving_open_count(i) ? memory : file;
}

/* Returns whether a chunk moves, by its entry in the table after the provider has withdrawn it. What a stream
 * has left free has no records, or such as the archive has, and nobody takes it again. */
static inline bool fxt_moving_has(uint32_t entry, enum fxt_buffering_mode mode)
{
	return mode != FXT_BUFFERING_STREAMING || fxt_managed_state_of(entry) != FXT_MANAGED_FREEING;
}

#endif
