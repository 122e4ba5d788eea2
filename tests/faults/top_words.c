/* Counts words and prints the table through a pager. The fault: the pager shows one line and ends, and the
 * program dies of SIGPIPE in the middle of its table. */
#include "beside.h"

#include <signal.h>

FILE *pager;

void print_row(int row)
{
	char line[4096];

	memset(line, 'x', sizeof line);
	snprintf(line, sizeof line, "%6d", row);
	line[sizeof line - 1] = '\n';
	fwrite(line, 1, sizeof line, pager); /* FAULT */
}

int main(void)
{
	signal(SIGPIPE, SIG_DFL);
	work(2000);
	pager = popen("head -n 1 >/dev/null", "w");
	must(pager != NULL, "popen");
	for (int row = 0; row < 2000; row++) {
		work(5);
		print_row(row);
	}
	return pclose(pager) != 0;
}
