/* Looks into many sources in turn. The fault: what it opens it does not close. */
#include "beside.h"

#include <fcntl.h>

int open_source(int number)
{
	char path[32];

	snprintf(path, sizeof path, "source.%d", number % 40);
	return open(path, O_RDWR | O_CREAT, 0600); /* FAULT */
}

int main(void)
{
	char line[64] = "";

	for (int number = 0; number < 600; number++) {
		int source = open_source(number);

		must(source >= 0 && write(source, line, sizeof line) == sizeof line, "source");
		work(100);
	}
	return 0;
}
