/* See archive_keep.h. Finds the files of an archive, and makes one of them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "archive_gap.h"
#include "archive_mend.h"
#include "archive_walk.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum {
	TRIES = 20,
	WAIT_NS = 10000000,
	MOST_WAITS = 500,
	FEW_WAITS = 5,
};

/* A file of the archive. The base is what they are appended to. */
struct piece {
	enum { BASE, NUMBERED, GAP, PRESENT } kind;
	uint32_t number;                /* of a base: all files up to this one are in it */
	uint64_t bytes;                 /* of a base: what is behind them does not count */
	char *path;
	int fd;                         /* -1: not open */
	struct fxt_archive_file file;
};

struct pieces {
	struct piece *list;
	size_t count, capacity;
};

static void free_pieces(struct pieces *p)
{
	for (size_t i = 0; i < p->count; i++) {
		fxt_archive_unmap(&p->list[i].file);
		if (p->list[i].fd >= 0)
			close(p->list[i].fd);
		free(p->list[i].path);
	}
	free(p->list);
	*p = (struct pieces){0};
}

/* Returns the length of the path without its ending. */
static int stem_of(const char *path)
{
	return (int)(strlen(path) - strlen(".fxt"));
}

/* Notes the file if its name is that of one of the archive's. `rest` is what follows the stem. A file of
 * the gap that was not whole when the manager was killed can be removed. */
static void note(struct pieces *p, const char *directory, const char *name, const char *rest, bool removes)
{
	struct piece one = {.fd = -1};
	int end = 0;

	if (sscanf(rest, ".base.%" SCNu64 ".%" SCNu32 "%n", &one.bytes, &one.number, &end) == 2)
		one.kind = BASE;
	else if (sscanf(rest, ".gap.%" SCNu32 ".fxt%n", &one.number, &end) == 1 && end)
		one.kind = GAP;
	else if (sscanf(rest, ".%" SCNu32 ".fxt%n", &one.number, &end) == 1 && end)
		one.kind = NUMBERED;
	else if (sscanf(rest, ".fxt%n", &end) == 0 && end)
		one.kind = PRESENT;
	if (!end || (rest[end] && one.kind != GAP))
		return;
	one.path = fxt_format("%s/%s", directory, name);
	if (rest[end]) {
		if (removes && strcmp(rest + end, FXT_ARCHIVE_UNFINISHED) == 0)
			unlink(one.path);
		free(one.path);
		return;
	}
	if (one.kind == PRESENT)
		one.number = UINT32_MAX;
	p->list = fxt_grow(p->list, &p->capacity, p->count + 1, sizeof(*p->list));
	p->list[p->count++] = one;
}

/* Orders files by what they have: a gap stands for the files up to its number. */
static int by_age(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if ((x->kind == BASE) != (y->kind == BASE))
		return x->kind == BASE ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->kind == GAP) - (y->kind == GAP);
}

/* Returns whether another piece has what this one has: a base has all up to its number, a gap all but the
 * first file, and that as well if it is all that it has. */
static bool is_superseded(const struct pieces *p, const struct piece *one)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct piece *other = &p->list[i];

		if (other == one || one->kind == BASE || one->kind == PRESENT)
			continue;
		if (other->kind == BASE && one->number <= other->number)
			return true;
		if (other->kind == GAP && one->kind == GAP && one->number < other->number)
			return true;
		if (other->kind == GAP && one->kind == NUMBERED && one->number <= other->number &&
		    (one->number != 1 || other->number == 1))
			return true;
	}
	return false;
}

/* Finds the files of the archive, the oldest first; without those that others stand for, which `removes`
 * says to remove. */
static void find(struct pieces *p, const char *path, bool removes)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *directory = slash ? fxt_format("%.*s", (int)(slash - path) + (slash == path), path)
				: fxt_strdup(".");
	size_t stem = (size_t)stem_of(name), to = 0;
	DIR *d = opendir(directory);
	struct dirent *e;
	bool *gone;

	*p = (struct pieces){0};
	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, name, stem) == 0)
			note(p, directory, e->d_name, e->d_name + stem, removes);
	if (d)
		closedir(d);
	free(directory);
	gone = fxt_alloc(p->count + 1, sizeof(*gone));
	for (size_t i = 0; i < p->count; i++)
		gone[i] = is_superseded(p, &p->list[i]);
	for (size_t i = 0; i < p->count; i++) {
		if (!gone[i]) {
			p->list[to++] = p->list[i];
			continue;
		}
		if (removes)
			unlink(p->list[i].path);
		free(p->list[i].path);
	}
	free(gone);
	p->count = to;
	if (to)
		qsort(p->list, to, sizeof(*p->list), by_age);
}

