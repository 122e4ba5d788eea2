/* The buffer of one process: a trace file that is mapped into the process and valid at every instant. It is a
 * storage (storage.h): what the emission path asks for is there, and here is what is a file's own business.
 *
 *   [ durable area | chunk 0 | chunk 1 | ... ]
 *
 * The durable area holds what must never be lost or overwritten. It is a row of regions of 4095 words; each
 * is records, then one filler to the region's end.
 *
 * A chunk is 4096 words. Its last word is always a filler of one word, and from wherever its records end one
 * filler spans the rest, so a chunk is well formed between any two stores (see lane.h for appending), and a
 * copy that reads the file from front to back while it is being written never loses step.
 *
 * The modes, as the trace engine has them:
 *   oneshot    chunks are handed out until the file has its full size; then the buffer is full.
 *   circular   the same, but then the oldest chunk that no thread holds is handed out again.
 *   streaming  as oneshot, but a window is unmapped when all its chunks are finished.
 *
 * The file grows with its use, by steps of some chunks, each mapped with its window of 4 MiB, so a short
 * process leaves a small one. An oneshot or circular one may have its full size from the start (is_reserved):
 * then nothing is asked of the system afterwards, and that is paid at the start. Growth keeps the file valid:
 * what is appended are whole pages, each beginning with a filler that spans the page, by one pwritev; the
 * kernel extends the file page by page, never by part of one. Only then are the pages joined to chunks. This
 * is also three times cheaper than touching pages of a hole: the kernel takes large folios for a large write.
 *
 * In memory. Where the file system may fail a store to a mapping (it copies on write, or is on another
 * machine), and where it is asked for, all this is memory of the process, and the file is written to: a chunk
 * when it is finished, the rest by fxt_buffer_save(). A process that is killed loses what was not saved;
 * nothing kills it.
 *
 * Cut. Somebody may make the file shorter while it is mapped. What was mapped from there on becomes private
 * memory (buffer_cut.c), and no chunk is handed out any more: failure() is -ESTALE.
 *
 * Errors are returned as negative errno. Nothing here allocates from the heap or touches errno; every
 * function may be called from any thread and from a signal handler, except where it says otherwise.
 */
#ifndef FXT_BUFFER_H
#define FXT_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fxt_format.h"
#include "lock.h"
#include "ring.h"
#include "storage.h"

enum {
	FXT_WINDOW_CHUNKS = 128,
	FXT_WINDOW_BYTES = FXT_WINDOW_CHUNKS * FXT_CHUNK_BYTES,
	FXT_DURABLE_MIN_BYTES = 256 << 10,
	FXT_DURABLE_MAX_BYTES = 512 << 10,
	FXT_BUFFER_MIN_BYTES = 1 << 20,
	FXT_PATH_BYTES = 4096,
};

enum fxt_mode { FXT_ONESHOT, FXT_CIRCULAR, FXT_STREAMING };

struct fxt_buffer_config {
	enum fxt_mode mode;
	uint64_t bytes;                 /* the file's size, or in streaming mode its bound; >= FXT_BUFFER_MIN_BYTES */
	const char *path;               /* absolute; made unique by a number where it is taken */
	const uint64_t *prologue;       /* what the file begins with: magic, provider, initialization, strings */
	size_t prologue_words;
	bool in_memory;                 /* whatever the file system is */
	bool is_reserved;               /* oneshot, circular: has its full size from the start, if there is room */
};

/* Of a chunk, for whoever overwrites it or takes a snapshot. */
struct fxt_chunk_past {
	uint64_t last_ns;               /* the time of the last event in it, when it was finished */
	uint32_t events;                /* how many events it had then */
	atomic_uint turns;              /* how often it was emptied, for a snapshot that reads it meanwhile */
	unsigned saved;                 /* the last snapshot that has it */
	unsigned saved_at;              /* in memory: the file has what it held when it was finished at that turn; under extend_lock */
	atomic_bool is_pages;           /* it was made pages of calls in progress, for good */
	uint32_t pages_number;          /* the how many-th of these the last snapshot has met, from 1; 0: none has */
};

struct fxt_window {
	_Atomic(uint64_t *) base;       /* NULL: not mapped (yet, or any more) */
	atomic_uint finished;           /* chunks of it that will not be written again */
};

