/* Finds the length of strings that the program gave to a call which then failed. Wrappers call this, in any
 * context. */
#include "agent/base/reach.h"
#include "interpose.h"

size_t fxt_text_bytes_checked(const struct fxt_thread *thread, const char *text)
{
	uintptr_t at = (uintptr_t)text, frame = (uintptr_t)__builtin_frame_address(0);
	/* What lies on the stack above this frame is there. */
	struct fxt_reach reach = {.is_known = thread && at >= frame && frame >= thread->stack.low &&
					      at <= thread->stack.high &&
					      thread->stack.high - at >= FXT_TEXT_MAX_BYTES};

	return text ? fxt_reaches_text(&reach, text, FXT_TEXT_MAX_BYTES) : 0;
}
