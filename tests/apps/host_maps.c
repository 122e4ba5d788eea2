/* Prints on standard error how many mappings there are of the trace file and of the agent's own memory, how
 * many of them would be in a core dump ("dd" in VmFlags keeps them out), and how many MiB of address space
 * the program has in all. The program itself maps no file shared but its marks, and maps nothing without
 * reserving memory for it ("nr"). With an argument it aborts instead. */
#include "host.h"

int main(int argc, char **argv)
{
	char line[4096], permissions[8] = "", name[4096] = "";
	unsigned long from, to, files = 0, private = 0, dumped = 0, bytes = 0;
	FILE *maps;

	(void)argv;
	mark_times(20000);
	if (argc > 1)
		abort();
	maps = fopen("/proc/self/smaps", "r");
	need(maps);
	while (fgets(line, sizeof(line), maps)) {
		int at = 0;

		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &from, &to, permissions, &at) == 3 && at) {
			snprintf(name, sizeof(name), "%s", line + at);
			bytes += to - from;
		} else if (!strncmp(line, "VmFlags:", 8)) {
			bool file = permissions[3] == 's' && name[0] == '/' && strncmp(name, "/dev/zero", 9);

			if (!file && !strstr(line, " nr"))
				continue;
			if (file)
				files++;
			else
				private++;
			if (!strstr(line, " dd")) {
				dumped++;
				fprintf(stderr, "would be dumped: %s%s", name, line);
			}
		}
	}
	fclose(maps);
	fprintf(stderr, "files %lu private %lu dumped %lu MiB %lu\n", files, private, dumped, bytes >> 20);
	print_marks();
	return 0;
}
