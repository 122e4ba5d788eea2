/* See circles.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "circles.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* A walk ends where it or an older one has been. If it was this one, the circle begins there. */
void fxt_find_circles(const size_t *next, size_t count, bool *is_in_circle)
{
	/* by place: the number of the walk that was there first, from 1 up */
	size_t *walks = fxt_alloc(count ? count : 1, sizeof(*walks));

	if (count)
		memset(is_in_circle, 0, count * sizeof(*is_in_circle));
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (; at < count && !walks[at]; at = next[at])
			walks[at] = i + 1;
		for (; at < count && walks[at] == i + 1 && !is_in_circle[at]; at = next[at])
			is_in_circle[at] = true;
	}
	free(walks);
}
