/* Implements storage.h for a buffer that a manager saves while the program runs (provider.h,
 * docs/manager.md). The structure is that of a buffer in a file. buffer.h says who may call these functions.
 *
 * Chunks are handed out in passes. `cursor` has the number of the pass in its upper half, and in its lower
 * half the next chunk of the pass. In oneshot and circular mode there is one pass, over all chunks; after it
 * circular mode hands out the chunk that was finished first. In streaming mode a pass goes over one of the
 * two rolling buffers. It takes the chunks that are free there, and skips those that a thread still holds or
 * that the manager has not saved yet. At its end the other rolling buffer is next, if the manager has
 * answered the last request to save that one. Where the manager keeps up, a pass ends after EARLY_CHUNKS.
 * So a large buffer costs memory, and the touching of it, only while it is needed. */
#include <errno.h>
#include <linux/memfd.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "buffer.h"

enum {
	NOEXEC_SEAL = 8,                /* MFD_NOEXEC_SEAL, which kernels before 6.3 do not know */
	POPULATE_CHUNKS = 8,            /* chunks that are touched together, when the first is new */
	EARLY_CHUNKS = 128,             /* the least length of a pass, if the buffer is not smaller */
	HEAR_NS = 1000 * 1000,          /* the least time between two looks for packets of the manager */
	RETRY_NS = 50 * 1000,           /* the time between two attempts to get a chunk, if none is free */
};

static struct fxt_buffer *buffer_of(struct fxt_storage *storage)
{
	return (struct fxt_buffer *)storage;
}

static uint32_t entry_of(uint32_t turn, enum fxt_managed_state state)
{
	return turn << 8 | (uint32_t)state;
}

/* -- Making the buffer ------------------------------------------------------------------------- */

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + FXT_PAGE_BYTES - 1) & ~(uint64_t)(FXT_PAGE_BYTES - 1);
}

