/* See timeouts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/waits/timeouts.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/common/message.h"

/* Returns whether the call waited for one descriptor and found nothing. A thread that waits for several waits
 * for others than the one that it has asked. */
static bool found_nothing(const struct fxt_record *rec)
{
	static const char *const names[] = {"poll", "ppoll", "select", "pselect"};
	uint64_t ret;

	if (!fxt_argument_u64(fxt_argument(rec, "ret"), &ret) || ret != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fxt_text_is(&rec->name, names[i]))
			return i >= 2 || fxt_argument_or(rec, "nfds", 0) == 1;
	return false;
}

/* Returns whether a read gave up: its socket has a time limit. */
static bool gave_up(const struct fxt_record *rec, uint64_t fd, uint64_t asked)
{
	uint64_t error = fxt_argument_or(rec, "errno", 0);

	return fd == asked && (error == EAGAIN || error == ETIMEDOUT);
}

void fxt_timeouts_take(struct fxt_timeouts *t, struct fxt_reader *r, const struct fxt_record *rec,
		       const struct fxt_role *role, uint32_t innermost)
{
	uint64_t ns = fxt_duration_ns(rec), fd = UINT64_MAX;
	bool reads, writes, found;
	struct fxt_asker *one;

	if (!role || role->family == FXT_FAMILY_HEAP || role->family == FXT_FAMILY_WAIT)
		return;
	if (role->argument)
		fxt_argument_u64(fxt_argument(rec, role->argument), &fd);
	t->threads = fxt_reach(t->threads, &t->capacity, &t->count, rec->thread, sizeof(*t->threads));
	one = &t->threads[rec->thread];
	reads = role->effect == FXT_EFFECT_READ;
	writes = role->effect == FXT_EFFECT_WRITE;
	found = !fxt_argument(rec, "errno") && fxt_argument_or(rec, "ret", 0) > 0;
	if (writes && found) {
		one->has_asked = true;
		one->fd = fd;
	} else if (one->has_asked && reads && found) {
		one->has_asked = false;
		one->answered++;
	} else if (one->has_asked && ns >= FXT_TIMEOUT_LEAST_NS &&
		   (found_nothing(rec) || (reads && gave_up(rec, fd, one->fd)))) {
		one->has_asked = false;
		one->unanswered++;
		one->lost_ns += ns;
		one->name = fxt_symbol(r, &rec->name);
		if (innermost != FXT_NO_FRAME)
			fxt_stack_sums_add(&t->sums, rec->thread, innermost, ns);
	}
}

void fxt_timeouts_finish(struct fxt_timeouts *t)
{
	fxt_stack_sums_finish(&t->sums);
}

void fxt_timeouts_free(struct fxt_timeouts *t)
{
	free(t->threads);
	fxt_stack_sums_free(&t->sums);
	*t = (struct fxt_timeouts){0};
}
