/* fxt report: tells why threads waited for so long. A chain is a wait, the thread that ended it (the
 * waker), what the waker had waited for itself meanwhile, and so on. Chains come from the flows of category
 * agent: a flow begins in a slice `released` of the thread that let another go on, and ends within the call
 * in which that one waited.
 *
 * Chains that are alike (the same calls, for the same objects, by threads of the same names) are one
 * line of the report, which shows the longest of them. Memory is needed for the last few waits of each
 * thread, for the longest chain of each kind, and for flows that have begun and not ended.
 */
#ifndef FXT_TOOLS_REPORT_CHAINS_H
#define FXT_TOOLS_REPORT_CHAINS_H

#include <stdio.h>

#include "tools/waits/call_roles.h"
#include "report_threads.h"
#include "tools/waits/kept_time.h"
#include "tools/analysis/flights.h"
#include "tools/analysis/nesting.h"
#include "tools/analysis/objects.h"
#include "tools/common/map.h"
#include "tools/reading/extents.h"
#include "tools/reading/reader.h"
#include "tools/waits/wait_listener.h"

/* The calls and functions that a thread was in during a stretch of time, and at its end
 * (report_meanwhile.c). */
struct fxt_doing {
	uint32_t category, name;        /* symbols */
	uint64_t ns;                    /* time in the slice, without that in slices within it */
};

struct fxt_meanwhile {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	struct fxt_doing *list;         /* sorted: the longest first */
	size_t count, capacity;
	uint64_t untold_ns;             /* time in no slice at all */
	uint32_t call, function;        /* symbols: the innermost call and function at to_ns; 0: none */
	uint64_t call_start_ns, function_start_ns;
	struct fxt_nesting nesting;
	struct fxt_map by_name;
};

/* A wait that another thread ended. */
struct fxt_chain_link {
	/* the wait of the waker that explains this one; NULL: none does */
	struct fxt_chain_link *cause;
	size_t holders;                 /* other links, threads and chains that refer to it */
	unsigned length;                /* the length of the chain from here on */
	size_t followers;               /* links whose cause it is; with any, it begins no chain itself */
	uint32_t thread, waker;
	uint32_t name;                  /* symbol of the call */
	bool is_join;                   /* the thread waited for the waker's end */
	uint64_t start_ns, end_ns;
	uint64_t woken_ns;              /* when the waker let it go on */
	uint64_t likeness;              /* a hash that is the same for chains that are alike */
	uint64_t object;                /* the address that the call's first argument is, or 0 */
	uint64_t offset;                /* the place of the call's record */
	struct fxt_provider *provider;
	/* the work of the waker since its own wait, or this one, or the waker itself began */
	struct fxt_meanwhile meanwhile;
};

/* A stretch of time. */
struct fxt_stretch {
	uint64_t from_ns, to_ns;
};

enum { FXT_STRETCHES = 16 };

/* The chains that are alike. Some of them go on at the same time, as where many threads wait for one. So
 * total_ns is the time in which any of them went on, which is never longer than the trace. `stretches`
 * are those that a later chain may still overlap; the time before `told_ns` is in total_ns for good. */
struct fxt_chain {
	struct fxt_chain_link *longest;
	uint64_t count, total_ns, told_ns;
	struct fxt_stretch stretches[FXT_STRETCHES];
	unsigned stretch_count;
};

struct fxt_chains {
	struct fxt_chain *list;         /* sorted: those that went on longest first */
	size_t count, capacity;
	struct fxt_map by_likeness;
	/* Thread and waker -> how often the thread waited until this waker let it go on, and how long. Joins
	 * are not among them: `joined` has the threads whose ends others waited for. */
	struct fxt_map pairs, joined;
	struct fxt_chain_thread *threads;
	size_t thread_count, thread_capacity;
	/* These belong to the caller. */
	const struct fxt_kept_times *kept;      /* who was kept by the recording */
	const struct fxt_extents *extents;      /* all events */
	const struct fxt_wait_listener *listener;       /* NULL: nobody listens */
};

/* Takes a finished call, in the order of ends. It may have waited for so long; 0: it cannot have waited. */
void fxt_chains_call(struct fxt_chains *c, struct fxt_reader *r, const struct fxt_record *rec,
		     const struct fxt_role *role, uint64_t waited_ns);
/* Takes what let a thread go on, before or after the call in which it waited. Whoever waits for a thread that
 * is kept by the recording waits for that, and not for what the program does. */
void fxt_chains_cause(struct fxt_chains *c, struct fxt_reader *r, uint32_t thread,
		      const struct fxt_flight_cause *cause);
/* Makes and sorts the list. Nothing can be taken afterwards. `times` is not finished yet. */
void fxt_chains_finish(struct fxt_chains *c, struct fxt_reader *r, const struct fxt_thread_times *times);
void fxt_chains_print(const struct fxt_chains *c, const struct fxt_objects *objects, struct fxt_reader *r,
		      size_t top,
		      FILE *out);
void fxt_chains_free(struct fxt_chains *c);

/* Returns what a call waited for: the name of an object, its address, or the call's first argument; or
 * NULL. The caller frees it. */
char *fxt_chains_object(const struct fxt_chain_link *link, const struct fxt_objects *objects,
			struct fxt_reader *r);

/* Reads the extents of these threads once more, and sets what they did. The caller has set thread, from_ns
 * and to_ns. */
void fxt_meanwhile_find(struct fxt_reader *r, const struct fxt_extents *extents,
			struct fxt_meanwhile *const *list, size_t count);
void fxt_meanwhile_free(struct fxt_meanwhile *m);

#endif
