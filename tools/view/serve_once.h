/* Hands a trace to https://ui.perfetto.dev, over HTTP on this machine, once.
 *
 * That page may fetch from http://127.0.0.1:9001 and from no other port of this machine: its own security
 * policy says so. A browser lets no other page read the answer, because the answer names that one; whoever
 * asks for another name of this machine, from another page, or without the token gets nothing.
 */
#ifndef FXT_TOOLS_SERVE_ONCE_H
#define FXT_TOOLS_SERVE_ONCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FXT_PERFETTO_UI "https://ui.perfetto.dev"

enum { FXT_SERVE_PORT = 9001, FXT_SERVE_TOKEN_BYTES = 16 };

struct fxt_serve {
	int fd; /* listens */
	unsigned port;
	char path[2 * FXT_SERVE_TOKEN_BYTES + 16]; /* "/TOKEN/trace.fxt" */
};

/* Begins to listen on a port of 127.0.0.1; 0: any that is free. Returns false with errno. */
bool fxt_serve_begin(struct fxt_serve *s, unsigned port);
/* Answers until the bytes were fetched once, and stops listening. Returns false with errno. */
bool fxt_serve_until_fetched(struct fxt_serve *s, const void *data, uint64_t bytes);

#endif
