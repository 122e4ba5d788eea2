/* Prints what the library early.c has found: tests/e2e/early.sh compiles both. */
#include <stdio.h>

int early_work(void);
int early_end(unsigned i, const char **name);

int main(void)
{
	const char *name = "";
	unsigned i;
	int end;

	if (early_work() != 1)
		return 1;
	for (i = 0; (end = early_end(i, &name)) != -1; i++)
		printf("%s %#x\n", name, end);
	return 0;
}