/* Returns a memfd of this size that nobody can make shorter or longer, or a negative errno. */
static int make_memory(uint64_t bytes)
{
	static const char name[] = "fxt buffer";
	int fd, error;

	if (fxt_sys_is_past_limit(bytes))
		return -EFBIG;
	fd = (int)FXT_SYSCALL2(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);
	if (fd == -EINVAL)
		fd = (int)FXT_SYSCALL2(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return fd;
	error = fxt_sys_ftruncate(fd, (off_t)bytes);
	if (!error)
		error = (int)FXT_SYSCALL3(SYS_fcntl, fd, F_ADD_SEALS,
					  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}

/* Returns the size of what is in front of the durable area: the header and the table. */
static uint64_t front_bytes(const struct fxt_buffer *buffer)
{
	return FXT_MANAGED_HEADER_BYTES + whole_pages(buffer->limit * sizeof(fxt_managed_entry));
}

/* Fills in the header except for the magic number, which is stored when everything else is complete. */
static void describe(struct fxt_buffer *buffer, const struct fxt_buffer_config *config, uint64_t total)
{
	struct fxt_managed_header *header = buffer->managed;

	header->version = FXT_MANAGED_VERSION;
	header->buffering_mode = (uint8_t)buffer->mode;
	header->total_size = total;
	header->durable_buffer_size = buffer->durable_words * FXT_WORD_BYTES;
	header->rolling_buffer_size = (uint64_t)buffer->limit / 2 * FXT_CHUNK_BYTES;
	header->table_offset = FXT_MANAGED_HEADER_BYTES;
	header->durable_offset = front_bytes(buffer);
	header->rolling_offset = header->durable_offset + header->durable_buffer_size;
	header->chunk_bytes = FXT_CHUNK_BYTES;
	header->chunk_count = buffer->limit;
	header->counters_offset = (config->prologue_words - config->counters_words) * FXT_WORD_BYTES;
	header->counters_size = config->counters_words * FXT_WORD_BYTES;
}

/* Maps the memory by whole windows, because the child of a fork unmaps or replaces it by windows. Nothing
 * touches the part of the mapping that lies behind the memory's end. */
static int map_memory(struct fxt_buffer *buffer, const struct fxt_buffer_config *config, int fd,
		      uint64_t total)
{
	uint32_t windows = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS, i;
	uint64_t front = total - (uint64_t)buffer->limit * FXT_CHUNK_BYTES;
	uint64_t bytes = front + (uint64_t)windows * FXT_WINDOW_BYTES;
	int error = 0;
	char *base = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, &error);

	if (!base)
		return error;
	fxt_sys_madvise(base, bytes, MADV_DONTDUMP);
	buffer->managed = (struct fxt_managed_header *)base;
	describe(buffer, config, total);
	buffer->states = (fxt_managed_entry *)(base + buffer->managed->table_offset);
	buffer->front_bytes = front_bytes(buffer);
	buffer->durable = (uint64_t *)(base + buffer->managed->durable_offset);
	for (i = 0; i < windows; i++)
		atomic_store_explicit(&buffer->windows[i].base,
				      (uint64_t *)(base + front + (uint64_t)i * FXT_WINDOW_BYTES),
				      memory_order_release);
	fxt_buffer_lay_durable(buffer, config);
	atomic_store_explicit(&buffer->managed->durable_data_end, buffer->durable_at * FXT_WORD_BYTES,
			      memory_order_release);
	buffer->managed->magic = FXT_MANAGED_MAGIC;
	return 0;
}

static const struct fxt_storage_ops managed_ops;

/* Makes tables that are large enough for the file in which the buffer goes on if the manager dies. */
static int make_tables(struct fxt_buffer *buffer)
{
	uint32_t limit = buffer->limit;
	int error;

	buffer->limit = buffer->file_limit;
	error = fxt_buffer_make_tables(buffer);
	buffer->limit = limit;
	return error;
}

int fxt_buffer_connect(struct fxt_buffer *buffer, int connection)
{
	struct stat status;
	int error = fxt_sys_fstat(connection, &status);

	if (error)
		return error;
	buffer->device = status.st_dev;
	buffer->inode = status.st_ino;
	buffer->fd = connection;
	return 0;
}

int fxt_buffer_create_managed(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	uint64_t durable = fxt_buffer_durable_bytes(config), total;
	int fd, error;

	memcpy(buffer->path, config->path, strlen(config->path) + 1);
	buffer->storage.ops = &managed_ops;
	buffer->mode = config->mode;
	buffer->durable_words = durable / FXT_WORD_BYTES;
	buffer->limit = (uint32_t)((config->bytes - durable) / FXT_CHUNK_BYTES) & ~1u;
	buffer->file_limit = buffer->limit;
	if (buffer->mode == FXT_STREAMING && config->file_bytes > config->bytes)
		buffer->file_limit = (uint32_t)((config->file_bytes - durable) / FXT_CHUNK_BYTES);
	atomic_store_explicit(&buffer->extended, buffer->limit, memory_order_relaxed);
	total = front_bytes(buffer) + durable + (uint64_t)buffer->limit * FXT_CHUNK_BYTES;
	error = make_tables(buffer);
	fd = error ? error : make_memory(total);
	if (fd < 0)
		return fd;
	error = map_memory(buffer, config, fd, total);
	if (!error)
		return fd;
	fxt_sys_close(fd);
	return error;
}

void fxt_managed_forget(struct fxt_buffer *buffer)
{
	if (buffer->states)
		fxt_sys_munmap((char *)buffer->states - FXT_MANAGED_HEADER_BYTES, buffer->front_bytes);
}

/* -- Talking to the manager -------------------------------------------------------------------- */

/* Notes that the manager wants nothing any more (-ESHUTDOWN), or is gone (-EPIPE). The caller holds
 * extend_lock. */
static void end_with(struct fxt_buffer *buffer, int error)
{
	if (atomic_load_explicit(&buffer->failure, memory_order_relaxed) != -ESHUTDOWN)
		atomic_store_explicit(&buffer->failure, error, memory_order_relaxed);
}

static bool is_over(const struct fxt_buffer *buffer)
{
	int failure = atomic_load_explicit(&buffer->failure, memory_order_relaxed);

	return failure == -ESHUTDOWN || failure == -EPIPE;
}

/* Reads and handles all packets that the manager has sent. The caller holds extend_lock. */
static void hear_all(struct fxt_buffer *buffer)
{
	struct fxt_packet packet;
	long bytes;

	while (!is_over(buffer)) {
		bytes = fxt_file_is_ours(buffer, buffer->fd)
				? FXT_SYSCALL6(SYS_recvfrom, buffer->fd, &packet, sizeof(packet),
					       MSG_DONTWAIT, NULL, NULL)
				: -EBADF;
		if (bytes == -EAGAIN)
			return;
		if (bytes == -EINTR)
			continue;
		if (bytes != (long)sizeof(packet))
			end_with(buffer, -EPIPE);
		else if (packet.request == FXT_MANAGER_STOP || packet.request == FXT_MANAGER_TERMINATE)
			end_with(buffer, -ESHUTDOWN);
		else if (packet.request == FXT_MANAGER_BUFFER_SAVED && packet.data32 == buffer->saved_wraps)
			buffer->saved_wraps++;
		else if (packet.request == FXT_MANAGER_FULL)
			atomic_store_explicit(&buffer->full_bytes, packet.data64, memory_order_relaxed);
		else if (packet.request == FXT_MANAGER_ALL_SAVED)
			buffer->is_all_saved = true;
	}
}

void fxt_buffer_hear(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint64_t mask;

	if (!buffer->managed ||
	    now_ns - HEAR_NS < atomic_load_explicit(&buffer->heard_ns, memory_order_relaxed) ||
	    is_over(buffer) || fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_TALK) ||
	    !fxt_trylock(&buffer->extend_lock, &mask))
		return;
	if (now_ns != UINT64_MAX)
		atomic_store_explicit(&buffer->heard_ns, now_ns, memory_order_relaxed);
	hear_all(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
}

/* Sends a packet. The socket has room for it, because a request waits until the last one was answered. An
 * alert that finds no room is dropped. */
static void say(struct fxt_buffer *buffer, struct fxt_packet packet)
{
	long bytes;

	do {
		bytes = fxt_file_is_ours(buffer, buffer->fd)
				? FXT_SYSCALL6(SYS_sendto, buffer->fd, &packet, sizeof(packet),
					       MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0)
				: -EBADF;
	} while (bytes == -EINTR);
	if (bytes != (long)sizeof(packet) && !(bytes == -EAGAIN && packet.request == FXT_PROVIDER_ALERT))
		end_with(buffer, -EPIPE);
}

void fxt_buffer_tell(struct fxt_buffer *buffer, struct fxt_packet packet)
{
	uint64_t mask;

	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_TALK))
		return;
	mask = fxt_lock(&buffer->extend_lock);
	say(buffer, packet);
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_mute(struct fxt_buffer *buffer)
{
	if (buffer->managed)
		fxt_buffer_tell(buffer, (struct fxt_packet){FXT_PROVIDER_MUTED, 0, 0, 0});
}

