/* Gives a buffer whose manager is gone a file of its own: fxt_buffer_leave_manager(), see buffer.h.
 *
 * The memory becomes a mapping of the file, at the same addresses, while threads go on to write to it. So all
 * that was recorded is in the file from then on, and a process that is killed loses nothing of it. Where the
 * file system may refuse a store to a mapping, the buffer stays in memory. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "apart.h"
#include "buffer.h"

/* Puts fillers in the place of the events that the first `words` words of a chunk have. */
static void empty_events(uint64_t *chunk, size_t words)
{
	size_t at, size;

	for (at = 0; at < words; at += size) {
		size = fxt_get_record_words(chunk[at]);
		if (!size || size > FXT_CHUNK_WORDS - at)
			return;
		if (fxt_get_record_type(chunk[at]) == FXT_RECORD_EVENT)
			atomic_store_explicit((_Atomic uint64_t *)&chunk[at], fxt_filler(size),
					      memory_order_release);
	}
}

/* Sees to it that nobody is handed the chunk by the rules of a managed buffer any more. Nobody waits for
 * threads that are just taking one: such a thread may sleep, and the child of a vfork may have been killed.
 * The state of the chunk decides which comes first. Returns what the entry was before. A thread that has the
 * chunk then keeps it. One that has taken it, and has not emptied it yet, finds that it has got none. */
static uint32_t withdraw(struct fxt_buffer *buffer, uint32_t number)
{
	uint32_t entry = atomic_load(&buffer->states[number]);
	enum fxt_managed_state state, next;

	do {
		state = fxt_managed_state_of(entry);
		if (state == FXT_MANAGED_HELD || state == FXT_MANAGED_PAGES || state == FXT_MANAGED_LEFT)
			break;
		next = state == FXT_MANAGED_FULL ? FXT_MANAGED_LEFT : FXT_MANAGED_FREEING;
	} while (!atomic_compare_exchange_weak(&buffer->states[number], &entry,
					       (entry & ~0xffu) | (uint32_t)next));
	return entry;
}

/* Leaves a chunk out that nobody has: the manager has saved it, it was never used, or it `is_taken` by a
 * thread that gets nothing. A stream does not take it again, and it passes for saved. Otherwise it is
 * emptied, and what was overwritten in a ring's is counted with the next chunk that somebody takes. */
static void leave_out(struct fxt_buffer *buffer, uint32_t number, bool is_taken)
{
	if (buffer->mode == FXT_STREAMING) {
		buffer->past[number].saved_at = FXT_IS_SAVED;
		return;
	}
	fxt_chunk_empty(fxt_buffer_chunk(buffer, number), FXT_CHUNK_WORDS);
	if (is_taken && buffer->mode == FXT_CIRCULAR)
		atomic_fetch_add(&buffer->refused_events, buffer->past[number].events);
	buffer->past[number].events = 0;
}

/* Withdraws all chunks, and leaves out what is in the archive already: whole chunks, and the events that the
 * manager has taken of others. What records behind them need, threads and strings, stays. */
