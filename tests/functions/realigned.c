/* Calls functions that align their stack. What lies between their frame pointer and their return address
 * differs from other functions. */
#include <alloca.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>

#include "counted.h"

#define IS_ALIGNED(pointer, bytes) ((uintptr_t)(pointer) % (bytes) == 0)

/* Makes the compiler forget what it knows about the memory. */
#define USE(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

COUNTED static int leaf(int n)
{
	HERE;
	return n + 1;
}

COUNTED static int aligned_32(int n)
{
	alignas(32) char bytes[64];

	HERE;
	memset(bytes, n, sizeof(bytes));
	USE(bytes);
	need(IS_ALIGNED(bytes, 32));
	return leaf(bytes[63]);
}

COUNTED static int aligned_64(int a, int b, int c, int d, int e, int f, int g, int h)
{
	alignas(64) int values[16] = {a, b, c, d, e, f, g, h};

	HERE;
	USE(values);
	need(IS_ALIGNED(values, 64));
	return aligned_32(values[0]) + values[7] + h + g;
}

COUNTED static int with_alloca(int n)
{
	alignas(64) char bytes[64];
	char *more = alloca((size_t)n + 1);

	HERE;
	memset(more, 1, (size_t)n + 1);
	memset(bytes, 2, sizeof(bytes));
	USE(bytes);
	USE(more);
	need(IS_ALIGNED(bytes, 64));
	return leaf(more[n] + bytes[0]) + (n ? with_alloca(n - 1) : 0);
}

COUNTED static int with_variable_array(int n)
{
	int values[n + 1];
	alignas(128) char bytes[128];

	HERE;
	values[n] = n;
	bytes[0] = 1;
	USE(values);
	USE(bytes);
	need(IS_ALIGNED(bytes, 128));
	return values[n] + aligned_64(bytes[0], 0, 0, 0, 0, 0, 1, 2);
}

COUNTED static int variadic(int numbers, ...)
{
	alignas(64) int values[16];
	va_list list;
	int i, sum = 0;

	HERE;
	va_start(list, numbers);
	for (i = 0; i < numbers; i++)
		values[i] = va_arg(list, int);
	va_end(list);
	USE(values);
	for (i = 0; i < numbers; i++)
		sum += leaf(values[i]);
	return sum;
}

COUNTED static int page_aligned(int depth)
{
	alignas(4096) char page[16];

	HERE;
	page[0] = (char)depth;
	USE(page);
	need(IS_ALIGNED(page, 4096));
	return depth ? page[0] + page_aligned(depth - 1) : 0;
}

int main(int argc, char **argv)
{
	alignas(64) int kept[16];
	char *more = alloca((size_t)argc * 100);
	int i;

	HERE;
	for (i = 0; i < 16; i++)
		kept[i] = i;
	memset(more, 3, (size_t)argc * 100);
	USE(kept);
	USE(more);
	need(IS_ALIGNED(kept, 64) && argv[0]);
	for (i = 0; i < 100; i++) {
		need(aligned_32(i) == i + 1);
		need(aligned_64(1, 2, 3, 4, 5, 6, 7, 8) == 25);
		need(with_alloca(i % 20) == 4 * (i % 20 + 1));
		need(with_variable_array(i) == i + 2 + 2 + 2 + 1);
		need(variadic(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 65);
		need(page_aligned(9) == 45);
		need(kept[15] == 15 && more[99] == 3);
	}
	print_counts();
	return 0;
}
