/* This defines the assertions of the emission path. They are compiled in by -DFXT_CHECKING (configure
 * --enable-checking, and always in tests/model_emission); in a user's build they cost nothing. An assertion
 * that fails prints both values and ends the process at once, because the next step would be a store into
 * somebody else's memory. Any context may use them.
 */
#ifndef FXT_CHECKING_H
#define FXT_CHECKING_H

#ifdef FXT_CHECKING
#include <string.h>

#include "sys.h"

/* Writes a number in hexadecimal, because most are addresses. Returns how many bytes it wrote. */
static inline size_t fxt_check_hex(char *out, uint64_t value)
{
	int shift;
	size_t n = 0;

	out[n++] = '0';
	out[n++] = 'x';
	for (shift = 60; shift >= 0; shift -= 4)
		out[n++] = "0123456789abcdef"[value >> shift & 15];
	return n;
}

/* Prints the place, the text and both values of an assertion that does not hold, and ends the process. */
static inline _Noreturn void fxt_check_failed(const char *place, const char *text, uint64_t left,
					      uint64_t right)
{
	char line[512];
	size_t n = 0, bytes;
	const char *const parts[] = {"fxtagent: ", place, ": does not hold: ", text, " with "};
	unsigned i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++, n += bytes) {
		bytes = strnlen(parts[i], 128);
		memcpy(line + n, parts[i], bytes);
	}
	n += fxt_check_hex(line + n, left);
	line[n++] = ',';
	line[n++] = ' ';
	n += fxt_check_hex(line + n, right);
	line[n++] = '\n';
	fxt_sys_write(2, line, n);
	__builtin_trap();
}

#define FXT_CHECK_LINE_(line) #line
#define FXT_CHECK_LINE(line) FXT_CHECK_LINE_(line)
#define FXT_CHECK(left, relation, right)                                                                   \
	((left)relation(right)                                                                             \
		 ? (void)0                                                                                 \
		 : fxt_check_failed(__FILE__ ":" FXT_CHECK_LINE(__LINE__), #left " " #relation " " #right, \
				    (uint64_t)(left), (uint64_t)(right)))
#else
#define FXT_CHECK(left, relation, right) ((void)0)
#endif

#endif
