/* Takes what was recorded out of the trace again: one record, or all that a chunk of a ring has. Any context
 * may call this. */
#include "buffer_managed.h"

#include <string.h>

/* -- One record ----------------------------------------------------------------------------------
 *
 * A record that was committed is retracted for the sake of programs that copy the file: retract() of
 * storage.h. The chunk may be finished, and its window unmapped. */

bool fxt_is_event_of(const uint64_t *record, size_t words, uint64_t last)
{
	return record[words - 1] == last && fxt_get_record_words(record[0]) == words &&
	       fxt_get_record_type(record[0]) == FXT_RECORD_EVENT;
}

/* Reads the record. Returns false if it is not the record that was meant. */
static bool read_back(const uint64_t *there, uint64_t *record, size_t words, uint64_t last)
{
	memcpy(record, there, words * FXT_WORD_BYTES);
	return fxt_is_event_of(record, words, last);
}

static void store(uint64_t *at, uint64_t value)
{
	atomic_store_explicit((_Atomic uint64_t *)at, value, memory_order_release);
}

/* Retracts a record whose window is unmapped, by mapping the pages for the moment. Writing by the descriptor
 * might exceed the process's limit for file sizes, which kills. */
static bool take_back_unmapped(struct fxt_buffer *buffer, uint64_t offset, uint64_t *record, size_t words,
			       uint64_t last)
{
	size_t within = offset % FXT_PAGE_BYTES, bytes = within + words * FXT_WORD_BYTES;
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	char *pages = NULL;
	bool done = false;
	int error;

	if (fxt_file_ready(buffer))
		pages = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd,
				     (off_t)(offset - within), &error);
	fxt_file_settle(buffer);
	if (pages) {
		done = read_back((uint64_t *)(pages + within), record, words, last);
		if (done)
			store((uint64_t *)(pages + within), fxt_filler(words));
		fxt_sys_munmap(pages, bytes);
	}
	fxt_unlock(&buffer->extend_lock, mask);
	return done;
}

bool fxt_buffer_retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record,
			size_t words, uint64_t last)
{
	struct fxt_buffer *buffer = (struct fxt_buffer *)storage;
	uint64_t mask, offset = fxt_buffer_chunk_offset(buffer, number) + at * FXT_WORD_BYTES;
	struct fxt_window *window;
	uint64_t *there;
	bool done;

	if (buffer->mode == FXT_CIRCULAR || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock())
		return false;
	/* A manager may have saved a chunk that is finished. */
	if (buffer->managed && (number >= buffer->limit || !fxt_managed_is_held(buffer, number)))
		return false;
	/* Signals are blocked until the end, because the child of a handler that forks would retract the
	 * record as well. */
	mask = fxt_sys_block_signals();
	window = &buffer->windows[number / FXT_WINDOW_CHUNKS];
	/* In the child of a fork the chunk may be one of the parent. */
	if (buffer->tail_offset || number >= atomic_load_explicit(&buffer->extended, memory_order_acquire)) {
		done = false;
	} else if (fxt_window_keep(window)) {
		there = fxt_buffer_chunk(buffer, number) + at;
		/* A chunk that was saved has the record in the file as well, and is not saved again: if the
		 * file keeps it, nothing has changed. */
		done = read_back(there, record, words, last) &&
		       (!buffer->in_memory ||
			fxt_buffer_take_back_saved(buffer, offset, record, words, last, true));
		if (done)
			store(there, fxt_filler(words));
		fxt_window_finish(window);
	} else if (buffer->in_memory) {
		done = fxt_buffer_take_back_saved(buffer, offset, record, words, last, false);
	} else {
		done = take_back_unmapped(buffer, offset, record, words, last);
	}
	fxt_sys_restore_signals(mask);
	return done;
}

/* -- All of a chunk ------------------------------------------------------------------------------
 *
 * fxt_buffer_give_up() empties a chunk of a ring for newer events, and counts what it had.
 *
 * The process may be killed at any instruction. So one store both takes the events out of the trace and
 * counts them. Before it, the count of what is overwritten is written to the end of the chunk as well, with
 * the sum that it will have, where the filler behind the last event hides it. The store puts a filler in the
 * place of the chunk's first word that reaches to this copy:
 *
 *      before    [ events ............................ | filler: the copy is hidden | filler ]
 *      the store [ filler ........................................ | copy of the count | filler ]
 *      at last   [ filler ............................................................ | filler ]
 *
 * Then the count itself gets the sum, and at last the chunk is empty. Readers take the largest sum that a
 * count has anywhere, so the copy counts nothing twice. This holds if one thread at a time changes the count.
 * So there are several, and a thread makes one its own; nobody waits. If all are in use, the thread adds to
 * the last count before the store: a process that is killed in between has counted events that are there.
 *
 * If the caller is the child of a vfork and is killed, its parent goes on, by fxt_buffer_clear(): each step
 * may be done twice. What the steps need is in memory that both have: owners, sums and the chunk's past. */

enum { LAST_ROW = FXT_OVERWRITTEN_ROWS - 1, COPY_WORDS = FXT_COUNTER_WORDS - 1 };

