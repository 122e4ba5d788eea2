/* Implements storage.h for a buffer that a manager saves while the program runs (provider.h,
 * docs/manager.md). The structure is that of a buffer in a file. buffer.h says who may call these functions.
 *
 * Chunks are handed out in passes. `cursor` has the number of the pass in its upper half, and in its lower
 * half the next chunk of the pass. In oneshot and circular mode there is one pass, over all chunks; after it
 * circular mode hands out the chunk that was finished first. In streaming mode a pass goes over one of the
 * two rolling buffers. It takes the chunks that are free there, and skips those that a thread still holds or
 * that the manager has not saved yet. At its end the other rolling buffer is next, if the manager has
 * answered the last request to save that one. Where the manager keeps up, a pass ends sooner: after a few
 * chunks, and after more the faster the process fills them. So the memory that is used follows the rate.
 * It goes no further than the manager has granted, because all processes of a run share a budget. */
#include <errno.h>
#include <string.h>

#include "buffer_managed.h"

enum {
	FIRST_CHUNKS = FXT_MANAGED_FIRST_CHUNKS,        /* chunks of each half that may be used at first */
	/* the length of a pass at first, while the manager keeps up */
	FIRST_EARLY_CHUNKS = FXT_MANAGED_LEAST_CHUNKS,
	/* A process that does not wait for room may use so many chunks of each half before the manager has
	 * seen its memory, because it would drop what it records while the manager wakes. */
	UNSEEN_CHUNKS = 32,
	MOST_EARLY_CHUNKS = 32,         /* no longer passes are needed while the manager keeps up */
	QUICK_PASS_NS = 20 * 1000 * 1000,       /* a pass that is quicker is followed by a longer one */
	SLOW_PASS_NS = 1000 * 1000 * 1000,      /* a slower one by one of the first length */
	HEAR_NS = 1000 * 1000,          /* the time between two attempts where there is no room for long */
	RETRY_NS = 50 * 1000,           /* the time between two attempts to get a chunk, if none is free */
	/* A process that has lost its connection waits no longer than this for a manager that gives nothing
	 * back: it would not notice that the manager is gone. */
	DEAF_WAIT_NS = 2000 * 1000 * 1000,
};

static struct fxt_buffer *buffer_of(struct fxt_storage *storage)
{
	return (struct fxt_buffer *)storage;
}

static uint32_t entry_of(uint32_t turn, enum fxt_managed_state state)
{
	return turn << 8 | (uint32_t)state;
}

/* Returns how many chunks of each half the process may use. */
static uint32_t granted(const struct fxt_buffer *buffer)
{
	uint32_t half = buffer->managed_chunks / 2, chunks;

	chunks = atomic_load_explicit(&buffer->header->granted_chunks, memory_order_relaxed);
	/* The manager has not seen the memory before it answers for the first time. */
	if (!chunks && atomic_load_explicit(&buffer->saved_wraps, memory_order_relaxed))
		chunks = half;
	else if (!chunks)
		chunks = buffer->waits ? FXT_MANAGED_LEAST_CHUNKS : UNSEEN_CHUNKS;
	return chunks < half ? chunks : half;
}

/* Asks for twice the chunks that were granted. */
static void want_more(struct fxt_buffer *buffer)
{
	atomic_store_explicit(&buffer->header->wanted_chunks, 2 * granted(buffer), memory_order_relaxed);
}

static uint32_t pass_chunks(const struct fxt_buffer *buffer)
{
	uint32_t chunks = atomic_load_explicit(&buffer->header->granted_chunks, memory_order_relaxed);

	if (buffer->mode == FXT_STREAMING)
		return granted(buffer);
	return chunks && chunks < buffer->managed_chunks / 2 ? 2 * chunks : buffer->managed_chunks;
}

/* Returns whether the next pass may write to its half of the buffer. It may if the manager has said that the
 * half is saved; or, where this process may not talk with the manager, if at least one chunk of the half is
 * free. The caller holds extend_lock. */
