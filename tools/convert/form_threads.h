/* Which thread has an id: context switches and wakeups name threads by that alone. */
#ifndef FXT_TOOLS_FORM_THREADS_H
#define FXT_TOOLS_FORM_THREADS_H

#include "tools/reading/reader.h"

/* All members are zero at first. */
struct fxt_form_threads {
	struct fxt_map by_tid;
	size_t seen;                    /* threads of the reader that are in the map */
};

/* Returns the place of the thread in r->threads, or -1: no record has mentioned it in its process. */
int64_t fxt_form_thread(struct fxt_form_threads *t, const struct fxt_reader *r, uint64_t tid);

#endif
