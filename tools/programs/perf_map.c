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
#include "writer/fxt_encode.h"

static const uint32_t NONE = UINT32_MAX;
static const uint64_t AGAIN_NS = 100000000;

/* -- Pieces of memory ------------------------------------------------------------------------------ */

static int by_start(const void *left, const void *right)
{
	const struct fxt_made_piece *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Returns how many pieces start at or before the address. */
static size_t pieces_before(const struct fxt_perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->pieces[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes a piece begin wherever a function begins or ends. */
static void cut(struct fxt_perf_map *map)
{
	size_t count = 0;

	free(map->pieces);
	map->pieces = fxt_alloc(2 * map->count, sizeof(*map->pieces));
	for (size_t i = 0; i < map->count; i++) {
		map->pieces[2 * i] = (struct fxt_made_piece){map->list[i].start, NONE};
		map->pieces[2 * i + 1] = (struct fxt_made_piece){map->list[i].end, NONE};
	}
	qsort(map->pieces, 2 * map->count, sizeof(*map->pieces), by_start);
	for (size_t i = 0; i < 2 * map->count; i++)
		if (!count || map->pieces[count - 1].start != map->pieces[i].start)
			map->pieces[count++] = map->pieces[i];
	map->piece_count = count;
}

/* Returns the first piece from `at` on that has no function yet. `next` leads there from each piece, by way
 * of others, and the way is shortened. */
static uint32_t first_free(uint32_t *next, uint32_t at)
{
	while (next[at] != at) {
		next[at] = next[next[at]];
		at = next[at];
	}
	return at;
}

/* Gives each piece its function. The last function comes first, and takes what no other one has taken. */
static void lay_out(struct fxt_perf_map *map)
{
	uint32_t *next, at;

	cut(map);
	next = fxt_alloc(map->piece_count + 1, sizeof(*next));
	for (at = 0; at <= map->piece_count; at++)
		next[at] = at;
	for (size_t i = map->count; i-- > 0;) {
		at = first_free(next, (uint32_t)pieces_before(map, map->list[i].start) - 1);
		for (; at < map->piece_count && map->pieces[at].start < map->list[i].end;
		     at = first_free(next, at)) {
			map->pieces[at].function = (uint32_t)i;
			next[at] = at + 1;
		}
	}
	free(next);
}

static const char *search(const struct fxt_perf_map *map, uint64_t address)
{
	size_t before = pieces_before(map, address);

	return before && map->pieces[before - 1].function != NONE
		       ? map->list[map->pieces[before - 1].function].name
		       : NULL;
}

/* -- The file -------------------------------------------------------------------------------------- */

/* Takes a line without its end. */
static void take(struct fxt_perf_map *map, char *line)
{
	uint64_t start, bytes;
	int at = 0;

	if (map->count == FXT_PERF_MAP_FUNCTIONS ||
	    sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &bytes, &at) < 2 || !at || !line[at] ||
	    !bytes || start + bytes < start)
		return;
	line[at + (int)fxt_utf8_clean(line + at, line + at, strlen(line + at), FXT_PERF_MAP_LINE)] = '\0';
	map->list = fxt_grow(map->list, &map->capacity, map->count + 1, sizeof(*map->list));
	map->list[map->count++] = (struct fxt_made_function){start, start + bytes, fxt_strdup(line + at)};
}

/* Reads a line without its end. Returns false if the file ends first, because the last line may not be
 * complete yet; or if the most bytes have been read. */
static bool read_line(struct fxt_perf_map *map, FILE *file, char line[FXT_PERF_MAP_LINE])
{
	uint64_t bytes = 0;
	size_t used = 0;
	int c;

	while (map->bytes + bytes < FXT_PERF_MAP_BYTES && (c = getc_unlocked(file)) != EOF) {
		bytes++;
		if (c == '\n') {
			line[used] = '\0';
			map->bytes += bytes;
			return true;
		}
		if (used < FXT_PERF_MAP_LINE - 1)
			line[used++] = (char)c;
	}
	if (map->bytes + bytes == FXT_PERF_MAP_BYTES)
		map->bytes = FXT_PERF_MAP_BYTES;
	return false;
}

void fxt_perf_map_read(struct fxt_perf_map *map, FILE *file)
{
	size_t before = map->count;
	char line[FXT_PERF_MAP_LINE];

	while (read_line(map, file, line))
		take(map, line);
	if (map->count != before)
		lay_out(map);
}

/* Returns whether a file of that user may be the process's. Who runs as root may record what others run. */
static bool is_trusted(struct fxt_perf_map *map, uint32_t pid, uid_t owner)
{
	struct stat process;
	char *path;

	if (!map->knows_user && geteuid() == 0) {
		path = fxt_format("/proc/%" PRIu32, pid);
		/* The process may be over the next time. */
		map->knows_user = stat(path, &process) == 0;
		if (map->knows_user)
			map->user = process.st_uid;
		free(path);
	}
	return owner == 0 || owner == geteuid() || (map->knows_user && owner == map->user);
}

static bool is_fit(struct fxt_perf_map *map, uint32_t pid, uint64_t since_ns, const struct stat *status)
{
	uint64_t changed_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000 +
			      (uint64_t)status->st_mtim.tv_nsec;

	return S_ISREG(status->st_mode) && is_trusted(map, pid, status->st_uid) && changed_ns >= since_ns &&
	       (uint64_t)status->st_size > map->bytes && map->bytes < FXT_PERF_MAP_BYTES;
}

/* Reads what the file of a process has in addition. */
static void look_again(struct fxt_perf_map *map, uint32_t pid, uint64_t since_ns)
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
	if (fstat(fd, &status) == 0 && is_fit(map, pid, since_ns, &status) &&
	    fseeko(file, (off_t)map->bytes, SEEK_SET) == 0)
		fxt_perf_map_read(map, file);
	fclose(file);
}

/* -- Names ----------------------------------------------------------------------------------------- */

const char *fxt_perf_map_find(struct fxt_perf_map *map, uint32_t pid, uint64_t since_ns, uint64_t address)
{
	const char *found = search(map, address);
	uint64_t now_ns;

	if (found)
		return found;
	now_ns = fxt_clock_ns(CLOCK_MONOTONIC);
	if (map->looked_ns && now_ns - map->looked_ns < AGAIN_NS)
		return NULL;
	map->looked_ns = now_ns;
	look_again(map, pid, since_ns);
	return search(map, address);
}

void fxt_perf_map_free(struct fxt_perf_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free(map->list[i].name);
	free(map->list);
	free(map->pieces);
	*map = (struct fxt_perf_map){0};
}
