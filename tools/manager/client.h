/* One provider of a manager: its connection, the memory that it shares, and how far that is saved.
 * writer/provider.h has the protocol. manager.c calls these functions, from one thread.
 *
 * Nothing that comes from a provider is believed. A provider that breaks the protocol loses its connection,
 * and what it had shared until then is saved as far as its framing is right.
 */
#ifndef FXT_TOOLS_CLIENT_H
#define FXT_TOOLS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive.h"
#include "writer/provider.h"

/* This is what the session wants of each provider. */
struct fxt_session {
	enum fxt_buffering_mode mode;
	uint64_t buffer_bytes;
	const char *categories;         /* as in FXT_CATEGORIES; empty: each provider's own choice */
	struct fxt_archive *archive;
	uint64_t rotate_bytes;          /* a file of this size is followed by another; 0: never */
	unsigned rotate_count;          /* so many older files are kept */
	uint32_t providers;             /* how many have been started so far; their ids are 1, 2, ... */
	uint64_t dropped;               /* records that ended providers say they had no room for */
};

enum fxt_client_state {
	FXT_CLIENT_CONNECTED,          /* it has not registered yet */
	FXT_CLIENT_REGISTERED,         /* it was sent INITIALIZE */
	FXT_CLIENT_INITIALIZED,        /* it was sent START */
	FXT_CLIENT_STARTED,
	FXT_CLIENT_STOPPING,           /* it was sent STOP */
	FXT_CLIENT_STOPPED,
};

struct fxt_client {
	int fd;                         /* the connection */
	int process;                    /* a pidfd; -1: there is none */
	pid_t pid;
	enum fxt_client_state state;
	bool has_started;               /* it said FXT_PROVIDER_STARTED */
	uint32_t id;                    /* in the archive; 0: not started yet */
	uint64_t deadline_ns;           /* CLOCK_MONOTONIC: it has to register until then; 0: it has */
	char name[FXT_PROVIDER_NAME_BYTES];
	size_t name_bytes;

	/* The memory, and what its header said when it was checked. */
	unsigned char *memory;
	uint64_t bytes, durable_offset, durable_bytes, rolling_offset, counters_offset, counters_bytes;
	fxt_managed_entry *table;
	uint32_t chunks;

	bool is_named;                  /* the archive has its name */
	uint64_t durable_saved;         /* how far the durable area is in the archive, in bytes */
	struct fxt_client_chunk {
		uint32_t turn, words;   /* this turn of the chunk is in the archive so far */
	} *saved;
};

/* Makes a provider of a connection that was accepted, which it owns from then on. `now_ns` is the time by
 * CLOCK_MONOTONIC. */
struct fxt_client *fxt_client_new(int fd, uint64_t now_ns);

/* Reads and answers what the provider has sent. Returns false if the provider has to be ended: it is gone, or
 * it has broken the protocol, which *why says then (otherwise NULL). */
bool fxt_client_hear(struct fxt_client *p, struct fxt_session *session, const char **why);

/* Asks the provider to stop. Returns whether an answer is to be expected. */
bool fxt_client_stop(struct fxt_client *p);

/* Saves the chunks of a rolling buffer (0 or 1) that are full, with all that they need, and gives them
 * back to the provider. */
void fxt_client_save_half(struct fxt_client *p, struct fxt_session *session, unsigned half);

/* Saves all that the memory has and the archive has not. `is_end` says that the provider is over, so that
 * what is rewritten in place is saved too. */
void fxt_client_save(struct fxt_client *p, struct fxt_session *session, bool is_end);

/* Says that what is saved next goes to a new file, which needs the provider's name and strings. */
void fxt_client_new_file(struct fxt_client *p);

/* Saves everything, closes the connection, unmaps the memory and frees the provider. */
void fxt_client_end(struct fxt_client *p, struct fxt_session *session);

#endif
