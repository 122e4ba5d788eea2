/* fxt top: the session that it watches. Finds the manager, asks it to save the trace, and reads what the
 * trace has in addition, through all files of a long run. top.c calls these functions, from one thread.
 */
#ifndef FXT_TOOLS_TOP_SESSION_H
#define FXT_TOOLS_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/manager/controlling.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader.h"

struct fxt_top_session {
	struct fxt_controlling manager;
	char *socket;                   /* its path */
	char *trace;                    /* the path of the trace, as the manager says it */
	char state[16];                 /* of the session, as the manager says it */
	uint64_t bytes;                 /* how long the trace is */
	uint64_t dropped;               /* records that found no room so far */
	/* The trace of a long run is divided into files (archive/archive_keep.h). Of the one that is read:
	 * its number; whether another one follows it by now; the bytes of those before it; and where the
	 * reader began with it. */
	bool is_divided, is_followed;
	uint32_t number;
	uint64_t earlier_bytes, begin;
	int fd;                         /* -1: none is read */
	bool is_asked;                  /* an answer of save_trace is due */
	bool is_over;                   /* it has ended, or the manager has; `bytes` is all of the trace */
	char *refusal;                  /* why the manager does not save the trace; NULL: it does */
	struct fxt_trace_file file;     /* the file that is read, and the space into which it grows */
	struct fxt_reader reader;
};

/* Finds the session, connects to its manager and begins to read its trace. `given` is a socket, a directory
 * of parts, or the trace of a session; NULL: whatever session there is. Returns false after a message. */
bool fxt_top_session_find(struct fxt_top_session *s, const char *given);

/* Asks the manager to save the trace. */
void fxt_top_session_ask(struct fxt_top_session *s);

/* Receives one message of the manager, which can be received now. */
void fxt_top_session_hear(struct fxt_top_session *s);

/* Decodes the next record of what was saved so far. Returns false when there is no more now. */
bool fxt_top_session_next(struct fxt_top_session *s, struct fxt_record *rec);

/* Gives the memory of what was read so far back to the kernel. */
void fxt_top_session_drop(const struct fxt_top_session *s);

void fxt_top_session_free(struct fxt_top_session *s);

#endif
