/* Gives a buffer whose manager is gone a file of its own: fxt_buffer_leave_manager(), see buffer.h.
 *
 * The memory becomes a mapping of the file, at the same addresses, while threads go on to write to it. So all
 * that was recorded is in the file from then on, and a process that is killed loses nothing of it. Where the
 * file system may refuse a store to a mapping, the buffer stays in memory. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "apart.h"
#include "buffer_managed.h"

/* Puts fillers in the place of the events that the first `words` words of a chunk have. */
static void empty_events(uint64_t *chunk, size_t words)
{
	size_t at, size;

	for (at = 0; at < words && at < FXT_GIVEN_UP_AT; at += size) {
		uint64_t header = atomic_load_explicit((_Atomic uint64_t *)&chunk[at], memory_order_acquire);

		size = fxt_get_record_words(header);
		if (!size || size > FXT_CHUNK_WORDS - at)
			return;
		/* A thread may just be giving the chunk up, by its first word. */
		if (fxt_get_record_type(header) == FXT_RECORD_EVENT)
			atomic_compare_exchange_strong((_Atomic uint64_t *)&chunk[at], &header,
						       fxt_filler(size));
	}
}

/* Sees to it that nobody is handed the chunk by the rules of a managed buffer any more. Nobody waits for
 * threads that are just taking one: such a thread may sleep, and the child of a vfork may have been killed.
 * The state of the chunk decides which comes first. Returns what the entry was before. A thread that has the
 * chunk then keeps it. One that has taken it, and has not emptied it yet, finds that it has got none. If it
 * has taken the oldest chunk of a ring, it gives that up all the same, and until then the chunk is full. */
static uint32_t withdraw(struct fxt_buffer *buffer, uint32_t number, uint32_t pass)
{
	uint32_t entry = atomic_load(&buffer->states[number]);
	enum fxt_managed_state state, next;
	uint64_t taken;

	do {
		state = fxt_managed_state_of(entry);
		if (state == FXT_MANAGED_HELD || state == FXT_MANAGED_PAGES || state == FXT_MANAGED_LEFT)
			break;
		next = state == FXT_MANAGED_FULL || state == FXT_MANAGED_OLDEST ? FXT_MANAGED_LEFT
										: FXT_MANAGED_FREEING;
		if (state == FXT_MANAGED_OLDEST) {
			taken = atomic_load_explicit(&buffer->taken[number], memory_order_acquire);
			buffer->past[number].archived =
				fxt_taken_events(taken, fxt_taken_unpack(taken).turn, pass);
		}
	} while (!atomic_compare_exchange_weak(&buffer->states[number], &entry,
					       (entry & ~0xffu) | (uint32_t)next));
	return entry;
}

/* Leaves a chunk out of which nobody needs anything: the manager has saved it, or it was never used. A thread
 * that has taken it gets nothing. A stream does not take it again, and it passes for saved. */
static void leave_out(struct fxt_buffer *buffer, uint32_t number)
{
	if (buffer->mode == FXT_STREAMING) {
		buffer->past[number].saved_at = FXT_IS_SAVED;
		return;
	}
	fxt_chunk_empty(fxt_buffer_chunk(buffer, number), FXT_CHUNK_WORDS);
	buffer->past[number].events = 0;
}

/* Withdraws all chunks, and leaves out what is in the archive already: whole chunks, and the events that the
 * manager has taken of others. What records behind them need, threads and strings, stays. */
static void withdraw_all(struct fxt_buffer *buffer)
{
	uint32_t pass = atomic_load_explicit(&buffer->header->saved_pass, memory_order_acquire);
	uint32_t i, entry, turn;
	enum fxt_managed_state state;
	uint64_t taken;

	atomic_store(&buffer->leaves, true);
	fxt_managed_count_taken_in_vain(buffer);
	for (i = 0; i < buffer->managed_chunks; i++) {
		entry = withdraw(buffer, i, pass);
		state = fxt_managed_state_of(entry);
		if (state == FXT_MANAGED_PAGES)
			continue;
		if (state != FXT_MANAGED_HELD && state != FXT_MANAGED_OLDEST && !fxt_managed_is_full(state)) {
			leave_out(buffer, i);
			continue;
		}
		taken = atomic_load_explicit(&buffer->taken[i], memory_order_acquire);
		turn = fxt_managed_turn(entry, taken);
		empty_events(fxt_buffer_chunk(buffer, i), fxt_taken_words(taken, turn, pass));
		if (state != FXT_MANAGED_OLDEST)
			buffer->past[i].archived = fxt_taken_events(taken, turn, pass);
	}
}

