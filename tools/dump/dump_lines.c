/* The order of the lines that fxt dump prints, and which of them. See dump.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "tools/common/message.h"
#include "tools/export/sorter.h"

struct fxt_dump_lines {
	const struct fxt_dump_options *options;
	FILE *out;
	struct fxt_sorter sorter;
	FILE *line;                     /* the line that is being made; NULL: it goes to `out` */
	char *text;
	size_t bytes;
	char **last;                    /* the last lines, of which the oldest is at `next` */
	size_t next;
};

struct fxt_dump_lines *fxt_dump_lines_begin(const struct fxt_dump_options *options, FILE *out)
{
	const char *directory = getenv("TMPDIR");
	struct fxt_dump_lines *l = fxt_alloc(1, sizeof(*l));

	l->options = options;
	l->out = out;
	l->sorter.directory = directory && *directory ? directory : "/tmp";
	if (options->tail)
		l->last = fxt_alloc(options->tail, sizeof(*l->last));
	return l;
}

FILE *fxt_dump_line(struct fxt_dump_lines *l)
{
	if (!l->options->sorted && !l->options->tail)
		return l->out;
	l->line = fxt_text_stream(&l->text, &l->bytes);
	return l->line;
}

/* Prints a line, which is freed, or keeps it among the last. */
static void give(struct fxt_dump_lines *l, char *line)
{
	if (!l->options->tail) {
		fputs(line, l->out);
		free(line);
		return;
	}
	free(l->last[l->next]);
	l->last[l->next] = line;
	l->next = (l->next + 1) % l->options->tail;
}

void fxt_dump_line_end(struct fxt_dump_lines *l, const struct fxt_record *rec)
{
	struct fxt_sorter_key key = {.tie = rec->offset};

	if (!l->line)
		return;
	fclose(l->line);
	l->line = NULL;
	if (!l->options->sorted) {
		give(l, l->text);
		return;
	}
	if (rec->timed && rec->known)
		key.time = fxt_ns(rec->provider, rec->ticks);
	key.bytes = (uint32_t)l->bytes + 1;
	fxt_sorter_add(&l->sorter, &key, l->text);
	free(l->text);
}

char *fxt_dump_lines_end(struct fxt_dump_lines *l)
{
	struct fxt_sorter_item item;
	char *wrong = NULL;

	if (l->options->sorted && fxt_sorter_turn(&l->sorter)) {
		while (!ferror(l->out) && fxt_sorter_next(&l->sorter, &item))
			give(l, fxt_strdup((const char *)item.data));
	}
	if (l->sorter.error)
		wrong = fxt_format("its lines cannot be sorted in %s: %s", l->sorter.directory,
				   strerror(l->sorter.error));
	for (size_t i = 0; i < l->options->tail; i++) {
		char *line = l->last[(l->next + i) % l->options->tail];

		if (line)
			fputs(line, l->out);
		free(line);
	}
	fxt_sorter_free(&l->sorter);
	free(l->last);
	free(l);
	return wrong;
}
