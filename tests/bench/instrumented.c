/* The function that workload.c measures. This file is compiled once for each way in which functions are
 * recorded, each time with another NAME: with -finstrument-functions, with -pg, with
 * -fpatchable-function-entry, and as a library, which is called through a linkage table. */
#ifndef NAME
#define NAME instrumented
#endif

void NAME(void);

void NAME(void)
{
	__asm__ volatile("");
}
