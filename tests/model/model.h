/* This header is shared by the files of the model of the emission path (tests/model_emission).
 *
 *   model_emission.c    chooses what happens: rounds, threads, interrupting handlers, longjmp, forks
 *   records.c           writes random records by the real reserve and commit, and knows what each has to hold
 *   forks.c             makes children, and knows what they inherit
 *   storage.c           gives the agent a storage of chunks between guard pages
 *   check.c             compares what is there in the end with what the model knows
 *
 * Each record has an identity, which alone determines its whole content (model_event_of()). What became of
 * each record is noted in memory, as the real code said it, so the comparison is exact.
 */
#ifndef FXT_MODEL_H
#define FXT_MODEL_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/base/agent.h"

enum {
	MODEL_THREADS = 4,
	MODEL_SEQUENCE = 1 << 17,       /* records of a thread at most */
	MODEL_DEPTH = 9,                /* handlers that nest; the agent has lanes for six levels */
	MODEL_ACTIVE = 64,              /* records that a thread and the handlers in it write at once */
	MODEL_ANCESTORS = 16,
	MODEL_TEXTS = 4,
	MODEL_TEXT_BYTES = 4095,
	MODEL_LIFETIMES = 32,           /* lifetimes that last at once */
	/* stands in raw_words[] for a lifetime, which is no raw record */
	MODEL_LIFETIME_WORDS = UINT16_MAX,
};

/* This is the fate of a record. MODEL_NONE: it was not begun. MODEL_STARTED: it is being written. */
enum model_fate {
	MODEL_NONE,
	MODEL_STARTED,
	MODEL_WRITTEN,                  /* the agent gave it room, and it was committed */
	MODEL_REFUSED,                  /* the agent gave it no room: it was dropped or filtered */
	/* a longjmp left it, so it was written or dropped; or it is a lifetime that is about to end */
	MODEL_ABANDONED,
	MODEL_ENDED,                    /* the begin and the end of the lifetime are there */
};

enum model_kind { MODEL_EVENT, MODEL_QUICK, MODEL_BLOCKING, MODEL_RAW, MODEL_LIFETIME, MODEL_KINDS };

/* This is the metadata type of raw records. Readers step over it, and it is not that of a filler. */
enum { MODEL_METADATA = 14 };

/* Returns the identity of a record. It has 44 bits, because the header of a raw record has no more left,
 * and it is never 0. */
static inline uint64_t model_id(unsigned process, unsigned thread, enum model_kind kind, unsigned sequence)
{
	return (uint64_t)process << 32 | (uint64_t)thread << 28 | (uint64_t)kind << 24 | sequence;
}

/* The four functions below take an identity apart. */
static inline unsigned model_process_of(uint64_t id)
{
	return (unsigned)(id >> 32);
}

static inline unsigned model_thread_of(uint64_t id)
{
	return id >> 28 & 15;
}

static inline enum model_kind model_kind_of(uint64_t id)
{
	return id >> 24 & 15;
}

static inline unsigned model_sequence_of(uint64_t id)
{
	return id & 0xffffff;
}

/* This is the content of a record, computed from its identity. */
struct model_event {
	unsigned numbers, texts;        /* how many arguments there are behind the identity */
	uint64_t number[3];
	size_t text_bytes[MODEL_TEXTS];
};

/* This describes the records that one thread of one process has written. A worker reaches it by one
 * pointer: a record that was begun before a fork goes on with its parent's identity. */
struct model_life {
	unsigned process;
	_Atomic unsigned next;          /* the sequence number of the next record */
	_Atomic(uint8_t) fate[MODEL_SEQUENCE];  /* an enum model_fate */
	uint64_t flow[MODEL_SEQUENCE];  /* the id in the trace of a lifetime */
	uint16_t raw_words[MODEL_SEQUENCE];     /* the size of a raw record; 0 for a call */
};

struct model_worker {
	unsigned number;
	uint64_t random;
	volatile int depth;             /* how many handlers are nested */
	volatile bool was_interrupted;
	volatile int active_count;
	uint64_t active[MODEL_ACTIVE];
	volatile uint64_t steps_left;   /* instructions until the handler acts */
	timer_t timer;
	sigjmp_buf loop;
	volatile bool may_jump, is_forking;
	_Atomic unsigned functions_entered, functions_left;
	struct model_life *volatile life;
};

