/* See log.h. Called by the agent's slow paths. */
#include "log.h"

#include <stdarg.h>
#include <string.h>

#include "writer/decimal.h"
#include "writer/sys.h"

static bool quiet;

void fxt_log_quiet(bool value)
{
	quiet = value;
}

const char *fxt_error_name(int error)
{
	const char *name = strerrordesc_np(error < 0 ? -error : error);

	return name ? name : "unknown error";
}

struct line {
	size_t used;
	char text[512];
};

static void add(struct line *line, const char *text, size_t bytes)
{
	if (bytes > sizeof(line->text) - 1 - line->used)
		bytes = sizeof(line->text) - 1 - line->used;
	memcpy(line->text + line->used, text, bytes);
	line->used += bytes;
}

static void add_number(struct line *line, unsigned long value)
{
	char digits[FXT_DECIMAL_BYTES];
	size_t bytes = fxt_decimal(digits, value);

	add(line, digits, bytes);
}

static void add_signed(struct line *line, long value)
{
	if (value < 0)
		add(line, "-", 1);
	add_number(line, value < 0 ? -(unsigned long)value : (unsigned long)value);
}

void fxt_log(const char *format, ...)
{
	struct line line = {0};
	va_list list;
	const char *p, *text;

	if (quiet)
		return;
	add(&line, "fxtagent[", 9);
	add_number(&line, (unsigned long)fxt_sys_getpid());
	add(&line, "]: ", 3);
	va_start(list, format);
	for (p = format; *p; p++) {
		if (*p != '%') {
			add(&line, p, 1);
			continue;
		}
		switch (*++p) {
		case 's':
			text = va_arg(list, const char *);
			add(&line, text, strlen(text));
			break;
		case 'd':
			add_signed(&line, va_arg(list, int));
			break;
		case 'l':
			p++;
			add_number(&line, va_arg(list, unsigned long));
			break;
		default:
			add(&line, p, 1);
		}
	}
	va_end(list);
	line.text[line.used++] = '\n';
	fxt_sys_write(2, line.text, line.used);
}
