/* See joined_directory.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "joined_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/archive/archive_keep.h"
#include "tools/common/message.h"
#include "tools/join/join.h"
#include "tools/manager/heir.h"

bool fxt_parts_put_together(const char *directory)
{
	char *archive = fxt_format("%s/" FXT_PARTS_ARCHIVE, directory);
	char *kernel = fxt_format("%s/" FXT_PARTS_WITNESS, directory);
	bool ok = fxt_archive_keep_put_together(archive) && fxt_archive_keep_put_together(kernel);

	free(archive);
	free(kernel);
	return ok;
}

/* Joins the parts, which are those of `path`, in a file without a name. Returns its descriptor, or -1 after a
 * message. */
static int join_nameless(const struct fxt_parts *parts, const char *path)
{
	struct fxt_merge merge = {0};
	int fd = fxt_nameless_file();
	char *out = fxt_format("/proc/self/fd/%d", fd);

	if (fd < 0) {
		fxt_error(path, "no file to join its traces in: %s", strerror(errno));
	} else if (!fxt_join(&merge, parts, out, NULL, true)) {
		close(fd);
		fd = -1;
	}
	free(out);
	fxt_merge_free(&merge);
	return fd;
}

int fxt_joined_directory(const char *directory)
{
	struct fxt_parts parts = {0};
	int fd = -1;

	fxt_heir_await(directory);
	if (fxt_parts_made_by_record(directory) && !fxt_parts_lock(directory)) {
		fxt_error(directory, "its fxt record still runs, and will join it");
		return -1;
	}
	if (!fxt_parts_put_together(directory))
		return -1;
	fxt_parts_find(&parts, directory, NULL);
	if (parts.count)
		fd = join_nameless(&parts, directory);
	else
		fxt_error(directory, "there is no trace in this directory");
	fxt_parts_free(&parts);
	return fd;
}

int fxt_joined_file(const char *path)
{
	struct fxt_parts parts = {0};
	int fd = fxt_parts_add(&parts, path) ? join_nameless(&parts, path) : -1;

	fxt_parts_free(&parts);
	return fd;
}
