/* Joins parts into a file, which gets its name when it is complete. See join.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/pack.h"
#include "tools/reading/mapped_trace.h"

/* Opens a new file beside `path`, which is renamed later, so that what is at `path` stays until all is
 * written. Devices, pipes and links are opened themselves. */
static FILE *open_output(const char *path, char **temporary)
{
	struct stat st;
	FILE *out;
	int fd;

	*temporary = NULL;
	if (!fxt_parts_is_for_file(path)) {
		bool is_directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

		return is_directory ? (errno = EISDIR, NULL) : fopen(path, "we");
	}
	*temporary = fxt_format("%s.XXXXXX", path);
	fd = mkostemp(*temporary, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out && fd >= 0)
		close(fd);
	return out;
}

static bool join(struct fxt_merge *m, const struct fxt_parts *parts, const struct fxt_run_part *first,
		 const struct fxt_ended *ended)
{
	bool ok = true;

	for (size_t i = 0; ok && i < parts->count; i++)
		ok = &parts->list[i] == first || fxt_merge_part(m, parts->list[i].path, parts->list[i].alive);
	for (const struct fxt_slot *s = fxt_map_next(&m->running, NULL); ok && s;
	     s = fxt_map_next(&m->running, s))
		ok = fxt_merge_still_runs(m, s->value[1], s->value[0]);
	if (ok && ended)
		ok = fxt_merge_exit(m, (uint64_t)ended->pid, ended->at_ns, ended->status, ended->signal);
	return fxt_merge_end(m) && ok;
}

/* Returns the largest of the parts that may come first in the archive: the first of all parts, or the
 * last one of a process. *is_last says that it is the latter. */
static const struct fxt_run_part *largest(const struct fxt_parts *parts, bool *is_last)
{
	struct fxt_map lasts = {0};
	const struct fxt_run_part *found = NULL;
	off_t bytes = -1;
	bool fresh;

	for (size_t i = 0; i < parts->count; i++)
		fxt_map_put(&lasts, (uint64_t)parts->list[i].pid, 0, &fresh)->value[0] = i;
	for (size_t i = 0; i < parts->count; i++) {
		const struct fxt_run_part *part = &parts->list[i];
		bool last = fxt_map_find(&lasts, (uint64_t)part->pid, 0)->value[0] == i;
		struct stat st;

		if (part->alive || (i && !last) || (parts->count > 1 && fxt_parts_is_of_kernel(part)))
			continue;
		if (stat(part->path, &st) == 0 && st.st_size > bytes) {
			bytes = st.st_size;
			found = part;
			*is_last = last;
		}
	}
	fxt_map_free(&lasts);
	return found;
}

/* Returns when the last of the parts was changed. */
static time_t newest(const struct fxt_parts *parts)
{
	time_t found = 0;

	for (size_t i = 0; i < parts->count; i++) {
		struct stat st;

		if (stat(parts->list[i].path, &st) == 0 && st.st_mtime > found)
			found = st.st_mtime;
	}
	return found;
}

/* Begins an archive with the part as it is, and returns its file, opened for appending. *grows is its
 * path from then on. Returns NULL if the part has to be copied like the others. */
static FILE *begin_with(struct fxt_merge *m, const struct fxt_run_part *part, char **grows)
{
	FILE *out = fopen(part->path, "ae");
	struct fxt_trace_file file;
	struct fxt_reader r;
	bool ok;

	if (!out || !fxt_trace_open(&file, part->path)) {
		if (out)
			fclose(out);
		return NULL;
	}
	fxt_reader_init(&r, file.data, file.size);
	ok = fxt_merge_begin_with(m, out, &r) && (*grows = fxt_parts_grow(part, file.size));
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	if (ok)
		return out;
	fxt_merge_free(m);
	fclose(out);
	return NULL;
}

/* Gives the new file at `from` its name. If there is a file already, the two change places, and the old
 * one is at `from` afterwards. Renaming over a file would, on ext4, wait until the new one is on the
 * disk. */
static bool take_place(const char *from, const char *path)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		return true;
	return rename(from, path) == 0;
}

