/* This is the buffer of one process: a trace file that is mapped into the process and valid at every
 * instant. It is a storage: the functions that the emission path calls are in storage.h, and this header
 * has those that make, save, copy, rewrite and give up the file.
 *
 *   [ durable area | chunk 0 | chunk 1 | ... ]
 *
 * The durable area holds what must never be lost or overwritten. It is a row of regions of 4095 words. Each
 * region consists of records, and of one filler from their end to the region's end.
 *
 * A chunk is 4096 words. Its last word is always a filler of one word, and one filler spans the rest from
 * wherever its records end. So a chunk is well formed between any two stores (lane.h says how records are
 * appended), and a copy that reads the file from front to back while it is being written never loses step.
 *
 * The modes are those of the Fuchsia trace engine:
 *   oneshot    Chunks are handed out until the file has its full size; then the buffer is full.
 *   circular   As oneshot, but then the oldest chunk that no thread holds is handed out again.
 *   streaming  As oneshot, but a window is unmapped when all its chunks are finished.
 *
 * Growth: the file grows with its use, by a few chunks at a time, and is mapped by windows of 4 MiB, so a
 * short process leaves a small file in every mode. Growth keeps the file valid: one pwritev appends whole
 * pages, each of which begins with a filler that spans the page, and the kernel extends the file page by
 * page, never by part of a page. Only then are the pages joined to chunks. This is also three times cheaper
 * than touching pages of a hole, because the kernel takes large folios for a large write.
 *
 * In memory: where the file system may fail a store to a mapping (because it copies on write, or is on
 * another machine), and where the user asks for it, all this is private memory of the process. A chunk is
 * written to the file when it is finished, and the rest by fxt_buffer_save(). A process that is killed
 * loses what was not saved, but no store of the agent kills it.
 *
 * Managed: a manager (provider.h) may save the buffer. Then there is no file: the buffer has its full size
 * from the start, in memory that the manager maps too (buffer_managed.c). A streaming buffer hands a chunk
 * out again once the manager has saved it. fd is the connection to the manager.
 *
 * Cut: somebody may make the file shorter while it is mapped. Everything that was mapped from there on
 * becomes private memory (buffer_cut.c), and no chunk is handed out any more: failure() is -ESTALE.
 *
 * Errors are returned as negative errno. Nothing here allocates from the heap or changes errno. Every
 * function may be called from any thread and from a signal handler, unless its comment says otherwise.
 */
#ifndef FXT_BUFFER_H
#define FXT_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fxt_format.h"
#include "lock.h"
#include "provider.h"
#include "ring.h"
#include "storage.h"

enum {
	FXT_WINDOW_CHUNKS = 128,
	FXT_WINDOW_BYTES = FXT_WINDOW_CHUNKS * FXT_CHUNK_BYTES,
	FXT_DURABLE_MIN_BYTES = 256 << 10,
	FXT_DURABLE_MAX_BYTES = 512 << 10,
	FXT_BUFFER_MIN_BYTES = 1 << 20,
	FXT_PATH_BYTES = 4096,
	FXT_FREE_PAGES_MAX = 1 << 16,   /* of each size; further ones are lost when they are given back */
	/* The count of a cause of losses takes so many words; threads add to the one with this number if it
	 * is the count of the whole process. */
	FXT_COUNTER_WORDS = 8,
	FXT_COUNTER_SUM = 5,
	/* The counts of what a ring has overwritten: one is that of whoever counts just now, and the last is
	 * that of all who find the others in use. */
	FXT_OVERWRITTEN_ROWS = 17,
};

enum fxt_mode { FXT_ONESHOT, FXT_CIRCULAR, FXT_STREAMING };

struct fxt_buffer_config {
	enum fxt_mode mode;
	/* the file's size, in streaming mode its upper limit; at least FXT_BUFFER_MIN_BYTES */
	uint64_t bytes;
	const char *path;               /* an absolute path; a number is put into it if the name is taken */
	/* Writes the words that the file begins with: magic number, provider, initialization, strings. There
	 * is room for FXT_RECORD_MAX_WORDS. Returns how many it has written. It may run in a task of its own
	 * (apart.h). */
	size_t (*write_prologue)(uint64_t *out);
	size_t prologue_bytes;          /* about so many; their pages are made at once */
	bool in_memory;                 /* the buffer is in memory whatever the file system is */
	/* how many words at the prologue's end are rewritten in place: rows of FXT_COUNTER_WORDS */
	size_t counters_words;
	/* The last FXT_OVERWRITTEN_ROWS of them count what a ring overwrites (buffer_retract.c), if this is
	 * not NULL: a count with the value and the number 0, and without its size in words. */
	const uint64_t *overwritten;
	/* managed, streaming: the upper limit of the file that takes the memory's place if the manager
	 * dies */
	uint64_t file_bytes;
	uint32_t session;               /* managed: the number of the manager's session */
	bool waits;                     /* managed: threads that find no room wait */
};

