/* Writes numbers in names and messages, for code that must not call printf(). Any context may call this. */
#ifndef FXT_DECIMAL_H
#define FXT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { FXT_DECIMAL_BYTES = 20 };        /* the digits of UINT64_MAX */

/* Writes the digits of `value` without a NUL. Returns how many bytes it wrote, at most FXT_DECIMAL_BYTES. */
static inline size_t fxt_decimal(char *out, uint64_t value)
{
	char digits[FXT_DECIMAL_BYTES];
	size_t n = 0, i;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	for (i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

#endif
