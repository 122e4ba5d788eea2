/* Finds out which bytes are text that the format allows, for fxt_utf8_clean() and fxt_utf8_valid() of
 * fxt_encode.h. The first is called wherever text comes from the traced program (paths, thread names, log
 * lines), from any context. `fxt check` calls the second for every string of a trace.
 */
#include "fxt_encode.h"

/* Returns the length of the well-formed character at `text`, of which `bytes` are there; 0 if there is
 * none. The bounds of the second byte are those of the Unicode Standard's table "Well-Formed UTF-8 Byte
 * Sequences": they exclude overlong forms, surrogates and everything above U+10FFFF. */
static size_t character(const unsigned char *text, size_t bytes)
{
	unsigned char lead = text[0], low = 0x80, high = 0xbf;
	size_t length;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (bytes < length)
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

size_t fxt_utf8_clean(char *out, const char *text, size_t bytes, size_t max_bytes)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t n = 0;

	/* Each byte gives one byte, so `out` never runs ahead of `text` where the two are the same. */
	while (n < bytes) {
		size_t length = character(in + n, bytes - n);

		if ((length ? length : 1) > max_bytes - n)
			break;
		if (length == 0)
			out[n++] = '?';
		for (; length; length--, n++)
			out[n] = text[n];
	}
	return n;
}

bool fxt_utf8_valid(const char *text, size_t bytes)
{
	const unsigned char *in = (const unsigned char *)text;

	for (size_t i = 0, length; i < bytes; i += length) {
		length = character(in + i, bytes - i);
		if (length == 0)
			return false;
	}
	return true;
}