/* This is the past of a chunk: data about its earlier contents, for a thread that overwrites it or takes a
 * snapshot. */
struct fxt_chunk_past {
	uint64_t last_ns;               /* the time of the last event in the chunk when it was finished */
	uint32_t events;                /* how many events were in it then */
	uint32_t archived;              /* how many of them a manager had saved that is gone */
	/* how often the chunk was emptied; tells a snapshot that it was emptied while being read */
	atomic_uint turns;
	unsigned saved;                 /* the number of the last snapshot that has the chunk */
	/* in memory: the turn at which the chunk was finished and saved, so that the file has all of it; 0
	 * if it was not saved (under extend_lock) */
	unsigned saved_at;
	atomic_bool is_pages;           /* the chunk was divided into pages of slots, for good */
	/* the position, from 1, of this chunk among those of pages that the last snapshot has found; 0 if
	 * no snapshot has found it */
	uint32_t pages_number;
};

/* `saved_at` of a chunk that was saved in its first turn. */
#define FXT_IS_SAVED (1u << 31)

struct fxt_window {
	_Atomic(uint64_t *) base;       /* NULL if the window is not mapped yet, or not any more */
	/* how many of its chunks will not be written again; fxt_window_keep() lowers it for a moment */
	atomic_uint finished;
};

