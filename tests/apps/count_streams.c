/* This program makes a known number of calls of stdio, rare ones included, and prints how many (counts.h).
 *
 *	count_streams ROUNDS		works in the current directory, which stays empty; its stdin and
 *					stdout become files there
 */
#define CALLS(X)                                                                                        \
	X(io, fopen) X(io, freopen) X(io, fclose) X(io, fcloseall) X(io, tmpfile) X(io, popen)          \
	X(io, pclose) X(io, fmemopen) X(io, open_memstream) X(io, open_wmemstream) X(io, fopencookie)   \
	X(io, flockfile) X(io, ftrylockfile) X(io, funlockfile) X(io, fread_unlocked)                   \
	X(io, fwrite_unlocked) X(io, fgets_unlocked) X(io, getline) X(io, fputs_unlocked) X(io, puts)   \
	X(io, getw) X(io, putw) X(io, fseek) X(io, fseeko) X(io, ftello) X(io, fgetpos) X(io, fsetpos)  \
	X(io, fflush_unlocked) X(io, setbuf) X(io, setbuffer) X(io, setlinebuf) X(io, getc)             \
	X(io, getchar) X(io, getc_unlocked) X(io, fgetc_unlocked) X(io, getchar_unlocked) X(io, putc)   \
	X(io, putchar) X(io, putc_unlocked) X(io, fputc_unlocked) X(io, putchar_unlocked)               \
	X(io, __uflow) X(io, __overflow) X(io, getwc) X(io, fgetwc) X(io, getwchar)                     \
	X(io, getwc_unlocked) X(io, fgetwc_unlocked) X(io, getwchar_unlocked) X(io, putwc)              \
	X(io, fputwc) X(io, putwchar) X(io, putwc_unlocked) X(io, fputwc_unlocked)                      \
	X(io, putwchar_unlocked) X(io, ungetwc) X(io, fgetws) X(io, fgetws_unlocked) X(io, fputws)      \
	X(io, fputws_unlocked) X(io, vprintf) X(io, vfprintf) X(io, vdprintf) X(io, vwprintf)           \
	X(io, vfwprintf) X(io, printf) X(io, wprintf) X(io, fwprintf) X(io, vscanf) X(io, vfscanf)      \
	X(io, vwscanf) X(io, vfwscanf) X(io, scanf) X(io, wscanf) X(io, fwscanf) X(io, rewind)          \
	X(io, unlink) X(io, gets) X(io, register_printf_function) X(io, register_printf_specifier)      \
	X(io, register_printf_modifier) X(io, register_printf_type)

/* The headers must not define bodies of these functions, because most calls would be left out then. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif

#include <fcntl.h>
#include <printf.h>
#include <stdarg.h>
#include <wchar.h>

#include "counts.h"

#undef getc_unlocked
#undef putc_unlocked
#undef getchar_unlocked
#undef putchar_unlocked
#undef fgetc_unlocked
#undef fputc_unlocked
#undef fread_unlocked
#undef fwrite_unlocked

extern char *gets(char *s);

enum {
	OFFSET_BITS = 40,       /* bits of an offset that every file system has room for */
	LINE_MOST = 3000,       /* bytes of a word that is printed */
};

static const char *const name = "stream";

static FILE *stream_with(const char *text)
{
	FILE *file = CALL(tmpfile);

	NEED(file && CALL(fputs_unlocked, text, file) >= 0);
	CALL(rewind, file);
	return file;
}

/* -- Functions that take a list of arguments ------------------------------------------------------ */

static int list_to(int which, FILE *file, const char *format, ...)
{
	va_list list;
	int result;

	va_start(list, format);
	result = which == 0   ? CALL(vprintf, format, list)
		 : which == 1 ? CALL(vfprintf, file, format, list)
		 : which == 2 ? CALL(vdprintf, fileno(file), format, list)
		 : which == 3 ? CALL(vscanf, format, list)
			      : CALL(vfscanf, file, format, list);
	va_end(list);
	return result;
}

static int wide_list_to(int which, FILE *file, const wchar_t *format, ...)
{
	va_list list;
	int result;

	va_start(list, format);
	result = which == 0   ? CALL(vwprintf, format, list)
		 : which == 1 ? CALL(vfwprintf, file, format, list)
		 : which == 2 ? CALL(vwscanf, format, list)
			      : CALL(vfwscanf, file, format, list);
	va_end(list);
	return result;
}

/* -- Narrow --------------------------------------------------------------------------------------- */