void fxt_buffer_hand_over(struct fxt_buffer *buffer)
{
	/* The program may have put another file in the connection's place: hear_all() notices that. */
	const struct timespec most = {0, 100 * 1000 * 1000};
	struct timespec left;
	struct pollfd poll = {buffer->fd, POLLIN, 0};
	uint64_t mask;
	bool is_done;

	if (!buffer->managed || is_over(buffer) || fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_TALK))
		return;
	buffer->is_all_saved = false;
	fxt_buffer_tell(buffer, (struct fxt_packet){FXT_PROVIDER_ENDING, 0, 0, 0});
	for (;;) {
		mask = fxt_lock(&buffer->extend_lock);
		hear_all(buffer);
		is_done = buffer->is_all_saved || is_over(buffer);
		fxt_unlock(&buffer->extend_lock, mask);
		if (is_done)
			return;
		left = most;
		FXT_SYSCALL5(SYS_ppoll, &poll, 1, &left, NULL, 0);
	}
}

void fxt_managed_saved(struct fxt_buffer *buffer, uint32_t wraps)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);

	if (wraps == buffer->saved_wraps)
		buffer->saved_wraps++;
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_tell_dropped(struct fxt_buffer *buffer, uint64_t records)
{
	if (buffer->managed)
		atomic_store_explicit(&buffer->managed->num_records_dropped, records, memory_order_relaxed);
}