struct fxt_buffer {
	/* comes first, because a storage is cast to its buffer; this is all that the emission path knows of
	 * the buffer */
	struct fxt_storage storage;
	enum fxt_mode mode;
	bool in_memory;
	/* the file, or the connection to the manager: a high number, close-on-exec; checked by device and
	 * inode before each use; -1 if there is none */
	int fd;
	/* no number was free for `fd` that is out of the program's way; it is closed after use */
	bool is_in_the_way;
	dev_t device;
	ino_t inode;
	/* a task of its own works on the file (apart.h), so nobody sees what it opens (under extend_lock) */
	bool is_apart;
	uint64_t *durable;
	size_t durable_words;
	size_t durable_at;              /* the first word behind the last record (under durable_lock) */
	size_t durable_region_end;
	/* in memory: the file has the durable area up to this word (under extend_lock) */
	size_t durable_saved;
	/* in memory: 1 MiB is reserved behind the file's end for what is saved last (under extend_lock) */
	bool has_spare;
	size_t prologue_words;
	uint32_t limit;                 /* how many chunks the file may have */
	/* the next chunk that nobody has had yet; in a managed buffer it has a pass too (buffer_managed.c) */
	_Atomic uint64_t cursor;
	atomic_uint extended;           /* how many chunks the file has */
	/* why the file could not grow at the last attempt, a negative errno; 0 if it could */
	atomic_int failure;
	_Atomic uint64_t retry_ns;      /* there is no further attempt to grow before this time */
	/* one more than the bytes that somebody has left of the file; 0 if nobody has cut it */
	_Atomic uint64_t cut;
	struct fxt_window *windows;
	struct fxt_ring ring;           /* circular: the order in which chunks are overwritten */
	/* the past of each chunk; its holder writes it, and a snapshot writes the members about snapshots */
	struct fxt_chunk_past *past;
	/* how many snapshots were taken; protected by the lock of the caller that takes one */
	unsigned snapshots;
	/* the pages of slots that nobody has, and the small ones (under page_lock) */
	struct fxt_free_pages {
		uint64_t **list;
		uint32_t count;
	} free_pages, free_small_pages;
	/* what is left of a chunk, and of a page, that are divided into pages as these are needed; no words:
	 * nothing (under page_lock) */
	struct fxt_undivided {
		uint64_t *at;
		uint32_t words;
	} undivided_chunk, undivided_page;
	atomic_uint page_chunks;        /* how many chunks were divided into pages */
	uint64_t tail_offset;           /* the file's end after fxt_buffer_rewrite(); 0 before */
	/* the strings that were left out by fxt_buffer_rewrite(), for a later record that needs one */
	uint64_t *left_out;
	size_t left_out_words;
	/* the size of the private memory of the tables (windows, free pages, past, ring) */
	size_t memory_bytes;
	/* circular: the counts of what was overwritten (buffer_retract.c) */
	struct fxt_overwritten {
		uint64_t record[FXT_COUNTER_WORDS];     /* as in fxt_buffer_config; 0: nothing is counted */
		/* for each row but the last one, whose it is: one more than the chunk; its sum, and the next
		 * one, which counts that chunk too */
		_Atomic uint32_t owners[FXT_OVERWRITTEN_ROWS - 1];
		uint64_t sums[FXT_OVERWRITTEN_ROWS - 1], next_sums[FXT_OVERWRITTEN_ROWS - 1];
	} overwritten;
	/* managed: a manager saves the buffer; false for good from the moment on at which the process has
	 * left a manager that is gone. Threads may be about to do what is right only before that: what the
	 * members below describe stays in memory, and what may not happen any more is looked at again under
	 * extend_lock, or refused by the state of a chunk (buffer_leave.c). */
	atomic_bool managed;
	struct fxt_managed_header *header;      /* managed: what the manager sees */
	uint32_t managed_chunks;        /* managed: how many chunks the memory has */
	atomic_bool leaves;             /* managed: the process leaves its manager, or has left it */
	fxt_managed_entry *states;      /* managed: the states of the chunks, behind the header */
	fxt_taken_entry *taken;         /* managed: what the manager has taken of them */
	size_t front_bytes;             /* managed: the size of header and tables */
	atomic_uint leavers;            /* managed: how many threads are about to execute a program */
	/* managed, a stream: how many chunks with records its file may have if the manager dies */
	uint32_t file_chunks;
	atomic_uint saved_wraps;        /* managed: halves that were saved (changed under extend_lock) */
	atomic_uint asked_saves;        /* managed: `saves` of the header when a half was last to be saved */
	/* managed: the manager saves no further half, because these many bytes are all that may be recorded;
	 * 0: it does (under extend_lock) */
	_Atomic uint64_t full_bytes;
	bool is_all_saved;              /* managed: FXT_MANAGER_ALL_SAVED has come (under extend_lock) */
	/* managed: the first word of the manager's page (provider.h); NULL: it has none */
	const _Atomic uint32_t *manager_word;
	/* managed, streaming: the least length of a pass, which grows with the rate; when the present pass
	 * began; how many passes in turn have found no chunk (all under extend_lock) */
	uint32_t early_chunks, empty_passes;
	uint64_t pass_ns;
	bool waits;                     /* managed: as in fxt_buffer_config */
	/* managed: the connection is lost, but not the manager; since when the manager has given nothing back
	 * then (both under extend_lock) */
	bool is_deaf;
	uint64_t stuck_ns;
	atomic_bool is_kept;            /* managed: the manager is gone, and there can be no file */
	atomic_bool has_found;          /* managed: the present pass has found a chunk */
	_Atomic uint32_t seen_saves;    /* managed: header.saves when there was no room last */
	_Atomic uint64_t heard_ns;      /* managed: when the manager was last listened to */
	struct fxt_lock durable_lock, extend_lock, page_lock;
	char path[FXT_PATH_BYTES];
};

/* Creates the file (mode 0600, never through an existing name), and maps the durable area. The file gets
 * its name only when it is valid. Returns 0 or a negative errno. Only one thread of a process may call this
 * at a time, and not twice for one buffer without fxt_buffer_forget() in between. */
int fxt_buffer_create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config);

/* Notes the connection to the manager, a socket with a high number, which belongs to the buffer from then on,
 * and the first word of the manager's page, or NULL. Nothing else is in the buffer yet: see
 * fxt_buffer_forget(). Returns 0 or a negative errno. */
int fxt_buffer_connect(struct fxt_buffer *buffer, int connection, const _Atomic uint32_t *manager_word);

/* Makes the buffer in memory that a manager will save, after fxt_buffer_connect(): config->bytes is its size,
 * and config->path is what messages call it. Returns a descriptor of the memory for the manager, which the
 * caller closes, or a negative errno; the caller calls fxt_buffer_forget() then. As fxt_buffer_create(). */
