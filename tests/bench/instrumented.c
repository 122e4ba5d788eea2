/* The instrumented call that workload.c measures. This file is compiled with -finstrument-functions. */
void instrumented(void);

void instrumented(void)
{
	__asm__ volatile("");
}
