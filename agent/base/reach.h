/* Tells whether memory can be read that the program has given to a call, and that the kernel has not looked
 * at yet, or that somebody may have taken away. The kernel is asked page by page, and only once for uses of
 * the same few pages. Any context. */
#ifndef FXT_REACH_H
#define FXT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "writer/storage.h"
#include "writer/sys.h"

enum { FXT_REACH_PAGES = 16 };

/* The pages of which the kernel has said last that they can be read. At the beginning all members are
 * zero. */
struct fxt_reach {
	uintptr_t pages[FXT_REACH_PAGES];
	unsigned next;                  /* the place of the next page */
	bool is_known;                  /* all can be read, and nobody is asked */
};

/* Tells whether the page of `at` can be read. */
static inline bool fxt_reaches(struct fxt_reach *reach, const void *at)
{
	uintptr_t page = (uintptr_t)at - (uintptr_t)at % FXT_PAGE_BYTES;
	unsigned i;

	if (reach->is_known)
		return true;
	for (i = 0; i < FXT_REACH_PAGES; i++)
		if (page && page == reach->pages[i])
			return true;
	if (!fxt_sys_can_read(page))
		return false;
	reach->pages[reach->next++ % FXT_REACH_PAGES] = page;
	return true;
}

/* Tells whether `bytes` (1 to a page) from `at` on can be read. */
static inline bool fxt_reaches_all(struct fxt_reach *reach, const void *at, size_t bytes)
{
	return fxt_reaches(reach, at) && fxt_reaches(reach, (const char *)at + bytes - 1);
}

/* Returns how long a text is that may end before `most` bytes, and cannot be longer than what can be read. */
static inline size_t fxt_reaches_text(struct fxt_reach *reach, const char *text, size_t most)
{
	size_t bytes = 0, here, n;

	while (bytes < most && fxt_reaches(reach, text + bytes)) {
		here = FXT_PAGE_BYTES - (uintptr_t)(text + bytes) % FXT_PAGE_BYTES;
		if (here > most - bytes)
			here = most - bytes;
		n = strnlen(text + bytes, here);
		bytes += n;
		if (n < here)
			break;
	}
	return bytes;
}

#endif