int fxt_buffer_create_managed(struct fxt_buffer *buffer, const struct fxt_buffer_config *config);

/* Listens to the manager of a managed buffer, so that failure() is up to date, unless that was done within
 * the last millisecond before now_ns. failure() is -ESHUTDOWN when the manager wants no more records,
 * until fxt_managed_go_on(). */
void fxt_buffer_hear(struct fxt_buffer *buffer, uint64_t now_ns);

/* Prepares a managed buffer for another session of its manager, in the mode of that. Nobody records. */
void fxt_managed_begin(struct fxt_buffer *buffer, enum fxt_mode mode);

/* Hands out chunks again after the manager has stopped the trace. If `is_cleared`, the manager has cleared
 * what was recorded before. Nobody records. */
void fxt_managed_go_on(struct fxt_buffer *buffer, bool is_cleared);

/* Notes that the manager has saved a rolling buffer: FXT_MANAGER_BUFFER_SAVED with this wrap count. */
void fxt_managed_saved(struct fxt_buffer *buffer, uint32_t wraps);

/* Notes that FXT_MANAGER_ALL_SAVED has come. */
void fxt_managed_all_saved(struct fxt_buffer *buffer);

/* Gives a managed buffer whose manager is gone a file: `path`, or a numbered variant. From then on it is a
 * buffer in memory, which is saved into that file. What the manager has saved is not in the file, but for
 * what it was saving when it died. The caller has the only thread in fxt_buffer_create(), with signals
 * blocked. Returns 0 or a negative errno; then the buffer hands out no chunk any more. */
int fxt_buffer_leave_manager(struct fxt_buffer *buffer, const char *path);

/* Sends a packet to the manager. If there is no room for it, one of FXT_PROVIDER_ALERT is dropped, and any
 * other ends the connection: the manager has answered no request for long. */
void fxt_buffer_tell(struct fxt_buffer *buffer, struct fxt_packet packet);

/* Waits until the manager of a managed buffer has saved all that was recorded before, or wants nothing any
 * more, or is gone. Signals may interrupt the wait; they only delay it. Any context. */
void fxt_buffer_hand_over(struct fxt_buffer *buffer);

/* Tells the manager of a managed buffer that this process may send and hear nothing from here on, because
 * of what it is about to forbid itself (FXT_NO_TALK). Any context. */
void fxt_buffer_mute(struct fxt_buffer *buffer);

/* Notes whether the end of the connection will be the end of this process's records: it is about to execute
 * another program, or has failed to. */
void fxt_buffer_leaves(struct fxt_buffer *buffer, bool leaves);

/* Tells the manager of a managed buffer how many records have found no room. */
void fxt_buffer_tell_dropped(struct fxt_buffer *buffer, uint64_t records);

/* Replaces the file by one without fillers and without strings that nobody refers to, if at most
 * `max_bytes` are left then. The only thread of the process calls this, at exit. Chunks that were handed out
 * before belong to the old file, and nobody may write to them any more. Chunks that are taken later are
 * small and are appended to the new file. Returns false if nothing has changed. */
bool fxt_buffer_rewrite(struct fxt_buffer *buffer, uint64_t max_bytes);

/* Brings the file of a buffer in memory up to date, while other threads go on; a buffer that is mapped is its
 * file. This is called before anything that ends the process or replaces its memory. Returns 0, or the first
 * negative errno: then something is not in the file. */
int fxt_buffer_save(struct fxt_buffer *buffer);

/* Takes a snapshot: copies what a oneshot or circular buffer holds into a file of its own, without fillers
 * and valid by itself, while other threads go on. `path` has FXT_PATH_BYTES; a number is put into the name
 * if it is taken, and the name that was used is written there. The file gets its name when it is whole.
 * Events that are overwritten while it copies are not in it. Returns 0 or a negative errno. Only one thread
 * at a time may call this, with signals blocked and with none of the buffer's locks held. It makes a file,
 * so no thread may be in fxt_buffer_create() meanwhile. */
int fxt_buffer_snapshot(struct fxt_buffer *buffer, char *path);

/* Gives a oneshot or circular buffer its full size, as far as there is room. This is called before the
 * process forbids itself the system calls that growth needs. */
void fxt_buffer_reserve(struct fxt_buffer *buffer);

