/* See emit.h. This file has the parts of the emission path that are not worth inlining. Wrappers call them in
 * any context. */
#include "emit.h"

#include "deferred.h"
#include "in_progress.h"
#include "writer/fxt_encode.h"

bool fxt_drop(struct fxt_thread *thread, struct fxt_in_progress *open)
{
	struct fxt_lane *lane;

	if (FXT_UNLIKELY(thread->open != open + 1) || FXT_UNLIKELY(!fxt_has_no_room(thread)))
		return false;
	fxt_in_progress_empty(thread, open);
	lane = fxt_lane_raise(thread, FXT_LANE_CALL);
	fxt_thread_dropped_again(thread);
	fxt_lane_lower(lane);
	if (FXT_UNLIKELY(thread->commit & FXT_COMMIT_DEFERRED))
		fxt_deferred_after(thread, thread->last_ns);
	return true;
}

uint64_t *fxt_put_text(uint64_t *at, uint64_t name, const char *text, size_t bytes)
{
	size_t words;

	/* The program may have changed the text since it was measured, so the size that the record says is
	 * that of the bytes that were copied. */
	at[1 + (bytes ? fxt_words_of(bytes) - 1 : 0)] = 0;
	if (bytes)
		bytes = fxt_utf8_clean((char *)(at + 1), text, bytes, bytes);
	words = fxt_words_of(bytes);
	if (bytes % FXT_WORD_BYTES)
		memset((char *)(at + 1) + bytes, 0, FXT_WORD_BYTES - bytes % FXT_WORD_BYTES);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + words), name) |
	      fxt_arg_string(bytes ? fxt_inline_ref(bytes) : 0);
	return at + 1 + words;
}
