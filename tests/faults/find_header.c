/* Looks headers up along a path. The fault: most are in the last folder, so each is asked for in vain in
 * all others. */
#include "beside.h"

#include <sys/stat.h>

bool find_header(const char *name)
{
	struct stat about;
	char path[256];

	for (int folder = 0; folder < 15; folder++) {
		snprintf(path, sizeof path, "/usr/lib/project/part%d/include/%s", folder, name);
		if (stat(path, &about) == 0) /* FAULT */
			return true;
	}
	return stat("/proc/self/exe", &about) == 0;
}

int main(void)
{
	char name[32];

	for (int header = 0; header < 600; header++) {
		snprintf(name, sizeof name, "module_%d.h", header);
		must(find_header(name), name);
		work(100);
	}
	return 0;
}
