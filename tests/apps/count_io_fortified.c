/* This is count_io.c, built as distributions build programs: it calls the variants that check sizes or have
 * 64-bit offsets, such as __read_chk, __pread64_chk, open64, __fprintf_chk and __isoc99_fscanf. In the trace
 * they have their plain names, and the counts are the same. */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#define _FILE_OFFSET_BITS 64
#include "count_io.c"
