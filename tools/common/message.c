/* Writes messages to the user, and allocates memory or ends the process. See message.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fxt_error(const char *file, const char *format, ...)
{
	va_list ap;

	flockfile(stderr);
	fputs("fxt: ", stderr);
	if (file)
		fprintf(stderr, "%s: ", file);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

int fxt_out_of_memory_status = EXIT_FAILURE;

static void *or_die(void *memory)
{
	if (!memory) {
		fxt_error(NULL, "out of memory");
		exit(fxt_out_of_memory_status);
	}
	return memory;
}

void *fxt_alloc(size_t count, size_t element_bytes)
{
	return or_die(calloc(count ? count : 1, element_bytes));
}

void *fxt_grow_array(void *array, size_t *capacity, size_t needed, size_t element_bytes)
{
	size_t room = *capacity ? *capacity : 8;

	while (room < needed && room <= SIZE_MAX / 2)
		room *= 2;
	array = or_die(reallocarray(array, room, element_bytes));
	*capacity = room;
	return array;
}

char *fxt_strdup(const char *text)
{
	return or_die(strdup(text));
}

char *fxt_format(const char *format, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	return or_die(n < 0 ? NULL : text);
}

FILE *fxt_text_stream(char **text, size_t *bytes)
{
	return or_die(open_memstream(text, bytes));
}

static int stdout_error;

void fxt_flush_stdout(void)
{
	bool failed_before = ferror(stdout);
	int error = errno;

	if (fflush(stdout) != 0)
		error = errno;
	else if (!failed_before)
		return;
	if (!stdout_error)
		stdout_error = error ? error : EIO;
}

void fxt_stdout_at_exit(void)
{
	fxt_flush_stdout();
	if (!stdout_error)
		return;
	fxt_error("standard output", "%s", strerror(stdout_error));
	_exit(1);
}

int fxt_nameless_file(void)
{
	const char *directory = getenv("TMPDIR");
	char *path = fxt_format("%s/fxt.XXXXXX", directory && *directory ? directory : "/tmp");
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}
