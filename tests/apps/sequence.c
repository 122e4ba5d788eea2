/* Makes numbered calls, calloc(1, 0), calloc(2, 0), ... so that a trace says which of them it has.
 *
 *	sequence COUNT [kill]		ends by SIGKILL, so that nothing is done to the file in the end
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, i;
	void *volatile block;

	for (i = 1; i <= count; i++) {
		block = calloc(i, 0);
		free(block);
	}
	if (argc > 2 && !strcmp(argv[2], "kill"))
		raise(SIGKILL);
	return 0;
}
