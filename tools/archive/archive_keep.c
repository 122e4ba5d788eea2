/* See archive_keep.h. Turns to other files and removes old ones; archive_join.c puts them together. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "archive_gap.h"
#include "archive_walk.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum {
	PARTS_OF_AGE = 8,               /* what is kept for some time may be so much older */
	PARTS_OF_FILE = 8,              /* a file takes so much more of the disk than it has */
	FEWEST_GAP_BYTES = 256 << 10,
	FEWEST_BYTES = 4096,            /* a smaller file is not ended because of its age */
};

struct fxt_archive_keep {
	struct fxt_archive_keep_wish wish;
	uint32_t next;                  /* the number that the present file gets */
	uint32_t oldest;                /* of the files that may be removed */
	uint64_t begun_ns;              /* when the present file was begun; 0: before the first turn */
	uint64_t closed_ns[FXT_ARCHIVE_MOST_KEPT + 1];    /* of a file, by its number modulo the size */
	struct fxt_archive_gap gap;
	/* providers -> the last file that has records of them; and whether the first one has */
	struct fxt_map named;
};

void fxt_archive_keep_begin(struct fxt_archive *a, const struct fxt_archive_keep_wish *wish)
{
	struct fxt_archive_keep *k = fxt_alloc(1, sizeof(*k));

	k->wish = *wish;
	k->next = 1;
	k->oldest = wish->has_first ? 2 : 1;
	k->gap.reason = wish->has_first
				? "the run has outgrown its size: its beginning and its newest are kept"
				: "only the newest is kept";
	/* The gap is written whenever a file is removed, so it is no larger than that. */
	k->gap.most_bytes = wish->bytes < FXT_GAP_MOST_BYTES ? wish->bytes : FXT_GAP_MOST_BYTES;
	if (k->gap.most_bytes < FEWEST_GAP_BYTES)
		k->gap.most_bytes = FEWEST_GAP_BYTES;
	a->keep = k;
	a->most_ahead = wish->bytes / PARTS_OF_FILE;
}

void fxt_archive_keep_named(struct fxt_archive_keep *k, uint32_t id)
{
	bool is_new;
	struct fxt_slot *s = fxt_map_put(&k->named, id, 0, &is_new);

	s->value[0] = k->next;
	s->value[1] |= k->next == 1 && k->wish.has_first;
}

/* Returns whether the first file or one that is left has records of the provider. */
static bool is_left(void *context, uint32_t id)
{
	const struct fxt_archive_keep *k = context;
	const struct fxt_slot *s = fxt_map_find(&k->named, id, 0);

	return s && (s->value[1] || s->value[0] >= k->oldest);
}

/* Forgets the providers that the gap has counted together. */
static void forget_names(struct fxt_archive_keep *k)
{
	struct fxt_map left = {0};
	bool is_new;

	for (const struct fxt_slot *s = fxt_map_next(&k->named, NULL); s; s = fxt_map_next(&k->named, s)) {
		struct fxt_slot *to;

		if (!is_left(k, (uint32_t)s->a) && !fxt_map_find(&k->gap.ids, s->a, 0))
			continue;
		to = fxt_map_put(&left, s->a, 0, &is_new);
		to->value[0] = s->value[0];
		to->value[1] = s->value[1];
	}
	fxt_map_free(&k->named);
	k->named = left;
}

/* -- Removing ------------------------------------------------------------------------------------ */

static char *gap_name(const char *path, uint32_t number)
{
	return fxt_format("%.*s.gap.%u.fxt", (int)(strlen(path) - strlen(".fxt")), path, number);
}

static void put_to_stream(void *context, const uint64_t *words, size_t count)
{
	fwrite(words, FXT_WORD_BYTES, count, context);
}

/* Writes what is gone to a file of its own, which gets its name when it is whole. Returns false if it
 * cannot be written. */
