/* Tells whether memory can be read that the program has given to a call, and that the kernel has not looked
 * at yet. The kernel is asked page by page, and only once for uses of the same page that follow each other.
 * Any context. */
#ifndef FXT_REACH_H
#define FXT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/storage.h"
#include "writer/sys.h"

/* The page that the kernel was asked about last. At the beginning all members are zero. */
struct fxt_reach {
	uintptr_t page;
	bool readable;
	bool is_known;                  /* all can be read, and nobody is asked */
};

/* Tells whether the page of `at` can be read. */
static inline bool fxt_reaches(struct fxt_reach *reach, const void *at)
{
	uintptr_t page = (uintptr_t)at - (uintptr_t)at % FXT_PAGE_BYTES;

	if (reach->is_known)
		return reach->readable = true;
	if (page != reach->page || !reach->readable) {
		reach->page = page;
		reach->readable = fxt_sys_can_read(page);
	}
	return reach->readable;
}

/* Tells whether `bytes` (1 to a page) from `at` on can be read. */
static inline bool fxt_reaches_all(struct fxt_reach *reach, const void *at, size_t bytes)
{
	return fxt_reaches(reach, at) && fxt_reaches(reach, (const char *)at + bytes - 1);
}

#endif
