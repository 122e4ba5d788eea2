/* See client.h. Maps the memory that a provider shares, after a look at its seals and its header. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "client_parts.h"
#include "heir.h"
#include "tools/common/message.h"
#include "writer/buffer.h"

/* Returns whether `bytes` bytes from `offset` on lie within `size`. */
static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* Copies the sizes and offsets out of the header, and returns whether they are those of a memory of this
 * size. */
static bool read_header(struct fxt_client *p)
{
	struct fxt_managed_header h;
	uint64_t rolling;

	memcpy(&h, p->memory, sizeof(h));
	if (h.magic != FXT_MANAGED_MAGIC || h.version != FXT_MANAGED_VERSION || h.total_size != p->bytes ||
	    h.chunk_bytes != FXT_CHUNK_BYTES || h.chunk_count % 2 ||
	    h.chunk_count < 2 || h.chunk_count > FXT_RING_MAX_CHUNKS)
		return false;
	rolling = (uint64_t)h.chunk_count * FXT_CHUNK_BYTES;
	p->chunks = h.chunk_count;
	p->durable_offset = h.durable_offset;
	p->durable_bytes = h.durable_buffer_size;
	p->rolling_offset = h.rolling_offset;
	p->counters_offset = h.counters_offset;
	p->counters_bytes = h.counters_size;
	p->table = (fxt_managed_entry *)(p->memory + h.table_offset);
	p->taken = h.taken_offset ? (fxt_taken_entry *)(p->memory + h.taken_offset) : NULL;
	return h.rolling_buffer_size == rolling / 2 && h.durable_buffer_size <= FXT_DURABLE_MAX_BYTES &&
	       h.table_offset >= sizeof(h) && h.durable_offset >= sizeof(h) &&
	       h.rolling_offset >= sizeof(h) && (!p->taken || h.taken_offset >= sizeof(h)) &&
	       (h.taken_offset | h.table_offset | h.durable_offset | h.rolling_offset |
		h.durable_buffer_size) % FXT_WORD_BYTES == 0 &&
	       (h.counters_offset | h.counters_size) % FXT_WORD_BYTES == 0 &&
	       lies_within(h.table_offset, h.chunk_count * sizeof(fxt_managed_entry), p->bytes) &&
	       (!p->taken ||
		lies_within(h.taken_offset, h.chunk_count * sizeof(fxt_taken_entry), p->bytes)) &&
	       lies_within(h.durable_offset, h.durable_buffer_size, p->bytes) &&
	       lies_within(h.rolling_offset, rolling, p->bytes) &&
	       lies_within(h.counters_offset, h.counters_size, h.durable_buffer_size);
}

/* Returns how large a provider's memory may be. The child of one of an earlier session may come when there is
 * none, and where the size is the provider's choice it may be anything. */
static uint64_t most_bytes(const struct fxt_client *p, const struct fxt_session *session)
{
	const uint64_t most = UINT64_C(5) << 30;
	uint64_t wanted = 0;

	if (session->state != FXT_SESSION_READY)
		wanted = fxt_session_buffer_bytes(session, p->name);

	return wanted ? 2 * wanted + (4 << 20) : most;
}

/* Finds what an earlier manager has saved of the memory. */
static void find_saved(struct fxt_client *p)
{
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	uint32_t pass = atomic_load_explicit(&header->saved_pass, memory_order_acquire);

	for (uint32_t i = 0; i < p->chunks && p->taken; i++) {
		uint32_t entry = atomic_load_explicit(&p->table[i], memory_order_acquire);
		uint64_t taken = atomic_load_explicit(&p->taken[i], memory_order_acquire);

		p->saved[i].turn = fxt_client_turn(entry);
		p->saved[i].words = fxt_taken_words(taken, fxt_managed_turn(entry, taken), pass);
		if (p->saved[i].words > FXT_CHUNK_WORDS)
			p->saved[i].words = 0;
		/* What defines the rest is in another file. */
		p->saved[i].file = UINT32_MAX;
	}
}

const char *fxt_client_map(struct fxt_client *p, const struct fxt_session *session, int fd, uint64_t bytes)
{
	struct stat status;
	struct statfs system;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);

	/* Without these seals an access to the memory could fail, by SIGBUS, and so could one to huge pages,
	 * of which there may be none left. */
	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW) ||
	    fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
		return "its memory is not sealed";
	if (fstat(fd, &status) != 0)
		return "its memory has no size";
	if (!bytes)
		bytes = (uint64_t)status.st_size;
	if ((uint64_t)status.st_size != bytes ||
	    bytes < sizeof(struct fxt_managed_header) ||
	    bytes > most_bytes(p, session))
		return "its memory has not the size that it should have";
	p->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return "its memory cannot be mapped";
	}
	p->bytes = bytes;
	if (!read_header(p)) {
		munmap(p->memory, p->bytes);
		p->memory = NULL;
		return "the header of its memory is wrong";
	}
	p->saved = fxt_alloc(p->chunks, sizeof(*p->saved));
	find_saved(p);
	fxt_memory_begin(p, session);
	return NULL;
}
