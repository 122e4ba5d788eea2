/* The libraries that tests/e2e/walks.py makes share this with tests/check_walks.c, which calls them. */
#ifndef WALKS_H
#define WALKS_H

#include <stdbool.h>

enum { WALKS_LIBRARIES = 8, WALKS_DEEPEST = 70 };

struct walks_state;
typedef void (*walks_function)(struct walks_state *state, unsigned depth);

struct walks_state {
	unsigned long long random;
	void (*compare)(unsigned most);         /* compares the stack, or its innermost frames */
	walks_function enter[WALKS_LIBRARIES];     /* each calls a function of its library */
	int count;
	bool is_stepped;                        /* a trap comes behind each instruction: block none */
};

/* Draws a number below `below`. It is always inlined, so that it makes no frame. */
static inline __attribute__((always_inline, unused)) unsigned walks_draw(struct walks_state *state,
									   unsigned below)
{
	state->random = state->random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state->random >> 33) % below;
}

#endif
