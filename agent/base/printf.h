/* What a printf has written, made once more: printf-like calls to standard error write inside the C library,
 * where nobody sees it. It is not the C library's printf that is called for that: it may allocate, takes the
 * locale's lock, and calls what the program has registered for conversions of its own, which would run twice.
 * This one has no state, no side effects (%n stores nothing) and no limit to its output but the arguments';
 * it makes what the C locale has. What it does not know it refuses. Any context, but for floating point
 * numbers, which want some KiB of stack: where there is less it refuses as well.
 */
#ifndef FXT_PRINTF_H
#define FXT_PRINTF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct fxt_format {
	const char *narrow;             /* the format: one of these, the other is NULL */
	const wchar_t *wide;
	int error;                      /* what %m stands for */
};

struct fxt_format_out {
	void (*put)(void *context, const char *bytes, size_t count);    /* NULL: the output is only counted */
	void *context;
	uint64_t count;                 /* as printf returns it: bytes, of a wide format characters */
};

/* False: there is something in it that is not known. What comes before that has been put. `list` is as it
 * was. */
bool fxt_format(struct fxt_format_out *out, const struct fxt_format *format, va_list list);

/* The program has registered conversions of its own, or other meanings: no format is known from here on. */
void fxt_format_registered(void);

/* The format itself, as UTF-8. */
void fxt_format_itself(struct fxt_format_out *out, const struct fxt_format *format);

/* Wide characters, as UTF-8: `count` of them, or up to the null one. */
void fxt_format_wide(struct fxt_format_out *out, const wchar_t *text, size_t count);

#endif
