/* Runs jobs, each in a child. The fault: nobody reaps the children. */
#include "beside.h"

void start_job(int job)
{
	pid_t child = fork(); /* FAULT */

	must(child >= 0, "fork");
	if (child == 0) {
		work((unsigned)job);
		_exit(0);
	}
}

int main(void)
{
	for (int job = 0; job < 60; job++) {
		work(500);
		start_job(job);
	}
	return 0;
}