static void withdraw_all(struct fxt_buffer *buffer)
{
	uint32_t pass = atomic_load_explicit(&buffer->header->saved_pass, memory_order_acquire), i, entry;
	enum fxt_managed_state state;
	uint64_t taken;

	atomic_store(&buffer->leaves, true);
	for (i = 0; i < buffer->managed_chunks; i++) {
		entry = withdraw(buffer, i);
		state = fxt_managed_state_of(entry);
		if (state == FXT_MANAGED_PAGES)
			continue;
		if (state != FXT_MANAGED_HELD && state != FXT_MANAGED_FULL && state != FXT_MANAGED_LEFT) {
			leave_out(buffer, i, state == FXT_MANAGED_TAKEN);
			continue;
		}
		taken = atomic_load_explicit(&buffer->taken[i], memory_order_acquire);
		empty_events(fxt_buffer_chunk(buffer, i), fxt_taken_words(taken, entry >> 8, pass));
		buffer->past[i].archived = fxt_taken_events(taken, entry >> 8, pass);
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

static bool count_moved(struct fxt_buffer *buffer)
{
	uint32_t leaving = atomic_load(&buffer->header->leaving);

	return !(leaving & FXT_TAKEN_OVER) && step(buffer, leaving, leaving + (1 << FXT_MOVED_SHIFT));
}

/* Returns whether the word is one to which any thread adds: a count of the whole process. */
static bool is_sum(const struct fxt_buffer *buffer, const uint64_t *at)
{
	size_t counters = buffer->header->counters_offset / FXT_WORD_BYTES;
	size_t count = buffer->header->counters_size / FXT_WORD_BYTES, i = (size_t)(at - buffer->durable);

	return at >= buffer->durable && i >= counters && i < counters + count &&
	       (i - counters) % FXT_COUNTER_WORDS == FXT_COUNTER_SUM;
}

/* Does again what was stored to the old word since it was copied. */
static void store_again(struct fxt_buffer *buffer, uint64_t *at, uint64_t copied, uint64_t old)
{
	if (old == copied)
		return;
	if (is_sum(buffer, at))
		atomic_fetch_add((_Atomic uint64_t *)at, old - copied);
	else
		atomic_compare_exchange_strong((_Atomic uint64_t *)at, &copied, old);
}

/* Puts a mapping of the file in the place of `words` words of the memory, a chunk at most, of which threads
 * may be writing some right now. What the file gets first is a copy. Stores that came after the copy, and
 * before the mapping changed, went to the memory, which is mapped elsewhere too; they are done again in the
 * file, unless the thread has stored there since, and what was added to a sum is added: the last word first,
 * because a record's first word makes it one. `elsewhere` is a place for that mapping, and behind it is room
 * for the copy.
 *
 * A chunk, which `counts`, is one without records in the file at first. It gets all of them by the last
 * store; just before, the header says that the file has them. Until then they are the memory's, for whoever
 * saves that when the process has been killed. */
static int move_part(struct fxt_buffer *buffer, void *elsewhere, uint64_t *at, size_t words, uint64_t offset,
		     bool counts)
{
	uint64_t *copy = (uint64_t *)((char *)elsewhere + FXT_CHUNK_BYTES);
	size_t bytes = words * FXT_WORD_BYTES, i;
	/* With an old size of 0 this makes a second mapping of the memory. */
	long other = FXT_SYSCALL5(SYS_mremap, at, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
	const uint64_t *old = elsewhere;
	int error;

	if (other < 0 && other > -4096)
		return (int)other;
	copy_words(copy, at, words);
	if (counts) {
		copy[0] = fxt_filler(words - 1);
		copy[words - 1] = fxt_filler(1);
	}
	error = fxt_file_write(buffer->fd, offset, copy, bytes);
	if (!error)
		fxt_sys_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer->fd,
			     (off_t)offset, &error);
	for (i = words; !error && i-- > 0;) {
		if (counts && !i && !count_moved(buffer))
			return -ECANCELED;
		store_again(buffer, at + i, copy[i], load(old + i));
	}
	return error;
}

static int move_durable(struct fxt_buffer *buffer, void *elsewhere, size_t at)
{
	size_t words = buffer->durable_words - at < FXT_CHUNK_WORDS ? buffer->durable_words - at
								    : FXT_CHUNK_WORDS;

	return move_part(buffer, elsewhere, buffer->durable + at, words, at * FXT_WORD_BYTES, false);
}

/* Writes the beginning of the durable area without the counts of losses, which go on in the memory until that
 * part of it is the file. */
static int write_beginning(struct fxt_buffer *buffer, uint64_t *copy)
{
	size_t counters = buffer->header->counters_offset / FXT_WORD_BYTES;
	size_t count = buffer->header->counters_size / FXT_WORD_BYTES;
	size_t words = buffer->durable_words < FXT_CHUNK_WORDS ? buffer->durable_words : FXT_CHUNK_WORDS;

	copy_words(copy, buffer->durable, words);
	if (count)
		copy[counters] = fxt_filler(count);
	return fxt_file_write(buffer->fd, 0, copy, words * FXT_WORD_BYTES);
}

/* Makes the durable area, and the chunks that threads have or may get, a mapping of the file. The others of a
 * stream stay what they are, because nobody takes them again. The file gets its name, unless it has one, when
 * it is a trace: what threads record from then on is in chunks that were moved, and the process may be
 * killed. What the header says meanwhile is for whoever saves the memory then. */
static int move_memory(struct fxt_buffer *buffer, bool *nameless)
{
	uint32_t i;
	int error = 0;
	void *elsewhere = fxt_sys_mmap(NULL, (size_t)2 * FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &error);
	size_t at = (buffer->durable_words - 1) / FXT_CHUNK_WORDS * FXT_CHUNK_WORDS;

	if (!step(buffer, FXT_STAYS, FXT_MOVES))
		error = -ECANCELED;
	for (; !error && at; at -= FXT_CHUNK_WORDS)
		error = move_durable(buffer, elsewhere, at);
	if (!error)
		error = write_beginning(buffer, (uint64_t *)((char *)elsewhere + FXT_CHUNK_BYTES));
	if (!error && *nameless) {
		error = fxt_file_publish(buffer->fd, buffer->path);
		*nameless = error;
	}
	if (!error)
		error = move_durable(buffer, elsewhere, 0);
	if (!error && !step(buffer, FXT_MOVES, FXT_HAS_NAME))
		error = -ECANCELED;
	for (i = 0; !error && i < buffer->limit; i++) {
		if (buffer->mode != FXT_STREAMING || buffer->past[i].saved_at != FXT_IS_SAVED)
			error = move_part(buffer, elsewhere, fxt_buffer_chunk(buffer, i), FXT_CHUNK_WORDS,
					  fxt_buffer_chunk_offset(buffer, i), true);
		else if (!count_moved(buffer))
			error = -ECANCELED;
	}
	if (elsewhere)
		fxt_sys_munmap(elsewhere, (size_t)2 * FXT_CHUNK_BYTES);
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
	/* A file that has chunks already stays: what was taken over is the rest. */
	if (error && error != -ECANCELED && !nameless)
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
 * chunks of its last window that do not exist are as good as saved. */
static void become_own(struct fxt_buffer *buffer, uint32_t chunks)
{
	uint32_t i;

	for (i = buffer->limit; i < chunks; i++)
		buffer->past[i].saved_at = FXT_IS_SAVED;
	if (buffer->mode == FXT_STREAMING) {
		atomic_store_explicit(&buffer->cursor, chunks, memory_order_relaxed);
		buffer->limit = buffer->file_limit > chunks && chunks % FXT_WINDOW_CHUNKS == 0
					? buffer->file_limit
					: chunks;
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
	uint32_t whole = (buffer->limit + FXT_WINDOW_CHUNKS - 1) / FXT_WINDOW_CHUNKS * FXT_WINDOW_CHUNKS;

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
