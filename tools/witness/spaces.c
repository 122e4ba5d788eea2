/* See spaces.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "spaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

struct fxt_space *fxt_space_of(struct fxt_spaces *spaces, uint32_t pid)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&spaces->by_pid, pid, 0, &fresh);

	if (fresh) {
		slot->value[0] = spaces->count;
		spaces->list =
			fxt_grow(spaces->list, &spaces->capacity, spaces->count + 1, sizeof(*spaces->list));
		spaces->list[spaces->count++] = fxt_alloc(1, sizeof(struct fxt_space));
	}
	return spaces->list[slot->value[0]];
}

/* Returns the index of the first mapping that ends behind the address. */
static size_t first_behind(const struct fxt_space *space, uint64_t address)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct fxt_space *space, size_t at, struct fxt_mapping mapping)
{
	space->list = fxt_grow(space->list, &space->capacity, space->count + 1, sizeof(*space->list));
	memmove(space->list + at + 1, space->list + at, (space->count - at) * sizeof(*space->list));
	space->list[at] = mapping;
	space->count++;
}

/* Removes what lies in [start, end), of which mappings may cover a part. Returns where a mapping of these
 * addresses belongs. */
static size_t cut_out(struct fxt_space *space, uint64_t start, uint64_t end)
{
	size_t at = first_behind(space, start), last;
	struct fxt_mapping rest;

	if (at < space->count && space->list[at].start < start) {
		rest = space->list[at];
		space->list[at++].end = start;
		if (rest.end > end) {
			rest.offset += end - rest.start;
			rest.start = end;
			insert(space, at, rest);
			return at;
		}
	}
	for (last = at; last < space->count && space->list[last].end <= end; last++)
		;
	if (last > at) {
		memmove(space->list + at, space->list + last, (space->count - last) * sizeof(*space->list));
		space->count -= last - at;
	}
	if (at < space->count && space->list[at].start < end) {
		space->list[at].offset += end - space->list[at].start;
		space->list[at].start = end;
	}
	return at;
}

void fxt_space_map(struct fxt_spaces *spaces, struct fxt_space *space, uint64_t start, uint64_t bytes,
		   uint64_t offset, const char *path, uint64_t inode)
{
	const char *slash = strrchr(path, '/');
	size_t at;

	if (!bytes || start + bytes < start)
		return;
	at = cut_out(space, start, start + bytes);
	insert(space, at,
	       (struct fxt_mapping){start, start + bytes, offset,
				    fxt_module_at(&spaces->modules, path, inode)});
	if (slash && strncmp(slash, "/libfxtagent.so", strlen("/libfxtagent.so")) == 0)
		space->is_traced = true;
}

void fxt_space_read(struct fxt_spaces *spaces, struct fxt_space *space, uint32_t pid)
{
	char *name = fxt_format("/proc/%" PRIu32 "/maps", pid), *line = NULL;
	FILE *maps = fopen(name, "re");
	size_t capacity = 0;

	free(name);
	while (maps && getline(&line, &capacity, maps) > 0) {
		uint64_t start, end, offset, inode;
		char access[5];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &start, &end,
			   access, &offset, &inode, &at) < 5 ||
		    access[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = '\0';
		fxt_space_map(spaces, space, start, end - start, offset,
			      at && line[at] ? line + at : "//anon", inode);
	}
	free(line);
	if (maps)
		fclose(maps);
}

void fxt_space_clear(struct fxt_space *space)
{
	space->count = 0;
	space->is_traced = space->has_rings = false;
	fxt_perf_map_free(&space->made);
	fxt_map_free(&space->words);
}

void fxt_space_free(struct fxt_space *space)
{
	free(space->list);
	space->list = NULL;
	space->count = space->capacity = 0;
	space->has_rings = false;
	fxt_perf_map_free(&space->made);
	fxt_map_free(&space->words);
}

void fxt_space_copy(struct fxt_space *child, const struct fxt_space *parent)
{
	child->is_traced = parent->is_traced;
	child->count = parent->count;
	if (!parent->count)
		return;
	child->list = fxt_grow(child->list, &child->capacity, parent->count, sizeof(*child->list));
	memcpy(child->list, parent->list, parent->count * sizeof(*child->list));
}

const struct fxt_mapping *fxt_space_find(const struct fxt_space *space, uint64_t address)
{
	size_t at = first_behind(space, address);

	return at < space->count && space->list[at].start <= address ? &space->list[at] : NULL;
}

void fxt_spaces_free(struct fxt_spaces *spaces)
{
	for (size_t i = 0; i < spaces->count; i++) {
		fxt_space_free(spaces->list[i]);
		free(spaces->list[i]);
	}
	free(spaces->list);
	fxt_map_free(&spaces->by_pid);
	fxt_modules_free(&spaces->modules);
	*spaces = (struct fxt_spaces){0};
}