static bool is_half_saved(struct fxt_buffer *buffer, uint32_t pass)
{
	uint32_t first = ((pass + 1) & 1) * (buffer->managed_chunks / 2), i;
	enum fxt_managed_state state;

	fxt_managed_hear_all(buffer);
	if (fxt_managed_is_over(buffer) || buffer->is_kept)
		return false;
	if (fxt_managed_may_talk(buffer))
		return buffer->saved_wraps == pass;
	for (i = first; i < first + granted(buffer); i++) {
		state = fxt_managed_state_of(atomic_load_explicit(&buffer->states[i], memory_order_acquire));
		if (state == FXT_MANAGED_FREE || state == FXT_MANAGED_EMPTY)
			return true;
	}
	return false;
}

/* Chooses the least length of the next pass by how long the last one took. */
static void pace(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - buffer->pass_ns;
	uint32_t plenty = granted(buffer) / 2;

	if (plenty > MOST_EARLY_CHUNKS)
		plenty = MOST_EARLY_CHUNKS;
	if (took_ns < QUICK_PASS_NS && buffer->early_chunks < MOST_EARLY_CHUNKS)
		buffer->early_chunks *= 2;
	else if (took_ns > SLOW_PASS_NS)
		buffer->early_chunks = FIRST_EARLY_CHUNKS;
	if (buffer->early_chunks > granted(buffer))
		want_more(buffer);
	buffer->pass_ns = now_ns;
	atomic_store_explicit(&buffer->storage.plenty, plenty, memory_order_relaxed);
}

/* Begins pass `pass` + 1 of a streaming buffer, and asks the manager to save the half that is full. */
static void begin_pass(struct fxt_buffer *buffer, uint32_t pass, uint64_t now_ns)
{
	uint64_t durable = atomic_load_explicit(&buffer->header->durable_data_end, memory_order_relaxed);

	pace(buffer, now_ns);
	buffer->empty_passes = atomic_exchange(&buffer->has_found, false) ? 0 : buffer->empty_passes + 1;
	atomic_store_explicit(&buffer->header->wrapped_count, pass + 1, memory_order_relaxed);
	atomic_store_explicit(&buffer->cursor, (uint64_t)(pass + 1) << 32, memory_order_release);
	atomic_store_explicit(&buffer->failure, 0, memory_order_relaxed);
	atomic_store_explicit(&buffer->asked_saves, atomic_load(&buffer->header->saves),
			      memory_order_relaxed);
	if (fxt_managed_may_talk(buffer))
		fxt_managed_say(buffer, (struct fxt_packet){FXT_PROVIDER_SAVE_BUFFER, 0, pass, durable});
	else
		buffer->saved_wraps = pass + 1;
}

/* Returns why no pass can begin: the manager has not saved enough yet (-EAGAIN), or nobody is known to save
 * anything (-EBUSY). A buffer that is full has no failure: storage.h. The caller holds extend_lock. */
static int why_none(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint32_t saves = atomic_load(&buffer->header->saves);

	if (buffer->full_bytes || buffer->is_kept)
		return 0;
	if (atomic_exchange(&buffer->seen_saves, saves) != saves || fxt_managed_may_talk(buffer))
		buffer->stuck_ns = now_ns;
	return now_ns - buffer->stuck_ns < DEAF_WAIT_NS ? -EAGAIN : -EBUSY;
}

/* Ends pass number `pass` of a streaming buffer. Returns false if the next pass cannot begin now. */
static bool turn_over(struct fxt_buffer *buffer, uint32_t pass, uint64_t now_ns)
{
	uint64_t mask;
	bool done = true;

	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&buffer->extend_lock);
	/* The process may have left its manager. */
	if (!buffer->managed) {
		done = false;
	} else if (atomic_load_explicit(&buffer->cursor, memory_order_relaxed) >> 32 == pass) {
		int why = why_none(buffer, now_ns);

		done = is_half_saved(buffer, pass);
		/* Two passes over all chunks have found none: threads hold them all, in the middle of a
		 * record. Nobody waits for them. */
		if (done && buffer->empty_passes >= 2) {
			buffer->empty_passes = 0;
			why = -EBUSY;
			done = false;
		}
		if (done) {
			begin_pass(buffer, pass, now_ns);
		} else if (!fxt_managed_is_over(buffer)) {
			want_more(buffer);
			atomic_store_explicit(&buffer->failure, why, memory_order_relaxed);
			atomic_store_explicit(&buffer->retry_ns, now_ns + RETRY_NS, memory_order_relaxed);
		}
	}
	fxt_unlock(&buffer->extend_lock, mask);
	return done;
}

