/* Converts each file of a batch by a child. The fault: a child that fails is reaped, and its status looked
 * at by nobody; the batch ends with 0. */
#include "beside.h"

#include <sys/wait.h>

void decode(int item)
{
	work(50);
	_exit(item % 4 == 2 ? 3 : 0);
}

void convert_one(int item)
{
	pid_t child = fork(); /* FAULT */

	must(child >= 0, "fork");
	if (child == 0)
		decode(item);
	waitpid(child, NULL, 0); /* FAULT */
}

int main(void)
{
	for (int item = 0; item < 12; item++) {
		work(200);
		convert_one(item);
	}
	puts("12 files");
	return 0;
}