/* Adds to the stock of chunks that exist and that nobody has, if it is low. This is called before a thread
 * makes a child by vfork: the child takes chunks from the stock, but no lock, so it cannot add to it. Any
 * thread that may lock calls this, in any context; `now_ns` is as in take(). */
void fxt_buffer_grow_before_vfork(struct fxt_buffer *buffer, uint64_t now_ns);
/* Does this for a managed buffer: begins the next pass, if this one is at its end and the manager has saved
 * the other half. So the child finds chunks, and the manager saves what earlier children filled. The caller
 * holds extend_lock. */
void fxt_managed_before_vfork(struct fxt_buffer *buffer, uint64_t now_ns);
/* Returns whether the manager was asked to save a half, lives, and has not done it: then there may be chunks
 * without anybody's doing more. It may still be that the manager wants no more, and has said so. */
bool fxt_managed_is_saving(const struct fxt_buffer *buffer);

/* Cuts the room that nobody has used so far off the file. The file grows again when somebody needs it.
 * The only thread of the process calls this. */
void fxt_buffer_trim(struct fxt_buffer *buffer);

/* Unmaps what is left of the parent's buffer. This is called in the child of a fork, before it makes a
 * buffer of its own. */
void fxt_buffer_forget(struct fxt_buffer *buffer);

/* Turns the page at address `at` and everything behind it into private memory, because a thread has met a
 * page of one of our mappings that the file does not have any more. Returns false if the address is not
 * ours, or if the kernel has refused. Any context may call this. */
bool fxt_buffer_fault(struct fxt_buffer *buffer, uintptr_t at);
/* Returns whether somebody has cut the file. */
bool fxt_buffer_is_cut(const struct fxt_buffer *buffer);
/* Returns whether chunk `number` is not whole because somebody has cut the file. */
bool fxt_buffer_has_lost(const struct fxt_buffer *buffer, uint32_t number);
/* Looks at the file's size, and returns whether somebody has cut the file. If so, `*bytes` is how many
 * bytes were left, and the file is cut once more behind its last whole record, so that it is valid. Takes
 * extend_lock. */
bool fxt_buffer_find_cut(struct fxt_buffer *buffer, uint64_t *bytes);

/* These are the functions of this storage. They are also set in a struct fxt_buffer for which no file was
 * made yet. */
extern const struct fxt_storage_ops fxt_buffer_ops;

/* -- Shared by the files of the buffer --------------------------------------------------------- */

/* Implements retract() of storage.h. */
bool fxt_buffer_retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record,
			size_t words, uint64_t last);

/* Implement what storage.h has of these names, for all kinds of buffers. */
bool fxt_buffer_durable(struct fxt_storage *storage, const uint64_t *record, size_t words,
			size_t reserve_words);
uint64_t *fxt_buffer_take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			       struct fxt_chunk *taken);
void fxt_buffer_return_page(struct fxt_storage *storage, uint64_t *page, uint32_t words);

/* Where a chunk that is given up has its count: behind all that a lane puts there, because a lane leaves a
 * line of fillers at the end. */
enum { FXT_GIVEN_UP_AT = FXT_CHUNK_WORDS - FXT_COUNTER_WORDS };

/* Empties chunk `number`, which a ring has given to the caller. At each instruction its events are there, or
 * are counted. Returns how many have not been counted before. */
uint32_t fxt_buffer_give_up(struct fxt_buffer *buffer, uint32_t number);

/* Puts fillers in the place of those records of the durable area for which `is_over` returns true. */
__attribute__((cold)) void fxt_buffer_durable_retract(struct fxt_buffer *buffer,
						       bool (*is_over)(const uint64_t *record));

/* Returns how many events the counts of the buffer say were overwritten. No thread gives up a chunk. */
uint64_t fxt_buffer_overwritten(const struct fxt_buffer *buffer);
/* Implements clear() of storage.h. */
void fxt_buffer_clear(struct fxt_storage *storage, const struct fxt_chunk *chunk);

/* Makes the tables that are not in the file. Returns 0 or a negative errno. */
int fxt_buffer_make_tables(struct fxt_buffer *buffer);
/* Lays out the durable area, which is mapped: the prologue, and the filler behind it. */
void fxt_buffer_lay_prologue(struct fxt_buffer *buffer, const struct fxt_buffer_config *config);
/* Lays fillers over the regions of the durable area behind the one that is written to. */
void fxt_buffer_lay_regions(struct fxt_buffer *buffer);
/* Returns how many bytes the durable area has. */
uint64_t fxt_buffer_durable_bytes(const struct fxt_buffer_config *config);

