/* Single characters: stdio_char.def. They are many and short: one is shown as in progress only when the
 * buffer does not serve it. */
/* No bodies from headers for what is defined here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <stdio.h>
#include <wchar.h>

#include "said.h"
#include "stream.h"

typedef wchar_t *wchar_pointer;

#define FXT_SAID_putc , said_putc
#define FXT_SAID__IO_putc , said__IO_putc
#define FXT_SAID_fputc , said_fputc
#define FXT_SAID_putc_unlocked , said_putc_unlocked
#define FXT_SAID_fputc_unlocked , said_fputc_unlocked
#define FXT_SAID___overflow , said___overflow
#define FXT_SAID_putchar , said_putchar
#define FXT_SAID_putchar_unlocked , said_putchar_unlocked
#define FXT_SAID_putwc , said_putwc
#define FXT_SAID_fputwc , said_fputwc
#define FXT_SAID_putwc_unlocked , said_putwc_unlocked
#define FXT_SAID_fputwc_unlocked , said_fputwc_unlocked
#define FXT_SAID_fputws , said_fputws
#define FXT_SAID_fputws_unlocked , said_fputws_unlocked

static inline int said_putc(int c, FILE *stream);
static inline int said__IO_putc(int c, FILE *stream);
static inline int said_fputc(int c, FILE *stream);
static inline int said_putc_unlocked(int c, FILE *stream);
static inline int said_fputc_unlocked(int c, FILE *stream);
static inline int said_putchar(int c);
static inline int said_putchar_unlocked(int c);
static inline int said___overflow(FILE *stream, int c);
static inline wint_t said_putwc(wchar_t wc, FILE *stream);
static inline wint_t said_fputwc(wchar_t wc, FILE *stream);
static inline wint_t said_putwc_unlocked(wchar_t wc, FILE *stream);
static inline wint_t said_fputwc_unlocked(wchar_t wc, FILE *stream);
static inline int said_fputws(const wchar_t *ws, FILE *stream);
static inline int said_fputws_unlocked(const wchar_t *ws, FILE *stream);

#define FXT_TABLE "stdio_char.def"
#include "wrappers.inc"

#define SAID(type, symbol, stream, params, args, accepted, say) \
	static inline type said_##symbol params                 \
	{                                                       \
		type result = real_##symbol args;               \
								\
		if (fxt_is_stderr_stream(stream) && (accepted)) \
			say;                                    \
		return result;                                  \
	}

#define SAID_PUTC(symbol) SAID(int, symbol, stream, (int c, FILE *stream), (c, stream), true, fxt_said_character(result))
#define SAID_PUTWC(symbol)                                                                                      \
	SAID(wint_t, symbol, stream, (wchar_t wc, FILE *stream), (wc, stream), result != WEOF, fxt_said_wide(&wc, 1))
#define SAID_FPUTWS(symbol)                                                                                     \
	SAID(int, symbol, stream, (const wchar_t *ws, FILE *stream), (ws, stream), result >= 0, fxt_said_wide(ws, SIZE_MAX))

SAID_PUTC(putc)
SAID_PUTC(_IO_putc)
SAID_PUTC(fputc)
SAID_PUTC(putc_unlocked)
SAID_PUTC(fputc_unlocked)
SAID(int, putchar, stdout, (int c), (c), true, fxt_said_character(result))
SAID(int, putchar_unlocked, stdout, (int c), (c), true, fxt_said_character(result))
/* Without a character it only makes room. */
SAID(int, __overflow, stream, (FILE * stream, int c), (stream, c), c != EOF, fxt_said_character(result))
SAID_PUTWC(putwc)
SAID_PUTWC(fputwc)
SAID_PUTWC(putwc_unlocked)
SAID_PUTWC(fputwc_unlocked)
SAID_FPUTWS(fputws)
SAID_FPUTWS(fputws_unlocked)

#define FXT_REALS fxt_reals_stdio_char
#include "reals.inc"
