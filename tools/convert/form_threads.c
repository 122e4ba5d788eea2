/* Which thread has an id. See form_threads.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "form_threads.h"

int64_t fxt_form_thread(struct fxt_form_threads *t, const struct fxt_reader *r, uint64_t tid)
{
	const struct fxt_slot *s;

	for (; t->seen < r->thread_count; t->seen++) {
		bool fresh;

		if (r->threads[t->seen].pid)
			fxt_map_put(&t->by_tid, r->threads[t->seen].tid, 0, &fresh)->value[0] = t->seen;
	}
	s = fxt_map_find(&t->by_tid, tid, 0);
	return s ? (int64_t)s->value[0] : -1;
}
