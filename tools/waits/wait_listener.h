/* Somebody who is told of each wait that a report counts: the database of fxt convert. A call is known by the
 * place of its record in the trace; of a call in progress, that is its begin.
 */
#ifndef FXT_TOOLS_WAIT_LISTENER_H
#define FXT_TOOLS_WAIT_LISTENER_H

#include <stdint.h>

struct fxt_chain_link;

struct fxt_wait_listener {
	void *context;
	/* Adds to how long a call waited. It is told of the time that the section on threads counts, and, as
	 * a negative time, of the part that the recording turned out to be the reason of. */
	void (*waited)(void *context, uint64_t offset, int64_t ns);
	/* The call went on because of another thread, of which all is known now (report_chains.h). */
	void (*let_go)(void *context, const struct fxt_chain_link *link);
};

#endif
