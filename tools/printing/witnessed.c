/* The threads that the kernel tells of. See witnessed.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witnessed.h"

#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "writer/fxt_format.h"

void fxt_witnessed_take(struct fxt_witnessed *w, const struct fxt_record *rec)
{
	bool fresh;
	bool is_event = rec->type == FXT_RECORD_EVENT && rec->known && rec->subtype == FXT_EVENT_INSTANT;
	bool is_name = rec->type == FXT_RECORD_KERNEL_OBJECT && rec->subtype == FXT_OBJECT_THREAD;
	struct fxt_slot *s;
	uint64_t pid, tid = rec->id;

	/* What the join says of a number that was used again has the time since when. */
	if (rec->type == FXT_RECORD_KERNEL_OBJECT && rec->subtype == FXT_OBJECT_PROCESS)
		w->numbers_differ |= !rec->damaged && fxt_argument(rec, "pid") && !fxt_argument(rec, "since");
	if (rec->damaged || (!is_event && !is_name) || !fxt_provider_is_kernel(rec->provider) ||
	    !fxt_argument_u64(fxt_argument(rec, "process"), &pid) || pid == FXT_KERNEL_PROVIDER_ID ||
	    (is_event && !fxt_argument_u64(fxt_argument(rec, "thread"), &tid)))
		return;
	s = fxt_map_put(&w->threads, pid, tid, &fresh);
	if (is_event && fxt_text_is(&rec->category, "sample"))
		s->value[0] = 1;
}

bool fxt_witnessed_counts(const struct fxt_witnessed *w, const struct fxt_slot *thread, bool records)
{
	return records ? thread->value[0] : !w->numbers_differ;
}

char *fxt_processes_in_words(uint64_t processes, uint64_t silent)
{
	const char *es = processes == 1 ? "" : "es";

	if (!silent || silent >= processes)
		return fxt_format("%s process%s", fxt_count(processes).text, es);
	return fxt_format("%s process%s (%s recorded nothing)", fxt_count(processes).text, es,
			  fxt_count(silent).text);
}

void fxt_witnessed_free(struct fxt_witnessed *w)
{
	fxt_map_free(&w->threads);
	w->numbers_differ = false;
}
