/* See rings.h. */
#include "rings.h"

#include "agent/base/fdinfo.h"

#define NAMES fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, FXT_STR_life_io_uring)

enum { MOST_RINGS = 16 };

atomic_bool fxt_rings_any;

/* The descriptor plus 1 in the lower half, 0 if the place is free; and the ring's number above it. */
static _Atomic uint64_t rings[MOST_RINGS];
static _Atomic uint32_t count;

static bool is_of(uint64_t ring, int fd)
{
	return (uint32_t)ring == (uint32_t)fd + 1;
}

void fxt_ring_opened(struct fxt_thread *thread, int fd)
{
	const uint64_t made = (uint64_t)(atomic_fetch_add(&count, 1) + 1) << 32 | ((uint32_t)fd + 1);
	uint64_t before;
	unsigned i;

	(void)thread;
	atomic_store(&fxt_rings_any, true);
	/* One that had the number was closed unseen. */
	for (i = 0; i < MOST_RINGS; i++) {
		before = atomic_load(&rings[i]);
		if (is_of(before, fd))
			atomic_compare_exchange_strong(&rings[i], &before, 0);
	}
	for (i = 0; i < MOST_RINGS; i++) {
		before = 0;
		if (atomic_compare_exchange_strong(&rings[i], &before, made))
			return;
	}
}

static void tell(struct fxt_thread *thread, uint64_t ring)
{
	uint64_t submitted, completed, *at;
	struct fxt_fdinfo info;
	int fd = (int)((uint32_t)ring - 1);

	if (!fxt_is_on(FXT_CAT_agent) || !fxt_fdinfo_read(&info, fd) ||
	    !fxt_fdinfo_number(&info, "SqHead", 10, &submitted) ||
	    !fxt_fdinfo_number(&info, "CqTail", 10, &completed))
		return;
	at = fxt_reserve_extra(thread, fxt_now(thread), 8);
	if (!at)
		return;
	at = fxt_put_int(at, FXT_STR_fd, fd);
	at = fxt_put_uint(at, FXT_STR_ring, ring >> 32);
	at = fxt_put_uint(at, FXT_STR_submitted, submitted);
	at = fxt_put_uint(at, FXT_STR_completed, completed);
	fxt_instant(thread, at, NAMES, 4);
}

void fxt_ring_closes(struct fxt_thread *thread, int fd)
{
	uint64_t ring;
	unsigned i;

	for (i = 0; i < MOST_RINGS; i++) {
		ring = atomic_load(&rings[i]);
		if (is_of(ring, fd) && atomic_compare_exchange_strong(&rings[i], &ring, 0))
			tell(thread, ring);
	}
}

void fxt_rings_tell(struct fxt_thread *thread)
{
	uint64_t ring;
	unsigned i;

	for (i = 0; thread && i < MOST_RINGS && atomic_load(&fxt_rings_any); i++) {
		ring = atomic_load(&rings[i]);
		if (ring)
			tell(thread, ring);
	}
}

void fxt_rings_forget(void)
{
	unsigned i;

	atomic_store(&fxt_rings_any, false);
	for (i = 0; i < MOST_RINGS; i++)
		atomic_store(&rings[i], 0);
}