static void use_characters(void)
{
	FILE *file = stream_with("abcdef\nline\nanother line\n");
	char text[MIDDLE_MOST + 1], *line = NULL;
	size_t room = 0, bytes = random_length(MIDDLE_MOST);
	fpos_t at;

	NEED(CALL(getc, file) == 'a');
	NEED(CALL(getc_unlocked, file) == 'b');
	NEED(CALL(fgetc_unlocked, file) == 'c');
	NEED(CALL(fgetpos, file, &at) == 0);
	NEED(CALL(fgets_unlocked, text, sizeof(text), file) == text && !strcmp(text, "def\n"));
	NEED(CALL(getline, &line, &room, file) == 5);
	free(line);
	NEED(CALL(fread_unlocked, text, 1, 7, file) == 7 && !memcmp(text, "another", 7));
	NEED(CALL(fsetpos, file, &at) == 0);
	NEED(CALL(ftello, file) == 3 && CALL(fseeko, file, 0, SEEK_END) == 0);
	NEED(CALL(putc, 'x', file) == 'x');
	NEED(CALL(putc_unlocked, 'y', file) == 'y');
	NEED(CALL(fputc_unlocked, 'z', file) == 'z');
	NEED(CALL(fseek, file, random_negative(), SEEK_SET) == -1 && errno == EINVAL);
	NEED(CALL(fseeko, file, random_negative(), SEEK_SET) == -1 && errno == EINVAL);
	NEED(CALL(fwrite_unlocked, text, 1, bytes, file) == bytes);
	NEED(CALL(fflush_unlocked, file) == 0);
	NEED(CALL(putw, 77, file) == 0 && CALL(fseek, file, -(long)sizeof(int), SEEK_END) == 0);
	NEED(CALL(getw, file) == 77);
	NEED(CALL(fclose, file) == 0);
	/* The macros call these functions when the buffer is used up. */
	file = stream_with("u");
	NEED(CALL(__uflow, file) == 'u');
	NEED(CALL(__uflow, file) == EOF);
	NEED(CALL(fseek, file, 0, SEEK_END) == 0);
	NEED(CALL(__overflow, file, 'o') == 'o');
	NEED(CALL(fclose, file) == 0);
}

static void use_buffers(void)
{
	FILE *file = stream_with("");
	char buffer[BUFSIZ];
	off_t far = (off_t)random_number(OFFSET_BITS);

	CALL(setbuf, file, buffer);
	CALL(setbuffer, file, buffer, random_length(sizeof(buffer)));
	CALL(setlinebuf, file);
	NEED(CALL(fseeko, file, far, SEEK_SET) == 0 && CALL(ftello, file) == far);
	CALL(flockfile, file);
	NEED(CALL(ftrylockfile, file) == 0);
	CALL(funlockfile, file);
	CALL(funlockfile, file);
	NEED(CALL(fclose, file) == 0);
}

static void use_formats(void)
{
	FILE *file = stream_with("12 13");
	char *word;
	int number = 0;

	NEED(list_to(4, file, "%d", &number) == 1 && number == 12);
	NEED(CALL(fseek, file, 0, SEEK_END) == 0);
	word = random_word(LINE_MOST);
	NEED(list_to(1, file, "%d %s", 4, word) == 2 + (int)strlen(word));
	NEED(CALL(fflush_unlocked, file) == 0);
	NEED(list_to(2, file, "%s", word) == (int)strlen(word));
	NEED(CALL(fclose, file) == 0);
}

/* -- Wide ------------------------------------------------------------------------------------------- */

static void use_wide(void)
{
	FILE *file = CALL(tmpfile);
	wchar_t text[100];
	int number = 0;

	NEED(file && CALL(fputws, L"abcd\nline\nunlocked\n12 13\n", file) >= 0);
	NEED(CALL(fputws_unlocked, L"x", file) >= 0);
	NEED(CALL(putwc, L'p', file) == L'p' && CALL(fputwc, L'q', file) == L'q');
	NEED(CALL(putwc_unlocked, L'r', file) == L'r' && CALL(fputwc_unlocked, L's', file) == L's');
	NEED(CALL(fwprintf, file, L"%d", 5) == 1);
	NEED(wide_list_to(1, file, L"%d", 6) == 1);
	CALL(rewind, file);
	NEED(CALL(getwc, file) == L'a' && CALL(fgetwc, file) == L'b');
	NEED(CALL(getwc_unlocked, file) == L'c' && CALL(fgetwc_unlocked, file) == L'd');
	NEED(CALL(ungetwc, L'd', file) == L'd');
	NEED(CALL(fgetws, text, 100, file) == text && text[0] == L'd');
	NEED(CALL(fgetws, text, 100, file) == text && text[0] == L'l');
	NEED(CALL(fgetws_unlocked, text, 100, file) == text && text[0] == L'u');
	NEED(CALL(fwscanf, file, L"%d", &number) == 1 && number == 12);
	NEED(wide_list_to(3, file, L"%d", &number) == 1 && number == 13);
	NEED(CALL(fclose, file) == 0);
}

/* -- The standard streams --------------------------------------------------------------------------- */

