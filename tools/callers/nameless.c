/* Finds functions without a name. See nameless.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "nameless.h"

#include <stdlib.h>

#include "tools/common/map.h"
#include "tools/common/message.h"
#include "tools/programs/elf_facts.h"
#include "tools/programs/frame_names.h"

/* Returns the slot of a file: its place among those that are cut off, plus 1, or 0. */
static const struct fxt_slot *file_of(struct fxt_nameless *n, struct fxt_map *files, uint32_t module,
				      const struct fxt_reader *r)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(files, module, 0, &fresh);
	struct fxt_text path;
	char *name;

	if (!fresh)
		return slot;
	path = fxt_symbol_text(r, module);
	name = fxt_format("%.*s", (int)path.bytes, path.text);
	if (fxt_elf_is_cut(name)) {
		n->cut = fxt_grow(n->cut, &n->cut_capacity, n->cut_count + 1, sizeof(*n->cut));
		n->cut[n->cut_count++] = (struct fxt_cut_file){.path = path};
		slot->value[0] = n->cut_count;
	}
	free(name);
	return slot;
}

void fxt_nameless_find(struct fxt_nameless *n, const struct fxt_call_stacks *stacks,
		       const struct fxt_reader *r)
{
	struct fxt_map seen = {0}, files = {0};

	for (size_t i = 0; i < stacks->count; i++) {
		const struct fxt_call_frame *frame = &stacks->frames[i];
		const struct fxt_slot *file;
		bool fresh = false;

		if (frame->module && fxt_frame_is_nameless(r, frame))
			fxt_map_put(&seen, frame->module, frame->offset, &fresh);
		if (!fresh)
			continue;
		n->functions++;
		file = file_of(n, &files, frame->module, r);
		if (file->value[0])
			n->cut[file->value[0] - 1].functions++;
	}
	fxt_map_free(&seen);
	fxt_map_free(&files);
}

void fxt_nameless_free(struct fxt_nameless *n)
{
	free(n->cut);
	*n = (struct fxt_nameless){0};
}