/* Lets the chunks be handed out again, because there can be no file. */
static void give_all_back(struct fxt_buffer *buffer)
{
	uint32_t i, entry;
	enum fxt_managed_state state, next;

	for (i = 0; i < buffer->managed_chunks; i++) {
		entry = atomic_load(&buffer->states[i]);
		state = fxt_managed_state_of(entry);
		next = state == FXT_MANAGED_LEFT ? FXT_MANAGED_FULL : FXT_MANAGED_FREE;
		if (state == FXT_MANAGED_LEFT || state == FXT_MANAGED_FREEING)
			atomic_store(&buffer->states[i], (entry & ~0xffu) | (uint32_t)next);
	}
	atomic_store(&buffer->leaves, false);
}

static uint64_t load(const uint64_t *at)
{
	return atomic_load_explicit((const _Atomic uint64_t *)at, memory_order_relaxed);
}

/* Copies words that threads may store to meanwhile. */
static void copy_words(uint64_t *to, const uint64_t *from, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
		to[i] = load(from + i);
}

/* Goes on from one step of leaving to the next. Returns false if somebody else has taken the rest over,
 * because the process was killed, and this helper of it was not. */
static bool step(struct fxt_buffer *buffer, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&buffer->header->leaving, &from, to);
}

static bool moves(struct fxt_buffer *buffer, uint32_t number)
{
	return fxt_moving_has(atomic_load(&buffer->states[number]), (enum fxt_buffering_mode)buffer->mode);
}

/* Where the memory is mapped while something else takes its place, and room for a copy behind it. */
struct elsewhere {
	uint64_t memory[FXT_CHUNK_WORDS], copy[FXT_CHUNK_WORDS];
};

/* Puts a mapping of the file in the place of `bytes` of the memory, to which threads may be storing. The
 * first chunk of these is mapped elsewhere from then on. */
static int turn_to_file(struct fxt_buffer *buffer, struct elsewhere *elsewhere, uint64_t *at, size_t bytes,
			uint64_t offset)
{
	/* With an old size of 0 this makes a second mapping of the memory. */
	long other = FXT_SYSCALL5(SYS_mremap, at, 0, FXT_CHUNK_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
				  elsewhere->memory);
	int error = 0;

	if (other < 0 && other > -4096)
		return (int)other;
	fxt_sys_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer->fd, (off_t)offset,
		     &error);
	return error;
}

/* Moves a chunk of records. The first word comes last, because readers see the others by it. */
static int move_chunk(struct fxt_buffer *buffer, struct elsewhere *elsewhere, uint32_t number)
{
	uint64_t *at = fxt_buffer_chunk(buffer, number), moving;
	int error = turn_to_file(buffer, elsewhere, at, FXT_CHUNK_BYTES,
				 fxt_buffer_chunk_offset(buffer, number));
	size_t i;

	for (i = FXT_CHUNK_WORDS - 1; !error && i-- > 0;) {
		moving = FXT_MOVING;
		atomic_compare_exchange_strong((_Atomic uint64_t *)&at[i], &moving,
					       load(&elsewhere->memory[i]));
	}
	return error;
}

/* Moves a chunk of pages. Threads read these words as well, so the file has a copy before it is mapped. What
 * was stored to the memory in between is stored again, unless a thread has stored there since. If the process
 * is killed before the first word is there, the memory's pages count. */
static int move_pages(struct fxt_buffer *buffer, struct elsewhere *elsewhere, uint32_t number)
{
	uint64_t *at = fxt_buffer_chunk(buffer, number), offset = fxt_buffer_chunk_offset(buffer, number);
	size_t i;
	int error;

	copy_words(elsewhere->copy, at, FXT_CHUNK_WORDS);
	elsewhere->copy[0] = FXT_MOVING;
	error = fxt_file_write(buffer->fd, offset, elsewhere->copy, FXT_CHUNK_BYTES);
	if (!error)
		error = turn_to_file(buffer, elsewhere, at, FXT_CHUNK_BYTES, offset);
	for (i = FXT_CHUNK_WORDS; !error && i-- > 0;)
		atomic_compare_exchange_strong((_Atomic uint64_t *)&at[i], &elsewhere->copy[i],
					       load(&elsewhere->memory[i]));
	return error;
}

/* Moves the durable area, to which nobody can append meanwhile: the file has it already, but for the counts
 * of losses, to which threads add at any time. */
