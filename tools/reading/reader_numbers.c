/* Keeps which processes and threads had a number that another one had before. See reader.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "reader_internal.h"

/* Returns whether such a koid may stand for this number, which was used before. */
static bool is_for(uint64_t koid, uint64_t number)
{
	return number && number <= FXT_NUMBER_MOST && koid > number &&
	       (koid - number) % FXT_AGAIN_STEP == 0 && (koid - number) / FXT_AGAIN_STEP <= FXT_AGAIN_MOST;
}

void fxt_note_again(struct fxt_reader *r, const struct fxt_record *rec)
{
	bool is_thread = rec->subtype == FXT_OBJECT_THREAD, fresh;
	struct fxt_slot *s;

	if (rec->id <= FXT_AGAIN_STEP || !fxt_argument(rec, "since") ||
	    !is_for(rec->id, fxt_argument_or(rec, is_thread ? "tid" : "pid", 0)))
		return;
	s = fxt_map_put(&r->again, rec->id, 0, &fresh);
	s->value[0] = fxt_argument_or(rec, "since", 0);
	s->value[1] = is_thread ? fxt_argument_or(rec, "process", 0) : 0;
}

uint64_t fxt_number(const struct fxt_reader *r, uint64_t koid)
{
	return koid > FXT_AGAIN_STEP && r->again.used && fxt_map_find(&r->again, koid, 0)
		       ? koid % FXT_AGAIN_STEP
		       : koid;
}

uint64_t fxt_process_at(const struct fxt_reader *r, uint64_t number, uint64_t at_ns)
{
	uint64_t found = number;

	for (uint64_t koid = number + FXT_AGAIN_STEP; r->again.used; koid += FXT_AGAIN_STEP) {
		const struct fxt_slot *s = fxt_map_find(&r->again, koid, 0);

		if (!s || s->value[0] > at_ns)
			break;
		if (!s->value[1])
			found = koid;
	}
	return found;
}

uint64_t fxt_processes_of(const struct fxt_reader *r, uint64_t number)
{
	uint64_t count = 1;

	for (uint64_t koid = number + FXT_AGAIN_STEP; r->again.used; koid += FXT_AGAIN_STEP) {
		const struct fxt_slot *s = fxt_map_find(&r->again, koid, 0);

		if (!s)
			break;
		count += !s->value[1];
	}
	return count;
}

uint64_t fxt_thread_in(const struct fxt_reader *r, uint64_t process, uint64_t number)
{
	if (!r->again.used || fxt_map_find(&r->thread_by_koids, process, number))
		return number;
	if (fxt_number(r, process) == number)
		return process;
	for (uint64_t koid = number + FXT_AGAIN_STEP;; koid += FXT_AGAIN_STEP) {
		const struct fxt_slot *s = fxt_map_find(&r->again, koid, 0);

		if (!s)
			return number;
		if (s->value[1] == process)
			return koid;
	}
}