static void use_stdout(void)
{
	char *word;

	NEED(CALL(freopen, path_to(name), "w", stdout) == stdout);
	NEED(CALL(puts, "12 13 14") >= 0);
	word = random_word(LINE_MOST);
	NEED(CALL(printf, "%s %d\n", word, 5) == 3 + (int)strlen(word));
	NEED(list_to(0, stdout, "%d\n", 6) == 2);
	NEED(CALL(putchar, 'x') == 'x' && CALL(putchar_unlocked, 'y') == 'y');
	NEED(CALL(freopen, path_to(name), "a", stdout) == stdout);
	NEED(CALL(wprintf, L"%d\n", 7) == 2);
	NEED(wide_list_to(0, stdout, L"%d\n", 8) == 2);
	NEED(CALL(putwchar, L'x') == L'x' && CALL(putwchar_unlocked, L'y') == L'y');
	NEED(CALL(freopen, path_to(name), "a", stdout) == stdout);
}

static void use_stdin(void)
{
	char text[1000];
	int number = 0;

	NEED(CALL(freopen, path_to(name), "r", stdin) == stdin);
	NEED(CALL(scanf, "%d", &number) == 1 && number == 12);
	NEED(list_to(3, stdin, "%d", &number) == 1 && number == 13);
	NEED(CALL(getchar) == ' ' && CALL(getchar_unlocked) == '1');
	NEED(CALL(gets, text) == text && !strcmp(text, "4"));
	NEED(CALL(freopen, path_to(name), "r", stdin) == stdin);
	NEED(CALL(wscanf, L"%d", &number) == 1 && number == 12);
	NEED(wide_list_to(2, stdin, L"%d", &number) == 1 && number == 13);
	NEED(CALL(getwchar) == L' ' && CALL(getwchar_unlocked) == L'1');
	NEED(CALL(unlink, path_to(name)) == 0);
}

/* -- Streams of other things than files --------------------------------------------------------------- */

static ssize_t swallow(void *cookie, const char *bytes, size_t count)
{
	*(size_t *)cookie += *bytes == 'c' ? count : 0;
	return (ssize_t)count;
}

static void use_others(void)
{
	const cookie_io_functions_t functions = {.write = swallow};
	char memory[100] = "in memory", *text = NULL;
	char command[MIDDLE_MOST + 20];
	size_t bytes = 0, swallowed = 0;
	wchar_t *wide = NULL;
	FILE *file = CALL(fmemopen, memory, sizeof(memory), "r");

	NEED(file && CALL(getc, file) == 'i' && CALL(fclose, file) == 0);
	NEED(CALL(fmemopen, memory, sizeof(memory), "?") == NULL && errno == EINVAL);
	file = CALL(open_memstream, &text, &bytes);
	NEED(file && CALL(putc, 'm', file) == 'm' && CALL(fclose, file) == 0 && bytes == 1);
	free(text);
	file = CALL(open_wmemstream, &wide, &bytes);
	NEED(file && CALL(putwc, L'w', file) == L'w' && CALL(fclose, file) == 0 && bytes == 1);
	free(wide);
	file = CALL(fopencookie, &swallowed, "w", functions);
	NEED(file && CALL(putc, 'c', file) == 'c' && CALL(fclose, file) == 0 && swallowed == 1);
	snprintf(command, sizeof(command), "exit 3 # %s", random_word(MIDDLE_MOST));
	file = CALL(popen, command, "r");
	NEED(file && CALL(getc, file) == EOF && CALL(pclose, file) == 3 << 8);
}

/* -- Conversions of the program's own -------------------------------------------------------------- */

static int convert(FILE *stream, const struct printf_info *info, const void *const *arguments)
{
	(void)info;
	(void)arguments;
	return fputc('?', stream) == EOF ? -1 : 1;
}

static int arguments_of(const struct printf_info *info, size_t n, int *types)
{
	(void)info;
	(void)n;
	(void)types;
	return 0;
}

static int typed_arguments_of(const struct printf_info *info, size_t n, int *types, int *sizes)
{
	(void)sizes;
	return arguments_of(info, n, types);
}

static void take_type(void *memory, va_list *list)
{
	*(int *)memory = va_arg(*list, int);
}

/* The older one of these functions is deprecated, but old programs call it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void register_formats(void)
{
	NEED(CALL(register_printf_function, 'V', convert, arguments_of) == 0);
	NEED(CALL(register_printf_specifier, 'W', convert, typed_arguments_of) == 0);
	NEED(CALL(register_printf_modifier, L"ww") >= 0);
	NEED(CALL(register_printf_type, take_type) >= 0);
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 1;
	long output = unseen(SYS_dup, 1);

	random_seed(0);
	for (i = 0; i < rounds; i++) {
		use_characters();
		use_buffers();
		use_formats();
		use_wide();
		use_stdout();
		use_stdin();
		use_others();
		register_formats();
	}
	NEED(CALL(fcloseall) == 0);
	NEED(unseen(SYS_dup3, output, 1, 0) == 1);
	print_counts();
	return 0;
}