static int move_durable(struct fxt_buffer *buffer, struct elsewhere *elsewhere)
{
	size_t counters = buffer->header->counters_offset / FXT_WORD_BYTES;
	size_t i = buffer->header->counters_size / FXT_WORD_BYTES;
	size_t bytes = buffer->durable_words * FXT_WORD_BYTES;
	int error = turn_to_file(buffer, elsewhere, buffer->durable, bytes, 0);

	while (!error && i-- > 0) {
		_Atomic uint64_t *at = (_Atomic uint64_t *)&buffer->durable[counters + i];
		uint64_t word = atomic_load(at), memory = load(&elsewhere->memory[counters + i]);

		while (!atomic_compare_exchange_weak(at, &word, fxt_moving_count(i, word, memory)))
			;
	}
	return error;
}

/* Writes the durable area to the file, with open words for the counts of losses, and for each chunk that is
 * to move. */
static int write_file(struct fxt_buffer *buffer, uint64_t *copy)
{
	size_t counters = buffer->header->counters_offset / FXT_WORD_BYTES, i;
	size_t count = buffer->header->counters_size / FXT_WORD_BYTES;
	uint32_t number;
	int error;

	copy_words(copy, buffer->durable, FXT_CHUNK_WORDS);
	for (i = 0; i < count; i++)
		copy[counters + i] = fxt_moving_open_count(i);
	error = fxt_file_write(buffer->fd, FXT_CHUNK_BYTES, buffer->durable + FXT_CHUNK_WORDS,
			       buffer->durable_words * FXT_WORD_BYTES - FXT_CHUNK_BYTES);
	if (!error)
		error = fxt_file_write(buffer->fd, 0, copy, FXT_CHUNK_BYTES);
	for (i = 0; i < FXT_CHUNK_WORDS - 1; i++)
		copy[i] = FXT_MOVING;
	copy[i] = fxt_filler(1);
	for (number = 0; !error && number < buffer->limit; number++)
		if (moves(buffer, number))
			error = fxt_file_write(buffer->fd, fxt_buffer_chunk_offset(buffer, number), copy,
					       FXT_CHUNK_BYTES);
	return error;
}

/* Says in the header which file it is, for whoever goes on when this process was killed. */
static void tell_file(struct fxt_buffer *buffer)
{
	struct fxt_managed_header *header = buffer->header;
	size_t bytes = strlen(buffer->path) + 1;

	header->file_device = buffer->device;
	header->file_inode = buffer->inode;
	if (bytes <= sizeof(header->file_path))
		memcpy(header->file_path, buffer->path, bytes);
}

/* Makes the durable area, and the chunks that threads have or may get, a mapping of the file. The others of a
 * stream stay what they are, because nobody takes them again. First the file is made a trace without records,
 * and gets its name, unless it has one. From the step to FXT_MOVES on it counts. */
static int move_memory(struct fxt_buffer *buffer, bool *nameless)
{
	uint32_t i;
	int error = 0;
	struct elsewhere *elsewhere =
		fxt_sys_mmap(NULL, sizeof(*elsewhere), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &error);

	if (!error)
		error = write_file(buffer, elsewhere->copy);
	if (!error && *nameless) {
		error = fxt_file_publish(buffer->fd, buffer->path);
		*nameless = error;
	}
	if (!error)
		tell_file(buffer);
	if (!error && !step(buffer, FXT_STAYS, FXT_MOVES))
		error = -ECANCELED;
	if (!error)
		error = move_durable(buffer, elsewhere);
	for (i = 0; !error && i < buffer->limit; i++) {
		if (!moves(buffer, i))
			continue;
		error = fxt_managed_state_of(atomic_load(&buffer->states[i])) == FXT_MANAGED_PAGES
				? move_pages(buffer, elsewhere, i)
				: move_chunk(buffer, elsewhere, i);
	}
	if (elsewhere)
		fxt_sys_munmap(elsewhere, sizeof(*elsewhere));
	fxt_sys_madvise(buffer->durable, buffer->durable_words * FXT_WORD_BYTES, MADV_DONTDUMP);
	return error;
}

