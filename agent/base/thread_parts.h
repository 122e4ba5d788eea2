/* Types of members of a thread's state and of the process's (agent.h) that belong to files of agent/emit/:
 * koid.h, explain.h and program_text.h say what they are for. */
#ifndef FXT_THREAD_PARTS_H
#define FXT_THREAD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Says where fxt_agent.koid comes from: it is the process's own id, or shown by /proc, or made. */
enum fxt_koid_kind { FXT_KOID_OWN, FXT_KOID_SHOWN, FXT_KOID_MADE };

/* A reading: a thread's totals, read at at_ns or within some hundred nanoseconds after it. A reading with
 * only zeros is true of every thread. */
struct fxt_usage {
	uint64_t at_ns, cpu_ns, voluntary, involuntary;
	uint64_t asked_ns;              /* when the kernel was asked for cpu_ns, the last of the totals */
	uint64_t holds_until_ns;        /* the start of the call that it was taken before; 0: there is none */
};

/* Two successive readings. */
struct fxt_usage_window {
	struct fxt_usage before, after;
};

enum {
	FXT_PROGRAM_TEXT_BYTES = 2048,          /* a longer line is cut, and ends in an ellipsis */
	FXT_PROGRAM_TEXT_MARK_BYTES = 3,        /* the size of that ellipsis in UTF-8 */
	/* The first text is the thread's unfinished line. The others are for messages to syslog, and for
	 * handlers that interrupt the work on a text. */
	FXT_PROGRAM_TEXTS = 3,
};

/* A text that the program writes, as far as it was gathered. At the beginning all members are zero. */
struct fxt_program_text {
	uintptr_t holder;               /* the frame of the function that works on it; 0: none does */
	uint64_t names;                 /* category and name of its instants, as in an event's header */
	int priority;                   /* of a message to syslog, which is one text; -1: lines on stderr */
	uint32_t used;
	bool is_cut;                    /* the line was longer than there is room for */
	bool is_returned;               /* it ends in a carriage return: the next text takes its place */
	bool is_progress;               /* text behind a carriage return has taken its beginning's place */
	char *bytes;                    /* FXT_PROGRAM_TEXT_BYTES and the mark, in the thread's text_bytes */
};

#endif