struct model {
	uint64_t seed;
	unsigned process;               /* 1 for the first process of a round; children have higher numbers */
	/* how many ancestors: records that were interrupted in them may be in this process's trace too */
	unsigned ancestors;
	unsigned ancestor[MODEL_ANCESTORS];
	unsigned inherited;             /* calls that were in progress in the parent */
	unsigned threads;
	bool is_guarded;                /* the storage is that of storage.c */
	bool is_starved;                /* a ring that has hardly more chunks than the threads want */
	bool has_jumps, has_forks, has_handlers, has_steps;
	unsigned abandoned_calls;       /* records and functions that a longjmp left */
	struct model_worker worker[MODEL_THREADS];
	/* records that began a lifetime, 0 for none; the thread that takes one out ends the lifetime */
	_Atomic uint64_t lifetime[MODEL_LIFETIMES];
};

extern struct model model;
extern __thread struct model_worker *volatile model_self;

/* model_random() returns the next random number of a generator; model_below() returns one below `bound`. */
uint64_t model_random(uint64_t *state);
static inline uint64_t model_below(struct model_worker *worker, uint64_t bound)
{
	return model_random(&worker->random) % bound;
}

/* -- records.c ----------------------------------------------------------------------------------- */

/* Computes the content of a record from its identity. */
void model_event_of(uint64_t id, struct model_event *event);
/* Returns how many texts a lifetime's begin has, which is 0 or 1. */
unsigned model_lifetime_texts(const struct model_event *event);
/* Writes the text of argument `which` of a record. */
void model_text(uint64_t id, unsigned which, char *text, size_t bytes);
/* Returns the word `at` of a raw record. */
uint64_t model_raw_word(uint64_t id, size_t at);
/* Writes one record of a random kind, or enters and leaves a function. Calls `inside`, unless it is NULL,
 * where a call would be in progress. */
void model_write(struct model_worker *worker, void (*inside)(struct model_worker *));
/* Fails unless as many calls are in progress as before, where no longjmp can leave any. */
void model_balanced(const struct fxt_thread *thread, const struct fxt_in_progress *before);
/* Makes the code by which records have many different stacks. Where there is none, they have few. */
void model_stacks_start(void);
/* Notes that a longjmp leaves everything that the worker is writing. */
void model_abandon(struct model_worker *worker);
extern const char *const model_calls[];
extern const struct fxt_call_names model_names;
extern const unsigned model_call_count;

/* -- forks.c ------------------------------------------------------------------------------------- */

/* These counts are common to all processes of a run. */
struct model_shared {
	_Atomic unsigned processes;
	_Atomic uint64_t records, interruptions, jumps, forks, snapshots;
};

extern struct model_shared *model_shared;

/* Returns zeroed memory; `flags` is MAP_PRIVATE or MAP_SHARED. */
void *model_share(size_t bytes, int flags);
/* Makes the life of a worker in this process. */
struct model_life *model_new_life(void);
/* Called once in a process, before the agent asks the C library to be told of forks. */
void model_forks_start(void);
/* Forks. The child returns from here. The parent returns when the child has ended, and fails if the child
 * has found something wrong. */
void model_fork(struct model_worker *worker);
/* Makes a child that no fork handler of the C library sees, and which therefore may not record anything.
 * The child ends in here. */
void model_fork_unseen(struct model_worker *worker);

/* -- storage.c ----------------------------------------------------------------------------------- */

/* Makes the agent use a storage with room for so many chunks. They are a ring, or there is no room when
 * they are used up. */
void model_storage_start(struct fxt_storage *storage_of_file, uint32_t chunks, bool is_ring, bool is_copied);
/* Calls `visit` with every chunk and page that was written to. */
void model_storage_walk(void (*visit)(const uint64_t *words, size_t count));

/* -- check.c ------------------------------------------------------------------------------------- */

/* Compares the storage with the model and prints what differs. Nobody may write any more. Returns true if
 * nothing differs. */
bool model_check(void);
/* Checks that every record of a snapshot is whole. Returns true if so. */
bool model_check_snapshot(const char *path);
/* Prints the message with the seed and the process, and ends the process: with status 1, or with a
 * core file if MODEL_CORE is in the environment. */
_Noreturn void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