/* Makes the file as large as what is in memory, moves that there, and gives the file a name. */
static int make_file(struct fxt_buffer *buffer, uint32_t chunks)
{
	struct stat status;
	bool nameless;
	int fd = fxt_file_open(buffer->path, &nameless), error;

	if (fd < 0)
		return fd;
	if (fxt_opens_here()) {
		fxt_file_take(buffer, fd);
		fd = buffer->fd;
	}
	error = fxt_sys_fstat(fd, &status);
	if (!error)
		error = fxt_file_append_pages(fd, 0, (unsigned)(buffer->durable_words / FXT_PAGE_WORDS) +
						     chunks * FXT_CHUNK_PAGES);
	if (!error) {
		buffer->fd = fd;
		buffer->device = status.st_dev;
		buffer->inode = status.st_ino;
		buffer->in_memory = !fxt_file_promises(fd);
		error = buffer->in_memory ? fxt_buffer_save_new(buffer)
					  : move_memory(buffer, &nameless);
	}
	if (!error && nameless)
		error = fxt_file_publish(fd, buffer->path);
	if (error && !nameless && atomic_load(&buffer->header->leaving) != FXT_MOVES)
		fxt_sys_unlink(buffer->path);
	if (error) {
		fxt_sys_close(fd);
		buffer->fd = -1;
	}
	return error;
}

struct leaving {
	struct fxt_buffer *buffer;
	uint32_t chunks;
};

static long make_file_apart(void *argument)
{
	const struct leaving *leaving = argument;

	return make_file(leaving->buffer, leaving->chunks);
}

/* Makes this a buffer that the file has up to chunk `chunks`. A stream goes on with further windows; those
 * chunks of its last window that do not exist are as good as saved. What did not move is a hole in the file,
 * so it takes nothing of the file's size. */
static void become_own(struct fxt_buffer *buffer, uint32_t chunks)
{
	uint32_t moved = 0, i;

	for (i = 0; i < buffer->limit; i++)
		moved += moves(buffer, i);
	for (; i < chunks; i++)
		buffer->past[i].saved_at = FXT_IS_SAVED;
	if (buffer->mode == FXT_STREAMING) {
		atomic_store_explicit(&buffer->cursor, chunks, memory_order_relaxed);
		buffer->limit = chunks;
		if (buffer->file_chunks > moved && chunks % FXT_WINDOW_CHUNKS == 0)
			buffer->limit += buffer->file_chunks - moved;
	}
	atomic_store_explicit(&buffer->extended, chunks, memory_order_relaxed);
	atomic_store_explicit(&buffer->retry_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&buffer->header->leaving, FXT_HAS_LEFT, memory_order_release);
	buffer->storage.ops = &fxt_buffer_ops;
	atomic_store(&buffer->managed, false);
	/* This comes last, because a thread that finds no failure goes on as the kind of the buffer says. */
	atomic_store(&buffer->failure, 0);
}

/* Returns how many chunks the file has at first: whole windows if it can go on in further ones, and otherwise
 * those of the memory. */
static uint32_t first_chunks(const struct fxt_buffer *buffer)
{
	uint32_t whole = fxt_whole_windows(buffer->limit);

	if (buffer->mode != FXT_STREAMING || fxt_sys_is_past_limit(fxt_buffer_chunk_offset(buffer, whole)))
		return buffer->limit;
	return whole;
}

int fxt_buffer_leave_manager(struct fxt_buffer *buffer, const char *path)
{
	struct leaving leaving = {buffer, buffer->limit};
	uint64_t extend, durable;
	int error;

	extend = fxt_lock(&buffer->extend_lock);
	if (fxt_file_is_ours(buffer, buffer->fd))
		fxt_sys_close(buffer->fd);
	buffer->fd = -1;
	memcpy(buffer->path, path, strlen(path) + 1);
	leaving.chunks = first_chunks(buffer);
	durable = fxt_lock(&buffer->durable_lock);
	fxt_buffer_lay_regions(buffer);
	withdraw_all(buffer);
	if (fxt_opens_here())
		error = make_file(buffer, leaving.chunks);
	else
		error = (int)fxt_apart_always(make_file_apart, &leaving);
	if (!error) {
		/* The descriptor was closed with the task's table. */
		if (!fxt_opens_here())
			buffer->fd = -1;
		become_own(buffer, leaving.chunks);
		fxt_file_settle(buffer);
	} else if (atomic_load(&buffer->header->leaving) == FXT_STAYS) {
		/* No file can be made. The memory gets what it has room for, and may be saved in the end. */
		give_all_back(buffer);
		buffer->is_kept = true;
		atomic_store_explicit(&buffer->failure, 0, memory_order_relaxed);
	}
	fxt_unlock(&buffer->durable_lock, durable);
	fxt_unlock(&buffer->extend_lock, extend);
	return error || !buffer->in_memory ? error : fxt_buffer_save(buffer);
}
