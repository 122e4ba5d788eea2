/* This program has a function with two levels of inlined functions. It prints the address of a call in the
 * innermost one, in the terms of its own program headers, and the lines of the three levels there. The test
 * of names (tests/check_frame_names.c) looks the address up. The function has a symbol of C++:
 * names::outer(int). */
#include <inttypes.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

static int lines[3];

static int find_bias(struct dl_phdr_info *info, size_t bytes, void *bias)
{
	(void)bytes;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

/* Returns the address of the last byte of the call, as the agent records it. */
static __attribute__((noinline)) uint64_t here(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1 - bias;
}

static inline __attribute__((always_inline)) uint64_t innermost(void)
{
	uint64_t at;

	lines[0] = __LINE__ + 1;
	at = here();
	return at;
}

static inline __attribute__((always_inline)) uint64_t middle(void)
{
	lines[1] = __LINE__ + 1;
	return innermost();
}

uint64_t outer(int times) __asm__("_ZN5names5outerEi");

__attribute__((noinline)) uint64_t outer(int times)
{
	uint64_t at = 0;

	for (int i = 0; i < times; i++) {
		lines[2] = __LINE__ + 1;
		at = middle();
	}
	return at;
}

int main(void)
{
	uint64_t at = outer(1);

	printf("%" PRIu64 " %d %d %d\n", at, lines[0], lines[1], lines[2]);
	return 0;
}
