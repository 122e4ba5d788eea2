/* Arguments of random length for programs to trace, so that their records have every size. A record that is
 * always as long as the last one never ends at the place in the buffer where a fault is.
 *
 * All arguments follow from one seed, so FXT_SEED=N makes a program call with the same arguments again. The
 * end-to-end scripts set FXT_SEED and print it when they fail (tests/e2e/lib.sh). Without it the seed comes
 * from the time and the process's id, and the program prints it on standard error.
 *
 *	random_seed(number)     comes first in each thread that uses the others; `number` tells threads apart
 *
 * Each thread has a state of its own, and no function here makes a call that is traced, so any thread may
 * call them. A signal handler gives random_length_of() a state of its own, and makes its paths by
 * path_nowhere().
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unseen.h"

#define RANDOM static inline __attribute__((no_instrument_function, unused))

enum {
	PATH_MOST = PATH_MAX - 1, /* bytes of the longest path the kernel takes */
	NAME_MOST = 255, /* bytes of the longest name of a file */
	SHORT_MOST = 64, /* half of the lengths are up to this, as in most programs */
	MIDDLE_MOST = 300, /* and nearly all others up to this */
	PATH_ROOMS = 4, /* paths of one thread that are valid at the same time: a call has two at most */
};

static uint64_t random_seed_value;
static __thread uint64_t random_state;
static __thread char random_rooms[PATH_ROOMS][PATH_MAX];
static __thread unsigned random_room;

/* -- Numbers -------------------------------------------------------------------------------------- */

/* The next number of a state: splitmix64, which has no bad states and so needs no warming up. */
RANDOM uint64_t random_of(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The state that belongs to a number: states of different numbers have nothing in common. */
RANDOM uint64_t random_state_of(uint64_t number)
{
	uint64_t state = random_seed_value + number * UINT64_C(0xd1342543de82ef95);

	return random_of(&state);
}

/* Takes the seed of the process, once; called by random_seed(). */
RANDOM void random_begin(void)
{
	const char *given = getenv("FXT_SEED");
	char text[40];
	int bytes;

	random_seed_value =
		given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 100000 + (uint64_t)getpid();
	if (given)
		return;
	bytes = snprintf(text, sizeof(text), "FXT_SEED=%llu\n", (unsigned long long)random_seed_value);
	unseen(SYS_write, STDERR_FILENO, text, bytes);
}

/* Starts the thread's numbers. The first call is the main thread's, with 0, before there are others. */
RANDOM void random_seed(uint64_t number)
{
	if (!number)
		random_begin();
	random_state = random_state_of(number);
}

/* Returns a number below `end`. */
RANDOM uint64_t random_below(uint64_t end)
{
	return random_of(&random_state) % end;
}

/* Returns a number that needs 1 to `most_bits` bits, each length as often. Numbers below 2^32 take one word
 * of a record, and others two. */
RANDOM uint64_t random_number(unsigned most_bits)
{
	return random_of(&random_state) >> (64 - 1 - random_below(most_bits));
}

/* Returns a number from -2^62 to -1, as random_number() does. */
RANDOM int64_t random_negative(void)
{
	return -1 - (int64_t)random_number(62);
}

/* -- Strings -------------------------------------------------------------------------------------- */

/* Returns a length from 1 to `most`: often a short one, now and then any. */
RANDOM size_t random_length_of(uint64_t *state, size_t most)
{
	uint64_t x = random_of(state), kind = x % 64;
	size_t end = kind < 32 ? (uint64_t)SHORT_MOST : kind < 63 ? (uint64_t)MIDDLE_MOST : most;

	return 1 + (x >> 6) % (end < most ? end : most);
}

/* Does the same with the state of the calling thread. */
RANDOM size_t random_length(size_t most)
{
	return random_length_of(&random_state, most);
}

/* Fills `text` with 1 to `most` random letters and a 0, so it needs most + 1 bytes. Returns it. */
RANDOM char *random_text(char *text, size_t most)
{
	size_t length = random_length(most), i;

	for (i = 0; i < length; i++)
		text[i] = (char)('a' + random_below(26));
	text[length] = 0;
	return text;
}

/* Returns room for a path, which is valid until the thread has asked for PATH_ROOMS more. */
RANDOM char *random_new_room(void)
{
	return random_rooms[random_room++ % PATH_ROOMS];
}

/* Returns random letters, `most` at most, in such room. */
RANDOM char *random_word(size_t most)
{
	return random_text(random_new_room(), most);
}

/* Returns another path of the same file, of random length up to `most`, with any number of "./" and "/" in
 * front. */
RANDOM char *path_within(const char *path, size_t most)
{
	size_t bytes = strlen(path), length = random_length(most);
	char *room = random_new_room(), *at = room, *end = length > bytes + 1 ? room + length - bytes : room;

	/* A relative path may not begin with a slash, and an absolute one has to. */
	if (at < end && *path != '/')
		*at++ = '.';
	while (at < end) {
		*at++ = '/';
		if (end - at > 1 && random_below(2))
			*at++ = '.';
	}
	memcpy(end, path, bytes + 1);
	return room;
}

/* Does the same with paths of any length the kernel takes. */
RANDOM char *path_to(const char *path)
{
	return path_within(path, PATH_MOST);
}

/* Fills PATH_MAX bytes for path_nowhere(). */
RANDOM void path_nowhere_fill(char text[PATH_MAX])
{
	size_t i;

	for (i = 0; i < PATH_MOST; i++)
		text[i] = i % (NAME_MOST - 5) ? 'n' : '/';
	text[PATH_MOST] = 0;
}

/* Returns a path of `length` bytes where no file is, so that a call with it fails with ENOENT at its first
 * name. It is the end of a text that path_nowhere_fill() has filled. Nothing is written, so threads and
 * handlers share the text. */
RANDOM const char *path_nowhere(const char text[PATH_MAX], size_t length)
{
	return text + PATH_MOST - length;
}

#endif
