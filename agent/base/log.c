/* See log.h. The agent's slow paths call these functions. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "connection.h"
#include "writer/decimal.h"
#include "writer/sys.h"

static bool quiet;

/* The standard error that the process was started with; all 0: there was none. */
static struct {
	dev_t device;
	ino_t inode;
	mode_t type;
} standard_error;

void fxt_log_start(void)
{
	struct stat status;

	if (fxt_sys_fstat(2, &status))
		return;
	standard_error.device = status.st_dev;
	standard_error.inode = status.st_ino;
	standard_error.type = status.st_mode & S_IFMT;
}

/* Tells whether descriptor 2 is still the standard error: a program that closes it may get the number for a
 * file of its own. */
static bool is_standard_error(void)
{
	struct stat status;

	return !fxt_sys_fstat(2, &status) && status.st_dev == standard_error.device &&
		status.st_ino == standard_error.inode &&
	       (status.st_mode & S_IFMT) == standard_error.type;
}

/* Writes the line. Its reader may be gone, or a file may have reached the limit of its size. The signals of
 * either must not kill the program. */
static void put(const char *text, size_t bytes)
{
	uint64_t mask = fxt_sys_block_signals();
	ssize_t written = fxt_sys_write(2, text, bytes);

	if (written == -EPIPE)
		fxt_sys_take_back(SIGPIPE);
	if (written == -EFBIG)
		fxt_sys_take_back(SIGXFSZ);
	fxt_sys_restore_signals(mask);
}

void fxt_log_quiet(bool value)
{
	quiet = value;
}

const char *fxt_error_name(int error)
{
	const char *name = strerrordesc_np(error < 0 ? -error : error);

	return name ? name : "unknown error";
}

struct line {
	size_t used;
	char text[512];
};

static void add(struct line *line, const char *text, size_t bytes)
{
	if (bytes > sizeof(line->text) - 1 - line->used)
		bytes = sizeof(line->text) - 1 - line->used;
	memcpy(line->text + line->used, text, bytes);
	line->used += bytes;
}

static void add_number(struct line *line, unsigned long value)
{
	char digits[FXT_DECIMAL_BYTES];
	size_t bytes = fxt_decimal(digits, value);

	add(line, digits, bytes);
}

static void add_signed(struct line *line, long value)
{
	if (value < 0)
		add(line, "-", 1);
	add_number(line, value < 0 ? -(unsigned long)value : (unsigned long)value);
}

void fxt_log(const char *format, ...)
{
	struct line line = {0};
	va_list list;
	const char *p, *text;
	int precision;

	if (quiet || (!fxt_run_has_key() && !is_standard_error()))
		return;
	add(&line, "fxtagent[", 9);
	add_number(&line, (unsigned long)fxt_sys_getpid());
	add(&line, "]: ", 3);
	va_start(list, format);
	for (p = format; *p; p++) {
		if (*p != '%') {
			add(&line, p, 1);
			continue;
		}
		switch (*++p) {
		case 's':
			text = va_arg(list, const char *);
			add(&line, text, strlen(text));
			break;
		case '.':
			p += 2;
			precision = va_arg(list, int);
			text = va_arg(list, const char *);
			add(&line, text, strnlen(text, (size_t)precision));
			break;
		case 'd':
			add_signed(&line, va_arg(list, int));
			break;
		case 'l':
			p++;
			add_number(&line, va_arg(list, unsigned long));
			break;
		default:
			add(&line, p, 1);
		}
	}
	va_end(list);
	/* What a program of fxt record prints may be read by another program. */
	if (fxt_run_has_key()) {
		fxt_run_say(line.text, line.used);
		return;
	}
	line.text[line.used++] = '\n';
	put(line.text, line.used);
}
