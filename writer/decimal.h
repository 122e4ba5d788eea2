/* Writes numbers in names and messages, and reads numbers, for code that must not call printf() or scanf().
 * Any context may call this. */
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

/* Reads the digits at *at and moves *at behind them. Returns 0 if there are none. */
static inline uint64_t fxt_decimal_at(const char **at)
{
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (uint64_t)(**at - '0');
	return value;
}

#endif
