/* Tells the checksums of many parts. The fault: a shell and a program are started for each of them. */
#include "beside.h"

long checksum_of(int part)
{
	char command[64];
	long sum = 0;
	FILE *answer;

	snprintf(command, sizeof command, "echo part %d | cksum", part);
	answer = popen(command, "r"); /* FAULT */
	must(answer && fscanf(answer, "%ld", &sum) == 1, command);
	pclose(answer);
	return sum;
}

int main(void)
{
	long sum = 0;

	for (int part = 0; part < 40; part++) {
		work(200);
		sum ^= checksum_of(part);
	}
	printf("%ld\n", sum);
	return 0;
}
