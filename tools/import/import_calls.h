/* Calls of a trace that fxt convert has written, from their entry to their exit: one record is made of both,
 * at the end, as the agent writes it. */
#ifndef FXT_TOOLS_IMPORT_CALLS_H
#define FXT_TOOLS_IMPORT_CALLS_H

#include "import_fields.h"

/* At the beginning all members are zero. */
struct fxt_import_calls {
	struct fxt_map by_thread;       /* thread -> place in `list` */
	struct fxt_import_thread_calls *list;
	size_t count, capacity;
};

/* Notes that the thread is about to tell something at this time. Calls whose end is not in the trace,
 * although that of a call around them is, become instants. */
void fxt_import_calls_at(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			 uint64_t ns);

/* A call begins, with what went in. It ends with what came out. Calls within it may still end at the same
 * time. */
void fxt_import_call_begin(struct fxt_import_calls *all, struct fxt_import_thread *t, uint64_t ns,
			   const char *category, const char *name, const struct fxt_import_fields *fields);
void fxt_import_call_end(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			 uint64_t ns, const char *category, const char *name,
			 const struct fxt_import_fields *more);

/* Takes a begin, step or end of a flow. Its record has to stand behind that of the call that it lies in. */
void fxt_import_call_flow(struct fxt_import_calls *all, struct fxt_import_out *o, struct fxt_import_thread *t,
			  enum fxt_event_type kind, uint64_t ns, const char *category, const char *name,
			  uint64_t id);

/* Writes calls whose end is not in the trace, the outermost first. */
void fxt_import_calls_end(struct fxt_import_calls *all, struct fxt_import_out *o);
void fxt_import_calls_free(struct fxt_import_calls *all);

#endif
