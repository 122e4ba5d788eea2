/* See fd_slots.h. This file owns the pages of slots and the words that say whose a slot is. */
#include "fd_slots.h"

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "writer/fxt_encode.h"

enum {
	SLOTS_IN_PAGE = (FXT_PAGE_WORDS - 1) / (FXT_FD_SLOT_WORDS + 1), /* the last word is a filler */
	PAGES = (FXT_FD_SLOT_NUMBERS + SLOTS_IN_PAGE - 1) / SLOTS_IN_PAGE,
	SLOTS_OF_ONE = 2,               /* slots of one number, in two rows of pages */
	/* The word behind a slot's record is a filler that also says whose the slot is. Readers skip a filler
	 * by its size, so its bits from OWNER_STATE on are free for an enum owner, and those from OWNER_LIFE
	 * on for an id. */
	OWNER = FXT_FD_SLOT_WORDS,
	OWNER_STATE = 20, OWNER_LIFE = 32,
	STRIDE = FXT_FD_SLOT_WORDS + 1, /* words from one slot to the next */
};

/* The states of a slot. A busy one is being changed by a thread. */
enum owner { FREE, OWNED, BUSY };

/* The mark in front of the end of a long text. */
static const char cut[] = {'.', '.'};

bool fxt_fd_slots_on;
static _Atomic(uint64_t *) pages[SLOTS_OF_ONE][PAGES];
static atomic_bool is_full;             /* the storage gives no more pages */

/* Returns the word behind a slot that lifetime `id` has. It has the lower half of the id, which is a
 * count. */
static uint64_t owned_as(enum owner owner, uint64_t id)
{
	return fxt_filler(1) | (uint64_t)owner << OWNER_STATE | id << OWNER_LIFE;
}

static _Atomic uint64_t *owner_of(uint64_t *slot)
{
	return (_Atomic uint64_t *)slot + OWNER;
}

/* Changes the word behind a slot, if it is still `from`. Returns whether it was. */
static bool becomes(uint64_t *slot, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong(owner_of(slot), &from, to);
}

static void set_header(uint64_t *slot, uint64_t header)
{
	atomic_store_explicit((_Atomic uint64_t *)slot, header, memory_order_release);
}

/* -- Pages ------------------------------------------------------------------------------------- */

void fxt_fd_slots_mode(void)
{
	fxt_fd_slots_on = fxt_agent.config.mode == FXT_CIRCULAR;
}

static void forget_pages(void)
{
	unsigned which, page;

	for (which = 0; which < SLOTS_OF_ONE; which++)
		for (page = 0; page < PAGES; page++)
			atomic_store_explicit(&pages[which][page], NULL, memory_order_relaxed);
}

void fxt_fd_slots_after_fork(void)
{
	forget_pages();
	atomic_store_explicit(&is_full, false, memory_order_relaxed);
}

void fxt_fd_slots_stop(void)
{
	fxt_fd_slots_on = false;
	forget_pages();
}

/* Fills a page with free slots. */
static void lay_out(uint64_t *page)
{
	enum { END = SLOTS_IN_PAGE * STRIDE };
	unsigned at;

	static_assert(END < FXT_PAGE_WORDS - 1, "a page ends in a filler behind its slots");
	page[END] = fxt_filler(FXT_PAGE_WORDS - 1 - END);
	for (at = 0; at < END; at += STRIDE) {
		page[at + OWNER] = owned_as(FREE, 0);
		/* The header of the first slot is stored last, because a filler stands there that covers the
		 * whole page. */
		if (at)
			page[at] = fxt_filler(FXT_FD_SLOT_WORDS);
	}
	set_header(page, fxt_filler(FXT_FD_SLOT_WORDS));
}

void fxt_fd_slots_empty(void)
{
	unsigned which, page;

	for (which = 0; which < SLOTS_OF_ONE; which++)
		for (page = 0; page < PAGES; page++)
			if (atomic_load_explicit(&pages[which][page], memory_order_acquire))
				lay_out(atomic_load_explicit(&pages[which][page], memory_order_relaxed));
	atomic_store_explicit(&is_full, false, memory_order_relaxed);
}

/* Takes a page from the storage, if *place has none. Signals are blocked, as always when a chunk is taken. */
static void take_page(struct fxt_thread *thread, _Atomic(uint64_t *) *place, uint64_t now_ns)
{
	struct fxt_chunk chunk;
	uint64_t *page, *none = NULL;

	if (atomic_load_explicit(place, memory_order_acquire))
		return;
	page = fxt_thread_ready(thread)
		       ? fxt_storage_take_page(fxt_agent.storage, now_ns, FXT_PAGE_WORDS, &chunk)
		       : NULL;
	if (!page) {
		atomic_store_explicit(&is_full, thread->ready, memory_order_relaxed);
		return;
	}
	fxt_agent_overwritten(&chunk, now_ns);
	lay_out(page);
	if (!atomic_compare_exchange_strong(place, &none, page))
		fxt_storage_return_page(fxt_agent.storage, page, FXT_PAGE_WORDS);
}

