/* See printf.h. Reads the format, takes the arguments, and writes the text piece by piece. */
#include "printf.h"

#include <stdlib.h>
#include <string.h>

#include "error_text.h"
#include "stack.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum {
	/* The largest width, and the largest precision of anything but a string. More is refused, because
	 * nobody reads that much. */
	MAX_PADDING = 4096,
	MAX_FRACTION = 60,
	INTEGER_BYTES = 64,             /* room for 64 binary digits */
	FLOAT_BYTES = 400,              /* room for %f of any double, or of a long double below FLOAT_MAX */
	FLOAT_STACK_BYTES = 8192,
};
#define FLOAT_MAX 1e300L

enum length { INT, CHAR, SHORT, LONG, LONG_LONG, LONG_DOUBLE, INTMAX, SIZE, PTRDIFF };

struct spec {
	bool left, plus, space, alternate, zero;
	unsigned width;
	int precision;                  /* -1: none */
	enum length length;
	uint32_t conversion;
};

/* The state of one pass. It holds the va_list, because the address of a va_list cannot be passed on
 * everywhere. */
struct pass {
	struct fxt_format_out *out;
	const struct fxt_format *format;
	va_list list;
};

/* -- Output ------------------------------------------------------------------------------------ */

/* Puts bytes that count as so many units. */
static void put_counted(struct fxt_format_out *out, const char *bytes, size_t count, uint64_t units)
{
	out->count += units;
	if (out->put && count)
		out->put(out->context, bytes, count);
}

static size_t characters(const char *bytes, size_t count)
{
	size_t n = 0, i;

	for (i = 0; i < count; i++)
		n += !fxt_utf8_continues(bytes[i]);
	return n;
}

static void put(const struct pass *pass, const char *bytes, size_t count)
{
	put_counted(pass->out, bytes, count, pass->format->wide ? characters(bytes, count) : count);
}

static void repeat(const struct pass *pass, char c, size_t count)
{
	char many[32];

	memset(many, c, sizeof(many));
	for (; count > sizeof(many); count -= sizeof(many))
		put(pass, many, sizeof(many));
	put(pass, many, count);
}

