/* See parts.h. Each function goes through the table of the parts. */
#include "parts.h"

static const struct fxt_part *parts;
static unsigned part_count;

void fxt_parts_use(const struct fxt_part *table, unsigned count)
{
	parts = table;
	part_count = count;
}

/* Calls the function `what` of each part that has one, in the order of the table. */
#define EACH(what, ...)                                 \
	for (unsigned i_ = 0; i_ < part_count; i_++)    \
		if (parts[i_].what)                     \
			parts[i_].what(__VA_ARGS__)

void fxt_parts_start(void)
{
	EACH(start);
}

void fxt_parts_mode(void)
{
	EACH(mode);
}

void fxt_parts_again(void)
{
	EACH(again);
}

void fxt_parts_woken(void)
{
	EACH(woken);
}

void fxt_parts_prepare(void)
{
	EACH(prepare);
}

void fxt_parts_child(void)
{
	EACH(child);
}

void fxt_parts_deferred(struct fxt_thread *thread, uint64_t now_ns)
{
	EACH(deferred, thread, now_ns);
}

void fxt_parts_thread_ends(struct fxt_thread *thread)
{
	EACH(thread_ends, thread);
}

void fxt_parts_thread_is_gone(struct fxt_thread *thread)
{
	EACH(thread_is_gone, thread);
}

void fxt_parts_triggered(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			 size_t bytes, uint64_t ns, int error)
{
	EACH(triggered, thread, trigger, name, bytes, ns, error);
}

void fxt_parts_storage_ends(int why)
{
	EACH(storage_ends, why);
}

void fxt_parts_exit(struct fxt_thread *thread)
{
	EACH(exits, thread);
}
