/* One provider of a manager: its connection, the memory that it shares, and how far that is saved.
 * writer/provider.h has the protocol. manager.c and trace_session.c call these functions, from one thread.
 *
 * Nothing that comes from a provider is believed. A provider that breaks the protocol loses its connection,
 * and what it had shared until then is saved as far as its framing is right.
 */
#ifndef FXT_TOOLS_CLIENT_H
#define FXT_TOOLS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "tools/archive/archive.h"
#include "budget.h"
#include "client_texts.h"
#include "grants.h"
#include "trace_session.h"
#include "writer/provider.h"

/* What a provider has lost: records that found no room or could not be recorded otherwise, and those of a
 * ring that newer ones have overwritten. */
struct fxt_client_losses {
	uint64_t dropped, overwritten;
};

/* The indices of the names of the counters of losses, in the provider's table of strings. */
struct fxt_client_names {
	bool is_read;
	/* those of `agent`, the category of the agent's own events: an agent may have the word twice, as a
	 * category and as a name */
	uint16_t agent[2], agents;
	unsigned count;
	struct fxt_client_name {
		uint16_t index;
		bool is_overwritten;
	} list[8];
};

enum fxt_client_state {
	FXT_CLIENT_CONNECTED,           /* it has not registered yet */
	FXT_CLIENT_WAITING,             /* nothing is wanted of it */
	FXT_CLIENT_INITIALIZING,        /* it was sent INITIALIZE */
	FXT_CLIENT_STARTING,            /* it was sent START */
	FXT_CLIENT_STARTED,
	FXT_CLIENT_STOPPING,            /* it was sent STOP */
	FXT_CLIENT_STOPPED,
};

struct fxt_client {
	int fd;                         /* the connection; -1: it has ended, and the provider lives on */
	int process;                    /* a pidfd; -1: there is none */
	pid_t pid;
	uint64_t koid;                  /* the process's id in its trace, as it says itself */
	enum fxt_client_state state;
	bool may_register;              /* it is of our user, or has said the secret */
	unsigned asked;                 /* how many INITIALIZE it has not answered yet */
	unsigned starts, stops;         /* how many START and STOP it has not answered yet */
	bool is_known;                  /* its version of the packets is known: STARTED or FORKED has come */
	uint32_t next_wraps;            /* the wrap count that its next SAVE_BUFFER has */
	bool may_repeat;                /* or that of the one before, because a session has begun */
	char token[FXT_PROVIDER_TOKEN_BYTES + 1];       /* a word that was told to it alone */
	uint32_t page;                  /* its page of gates, once it has registered */
	bool wakes;                     /* it is to be woken by that */
	uint32_t id;                    /* in the archive; 0: it has not been initialized for this session */
	uint64_t deadline_ns;           /* CLOCK_MONOTONIC: it has to register until then; 0: it has */
	char name[FXT_PROVIDER_NAME_BYTES + 1];
	size_t name_bytes;

	/* The memory, and what its header said when it was checked. */
	unsigned char *memory;
	uint64_t bytes, durable_offset, durable_bytes, rolling_offset, counters_offset, counters_bytes;
	fxt_managed_entry *table;
	fxt_taken_entry *taken;         /* NULL: the provider has no such table */
	uint32_t chunks;

	bool is_named;                  /* the archive has its name */
	uint64_t durable_saved;         /* how far the durable area is in the archive, in bytes */
	struct fxt_client_chunk {
		uint32_t turn, words;   /* this turn of the chunk is in the archive so far */
		uint32_t seen_turn;     /* it has been counted up to this turn */
		bool is_unsaved;        /* which has records that would be lost if it were overwritten */
		uint32_t file;          /* the number of the file that it is in */
		bool is_whole;          /* it was full then */
	} *saved;
	struct fxt_budget budget;       /* what it costs, in a session that has a budget */
	bool is_over;                   /* nobody stores to its memory any more */
	bool is_mute;                   /* it may send and hear nothing any more */
	struct fxt_client_grant grant;  /* how much of its memory it may use: grants.h */
	struct fxt_client_losses before;        /* what it had lost when the session began */
	struct fxt_client_names loss_names;
	struct fxt_client_texts texts;  /* what its calls in progress point to */
	uint32_t wraps_before;          /* its wrap count then */
	uint64_t written;               /* bytes of chunks that were saved in this session */
	uint64_t taken_chunks;          /* so many chunks were taken in this session, as far as it was seen */
	uint64_t overwritten_bytes;     /* of these that were taken again before they were saved */
	bool has_told_full;             /* a provider event in the archive says that it has lost records */
	/* the request to save a rolling buffer that is not answered: no more of the provider is to be saved,
	 * or its version is not known yet; its `request` is 0 if there is none */
	struct fxt_packet unanswered;
	struct fxt_bequest *bequest;    /* what the manager's heir has of it (heir.h); NULL: nothing */
};

