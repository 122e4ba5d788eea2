/* System calls made by way of syscall() that move bytes, or change what a number stands for: see by_number.c. */
#ifndef FXT_BY_NUMBER_H
#define FXT_BY_NUMBER_H

/* Before the call. */
void fxt_streams_by_number(long number, const long *args);

#endif
