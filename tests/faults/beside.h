/* The programs of tests/faults share this: healthy work beside the fault, and no way to go on after a
 * surprise. Each program is built with one source, -g and -O1. Its functions are not static, so that each
 * has a frame of its own: that level of optimisation puts a static function that is called once into its
 * caller. */
#ifndef FXT_TESTS_FAULTS_BESIDE_H
#define FXT_TESTS_FAULTS_BESIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Computes so many thousand steps: a microsecond or two each. */
static inline void work(unsigned thousands)
{
	static volatile uint64_t state = 88172645463325252U;
	uint64_t x = state;

	for (unsigned long i = 0; i < thousands * 1000UL; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	state = x;
}

/* Ends a program whose surroundings are not what it needs, with a status that no fault has. */
static inline void must(bool holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(99);
	}
}

/* Tells the script that the program comes to the place where it is to be ended from outside. */
static inline void ready(void)
{
	must(write(STDOUT_FILENO, "ready\n", 6) == 6, "ready");
}

#endif