/* Appends all parts but the first to `out`, the file at `grows`, and gives that its name. Returns false
 * after a message; the first part is as it was then. Closes `out`. */
static bool append_rest(struct fxt_merge *m, const struct fxt_parts *parts, const struct fxt_run_part *first,
			const char *path, const struct fxt_ended *ended, FILE *out, const char *grows)
{
	bool ok = join(m, parts, first, ended);
	int error = errno;

	if (fclose(out) != 0 && ok) {
		ok = false;
		error = errno;
	}
	if (ok && !take_place(grows, path)) {
		ok = false;
		error = errno;
	}
	if (ok) {
		unlink(grows);
	} else {
		fxt_error(path, "%s", strerror(error));
		fxt_parts_as_it_was(grows);
	}
	return ok;
}

/* Makes the trace by appending to the largest part, which is no part any more afterwards; *joined says
 * whether that went well. Returns false if the trace cannot be made in this way, with nothing done. */
static bool join_to(struct fxt_merge *m, const struct fxt_parts *parts, const char *path,
		    const struct fxt_ended *ended, bool *joined)
{
	bool is_last = false;
	const struct fxt_run_part *first = largest(parts, &is_last);
	char *grows;
	FILE *out;

	if (!fxt_parts_is_for_file(path) || !first)
		return false;
	out = begin_with(m, first, &grows);
	if (!out)
		return false;
	if (is_last)
		fxt_merge_came_last(m, (uint64_t)first->pid);
	*joined = append_rest(m, parts, first, path, ended, out, grows);
	free(grows);
	return true;
}

bool fxt_join_archive(struct fxt_merge *m, struct fxt_reader *r, const char *archive,
		      const struct fxt_parts *parts, const char *path, const struct fxt_ended *ended,
		      bool *joined)
{
	const struct fxt_run_part first = {.path = (char *)(uintptr_t)archive};
	FILE *out = fxt_parts_is_for_file(path) ? fopen(archive, "ae") : NULL;
	char *grows = out ? fxt_parts_grow(&first, r->size) : NULL;

	if (!grows) {
		if (out)
			fclose(out);
		return false;
	}
	fxt_merge_follow_end(m, r, out);
	*joined = append_rest(m, parts, NULL, path, ended, out, grows);
	free(grows);
	return true;
}

bool fxt_join(struct fxt_merge *m, const struct fxt_parts *parts, const char *path,
	      const struct fxt_ended *ended, bool keep)
{
	char *temporary;
	FILE *out;
	bool ok, joined;
	int error;

	m->frames.wish.not_after = newest(parts);
	if (!keep && join_to(m, parts, path, ended, &joined))
		return joined;
	out = open_output(path, &temporary);
	ok = out && fxt_merge_begin(m, out) && join(m, parts, NULL, ended);
	error = errno;
	if (out && fclose(out) != 0 && ok) {
		ok = false;
		error = errno;
	}
	if (ok && temporary && !take_place(temporary, path)) {
		ok = false;
		error = errno;
	}
	if (!ok)
		fxt_error(path, "%s", strerror(error));
	if (temporary)
		unlink(temporary);
	free(temporary);
	return ok;
}

bool fxt_join_pack(const char *path, uint64_t *bytes)
{
	char *temporary = fxt_format("%s.XXXXXX", path);
	int from = open(path, O_RDONLY | O_CLOEXEC), to = from < 0 ? -1 : mkostemp(temporary, O_CLOEXEC);
	struct stat st;
	bool ok = to >= 0 && fxt_pack_file(from, to) && fstat(to, &st) == 0;
	int error = errno;

	if (to >= 0 && close(to) != 0 && ok) {
		ok = false;
		error = errno;
	}
	if (ok && !take_place(temporary, path)) {
		ok = false;
		error = errno;
	}
	if (ok)
		*bytes = (uint64_t)st.st_size;
	else
		fxt_error(path, "is not compressed: %s", strerror(error));
	if (to >= 0)
		unlink(temporary);
	if (from >= 0)
		close(from);
	free(temporary);
	return ok;
}
