/* Finds the length of strings that the program gave to a call which then failed. Wrappers call this, in any
 * context. */
#include "interpose.h"

/* Returns whether the eight bytes around `address`, which lie in one page, can be read. */
static bool is_mapped(const struct fxt_thread *thread, const char *address)
{
	return fxt_readable(thread, address - (uintptr_t)address % sizeof(uint64_t), sizeof(uint64_t));
}

size_t fxt_text_bytes_checked(const struct fxt_thread *thread, const char *text)
{
	size_t bytes = 0, here, n;

	while (text && bytes < FXT_TEXT_MAX_BYTES && is_mapped(thread, text + bytes)) {
		here = FXT_PAGE_BYTES - (uintptr_t)(text + bytes) % FXT_PAGE_BYTES;
		if (here > FXT_TEXT_MAX_BYTES - bytes)
			here = FXT_TEXT_MAX_BYTES - bytes;
		n = strnlen(text + bytes, here);
		bytes += n;
		if (n < here)
			break;
	}
	return bytes;
}