/* Returns the slot of a number in the first or the second row of pages, or NULL if it has no page. */
static uint64_t *slot_in(int fd, unsigned row)
{
	uint64_t *page = atomic_load_explicit(&pages[row][fd / SLOTS_IN_PAGE], memory_order_acquire);

	return page ? page + fd % SLOTS_IN_PAGE * STRIDE : NULL;
}

/* Makes the page that a number's slot lies in. Returns false if that cannot be done now. */
static FXT_COLD bool make_slot(struct fxt_thread *thread, int fd, unsigned row, uint64_t now_ns)
{
	uint64_t mask;

	if (atomic_load_explicit(&is_full, memory_order_relaxed) || fxt_may_not_lock() ||
	    fxt_stack_is_short())
		return false;
	mask = fxt_sys_block_signals();
	take_page(thread, &pages[row][fd / SLOTS_IN_PAGE], now_ns);
	fxt_sys_restore_signals(mask);
	return slot_in(fd, row) != NULL;
}

/* -- Begins ------------------------------------------------------------------------------------ */

const uint64_t *fxt_fd_slot(int fd, uint64_t id)
{
	uint64_t *slot;
	unsigned row;

	for (row = 0; id && fd < FXT_FD_SLOT_NUMBERS && row < SLOTS_OF_ONE; row++) {
		slot = slot_in(fd, row);
		if (slot && atomic_load(owner_of(slot)) == owned_as(OWNED, id))
			return slot;
	}
	return NULL;
}

uint64_t *fxt_fd_slot_take(int fd, uint64_t id)
{
	uint64_t *slot;
	unsigned row;

	for (row = 0; fd < FXT_FD_SLOT_NUMBERS && row < SLOTS_OF_ONE; row++) {
		slot = slot_in(fd, row);
		if (slot && becomes(slot, owned_as(OWNED, id), owned_as(BUSY, id)))
			return slot;
	}
	return NULL;
}

uint64_t *fxt_fd_slot_claim(struct fxt_thread *thread, int fd, uint64_t begin_ns, uint64_t id,
			    struct fxt_lane **lane)
{
	uint64_t *slot;
	unsigned row;

	if (fd >= FXT_FD_SLOT_NUMBERS)
		return NULL;
	for (row = 0; row < SLOTS_OF_ONE; row++) {
		if (FXT_UNLIKELY(!slot_in(fd, row)) && !make_slot(thread, fd, row, begin_ns))
			return NULL;
		*lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);
		/* If a signal handler has forked, and this is the child, the slot is not there any more. */
		slot = slot_in(fd, row);
		if (FXT_LIKELY(slot && becomes(slot, owned_as(FREE, 0), owned_as(OWNED, id)))) {
			slot[1] = begin_ns;
			slot[2] = thread->pid;
			slot[3] = thread->tid;
			fxt_lane_goes_on(*lane);
			return slot;
		}
		fxt_lane_lower(*lane);
	}
	return NULL;
}

/* Stores a text argument of which there is only the end, behind `cut`. The end begins with a whole
 * character. */
static uint64_t *put_end_of_text(uint64_t *at, size_t words, uint64_t name, const char *text, size_t bytes)
{
	size_t skipped = bytes - ((words - 1) * FXT_WORD_BYTES - sizeof(cut)), n;
	char *out = (char *)(at + 1);

	while (skipped < bytes && fxt_utf8_continues(text[skipped]))
		skipped++;
	at[words - 1] = 0;
	memcpy(out, cut, sizeof(cut));
	n = sizeof(cut) + fxt_utf8_clean(out + sizeof(cut), text + skipped, bytes - skipped, bytes - skipped);
	if (n % FXT_WORD_BYTES)
		memset(out + n, 0, FXT_WORD_BYTES - n % FXT_WORD_BYTES);
	*at = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + fxt_words_of(n)), name) |
	      fxt_arg_string(fxt_inline_ref(n));
	return at + 1 + fxt_words_of(n);
}

uint64_t *fxt_fd_slot_put_text(uint64_t *at, size_t words, uint64_t name, const char *text, size_t bytes)
{
	return 1 + fxt_words_of(bytes) <= words ? fxt_put_text(at, name, text, bytes)
						: put_end_of_text(at, words, name, text, bytes);
}

/* Stores the id, which is the last word of a begin, and the zeros behind it. */
static void put_id(uint64_t *slot, uint64_t *at, uint64_t id)
{
	*at++ = id;
	memset(at, 0, (size_t)(slot + FXT_FD_SLOT_WORDS - at) * FXT_WORD_BYTES);
}

void fxt_fd_slot_show(struct fxt_lane *lane, uint64_t *slot, uint64_t *at, uint64_t id, uint64_t names,
		      unsigned arguments)
{
	put_id(slot, at, id);
	set_header(slot, fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(FXT_FD_SLOT_WORDS) |
				 fxt_event_type(FXT_EVENT_ASYNC_BEGIN) | fxt_event_args(arguments) | names);
	fxt_lane_lower(lane);
}

/* -- The text of a slot ------------------------------------------------------------------------ */

