/* Arrows: flows of category agent, which begin where a thread let another one go on, and end within the call
 * in which that one waited. These functions pair the ends of arrows. fxt report and fxt top use them.
 */
#ifndef FXT_TOOLS_FLIGHTS_H
#define FXT_TOOLS_FLIGHTS_H

#include "tools/reading/reader.h"

/* Arrows that have begun and not ended. When there are none, `list` is NULL. Memory does not grow: arrows
 * that never end, as when no traced thread waited, make room for later ones. */
struct fxt_flights {
	struct fxt_flight *list;
};

/* An arrow that has ended: what let a thread go on. */
struct fxt_flight_cause {
	uint64_t woken_ns;              /* when the waker let the thread go on */
	uint64_t at_ns;                 /* when the thread went on, which lies within its call */
	uint32_t waker;                 /* place in fxt_reader.threads */
};

/* Takes the begin or end of a flow of category agent. A flow's begin does not come after its end. Returns
 * true and sets *cause if an arrow ended here that another thread had begun. */
bool fxt_flights_take(struct fxt_flights *f, const struct fxt_record *rec, struct fxt_flight_cause *cause);

void fxt_flights_free(struct fxt_flights *f);

#endif
