/* See program_text.h. The text is gathered in the thread's state, because a line may come in any number of
 * calls. A signal handler that interrupts the work on a text gets another text, and so does a handler that
 * interrupts this one. Text of handlers that are nested deeper is dropped and counted. */
#include "program_text.h"

#include "agent/base/stack.h"
#include "emit.h"
#include "writer/fxt_encode.h"

static const char mark[FXT_PROGRAM_TEXT_MARK_BYTES] = {'\xe2', '\x80', '\xa6'};

/* Tells whether the function that held the text was left by longjmp: the frame of one that still works on
 * it lies above `here`. */
static bool was_left(const struct fxt_thread *thread, uintptr_t holder, uintptr_t here)
{
	return holder <= here && fxt_on_own_stack(thread, holder) && fxt_on_own_stack(thread, here) &&
		!fxt_on_alternate_stack();
}

static struct fxt_program_text *take(struct fxt_thread *thread, unsigned first, uintptr_t here)
{
	struct fxt_program_text *text;
	unsigned i;

	for (i = first; i < FXT_PROGRAM_TEXTS; i++) {
		text = &thread->texts[i];
		if (!text->holder || was_left(thread, text->holder, here)) {
			text->holder = here;
			text->bytes = thread->text_bytes[i];
			atomic_signal_fence(memory_order_seq_cst);
			return text;
		}
	}
	fxt_thread_dropped(thread, FXT_LOSS_SIGNALS);
	return NULL;
}

static void empty(struct fxt_program_text *text)
{
	text->used = 0;
	text->is_cut = text->is_returned = text->is_progress = false;
}

struct fxt_program_text *fxt_program_text_begin(struct fxt_thread *thread)
{
	struct fxt_program_text *text = take(thread, 0, (uintptr_t)__builtin_frame_address(0));

	if (text) {
		text->names = fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_log, FXT_STR_standard_error);
		text->priority = -1;
		if (text != thread->texts)
			empty(text);
	}
	return text;
}

struct fxt_program_text *fxt_program_text_begin_message(struct fxt_thread *thread, uint64_t names,
							int priority)
{
	struct fxt_program_text *text = take(thread, 1, (uintptr_t)__builtin_frame_address(0));

	if (text) {
		text->names = names;
		text->priority = priority & INT32_MAX;
		empty(text);
	}
	return text;
}

/* -- Recording --------------------------------------------------------------------------------- */

/* Returns how many of the bytes are whole characters: the cut may have gone through the last one. */
static size_t whole_characters(const char *bytes, size_t count)
{
	size_t at = count, length;
	unsigned char lead;

	while (at > 0 && count - at < 3 && fxt_utf8_continues(bytes[at - 1]))
		at--;
	if (at == 0)
		return count;
	lead = (unsigned char)bytes[at - 1];
	length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	return count - (at - 1) < length ? at - 1 : count;
}

/* Makes the text valid for the format and for viewers. Returns its length. */
static size_t clean(struct fxt_program_text *text)
{
	size_t count = text->used, i;

	if (text->is_cut)
		count = whole_characters(text->bytes, count);
	else if (count && text->bytes[count - 1] == '\r')
		count--;
	count = fxt_utf8_clean(text->bytes, text->bytes, count, count);
	for (i = 0; i < count; i++)
		if (!text->bytes[i])
			text->bytes[i] = '?';
	if (text->is_cut) {
		memcpy(text->bytes + count, mark, sizeof(mark));
		count += sizeof(mark);
	}
	return count;
}

