/* See async.h. This file owns a table that says by id where the newest begins stand. Its entries are stored
 * without a lock; whether one is right shows when the record is read at that place. */
#include "async.h"

#include <string.h>

#include "agent/base/stack.h"
#include "writer/fxt_format.h"

enum {
	PLACES = 8192,
	INLINE_REF_WORDS = 2,
};

static FXT_WIPED struct place {
	_Atomic uint64_t id;
	_Atomic uint64_t where;         /* chunk (32 bits), first word in it (16), number of words (16) */
	_Atomic uint32_t tid;
} places[PLACES];
static _Atomic uint64_t first_id;       /* of the lifetimes that may have ends; 0: all may */

/* Notes where the begin of `id` will stand when it is committed. Its words end at `end`. */
static void note(struct fxt_thread *thread, const uint64_t *end, uint64_t id)
{
	const struct fxt_lane *lane = fxt_lane_of(thread, end);
	struct place *place = &places[id % PLACES];
	uint64_t at, words;

	if (!lane || fxt_agent.config.mode == FXT_CIRCULAR)
		return;
	at = FXT_CHUNK_WORDS - 1 - (uint64_t)(lane->end - lane->at);
	words = (uint64_t)(end - lane->at);
	if (words > FXT_ASYNC_MOVED_WORDS)
		return;
	atomic_store_explicit(&place->where, (uint64_t)lane->chunk << 32 | at << 16 | words,
			      memory_order_relaxed);
	atomic_store_explicit(&place->tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&place->id, id, memory_order_release);
}

/* Makes a record fit for another chunk: its header gets no size, and no index of another thread than
 * `thread`, because this chunk does not know that index. In its place the ids are put inline. Returns how
 * many words the record has then. */
static size_t restate(const struct fxt_thread *thread, uint64_t *record, size_t words, uint32_t tid)
{
	uint64_t index = fxt_get_event_thread(record[0]);

	record[0] &= ~fxt_record_words(FXT_RECORD_MAX_WORDS);
	if (!index || index == thread->index)
		return words;
	record[0] &= ~fxt_event_thread(index);
	memmove(record + 2 + INLINE_REF_WORDS, record + 2, (words - 2) * FXT_WORD_BYTES);
	record[2] = thread->pid;
	record[3] = tid;
	return words + INLINE_REF_WORDS;
}

/* Moves the begin of `id`, which stands at `where` and was written by thread `tid`, to `lane`. The lane has
 * room, and is the emission's own. Does nothing if another record stands there. */
static __attribute__((noinline)) void move(struct fxt_thread *thread, struct fxt_lane *lane, uint64_t where,
					   uint32_t tid, uint64_t id)
{
	uint64_t record[FXT_ASYNC_MOVED_WORDS + INLINE_REF_WORDS], *at;
	size_t words = where & UINT16_MAX;

	if (!fxt_storage_retract(fxt_agent.storage, (uint32_t)(where >> 32), where >> 16 & UINT16_MAX, record,
				 words, id))
		return;
	words = restate(thread, record, words, tid);
	at = fxt_lane_place(lane, words);
	memcpy(at + 1, record + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_lane_commit(lane, at, words, record[0]);
}

static void commit(struct fxt_thread *thread, uint64_t *at, enum fxt_event_type type, uint64_t names,
		   unsigned arguments)
{
	fxt_commit_extra(thread, at,
			 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(type) |
				 fxt_event_args(arguments) | names);
}

void fxt_async_commit_begin(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names,
			    unsigned arguments)
{
	*at++ = id;
	note(thread, at, id);
	commit(thread, at, FXT_EVENT_ASYNC_BEGIN, names, arguments);
}

void fxt_async_again(void)
{
	unsigned i;

	for (i = 0; i < PLACES; i++)
		atomic_store_explicit(&places[i].id, 0, memory_order_relaxed);
}

void fxt_async_begin_anew(uint64_t id)
{
	atomic_store_explicit(&first_id, id, memory_order_relaxed);
}

/* Returns whether lifetime `id` began before recording began anew, if it ever did. */
static bool is_earlier(uint64_t id)
{
	uint64_t first = atomic_load_explicit(&first_id, memory_order_relaxed);

	return first && (int64_t)(id - first) < 0;
}

uint64_t *fxt_async_reserve_end(struct fxt_thread *thread, uint64_t now_ns, size_t words, uint64_t id)
{
	const struct place *place = &places[id % PLACES];
	uint64_t where = atomic_load_explicit(&place->where, memory_order_relaxed);
	uint32_t tid = atomic_load_explicit(&place->tid, memory_order_relaxed);
	bool is_noted = atomic_load_explicit(&place->id, memory_order_acquire) == id;
	size_t moved = is_noted ? (where & UINT16_MAX) + INLINE_REF_WORDS + FXT_LANE_SLACK_WORDS : 0;
	/* One reservation is for both records, because a signal handler could take the room between two. */
	struct fxt_lane *lane;

	if (is_earlier(id))
		return NULL;
	lane = fxt_open_lane(thread, moved + FXT_FRAME_WORDS + words + 1, false);
	if (!lane)
		return NULL;
	if (is_noted && lane->chunk != where >> 32 && !fxt_stack_is_short())
		move(thread, lane, where, tid, id);
	return fxt_begin_record(thread, fxt_lane_place(lane, words + 1 + fxt_frame_words(thread)), now_ns);
}

void fxt_async_commit_end(struct fxt_thread *thread, uint64_t *at, uint64_t id, uint64_t names,
			  unsigned arguments)
{
	*at++ = id;
	commit(thread, at, FXT_EVENT_ASYNC_END, names, arguments);
}