/* -- Handing out chunks ------------------------------------------------------------------------ */

static uint32_t pass_chunks(const struct fxt_buffer *buffer)
{
	return buffer->mode == FXT_STREAMING ? buffer->limit / 2 : buffer->limit;
}

/* Returns whether the next pass may write to its half of the buffer. It may if the manager has said that the
 * half is saved; or, where this process may not talk with the manager, if at least one chunk of the half is
 * free. The caller holds extend_lock. */
static bool is_half_saved(struct fxt_buffer *buffer, uint32_t pass)
{
	uint32_t chunks = buffer->limit / 2, first = ((pass + 1) & 1) * chunks, i;

	if (!fxt_is_forbidden(FXT_NO_TALK)) {
		hear_all(buffer);
		return buffer->saved_wraps == pass && !is_over(buffer);
	}
	for (i = first; i < first + chunks; i++)
		if (fxt_managed_state_of(atomic_load_explicit(&buffer->states[i], memory_order_acquire)) ==
		    FXT_MANAGED_FREE)
			return true;
	return false;
}

/* Begins pass `pass` + 1 of a streaming buffer, and asks the manager to save the half that is full. */
static void begin_pass(struct fxt_buffer *buffer, uint32_t pass)
{
	uint64_t durable = atomic_load_explicit(&buffer->managed->durable_data_end, memory_order_relaxed);

	atomic_store_explicit(&buffer->managed->wrapped_count, pass + 1, memory_order_relaxed);
	atomic_store_explicit(&buffer->cursor, (uint64_t)(pass + 1) << 32, memory_order_release);
	atomic_store_explicit(&buffer->failure, 0, memory_order_relaxed);
	if (fxt_is_forbidden(FXT_NO_TALK))
		buffer->saved_wraps = pass + 1;
	else
		say(buffer, (struct fxt_packet){FXT_PROVIDER_SAVE_BUFFER, 0, pass, durable});
}

