/* This is a storage (writer/storage.h) for the model. The agent calls it from any context.
 *
 * Every chunk and page of slots lies between two pages that nobody may touch, and nobody may write to a
 * finished chunk until it is handed out again. So a store that goes one word too far, or comes too late, is
 * a SIGSEGV in the place that made it. Half of the chunks begin or end up to a cache line inside that,
 * because the interface does not promise that a chunk begins or ends where a line does. In the child of a
 * fork the parent's chunks are gone or are private memory, as the interface allows.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/emit/losses.h"
#include "model.h"

enum {
	PAGES_MAX = 512,
	GUARD = FXT_PAGE_BYTES,
	CHUNK_STRIDE = FXT_CHUNK_BYTES + GUARD,
	PAGE_STRIDE = FXT_PAGE_BYTES + GUARD,
};

struct guarded_chunk {
	enum { UNUSED, HELD, FINISHED } state;
	uint32_t events;
	uint64_t last_ns;
	uint64_t finished_as;           /* the order in which it was finished */
	uint32_t skipped, cut;          /* words in front and at the end that were not handed out */
};

static struct guarded {
	struct fxt_storage storage;     /* what the agent knows of it */
	/* the storage whose durable area is used, because this one has none */
	struct fxt_storage *file;
	char *memory;                   /* the chunks, then the pages */
	size_t bytes;
	struct guarded_chunk *chunk;
	uint32_t chunks, used;
	bool is_ring, is_copied;
	uint64_t finished, random;
	unsigned pages, free_pages;
	/* by the number of a page: a small one ends where a large one would */
	uint32_t words_of_page[PAGES_MAX];
	unsigned free_page[PAGES_MAX];
	struct fxt_lock lock;
} guarded;

static uint64_t *chunk_at(uint32_t number)
{
	return (uint64_t *)(guarded.memory + GUARD + (size_t)number * CHUNK_STRIDE);
}

/* Returns where the chunk began when it was handed out. */
static uint64_t *base_of(uint32_t number)
{
	return chunk_at(number) + guarded.chunk[number].skipped;
}

static size_t words_of(uint32_t number)
{
	return FXT_CHUNK_WORDS - guarded.chunk[number].skipped - guarded.chunk[number].cut;
}

static uint64_t *page_at(unsigned number)
{
	return (uint64_t *)(guarded.memory + GUARD + (size_t)guarded.chunks * CHUNK_STRIDE +
			    (size_t)number * PAGE_STRIDE);
}

/* Returns where the words of a page are. */
static uint64_t *page_base(unsigned number)
{
	return page_at(number) + FXT_PAGE_WORDS - guarded.words_of_page[number];
}

static void protect(void *at, size_t bytes, int protection)
{
	if (mprotect(at, bytes, protection))
		model_fail("storage: cannot protect memory");
}

static void make_memory(void)
{
	guarded.bytes = GUARD + (size_t)guarded.chunks * CHUNK_STRIDE + (size_t)PAGES_MAX * PAGE_STRIDE;
	guarded.memory =
		mmap(NULL, guarded.bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	guarded.chunk = mmap(NULL, guarded.chunks * sizeof(*guarded.chunk), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded.memory == MAP_FAILED || guarded.chunk == MAP_FAILED)
		model_fail("storage: no memory");
	guarded.used = 0;
	guarded.finished = 0;
	guarded.pages = guarded.free_pages = 0;
	fxt_lock_reset(&guarded.lock);
}

/* Stores what a file has in a new chunk. */
static void lay_out(uint64_t *base, size_t words)
{
	size_t i, first = -(uintptr_t)base / FXT_WORD_BYTES % FXT_LINE_WORDS;

	if (guarded.is_copied)
		for (i = first ? first : FXT_LINE_WORDS; i < words - 1; i += FXT_LINE_WORDS)
			base[i] = fxt_filler(words - 1 - i);
	base[words - 1] = fxt_filler(1);
	atomic_store_explicit((_Atomic uint64_t *)base, fxt_filler(words - 1), memory_order_release);
}

/* Chooses a chunk that was never used, or else the ring's oldest one that nobody holds. The caller holds
 * the lock. Returns false if there is none. */
static bool choose(uint32_t *number)
{
	uint32_t i, oldest = guarded.chunks;

	if (guarded.used < guarded.chunks) {
		*number = guarded.used++;
		return true;
	}
	for (i = 0; guarded.is_ring && i < guarded.chunks; i++)
		if (guarded.chunk[i].state == FINISHED &&
		    (oldest == guarded.chunks ||
		     guarded.chunk[i].finished_as < guarded.chunk[oldest].finished_as))
			oldest = i;
	*number = oldest;
	return oldest < guarded.chunks;
}

static bool take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	uint64_t mask = fxt_lock(&guarded.lock);
	uint32_t number;
	bool done = choose(&number);

	(void)storage, (void)now_ns;
	if (done) {
		struct guarded_chunk *it = &guarded.chunk[number];

		*chunk = (struct fxt_chunk){.number = number,
					    .overwritten = it->events,
					    .is_copied = guarded.is_copied};
		fxt_agent_count(FXT_LOSS_OVERWRITTEN, it->events, it->last_ns);
		*it = (struct guarded_chunk){.state = HELD};
		if (model_random(&guarded.random) % 2) {
			it->skipped = (uint32_t)(model_random(&guarded.random) % FXT_LINE_WORDS);
			it->cut = (uint32_t)(model_random(&guarded.random) % FXT_LINE_WORDS);
		}
		chunk->base = base_of(number);
		chunk->words = (uint32_t)words_of(number);
		protect(chunk_at(number), FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE);
		lay_out(chunk->base, chunk->words);
	}
	fxt_unlock(&guarded.lock, mask);
	return done;
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	uint64_t mask = fxt_lock(&guarded.lock);

	(void)storage;
	if (number >= guarded.chunks || guarded.chunk[number].state != HELD)
		model_fail("storage: chunk %u is given back that nobody holds", number);
	guarded.chunk[number].state = FINISHED;
	guarded.chunk[number].events = events;
	guarded.chunk[number].last_ns = last_ns;
	guarded.chunk[number].finished_as = ++guarded.finished;
	protect(chunk_at(number), FXT_CHUNK_BYTES, PROT_READ);
	fxt_unlock(&guarded.lock, mask);
	return 0;
}

