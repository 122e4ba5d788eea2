/* Messages to the user, and allocation that cannot fail.
 *
 * The code in tools/common/ knows nothing of traces: messages, tables, hashes, histograms, options. It uses
 * the C library alone. docs/rooms.txt lists the folders of tools/ in their order: each may use those before
 * it, and none uses one after it.
 *
 * Every message of fxt is one line on standard error, `fxt: FILE: what is wrong` or `fxt: what is wrong`.
 * All files under tools/ use these functions, in one thread and not from signal handlers.
 */
#ifndef FXT_TOOLS_MESSAGE_H
#define FXT_TOOLS_MESSAGE_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Prints a message in this form. `file` may be NULL. */
void fxt_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit status if there is no memory: 1 at first. */
extern int fxt_out_of_memory_status;

/* Returns zeroed memory for `count` elements. Ends the program with a message if there is no memory. */
void *fxt_alloc(size_t count, size_t element_bytes);

/* Makes room for `needed` elements in an array that grows by doubling, and returns its new address, which has
 * to be kept. The added elements are not zeroed. Ends the program with a message if there is no memory. */
void *fxt_grow_array(void *array, size_t *capacity, size_t needed, size_t element_bytes)
	__attribute__((warn_unused_result));
static inline __attribute__((warn_unused_result))
void *fxt_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes)
{
	return needed <= *capacity ? array : fxt_grow_array(array, capacity, needed, element_bytes);
}

/* Makes an array that grows by doubling have an element at `index`, and returns the array's address. Elements
 * that it adds are zeroed. */
static inline __attribute__((warn_unused_result))
void *fxt_reach(void *array, size_t *capacity, size_t *count, size_t index, size_t element_bytes)
{
	if (index < *count)
		return array;
	array = fxt_grow(array, capacity, index + 1, element_bytes);
	memset((char *)array + *count * element_bytes, 0, (index + 1 - *count) * element_bytes);
	*count = index + 1;
	return array;
}

/* These two return text that the caller frees. They end the program with a message if there is no memory. */
char *fxt_strdup(const char *text);
char *fxt_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Opens a stream that writes to memory. *text and *bytes are set when it is closed; the caller frees
 * *text. */
FILE *fxt_text_stream(char **text, size_t *bytes);

/* Returns a descriptor of a file without a name, in TMPDIR or /tmp; -1 with errno if there can be none. */
int fxt_nameless_file(void);

/* Flushes standard output and remembers a failure. It is called before messages, so that they come after
 * the output that they are about. */
void fxt_flush_stdout(void);

/* This is registered with atexit(). If something could not be written, it ends the program with status 1
 * after a message. Without it a full disk would look like a short report. */
void fxt_stdout_at_exit(void);

#endif
