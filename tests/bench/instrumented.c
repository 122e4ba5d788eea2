/* The instrumented call of workload.c; compiled with -finstrument-functions. */
void instrumented(void);

void instrumented(void)
{
	__asm__ volatile("");
}
