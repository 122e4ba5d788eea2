/* See descriptor.h. */
#include "descriptor.h"

void fxt_descriptor_yield(int fd)
{
	uint64_t mask;
	int moved;

	if (!fxt_descriptor_is_ours(fd))
		return;
	/* It is not used again. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		fxt_agent.buffer.fd = -1;
		return;
	}
	/* Growing the file uses the number. */
	mask = fxt_lock(&fxt_agent.buffer.extend_lock);
	/* Not to the next one: that is often wanted next. */
	moved = fxt_file_dup_high(fd, fd + 1024);
	if (moved < 0)
		moved = fxt_file_dup_high(fd, fd + 1);
	/* Without any: the file is found again by its path when it has to grow. */
	fxt_agent.buffer.fd = moved < 0 ? -1 : moved;
	fxt_unlock(&fxt_agent.buffer.extend_lock, mask);
}
