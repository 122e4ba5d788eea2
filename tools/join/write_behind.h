/* Writes to a stream from a thread of its own, in order, while the caller fills the next block. Merge uses
 * it, from one thread, because finding out what to write and having the kernel take it cost about the same.
 *
 *	block = fxt_write_behind_begin(&w, out, bytes)
 *	... fill it ...
 *	block = fxt_write_behind_next(&w, used)                 any number of times
 *	fxt_write_behind_end(&w, used)
 */
#ifndef FXT_TOOLS_WRITE_BEHIND_H
#define FXT_TOOLS_WRITE_BEHIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { FXT_WRITE_BEHIND_BLOCKS = 3 };

struct fxt_write_behind {
	FILE *out;
	size_t bytes;                   /* size of a block */
	unsigned char *blocks[FXT_WRITE_BEHIND_BLOCKS];
	size_t used[FXT_WRITE_BEHIND_BLOCKS];
	unsigned filled, written;       /* blocks so far; `lock` guards this and the members below */
	bool has_thread, is_over;
	int error;                      /* errno of the first write that failed */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* Begins to write to `out`, which nobody else may use until the end. Returns the first block, of `bytes`
 * bytes. */
unsigned char *fxt_write_behind_begin(struct fxt_write_behind *w, FILE *out, size_t bytes);

/* Has the first `used` bytes of the last block written. Returns the next block, or NULL if a write has
 * failed; errno says why. */
unsigned char *fxt_write_behind_next(struct fxt_write_behind *w, size_t used);

/* Has the first `used` bytes of the last block written, waits until all is written, and frees the
 * blocks. Returns false if a write has failed; errno says why. */
bool fxt_write_behind_end(struct fxt_write_behind *w, size_t used);

#endif
