/* See output.h. Expands the placeholders of FXT_OUTPUT. */
#include "output.h"

#include <string.h>
#include <sys/utsname.h>

#include "writer/decimal.h"

/* Copies a name that becomes part of a file's name. Its slashes become underscores, so that it names no
 * directory. */
static size_t part(char *out, const char *text, size_t bytes)
{
	size_t n = strnlen(text, bytes), i;

	for (i = 0; i < n; i++)
		out[i] = (char)(text[i] == '/' ? '_' : text[i]);
	return n;
}

bool fxt_output_path(char *path, const struct fxt_config *config, const char *program, uint32_t pid,
		     uint64_t start_seconds)
{
	const char *p = config->output + config->output_fixed;
	size_t used = config->output_fixed;
	struct utsname host;

	memcpy(path, config->output, used);
	for (; *p; p++) {
		if (used + 72 > FXT_PATH_BYTES)
			return false;
		if (*p != '%') {
			path[used++] = *p;
			continue;
		}
		switch (*++p) {
		case 'e':
			used += part(path + used, program, 64);
			break;
		case 'p':
			/* A filter may forbid to ask for the pid. */
			used += (int32_t)pid > 0 ? fxt_decimal(path + used, pid)
						 : part(path + used, "no-pid", 64);
			break;
		case 't':
			used += fxt_decimal(path + used, start_seconds);
			break;
		case 'h':
			if (FXT_SYSCALL1(SYS_uname, &host))
				host.nodename[0] = '\0';
			used += part(path + used, host.nodename, 64);
			break;
		default:
			path[used++] = '%';
		}
	}
	path[used] = '\0';
	return true;
}