/* Maps all files. Returns false if one cannot be read; errno says why. */
static bool open_pieces(struct pieces *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct piece *one = &p->list[i];

		one->fd = open(one->path, O_RDONLY | O_CLOEXEC);
		if (one->fd < 0 ||
		    !fxt_archive_map(&one->file, one->fd, one->kind == BASE ? one->bytes : UINT64_MAX))
			return false;
	}
	return true;
}

/* -- One file of all ----------------------------------------------------------------------------- */

/* Looks at all pieces, and makes ready to copy those behind the first. The gap comes before its piece, or
 * behind the first one if it is that. */
static void look(struct fxt_archive_mend *m, const struct pieces *p, bool first_is_gap)
{
	for (size_t i = 0; i < p->count; i++) {
		if ((p->list[i].kind == GAP && i) || (i == 1 && first_is_gap))
			fxt_mend_gap(m);
		fxt_mend_look(m, &p->list[i].file);
	}
	fxt_mend_looked(m);
	if (first_is_gap)
		fxt_mend_gap(m);
}

/* Gives the base a name that says how long it is and what it has. */
static bool name_base(struct piece *base, const char *path, uint64_t bytes, uint32_t number)
{
	char *name = fxt_format("%.*s.base.%" PRIu64 ".%u", stem_of(path), path, bytes, number);
	bool ok = rename(base->path, name) == 0;

	free(base->path);
	base->path = name;
	return ok;
}

/* Appends the piece to the base, and removes it. */
static bool append(struct fxt_archive_mend *m, struct piece *base, const struct piece *one, const char *path,
		   FILE *out)
{
	off_t end;

	if (one->kind == GAP)
		fxt_mend_gap(m);
	if (!fxt_mend_copy(m, &one->file, out) || fflush(out) != 0)
		return false;
	end = ftello(out);
	return end >= 0 && name_base(base, path, (uint64_t)end, one->number) && unlink(one->path) == 0;
}

/* Returns the length of the whole records that the piece has. */
static uint64_t whole_bytes(const struct piece *one)
{
	struct fxt_archive_walk w = fxt_archive_walk(&one->file);

	while (fxt_archive_next(&w))
		;
	return w.at * FXT_WORD_BYTES;
}

static bool put_together(struct pieces *p, const char *path)
{
	struct piece *base = &p->list[0];
	struct fxt_archive_mend mend = {0};
	bool is_gap = base->kind == GAP, ok;
	FILE *out;

	look(&mend, p, is_gap);
	if (base->kind != BASE)
		base->bytes = whole_bytes(base);
	ok = base->kind == BASE || name_base(base, path, base->bytes, base->number);
	ok = ok && truncate(base->path, (off_t)base->bytes) == 0;
	out = ok ? fopen(base->path, "ae") : NULL;
	ok = out && fseeko(out, 0, SEEK_END) == 0;
	for (size_t i = 1; ok && i < p->count; i++)
		ok = append(&mend, base, &p->list[i], path, out);
	if (out)
		ok = fclose(out) == 0 && ok;
	ok = ok && rename(base->path, path) == 0;
	fxt_mend_free(&mend);
	return ok;
}

/* Returns whether somebody writes the file still. */
static bool is_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* Waits until nobody writes the archive, as the witness does for a moment after its fxt record was killed.
 * Between two files there is none of this name for a moment. */
static void await_writer(const char *path)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS};

	for (int i = 0, absent = 0; i < MOST_WAITS && absent < FEW_WAITS; i++) {
		if (access(path, F_OK) != 0)
			absent++;
		else if (!is_written(path))
			return;
		nanosleep(&wait, NULL);
	}
}

bool fxt_archive_keep_put_together(const char *path)
{
	struct pieces p;
	bool ok = true;

	find(&p, path, false);
	if (p.count)
		await_writer(path);
	free_pieces(&p);

	find(&p, path, true);
	if (p.count > 1 || (p.count && p.list[0].kind != PRESENT)) {
		ok = open_pieces(&p) && put_together(&p, path);
		if (!ok)
			fxt_error(path, "its files cannot be put together: %s", strerror(errno));
	}
	free_pieces(&p);
	return ok;
}