/* Returns whether pass number `pass` may end at chunk `at` already: the manager is known to have saved the
 * other half. Where this process may not talk with the manager, nothing tells that. */
static bool may_end_early(struct fxt_buffer *buffer, uint32_t pass, uint32_t at)
{
	return at >= buffer->early_chunks && buffer->mode == FXT_STREAMING &&
	       atomic_load_explicit(&buffer->saved_wraps, memory_order_relaxed) == pass &&
	       !buffer->is_deaf && !fxt_is_forbidden(FXT_NO_TALK);
}

void fxt_managed_before_vfork(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint64_t at = atomic_load_explicit(&buffer->cursor, memory_order_relaxed);
	uint32_t pass = (uint32_t)(at >> 32), left = pass_chunks(buffer) - (uint32_t)at;

	if (buffer->mode != FXT_STREAMING || fxt_managed_is_over(buffer) ||
	    ((int32_t)left > 1 && !may_end_early(buffer, pass, (uint32_t)at)))
		return;
	if (is_half_saved(buffer, pass))
		begin_pass(buffer, pass, now_ns);
	else if (!fxt_managed_is_over(buffer))
		want_more(buffer);
}

static void pause_until_saved(struct fxt_storage *storage)
{
	static const struct timespec most = {0, FXT_PAUSE_NS};
	struct fxt_managed_header *header = buffer_of(storage)->header;

	/* Another thread may have left the manager meanwhile. */
	if (!buffer_of(storage)->managed)
		return;
	atomic_fetch_add(&header->sleepers, 1);
	FXT_SYSCALL4(SYS_futex, &header->saves, FXT_FUTEX_WAIT_SHARED,
		     atomic_load(&buffer_of(storage)->seen_saves), &most);
	atomic_fetch_sub(&header->sleepers, 1);
}

/* Touches a chunk's pages at once, before they are used for the first time. The first chunks of each half may
 * be all that the process needs, and not much of them. */
static void populate(struct fxt_buffer *buffer, uint32_t number)
{
	if (number % (buffer->managed_chunks / 2) >= FIRST_CHUNKS)
		fxt_sys_madvise(fxt_buffer_chunk(buffer, number), FXT_CHUNK_BYTES, MADV_POPULATE_WRITE);
}

/* Returns whether a chunk in this state may be taken: it is free, or the ring has given it. */
static bool may_take(enum fxt_managed_state state, bool is_oldest)
{
	return state == FXT_MANAGED_FREE || state == FXT_MANAGED_EMPTY ||
	       (is_oldest && (state == FXT_MANAGED_FULL || state == FXT_MANAGED_SAVED));
}

/* Gives a chunk that was not handed out back to the ring, if it was refused because the process leaves its
 * manager: the buffer goes on with it then. */
static void give_back_refused(struct fxt_buffer *buffer, uint32_t number)
{
	if (buffer->mode == FXT_CIRCULAR && buffer->leaves)
		fxt_ring_give_back(&buffer->ring, number);
}

/* Makes the chunk the caller's, in a new turn, if it is free. A chunk that `is_oldest`, which the ring has
 * given, may also be full or saved. Returns false otherwise: the thread may have slept for whole passes since
 * it got the chunk's number, or the process leaves its manager. The new turn is stored before anything is
 * stored to the chunk, and FXT_MANAGED_HELD after that, so a manager that copies the chunk meanwhile can tell
 * that its copy is bad. */
