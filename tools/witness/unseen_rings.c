/* See unseen_rings.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "unseen_rings.h"

#include <string.h>

#include "witness_stacks.h"
#include "writer/fxt_encode.h"

/* Says it once of a program. */
static void tell(struct fxt_witness_trace *w, const struct fxt_perf_record *record, const char *by)
{
	struct fxt_space *space = fxt_space_of(&w->spaces, record->pid);
	struct fxt_arg known;

	if (space->has_rings || !fxt_witness_keeps(w, record))
		return;
	space->has_rings = true;
	known = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "by"),
				 .string = fxt_witness_string(w, by)};
	fxt_witness_fact(w, record, "io_uring", (struct fxt_args){1, &known});
}

void fxt_unseen_rings_mapped(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			     const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (strncmp(name, "liburing.so", strlen("liburing.so")) == 0)
		tell(w, record, name);
}

void fxt_unseen_rings_named(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			    const char *name)
{
	/* A thread that polls rings, and a worker. */
	if (strncmp(name, "iou-sqp-", strlen("iou-sqp-")) == 0)
		tell(w, record, "iou-sqp");
	else if (strncmp(name, "iou-wrk-", strlen("iou-wrk-")) == 0)
		tell(w, record, "iou-wrk");
}
