/* See grants.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "grants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client.h"
#include "tools/common/memory_limit.h"
#include "tools/common/message.h"
#include "writer/buffer.h"

enum {
	STREAM_SHARE = 16,              /* of what there is, this part is for what is saved meanwhile */
	RING_SHARE = 4,                 /* and this for what is kept in memory */
	MOST_STREAM_BYTES = 64 << 20,
	LEAST_BYTES = 1 << 20,
	FIRST_SHARE = 8,                /* of what is left, this part is for one that has come */
	MOST_FIRST_CHUNKS = 16,         /* but for one that waits for room no more than this */
	LEAST_RING_CHUNKS = 16,         /* of each half: 1 MiB */
	/* A provider that keeps a pace of its own needs no more than this: buffer_managed.c. */
	USUAL_CHUNKS = 32,
};

static const uint64_t IDLE_NS = 1000000000, SLOW_NS = 3000000000;

uint64_t fxt_memory_usual(enum fxt_buffering_mode mode)
{
	uint64_t share = mode == FXT_BUFFERING_STREAMING ? STREAM_SHARE : RING_SHARE,
		 bytes = fxt_memory_there_is() / share;

	if (mode == FXT_BUFFERING_STREAMING && bytes > MOST_STREAM_BYTES)
		bytes = MOST_STREAM_BYTES;
	return bytes > LEAST_BYTES ? bytes : LEAST_BYTES;
}

/* -- Who gets it ------------------------------------------------------------------------------- */

static struct fxt_managed_header *header_of(const struct fxt_client *p)
{
	return (struct fxt_managed_header *)p->memory;
}

static void set(struct fxt_client *p, uint32_t chunks)
{
	p->grant.chunks = chunks;
	if (chunks > p->grant.most_chunks)
		p->grant.most_chunks = chunks;
	atomic_store_explicit(&header_of(p)->granted_chunks, chunks, memory_order_relaxed);
}

/* Returns how many chunks of a rolling buffer are not granted to anybody. */
static uint32_t left(const struct fxt_session *session)
{
	uint64_t most = session->config.memory_bytes / (2 * FXT_CHUNK_BYTES), granted = 0;

	for (size_t i = 0; i < session->count; i++)
		if (session->clients[i]->memory)
			granted += session->clients[i]->grant.chunks;
	return granted < most ? (uint32_t)(most - granted) : 0;
}

/* Returns how many chunks of each half a stream gets at least. Programs that do not wait for room drop what
 * they record while the manager is busy, so they keep the share that they get at first. */
static uint32_t least_chunks(uint32_t first, const struct fxt_session *session)
{
	return session->config.waits && first > FXT_MANAGED_FIRST_CHUNKS ? FXT_MANAGED_FIRST_CHUNKS : first;
}

/* Returns how many chunks of each half a stream gets at first: a share of what is left, because programs
 * begin with much work and the manager may be busy. The memory is theirs only when they use it. */
static uint32_t first_chunks(const struct fxt_client *p, const struct fxt_session *session)
{
	uint32_t half = p->chunks / 2, most = left(session), chunks = most / FIRST_SHARE;

	if (session->config.waits && chunks > MOST_FIRST_CHUNKS)
		chunks = MOST_FIRST_CHUNKS;
	if (most < FXT_MANAGED_FIRST_CHUNKS)
		chunks = FXT_MANAGED_LEAST_CHUNKS;
	else if (chunks < FXT_MANAGED_FIRST_CHUNKS)
		chunks = FXT_MANAGED_FIRST_CHUNKS;
	return chunks < half ? chunks : half;
}

/* Returns how many chunks of each half a ring gets: what was asked for, but at most half of what is left, so
 * that there is something for those that come later. */
static uint32_t ring_chunks(const struct fxt_client *p, const struct fxt_session *session)
{
	uint32_t half = p->chunks / 2, chunks = left(session) / 2;

	if (chunks < LEAST_RING_CHUNKS)
		chunks = LEAST_RING_CHUNKS;
	return chunks < half ? chunks : half;
}

