/* Traces that are put together record by record, and the report of them: for the tests of which every figure is known. One at a time. */
#ifndef FXT_TESTS_TRACE_MAKER_H
#define FXT_TESTS_TRACE_MAKER_H

#include "tools/reading/reader.h"
#include "tools/report/report.h"

/* Kinds of events, and types of arguments. */
enum { INSTANT = 0, BEGIN = 2, END = 3, COMPLETE = 4, ASYNC_BEGIN = 5, ASYNC_END = 7, FLOW_BEGIN = 8, FLOW_END = 10 };
enum { INT = 3, UINT = 4, TEXT = 6, POINTER = 7 };

struct argument {
	const char *name; /* NULL: the last was the last */
	unsigned type;
	uint64_t value;                 /* of a TEXT what TEXT_OF() makes of it; it has to last as long as the test */
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

/* Provider 7, "app", with threads 1, 2 and 3, of process 7: 7, 8 and 9. */
void begin_trace(void);
/* Another program, with tables of its own. */
void provider(unsigned id);
void thread(unsigned index, uint64_t pid, uint64_t tid);

/* An event of a thread, by its index. `extra` is the end, or the id; BEGIN, END and INSTANT have none. */
void event(unsigned kind, unsigned thread_index, const char *category, const char *name, uint64_t at, uint64_t extra,
	   const struct argument *args);
void call(unsigned thread_index, const char *category, const char *name, uint64_t from, uint64_t to);
/* A call that waited for an object until another thread let it go on, as the agent writes it: in two orders. */
void woken(bool call_first, unsigned thread_index, const char *name, uint64_t object, uint64_t from, uint64_t to,
	   unsigned waker, uint64_t at, uint64_t id);
/* A log record. */
void said(unsigned thread_index, uint64_t at, const char *message);

/* The report of what was put together, with so many lines a section, and its end. */
extern struct fxt_reader reader;
void make_report(struct fxt_report *report, size_t top);
void end_report(struct fxt_report *report);

void expect_symbol(uint32_t symbol, const char *text);
uint64_t tid_of(uint32_t index);

#endif
