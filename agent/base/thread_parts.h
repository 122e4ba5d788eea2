/* The parts of a thread's state, and of the process's, that belong to files which lie above this folder:
 * types without functions. koid.h, explain.h and program_text.h say what they are for. */
#ifndef FXT_THREAD_PARTS_H
#define FXT_THREAD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* The origin of fxt_agent.koid: koid.h. */
enum fxt_koid_kind { FXT_KOID_OWN, FXT_KOID_SHOWN, FXT_KOID_MADE };

/* A reading of a thread's totals, made at at_ns or within some hundred nanoseconds after it. A reading that
 * is all zero is true of every thread. */
struct fxt_usage {
	uint64_t at_ns, cpu_ns, voluntary, involuntary;
	uint64_t asked_ns;              /* when the kernel was asked for the last of them */
	/* the start of the call that it was made for; 0: it was made for none */
	uint64_t holds_until_ns;
};

/* Two readings in succession. */
struct fxt_usage_window {
	struct fxt_usage before, after;
};

enum {
	FXT_SAID_BYTES = 2048,          /* of a line; a longer line is cut, and ends in an ellipsis */
	FXT_SAID_MARK_BYTES = 3,        /* of that ellipsis, in UTF-8 */
	/* One text is for the thread's unfinished line. The others are for text that is no line, and for
	 * handlers that interrupt the work on a text. */
	FXT_SAID_TEXTS = 3,
};

/* A text that the program writes; program_text.h. A text that is all zero is empty. */
struct fxt_said_text {
	uintptr_t holder;               /* the frame of the function that works on the text; 0: none does */
	uint64_t names;                 /* category and name of its instants, as in an event's header */
	/* of a message to syslog, which stays one text whatever lines it has; -1: the text is lines */
	int priority;
	uint32_t used;
	bool is_cut;                    /* the text was longer */
	/* the last character was a carriage return, so the text that follows takes the line's place */
	bool is_returned;
	bool is_progress;               /* later text has taken the place of the line's beginning */
	/* in the thread's said_bytes: FXT_SAID_BYTES, and room for the mark */
	char *bytes;
};

#endif
