/* Joins parts into a file that takes its place when it is whole. See join.h. */
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

#include "message.h"

/* Writes to a new file beside `path`, which is then renamed: what was there stays until all is written.
 * Devices and pipes are written to as they are. */
static FILE *open_output(const char *path, char **temporary)
{
	struct stat st;
	FILE *out;
	int fd;

	*temporary = NULL;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? (errno = EISDIR, NULL) : fopen(path, "we");
	*temporary = fxt_format("%s.XXXXXX", path);
	fd = mkostemp(*temporary, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out && fd >= 0)
		close(fd);
	return out;
}

static bool join(struct fxt_merge *m, const struct fxt_parts *parts, FILE *out)
{
	if (!fxt_merge_begin(m, out))
		return false;
	for (size_t i = 0; i < parts->count; i++) {
		if (!fxt_merge_part(m, parts->list[i].path))
			return false;
	}
	return true;
}

bool fxt_join(struct fxt_merge *m, const struct fxt_parts *parts, const char *path)
{
	char *temporary;
	FILE *out = open_output(path, &temporary);
	bool ok = out && join(m, parts, out);
	int error = errno;

	if (out && fclose(out) != 0 && ok) {
		ok = false;
		error = errno;
	}
	if (ok && temporary && rename(temporary, path) != 0) {
		ok = false;
		error = errno;
	}
	if (!ok) {
		fxt_error(path, "%s", strerror(error));
		if (temporary)
			unlink(temporary);
	}
	free(temporary);
	return ok;
}