struct fxt_buffer {
	struct fxt_storage storage;     /* first: what the emission path knows of it */
	enum fxt_mode mode;
	bool in_memory;
	int fd;                         /* high, close-on-exec; checked by device and inode before each use; -1: none */
	dev_t device;
	ino_t inode;
	bool is_apart;                  /* a task of its own works on the file (apart.h): what it opens nobody sees; under extend_lock */
	uint64_t *durable;
	size_t durable_words;
	size_t durable_at;              /* first word after the last record; under durable_lock */
	size_t durable_region_end;
	size_t durable_saved;           /* in memory: up to where it is in the file; under extend_lock */
	bool has_spare;                 /* in memory: room is kept behind the file's end for what is saved last; under extend_lock */
	size_t prologue_words;
	uint32_t limit;                 /* chunks the file may have */
	_Atomic uint64_t cursor;        /* next chunk to hand out, but in circular mode */
	atomic_uint extended;           /* chunks the file has */
	atomic_int failure;             /* why it could not grow last time, negative errno; 0 */
	_Atomic uint64_t retry_ns;      /* not before this time */
	_Atomic uint64_t cut;           /* the bytes that somebody has left of the file, and one more; 0: nobody has cut it */
	struct fxt_window *windows;
	struct fxt_ring ring;           /* circular: which chunk is overwritten next */
	struct fxt_chunk_past *past;    /* of chunk i; whoever holds it writes it, and a snapshot what is its own */
	unsigned snapshots;             /* how many were taken; under the lock of who takes one */
	uint64_t **free_pages;          /* pages of open calls that were given back; under page_lock */
	uint32_t free_page_count;
	atomic_uint page_chunks;        /* chunks that were made pages */
	uint64_t tail_offset;           /* after fxt_buffer_rewrite(): where the file ends; 0 before */
	uint64_t *left_out;             /* strings that were left out then, for who needs one after all */
	size_t left_out_words;
	size_t memory_bytes;            /* of the private memory behind the tables */
	struct fxt_lock durable_lock, extend_lock, page_lock;
	char path[FXT_PATH_BYTES];
};

/* Creates the file (mode 0600, never through an existing name) and maps what it begins with. The file appears
 * under its name only when it is valid. By one thread at a time in a process; not twice for one buffer
 * without fxt_buffer_forget(). */
int fxt_buffer_create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config);

/* At exit, by the only thread there is: replaces the file by one without fillers and strings nobody refers
 * to, if those leave at most `max_bytes`. Chunks handed out before belong to the old file and are not to be
 * written any more; those taken later are small and are appended to the new one. False: nothing has
 * changed. */
bool fxt_buffer_rewrite(struct fxt_buffer *buffer, uint64_t max_bytes);

/* Of a buffer in memory: brings the file up to date, while other threads go on. Before whatever ends the
 * process or its memory. 0, or the first negative errno: something is not in the file. */
int fxt_buffer_save(struct fxt_buffer *buffer);

/* Copies what a oneshot or circular buffer holds into a file of its own for `path` (FXT_PATH_BYTES, made
 * unique by a number where it is taken, which is written there), without fillers and valid by itself, while
 * other threads go on. The file appears under its name when it is whole. By one thread at a time, with
 * signals blocked and none of the buffer's locks held; makes files: see fxt_buffer_create(). What is
 * overwritten while it copies is not in it. 0 or negative errno. */
int fxt_buffer_snapshot(struct fxt_buffer *buffer, char *path);

/* Gives an oneshot or circular buffer its full size, as far as it can have it: before the process forbids
 * itself the system calls that takes. */
void fxt_buffer_reserve(struct fxt_buffer *buffer);

/* Takes the room that nobody has used so far off the file; it grows again when somebody needs that. By the
 * only thread of the process. */
void fxt_buffer_trim(struct fxt_buffer *buffer);

/* In the child of a fork, before it makes a buffer of its own: unmaps what is left of the parent's. */
void fxt_buffer_forget(struct fxt_buffer *buffer);

/* A thread has met a page of a mapping of ours that the file does not have any more: it becomes private
 * memory, and so does all behind it. False: the address is not ours, or the kernel has refused. Any
 * context. */
bool fxt_buffer_fault(struct fxt_buffer *buffer, uintptr_t at);
/* Whether somebody has cut the file; and whether chunk `number` was not left whole. */
bool fxt_buffer_is_cut(const struct fxt_buffer *buffer);
bool fxt_buffer_has_lost(const struct fxt_buffer *buffer, uint32_t number);
/* Looks whether somebody has: the bytes that were left go to *bytes, and the file is cut to the last record
 * that is whole, so that it is valid. Takes extend_lock. */
bool fxt_buffer_find_cut(struct fxt_buffer *buffer, uint64_t *bytes);

/* What the emission path calls, for a struct fxt_buffer that is not made yet. */
extern const struct fxt_storage_ops fxt_buffer_ops;

/* -- Shared by the files of the buffer --------------------------------------------------------- */

/* storage.h: retract(). */
bool fxt_buffer_retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record, size_t words, uint64_t last);

