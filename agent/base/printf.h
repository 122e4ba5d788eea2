/* Formats the text that a call of printf has written once more. Calls like printf to standard error write
 * inside the C library, where nobody sees the text. The C library's own printf is not called for this: it may
 * allocate, takes the locale's lock, and calls the functions that the program has registered for conversions
 * of its own, which would then run twice.
 *
 * This code has no state, no side effects (%n stores nothing), and no limit to its output but that of the
 * arguments. It writes as in the C locale, and refuses what it does not know. Any context. Floating point
 * numbers need some KiB of stack, and are refused where there is less.
 */
#ifndef FXT_PRINTF_H
#define FXT_PRINTF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct fxt_format {
	const char *narrow;             /* the format: one of the two, the other is NULL */
	const wchar_t *wide;
	int error;                      /* the error number that %m stands for */
};

struct fxt_format_out {
	void (*put)(void *context, const char *bytes, size_t count);    /* NULL: the output is only counted */
	void *context;
	uint64_t count;                 /* as printf returns it: bytes, or characters for a wide format */
};

/* Writes the formatted text by `put`. Returns false if the format has something that is not known; then the
 * text in front of that was put. `list` is left as it was. */
bool fxt_format(struct fxt_format_out *out, const struct fxt_format *format, va_list list);

/* Makes fxt_format() refuse everything from here on, because the program has registered conversions of its
 * own, or other meanings of the known ones. */
void fxt_format_registered(void);

/* Writes the format itself, as UTF-8. */
void fxt_format_itself(struct fxt_format_out *out, const struct fxt_format *format);

/* Writes wide characters as UTF-8: `count` of them, or those in front of the null character. */
void fxt_format_wide(struct fxt_format_out *out, const wchar_t *text, size_t count);

#endif
