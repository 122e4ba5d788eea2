/* Makes the wrappers of formatted input: stdio_scan.def. The variadic functions are written by hand.
 * <stdio.h> and <wchar.h> are not included: they give scanf the assembler name of __isoc99_scanf, and here
 * each name stands for itself. */
#include <stddef.h>

#include <bits/types/FILE.h>
#include <bits/types/struct_FILE.h>

#include "interpose/engine/variadic.h"

extern FILE *stdin;
extern int ferror_unlocked(FILE *stream);

#define FXT_TABLE "interpose/tables/stdio_scan.def"
#include "interpose/engine/wrappers.inc"

#define SCAN(symbol, event, v_symbol, character)				\
	FXT_VARIADIC(int, symbol, event, v_symbol, BLOCKS(stdin), STDIN_INT,	\
		     (const character *, format, SKIP))
#define STREAM_SCAN(symbol, event, v_symbol, character)							\
	FXT_VARIADIC(int, symbol, event, v_symbol, BLOCKS(stream), EOF_INT, (FILE *, stream, PTR),	\
		     (const character *, format, SKIP))

SCAN(scanf, scanf, vscanf, char)
SCAN(wscanf, wscanf, vwscanf, wchar_t)
SCAN(__isoc99_scanf, scanf, __isoc99_vscanf, char)
SCAN(__isoc99_wscanf, wscanf, __isoc99_vwscanf, wchar_t)
SCAN(__isoc23_scanf, scanf, __isoc23_vscanf, char)
SCAN(__isoc23_wscanf, wscanf, __isoc23_vwscanf, wchar_t)
STREAM_SCAN(fscanf, fscanf, vfscanf, char)
STREAM_SCAN(fwscanf, fwscanf, vfwscanf, wchar_t)
STREAM_SCAN(__isoc99_fscanf, fscanf, __isoc99_vfscanf, char)
STREAM_SCAN(__isoc99_fwscanf, fwscanf, __isoc99_vfwscanf, wchar_t)
STREAM_SCAN(__isoc23_fscanf, fscanf, __isoc23_vfscanf, char)
STREAM_SCAN(__isoc23_fwscanf, fwscanf, __isoc23_vfwscanf, wchar_t)

#define FXT_REALS fxt_reals_stdio_scan
#include "interpose/engine/reals.inc"