/* storage.h: after_fork(). */
void fxt_buffer_after_fork(struct fxt_storage *storage, bool is_interrupted);

/* Where chunk `number`, which exists, is mapped. */
uint64_t *fxt_buffer_chunk(struct fxt_buffer *buffer, uint32_t number);
/* And where it is in the file. */
static inline uint64_t fxt_buffer_chunk_offset(const struct fxt_buffer *buffer, uint32_t number)
{
	return buffer->durable_words * FXT_WORD_BYTES + (uint64_t)number * FXT_CHUNK_BYTES;
}
/* The file has only so many bytes left. False: what was mapped of the others cannot be made private
 * memory. */
bool fxt_buffer_cut(struct fxt_buffer *buffer, uint64_t bytes);
/* How many bytes the file has, unless somebody has cut it. */
uint64_t fxt_buffer_file_bytes(const struct fxt_buffer *buffer);
/* One chunk more of a window is in use, for a moment, so that the window stays; until fxt_window_finish().
 * False: it is gone, or about to. */
bool fxt_window_keep(struct fxt_window *window);
/* One chunk less is; the last one takes the window away. */
void fxt_window_finish(struct fxt_window *window);
/* Whether this is an event of so many words, the last of which is `last`. */
bool fxt_is_event_of(const uint64_t *record, size_t words, uint64_t last);
/* In memory: the durable area of a new file; a chunk that is finished; and taking back a record from the
 * file, which `is_read` already or is read to `record`. */
int fxt_buffer_save_new(struct fxt_buffer *buffer);

/* Keeps some room, if the file system can, for what is saved last: one that copies on write needs new room
 * for what is in the file already, such as the counts of what is lost, and may be full by then.
 * fxt_buffer_save() gives it up. */
void fxt_buffer_keep_spare(struct fxt_buffer *buffer);
int fxt_buffer_save_chunk(struct fxt_buffer *buffer, uint32_t number);
bool fxt_buffer_take_back_saved(struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words, uint64_t last,
				bool is_read);
/* Whether the file system of a file keeps room for what is mapped and was written once. */
bool fxt_file_promises(int fd);
/* Writes all of it, or returns a negative errno. */
int fxt_file_write(int fd, uint64_t offset, const void *data, size_t bytes);
/* Makes chunks [extended, to) exist in the file and in memory. Under extend_lock, or while nobody else sees
 * it. */
int fxt_buffer_grow(struct fxt_buffer *buffer, uint32_t to);
/* Whether fd is our file, by device and inode. Notices if it is cut. */
bool fxt_file_is_ours(struct fxt_buffer *buffer, int fd);
/* fxt_buffer_grow() where the file may have to be opened by its path first; apart, if other threads could see
 * that. */
int fxt_file_grow(struct fxt_buffer *buffer, uint32_t to);
/* Whether buffer->fd is still our file, and not cut; reopens it by its path when the program has closed it
 * and no other thread could see that. */
bool fxt_file_ready(struct fxt_buffer *buffer);
/* Opens a new file for `path`, nameless where the file system has that; otherwise under `path` or a numbered
 * variant of it, which it writes to `path` (FXT_PATH_BYTES). A descriptor, or negative errno. */
int fxt_file_open(char *path, bool *nameless);
/* Gives a nameless file its name, `path` or a numbered variant of it, which it writes to `path`. */
int fxt_file_publish(int fd, char *path);
/* For a file that gets its name when it is finished: nameless, or else under `path` and a suffix (which must
 * fit). */
int fxt_file_open_hidden(const char *path, bool *nameless);
/* Names a file from fxt_file_open_hidden(): `path` or a numbered variant of it, which it writes to `path`. */
int fxt_file_reveal(int fd, char *path, bool nameless);
/* Or gives it up; the descriptor stays open. */
void fxt_file_discard(const char *path, bool nameless);
/* Moves a descriptor out of the way of a program that counts on low numbers, or on as many as its limit
 * allows. */
int fxt_file_move_high(int fd);
/* A copy of a descriptor out of the way, if possible at or above `least`. Negative errno: there is none. */
int fxt_file_dup_high(int fd, int least);
/* After use: where the limit leaves no place out of the way, the descriptor is closed, and the file opened
 * again by its path when it is next needed. */
void fxt_file_settle(struct fxt_buffer *buffer);
/* What chunks are in the file before anything is written to them. */
extern const uint64_t fxt_file_fresh_chunk[FXT_CHUNK_WORDS] __attribute__((visibility("hidden")));
/* Appends `pages` self-contained pages at `offset`, which must be the file's end. 0 or negative errno. */
int fxt_file_append_pages(int fd, uint64_t offset, unsigned pages);

#endif
