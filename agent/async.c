/* See async.h. Where begins are is noted by id, and found wrong, if it is, by what is read there. */
#include "async.h"

#include <string.h>

#include "stack.h"
#include "writer/fxt_format.h"

enum {
	PLACES = 8192,
	MOVED_MAX_WORDS = 48,
	INLINE_REF_WORDS = 2,
};

static struct place {
	_Atomic uint64_t id;
	_Atomic uint64_t where;         /* chunk, word in it, and how many there are */
	_Atomic uint32_t tid;
} places[PLACES];

static void note(const struct fxt_thread *thread, const struct fxt_lane *lane, const uint64_t *start, size_t words, uint64_t id)
{
	struct place *place = &places[id % PLACES];
	uint64_t at = FXT_CHUNK_WORDS - 1 - (uint64_t)(lane->end - start);

	if (fxt_agent.config.mode == FXT_CIRCULAR || words > MOVED_MAX_WORDS)
		return;
	atomic_store_explicit(&place->where, (uint64_t)lane->chunk << 32 | at << 16 | words, memory_order_relaxed);
	atomic_store_explicit(&place->tid, thread->tid, memory_order_relaxed);
	atomic_store_explicit(&place->id, id, memory_order_release);
}

void fxt_async_begins(struct fxt_thread *thread, const uint64_t *end, uint64_t id)
{
	const struct fxt_lane *lane = thread->lane - 1;

	note(thread, lane, lane->at, (size_t)(end - lane->at), id);
}

void fxt_async_has_begun(struct fxt_thread *thread, size_t words, uint64_t id)
{
	const struct fxt_lane *lane = thread->lane;

	note(thread, lane, lane->at - words, words, id);
}

/* The header without what depends on where it stands. Of another thread, whose index this chunk does not know, the event is said inline;
 * returns the words it has then. */
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

static __attribute__((noinline)) void move(struct fxt_thread *thread, uint64_t where, uint32_t tid, uint64_t id)
{
	uint64_t record[MOVED_MAX_WORDS + INLINE_REF_WORDS];
	size_t words = where & UINT16_MAX;

	if (fxt_storage_retract(fxt_agent.storage, (uint32_t)(where >> 32), where >> 16 & UINT16_MAX, record, words, id))
		fxt_thread_put_extra(thread, record, restate(thread, record, words, tid));
}

void fxt_async_ends(struct fxt_thread *thread, uint64_t id)
{
	struct place *place = &places[id % PLACES];
	uint64_t where = atomic_load_explicit(&place->where, memory_order_relaxed);
	size_t words = (where & UINT16_MAX) + INLINE_REF_WORDS + FXT_ASYNC_END_WORDS + 2 * FXT_LINE_WORDS;

	if (atomic_load_explicit(&place->id, memory_order_acquire) != id || !fxt_thread_keep_together(thread, words))
		return;
	if (thread->lane->chunk != where >> 32 && !fxt_stack_is_short())
		move(thread, where, atomic_load_explicit(&place->tid, memory_order_relaxed), id);
}
