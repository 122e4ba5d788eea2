/* These functions put a trace together record by record and make the report of it, for tests that know every
 * figure. There is one trace at a time. */
#ifndef FXT_TESTS_TRACE_MAKER_H
#define FXT_TESTS_TRACE_MAKER_H

#include "tools/reading/reader.h"
#include "tools/report/report.h"

/* Kinds of events, and types of arguments. */
enum {
	INSTANT = 0, BEGIN = 2, END = 3, COMPLETE = 4,
	ASYNC_BEGIN = 5, ASYNC_END = 7, FLOW_BEGIN = 8, FLOW_END = 10
};
enum { INT = 3, UINT = 4, TEXT = 6, POINTER = 7, KOID = 8 };

struct argument {
	const char *name; /* NULL: there are no more arguments */
	unsigned type;
	/* for a TEXT, the TEXT_OF() of a string that lasts as long as the test */
	uint64_t value;
};

#define TEXT_OF(text) ((uint64_t)(uintptr_t)(text))

#define ARGS(...)                  \
	(const struct argument[])  \
	{                          \
		__VA_ARGS__,       \
		{                  \
			.name = NULL \
		}                  \
	}
#define NO_ARGS (&(const struct argument){.name = NULL})

/* Begins a trace with provider 7, "app". Its threads 1, 2 and 3 are the threads 7, 8 and 9 of process 7. */
void begin_trace(void);
/* Begins the part of another program, with a string table of its own. */
void provider(unsigned id);
/* Defines a thread of the provider. */
void thread(unsigned index, uint64_t pid, uint64_t tid);

/* Writes an event of the thread with this index. `extra` is the time of the end, or an id; BEGIN, END and
 * INSTANT have none. */
void event(unsigned kind, unsigned thread_index, const char *category, const char *name, uint64_t at,
	   uint64_t extra, const struct argument *args);
/* Writes a call without arguments. */
void call(unsigned thread_index, const char *category, const char *name, uint64_t from, uint64_t to);
/* Writes a call that waited for an object until the thread `waker` let it go on; if `waker` is 0, that thread
 * is not in the trace. The agent writes the call before its arrow or behind it: `call_first`. */
void woken(bool call_first, unsigned thread_index, const char *name, uint64_t object, uint64_t from,
	   uint64_t to, unsigned waker, uint64_t at, uint64_t id);
/* Writes a record about an object of a thread's process. It holds from `since` on. */
void named(unsigned thread_index, const char *type, uint64_t address, const char *name, uint64_t since);
/* These write what the agent tells of call stacks (tools/analysis/call_stacks.h): a file that code is in,
 * whose build id may be NULL; and a node without a name, whose caller is `parent` and whose file is `mapping`
 * (0: none). */
void mapped(uint64_t id, const char *path, const char *build_id);
void node(uint64_t id, uint64_t parent, uint64_t mapping, uint64_t offset);
/* Begins the part of the kernel. Its events are about threads that they name as arguments, and their own
 * thread is a processor. */
void kernel(void);
/* These write what the kernel tells (tools/witness/witness_trace.h): a node of the call tree, whose caller is
 * `parent` (0: none) and whose name and module may be NULL; a sample of a thread, in the node `stack` (0:
 * none) and named `name`; an instant of category kernel about a thread, with up to five arguments; and a
 * switch from one thread to another, by their ids (0: somebody else's). Nodes of the agent's stacks look the
 * same in a joined trace. */
void frame(uint64_t node, uint64_t parent, const char *name, const char *module, uint64_t offset);
void sample(uint64_t pid, uint64_t tid, uint64_t at, uint64_t stack, const char *name);
void fact(uint64_t pid, uint64_t tid, const char *name, uint64_t at, const struct argument *args);
void switched(uint64_t at, unsigned state, uint64_t outgoing, uint64_t incoming);
/* Names a process, or a thread if `tid` is not 0. */
void object_name(uint64_t pid, uint64_t tid, const char *name);

/* Writes a log record. */
void said(unsigned thread_index, uint64_t at, const char *message);

/* Writes what was put together to a file. */
void write_trace(const char *path);
/* Begins to read what was put together, with `reader`; fxt_reader_free() ends that. */
void read_trace(void);

/* make_report() makes the report of what was put together, with at most `top` lines in a section.
 * make_report_with() does so with these options. end_report() frees it. */
extern struct fxt_reader reader;
void make_report(struct fxt_report *report, size_t top);
void make_report_with(struct fxt_report *report, const struct fxt_report_options *options);
void end_report(struct fxt_report *report);
/* Print the whole report with its findings. The rows of the text have no handles, so that tests can say what
 * else is in them. */
void print_report(const struct fxt_report *report, FILE *out);
void print_report_json(const struct fxt_report *report, FILE *out);

/* Fails unless the symbol has this text. */
void expect_symbol(uint32_t symbol, const char *text);
/* Returns the number of the thread with this index in the report. */
uint64_t tid_of(uint32_t index);

#endif
