/* fxt top: where it prints, and the signals that it waits for. On a terminal one text takes the place of the
 * one before; otherwise texts follow each other, with an empty line between. top.c calls these functions.
 */
#ifndef FXT_TOOLS_TOP_SCREEN_H
#define FXT_TOOLS_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_top_screen {
	bool is_terminal;               /* it is redrawn in place */
	size_t lines, columns;          /* of the terminal; 0: as many as there are */
	int signals;                    /* a descriptor that signals can be read from */
	bool is_begun;                  /* something was shown */
};

enum fxt_top_event { FXT_TOP_TIME, FXT_TOP_MESSAGE, FXT_TOP_RESIZED, FXT_TOP_QUIT };

/* Begins to print to standard output; `is_batch` forbids to redraw it. Blocks the signals from then on. */
void fxt_top_screen_begin(struct fxt_top_screen *s, bool is_batch);

/* Waits until a time by CLOCK_MONOTONIC (0: however long), a message at `fd`, another size of the terminal,
 * or a signal that ends fxt top. */
enum fxt_top_event fxt_top_screen_wait(struct fxt_top_screen *s, int fd, uint64_t until_ns);

/* Returns whether a signal has come that ends fxt top. */
bool fxt_top_screen_is_ended(struct fxt_top_screen *s);

/* Shows a text of whole lines. */
void fxt_top_screen_show(struct fxt_top_screen *s, const char *text);

/* Leaves the terminal as it was, with the last text on it. */
void fxt_top_screen_end(struct fxt_top_screen *s);

#endif
