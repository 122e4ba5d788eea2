/* See fdinfo.h. The file is read apart from the program's descriptors. */
#include "fdinfo.h"

#include <fcntl.h>
#include <string.h>

#include "agent.h"
#include "stack.h"
#include "writer/apart.h"
#include "writer/decimal.h"
#include "writer/sys.h"

bool fxt_fdinfo_read(struct fxt_fdinfo *info, int fd)
{
	static const char directory[] = "/proc/self/fdinfo/";
	size_t length = sizeof(directory) - 1;
	long bytes;

	if (fd < 0 || fxt_is_filtered() || fxt_stack_is_short())
		return false;
	memcpy(info->text, directory, length);
	length += fxt_decimal(info->text + length, (uint64_t)fd);
	info->text[length] = '\0';
	bytes = fxt_read_file(info->text, info->text, sizeof(info->text) - 1);
	info->text[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
}

/* Returns what stands behind the field's name and its colon, or NULL if there is no such line. */
static const char *behind(const char *line, const char *field)
{
	size_t length = strlen(field);

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, field, length) && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

static unsigned digit_of(char c)
{
	return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				      : 16;
}

bool fxt_fdinfo_number(const struct fxt_fdinfo *info, const char *field, unsigned base, uint64_t *number)
{
	const char *at = behind(info->text, field), *first;

	for (; at && (*at == ' ' || *at == '\t'); at++)
		;
	*number = 0;
	for (first = at; at && digit_of(*at) < base; at++)
		*number = *number * base + digit_of(*at);
	return at && at > first;
}
