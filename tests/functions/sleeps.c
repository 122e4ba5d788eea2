/* Sleeps for so many milliseconds, in a function that three others have called. */
#include <unistd.h>

#include "counted.h"

COUNTED static int leaf(int ms)
{
	int status;

	HERE;
	status = usleep((useconds_t)ms * 1000);
	KEEP(status);
	return status;
}

COUNTED static int mid(int ms)
{
	int status;

	HERE;
	status = leaf(ms);
	KEEP(status);
	return status;
}

COUNTED static int top(int ms)
{
	int status;

	HERE;
	status = mid(ms);
	KEEP(status);
	return status;
}

int main(int argc, char **argv)
{
	HERE;
	need(argc == 2 && !top(atoi(argv[1])));
	print_counts();
	return 0;
}
