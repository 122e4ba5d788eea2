/* What the program has to say: the lines it puts on standard error, and its messages to syslog. Each is a log
 * record, and an instant with the text as argument `message`, as most viewers show no log records.
 *
 *	text = fxt_said_begin(thread);                  NULL: what is said is dropped, and counted
 *	fxt_said_put(thread, text, bytes, count);       as often as there is something
 *	fxt_said_end(thread, text);
 *
 * A line is recorded when its end has come. What has none yet is kept by the thread: what two threads put on
 * one line of the terminal is two lines here, each of its own thread. Called by wrappers after the real call,
 * in any context; errno stays as it is.
 */
#ifndef FXT_SAID_H
#define FXT_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_thread;

enum {
	FXT_SAID_BYTES = 2048,          /* of a line; a longer one is cut, and ends in an ellipsis */
	FXT_SAID_MARK_BYTES = 3,        /* that ellipsis, in UTF-8 */
	/* The thread's unfinished line; and for what is no line, and for handlers that interrupt the work on
	 * one. */
	FXT_SAID_TEXTS = 3,
};

/* All zero is the beginning. */
struct fxt_said_text {
	uintptr_t holder;               /* the frame of who works on it; 0: nobody does */
	uint64_t names;                 /* of its instants, as in an event's header */
	int priority;                   /* of a message to syslog, which is one text whatever lines it has; -1: lines */
	uint32_t used;
	bool is_cut;                    /* there was more */
	bool is_returned;               /* the last character was a carriage return, and what follows takes the line's place */
	bool is_progress;               /* something has taken the place of its beginning */
	char *bytes;                    /* in the thread's said_bytes: FXT_SAID_BYTES, and room for the mark */
};

struct fxt_said_text *fxt_said_begin(struct fxt_thread *thread);
/* The same for a message to syslog; `names` as in an event's header. */
struct fxt_said_text *fxt_said_begin_message(struct fxt_thread *thread, uint64_t names, int priority);
void fxt_said_put(struct fxt_thread *thread, struct fxt_said_text *text, const char *bytes, size_t count);
void fxt_said_end(struct fxt_thread *thread, struct fxt_said_text *text);

/* The thread, or the process, ends: its unfinished line is recorded. */
void fxt_said_rest(struct fxt_thread *thread);
/* The state has a new thread. */
void fxt_said_forget(struct fxt_thread *thread);

#endif
