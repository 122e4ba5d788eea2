/* The pages of gates (writer/provider.h): memory by which a manager wakes providers that wait. Each
 * provider has a page, which it may only read, and shares it with its forked children. The first page tells
 * them whether the manager lives. manager.c owns them; one thread, which is the one that makes them. */
#ifndef FXT_TOOLS_GATES_H
#define FXT_TOOLS_GATES_H

#include <stdbool.h>
#include <stdint.h>

enum { FXT_GATES_MOST = 4096 };

struct fxt_gates {
	int fd;                         /* a memfd, sealed: it never shrinks, and only we write */
	unsigned char *memory;
	uint32_t count;                 /* how many pages it has so far */
	uint32_t free[FXT_GATES_MOST];  /* pages that no provider has */
	uint32_t free_count;
	/* of each page: how many providers have it, and how many of these are to be woken */
	struct fxt_gate_page {
		uint32_t owners, woken;
	} pages[FXT_GATES_MOST];
};

/* Makes the pages. Returns false with errno. */
bool fxt_gates_make(struct fxt_gates *gates);

void fxt_gates_free(struct fxt_gates *gates);

/* Takes a page, which is closed. Returns false if there is none: there are FXT_GATES_MOST, or as many as a
 * limit of the size of files allows. */
bool fxt_gates_take(struct fxt_gates *gates, uint32_t *page);

/* Takes a page that a provider has, for another one. Returns false if none has it. */
bool fxt_gates_share(struct fxt_gates *gates, uint32_t page);

/* Gives a page back, for one provider that does not wake. */
void fxt_gates_give_back(struct fxt_gates *gates, uint32_t page);

/* Wakes a provider of the page at its next call, or lets it wait again: `by` is 1 or -1. */
void fxt_gates_wake(struct fxt_gates *gates, uint32_t page, int by);

#endif
