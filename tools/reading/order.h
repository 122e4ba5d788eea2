/* Goes through the events of a file in the order of time, which is not the order of the file.
 *
 * A trace consists of chunks of threads, interleaved. Within one thread events come in the order in which
 * they ended. So a first pass notes the stretches in which times do not fall (struct fxt_run_of_events).
 * Afterwards they are merged, by a heap of those that overlap at the moment. This costs memory for each
 * stretch, of which there is about one for every 32 KiB of trace, and none for events.
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

/* A key that stands for the time of the event before it or of the one after it in the file, whichever is
 * earlier. */
enum { FXT_ORDER_WITH_LAST = 0 };

/* Returns whether an event is wanted, and sets the time in nanoseconds at which it counts. It is asked
 * again for each event while merging, and must answer as it did when the event was added. */
typedef bool fxt_order_key(void *context, const struct fxt_record *rec, uint64_t *key_ns);

/* Returns false for an event that the key would refuse, if that can be seen without decoding the record. */
typedef bool fxt_order_glance(void *context, const struct fxt_reader *r, uint64_t offset,
			      const struct fxt_provider *p);

/* So many runs' next events are kept decoded. At one moment few runs overlap, one for each thread. */
enum { FXT_ORDER_DECODED = 32 };

struct fxt_run_of_events {
	uint64_t at, end;               /* offsets; `at` moves while merging */
	uint64_t key_ns;                /* the key of the event at `at` */
	struct fxt_provider *provider;
};

/* The stretches of the events that were added. When there are none, all members but `glance` are zero. */
struct fxt_order {
	struct fxt_run_of_events *runs;
	size_t count, capacity;
	uint64_t last_key_ns;           /* the last key of the run that grows */
	/* The last events of that run may have no time of their own: offset of the first of these; 0:
	 * none. */
	uint64_t tail;
	size_t *heap;                   /* indices of runs, the earliest first */
	size_t heap_count, heap_capacity;
	size_t next;                    /* first run that is not in the heap yet */
	struct fxt_record *decoded;     /* next events, by the number of their run modulo FXT_ORDER_DECODED */
	struct fxt_reader *reader;
	fxt_order_key *key;
	fxt_order_glance *glance;       /* the caller sets it; may be NULL */
	void *context;
};

/* Adds an event. All have to be added in the order of the file. */
void fxt_order_add(struct fxt_order *o, const struct fxt_record *rec, uint64_t key_ns);
/* Begins to merge, after all events were added and `r` has read to the end. */
void fxt_order_begin(struct fxt_order *o, struct fxt_reader *r, fxt_order_key *key, void *context);
/* Adds all events of the file that the key wants, after `r` has read to the end, and begins to merge. This is
 * for those who know only then that they need the order; it decodes the file once more. */
void fxt_order_gather(struct fxt_order *o, struct fxt_reader *r, fxt_order_key *key, void *context);
/* Decodes the next event in the order of keys. Returns false after the last. */
bool fxt_order_next(struct fxt_order *o, struct fxt_record *rec);
void fxt_order_free(struct fxt_order *o);

#endif
