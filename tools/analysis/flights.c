/* Pairs the ends of arrows. See flights.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "flights.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* The most flows that have begun and not ended. Some never end, as when no traced thread waited. */
enum { FLIGHTS = 1 << 16 };

struct fxt_flight {
	uint64_t id, at_ns;
	uint32_t thread;
	bool used;
};

static uint64_t place_of(uint64_t id)
{
	id *= UINT64_C(0x9e3779b97f4a7c15);
	return (id ^ id >> 29) % FLIGHTS;
}

bool fxt_flights_take(struct fxt_flights *f, const struct fxt_record *rec, struct fxt_flight_cause *cause)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_flight *flight;

	if (!f->list)
		f->list = fxt_alloc(FLIGHTS, sizeof(*f->list));
	flight = &f->list[place_of(rec->extra)];
	if (rec->subtype == FXT_EVENT_FLOW_BEGIN) {
		*flight = (struct fxt_flight){rec->extra, at_ns, rec->thread, true};
		return false;
	}
	if (!flight->used || flight->id != rec->extra)
		return false;
	flight->used = false;
	*cause = (struct fxt_flight_cause){flight->at_ns, at_ns, flight->thread};
	/* A thread that reads what it has written itself waits for nobody. */
	return flight->thread != rec->thread;
}

void fxt_flights_free(struct fxt_flights *f)
{
	free(f->list);
	f->list = NULL;
}
