/* Events in the order of time, of a file that is not.
 *
 * A trace is chunks of threads, interleaved; within one thread events come in the order in which they
 * ended. So while the file is read forward, the stretches in which times do not fall are noted
 * (runs: begin, end, first time), and afterwards merged by a heap of those that overlap at the moment.
 * Memory is that of the runs, about one for every 32 KiB of trace, not that of the events.
 *
 *     while (fxt_reader_next(r, &rec))
 *             if (... wanted ...)
 *                     fxt_order_add(&order, &rec, key);
 *     fxt_order_begin(&order, r, key_of, context);
 *     while (fxt_order_next(&order, &rec))
 *             ...
 *     fxt_order_free(&order);
 */
#ifndef FXT_TOOLS_ORDER_H
#define FXT_TOOLS_ORDER_H

#include "reader.h"

/* As a time: that of the event before it or of the one after it in the file, whichever is earlier. */
enum { FXT_ORDER_WITH_LAST = 0 };

/* Whether an event is wanted, and the time in nanoseconds it counts at. Asked again for each event on the
 * way back, and must answer as it did when the event was added. */
typedef bool fxt_order_key(void *context, const struct fxt_record *rec, uint64_t *key_ns);

/* False for what the key would refuse, seen without decoding the record. */
typedef bool fxt_order_glance(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p);

struct fxt_run_of_events {
	uint64_t at, end;               /* offsets; `at` moves while merging */
	uint64_t key_ns;                /* of the event at `at` */
	struct fxt_provider *provider;
};

/* All zero is the beginning. */
struct fxt_order {
	struct fxt_run_of_events *runs;
	size_t count, capacity;
	uint64_t last_key_ns;           /* of the run that grows */
	uint64_t tail;                  /* offset of the first of the events at its end that have no time of their own; 0: none */
	size_t *heap;                   /* indices of runs, the earliest first */
	size_t heap_count, heap_capacity;
	size_t next;                    /* first run that is not in the heap yet */
	struct fxt_reader *reader;
	fxt_order_key *key;
	fxt_order_glance *glance;       /* may be NULL; set by who makes it */
	void *context;
};

/* Events have to be added in the order of the file. */
void fxt_order_add(struct fxt_order *o, const struct fxt_record *rec, uint64_t key_ns);
void fxt_order_begin(struct fxt_order *o, struct fxt_reader *r, fxt_order_key *key, void *context);
bool fxt_order_next(struct fxt_order *o, struct fxt_record *rec);
void fxt_order_free(struct fxt_order *o);

#endif