void fxt_memory_begin(struct fxt_client *p, const struct fxt_session *session)
{
	bool streams = session->config.mode == FXT_BUFFERING_STREAMING;
	uint32_t first = streams ? first_chunks(p, session) : ring_chunks(p, session);

	p->grant = (struct fxt_client_grant){.saved_ns = fxt_now_ns(), .wanted_ns = fxt_now_ns()};
	p->grant.least_chunks = streams ? least_chunks(first, session) : first;
	/* Of the members that the header has in addition to Fuchsia's, this one is never 0 in our agent's. */
	p->grant.knows = atomic_load_explicit(&header_of(p)->outlives_connection, memory_order_relaxed);
	set(p, first);
}

void fxt_memory_grant(struct fxt_client *p, struct fxt_session *session)
{
	uint32_t wanted = atomic_exchange(&header_of(p)->wanted_chunks, 0), more, room;

	p->grant.saved_ns = fxt_now_ns();
	if (wanted > p->chunks / 2)
		wanted = p->chunks / 2;
	if (wanted <= p->grant.chunks || !p->grant.chunks)
		return;
	p->grant.wanted_ns = p->grant.saved_ns;
	more = wanted - p->grant.chunks;
	room = left(session);
	set(p, p->grant.chunks + (more < room ? more : room));
}

/* Frees the memory of a chunk that nobody has. */
static void free_chunk(struct fxt_client *p, uint32_t number)
{
	uint32_t entry = atomic_load_explicit(&p->table[number], memory_order_acquire);
	uint32_t turn = entry & ~0xffu;

	if (!turn || fxt_managed_state_of(entry) != FXT_MANAGED_FREE ||
	    !atomic_compare_exchange_strong(&p->table[number], &entry, turn | FXT_MANAGED_FREEING))
		return;
	madvise(p->memory + p->rolling_offset + (uint64_t)number * FXT_CHUNK_BYTES, FXT_CHUNK_BYTES,
		MADV_REMOVE);
	atomic_store_explicit(&p->table[number], turn | FXT_MANAGED_EMPTY, memory_order_release);
}

/* Frees what lies behind so many chunks of each half. A chunk that a thread still has is looked at again
 * later. */
static void free_rest(struct fxt_client *p, uint32_t chunks)
{
	uint32_t half = p->chunks / 2, most = p->grant.most_chunks, i;
	bool any = false;

	for (i = chunks; i < most && p->grant.knows; i++) {
		free_chunk(p, i);
		free_chunk(p, half + i);
		any |= fxt_managed_state_of(atomic_load(&p->table[i])) != FXT_MANAGED_EMPTY ||
		       fxt_managed_state_of(atomic_load(&p->table[half + i])) != FXT_MANAGED_EMPTY;
	}
	if (!any)
		p->grant.most_chunks = p->grant.chunks;
}

/* Returns the fewest chunks of each half among which the provider finds `least` that have no pages of calls
 * in progress. Threads keep those as long as they live. */
static uint32_t beside_pages(const struct fxt_client *p, uint32_t least)
{
	uint32_t half = p->chunks / 2, found[2] = {0}, chunks;

	for (chunks = 0; chunks < p->grant.chunks && (found[0] < least || found[1] < least); chunks++)
		for (uint32_t i = 0; i < 2; i++)
			found[i] += fxt_managed_state_of(atomic_load(&p->table[i * half + chunks])) !=
				    FXT_MANAGED_PAGES;
	return chunks;
}

void fxt_memory_take_back(struct fxt_session *session, uint64_t now_ns)
{
	for (size_t i = 0; i < session->count; i++) {
		struct fxt_client *p = session->clients[i];
		bool is_idle = now_ns - p->grant.saved_ns > IDLE_NS;
		bool is_slow = now_ns - p->grant.wanted_ns > SLOW_NS;

		if (!p->memory || session->config.mode != FXT_BUFFERING_STREAMING)
			continue;
		if (is_idle && p->grant.chunks > p->grant.least_chunks)
			set(p, beside_pages(p, p->grant.least_chunks));
		else if (is_slow && p->grant.chunks > USUAL_CHUNKS && p->grant.chunks > p->grant.least_chunks)
			set(p, beside_pages(p, p->grant.least_chunks > USUAL_CHUNKS ? p->grant.least_chunks
										    : USUAL_CHUNKS));
		if (is_idle)
			free_rest(p, FXT_MANAGED_FIRST_CHUNKS);
		else if (is_slow)
			free_rest(p, p->grant.chunks > USUAL_CHUNKS ? USUAL_CHUNKS : p->grant.chunks);
	}
}
