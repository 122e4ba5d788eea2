/* See moved.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/waits/moved.h"

static void forget(struct fxt_moved *m, uint64_t pid, uint64_t fd)
{
	struct fxt_slot *s = fxt_map_find(&m->by_fd, pid, fd);

	if (s)
		fxt_map_remove(&m->by_fd, s);
}

/* Returns whether the call has moved something: it found neither an end nor an error. */
static bool has_moved(const struct fxt_record *rec)
{
	const struct fxt_argument *ret = fxt_argument(rec, "ret");
	uint64_t value;

	return !ret || (fxt_argument_u64(ret, &value) && value && (int64_t)value > 0);
}

void fxt_moved_take(struct fxt_moved *m, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role)
{
	uint64_t pid = r->threads[rec->thread].pid, fd;
	bool reads = role->effect == FXT_EFFECT_READ || role->effect == FXT_EFFECT_READ_THINGS ||
		     role->effect == FXT_EFFECT_GET || role->effect == FXT_EFFECT_READ_SOME;
	bool writes = role->effect == FXT_EFFECT_WRITE || role->effect == FXT_EFFECT_WRITE_THINGS ||
		      role->effect == FXT_EFFECT_PUT || role->effect == FXT_EFFECT_WRITE_SOME;
	bool fresh;

	if (role->effect == FXT_EFFECT_DUP && fxt_argument_u64(fxt_argument(rec, "ret"), &fd))
		forget(m, pid, fd);
	if (!role->argument || !fxt_argument_u64(fxt_argument(rec, role->argument), &fd))
		return;
	if (role->effect == FXT_EFFECT_CLOSE || role->effect == FXT_EFFECT_CLOSE_STREAM)
		forget(m, pid, fd);
	else if ((reads || writes) && has_moved(rec))
		fxt_map_put(&m->by_fd, pid, fd, &fresh)->value[writes]++;
}

static uint64_t count_of(const struct fxt_moved *m, uint64_t pid, uint64_t fd, bool writes)
{
	const struct fxt_slot *s = fxt_map_find(&m->by_fd, pid, fd);

	return s ? s->value[writes] : 0;
}

uint64_t fxt_moved_in(const struct fxt_moved *m, uint64_t pid, uint64_t fd)
{
	return count_of(m, pid, fd, false);
}

uint64_t fxt_moved_out(const struct fxt_moved *m, uint64_t pid, uint64_t fd)
{
	return count_of(m, pid, fd, true);
}

void fxt_moved_free(struct fxt_moved *m)
{
	fxt_map_free(&m->by_fd);
}
