/* Has a child that watches over it. The fault: the child is not told when the program ends, and stays. */
#include "beside.h"

pid_t start_watchdog(void)
{
	pid_t child = fork(); /* FAULT */

	if (child == 0)
		for (int tick = 0; tick < 10; tick++)
			usleep(100000);
	return child;
}

int main(void)
{
	if (start_watchdog() == 0)
		return 0;
	work(20000);
	return 0;
}
