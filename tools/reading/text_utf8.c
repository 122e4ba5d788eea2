/* Finds out whether text is UTF-8, for fxt check, which asks it of every string. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "reader_internal.h"

/* Returns the bytes of the character at `s`, of which at most `left` are there; 0 if they are no
 * character. */
static size_t character(const unsigned char *s, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc0 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf8 ? 4
				 : 0;
	uint32_t code;

	if (n <= 1 || n > left)
		return n <= left ? n : 0;
	code = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

bool fxt_utf8_valid(const char *text, size_t bytes)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t i = 0, n; i < bytes; i += n) {
		n = character(s + i, bytes - i);
		if (n == 0)
			return false;
	}
	return true;
}
