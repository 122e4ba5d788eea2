/* Stamps its output with a version that a command tells. The fault: the command takes long, and the
 * program does nothing until it has ended. */
#include "beside.h"

void read_version(char *version, int room)
{
	FILE *command = popen("sh -c 'sleep 0.5; echo 4.2'", "r");

	must(command && fgets(version, room, command), "popen"); /* FAULT */
	pclose(command);
}

int main(void)
{
	char version[64];

	work(20000);
	read_version(version, sizeof version);
	work(20000);
	printf("version %s", version);
	return 0;
}
