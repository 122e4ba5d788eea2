/* Which thread was on which processor. See ctf_running.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf_running.h"

#include <stdlib.h>

void fxt_ctf_running_begin(struct fxt_ctf_running *r, const struct fxt_ctf *c)
{
	r->count = c->reader->thread_count;
	r->is_unknown = c->lacks_switches;
	r->threads = fxt_alloc(r->count, sizeof(*r->threads));
	for (size_t i = 0; i < r->count; i++) {
		const struct fxt_slot *s = fxt_map_find(&c->thread_by_tid, c->reader->threads[i].tid, 0);

		r->threads[i].same = s ? (uint32_t)s->value[0] : (uint32_t)i;
		r->threads[i].cpu = -1;
	}
}

/* Returns the thread, plus 1; 0: it has no events. */
static uint32_t thread_of(const struct fxt_ctf *c, uint64_t tid)
{
	const struct fxt_slot *s = tid ? fxt_map_find(&c->thread_by_tid, tid, 0) : NULL;

	return s ? (uint32_t)s->value[0] + 1 : 0;
}

void fxt_ctf_running_switch(struct fxt_ctf_running *r, const struct fxt_ctf *c, uint32_t cpu, uint64_t out,
			    uint64_t in)
{
	uint32_t was = thread_of(c, out), is = thread_of(c, in);

	if (cpu >= FXT_CTF_MOST_PROCESSORS)
		return;
	/* The switch away of the one that was there may not have been seen. */
	if (r->on[cpu] && r->threads[r->on[cpu] - 1].cpu == (int32_t)cpu)
		r->threads[r->on[cpu] - 1].cpu = -1;
	if (was)
		r->threads[was - 1].cpu = -1;
	r->on[cpu] = is;
	if (is)
		r->threads[is - 1].cpu = (int32_t)cpu;
}

void fxt_ctf_running_forget(struct fxt_ctf_running *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->threads[i].cpu = -1;
}

int32_t fxt_ctf_running_cpu(struct fxt_ctf_running *r, uint32_t thread, uint64_t at_ns)
{
	struct fxt_ctf_running_thread *t = &r->threads[thread];

	if (r->is_unknown)
		return -1;
	if (!t->was_asked || t->asked_ns != at_ns) {
		t->answer = r->threads[t->same].cpu;
		t->asked_ns = at_ns;
		t->was_asked = true;
	}
	return t->answer;
}

void fxt_ctf_running_free(struct fxt_ctf_running *r)
{
	free(r->threads);
}
