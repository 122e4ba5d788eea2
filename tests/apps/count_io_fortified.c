/* count_io.c as distributions build programs: with the checking variants and 64-bit offsets, __read_chk, __pread64_chk,
 * open64, __fprintf_chk, __isoc99_fscanf. In the trace they have their plain names, and the counts are the same. */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#define _FILE_OFFSET_BITS 64
#include "count_io.c"
