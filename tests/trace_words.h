/* These macros put a trace together word by word, for the tests of the tool. They use the bit positions of
 * the specification and nothing of fxt_format.h, so a field that is misplaced there makes a test fail. */
#ifndef FXT_TESTS_TRACE_WORDS_H
#define FXT_TESTS_TRACE_WORDS_H

#include <stdint.h>

#define MAGIC UINT64_C(0x0016547846040010)
#define AT(bit, value) ((uint64_t)(value) << (bit))
#define HEAD(type, words, rest) (AT(0, type) | AT(4, words) | AT(16, rest))
#define EVENT(words, kind, args, thread, category, name) \
	(HEAD(4, words, kind) | AT(20, args) | AT(24, thread) | AT(32, category) | AT(48, name))
#define ARG(type, words, name, high) (AT(0, type) | AT(4, words) | AT(16, name) | AT(32, high))
#define STRING(index, bytes) HEAD(2, 2, AT(0, index) | AT(16, bytes))
#define TEXT8(a, b, c, d, e, f, g, h) \
	(AT(0, a) | AT(8, b) | AT(16, c) | AT(24, d) | AT(32, e) | AT(40, f) | AT(48, g) | AT(56, h))

/* The first 12 words of a trace. They define provider 7, thread 1 (thread 8 of process 7), and the strings
 * 1 "io", 2 "read" and 3 "fd". */
#define PROLOGUE                                                     \
	MAGIC,                                                       \
	HEAD(0, 2, 1 | AT(4, 7) | AT(36, 3)), TEXT8('a', 'p', 'p', 0, 0, 0, 0, 0), \
	STRING(1, 2), TEXT8('i', 'o', 0, 0, 0, 0, 0, 0),             \
	STRING(2, 4), TEXT8('r', 'e', 'a', 'd', 0, 0, 0, 0),         \
	STRING(3, 2), TEXT8('f', 'd', 0, 0, 0, 0, 0, 0),             \
	HEAD(3, 3, 1), 7, 8

enum { PROLOGUE_BYTES = 12 * 8 };

#endif
