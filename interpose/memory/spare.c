/* See spare.h. memory.c calls this. */
#include "spare.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include "writer/place.h"

static struct fxt_range range_of(const struct fxt_by_number *call)
{
	uintptr_t from = (uintptr_t)call->args[0];

	return (struct fxt_range){from, from + (size_t)call->args[1]};
}

bool fxt_spare_begin(const void *address, size_t length)
{
	struct fxt_range range = {(uintptr_t)address, (uintptr_t)address + length};

	/* The kernel refuses pages that would go on at address 0. */
	if (range.end > -(uintptr_t)FXT_PAGE_BYTES)
		return false;
	return !fxt_range_is_empty(range) && !(range.from % getauxval(AT_PAGESZ)) && fxt_place_hold(range);
}

/* Makes the call for a part of its range. */
static long make(const struct fxt_by_number *call, uintptr_t from, uintptr_t end)
{
	struct fxt_by_number piece = *call;

	piece.args[0] = (long)from;
	piece.args[1] = (long)(end - from);
	if (call->number == SYS_mmap && !(call->args[3] & MAP_ANONYMOUS))
		piece.args[5] += (long)from - call->args[0];
	return fxt_by_number_make(&piece);
}

/* Unmaps all but what is ours. */
static long unmap(struct fxt_by_number *call, struct fxt_range left)
{
	struct fxt_range ours;

	for (; left.from < left.end; left.end = ours.from) {
		ours = fxt_place_last(left);
		if (ours.end < left.end && make(call, ours.end, left.end))
			return -1;
		fxt_place_claim(ours, false);
	}
	return 0;
}

/* Unmaps what was mapped before a later piece was refused. */
static void take_back(struct fxt_range range)
{
	struct fxt_by_number call = {.number = SYS_munmap};
	int error = errno;

	unmap(&call, range);
	errno = error;
}

static long map(struct fxt_by_number *call, struct fxt_range range)
{
	const bool replaces = call->args[3] & MAP_FIXED;
	struct fxt_range ours = fxt_place_first(range), left = range;

	/* Nothing would be the program's. It would use our memory, which is worse than having none. */
	if (ours.from == range.from && ours.end == range.end && (!replaces || call->args[2] != PROT_NONE)) {
		errno = replaces ? ENOMEM : EEXIST;
		return -1;
	}
	/* The last part comes first: the kernel refuses all of a range that ends beyond its memory. */
	for (; left.from < left.end; left.end = ours.from) {
		ours = fxt_place_last(left);
		if (ours.end < left.end && make(call, ours.end, left.end) == -1) {
			if (!replaces)
				take_back((struct fxt_range){left.end, range.end});
			return -1;
		}
		fxt_place_claim(ours, true);
	}
	return (long)range.from;
}

static long change(struct fxt_by_number *call, struct fxt_range left)
{
	struct fxt_range ours;
	bool is_short = false;

	for (; left.from < left.end; left.from = ours.end) {
		ours = fxt_place_first(left);
		if (left.from < ours.from && make(call, left.from, ours.from)) {
			if (errno != ENOMEM)
				return -1;
			is_short = true;
		}
		/* Otherwise the program has a hole here. */
		if (!fxt_range_is_empty(ours) && !fxt_place_is_claimed(ours))
			is_short = true;
		/* Behind a hole madvise() goes on, but mprotect() does not. */
		if (is_short && call->number != SYS_madvise)
			break;
	}
	errno = is_short ? ENOMEM : errno;
	return is_short ? -1 : 0;
}

long fxt_spare_make(struct fxt_by_number *call)
{
	struct fxt_range range = range_of(call);

	call->result = call->number == SYS_munmap ? unmap(call, range)
		     : call->number == SYS_mmap ? map(call, range) : change(call, range);
	fxt_place_release(range);
	return call->result;
}

bool fxt_spare_refuses_resize(const void *old_address, size_t old_size, const void *new_address,
			      size_t new_size)
{
	const struct fxt_range of = {(uintptr_t)old_address, (uintptr_t)old_address + old_size + !old_size};
	const struct fxt_range to = {(uintptr_t)new_address, (uintptr_t)new_address + new_size};

	/* The kernel refuses what reaches into its own half of the addresses. */
	if ((intptr_t)of.end < 0)
		return false;
	if (!fxt_range_is_empty(fxt_place_first(of)))
		errno = EFAULT;         /* The program has nothing there. */
	else if (!fxt_range_is_empty(to) && !fxt_range_is_empty(fxt_place_first(to)))
		errno = ENOMEM;
	else
		return false;
	return true;
}