static bool write_gap(struct fxt_archive *a, uint32_t number)
{
	char *name = gap_name(a->path, number), *temporary = fxt_format("%s" FXT_ARCHIVE_UNFINISHED, name);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	uint64_t magic[2];
	bool ok = out;

	if (out) {
		put_to_stream(out, magic, fxt_encode_magic(magic, 2));
		fxt_gap_put(&a->keep->gap, put_to_stream, out);
		ok = !ferror(out);
		ok = fclose(out) == 0 && ok;
	}
	ok = ok && rename(temporary, name) == 0;
	if (!ok) {
		fxt_error(name, "what is kept of older files cannot be written: %s", strerror(errno));
		unlink(temporary);
	}
	free(name);
	free(temporary);
	return ok;
}

static void take_file(struct fxt_archive_gap *g, const char *name, bool is_first)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct fxt_archive_file file;

	if (fd < 0 || !fxt_archive_map(&file, fd, UINT64_MAX)) {
		fxt_error(name, "cannot be read, so what it has is not counted: %s", strerror(errno));
	} else {
		if (is_first)
			fxt_gap_take_first(g, &file);
		else
			fxt_gap_take(g, &file, UINT64_MAX);
		fxt_archive_unmap(&file);
	}
	if (fd >= 0)
		close(fd);
}

/* Removes the oldest file that may be removed. */
static void remove_oldest(struct fxt_archive *a)
{
	struct fxt_archive_keep *k = a->keep;
	uint32_t number = k->oldest++;
	char *name = fxt_archive_numbered(a->path, number), *before = gap_name(a->path, number - 1);
	char *first = fxt_archive_numbered(a->path, 1);

	if (k->wish.has_first && number == 2)
		take_file(&k->gap, first, true);
	take_file(&k->gap, name, false);
	fxt_gap_fold(&k->gap, is_left, k);
	forget_names(k);
	write_gap(a, number);
	unlink(before);
	if (unlink(name) != 0)
		fxt_error(name, "%s", strerror(errno));
	free(first);
	free(name);
	free(before);
}

/* -- Turning ------------------------------------------------------------------------------------- */

bool fxt_archive_keep_is_due(const struct fxt_archive *a, uint64_t now_ns)
{
	const struct fxt_archive_keep *k = a->keep;

	if (a->has_failed)
		return fxt_archive_has_room(a);
	if (a->bytes + a->used >= (k->next == 1 ? k->wish.first_bytes : k->wish.bytes))
		return true;
	return k->wish.age_ns && a->bytes >= FEWEST_BYTES &&
	       now_ns - k->begun_ns >= k->wish.age_ns / PARTS_OF_AGE;
}

/* Ends the present file and begins another one. */
static void begin_file(struct fxt_archive *a, uint64_t now_ns)
{
	struct fxt_archive_keep *k = a->keep;
	char *name = fxt_archive_numbered(a->path, k->next);

	/* The file is locked until it has its name. */
	if (rename(a->path, name) != 0)
		fxt_error(a->path, "cannot be renamed: %s", strerror(errno));
	fxt_archive_finish(a);
	a->earlier_bytes += a->bytes;
	fxt_archive_go_on(a);
	k->closed_ns[k->next++ % (FXT_ARCHIVE_MOST_KEPT + 1)] = now_ns;
	k->begun_ns = now_ns;
	a->has_turned = true;
	if (!fxt_archive_create(a))
		a->has_failed = true;
	free(name);
}

bool fxt_archive_keep_turn(struct fxt_archive *a, uint64_t now_ns)
{
	struct fxt_archive_keep *k = a->keep;
	bool turns;

	if (!k || (a->has_failed && !fxt_archive_has_room(a)))
		return false;
	if (!k->begun_ns)
		k->begun_ns = now_ns;
	turns = fxt_archive_keep_is_due(a, now_ns);
	if (turns)
		begin_file(a, now_ns);
	while (k->oldest < k->next &&
	       (k->next - k->oldest > k->wish.count ||
		(k->wish.age_ns &&
		 now_ns - k->closed_ns[k->oldest % (FXT_ARCHIVE_MOST_KEPT + 1)] > k->wish.age_ns)))
		remove_oldest(a);
	return turns;
}

void fxt_archive_keep_free(struct fxt_archive_keep *k)
{
	if (!k)
		return;
	fxt_gap_free(&k->gap);
	fxt_map_free(&k->named);
	free(k);
}