static void clear(struct fxt_storage *storage, const struct fxt_chunk *chunk)
{
	(void)storage;
	lay_out(chunk->base, chunk->words);
}

static uint64_t *take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			   struct fxt_chunk *taken)
{
	uint64_t mask = fxt_lock(&guarded.lock), *page = NULL;
	unsigned number = guarded.free_pages ? guarded.free_page[guarded.free_pages - 1] : guarded.pages;

	(void)storage, (void)now_ns;
	*taken = (struct fxt_chunk){0};
	if (number < PAGES_MAX) {
		*(guarded.free_pages ? &guarded.free_pages : &guarded.pages) += guarded.free_pages ? -1u : 1u;
		guarded.words_of_page[number] = words;
		page = page_base(number);
		protect(page_at(number), FXT_PAGE_BYTES, PROT_READ | PROT_WRITE);
		lay_out(page, words);
	}
	fxt_unlock(&guarded.lock, mask);
	return page;
}

static void return_page(struct fxt_storage *storage, uint64_t *page, uint32_t words)
{
	uint64_t mask = fxt_lock(&guarded.lock);
	unsigned number = (unsigned)(((char *)page - (char *)page_at(0)) / PAGE_STRIDE);

	(void)storage;
	if (guarded.words_of_page[number] != words || page != page_base(number))
		model_fail("storage: page %u is given back with %u words", number, (unsigned)words);
	lay_out(page, words);
	protect(page_at(number), FXT_PAGE_BYTES, PROT_READ);
	guarded.free_page[guarded.free_pages++] = number;
	fxt_unlock(&guarded.lock, mask);
}

static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	bool done = fxt_storage_durable(guarded.file, record, words, reserve_words);

	(void)storage;
	/* A handler comes just now, unless the caller has blocked signals. */
	if (model.has_handlers && model_self && model_below(model_self, 8) == 0)
		raise(SIGUSR1);
	return done;
}

/* `at` counts so that the last word of every chunk is FXT_CHUNK_WORDS - 1, also of one that was cut at its
 * end. */
static bool retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record, size_t words,
		    uint64_t last)
{
	uint64_t mask = fxt_lock(&guarded.lock), *there = chunk_at(number) + at - guarded.chunk[number].cut;
	bool done = false, is_finished = guarded.chunk[number].state == FINISHED;

	(void)storage;
	if (!guarded.is_ring && guarded.chunk[number].state != UNUSED) {
		memcpy(record, there, words * FXT_WORD_BYTES);
		done = fxt_is_event_of(record, words, last);
	}
	if (done) {
		if (is_finished)
			protect(chunk_at(number), FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE);
		atomic_store_explicit((_Atomic uint64_t *)there, fxt_filler(words), memory_order_release);
		if (is_finished)
			protect(chunk_at(number), FXT_CHUNK_BYTES, PROT_READ);
	}
	fxt_unlock(&guarded.lock, mask);
	return done;
}

static int failure(const struct fxt_storage *storage)
{
	(void)storage;
	return 0;
}

static uint64_t none_before(const struct fxt_storage *storage)
{
	(void)storage;
	return guarded.is_ring ? 0 : FXT_NEVER;
}

static void pause_never(struct fxt_storage *storage)
{
	(void)storage;
	model_fail("storage: a thread waits");
}

static void after_fork(struct fxt_storage *storage, bool is_interrupted)
{
	(void)storage;
	fxt_storage_after_fork(guarded.file, is_interrupted);
	if (is_interrupted) {
		/* Everything that is mapped for writing stays so. */
		uint32_t i;

		for (i = 0; i < guarded.used; i++)
			if (guarded.chunk[i].state == HELD &&
			    mmap(chunk_at(i), FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
				model_fail("storage: no private memory");
		for (i = 0; i < guarded.pages; i++)
			if (mmap(page_at(i), FXT_PAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
				model_fail("storage: no private memory");
	} else {
		protect(guarded.memory, guarded.bytes, PROT_NONE);
	}
	make_memory();
}

static const struct fxt_storage_ops ops = {
	.take = take,
	.finish = finish,
	.clear = clear,
	.take_page = take_page,
	.return_page = return_page,
	.durable = durable,
	.retract = retract,
	.failure = failure,
	.none_before = none_before,
	.pause = pause_never,
	.after_fork = after_fork,
};

void model_storage_start(struct fxt_storage *storage_of_file, uint32_t chunks, bool is_ring, bool is_copied)
{
	guarded.random = model.seed;
	guarded.storage.ops = &ops;
	guarded.file = storage_of_file;
	guarded.chunks = chunks;
	guarded.is_ring = is_ring;
	guarded.is_copied = is_copied;
	/* Often the threads have to share chunks. */
	guarded.storage.plenty = (uint32_t)(model_random(&guarded.random) % 8);
	make_memory();
	fxt_agent.storage = &guarded.storage;
}

void model_storage_walk(void (*visit)(const uint64_t *words, size_t count))
{
	uint32_t i;

	for (i = 0; i < guarded.used; i++)
		visit(base_of(i), words_of(i));
	for (i = 0; i < guarded.pages; i++)
		visit(page_base(i), guarded.words_of_page[i]);
}