/* Writes the log record. It is no event, so if there is no room only the instant is counted as lost. */
static void put_log(struct fxt_thread *thread, uint64_t now_ns, const char *bytes, size_t count)
{
	uint64_t *at = fxt_reserve_extra(thread, now_ns, fxt_words_of(count)), header;
	struct fxt_lane *lane;
	size_t words;

	if (!at)
		return;
	at[fxt_words_of(count) - 1] = 0;
	memcpy(at, bytes, count);
	lane = fxt_lane_of(thread, at);
	if (!lane)
		return;
	words = (size_t)(at - lane->at) + fxt_words_of(count);
	header = fxt_record_type(FXT_RECORD_LOG) | fxt_log_bytes(count) | fxt_log_thread(thread->index);
	fxt_lane_commit(lane, lane->at, words, header);
	fxt_close_lane(lane, 0);
}

/* Records the text that was gathered. An empty line is not recorded. */
static void record(struct fxt_thread *thread, struct fxt_program_text *text)
{
	uint64_t now_ns, *at;
	size_t count = clean(text);

	/* If a handler leaves this by longjmp, the line is not recorded again. */
	empty(text);
	if (!count)
		return;
	now_ns = fxt_now(thread);
	put_log(thread, now_ns, text->bytes, count);
	at = fxt_reserve(thread, now_ns, 2 + fxt_words_of(count));
	if (!at)
		return;
	at = fxt_put_text(at, FXT_STR_message, text->bytes, count);
	if (text->priority >= 0)
		at = fxt_put_int(at, FXT_STR_priority, text->priority);
	fxt_instant(thread, at, text->names, text->priority >= 0 ? 2 : 1);
}

/* -- Gathering --------------------------------------------------------------------------------- */

/* Begins the line again, behind an ellipsis, because later text takes its place. */
static void return_carriage(struct fxt_program_text *text)
{
	empty(text);
	text->is_progress = true;
	memcpy(text->bytes, mark, sizeof(mark));
	text->used = sizeof(mark);
}

static void keep(struct fxt_program_text *text, const char *bytes, size_t count)
{
	size_t room = FXT_PROGRAM_TEXT_BYTES - text->used;

	if (count > room) {
		count = room;
		text->is_cut = true;
	}
	memcpy(text->bytes + text->used, bytes, count);
	text->used += (uint32_t)count;
}

/* Adds part of a line. If the line is too long its beginning is kept. If carriage returns write over it
 * again and again, as progress is shown, the last text counts instead. */
static void add(struct fxt_program_text *text, const char *bytes, size_t count)
{
	const char *last = NULL;

	if (!count)
		return;
	if (text->is_returned)
		return_carriage(text);
	if (text->is_progress || text->is_cut || count > FXT_PROGRAM_TEXT_BYTES - text->used)
		last = memrchr(bytes, '\r', count);
	if (last && last + 1 == bytes + count) {
		/* The end of the line may come next. */
		text->is_returned = true;
		count--;
	} else if (last) {
		return_carriage(text);
		count -= (size_t)(last + 1 - bytes);
		bytes = last + 1;
	}
	keep(text, bytes, count);
}

void fxt_program_text_put(struct fxt_thread *thread, struct fxt_program_text *text, const char *bytes,
			  size_t count)
{
	const char *end;

	while (text->priority < 0 && (end = memchr(bytes, '\n', count)) != NULL) {
		add(text, bytes, (size_t)(end - bytes));
		record(thread, text);
		count -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	add(text, bytes, count);
}

void fxt_program_text_end(struct fxt_thread *thread, struct fxt_program_text *text)
{
	if (text != thread->texts) {
		while (text->priority >= 0 && !text->is_cut && text->used &&
		       text->bytes[text->used - 1] == '\n')
			text->used--;
		record(thread, text);
	}
	atomic_signal_fence(memory_order_seq_cst);
	text->holder = 0;
}

void fxt_program_text_rest(struct fxt_thread *thread)
{
	struct fxt_program_text *text = thread->texts;

	if (fxt_is_on(FXT_CAT_log) && !text->holder && text->used)
		record(thread, text);
}

void fxt_program_text_forget(struct fxt_thread *thread)
{
	memset(thread->texts, 0, sizeof(thread->texts));
}
