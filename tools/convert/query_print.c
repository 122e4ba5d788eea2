/* Prints the rows that a statement of SQL gives. See query_print.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_SQLITE

#include "query_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "form_text.h"
#include "tools/printing/print.h"

const char *const fxt_query_format_names[FXT_QUERY_FORMATS] = {"table", "csv", "json"};

/* -- A table ---------------------------------------------------------------------------------------- */

/* So many rows say how wide the columns are. */
enum { FITTED_ROWS = 1000, WIDEST = 100 };

struct cell {
	char *text;
	bool is_number;
};

struct table {
	int columns;
	size_t *widths;
	struct cell *cells;             /* rows that wait until the widths are known */
	size_t count, capacity;
	FILE *out;
};

/* Returns the value as text. NULL is none. */
static const char *text_of(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return text ? (const char *)text : "";
}

static struct cell cell_of(sqlite3_stmt *s, int column)
{
	int type = sqlite3_column_type(s, column);
	struct fxt_text text = fxt_text_of(text_of(s, column));

	return (struct cell){fxt_printable(&text, SIZE_MAX, false),
			     type == SQLITE_INTEGER || type == SQLITE_FLOAT};
}

static void put_cell(const struct table *t, int column, const struct cell *c)
{
	size_t width = t->widths[column], columns = fxt_columns(c->text);
	int pad = columns < width ? (int)(width - columns) : 0;
	bool is_last = column == t->columns - 1;

	if (c->is_number)
		fprintf(t->out, "%*s%s", pad, "", c->text);
	else
		fprintf(t->out, "%s%*s", c->text, is_last ? 0 : pad, "");
	fputs(is_last ? "\n" : "  ", t->out);
}

static void put_cells(struct table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		put_cell(t, (int)(i % (size_t)t->columns), &t->cells[i]);
		free(t->cells[i].text);
	}
	t->count = 0;
}

static void widen(struct table *t, int column, const char *text)
{
	size_t columns = fxt_columns(text);

	if (columns > t->widths[column] && columns <= WIDEST)
		t->widths[column] = columns;
}

static void put_headings(struct table *t, sqlite3_stmt *s)
{
	for (int i = 0; i < t->columns; i++) {
		struct cell c = {.text = (char *)(uintptr_t)sqlite3_column_name(s, i)};

		/* The heading of a number stands above its end. */
		c.is_number = (size_t)i < t->count && t->cells[i].is_number;
		put_cell(t, i, &c);
	}
}

static int print_table(sqlite3_stmt *s, FILE *out)
{
	struct table t = {.columns = sqlite3_column_count(s), .out = out};
	bool has_headings = false;
	int status;

	t.widths = fxt_alloc((size_t)t.columns, sizeof(*t.widths));
	for (int i = 0; i < t.columns; i++)
		widen(&t, i, sqlite3_column_name(s, i));
	while ((status = sqlite3_step(s)) == SQLITE_ROW) {
		t.cells = fxt_grow(t.cells, &t.capacity, t.count + (size_t)t.columns, sizeof(*t.cells));
		for (int i = 0; i < t.columns; i++) {
			t.cells[t.count] = cell_of(s, i);
			if (!has_headings)
				widen(&t, i, t.cells[t.count].text);
			t.count++;
		}
		if (t.count < (size_t)t.columns * FITTED_ROWS && !has_headings)
			continue;
		if (!has_headings)
			put_headings(&t, s);
		has_headings = true;
		put_cells(&t);
	}
	if (!has_headings && status == SQLITE_DONE)
		put_headings(&t, s);
	put_cells(&t);
	free(t.cells);
	free(t.widths);
	return status;
}

/* -- CSV and JSON ------------------------------------------------------------------------------------ */

static void put_csv(struct fxt_form_text *t, const char *text)
{
	if (!text[strcspn(text, "\",\r\n")]) {
		fxt_put_literal(t, text);
		return;
	}
	fxt_put_bytes(t, "\"", 1);
	for (; *text; text++)
		fxt_put_bytes(t, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	fxt_put_bytes(t, "\"", 1);
}

/* Puts a number with a point so that it can be read back as it is. SQLite's own text has 15 digits. */
static void put_double(struct fxt_form_text *t, double value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.15g", value);
	if (strtod(digits, NULL) != value)
		snprintf(digits, sizeof(digits), "%.17g", value);
	fxt_put_literal(t, digits);
}

static int print_csv(sqlite3_stmt *s, FILE *out)
{
	int columns = sqlite3_column_count(s), status;
	struct fxt_form_text t = {0};

	for (int i = 0; i < columns; i++) {
		put_csv(&t, sqlite3_column_name(s, i));
		fxt_put_literal(&t, i < columns - 1 ? "," : "\r\n");
	}
	while ((status = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++) {
			if (sqlite3_column_type(s, i) == SQLITE_FLOAT)
				put_double(&t, sqlite3_column_double(s, i));
			else
				put_csv(&t, text_of(s, i));
			fxt_put_literal(&t, i < columns - 1 ? "," : "\r\n");
		}
		fxt_form_text_flush(&t, out, false);
	}
	fxt_form_text_flush(&t, out, true);
	free(t.data);
	return status;
}

static void put_json_value(struct fxt_form_text *t, sqlite3_stmt *s, int column)
{
	int64_t value;
	bool is_large;

	switch (sqlite3_column_type(s, column)) {
	case SQLITE_NULL: fxt_put_literal(t, "null"); break;
	case SQLITE_FLOAT:
		/* JSON has no infinite numbers. */
		if (isfinite(sqlite3_column_double(s, column)))
			put_double(t, sqlite3_column_double(s, column));
		else
			fxt_put_literal(t, "null");
		break;
	case SQLITE_INTEGER:
		value = sqlite3_column_int64(s, column);
		is_large = (value < 0 ? -(uint64_t)value : (uint64_t)value) > FXT_JSON_DOUBLES;
		if (is_large)
			fxt_put_bytes(t, "\"", 1);
		fxt_put_i64(t, value);
		if (is_large)
			fxt_put_bytes(t, "\"", 1);
		break;
	default: fxt_put_json_string(t, text_of(s, column)); break;
	}
}

static int print_json(sqlite3_stmt *s, FILE *out)
{
	int columns = sqlite3_column_count(s), status;
	struct fxt_form_text t = {0};
	bool has_rows = false;

	fxt_put_bytes(&t, "[", 1);
	while ((status = sqlite3_step(s)) == SQLITE_ROW) {
		fxt_put_literal(&t, has_rows ? ",\n" : "\n");
		has_rows = true;
		for (int i = 0; i < columns; i++) {
			fxt_put_bytes(&t, i ? "," : "{", 1);
			fxt_put_json_string(&t, sqlite3_column_name(s, i));
			fxt_put_bytes(&t, ":", 1);
			put_json_value(&t, s, i);
		}
		fxt_put_bytes(&t, "}", 1);
		fxt_form_text_flush(&t, out, false);
	}
	fxt_put_literal(&t, "\n]\n");
	fxt_form_text_flush(&t, out, true);
	free(t.data);
	return status;
}

int fxt_query_print(sqlite3_stmt *s, enum fxt_query_format format, FILE *out)
{
	if (!sqlite3_column_count(s))
		return sqlite3_step(s);
	switch (format) {
	case FXT_QUERY_CSV: return print_csv(s, out);
	case FXT_QUERY_JSON: return print_json(s, out);
	default: return print_table(s, out);
	}
}

#endif
