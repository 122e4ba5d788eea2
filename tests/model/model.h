/* The model of the emission path (tests/model_emission): what its files share.
 *
 *	model_emission.c        chooses what happens: rounds, threads, handlers that interrupt anywhere, longjmp, forks
 *	records.c               random records by the real reserve and commit, and what each has to be
 *	forks.c                 children, and what they inherit
 *	storage.c               a storage of chunks between guard pages, for the agent to write to
 *	check.c                 compares what is there in the end with what the model knows
 *
 * Each record has an identity, from which alone its whole content follows (fxt_model_event()). What became of each is noted in
 * memory, as the real code said it; the comparison is exact.
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
	MODEL_DEPTH = 9,                /* handlers that nest; the agent has lanes for 6 */
	MODEL_ACTIVE = 64,              /* records being written at once by a thread and the handlers in it */
	MODEL_ANCESTORS = 16,
	MODEL_TEXTS = 4,
	MODEL_TEXT_BYTES = 4095,
	MODEL_LIFETIMES = 32,           /* that last at once */
	MODEL_LIFETIME_WORDS = UINT16_MAX,      /* in place of a raw record's: it is a lifetime */
};

/* What has become of a record. */
enum model_fate {
	MODEL_NONE,
	MODEL_STARTED,
	MODEL_WRITTEN,                  /* the agent gave it room, and it was committed */
	MODEL_REFUSED,                  /* the agent gave it none: it is dropped, or filtered */
	MODEL_ABANDONED,                /* left by longjmp: written or dropped; or a lifetime that is about to end */
	MODEL_ENDED,                    /* of a lifetime: its begin and its end are there */
};

enum model_kind { MODEL_EVENT, MODEL_QUICK, MODEL_BLOCKING, MODEL_RAW, MODEL_LIFETIME, MODEL_KINDS };

/* Of the metadata type of raw records, which readers step over; it is not that of a filler. */
enum { MODEL_METADATA = 14 };

/* 44 bits, which is what the header of a raw record has left. Never 0. */
static inline uint64_t model_id(unsigned process, unsigned thread, enum model_kind kind, unsigned sequence)
{
	return (uint64_t)process << 32 | (uint64_t)thread << 28 | (uint64_t)kind << 24 | sequence;
}

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

/* What a record holds, computed from its identity. */
struct model_event {
	unsigned numbers, texts;        /* arguments behind the identity */
	uint64_t number[3];
	size_t text_bytes[MODEL_TEXTS];
};

/* What one process's thread has written. Reached by one pointer: what was begun before a fork goes on with its parent's. */
struct model_life {
	unsigned process;
	_Atomic unsigned next;          /* sequence */
	_Atomic(uint8_t) fate[MODEL_SEQUENCE];  /* enum model_fate */
	uint64_t flow[MODEL_SEQUENCE];  /* the id of a lifetime in the trace */
	uint16_t raw_words[MODEL_SEQUENCE];     /* of a raw record; 0: it is a call */
};

struct model_worker {
	unsigned number;
	uint64_t random;
	volatile int depth;             /* of handlers */
	volatile int active_count;
	uint64_t active[MODEL_ACTIVE];
	volatile uint64_t steps_left;   /* until the handler acts */
	timer_t timer;
	sigjmp_buf loop;
	volatile bool may_jump, is_forking;
	_Atomic unsigned functions_entered, functions_left;
	struct model_life *volatile life;
};

struct model {
	uint64_t seed;
	unsigned process;               /* 1; children count on */
	unsigned ancestors;             /* how many: their interrupted records may be in this process's trace too */
	unsigned ancestor[MODEL_ANCESTORS];
	unsigned inherited;             /* calls that were in progress in the parent */
	unsigned threads;
	bool is_guarded;                /* the storage is storage.c's */
	bool is_starved;                /* a ring that has hardly more chunks than threads want */
	bool has_jumps, has_forks, has_handlers, has_steps;
	unsigned abandoned_calls;       /* that a longjmp left, records and functions */
	struct model_worker worker[MODEL_THREADS];
	_Atomic uint64_t lifetime[MODEL_LIFETIMES];     /* records that began one; whoever takes it out ends it. 0: none */
};

extern struct model model;
extern __thread struct model_worker *volatile model_self;

uint64_t model_random(uint64_t *state);
static inline uint64_t model_below(struct model_worker *worker, uint64_t bound)
{
	return model_random(&worker->random) % bound;
}

/* -- records.c ----------------------------------------------------------------------------------- */

void model_event_of(uint64_t id, struct model_event *event);
/* A lifetime's begin has one text at most. */
unsigned model_lifetime_texts(const struct model_event *event);
/* The text of argument `which` of a record. */
void model_text(uint64_t id, unsigned which, char *text, size_t bytes);
/* The word `at` of a raw record. */
uint64_t model_raw_word(uint64_t id, size_t at);
/* Writes one record of a random kind, or enters and leaves a function; `inside` is done where a call would be in progress. */
void model_write(struct model_worker *worker, void (*inside)(struct model_worker *));
/* As many calls are in progress as before, where no longjmp can leave any. */
void model_balanced(const struct fxt_thread *thread, const struct fxt_open *before);
/* All that is being written was left by longjmp. */
void model_abandon(struct model_worker *worker);
extern const char *const model_calls[];
extern const unsigned model_call_count;

/* -- forks.c ------------------------------------------------------------------------------------- */

/* What all processes of a run count together. */
struct model_shared {
	_Atomic unsigned processes;
	_Atomic uint64_t records, interruptions, jumps, forks, snapshots;
};

extern struct model_shared *model_shared;

/* Zeroed memory; `flags` is MAP_PRIVATE or MAP_SHARED. */
void *model_share(size_t bytes, int flags);
/* For a worker in this process. */
struct model_life *model_new_life(void);
/* Forks; the child returns from here, and the parent when the child has ended, which must have found nothing wrong. */
void model_fork(struct model_worker *worker);
/* A child that no handler of the C library sees, and so may not record anything. It ends in here. */
void model_fork_unseen(struct model_worker *worker);

/* -- storage.c ----------------------------------------------------------------------------------- */

/* A storage with room for so many chunks: a ring of them, or until they are used up. */
void model_storage_start(struct fxt_storage *storage_of_file, uint32_t chunks, bool is_ring, bool is_copied);
/* Calls `visit` with every chunk and page that was written to. */
void model_storage_walk(void (*visit)(const uint64_t *words, size_t count));

/* -- check.c ------------------------------------------------------------------------------------- */

/* Compares; prints what differs. Nobody writes any more. True: nothing does. */
bool model_check(void);
/* Every record of a snapshot is whole. */
bool model_check_snapshot(const char *path);
_Noreturn void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
