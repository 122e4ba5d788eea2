/* Prints numbers, times and strings for people. See print.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

/* Returns the value with three digits and the unit. */
static struct fxt_short three_figures(double value, const char *unit)
{
	struct fxt_short s;

	snprintf(s.text, sizeof(s.text), "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
	return s;
}

struct fxt_short fxt_duration(uint64_t ns)
{
	struct fxt_short s;

	if (ns < 1000) {
		snprintf(s.text, sizeof(s.text), "%" PRIu64 " ns", ns);
		return s;
	}
	if (ns < 999500)
		return three_figures((double)ns / 1e3, "us");
	if (ns < 999500000)
		return three_figures((double)ns / 1e6, "ms");
	return three_figures((double)ns / 1e9, "s");
}

struct fxt_short fxt_bytes(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;
	struct fxt_short s;

	if (bytes < 1024) {
		snprintf(s.text, sizeof(s.text), "%" PRIu64 " B", bytes);
		return s;
	}
	while (value >= 1023.5 && i < sizeof(units) / sizeof(units[0]) - 1) {
		value /= 1024;
		i++;
	}
	return three_figures(value, units[i]);
}

struct fxt_short fxt_count(uint64_t n)
{
	char digits[24];
	struct fxt_short s;
	size_t bytes = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	size_t at = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (i && (bytes - i) % 3 == 0)
			s.text[at++] = ' ';
		s.text[at++] = digits[i];
	}
	s.text[at] = '\0';
	return s;
}

/* Writes the digits to the end of an array that has room for them. Returns the place of the first. */
static size_t put_digits(char digits[static 32], uint64_t number, unsigned base)
{
	size_t at = 32;

	do {
		digits[--at] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	return at;
}

struct fxt_short fxt_seconds(uint64_t ns, uint64_t since_ns)
{
	uint64_t gap = ns >= since_ns ? ns - since_ns : since_ns - ns;
	char digits[32];
	/* Nine places of a second, with a 1 in front so that there are zeros; the point takes its place. */
	size_t at = put_digits(digits, gap % 1000000000 + 1000000000, 10);
	struct fxt_short s;

	digits[at] = '.';
	gap /= 1000000000;
	do {
		digits[--at] = (char)('0' + gap % 10);
		gap /= 10;
	} while (gap);
	if (ns < since_ns)
		digits[--at] = '-';
	memcpy(s.text, digits + at, sizeof(digits) - at);
	s.text[sizeof(digits) - at] = '\0';
	return s;
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t most_columns = FXT_COLUMNS;

size_t fxt_width(void)
{
	return most_columns;
}

void fxt_set_width(size_t columns)
{
	most_columns = columns;
}

size_t fxt_columns(const char *utf8)
{
	size_t n = 0;

	for (; *utf8; utf8++)
		n += !is_continuation(*utf8);
	return n;
}

void fxt_put_padded(FILE *out, const char *utf8, size_t columns)
{
	fputs_unlocked(utf8, out);
	for (size_t width = fxt_columns(utf8); width < columns; width++)
		putc_unlocked(' ', out);
}

enum { INDENT = FXT_HANDLE_COLUMNS + 1, INDENT_OF_NONE = 2 };

void fxt_put_title(FILE *out, const char *title, size_t columns)
{
	fputc('\n', out);
	fxt_put_padded(out, title, INDENT + columns);
}

void fxt_put_label(FILE *out, const char *handle, const char *label, size_t columns)
{
	size_t indent = *handle || !*label ? INDENT : INDENT_OF_NONE;

	fxt_put_padded(out, handle, indent);
	fxt_put_padded(out, label, columns + INDENT - indent);
}

void fxt_put_more(FILE *out, size_t all, size_t shown)
{
	if (all > shown)
		fprintf(out, "  and %zu more\n", all - shown);
}

/* Escapes control characters, C1 ones (0xc2 0x80..0x9f) included: terminals act on both. */
static char *escape(const char *clean, size_t bytes)
{
	char *out = fxt_alloc(bytes * 4 + 1, 1);
	size_t at = 0;

	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)clean[i];

		if (c == '\n' || c == '\t') {
			out[at++] = '\\';
			out[at++] = c == '\n' ? 'n' : 't';
		} else if (c < 0x20 || c == 0x7f) {
			at += (size_t)sprintf(out + at, "\\x%02x", c);
		} else if (c == 0xc2 && i + 1 < bytes && (unsigned char)clean[i + 1] < 0xa0) {
			at += (size_t)sprintf(out + at, "\\x%02x", (unsigned char)clean[++i]);
		} else {
			out[at++] = (char)c;
		}
	}
	out[at] = '\0';
	return out;
}

static char *skip(char *text, size_t columns)
{
	for (; columns && *text; columns--) {
		do {
			text++;
		} while (is_continuation(*text));
	}
	return text;
}

/* Returns how much of the beginning stays of a text that is cut in the middle. The last part of a path
 * is kept whole, so less or nothing stays of its beginning if that part is long. */
static size_t kept_of_beginning(const char *text, size_t columns)
{
	enum { SHORT = 20, WORTH_IT = 5 };
	const char *last = strrchr(text, '/');
	size_t most = columns < SHORT ? 0 : columns / 3, end = last ? fxt_columns(last) + 2 : 0;

	if (end + most > columns)
		most = end < columns ? columns - end : 0;
	return most < WORTH_IT ? 0 : most;
}

