/* Knows which open file descriptions are in non-blocking mode, for report. The mode belongs to the
 * description and not to the descriptor: duplicates share it, and so do the descriptors that a child has
 * inherited. fd_table.c knows which description a descriptor refers to, and follows the calls that set
 * modes. no_wait.h asks for them.
 */
#ifndef FXT_TOOLS_FD_MODES_H
#define FXT_TOOLS_FD_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fxt_fd_mode {
	/* the call that opened it was not seen, or the mode has no effect on it */
	FXT_FD_MODE_UNKNOWN,
	FXT_FD_BLOCKING,
	FXT_FD_NONBLOCKING,
};

struct fxt_fd_description {
	uint8_t mode;
	bool ignores_mode;              /* it is a regular file: reading it waits for the disk in any mode */
};

/* The open file descriptions. When there are none, all members are zero. */
struct fxt_fd_modes {
	struct fxt_fd_description *list;
	size_t count, capacity;
};

/* Returns the number of a new description, which is never 0. */
uint32_t fxt_fd_modes_open(struct fxt_fd_modes *modes, enum fxt_fd_mode mode, bool ignores_mode);

void fxt_fd_modes_set(struct fxt_fd_modes *modes, uint32_t description, bool is_nonblocking);

/* Returns the mode that calls meet: FXT_FD_MODE_UNKNOWN for a regular file whose mode is non-blocking. */
enum fxt_fd_mode fxt_fd_modes_get(const struct fxt_fd_modes *modes, uint32_t description);

void fxt_fd_modes_free(struct fxt_fd_modes *modes);

#endif
