/* Finds lines of source. See source_lines.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "source_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"

bool fxt_source_line(struct fxt_frame_names *names, const struct fxt_frame_at *at,
		     struct fxt_source_place *place)
{
	const struct fxt_code_level *innermost;
	const struct fxt_frame_place *found;
	const char *slash;

	*place = (struct fxt_source_place){.line = 0};
	if (!names)
		return false;
	found = fxt_frame_place(names, at);
	innermost = &found->levels[0];
	if (innermost->line <= 0)
		return false;
	slash = strrchr(innermost->file, '/');
	place->line = innermost->line;
	snprintf(place->file, sizeof(place->file), "%s", slash && slash[1] ? slash + 1 : innermost->file);
	if (found->count > 1 && innermost->function) {
		struct fxt_text full = fxt_text_of(innermost->function);
		char *name = fxt_shorten_demangled(&full, sizeof(place->function) - 1);

		snprintf(place->function, sizeof(place->function), "%s", name);
		free(name);
	}
	return true;
}
