/* The texts of calls in progress. A call that waits is shown with the address of an argument, such as the
 * path of an open(): the agent may not read what the program passes before the kernel has found it readable.
 * So the manager reads the text from outside, while the call waits, and what is saved of the call has it.
 *
 * A call that was seen at two looks in a row is a long one. Only such calls are read, so programs that do not
 * wait cost a look at their pages. client.c and trace_session.c call this, from one thread. */
#ifndef FXT_TOOLS_CLIENT_TEXTS_H
#define FXT_TOOLS_CLIENT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_client;

struct fxt_client_texts {
	bool is_read;                   /* the indices of the names have been looked for */
	unsigned name_count;
	uint16_t names[16];             /* the names of arguments that are texts, by the provider's table */
	/* the calls in progress with such an argument that the last look has seen */
	struct fxt_client_text {
		uint64_t start, address;        /* when the call began, and what it was given */
		char *text;                     /* NULL: it was seen once, or cannot be read */
	} *list;
	size_t count, capacity;
};

/* Looks which calls of a provider are in progress, and reads the texts of those that the last look saw. */
void fxt_client_texts_look(struct fxt_client *p);

/* If the record shows a call in progress whose text is known, stores that record with the text in the place
 * of the address, and returns its size in words; `to` has room for FXT_CLIENT_TEXT_WORDS. Otherwise returns
 * 0. */
enum { FXT_CLIENT_TEXT_WORDS = 5 + 4096 / 8 };
size_t fxt_client_texts_put(const struct fxt_client *p, uint64_t *to, const uint64_t *record);

/* Frees what it has read. */
void fxt_client_texts_free(struct fxt_client *p);

#endif
