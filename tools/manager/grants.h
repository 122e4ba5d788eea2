/* The memory of a run: what all providers of a streaming session use together is bounded (docs/manager.md).
 * Each provider begins with a few chunks of its memory, says in its header when it wants more
 * (writer/provider.h), and is granted that as far as the session's budget goes. What a provider has not used
 * for a while is taken back. client.c and trace_session.c call this, in one thread. */
#ifndef FXT_TOOLS_GRANTS_H
#define FXT_TOOLS_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/provider.h"

struct fxt_client;
struct fxt_session;

struct fxt_client_grant {
	uint32_t chunks;                /* of each rolling buffer it may use so many; 0: all */
	uint32_t least_chunks;          /* what it keeps while it is idle */
	uint32_t most_chunks;           /* memory behind so many has been given back */
	bool knows;                     /* the provider knows of chunks whose memory was given back */
	uint64_t saved_ns, wanted_ns;   /* CLOCK_MONOTONIC: when it was saved last, and wanted more last */
};

/* Returns how much memory the providers of a run may take together, in bytes. In streaming mode that is a
 * sixteenth of what there is in the control groups of this process and on the machine, but at most 64 MiB; in
 * the other modes, where it is all that is kept, a quarter. */
uint64_t fxt_memory_usual(enum fxt_buffering_mode mode);

/* Grants a provider whose memory was just mapped its first chunks. */
void fxt_memory_begin(struct fxt_client *p, const struct fxt_session *session);

/* Grants a provider that was saved just now what it wants, as far as that goes. */
void fxt_memory_grant(struct fxt_client *p, struct fxt_session *session);

/* Takes back what was not used for a while. `now_ns` is by CLOCK_MONOTONIC. */
void fxt_memory_take_back(struct fxt_session *session, uint64_t now_ns);

#endif
