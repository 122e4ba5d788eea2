/* Lifetimes (asyncs) that were still open, and calls that were still in progress, when the program that began them was over. Used by merge,
 * which ends them there: viewers draw one without an end to the end of the whole trace.
 *
 * A program is over when its process has ended, or has executed another one. Of each part the begins that have no end yet are kept, of
 * lifetimes by their id and of calls by their thread (cut_calls.h); what is left when the part has been read waits for what other parts say of
 * the process: its parent may be read later. Ends that are made here carry the argument `ended_by`, so that a leak can still be told from what
 * was closed, and a call that hung from one that returned. What a program that executes another one hands on (descriptors) is the next one's,
 * and ends here as all else; children stay those of the process.
 *
 *	fxt_open_lifetimes_name(l, provider, id)                a part is that of the process for which the provider is named
 *	fxt_open_lifetimes_link(l, ...)                         each begin and end of a lifetime, in the order of the file
 *	fxt_open_lifetimes_call(l, ...)                         each begin and end of a call, the same
 *	fxt_open_lifetimes_seen(l, ...), _other(l, ...)         when its threads, and when other processes', are known to have lived
 *	fxt_open_lifetimes_executes(l, ...), _ended(l, ...)     what the part says of its process and of others
 *	fxt_open_lifetimes_keep(l, r, still_runs)               the part was read
 *	...
 *	fxt_open_lifetimes_close(l, put, context)               all parts were
 */
#ifndef FXT_TOOLS_OPEN_LIFETIMES_H
#define FXT_TOOLS_OPEN_LIFETIMES_H

#include "cut_calls.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_open_lifetime {
	uint64_t id, begin_ns, pid, tid;
	uint16_t category, name;        /* string indices */
	bool is_of_process;             /* it lasts beyond an exec */
};

/* A program and what it left open: one part of the archive. */
struct fxt_ended_program {
	uint64_t pid;
	uint32_t provider;              /* its id in the archive */
	uint64_t begin_ns;              /* of its earliest event */
	uint64_t executed_ns;           /* when its process executed another program, as it says itself; 0: not so */
	bool has_exited;                /* as it says itself */
	bool still_runs;                /* its process: what other parts may say of its end came after this one was read */
	struct fxt_open_lifetime *list;
	struct fxt_cut_call *calls;
	size_t count, call_count;
};

struct fxt_process_end {
	uint64_t pid, at_ns;
	bool by_signal;
};

/* All zero is the beginning. */
struct fxt_open_lifetimes {
	struct fxt_provider *own;       /* of the part at hand; NULL: whose it is is not known yet */
	struct fxt_ended_program part;  /* the same */
	struct fxt_map open;            /* the same: id -> offset of the begin plus 1; 0: only the end was seen yet */
	struct fxt_cut_calls in_progress;       /* the same */
	struct fxt_thread_moments others;
	struct fxt_ended_program *programs;
	size_t program_count, program_capacity;
	struct fxt_process_end *ends;
	size_t end_count, end_capacity;
};

/* The part at hand is that of the process for which this provider is named, which has another id in the archive. */
void fxt_open_lifetimes_name(struct fxt_open_lifetimes *l, struct fxt_provider *own, uint32_t id);

/* A begin or an end of that provider, which stands at this offset. */
void fxt_open_lifetimes_link(struct fxt_open_lifetimes *l, enum fxt_event_type type, uint64_t id, uint64_t offset);

/* A begin or an end of a call of that provider, decoded. */
void fxt_open_lifetimes_call(struct fxt_open_lifetimes *l, const struct fxt_record *rec);

/* Events of one of the process's own threads. */
void fxt_open_lifetimes_seen(struct fxt_open_lifetimes *l, uint32_t thread, const struct fxt_times *times);

/* A slice of a thread of another process, which ended then. */
void fxt_open_lifetimes_other(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t tid, uint64_t at_ns);

/* A thread of the process was about to become another program, or failed to. */
void fxt_open_lifetimes_executes(struct fxt_open_lifetimes *l, uint32_t thread, uint64_t at_ns, bool has_failed);

/* Some process ended. That may be said several times; the first end after a program began is its end. */
void fxt_open_lifetimes_ended(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t at_ns, bool by_signal);

/* The part was read by `r`: what it left open is kept. Returns when its process became another program, as it says itself, or 0. */
uint64_t fxt_open_lifetimes_keep(struct fxt_open_lifetimes *l, struct fxt_reader *r, bool still_runs);

/* Writes so many words, which are records of the provider; false: that failed. */
typedef bool fxt_open_lifetimes_put(void *context, uint64_t *words, size_t count);

/* Ends what can be ended. False when something could not be written. */
bool fxt_open_lifetimes_close(struct fxt_open_lifetimes *l, fxt_open_lifetimes_put *put, void *context);

void fxt_open_lifetimes_free(struct fxt_open_lifetimes *l);

#endif
