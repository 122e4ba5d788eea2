/* Memory that the program gave to a call that the kernel has not looked at yet: read as far as it can be.
 * Pages are asked for one by one, each once in succession. Any context. */
#ifndef FXT_REACH_H
#define FXT_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/storage.h"
#include "writer/sys.h"

/* All zero: nothing has been asked for. */
struct fxt_reach {
	uintptr_t page;
	bool readable;
};

/* Whether the page of `at` can be read. */
static inline bool fxt_reaches(struct fxt_reach *reach, const void *at)
{
	uintptr_t page = (uintptr_t)at - (uintptr_t)at % FXT_PAGE_BYTES;

	if (page != reach->page || !reach->readable) {
		reach->page = page;
		reach->readable = fxt_sys_can_read(page);
	}
	return reach->readable;
}

#endif