char *fxt_archive_keep_next(const char *path, uint32_t after, uint32_t *number)
{
	struct pieces p;
	char *next = NULL;
	uint32_t newest = 0;

	find(&p, path, false);
	for (size_t i = 0; i < p.count; i++) {
		const struct piece *one = &p.list[i];

		if (one->kind == BASE)
			continue;
		if (!next && one->number > after) {
			next = fxt_strdup(one->path);
			*number = one->kind == PRESENT ? newest + 1 : one->number;
		}
		newest = one->kind == PRESENT ? newest : one->number;
	}
	free_pieces(&p);
	return next;
}

/* -- A copy while the manager goes on ------------------------------------------------------------- */

/* Opens all files of one moment: the manager may begin another one, and remove some, meanwhile. */
static bool open_at_once(struct pieces *p, const char *path)
{
	for (int i = 0; i < TRIES; i++) {
		struct pieces again;
		bool ok;

		find(p, path, false);
		ok = p->count && open_pieces(p);
		find(&again, path, false);
		ok = ok && again.count == p->count;
		for (size_t k = 0; ok && k < p->count; k++)
			ok = strcmp(again.list[k].path, p->list[k].path) == 0;
		free_pieces(&again);
		if (ok)
			return true;
		free_pieces(p);
	}
	return false;
}

static void put_to_stream(void *context, const uint64_t *words, size_t count)
{
	fwrite(words, FXT_WORD_BYTES, count, context);
}

/* Takes what was written down before, in the order of the files. */
static void take_older(struct fxt_archive_gap *g, const struct pieces *p, uint64_t from_ns)
{
	for (size_t i = 0; from_ns && i < p->count; i++)
		fxt_gap_take(g, &p->list[i].file, p->list[i].kind == GAP ? UINT64_MAX : from_ns);
}

/* Makes a file of what is gone, in memory. */
static void map_gap(struct fxt_archive_file *f, const struct fxt_archive_gap *g, char **text)
{
	uint64_t magic[2];
	size_t bytes = 0;
	FILE *out = fxt_text_stream(text, &bytes);

	put_to_stream(out, magic, fxt_encode_magic(magic, 2));
	fxt_gap_put(g, put_to_stream, out);
	fclose(out);
	*f = (struct fxt_archive_file){(const uint64_t *)(const void *)*text, bytes / FXT_WORD_BYTES, false};
}

/* Looks at a file, or copies it to `out` unless that is NULL. */
static bool go_through_one(struct fxt_archive_mend *m, const struct fxt_archive_file *f, FILE *out)
{
	if (out)
		return fxt_mend_copy(m, f, out);
	fxt_mend_look(m, f);
	return true;
}

/* Looks at the pieces, or copies them. `gap` is what is gone, unless that is as the pieces say; it stands
 * where their own one does, or in front of all. */
static bool go_through(struct fxt_archive_mend *m, const struct pieces *p, const struct fxt_archive_file *gap,
		       uint64_t from_ns, FILE *out)
{
	bool ok = true, has_own = false;

	for (size_t i = 0; i < p->count; i++)
		has_own |= p->list[i].kind == GAP;
	if (gap && !has_own)
		ok = go_through_one(m, gap, out);
	for (size_t i = 0; ok && i < p->count; i++) {
		bool is_gap = p->list[i].kind == GAP;

		if (is_gap)
			fxt_mend_gap(m);
		m->from_ns = is_gap ? 0 : from_ns;
		ok = go_through_one(m, is_gap && gap ? gap : &p->list[i].file, out);
	}
	m->from_ns = 0;
	return ok;
}

bool fxt_archive_keep_copy(const char *path, uint64_t from_ns, FILE *out)
{
	struct fxt_archive_gap g = {.reason = "they came before what was asked for"};
	struct fxt_archive_mend mend = {0};
	struct fxt_archive_file gap = {0};
	struct pieces p;
	uint64_t magic[2];
	char *text = NULL;
	bool ok;

	if (!open_at_once(&p, path)) {
		fxt_error(path, "cannot be read: %s", strerror(errno));
		return false;
	}
	take_older(&g, &p, from_ns);
	if (from_ns)
		map_gap(&gap, &g, &text);
	go_through(&mend, &p, from_ns ? &gap : NULL, from_ns, NULL);
	fxt_mend_looked(&mend);
	put_to_stream(out, magic, fxt_encode_magic(magic, 2));
	ok = go_through(&mend, &p, from_ns ? &gap : NULL, from_ns, out) && fflush(out) == 0;
	if (!ok)
		fxt_error(NULL, "the trace cannot be written: %s", strerror(errno));
	fxt_mend_free(&mend);
	fxt_gap_free(&g);
	free(text);
	free_pieces(&p);
	return ok;
}