/* Returns where the record's arguments end. This is within the slot whatever its words are. */
static uint64_t *end_of_arguments(const uint64_t *slot, uint64_t header)
{
	const uint64_t *at = slot + 2 + FXT_INLINE_WORDS, *end = slot + FXT_FD_SLOT_WORDS - 1;
	unsigned n;

	for (n = fxt_get_event_args(header); n && at < end; n--)
		at += fxt_get_arg_words(*at);
	return (uint64_t *)(at < end ? at : end);
}

/* Returns whether an argument is an inline string. The call's name is none: it is in the string table. */
static bool is_text(uint64_t argument)
{
	return fxt_get_arg_type(argument) == FXT_ARG_STRING &&
	       fxt_get_string_ref_inline(fxt_get_arg_string(argument));
}

/* Returns the last inline string among the record's arguments, or NULL. */
static const uint64_t *text_in(const uint64_t *slot, uint64_t header)
{
	const uint64_t *at = slot + 2 + FXT_INLINE_WORDS, *end = end_of_arguments(slot, header), *text = NULL;

	for (; at < end; at += fxt_get_arg_words(*at) ? fxt_get_arg_words(*at) : FXT_FD_SLOT_WORDS)
		if (is_text(*at))
			text = at;
	return text;
}

__attribute__((noinline)) uint64_t *fxt_fd_slot_copy_text(uint64_t *at, size_t words, const uint64_t *slot)
{
	uint64_t copy[FXT_FD_SLOT_WORDS];
	const uint64_t *text;
	unsigned i;

	if (fxt_stack_is_short())
		return at;
	for (i = 0; i < FXT_FD_SLOT_WORDS; i++)
		copy[i] = atomic_load_explicit((const _Atomic uint64_t *)slot + i,
					       i ? memory_order_relaxed : memory_order_acquire);
	atomic_thread_fence(memory_order_acquire);
	/* The slot is empty, or has got another lifetime while it was copied. */
	if (fxt_is_filler(copy[0]) ||
	    atomic_load_explicit((const _Atomic uint64_t *)slot, memory_order_relaxed) != copy[0] ||
	    atomic_load_explicit((const _Atomic uint64_t *)slot + 1, memory_order_relaxed) != copy[1])
		return at;
	text = text_in(copy, copy[0]);
	if (!text)
		return at;
	return fxt_fd_slot_put_text(at, words, fxt_get_arg_name(*text), (const char *)(text + 1),
				    fxt_get_string_ref_value(fxt_get_arg_string(*text)));
}

/* Adds a text to the begin of lifetime `id`. The caller has taken the slot. */
static void add(uint64_t *slot, uint64_t id, uint64_t name, const char *text, size_t bytes)
{
	uint64_t header = slot[0], *at = end_of_arguments(slot, header);
	const uint64_t *there = text_in(slot, header);

	if ((there && fxt_get_arg_name(*there) == name) || fxt_fd_slot_left(slot, at, 0) <= 2)
		return;
	fxt_fd_slot_hide(slot);
	at = fxt_fd_slot_put_text(at, fxt_fd_slot_left(slot, at, 0), name, text, bytes);
	put_id(slot, at, id);
	set_header(slot, header + fxt_event_args(1));
}

void fxt_fd_slot_add(struct fxt_thread *thread, int fd, uint64_t name, const char *text, size_t bytes,
		     const _Atomic uint64_t *life, uint64_t id)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);
	uint64_t *slot;

	slot = fxt_fd_slot_take(fd, id);
	if (slot) {
		add(slot, id, name, text, bytes);
		becomes(slot, owned_as(BUSY, id), owned_as(OWNED, id));
		/* If another thread has ended the lifetime meanwhile, it found the slot busy, so this thread
		 * frees the slot. */
		if (atomic_load(life) != id)
			slot = fxt_fd_slot_take(fd, id);
		else
			slot = NULL;
	}
	if (slot) {
		fxt_fd_slot_hide(slot);
		fxt_fd_slot_free(slot);
	}
	fxt_lane_lower(lane);
}

/* -- Ends -------------------------------------------------------------------------------------- */

size_t fxt_fd_slot_words(const uint64_t *slot)
{
	return (size_t)(end_of_arguments(slot, slot[0]) - slot) + 1;
}

uint32_t fxt_fd_slot_stack(const uint64_t *slot)
{
	const uint64_t *at = slot + 2 + FXT_INLINE_WORDS, *end = end_of_arguments(slot, slot[0]);

	for (; at + 1 < end && fxt_get_arg_words(*at); at += fxt_get_arg_words(*at))
		if (fxt_get_arg_type(*at) == FXT_ARG_POINTER && fxt_get_arg_name(*at) == FXT_STR_stack)
			return (uint32_t)(at[1] - FXT_STACK_ID);
	return 0;
}

void fxt_fd_slot_hide(uint64_t *slot)
{
	set_header(slot, fxt_filler(FXT_FD_SLOT_WORDS));
}

void fxt_fd_slot_free(uint64_t *slot)
{
	atomic_store_explicit(owner_of(slot), owned_as(FREE, 0), memory_order_release);
}
