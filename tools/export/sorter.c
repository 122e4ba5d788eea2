/* Sorts any number of items in bounded memory. See sorter.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"

/* The buffer of items, and what the windows of all parts have together when they are merged. With the places,
 * and the copy that sorting takes, the first is the larger part of what a conversion uses. */
enum { BUFFER_BYTES = 8 << 20, WINDOWS_BYTES = 16 << 20, LEAST_WINDOW = 4096, MOST_WINDOW = 1 << 20 };
enum { FILE_MODE = 0600 };

struct fxt_sorter_place {
	struct fxt_sorter_key key;
	size_t at; /* in the buffer */
};

/* A part is read through a window, which is larger than its longest item if that is necessary. */
struct fxt_sorter_part {
	uint64_t at, end; /* of the file: what was not read into the window yet */
	unsigned char *window;
	size_t begin, filled, capacity;
};

/* -- The order --------------------------------------------------------------------------------------- */

static inline bool earlier(const struct fxt_sorter_key *a, const struct fxt_sorter_key *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->stream != b->stream)
		return a->stream < b->stream;
	return a->tie < b->tie;
}

/* Merges two sorted ranges, [from, middle) and [middle, to), into `out`. Of equal ones, those of the first
 * come first. */
static void merge_ranges(const struct fxt_sorter_place *in, size_t from, size_t middle, size_t to,
			 struct fxt_sorter_place *out)
{
	size_t a = from, b = middle;

	for (size_t i = from; i < to; i++)
		out[i] = b == to || (a < middle && !earlier(&in[b].key, &in[a].key)) ? in[a++] : in[b++];
}

/* Sorts by merging the stretches that are in order already: a trace has few, because each thread's events lie
 * in order of their ends, 32 KiB at a time. */
static void sort_places(struct fxt_sorter *s)
{
	struct fxt_sorter_place *in = s->places, *out = fxt_alloc(s->count + 1, sizeof(*out));
	size_t *ends = NULL, end_capacity = 0, count = 0;

	for (size_t i = 1; i <= s->count; i++) {
		if (i < s->count && !earlier(&in[i].key, &in[i - 1].key))
			continue;
		ends = fxt_grow(ends, &end_capacity, count + 1, sizeof(*ends));
		ends[count++] = i;
	}
	while (count > 1) {
		size_t from = 0, kept = 0;
		struct fxt_sorter_place *swap = in;

		for (size_t i = 0; i < count; i += 2) {
			size_t middle = ends[i], to = i + 1 < count ? ends[i + 1] : middle;

			merge_ranges(in, from, middle, to, out);
			from = to;
			ends[kept++] = to;
		}
		count = kept;
		in = out;
		out = swap;
	}
	if (in != s->places)
		memcpy(s->places, in, s->count * sizeof(*in));
	free(in != s->places ? in : out);
	free(ends);
}

/* -- Writing ----------------------------------------------------------------------------------------- */

static int open_file(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
	char *path;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	path = fxt_format("%s/.sort", directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	unlink(path);
	free(path);
	return fd;
}

static bool write_all(struct fxt_sorter *s, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(s->fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->error = n < 0 ? errno : EIO;
			return false;
		}
		at += n;
		bytes -= (size_t)n;
		s->file_bytes += (uint64_t)n;
	}
	return true;
}

/* Copies the items in their order, so that they are written by few calls. */
static bool write_sorted(struct fxt_sorter *s)
{
	unsigned char *out = fxt_alloc(MOST_WINDOW, 1);
	size_t used = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < s->count; i++) {
		const struct fxt_sorter_place *place = &s->places[i];
		size_t bytes = sizeof(place->key) + place->key.bytes;

		if (used && bytes > MOST_WINDOW - used) {
			ok = write_all(s, out, used);
			used = 0;
		}
		if (bytes > MOST_WINDOW) {
			ok = ok && write_all(s, &place->key, sizeof(place->key)) &&
			     write_all(s, s->buffer + place->at, place->key.bytes);
			continue;
		}
		memcpy(out + used, &place->key, sizeof(place->key));
		memcpy(out + used + sizeof(place->key), s->buffer + place->at, place->key.bytes);
		used += bytes;
	}
	ok = ok && write_all(s, out, used);
	free(out);
	return ok;
}

/* Writes the buffer as a part of the file. */
static void spill(struct fxt_sorter *s)
{
	struct fxt_sorter_part part = {.at = s->file_bytes};

	if (!s->part_count)
		s->fd = open_file(s->directory);
	if (s->fd < 0) {
		s->error = errno;
		return;
	}
	sort_places(s);
	if (!write_sorted(s))
		return;
	part.end = s->file_bytes;
	s->parts = fxt_grow(s->parts, &s->part_capacity, s->part_count + 1, sizeof(*s->parts));
	s->parts[s->part_count++] = part;
	s->used = s->count = 0;
}