/* These talk with the manager (buffer_talk.c). The caller holds extend_lock. The first two return whether the
 * manager wants nothing any more or is gone, and whether this process may talk with it. */
bool fxt_managed_is_over(const struct fxt_buffer *buffer);
/* Returns whether the manager is known to be gone, although the connection does not tell. */
bool fxt_managed_is_gone(const struct fxt_buffer *buffer);
bool fxt_managed_may_talk(struct fxt_buffer *buffer);
/* Reads and handles all packets that the manager has sent. */
void fxt_managed_hear_all(struct fxt_buffer *buffer);
/* Sends a packet, if this process has its connection. An alert that finds no room is dropped. */
void fxt_managed_say(struct fxt_buffer *buffer, struct fxt_packet packet);

/* Returns how many chunks may be divided into pages. */
uint32_t fxt_managed_page_chunks(struct fxt_buffer *buffer);
/* Notes, for the manager, that chunk `number` has been divided into pages. */
void fxt_managed_has_pages(struct fxt_buffer *buffer, uint32_t number);
/* Returns whether a thread holds the chunk of a managed buffer, so that the manager has not saved it. */
bool fxt_managed_is_held(const struct fxt_buffer *buffer, uint32_t number);

/* Makes a chunk or page of `words` words empty: a filler, and a last word that stays one. */
static inline void fxt_chunk_empty(uint64_t *base, size_t words)
{
	atomic_store_explicit((_Atomic uint64_t *)&base[words - 1], fxt_filler(1), memory_order_release);
	atomic_store_explicit((_Atomic uint64_t *)base, fxt_filler(words - 1), memory_order_release);
}

/* Implements after_fork() of storage.h. */
void fxt_buffer_after_fork(struct fxt_storage *storage, bool is_interrupted);

