/* What parts of the agent that lie above it keep in a thread's state and in the process's: types without
 * functions. koid.h, explain.h and program_text.h say what they are for. */
#ifndef FXT_THREAD_PARTS_H
#define FXT_THREAD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Where fxt_agent.koid comes from: it is the process's own id, or shown by /proc, or made. */
enum fxt_koid_kind { FXT_KOID_OWN, FXT_KOID_SHOWN, FXT_KOID_MADE };

/* A reading: a thread's totals, read at at_ns or within some hundred nanoseconds after it. A reading with
 * only zeros is true of every thread. */
struct fxt_usage {
	uint64_t at_ns, cpu_ns, voluntary, involuntary;
	uint64_t asked_ns;              /* when the kernel was asked for cpu_ns, the last of the totals */
	uint64_t holds_until_ns;        /* the start of the call that the reading was taken for; 0: of none */
};

/* Two successive readings. */
struct fxt_usage_window {
	struct fxt_usage before, after;
};

enum {
	FXT_PROGRAM_TEXT_BYTES = 2048,          /* of a line; a longer one is cut, and ends in an ellipsis */
	FXT_PROGRAM_TEXT_MARK_BYTES = 3,        /* that ellipsis, in UTF-8 */
	/* The thread's unfinished line; and for what is no line, and for handlers that interrupt the work on
	 * one. */
	FXT_PROGRAM_TEXTS = 3,
};

/* All zero is the beginning. */
struct fxt_program_text {
	uintptr_t holder;               /* the frame of who works on it; 0: nobody does */
	uint64_t names;                 /* of its instants, as in an event's header */
	int priority;                   /* of a message to syslog, which is one text whatever lines it has; -1: lines */
	uint32_t used;
	bool is_cut;                    /* there was more */
	bool is_returned;               /* the last character was a carriage return, and what follows takes the line's place */
	bool is_progress;               /* something has taken the place of its beginning */
	char *bytes;                    /* in the thread's text_bytes: FXT_PROGRAM_TEXT_BYTES, and room for the mark */
};

#endif
