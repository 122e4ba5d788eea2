/* Knows which open file descriptions are in non-blocking mode. See fd_modes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fd_modes.h"

#include <stdlib.h>

#include "tools/common/message.h"

uint32_t fxt_fd_modes_open(struct fxt_fd_modes *modes, enum fxt_fd_mode mode, bool ignores_mode)
{
	modes->list = fxt_grow(modes->list, &modes->capacity, modes->count + 1, sizeof(*modes->list));
	modes->list[modes->count++] = (struct fxt_fd_description){(uint8_t)mode, ignores_mode};
	return (uint32_t)modes->count;
}

void fxt_fd_modes_set(struct fxt_fd_modes *modes, uint32_t description, bool is_nonblocking)
{
	if (description)
		modes->list[description - 1].mode = is_nonblocking ? FXT_FD_NONBLOCKING : FXT_FD_BLOCKING;
}

enum fxt_fd_mode fxt_fd_modes_get(const struct fxt_fd_modes *modes, uint32_t description)
{
	const struct fxt_fd_description *one;

	if (!description)
		return FXT_FD_MODE_UNKNOWN;
	one = &modes->list[description - 1];
	return one->ignores_mode && one->mode == FXT_FD_NONBLOCKING ? FXT_FD_MODE_UNKNOWN
								    : (enum fxt_fd_mode)one->mode;
}

void fxt_fd_modes_free(struct fxt_fd_modes *modes)
{
	free(modes->list);
	*modes = (struct fxt_fd_modes){0};
}