/* Makes a provider of a connection that was accepted, which it owns from then on. `now_ns` is the time by
 * CLOCK_MONOTONIC. */
struct fxt_client *fxt_client_new(int fd, uint64_t now_ns);

/* Returns the only descriptor that came with a message, or -1. Further ones are closed, and so is it if there
 * are several. */
int fxt_only_descriptor(struct msghdr *header);

/* Reads and answers what the provider has sent. Returns false if the provider has to be ended: it is gone, or
 * it has broken the protocol, which *why says then (otherwise NULL). */
bool fxt_client_hear(struct fxt_client *p, struct fxt_session *session, const char **why);

/* Returns whether the provider goes on without its connection, which has ended. */
bool fxt_client_outlives(struct fxt_client *p);

/* Prepares the provider for a session that begins. */
void fxt_client_new_session(struct fxt_client *p);

/* Makes the provider record, as far as it has registered. `disposition` says what becomes of what it has
 * recorded before. */
void fxt_client_start(struct fxt_client *p, struct fxt_session *session,
		      enum fxt_buffer_disposition disposition);

/* Asks the provider to stop, if it records. */
void fxt_client_stop(struct fxt_client *p, struct fxt_session *session);

/* Saves everything, and lets the provider wait for another session. */
void fxt_client_terminate(struct fxt_client *p, struct fxt_session *session);

/* Returns whether the provider has yet to start, or to stop, whichever the session wants. */
bool fxt_client_is_changing(const struct fxt_client *p, const struct fxt_session *session);

/* Returns the state's name. */
const char *fxt_client_state_name(enum fxt_client_state state);

/* Returns what the provider has lost in this session so far. It is counted in its memory at any time, also by
 * a provider that was killed. */
struct fxt_client_losses fxt_client_lost(struct fxt_client *p);

/* Returns how often the provider has turned from one rolling buffer to the other in this session. */
uint32_t fxt_client_wraps(struct fxt_client *p, const struct fxt_session *session);

/* Returns how many bytes the provider has written to its rolling buffers in this session. What was
 * overwritten is counted by whole chunks. */
uint64_t fxt_client_written(struct fxt_client *p);

/* Notes which turn a chunk has: those since the last look were overwritten. client_save.c calls this before
 * it saves or clears a chunk. */
void fxt_client_note_turn(struct fxt_client *p, uint32_t number, uint32_t turn);

/* Returns how many of the records are events that the provider counts: those of the program that are over. */
uint32_t fxt_client_events(struct fxt_client *p, const uint64_t *words, size_t count);

/* Begins to count what the provider writes and loses, as a session begins. */
void fxt_client_count_anew(struct fxt_client *p);

/* Adds what the provider has lost to the session, and tells it in the archive unless the provider has. */
void fxt_client_account(struct fxt_client *p, struct fxt_session *session);

/* Saves the chunks of a rolling buffer (0 or 1) that are full, with all that they need, and gives them
 * back to the provider. */
void fxt_client_save_half(struct fxt_client *p, struct fxt_session *session, unsigned half);

/* Saves the chunks of a streaming provider that are full, if it is one that cannot ask for that. */
void fxt_client_look(struct fxt_client *p, struct fxt_session *session);

/* Returns whether the provider may have recorded: it was not asked to start for the first time just now, has
 * said that it does, or has taken a chunk. What one does before that is in no trace. */
bool fxt_client_has_begun(const struct fxt_client *p);

/* Saves all that the memory has and the archive has not. `is_end` says that the provider or the session is
 * over, so that what is rewritten in place is saved too. */
void fxt_client_save(struct fxt_client *p, struct fxt_session *session, bool is_end);

/* Clears what the memory has: none of it will be saved. In a ring the provider overwrites it without counting
 * it. If `is_new`, another session begins, and all chunks that are full are given back. */
void fxt_client_clear(struct fxt_client *p, const struct fxt_session *session, bool is_new);

/* Says that what is saved next goes to a new file, which needs the provider's name and strings. */
void fxt_client_new_file(struct fxt_client *p);

/* Saves everything, closes the connection, unmaps the memory and frees the provider. */
void fxt_client_end(struct fxt_client *p, struct fxt_session *session);

#endif
