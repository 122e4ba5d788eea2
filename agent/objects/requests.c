/* See requests.h. The requests under way are in a table, found by their control blocks. */
#include "requests.h"

#include "agent/arrows/wait.h"
#include "agent/arrows/async.h"
#include "agent/emit/emit.h"

enum {
	REQUESTS = 512,
	LOOKS = 16,                     /* the places that are looked at, from a control block's own on */
};

struct place {
	_Atomic uintptr_t control;      /* 0: free */
	_Atomic uint64_t id;            /* 0: the event has not begun yet, or is over */
	uint64_t begin_ns, names;
};

static FXT_WIPED struct place places[REQUESTS];
static atomic_bool is_used;

static struct place *nth(uintptr_t control, unsigned i)
{
	return &places[((fxt_wait_hash(control) >> 48) + i) % REQUESTS];
}

static struct place *find(uintptr_t control)
{
	unsigned i;

	for (i = 0; i < LOOKS; i++)
		if (atomic_load_explicit(&nth(control, i)->control, memory_order_acquire) == control)
			return nth(control, i);
	return NULL;
}

static struct place *claim(uintptr_t control)
{
	uintptr_t none;
	unsigned i;

	atomic_store_explicit(&is_used, true, memory_order_relaxed);
	for (i = 0; i < LOOKS; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&nth(control, i)->control, &none, control))
			return nth(control, i);
	}
	return NULL;
}

static uint64_t put_begin(struct fxt_thread *thread, uint64_t now_ns, uint64_t names,
			  const struct fxt_request *request)
{
	uint64_t *at = fxt_reserve_extra(thread, now_ns, 6 + FXT_ASYNC_OWNER_WORDS), id;

	if (!at)
		return 0;
	at = fxt_put_int(at, FXT_STR_fd, request->fd);
	if (request->has_range) {
		at = fxt_put_uint(at, FXT_STR_nbytes, request->bytes);
		at = fxt_put_long(at, FXT_STR_offset, request->offset);
	}
	at = fxt_async_put_owner(thread, at);
	id = fxt_flow_id();
	fxt_async_commit_begin(thread, at, id, names, request->has_range ? 4 : 2);
	return id;
}

static void end(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, const int64_t *result,
		int failure)
{
	struct place *place = find(control);
	uint64_t id = place ? atomic_exchange(&place->id, 0) : 0, names, *at;
	unsigned arguments = 0;

	if (!place)
		return;
	names = place->names;
	if (now_ns <= place->begin_ns)
		now_ns = place->begin_ns + 1;
	atomic_store_explicit(&place->control, 0, memory_order_release);
	if (!id)
		return;
	at = fxt_async_reserve_end(thread, now_ns, 3, id);
	if (!at)
		return;
	if (result) {
		at = fxt_put_long(at, FXT_STR_ret, *result);
		arguments++;
	}
	if (failure) {
		at = fxt_put_int(at, FXT_STR_errno_, failure);
		arguments++;
	}
	fxt_async_commit_end(thread, at, id, names, arguments);
}

void fxt_request_end(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, int64_t result,
		     int failure)
{
	end(thread, control, now_ns, &result, failure);
}

void fxt_request_begin(struct fxt_thread *thread, uintptr_t control, uint64_t now_ns, uint64_t names,
		       const struct fxt_request *request)
{
	struct place *place;

	/* The result of an earlier request with this control block was never taken, and cannot be taken any
	 * more. */
	end(thread, control, now_ns, NULL, 0);
	place = claim(control);
	if (!place)
		return;
	place->begin_ns = now_ns;
	place->names = names;
	atomic_store_explicit(&place->id, put_begin(thread, now_ns, names, request), memory_order_release);
}


void fxt_requests_again(void)
{
	if (atomic_load_explicit(&is_used, memory_order_relaxed))
		memset(places, 0, sizeof(places));
	atomic_store_explicit(&is_used, false, memory_order_relaxed);
}
