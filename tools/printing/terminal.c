/* See terminal.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "print.h"
#include "tools/common/message.h"

/* A line that is longer than this is no longer read with ease, and one of fewer columns than that has no room
 * for a word behind the indentation. */
enum { MOST_COLUMNS = 200, LEAST_COLUMNS = 30, FURTHER_IN = 4 };

/* -- Folding ----------------------------------------------------------------------------------------- */

static bool is_within_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns the place in the text behind so many characters, or its end. */
static size_t behind(const char *text, size_t columns)
{
	size_t at = 0;

	while (text[at] && (columns || is_within_character(text[at]))) {
		columns -= !is_within_character(text[at]);
		at++;
	}
	/* The bytes of the last character belong to it. */
	while (is_within_character(text[at]))
		at++;
	return at;
}

/* Returns where to end a line of the text that has room for `most` bytes. Between two columns of a table is
 * the best place, if that leaves no more than half of the line empty. */
static size_t end_of_line(const char *text, size_t most)
{
	size_t word = 0, column = 0;

	for (size_t i = 1; i <= most; i++) {
		if (text[i] != ' ' || text[i - 1] == ' ')
			continue;
		word = i;
		if (text[i + 1] == ' ')
			column = i;
	}
	return column > most / 2 ? column : word ? word : most;
}

void fxt_put_folded(FILE *out, const char *line, size_t columns)
{
	size_t indent = strspn(line, " ");

	line += indent;
	columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
	indent = indent < columns / 2 ? indent : columns / 2;
	fprintf(out, "%*s", (int)indent, "");
	for (size_t in = indent; fxt_columns(line) > columns - in; in = indent + FURTHER_IN) {
		size_t end = end_of_line(line, behind(line, columns - in));

		fprintf(out, "%.*s\n%*s", (int)end, line, (int)indent + FURTHER_IN, "");
		line += end;
		line += strspn(line, " ");
	}
	fprintf(out, "%s\n", line);
}

/* -- The stream -------------------------------------------------------------------------------------- */

static struct {
	char *line;             /* what was printed of the current line */
	size_t bytes, capacity;
	size_t columns;
} folding;

static ssize_t fold(void *context, const char *text, size_t bytes)
{
	(void)context;
	for (size_t i = 0; i < bytes; i++) {
		folding.line = fxt_grow(folding.line, &folding.capacity, folding.bytes + 1, 1);
		folding.line[folding.bytes++] = text[i];
		if (text[i] != '\n')
			continue;
		folding.line[folding.bytes - 1] = '\0';
		fxt_put_folded(stdout, folding.line, folding.columns);
		folding.bytes = 0;
	}
	return (ssize_t)bytes;
}

FILE *fxt_terminal_open(void)
{
	struct winsize size = {0};
	FILE *out = NULL;

	/* A terminal that does not know its size says that it is 0. */
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return stdout;
	if (size.ws_col < FXT_COLUMNS) {
		folding.columns = size.ws_col;
		out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = fold});
	} else {
		fxt_set_width(size.ws_col < MOST_COLUMNS ? size.ws_col : MOST_COLUMNS);
	}
	return out ? out : stdout;
}

void fxt_terminal_close(FILE *out)
{
	fxt_set_width(FXT_COLUMNS);
	if (out == stdout)
		return;
	fclose(out);
	/* The end of the last line, if that has none. */
	if (folding.bytes)
		fwrite(folding.line, 1, folding.bytes, stdout);
	free(folding.line);
	folding.line = NULL;
	folding.bytes = folding.capacity = 0;
}
