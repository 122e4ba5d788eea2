/* Things: what the rows of a report's tables stand for, by their handles (tools/printing/handle.h). A thing
 * knows how narrowing chooses the records about it, and so when it mattered most.
 */
#ifndef FXT_TOOLS_THINGS_H
#define FXT_TOOLS_THINGS_H

#include "tools/narrow/narrow.h"
#include "tools/report/report.h"

struct fxt_thing {
	struct fxt_handle handle;
	char *label;                    /* "thread worker 1235 of app 1234" */
	struct fxt_narrow narrow;       /* chooses its records */
	struct fxt_narrow otherwise;    /* chooses them if that chooses none: a function is in call stacks */
};

struct fxt_things {
	struct fxt_thing *list;
	size_t count, capacity;
};

/* Finds the things that have this handle: one as a rule. */
void fxt_things_find(struct fxt_things *t, const struct fxt_report *report, const char *handle);
void fxt_things_free(struct fxt_things *t);

/* Returns what there is, for a message: "42 processes (P...), 46 threads (T...) and 3 locks (L...)". The
 * caller frees it. */
char *fxt_things_there_are(const struct fxt_report *report);

/* When a thing mattered most. */
struct fxt_thing_moment {
	uint64_t records;               /* events about it; 0: there are none, and no moment */
	uint64_t at_ns;                 /* the end of the longest of them, since the first event */
	uint64_t longest_ns;            /* how long that took; 0: all are moments */
	char *name;                     /* its name, which the caller frees */
	bool is_otherwise;              /* they were chosen by `otherwise` */
};

/* Finds the moment in the trace in these bytes. */
void fxt_thing_find_moment(struct fxt_thing *thing, const void *data, uint64_t size,
			   struct fxt_thing_moment *m);

/* Returns the options with which fxt dump prints a thing's records: "--pid 12 --object 0x55d0". The caller
 * frees it. */
char *fxt_thing_options(const struct fxt_narrow *n);

/* Finds the moment of a thing, or of a finding. This is fxt_narrow_moment_of(). */
char *fxt_things_moment_of(const char *handle, const char *path, const void *data, uint64_t size,
			   uint64_t *ns);

struct fxt_findings;
/* Prints all that the report knows of the things with this handle. `path` is the trace's. Returns NULL, or
 * what is wrong, for the caller to free. */
char *fxt_things_explain(const struct fxt_findings *f, const struct fxt_report *report, const char *handle,
			 const char *path, FILE *out);

#endif