/* A count ends in its number, and in a word of no use where it is not a copy. */
enum { TIME = 1, NUMBER = COPY_WORDS - 1 };

static_assert(FXT_GIVEN_UP_AT + COPY_WORDS == FXT_CHUNK_WORDS - 1, "the copy ends before the last word");

/* Keeps the compiler from changing the order of what is done before and after. The process may be killed in
 * between. */
static void step(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Returns whether this is the first word of a chunk whose copy of a count is to be seen. */
static bool shows_copy(const uint64_t *chunk)
{
	return atomic_load_explicit((const _Atomic uint64_t *)chunk, memory_order_relaxed) ==
	       fxt_filler(FXT_GIVEN_UP_AT);
}

/* Returns the row that belongs to the chunk; LAST_ROW: there is none. */
static unsigned row_of(const struct fxt_buffer *buffer, uint32_t number)
{
	unsigned row = 0;

	while (row < LAST_ROW && atomic_load_explicit(&buffer->overwritten.owners[row],
						      memory_order_relaxed) != number + 1)
		row++;
	return row;
}

/* Returns a row for the chunk alone, or LAST_ROW. */
static unsigned take_row(struct fxt_buffer *buffer, uint32_t number)
{
	unsigned row;

	for (row = 0; row < LAST_ROW; row++) {
		uint32_t owner = 0;

		if (atomic_compare_exchange_strong(&buffer->overwritten.owners[row], &owner, number + 1))
			break;
	}
	return row;
}

static void give_row_back(struct fxt_buffer *buffer, unsigned row)
{
	atomic_store_explicit(&buffer->overwritten.owners[row], 0, memory_order_release);
}

/* Fills in all of a count but its header and its sum. */
static void describe(const struct fxt_buffer *buffer, uint64_t *count, unsigned row, uint64_t last_ns)
{
	unsigned i;

	/* This comes from a sum that counts later events too, or from the clearing of the count. */
	if (last_ns > count[TIME])
		store(&count[TIME], last_ns);
	for (i = TIME + 1; i < FXT_COUNTER_SUM; i++)
		store(&count[i], buffer->overwritten.record[i]);
	store(&count[NUMBER], row);
}

static uint64_t *count_of(const struct fxt_buffer *buffer, unsigned row)
{
	return buffer->durable + buffer->prologue_words -
	       (size_t)(FXT_OVERWRITTEN_ROWS - row) * FXT_COUNTER_WORDS;
}

static void show(const struct fxt_buffer *buffer, uint64_t *count, size_t words)
{
	store(count, buffer->overwritten.record[0] | fxt_record_words(words));
}

/* Adds to the count that several threads may change. */
static void add(struct fxt_buffer *buffer, uint32_t events, uint64_t last_ns)
{
	uint64_t *count = count_of(buffer, LAST_ROW);

	atomic_fetch_add((_Atomic uint64_t *)&count[FXT_COUNTER_SUM], events);
	describe(buffer, count, LAST_ROW, last_ns);
	show(buffer, count, FXT_COUNTER_WORDS);
}

/* Tells in the memory's header that events were overwritten which the manager has taken in a pass that it has
 * not counted yet. Shows the count that they belong to if the pass is never counted: whoever adds to it then
 * may not know how such a count is written. */
static void note_taken(struct fxt_buffer *buffer, uint32_t events, uint32_t pass, uint64_t last_ns)
{
	fxt_taken_entry *at = &buffer->header->overwritten_in_pass;
	uint64_t word = atomic_load(at), next;

	if (buffer->overwritten.record[0])
		add(buffer, 0, last_ns);
	do
		next = (uint64_t)pass << 32 | (uint32_t)(fxt_overwritten_in_pass(word, pass - 1) + events);
	while (!atomic_compare_exchange_weak(at, &word, next));
}

/* Returns how many events were overwritten that are in no archive, because the manager was killed while it
 * was saving them. The caller counts them. */
static uint32_t taken_in_vain(struct fxt_buffer *buffer)
{
	uint32_t pass = atomic_load_explicit(&buffer->header->saved_pass, memory_order_acquire);

	return fxt_overwritten_in_pass(atomic_exchange(&buffer->header->overwritten_in_pass, 0), pass);
}

void fxt_managed_count_taken_in_vain(struct fxt_buffer *buffer)
{
	uint32_t events = taken_in_vain(buffer);

	if (events && buffer->overwritten.record[0])
		add(buffer, events, 0);
}

/* Returns how many events of a ring's chunk the manager has not saved. The caller gives the chunk up in the
 * turn that it has in the table. */
static uint32_t unsaved(struct fxt_buffer *buffer, uint32_t number)
{
	const uint32_t turn = atomic_load_explicit(&buffer->states[number], memory_order_relaxed) >> 8;
	uint32_t events = buffer->past[number].events, pass;
	uint64_t word = atomic_load(&buffer->taken[number]);
	struct fxt_taken taken;

	/* With another turn the word is not the manager's any more. It still says what was taken, for whoever
	 * finds the chunk after the process was killed. */
	do {
		taken = fxt_taken_unpack(word);
		if (taken.turn != (turn & FXT_TAKEN_TURN_MASK) &&
		    taken.turn != ((turn - 1) & FXT_TAKEN_TURN_MASK))
			taken = (struct fxt_taken){0};
		taken.turn = turn;
	} while (!atomic_compare_exchange_weak(&buffer->taken[number], &word, fxt_taken_pack(taken)));
	if (taken.events > events)
		taken.events = events;
	pass = atomic_load_explicit(&buffer->header->saved_pass, memory_order_acquire) + 1;
	if (!taken.events || taken.pass != (pass & FXT_TAKEN_PASS_MASK))
		return events - taken.events;
	/* The pass may yet be counted, or the manager killed before that. Whoever finds that it is gone
	 * counts what was noted until then. */
	note_taken(buffer, taken.events, pass, buffer->past[number].last_ns);
	events -= taken.events;
	if (buffer->manager_word && fxt_managed_is_gone(buffer))
		events += taken_in_vain(buffer);
	return events;
}

/* Returns how many events of the chunk are neither saved nor counted. */
static uint32_t uncounted(struct fxt_buffer *buffer, uint32_t number)
{
	const struct fxt_chunk_past *past = &buffer->past[number];

	if (atomic_load(&buffer->managed)) {
		enum fxt_managed_state state = fxt_managed_state_of(atomic_load(&buffer->states[number]));

		if (state == FXT_MANAGED_OLDEST)
			return unsaved(buffer, number);
		/* The process is about to leave its manager. */
		if (state != FXT_MANAGED_LEFT)
			return 0;
	}
	return past->archived < past->events ? past->events - past->archived : 0;
}

/* Puts the copy of a count at the end of the chunk, and then in the place of its events. */
static void show_copy(struct fxt_buffer *buffer, uint64_t *chunk, unsigned row,
		      const struct fxt_chunk_past *past)
{
	uint64_t *copy = chunk + FXT_GIVEN_UP_AT;

	copy[TIME] = 0;
	describe(buffer, copy, row, past->last_ns);
	store(&copy[FXT_COUNTER_SUM], buffer->overwritten.next_sums[row]);
	show(buffer, copy, COPY_WORDS);
	store(chunk, fxt_filler(FXT_GIVEN_UP_AT));
}

/* Gives the chunk up in steps. The row is its own. `events` of its events are not counted; 0: the copy shows
 * already that they are. */
static void count(struct fxt_buffer *buffer, uint32_t number, unsigned row, uint32_t events)
{
	struct fxt_chunk_past *past = &buffer->past[number];
	uint64_t *total = count_of(buffer, row);

	if (events) {
		buffer->overwritten.next_sums[row] = buffer->overwritten.sums[row] + events;
		step();
		show_copy(buffer, fxt_buffer_chunk(buffer, number), row, past);
		step();
	}
	store(&total[FXT_COUNTER_SUM], buffer->overwritten.next_sums[row]);
	describe(buffer, total, row, past->last_ns);
	show(buffer, total, FXT_COUNTER_WORDS);
	step();
	buffer->overwritten.sums[row] = buffer->overwritten.next_sums[row];
	step();
}

/* Gives the chunk up, whose row is this if it has one already. */
static uint32_t give_up(struct fxt_buffer *buffer, uint32_t number, unsigned row)
{
	struct fxt_chunk_past *past = &buffer->past[number];
	uint64_t *chunk = fxt_buffer_chunk(buffer, number);
	bool is_counted = row < LAST_ROW && shows_copy(chunk);
	uint32_t events = is_counted ? 0 : uncounted(buffer, number);

	if (buffer->overwritten.record[0] && (events || is_counted)) {
		if (row == LAST_ROW)
			row = take_row(buffer, number);
		if (row < LAST_ROW)
			count(buffer, number, row, events);
		else
			add(buffer, events, past->last_ns);
	}
	past->events = past->archived = 0;
	step();
	fxt_chunk_empty(chunk, FXT_CHUNK_WORDS);
	step();
	if (row < LAST_ROW)
		give_row_back(buffer, row);
	return events;
}

uint32_t fxt_buffer_give_up(struct fxt_buffer *buffer, uint32_t number)
{
	return give_up(buffer, number, LAST_ROW);
}

uint64_t fxt_buffer_overwritten(const struct fxt_buffer *buffer)
{
	uint64_t sum = 0;

	for (unsigned row = 0; row < FXT_OVERWRITTEN_ROWS; row++)
		sum += count_of(buffer, row)[FXT_COUNTER_SUM];
	return sum;
}

void fxt_buffer_clear(struct fxt_storage *storage, const struct fxt_chunk *chunk)
{
	struct fxt_buffer *buffer = (struct fxt_buffer *)storage;

	if (buffer->mode == FXT_CIRCULAR && !buffer->tail_offset)
		give_up(buffer, chunk->number, row_of(buffer, chunk->number));
	else
		fxt_chunk_empty(chunk->base, chunk->words);
}