/* Ends pass number `pass` of a streaming buffer. Returns false if the next pass cannot begin now. */
static bool turn_over(struct fxt_buffer *buffer, uint32_t pass, uint64_t now_ns)
{
	uint64_t mask;
	bool done = true;

	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&buffer->extend_lock);
	if (atomic_load_explicit(&buffer->cursor, memory_order_relaxed) >> 32 == pass) {
		done = is_half_saved(buffer, pass);
		if (done) {
			begin_pass(buffer, pass);
		} else if (!is_over(buffer)) {
			/* A buffer that is full has no failure: storage.h. */
			atomic_store_explicit(&buffer->failure, buffer->full_bytes ? 0 : -EAGAIN,
					      memory_order_relaxed);
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
	return at >= EARLY_CHUNKS && buffer->mode == FXT_STREAMING &&
	       atomic_load_explicit(&buffer->saved_wraps, memory_order_relaxed) == pass &&
	       !fxt_is_forbidden(FXT_NO_TALK);
}

/* Touches some chunks at once, when the first of them is taken for the first time. */
static void populate(struct fxt_buffer *buffer, uint32_t number)
{
	uint32_t chunks = buffer->limit - number;

	if (number % POPULATE_CHUNKS)
		return;
	fxt_sys_madvise(fxt_buffer_chunk(buffer, number),
			(size_t)(chunks < POPULATE_CHUNKS ? chunks : POPULATE_CHUNKS) * FXT_CHUNK_BYTES,
			MADV_POPULATE_WRITE);
}

/* Makes the chunk the caller's, in a new turn, if it is free. A chunk that `is_oldest`, which the ring has
 * given, may also be full or saved. Returns false otherwise: the thread may have slept for whole passes since
 * it got the chunk's number. The new turn is stored before anything is stored to the chunk, and
 * FXT_MANAGED_HELD after that, so a manager that copies the chunk meanwhile can tell that its copy is bad. */
static bool hand_out(struct fxt_buffer *buffer, uint32_t number, bool is_oldest, struct fxt_chunk *chunk)
{
	struct fxt_chunk_past *past = &buffer->past[number];
	uint32_t entry = atomic_load_explicit(&buffer->states[number], memory_order_acquire);
	enum fxt_managed_state state = fxt_managed_state_of(entry);
	uint32_t turn = (entry >> 8) + 1;

	if ((state != FXT_MANAGED_FREE &&
	     !(is_oldest && (state == FXT_MANAGED_FULL || state == FXT_MANAGED_SAVED))) ||
	    !atomic_compare_exchange_strong(&buffer->states[number], &entry,
					    entry_of(turn, FXT_MANAGED_TAKEN)))
		return false;
	atomic_thread_fence(memory_order_release);
	if (turn == 1)
		populate(buffer, number);
	*chunk = (struct fxt_chunk){.base = fxt_buffer_chunk(buffer, number), .words = FXT_CHUNK_WORDS,
				    .number = number};
	if (state == FXT_MANAGED_FULL) {
		chunk->overwritten = past->events;
		chunk->overwritten_ns = past->last_ns;
	}
	past->events = 0;
	fxt_chunk_empty(chunk->base, FXT_CHUNK_WORDS);
	atomic_store_explicit(&buffer->states[number], entry_of(turn, FXT_MANAGED_HELD),
			      memory_order_release);
	return true;
}

static bool take_now(struct fxt_buffer *buffer, uint64_t now_ns, struct fxt_chunk *chunk)
{
	uint32_t chunks = pass_chunks(buffer), pass, number;
	uint64_t at;
	bool waited;

	while (!is_over(buffer)) {
		at = atomic_load_explicit(&buffer->cursor, memory_order_acquire);
		pass = (uint32_t)(at >> 32);
		if (may_end_early(buffer, pass, (uint32_t)at) && turn_over(buffer, pass, now_ns))
			continue;
		if ((uint32_t)at >= chunks) {
			if (buffer->mode == FXT_STREAMING && turn_over(buffer, pass, now_ns))
				continue;
			if (buffer->mode != FXT_CIRCULAR || !fxt_ring_take(&buffer->ring, &number, &waited))
				return false;
			if (hand_out(buffer, number, true, chunk))
				return true;
			continue;
		}
		if (!atomic_compare_exchange_weak_explicit(&buffer->cursor, &at, at + 1,
							   memory_order_relaxed, memory_order_relaxed))
			continue;
		number = (uint32_t)at + (pass & 1) * chunks;
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
	/* fxt_buffer_leave_manager() waits until no thread is in take_now(), because one that is may not have
	 * seen yet that the manager is gone. */
	atomic_fetch_add(&buffer->takers, 1);
	taken = take_now(buffer, now_ns, chunk);
	atomic_fetch_sub(&buffer->takers, 1);
	if (!taken && (is_over(buffer) || buffer->mode == FXT_ONESHOT))
		atomic_store_explicit(&buffer->retry_ns, now_ns + HEAR_NS, memory_order_relaxed);
	return taken;
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	struct fxt_buffer *buffer = buffer_of(storage);
	uint32_t entry = atomic_load_explicit(&buffer->states[number], memory_order_relaxed);

	buffer->past[number].events = events;
	buffer->past[number].last_ns = last_ns;
	atomic_store_explicit(&buffer->states[number], entry_of(entry >> 8, FXT_MANAGED_FULL),
			      memory_order_release);
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
	buffer->managed->buffering_mode = (uint8_t)mode;
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
	return atomic_load_explicit(&((const struct fxt_buffer *)storage)->failure, memory_order_relaxed);
}

static uint64_t none_before(const struct fxt_storage *storage)
{
	const struct fxt_buffer *buffer = (const struct fxt_buffer *)storage;

	/* The manager may clear the buffer and start again, so it is never full for good. */
	if (buffer->mode == FXT_CIRCULAR && !is_over(buffer))
		return 0;
	return atomic_load_explicit(&buffer->retry_ns, memory_order_relaxed);
}

static const struct fxt_storage_ops managed_ops = {
	.take = take,
	.finish = finish,
	.take_page = fxt_buffer_take_page,
	.return_page = fxt_buffer_return_page,
	.durable = fxt_buffer_durable,
	.retract = fxt_buffer_retract,
	.failure = failure,
	.none_before = none_before,
	.after_fork = fxt_buffer_after_fork,
};
