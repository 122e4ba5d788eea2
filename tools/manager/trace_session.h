/* A session: everything between Initialize and Terminate (fuchsia.tracing.controller). There is one at a
 * time. It says what is wanted of providers, and takes them through their states together.
 *
 *	READY -> INITIALIZED -> STARTING -> STARTED -> STOPPING -> STOPPED -> STARTING ...
 *	any of them -> TERMINATING -> READY
 *
 * The functions are called by manager.c's loop and by controllers, in one thread. Nothing here waits: what
 * takes time is finished by fxt_session_advance().
 */
#ifndef FXT_TOOLS_SESSION_H
#define FXT_TOOLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/archive/archive.h"
#include "gates.h"
#include "tools/common/map.h"
#include "writer/provider.h"

/* The values are those of fuchsia.tracing.controller.SessionState. */
enum fxt_session_state {
	FXT_SESSION_READY = 1,
	FXT_SESSION_INITIALIZED,
	FXT_SESSION_STARTING,
	FXT_SESSION_STARTED,
	FXT_SESSION_STOPPING,
	FXT_SESSION_STOPPED,
	FXT_SESSION_TERMINATING,
};

/* StartError and StopError of the same interface. */
enum fxt_start_error {
	FXT_START_OK,
	FXT_START_NOT_INITIALIZED,
	FXT_START_ALREADY_STARTED,
	FXT_START_STOPPING,
	FXT_START_TERMINATING,
};
enum fxt_stop_error { FXT_STOP_OK, FXT_STOP_NOT_INITIALIZED, FXT_STOP_NOT_STARTED, FXT_STOP_ABORTED };

/* ProviderSpec: what is wanted of the providers of one name. */
struct fxt_provider_spec {
	char *name;
	bool has_size;                  /* otherwise it is that of the others */
	uint64_t buffer_bytes;          /* 0: as the provider likes */
	char *categories;               /* NULL: as for the others */
};

/* TraceConfig. */
struct fxt_trace_config {
	enum fxt_buffering_mode mode;
	uint64_t buffer_bytes;          /* 0: as each provider likes */
	/* how much memory the providers may take together (grants.h); 0: fxt_memory_usual() */
	uint64_t memory_bytes;
	uint64_t most_bytes;            /* streaming: how much of each provider is saved; 0: all */
	bool waits;                     /* streaming: a thread that finds no room waits */
	unsigned budget;                /* streaming: hundredths of a percent (budget.h); 0: none */
	char *categories;               /* as in FXT_CATEGORIES; empty: each provider's own choice */
	uint64_t start_timeout_ns;      /* a start is acknowledged after this time at the latest */
	struct fxt_provider_spec *specs;
	size_t spec_count;
};

struct fxt_client;
struct fxt_heir;

struct fxt_session {
	enum fxt_session_state state;
	uint16_t number;                /* counts sessions, for the protocol */
	struct fxt_trace_config config;
	char *additional;               /* categories that the last start has added; NULL: none */
	bool was_saved;                 /* the last stop has saved everything */
	bool saves_at_stop;             /* the stop that is under way is to save everything */
	bool hears_first;               /* it ends when what has come by connections has been heard */
	struct fxt_archive archive;     /* open unless the state is READY */
	uint64_t rotate_bytes;          /* a file of this size is followed by another; 0: never */
	unsigned rotate_count;          /* so many older files are kept */
	uint32_t files;                 /* how many files have been begun */
	uint32_t providers;             /* how many have been initialized so far */
	struct fxt_map ids;             /* those that they have in the archive */
	uint32_t next_id;               /* for a provider that cannot have its process's number */
	uint64_t given_up;              /* how often a category of a provider was given up (budget.h) */
	uint64_t dropped;               /* records that providers which are over have lost */
	uint64_t overwritten;           /* records of theirs that newer ones have overwritten */
	/* providers that broke the protocol, or were over before they began: their losses are not known */
	uint32_t cut_off;
	uint64_t deadline_ns;           /* CLOCK_MONOTONIC: the present change ends then at the latest */
	uint64_t texts_ns;              /* when calls in progress are looked at next: client_texts.h */
	uint64_t look_ns;               /* when the memory of mute providers is looked at next */
	uint64_t take_back_ns;          /* when memory that was not used is taken back next */
	uint64_t save_ns;               /* the last time at which an alert or a controller had them saved */
	bool save_waits;                /* they are to be saved again as soon as they may */

