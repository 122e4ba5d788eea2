/* What a trace has, told thing by thing: the interface that every export is written against.
 *
 * fxt_visit() reads a trace once, in the order of the file, and decodes each record once. It calls a
 * function of the visitor for each thing. A form of export (CTF, tools/export/ctf.h, is the first) is a
 * visitor, and nothing here knows of any form. Order is not that of time: a call is told when it has ended,
 * and one thread's stretch after another's. A form that needs an order sorts by itself (sorter.h).
 *
 *     struct fxt_visitor v = {.context = &mine, .call = take_call, .instant = take_instant};
 *
 *     fxt_reader_init(&r, bytes, size);
 *     ok = fxt_visit(&r, &v);
 */
#ifndef FXT_TOOLS_VISIT_H
#define FXT_TOOLS_VISIT_H

#include "tools/reading/reader.h"

/* One thing. The record has its category, name, arguments, id (`extra`) and thread. */
struct fxt_visit {
	struct fxt_reader *reader;
	const struct fxt_record *rec;
	/* What has no time of its own (names, objects) has 0. */
	uint64_t at_ns;
	uint64_t end_ns; /* of a call that is over; else the same */
	bool is_kernels; /* the kernel tells it; the record's thread is a processor */
	unsigned cpu; /* ... and this is its number */
};

typedef void fxt_visit_function(void *context, const struct fxt_visit *v);

/* A function may be NULL; then nobody is told of such things. */
struct fxt_visitor {
	void *context;
	fxt_visit_function *call; /* a call or function that is over: its begin and its end */
	fxt_visit_function *call_begin; /* a begin alone: it was in progress */
	fxt_visit_function *call_end; /* the end of such a begin */
	/* A moment: instants, counters, asyncs and flows. rec->subtype says which. */
	fxt_visit_function *moment;
	fxt_visit_function *context_switch, *wakeup;
	fxt_visit_function *log;
	fxt_visit_function *blob; /* rec->blob has its bytes */
	fxt_visit_function *object; /* userspace objects: also frames and files of call stacks */
	fxt_visit_function *process, *thread; /* kernel objects: names */
	fxt_visit_function *other_object; /* kernel objects of other types, the clock among them */
	fxt_visit_function *provider;
	fxt_visit_function *initialization; /* ticks in a second */
	/* `buffer full` and such events of a provider */
	fxt_visit_function *provider_event;
	/* How far it is, about every 4 MiB. */
	void (*progress)(void *context, uint64_t at, uint64_t size);
};

/* Visits all records of a reader that has read nothing. Returns false at the first damaged record, or if the
 * file ends within one: r->damaged_records, r->stop and r->tail_bytes say what is wrong. */
bool fxt_visit(struct fxt_reader *r, const struct fxt_visitor *visitor);

#endif