static bool hand_out(struct fxt_buffer *buffer, uint32_t number, bool is_oldest, struct fxt_chunk *chunk)
{
	struct fxt_chunk_past *past = &buffer->past[number];
	uint32_t entry = atomic_load_explicit(&buffer->states[number], memory_order_acquire), turn, taken;
	enum fxt_managed_state state;
	bool is_held;

	/* A manager may mark the chunk as saved at this moment. */
	do {
		state = fxt_managed_state_of(entry);
		turn = (entry >> 8) + 1;
		taken = entry_of(turn, is_oldest && state == FXT_MANAGED_FULL ? FXT_MANAGED_OLDEST
									    : FXT_MANAGED_TAKEN);
		if (!may_take(state, is_oldest)) {
			give_back_refused(buffer, number);
			return false;
		}
	} while (!atomic_compare_exchange_strong(&buffer->states[number], &entry, taken));
	/* The child of a vfork may be killed in what follows: then its parent gives this chunk back. */
	*chunk = (struct fxt_chunk){.base = fxt_buffer_chunk(buffer, number), .words = FXT_CHUNK_WORDS,
				    .number = number};
	atomic_thread_fence(memory_order_release);
	if (turn == 1 || state == FXT_MANAGED_EMPTY)
		populate(buffer, number);
	chunk->overwritten = fxt_buffer_give_up(buffer, number);
	if (buffer->mode == FXT_CIRCULAR)
		atomic_store(&buffer->taken[number], fxt_taken_pack((struct fxt_taken){.turn = turn}));
	is_held = atomic_compare_exchange_strong(&buffer->states[number], &taken,
						 entry_of(turn, FXT_MANAGED_HELD));
	if (is_held) {
		atomic_store_explicit(&buffer->has_found, true, memory_order_relaxed);
		return true;
	}
	/* Whoever has withdrawn the chunk has noted this for what it had. */
	past->archived = 0;
	chunk->words = 0;
	atomic_signal_fence(memory_order_seq_cst);
	give_back_refused(buffer, number);
	return false;
}

/* Takes a chunk of the half that the next pass will go over. So does the child of a vfork, which takes no
 * lock, and so cannot begin that pass. */
static bool take_ahead(struct fxt_buffer *buffer, uint32_t pass, struct fxt_chunk *chunk)
{
	uint32_t first = ((pass + 1) & 1) * (buffer->managed_chunks / 2), most = granted(buffer), i;

	for (i = 0; i < most; i++)
		if (hand_out(buffer, first + i, false, chunk))
			return true;
	return false;
}

static bool take_now(struct fxt_buffer *buffer, uint64_t now_ns, struct fxt_chunk *chunk)
{
	uint32_t chunks, pass, number, half = buffer->mode == FXT_STREAMING ? buffer->managed_chunks / 2 : 0;
	uint64_t at;
	bool waited;

	while (buffer->managed && !fxt_managed_is_over(buffer)) {
		chunks = pass_chunks(buffer);
		at = atomic_load_explicit(&buffer->cursor, memory_order_acquire);
		pass = (uint32_t)(at >> 32);
		if (may_end_early(buffer, pass, (uint32_t)at) && turn_over(buffer, pass, now_ns))
			continue;
		if ((uint32_t)at >= chunks) {
			if (buffer->mode == FXT_STREAMING && turn_over(buffer, pass, now_ns))
				continue;
			if (buffer->mode == FXT_STREAMING && fxt_may_not_lock())
				return take_ahead(buffer, pass, chunk);
			if (buffer->mode != FXT_CIRCULAR || !fxt_ring_take(&buffer->ring, &number, &waited))
				return false;
			if (hand_out(buffer, number, true, chunk))
				return true;
			continue;
		}
		if (!atomic_compare_exchange_weak_explicit(&buffer->cursor, &at, at + 1,
							   memory_order_relaxed, memory_order_relaxed))
			continue;
		number = (uint32_t)at + (pass & 1) * half;
		if (hand_out(buffer, number, false, chunk))
			return true;
	}
	return false;
}

