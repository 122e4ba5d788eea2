/* Numbers in names and messages of code that calls no printf(). Any context. */
#ifndef FXT_DECIMAL_H
#define FXT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { FXT_DECIMAL_BYTES = 20 };        /* of UINT64_MAX */

/* Writes the digits of `value`, without a NUL; returns how many. */
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