static void cut(char *text, size_t columns, bool keep_end)
{
	size_t width, kept;
	char *from, *to;

	/* No character takes more columns than it has bytes. */
	if (columns < 3 || strlen(text) <= columns)
		return;
	width = fxt_columns(text);
	if (width <= columns)
		return;
	kept = keep_end ? kept_of_beginning(text, columns) : columns - 2;
	from = skip(text, kept);
	to = skip(from, width - columns + 2);
	memcpy(from, "..", 2);
	memmove(from + 2, to, strlen(to) + 1);
}

/* Returns a copy of the text. If the text is far longer than the columns, only as much of its beginning
 * and its end is copied as may be shown, because thousands of records may refer to one text of 32000
 * bytes. */
static char *copy_ends(const struct fxt_text *t, size_t columns, size_t *bytes)
{
	size_t head = t->bytes, tail = 0;
	char *copy;

	if (t->bytes > 8 && columns < t->bytes / 8 - 1) {
		head = tail = (columns + 1) * 4;        /* no character has more bytes */
		for (int i = 0; i < 3 && is_continuation(t->text[head]); i++)
			head--;
		for (int i = 0; i < 3 && is_continuation(t->text[t->bytes - tail]); i++)
			tail--;
	}
	*bytes = head + tail;
	copy = fxt_alloc(*bytes + 1, 1);
	memcpy(copy, t->text, head);
	memcpy(copy + head, t->text + t->bytes - tail, tail);
	return copy;
}

/* Returns whether the text needs no escapes, as is true of nearly all. */
static bool is_plain(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

char *fxt_printable(const struct fxt_text *t, size_t columns, bool keep_end)
{
	size_t bytes;
	char *text = copy_ends(t, columns, &bytes), *out = text, *fitting;

	if (!is_plain(text, bytes)) {
		bytes = fxt_utf8_clean(text, text, bytes, bytes);
		out = escape(text, bytes);
		free(text);
	}
	cut(out, columns, keep_end);
	fitting = realloc(out, strlen(out) + 1);
	return fitting ? fitting : out;
}

void fxt_put_line(FILE *out, char *line)
{
	struct fxt_text text = fxt_text_of(line);
	char *cut = fxt_printable(&text, fxt_width(), false);

	fprintf(out, "%s\n", cut);
	free(cut);
	free(line);
}

void fxt_put_wrapped(FILE *out, const struct fxt_text *t, size_t indent, size_t lines)
{
	size_t columns = fxt_width() - indent;
	char *text = fxt_printable(t, lines * columns, false), *at = text;

	while (fxt_columns(at) > columns) {
		char *next = skip(at, columns), *space = memrchr(at, ' ', (size_t)(next - at));

		if (space && space > at + (next - at) / 2)
			next = space + 1;
		fprintf(out, "%.*s\n%*s", (int)(next - at), at, (int)indent, "");
		at = next;
	}
	fprintf(out, "%s\n", at);
	free(text);
}

void fxt_put_text(FILE *out, const struct fxt_text *t)
{
	char *text;

	if (is_plain(t->text, t->bytes)) {
		fwrite_unlocked(t->text, 1, t->bytes, out);
		return;
	}
	text = fxt_printable(t, SIZE_MAX, false);
	fputs(text, out);
	free(text);
}

void fxt_put_number(FILE *out, uint64_t number, size_t columns)
{
	char digits[32];
	size_t at = put_digits(digits, number, 10);

	for (; 32 - at < columns && at; at--)
		digits[at - 1] = ' ';
	fwrite_unlocked(digits + at, 1, 32 - at, out);
}

static void put_address(FILE *out, uint64_t address)
{
	char digits[32];
	size_t at = put_digits(digits, address, 16);

	digits[--at] = 'x';
	digits[--at] = '0';
	fwrite_unlocked(digits + at, 1, 32 - at, out);
}

void fxt_put_argument(FILE *out, const struct fxt_argument *a)
{
	fxt_put_text(out, &a->name);
	putc_unlocked('=', out);
	switch (a->type) {
	case FXT_ARG_NULL: fputs("null", out); break;
	case FXT_ARG_INT32:
	case FXT_ARG_INT64: fprintf(out, "%" PRId64, a->i); break;
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID: fxt_put_number(out, a->u, 0); break;
	case FXT_ARG_DOUBLE: fprintf(out, "%.10g", a->f); break;
	case FXT_ARG_POINTER: put_address(out, a->u); break;
	case FXT_ARG_BOOL: fputs(a->u ? "true" : "false", out); break;
	case FXT_ARG_STRING:
		putc_unlocked('"', out);
		fxt_put_text(out, &a->string);
		putc_unlocked('"', out);
		break;
	}
}

char *fxt_thread_label(const struct fxt_reader *r, uint32_t thread, bool with_process)
{
	const struct fxt_trace_thread *t = &r->threads[thread];
	struct fxt_text process = fxt_process_name(r, t->pid);
	struct fxt_text own = fxt_thread_name(r, thread);
	char *name = fxt_printable(&own, 32, false);
	char *label;

	if (!with_process) {
		label = fxt_format("%s%s%" PRIu64, name, *name ? " " : "", fxt_number(r, t->tid));
	} else {
		char *program = fxt_printable(&process, 32, false);

		label = fxt_format("%" PRIu64 "/%" PRIu64 "%s%s", fxt_number(r, t->pid),
				   fxt_number(r, t->tid), *name || *program ? " " : "",
				   *name ? name : program);
		free(program);
	}
	free(name);
	return label;
}