static size_t encode(char *out, wchar_t wide)
{
	uint32_t c = (uint32_t)wide;

	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Puts a number or something like it: prefix, zeros and body, filled up to the width. */
static void put_field(const struct pass *pass, const struct spec *spec, const char *prefix, size_t zeros,
		      const char *body, size_t count)
{
	size_t used = strlen(prefix) + zeros + count, padding = spec->width > used ? spec->width - used : 0;

	if (!spec->left)
		repeat(pass, ' ', padding);
	put(pass, prefix, strlen(prefix));
	repeat(pass, '0', zeros);
	put(pass, body, count);
	if (spec->left)
		repeat(pass, ' ', padding);
}

/* -- Integers ---------------------------------------------------------------------------------- */

static uint64_t take_unsigned(struct pass *pass, enum length length)
{
	switch (length) {
	case CHAR: return (unsigned char)va_arg(pass->list, unsigned);
	case SHORT: return (unsigned short)va_arg(pass->list, unsigned);
	case INT: return va_arg(pass->list, unsigned);
	default: return va_arg(pass->list, uint64_t);
	}
}

static int64_t take_signed(struct pass *pass, enum length length)
{
	switch (length) {
	case CHAR: return (signed char)va_arg(pass->list, int);
	case SHORT: return (short)va_arg(pass->list, int);
	case INT: return va_arg(pass->list, int);
	default: return va_arg(pass->list, int64_t);
	}
}

static void put_integer(const struct pass *pass, const struct spec *spec, uint64_t value, unsigned base,
			const char *prefix)
{
	const char *digits = spec->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[INTEGER_BYTES];
	size_t at = sizeof(text), count, zeros = 0;

	for (; value; value /= base)
		text[--at] = digits[value % base];
	count = sizeof(text) - at;
	if (spec->precision < 0 && !count)
		zeros = 1;
	else if (spec->precision > 0 && (size_t)spec->precision > count)
		zeros = (size_t)spec->precision - count;
	if (base == 8 && spec->alternate && !zeros)
		zeros = 1;
	if (spec->zero && !spec->left && spec->precision < 0 && spec->width > strlen(prefix) + zeros + count)
		zeros = spec->width - strlen(prefix) - count;
	put_field(pass, spec, prefix, zeros, text + at, count);
}

static const char *sign(const struct spec *spec, bool is_negative)
{
	return is_negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
}

static void put_decimal(struct pass *pass, const struct spec *spec)
{
	int64_t value = take_signed(pass, spec->length);

	put_integer(pass, spec, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, sign(spec, value < 0));
}

static void put_unsigned(struct pass *pass, const struct spec *spec)
{
	uint64_t value = take_unsigned(pass, spec->length);
	bool shows = spec->alternate && value;

	switch (spec->conversion) {
	case 'x': put_integer(pass, spec, value, 16, shows ? "0x" : ""); break;
	case 'X': put_integer(pass, spec, value, 16, shows ? "0X" : ""); break;
	case 'o': put_integer(pass, spec, value, 8, ""); break;
	default: put_integer(pass, spec, value, 10, ""); break;
	}
}

static void put_pointer(struct pass *pass, const struct spec *spec)
{
	struct spec plain = {.left = spec->left, .width = spec->width, .precision = -1};
	uintptr_t value = (uintptr_t)va_arg(pass->list, void *);

	if (value)
		put_integer(pass, spec, value, 16, spec->plus ? "+0x" : spec->space ? " 0x" : "0x");
	else
		put_field(pass, &plain, "", 0, "(nil)", 5);
}

/* -- Floating point numbers -------------------------------------------------------------------- */

static int convert(struct pass *pass, const struct spec *spec, char *text)
{
	long double value;
	char how[8] = "%.";
	size_t at = 2;

	if (spec->precision >= 0)
		at += fxt_decimal(how + at, (unsigned long)spec->precision);
	else
		at = 1;
	how[at++] = (char)spec->conversion;
	how[at] = '\0';
	if (spec->length != LONG_DOUBLE)
		return strfromd(text, FLOAT_BYTES, how, va_arg(pass->list, double));
	value = va_arg(pass->list, long double);
	/* The C library allocates memory for large ones. */
	if (value > FLOAT_MAX || value < -FLOAT_MAX)
		return -1;
	return strfroml(text, FLOAT_BYTES, how, value);
}

/* Puts a floating point number. This is a function of its own because its frame is large. */
static __attribute__((noinline)) bool put_float(struct pass *pass, const struct spec *spec)
{
	char text[FLOAT_BYTES], prefix[4] = "";
	const char *body = text;
	bool is_number;
	size_t zeros = 0, count;
	int made;

	if (spec->alternate || spec->precision > MAX_FRACTION || fxt_stack_has_less(FLOAT_STACK_BYTES))
		return false;
	made = convert(pass, spec, text);
	if (made < 0 || made >= FLOAT_BYTES)
		return false;
	*prefix = *sign(spec, *body == '-');
	body += *body == '-';
	is_number = *body >= '0' && *body <= '9';
	if ((spec->conversion == 'a' || spec->conversion == 'A') && is_number) {
		strncat(prefix, body, 2);
		body += 2;
	}
	count = strlen(body);
	if (spec->zero && !spec->left && is_number && spec->width > strlen(prefix) + count)
		zeros = spec->width - strlen(prefix) - count;
	put_field(pass, spec, prefix, zeros, body, count);
	return true;
}

/* -- Text -------------------------------------------------------------------------------------- */

/* Returns how many bytes of a string are within the precision. */
static size_t narrow_bytes(const struct pass *pass, const char *text, int precision)
{
	size_t bytes = 0, n = 0;

	if (precision < 0)
		return strlen(text);
	if (!pass->format->wide)
		return strnlen(text, (size_t)precision);
	for (; text[bytes]; bytes++) {
		n += !fxt_utf8_continues(text[bytes]);
		if (n > (size_t)precision)
			break;
	}
	return bytes;
}

static void put_narrow(const struct pass *pass, const struct spec *spec, const char *text)
{
	size_t bytes = narrow_bytes(pass, text, spec->precision);
	size_t units = pass->format->wide ? characters(text, bytes) : bytes;
	size_t padding = spec->width > units ? spec->width - units : 0;

	if (!spec->left)
		repeat(pass, ' ', padding);
	put(pass, text, bytes);
	if (spec->left)
		repeat(pass, ' ', padding);
}

static void put_wide(const struct pass *pass, const struct spec *spec, const wchar_t *text)
{
	size_t units = 0, count = 0, padding, n;
	char bytes[4];

	/* A text with a precision may have no terminator, so nothing behind the precision is read. */
	for (; spec->precision < 0 || units < (size_t)spec->precision; count++, units += n) {
		if (!text[count])
			break;
		n = pass->format->wide ? 1 : encode(bytes, text[count]);
		if (spec->precision >= 0 && units + n > (size_t)spec->precision)
			break;
	}
	padding = spec->width > units ? spec->width - units : 0;
	if (!spec->left)
		repeat(pass, ' ', padding);
	for (n = 0; n < count; n++)
		put(pass, bytes, encode(bytes, text[n]));
	if (spec->left)
		repeat(pass, ' ', padding);
}

static void put_string(struct pass *pass, const struct spec *spec)
{
	const void *text = va_arg(pass->list, const void *);

	if (!text)
		put_narrow(pass, spec, spec->precision < 0 || spec->precision >= 6 ? "(null)" : "");
	else if (spec->conversion == 'S' || spec->length == LONG)
		put_wide(pass, spec, text);
	else
		put_narrow(pass, spec, text);
}

static void put_character(struct pass *pass, const struct spec *spec)
{
	bool is_wide = spec->conversion == 'C' || spec->length == LONG;
	wchar_t c = (wchar_t)va_arg(pass->list, int);
	char bytes[4];

	if (is_wide)
		put_field(pass, spec, "", 0, bytes, encode(bytes, c));
	else
		put_field(pass, spec, "", 0, (const char[]){(char)c}, 1);
}

static atomic_bool registered;

void fxt_format_registered(void)
{
	atomic_store_explicit(&registered, true, memory_order_relaxed);
}

/* -- The format -------------------------------------------------------------------------------- */

static uint32_t character_at(const struct fxt_format *format, size_t at)
{
	return format->wide ? (uint32_t)format->wide[at] : (unsigned char)format->narrow[at];
}

/* Reads a number or takes it from the arguments. Returns false if it is larger than anybody reads. */
static bool read_number(struct pass *pass, size_t *at, int *number)
{
	uint32_t c = character_at(pass->format, *at);

	*number = 0;
	if (c == '*') {
		++*at;
		*number = va_arg(pass->list, int);
	}
	for (; c >= '0' && c <= '9' && *number <= MAX_PADDING; c = character_at(pass->format, ++*at))
		*number = *number * 10 + (int)(c - '0');
	return c < '0' || c > '9';
}

static bool read_flag(struct spec *spec, uint32_t c)
{
	switch (c) {
	case '-': spec->left = true; return true;
	case '+': spec->plus = true; return true;
	case ' ': spec->space = true; return true;
	case '#': spec->alternate = true; return true;
	case '0': spec->zero = true; return true;
	case '\'': return true;         /* this groups no digits in the C locale */
	default: return false;
	}
}

static enum length read_length(const struct fxt_format *format, size_t *at)
{
	uint32_t c = character_at(format, *at);
	bool twice = c && character_at(format, *at + 1) == c;

	switch (c) {
	case 'h': *at += 1 + twice; return twice ? CHAR : SHORT;
	case 'l': *at += 1 + twice; return twice ? LONG_LONG : LONG;
	case 'q': ++*at; return LONG_LONG;
	case 'L': ++*at; return LONG_DOUBLE;
	case 'j': ++*at; return INTMAX;
	case 'z':
	case 'Z': ++*at; return SIZE;
	case 't': ++*at; return PTRDIFF;
	default: return INT;
	}
}

/* Reads what follows a percent sign, with the conversion. */
static bool read_spec(struct pass *pass, size_t *at, struct spec *spec)
{
	int number;

	*spec = (struct spec){.precision = -1};
	while (read_flag(spec, character_at(pass->format, *at)))
		++*at;
	if (!read_number(pass, at, &number) || number > MAX_PADDING || number < -MAX_PADDING)
		return false;
	spec->left |= number < 0;
	spec->width = (unsigned)(number < 0 ? -number : number);
	if (character_at(pass->format, *at) == '.') {
		++*at;
		if (!read_number(pass, at, &number))
			return false;
		spec->precision = number < 0 ? -1 : number;
	}
	spec->length = read_length(pass->format, at);
	spec->conversion = character_at(pass->format, *at);
	if (!spec->conversion)
		return false;
	++*at;
	return true;
}

static bool put_conversion(struct pass *pass, const struct spec *spec)
{
	char room[FXT_NUMBERED_BYTES];

	if (spec->precision > MAX_PADDING && spec->conversion != 's' && spec->conversion != 'S')
		return false;
	switch (spec->conversion) {
	case 'd':
	case 'i': put_decimal(pass, spec); return true;
	case 'u':
	case 'o':
	case 'x':
	case 'X': put_unsigned(pass, spec); return true;
	case 'p': put_pointer(pass, spec); return true;
	case 'a':
	case 'A':
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G': return put_float(pass, spec);
	case 'c':
	case 'C': put_character(pass, spec); return true;
	case 's':
	case 'S': put_string(pass, spec); return true;
	case 'm': put_narrow(pass, spec, fxt_error_text(pass->format->error, room)); return !spec->alternate;
	case 'n': (void)va_arg(pass->list, void *); return true;
	case '%': put(pass, "%", 1); return true;
	default: return false;
	}
}

void fxt_format_wide(struct fxt_format_out *out, const wchar_t *text, size_t count)
{
	char bytes[4];
	size_t i;

	for (i = 0; i < count && text[i]; i++)
		put_counted(out, bytes, encode(bytes, text[i]), 1);
}

/* Puts the text in front of the next percent sign, or of the end. Returns the position of that. */
static size_t put_literal(const struct pass *pass, size_t at)
{
	size_t end = at;

	if (pass->format->wide) {
		while (pass->format->wide[end] && pass->format->wide[end] != L'%')
			end++;
		fxt_format_wide(pass->out, pass->format->wide + at, end - at);
		return end;
	}
	end += strcspn(pass->format->narrow + at, "%");
	put(pass, pass->format->narrow + at, end - at);
	return end;
}

bool fxt_format(struct fxt_format_out *out, const struct fxt_format *format, va_list list)
{
	struct pass pass = {.out = out, .format = format};
	struct spec spec;
	bool known = true;
	size_t at;

	if (atomic_load_explicit(&registered, memory_order_relaxed))
		return false;
	va_copy(pass.list, list);
	for (at = put_literal(&pass, 0); character_at(format, at); at = put_literal(&pass, at)) {
		at++;
		known = read_spec(&pass, &at, &spec) && put_conversion(&pass, &spec);
		if (!known)
			break;
	}
	va_end(pass.list);
	return known;
}

void fxt_format_itself(struct fxt_format_out *out, const struct fxt_format *format)
{
	if (format->wide)
		fxt_format_wide(out, format->wide, SIZE_MAX);
	else
		put_counted(out, format->narrow, strlen(format->narrow), 0);
}