/* Returns how many chunks the windows have that so many chunks are in. */
static inline uint32_t fxt_whole_windows(uint32_t chunks)
{
	return (chunks + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS * FXT_WINDOW_CHUNKS;
}

/* Returns the address at which chunk `number`, which exists, is mapped. */
uint64_t *fxt_buffer_chunk(struct fxt_buffer *buffer, uint32_t number);
/* Returns the chunk's offset in the file, in bytes. */
static inline uint64_t fxt_buffer_chunk_offset(const struct fxt_buffer *buffer, uint32_t number)
{
	return buffer->durable_words * FXT_WORD_BYTES + (uint64_t)number * FXT_CHUNK_BYTES;
}
/* Notes that only `bytes` bytes are left of the file, and turns what is mapped behind them into private
 * memory. Returns false if the kernel refuses that. */
bool fxt_buffer_cut(struct fxt_buffer *buffer, uint64_t bytes);
/* Returns how many bytes the file has, unless somebody has cut it. */
uint64_t fxt_buffer_file_bytes(const struct fxt_buffer *buffer);
/* Keeps a window mapped until fxt_window_finish(), by counting one chunk more as in use. Returns false if
 * the window is gone or about to go. */
bool fxt_window_keep(struct fxt_window *window);
/* Counts one chunk of the window as finished. The last one unmaps the window. */
void fxt_window_finish(struct fxt_window *window);
/* Returns whether this is an event record of `words` words whose last word is `last`. */
bool fxt_is_event_of(const uint64_t *record, size_t words, uint64_t last);
/* Writes the durable area of a new file, for a buffer in memory. Returns 0 or a negative errno. */
int fxt_buffer_save_new(struct fxt_buffer *buffer);

/* Reserves the spare behind the file's end, if the file system can do that, for what is saved last. A file
 * system that copies on write needs new room even to write the counts of losses again, and may be full by
 * then. fxt_buffer_save() gives the spare up. */
void fxt_buffer_keep_spare(struct fxt_buffer *buffer);
/* Saves a finished chunk of a buffer in memory, and before it what was added to the durable area. Returns
 * 0 or a negative errno. Takes extend_lock. */
int fxt_buffer_save_chunk(struct fxt_buffer *buffer, uint32_t number);
/* Retracts a record from the file of a buffer in memory, where it stands at `offset`. If `is_read` is set,
 * `record` has the record already, and it need not be in the file; otherwise it is read from the file.
 * Returns false if the record stays in the file, or is not the one that was meant. Takes extend_lock. */
bool fxt_buffer_take_back_saved(struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words,
				uint64_t last, bool is_read);
/* Returns whether the file system of `fd` keeps room for pages that are mapped and were written once. */
bool fxt_file_promises(int fd);
/* Writes all the bytes at `offset`. Returns 0 or a negative errno. */
int fxt_file_write(int fd, uint64_t offset, const void *data, size_t bytes);
/* Makes chunks [extended, to) exist in the file and in memory. Returns 0 or a negative errno. The caller
 * holds extend_lock, or nobody else has the buffer. */
int fxt_buffer_grow(struct fxt_buffer *buffer, uint32_t to);
/* Grows the file until chunk `number` exists. Returns false if it cannot; failure() then says why. */
bool fxt_buffer_grow_for(struct fxt_buffer *buffer, uint32_t number, uint64_t now_ns);
/* Adds to the stock if it is low and no other thread does so, after chunk `number` was taken. */
void fxt_buffer_grow_ahead(struct fxt_buffer *buffer, uint32_t number, uint64_t now_ns);
/* Returns whether `fd` is our file, by device and inode. Notices when the file was cut. */
bool fxt_file_is_ours(struct fxt_buffer *buffer, int fd);
/* Calls fxt_buffer_grow() where the file may have to be opened by its path first. That is done apart if
 * other threads could see it. */
int fxt_file_grow(struct fxt_buffer *buffer, uint32_t to);
/* Returns whether buffer->fd is still our file, and the file is not cut. Reopens the file by its path if
 * the program has closed the descriptor and no other thread could see it opened. */
bool fxt_file_ready(struct fxt_buffer *buffer);
/* Opens a new file for `path` (FXT_PATH_BYTES). The file has no name where the file system allows that.
 * Otherwise its name is `path` or a numbered variant, which is written to `path`. Returns a descriptor or a
 * negative errno. */
int fxt_file_open(char *path, bool *nameless);
/* Gives a nameless file its name: `path` or a numbered variant, which is written to `path`. Returns 0 or a
 * negative errno. */
int fxt_file_publish(int fd, char *path);
/* Opens a file that gets its name when it is finished: without a name, or else under `path` with a suffix
 * (which must fit). Returns a descriptor or a negative errno. */
int fxt_file_open_hidden(const char *path, bool *nameless);
/* Gives a file from fxt_file_open_hidden() its name: `path` or a numbered variant, which is written to
 * `path`. Returns 0 or a negative errno. */
int fxt_file_reveal(int fd, char *path, bool nameless);
/* Gives a nameless file from fxt_file_open_hidden() the name with the suffix, and stores the name in `hidden`
 * (FXT_PATH_BYTES). Returns 0 or a negative errno. */
int fxt_file_hide(int fd, const char *path, bool nameless, char *hidden);
/* Removes a file from fxt_file_open_hidden() that gets no name. The descriptor stays open. */
void fxt_file_discard(const char *path, bool nameless);
/* Moves a descriptor out of the way of a program that counts on low numbers, or on as many descriptors as
 * its limit allows. Returns the new number, or `fd` if it cannot be moved. */
int fxt_file_move_high(int fd);
/* Duplicates a descriptor to a number out of the program's way: above the limit; or, where that cannot be, to
 * the highest number that is free, if that is above `above`; or far above `above`, where the limit is high.
 * Returns the copy, or a negative errno if there is none. */
int fxt_file_dup_high(int fd, int above);
/* Makes `fd` the buffer's, and moves it high. */
void fxt_file_take(struct fxt_buffer *buffer, int fd);
/* Ends the use of buffer->fd. If there was no number for it out of the program's way, the descriptor is
 * closed, and the file is opened again by its path when it is next needed. */
void fxt_file_settle(struct fxt_buffer *buffer);
/* These are the contents of a new chunk in the file, before anything is written to it. */
extern const uint64_t fxt_file_fresh_chunk[FXT_CHUNK_WORDS] __attribute__((visibility("hidden")));
/* Appends `pages` self-contained pages at `offset`, which must be the file's end. Returns 0 or a negative
 * errno. */
int fxt_file_append_pages(int fd, uint64_t offset, unsigned pages);

#endif
