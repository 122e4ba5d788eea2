/* Knows for how long threads were kept by the recording. A thread that waits for room for its
 * records does nothing, and neither does one that waits for it: for a lock that it holds, or for anything
 * that it has to do first. That time is a cost of recording, and none of a lock's or a chain's. report.c
 * hands events to these functions in the order of their ends, and charges a wait when all its arrows are
 * known.
 */
#ifndef FXT_TOOLS_KEPT_TIME_H
#define FXT_TOOLS_KEPT_TIME_H

#include "tools/analysis/flights.h"
#include "tools/reading/reader.h"

/* A wait that has ended, of which it is not known yet how long the recording was its reason. */
struct fxt_kept_wait {
	uint64_t offset; /* of its record */
	struct fxt_provider *provider; /* NULL: there is none */
	uint64_t start_ns, end_ns;
	uint64_t alone_ns; /* how long it took without what lies within it */
	uint64_t kept_ns; /* for how long of that time the thread was kept */
};

struct fxt_kept_thread; /* in report_kept.c */

/* At first all members are zero. */
struct fxt_kept_times {
	struct fxt_kept_thread *threads;
	size_t count, capacity;
};

/* Takes a wait for room for records. */
void fxt_kept_room(struct fxt_kept_times *k, const struct fxt_record *rec);

/* Returns the last wait of a thread, which is at the thread's next call: no arrow of it comes any more. */
struct fxt_kept_wait fxt_kept_next(struct fxt_kept_times *k, uint32_t thread);

/* Takes a wait of a thread. */
void fxt_kept_wait(struct fxt_kept_times *k, const struct fxt_reader *r, const struct fxt_record *rec,
		   uint64_t alone_ns);

/* Takes what let a thread go on: before or after its wait. */
void fxt_kept_cause(struct fxt_kept_times *k, uint32_t thread, const struct fxt_flight_cause *cause);

/* Returns for how long of this time the thread was kept. */
uint64_t fxt_kept_ns(const struct fxt_kept_times *k, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

void fxt_kept_free(struct fxt_kept_times *k);

#endif