void fxt_sorter_add(struct fxt_sorter *s, const struct fxt_sorter_key *key, const void *data)
{
	if (s->error)
		return;
	if (s->count && s->used + key->bytes > BUFFER_BYTES)
		spill(s);
	if (s->error)
		return;
	if (!s->capacity)
		s->buffer = fxt_grow(s->buffer, &s->capacity, BUFFER_BYTES, 1);
	s->buffer = fxt_grow(s->buffer, &s->capacity, s->used + key->bytes, 1);
	s->places = fxt_grow(s->places, &s->place_capacity, s->count + 1, sizeof(*s->places));
	s->places[s->count++] = (struct fxt_sorter_place){*key, s->used};
	memcpy(s->buffer + s->used, data, key->bytes);
	s->used += key->bytes;
}

/* -- Merging ----------------------------------------------------------------------------------------- */

/* Reads until the window has `bytes` bytes from its begin on. Returns false if the part has no more, or
 * cannot be read. */
static bool fill(struct fxt_sorter *s, struct fxt_sorter_part *part, size_t bytes)
{
	if (part->filled - part->begin >= bytes)
		return true;
	memmove(part->window, part->window + part->begin, part->filled - part->begin);
	part->filled -= part->begin;
	part->begin = 0;
	part->window = fxt_grow(part->window, &part->capacity, bytes, 1);
	while (part->filled < part->capacity && part->at < part->end) {
		size_t left = part->capacity - part->filled;
		ssize_t n;

		if (left > part->end - part->at)
			left = (size_t)(part->end - part->at);
		n = pread(s->fd, part->window + part->filled, left, (off_t)part->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->error = n < 0 ? errno : EIO;
			return false;
		}
		part->filled += (size_t)n;
		part->at += (uint64_t)n;
	}
	return part->filled >= bytes;
}

/* Reads the item at the part's begin. Returns false if there is none. */
static bool load(struct fxt_sorter *s, struct fxt_sorter_part *part)
{
	struct fxt_sorter_key key;

	if (!fill(s, part, sizeof(key)))
		return false;
	memcpy(&key, part->window + part->begin, sizeof(key));
	return fill(s, part, sizeof(key) + key.bytes);
}

static struct fxt_sorter_key key_of(const struct fxt_sorter_part *part)
{
	struct fxt_sorter_key key;

	memcpy(&key, part->window + part->begin, sizeof(key));
	return key;
}

static bool part_earlier(const struct fxt_sorter *s, size_t a, size_t b)
{
	struct fxt_sorter_key x = key_of(&s->parts[a]), y = key_of(&s->parts[b]);

	return earlier(&x, &y);
}

static void sift_down(struct fxt_sorter *s, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1, swap;

		if (child >= s->heap_count)
			return;
		if (child + 1 < s->heap_count && part_earlier(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!part_earlier(s, s->heap[child], s->heap[i]))
			return;
		swap = s->heap[i];
		s->heap[i] = s->heap[child];
		s->heap[child] = swap;
		i = child;
	}
}

bool fxt_sorter_turn(struct fxt_sorter *s)
{
	size_t window;

	if (!s->part_count) {
		sort_places(s);
		return !s->error;
	}
	if (s->count && !s->error)
		spill(s);
	if (s->error)
		return false;
	free(s->buffer);
	free(s->places);
	s->buffer = NULL;
	s->places = NULL;
	s->heap = fxt_alloc(s->part_count, sizeof(*s->heap));
	window = WINDOWS_BYTES / s->part_count;
	window = window < LEAST_WINDOW ? LEAST_WINDOW : window > MOST_WINDOW ? MOST_WINDOW : window;
	for (size_t i = 0; i < s->part_count; i++) {
		s->parts[i].window = fxt_grow(NULL, &s->parts[i].capacity, window, 1);
		if (load(s, &s->parts[i]))
			s->heap[s->heap_count++] = i;
	}
	for (size_t i = s->heap_count; i-- > 0;)
		sift_down(s, i);
	return !s->error;
}

/* Goes past the item that the first part of the heap has given. */
static void advance(struct fxt_sorter *s)
{
	struct fxt_sorter_part *part = &s->parts[s->heap[0]];

	part->begin += sizeof(struct fxt_sorter_key) + key_of(part).bytes;
	if (!load(s, part)) {
		free(part->window);
		part->window = NULL;
		s->heap[0] = s->heap[--s->heap_count];
	}
	sift_down(s, 0);
	s->is_taken = false;
}

bool fxt_sorter_next(struct fxt_sorter *s, struct fxt_sorter_item *item)
{
	const struct fxt_sorter_part *part;

	if (!s->part_count) {
		if (s->next == s->count)
			return false;
		item->key = s->places[s->next].key;
		item->data = s->buffer + s->places[s->next++].at;
		return true;
	}
	if (s->is_taken)
		advance(s);
	if (!s->heap_count || s->error)
		return false;
	part = &s->parts[s->heap[0]];
	item->key = key_of(part);
	item->data = part->window + part->begin + sizeof(item->key);
	s->is_taken = true;
	return true;
}

void fxt_sorter_free(struct fxt_sorter *s)
{
	for (size_t i = 0; i < s->part_count; i++)
		free(s->parts[i].window);
	if (s->part_count && s->fd >= 0)
		close(s->fd);
	free(s->parts);
	free(s->heap);
	free(s->buffer);
	free(s->places);
	*s = (struct fxt_sorter){0};
}
