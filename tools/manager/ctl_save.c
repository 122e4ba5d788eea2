/* See ctl_save.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctl_save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/archive/archive_keep.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/join/join.h"
#include "tools/programs/option_values.h"

char *fxt_ctl_save_bad(const char *time)
{
	char *ns = NULL, *bad = strcmp(time, "all") == 0 ? NULL : fxt_option_set_age(&ns, time);

	free(ns);
	return bad;
}

/* Returns when the time begins that is wanted; 0: it is all. */
static uint64_t from_ns(const char *time)
{
	uint64_t now_ns = fxt_clock_ns(CLOCK_BOOTTIME), ns;
	char *digits = NULL;

	if (strcmp(time, "all") == 0 || fxt_option_set_age(&digits, time))
		return 0;
	ns = strtoull(digits, NULL, 10);
	free(digits);
	return ns < now_ns ? now_ns - ns : 0;
}

/* Copies what is wanted of an archive, and adds that to the parts. Returns false after a message. */
static bool add_copy(struct fxt_parts *parts, const char *archive, uint64_t from, const char *out)
{
	char *path = fxt_format("%s.XXXXXX", out);
	int fd = mkostemp(path, O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool ok = file;

	if (!file)
		fxt_error(path, "%s", strerror(errno));
	else
		ok = fxt_archive_keep_copy(archive, from, file);
	if (file && fclose(file) != 0 && ok) {
		fxt_error(path, "%s", strerror(errno));
		ok = false;
	}
	ok = ok && fxt_parts_add(parts, path);
	if (ok)
		/* Its programs go on, but nobody writes on in this copy. */
		parts->list[parts->count - 1].alive = false;
	else if (fd >= 0)
		unlink(path);
	free(path);
	return ok;
}

bool fxt_ctl_save(const char *archive, const char *time, const char *out)
{
	const char *slash = strrchr(archive, '/');
	char *kernel = fxt_format("%.*s" FXT_PARTS_WITNESS, slash ? (int)(slash - archive) + 1 : 0, archive);
	struct fxt_parts parts = {0};
	struct fxt_merge m = {0};
	uint64_t from = from_ns(time);
	bool ok;

	if (access(out, F_OK) == 0) {
		fxt_error(out, "%s", strerror(EEXIST));
		free(kernel);
		return false;
	}
	ok = add_copy(&parts, archive, from, out);
	/* Only fxt record has a witness. */
	if (ok && access(kernel, F_OK) == 0)
		ok = add_copy(&parts, kernel, from, out);
	if (ok) {
		fxt_parts_sort(&parts);
		ok = fxt_join(&m, &parts, out, NULL, true);
		fxt_merge_free(&m);
	}
	for (size_t i = 0; i < parts.count; i++)
		unlink(parts.list[i].path);
	fxt_parts_free(&parts);
	free(kernel);
	return ok;
}
