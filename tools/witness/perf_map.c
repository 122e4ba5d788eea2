/* See perf_map.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "perf_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"

enum { MOST_FUNCTIONS = 1000000 };

static const uint64_t AGAIN_NS = 100000000;

static int by_start(const void *left, const void *right)
{
	const struct fxt_made_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

/* Takes a line without its end. */
static void take(struct fxt_perf_map *map, const char *line)
{
	uint64_t start, bytes;
	int at = 0;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &bytes, &at) < 2 || !at || !line[at] ||
	    !bytes || start + bytes < start || map->count == MOST_FUNCTIONS)
		return;
	map->list = fxt_grow(map->list, &map->capacity, map->count + 1, sizeof(*map->list));
	map->list[map->count] =
		(struct fxt_made_function){start, start + bytes, fxt_strdup(line + at), map->count};
	map->count++;
}

void fxt_perf_map_read(struct fxt_perf_map *map, FILE *file)
{
	char *line = NULL;
	size_t capacity = 0, before = map->count;
	ssize_t bytes;

	/* The last line may not be complete yet. */
	while ((bytes = getline(&line, &capacity, file)) > 0 && line[bytes - 1] == '\n') {
		line[bytes - 1] = '\0';
		map->bytes += (uint64_t)bytes;
		take(map, line);
	}
	free(line);
	if (map->count != before)
		qsort(map->list, map->count, sizeof(*map->list), by_start);
}

/* Reads what the file of a process has in addition. It must be that user's own, because anybody may make
 * files in /tmp. */
static void look_again(struct fxt_perf_map *map, uint32_t pid)
{
	char *path = fxt_format("/tmp/perf-%" PRIu32 ".map", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat status;

	free(path);
	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_uid == geteuid() || geteuid() == 0) && (uint64_t)status.st_size > map->bytes &&
	    fseeko(file, (off_t)map->bytes, SEEK_SET) == 0)
		fxt_perf_map_read(map, file);
	fclose(file);
}

/* Returns the function in the list that has the address, or NULL. A function may lie at the place of an
 * earlier one, so the latest of some that begin before the address counts. */
static const struct fxt_made_function *search(const struct fxt_perf_map *map, uint64_t address)
{
	enum { NEIGHBOURS = 16 };
	const struct fxt_made_function *found = NULL;
	size_t low = 0, high = map->count, i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low; i > 0 && low - i < NEIGHBOURS; i--) {
		const struct fxt_made_function *one = &map->list[i - 1];

		if (address < one->end && (!found || one->line > found->line))
			found = one;
	}
	return found;
}

const char *fxt_perf_map_find(struct fxt_perf_map *map, uint32_t pid, uint64_t address)
{
	const struct fxt_made_function *found = search(map, address);
	uint64_t now_ns;

	if (!found) {
		now_ns = fxt_clock_ns(CLOCK_MONOTONIC);
		if (map->looked_ns && now_ns - map->looked_ns < AGAIN_NS)
			return NULL;
		map->looked_ns = now_ns;
		look_again(map, pid);
		found = search(map, address);
	}
	return found ? found->name : NULL;
}

void fxt_perf_map_free(struct fxt_perf_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free(map->list[i].name);
	free(map->list);
	*map = (struct fxt_perf_map){0};
}