	/* These are the programs that are connected, whether there is a session or not. */
	struct fxt_client **clients;
	size_t count, capacity;
	struct fxt_gates gates;
	struct fxt_heir *heir;          /* saves what is left if the manager is killed; NULL: there is none */

	/* What programs get that come by the abstract name of the socket (manager.h): first they have to
	 * say the secret; empty: nobody comes so. `shared` is the memory of the run, or -1. */
	char secret[FXT_RUN_SECRET_BYTES + 1];
	int shared;

	/* Are told of what happens; may be NULL. `context` is theirs. */
	void (*on_state)(void *context, enum fxt_session_state state);
	void (*on_alert)(void *context, const char *name);
	void (*on_save)(void *context);         /* a save that had to wait is done, or is due no more */
	void *context;
};

/* Returns the time by CLOCK_MONOTONIC. */
uint64_t fxt_now_ns(void);

/* Begins a session; the state is READY. It owns `config` from then on. The archive was opened by the
 * caller. */
void fxt_session_initialize(struct fxt_session *s, const struct fxt_trace_config *config);

/* Starts all providers. `categories` are wanted in addition; may be NULL. */
enum fxt_start_error fxt_session_start(struct fxt_session *s, enum fxt_buffer_disposition disposition,
				       const char *categories);

/* Stops all providers. If `saves`, everything that they have is saved then; a streaming session always
 * does. */
enum fxt_stop_error fxt_session_stop(struct fxt_session *s, bool saves);

/* Ends the session, whatever its state: stops the providers, saves everything, closes the archive. Does
 * nothing if there is none or this is under way. A forked child may have come, handed its memory over and
 * ended: so the caller clears `hears_first` when nobody is left who has connected and was not heard. */
void fxt_session_terminate(struct fxt_session *s);

/* Finishes the change that is under way if all providers have answered, or its time is over. Also
 * saves what alerts and controllers have asked for. */
void fxt_session_advance(struct fxt_session *s);

/* Returns when fxt_session_advance() is due at the latest, by CLOCK_MONOTONIC; 0: at no time. */
uint64_t fxt_session_due(const struct fxt_session *s);

/* Handles an alert: a oneshot or circular session saves the buffers of all providers. */
void fxt_session_alert(struct fxt_session *s, const char *name);

/* Saves what all programs of a streaming session that runs have recorded, and writes it to the archive.
 * Returns false if that was done less than a tenth of a second ago: then it is done when this time is over,
 * and on_save tells of it. */
bool fxt_session_save(struct fxt_session *s);

/* Returns how many records of the session are lost by now, in the programs and because the archive could not
 * be written; and how many newer ones have overwritten. */
uint64_t fxt_session_dropped(struct fxt_session *s);
uint64_t fxt_session_overwritten(struct fxt_session *s);

/* Returns an id for a provider of this process, which no other provider has had in this session: the
 * process's number if that can be. */
uint32_t fxt_session_new_id(struct fxt_session *s, uint32_t pid);

/* Returns what is wanted of providers of this name. */
uint64_t fxt_session_buffer_bytes(const struct fxt_session *s, const char *name);
const char *fxt_session_categories(const struct fxt_session *s, const char *name);

/* Returns whether providers are to record now. */
static inline bool fxt_session_runs(const struct fxt_session *s)
{
	return s->state == FXT_SESSION_STARTING || s->state == FXT_SESSION_STARTED;
}

/* Goes on in a new file if the present one is large enough. */
void fxt_session_rotate(struct fxt_session *s);

/* Returns the state's name, as the interface has it. */
const char *fxt_session_state_name(enum fxt_session_state state);

void fxt_trace_config_free(struct fxt_trace_config *config);

#endif