static bool take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	bool taken;

	fxt_buffer_hear(buffer, now_ns);
	taken = take_now(buffer, now_ns, chunk);
	/* The process has left its manager since this thread has read what kind of buffer it has. */
	if (!taken && !buffer->managed)
		return fxt_buffer_ops.take(storage, now_ns, chunk);
	if (!taken && (fxt_managed_is_over(buffer) || buffer->mode == FXT_ONESHOT))
		atomic_store_explicit(&buffer->retry_ns, now_ns + HEAR_NS, memory_order_relaxed);
	return taken;
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	uint32_t entry = atomic_load_explicit(&buffer->states[number], memory_order_relaxed);
	uint32_t full = entry_of(entry >> 8, FXT_MANAGED_FULL);

	buffer->past[number].events = events;
	buffer->past[number].last_ns = last_ns;
	atomic_store(&buffer->states[number], full);
	/* Who leaves the manager has looked at the states already, or sees that this chunk is full. */
	if (buffer->leaves)
		atomic_compare_exchange_strong(&buffer->states[number], &full,
					       entry_of(entry >> 8, FXT_MANAGED_LEFT));
	if (buffer->mode == FXT_CIRCULAR)
		fxt_ring_give_back(&buffer->ring, number);
	return 0;
}

void fxt_managed_has_pages(struct fxt_buffer *buffer, uint32_t number)
{
	uint32_t entry = atomic_load_explicit(&buffer->states[number], memory_order_relaxed);

	atomic_store_explicit(&buffer->states[number], entry_of(entry >> 8, FXT_MANAGED_PAGES),
			      memory_order_release);
}

uint32_t fxt_managed_page_chunks(struct fxt_buffer *buffer)
{
	uint32_t most = pass_chunks(buffer);

	if (buffer->mode != FXT_STREAMING)
		return most / 2;
	/* More are granted before these are used up. */
	if (atomic_load_explicit(&buffer->page_chunks, memory_order_relaxed) >= most / 2)
		want_more(buffer);
	return most;
}

bool fxt_managed_is_held(const struct fxt_buffer *buffer, uint32_t number)
{
	return fxt_managed_state_of(atomic_load_explicit(&buffer->states[number], memory_order_acquire)) ==
	       FXT_MANAGED_HELD;
}

void fxt_managed_begin(struct fxt_buffer *buffer, enum fxt_mode mode)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	uint32_t number;
	bool waited;

	/* The manager makes free chunks of all that are full, so the ring's order is of no use any more. */
	while (fxt_ring_take(&buffer->ring, &number, &waited))
		;
	buffer->mode = mode;
	buffer->header->buffering_mode = (uint8_t)mode;
	atomic_store_explicit(&buffer->cursor,
			      mode == FXT_STREAMING ? (uint64_t)buffer->saved_wraps << 32 : 0,
			      memory_order_release);
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_managed_go_on(struct fxt_buffer *buffer, bool is_cleared)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);

	if (is_cleared && buffer->mode == FXT_ONESHOT)
		atomic_store_explicit(&buffer->cursor, 0, memory_order_release);
	atomic_store_explicit(&buffer->retry_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&buffer->full_bytes, 0, memory_order_relaxed);
	if (atomic_load_explicit(&buffer->failure, memory_order_relaxed) == -ESHUTDOWN)
		atomic_store_explicit(&buffer->failure, 0, memory_order_relaxed);
	fxt_unlock(&buffer->extend_lock, mask);
}

static int failure(const struct fxt_storage *storage)
{
	const struct fxt_buffer *buffer = (const struct fxt_buffer *)storage;
	int error = atomic_load_explicit(&buffer->failure, memory_order_relaxed);

	/* Another thread may have begun a pass since this one found no chunk. */
	if (!error && buffer->mode == FXT_STREAMING && !buffer->full_bytes && !buffer->is_kept)
		return -EAGAIN;
	return error;
}

static uint64_t none_before(const struct fxt_storage *storage)
{
	const struct fxt_buffer *buffer = (const struct fxt_buffer *)storage;

	/* The manager may clear the buffer and start again, so it is never full for good. */
	if (buffer->mode == FXT_CIRCULAR && !fxt_managed_is_over(buffer))
		return 0;
	return atomic_load_explicit(&buffer->retry_ns, memory_order_relaxed);
}

const struct fxt_storage_ops fxt_managed_ops = {
	.take = take,
	.finish = finish,
	.clear = fxt_buffer_clear,
	.take_page = fxt_buffer_take_page,
	.return_page = fxt_buffer_return_page,
	.durable = fxt_buffer_durable,
	.retract = fxt_buffer_retract,
	.failure = failure,
	.none_before = none_before,
	.pause = pause_until_saved,
	.after_fork = fxt_buffer_after_fork,
};
