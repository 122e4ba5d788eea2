/* Finds the functions of call stacks for the critical path. See critical_graph.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "critical_graph.h"

/* Returns whether the node names a function that somebody has written: none of the kernel's, and no wrapper,
 * which does its caller's work. */
static bool counts(struct fxt_who *who, uint32_t frame)
{
	const struct fxt_call_frame *f = &who->stacks.frames[frame];
	struct fxt_text name;

	if (!f->name || fxt_is_wrapper(&who->culprits, FXT_FOR_CALL, frame))
		return false;
	name = fxt_symbol_text(who->r, f->name);
	return name.bytes && name.text[0] != '[';
}

size_t fxt_critical_functions(struct fxt_critical *c, struct fxt_who *who, uint32_t frame, uint32_t *list)
{
	size_t count = 0, k;

	for (size_t depth = 0; frame != FXT_NO_FRAME && depth < FXT_CRITICAL_DEPTH; depth++) {
		const struct fxt_call_frame *f = &who->stacks.frames[frame];

		if (counts(who, frame)) {
			uint32_t thing = fxt_graph_thing(c, FXT_CRITICAL_FUNCTION, f->name, f->module);

			if (c->things[thing].frame == FXT_NO_FRAME)
				c->things[thing].frame = frame;
			for (k = 0; k < count && list[k] != thing; k++)
				;
			if (k == count)
				list[count++] = thing;
		}
		frame = f->parent;
	}
	return count > 1 ? count - 1 : count;
}
