/* See memory_limit.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/* Lowers *least to the number that a file has, if it has one. */
static void consider(uint64_t *least, const char *path)
{
	FILE *in = fopen(path, "re");
	uint64_t bytes;

	if (in && fscanf(in, "%" SCNu64, &bytes) == 1 && bytes < *least)
		*least = bytes;
	if (in)
		fclose(in);
}

/* Considers the limit of a control group and of all above it. */
static void consider_group(uint64_t *least, const char *root, char *group, const char *file)
{
	char *slash = group + strlen(group), *path;

	do {
		*slash = '\0';
		path = fxt_format("%s%s/%s", root, group, file);
		consider(least, path);
		free(path);
		slash = strrchr(group, '/');
	} while (slash);
}

/* Considers the limits of the control groups of this process. In a container the path of the group may be
 * that of the host; the group is mounted as the root then, which is considered too. */
static void consider_groups(uint64_t *least)
{
	FILE *in = fopen("/proc/self/cgroup", "re");
	char line[4096];

	while (in && fgets(line, sizeof(line), in)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (strcmp(group, "/") == 0)
			*group = '\0';
		if (!controllers[1])
			consider_group(least, "/sys/fs/cgroup", group, "memory.max");
		else if (strcmp(controllers + 1, "memory") == 0)
			consider_group(least, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	}
	if (in)
		fclose(in);
}

static void consider_machine(uint64_t *least)
{
	FILE *in = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1 && kib << 10 < *least)
			*least = kib << 10;
	if (in)
		fclose(in);
}

uint64_t fxt_memory_there_is(void)
{
	uint64_t least = UINT64_MAX;

	consider_groups(&least);
	consider_machine(&least);
	return least;
}
