/* See growing_table.h, and at the end lazy_table.h. The addresses of a whole growing table are set aside
 * (writer/place.h), which the kernel does not know of, and are mapped in steps. The end of each step follows
 * from its begin alone, so threads that need the same step map the same addresses: one of them finds them
 * mapped, and goes on. */
#include "growing_table.h"

#include "lazy_table.h"

enum {
	FIRST_BYTES = 64 << 10,         /* the largest page there is */
	STEP_BYTES = 256 << 10,
	MADVISE_WIPE_ON_FORK = 18,
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns where the step that begins at `from` ends. */
static size_t end_of_step(const struct fxt_growing_table *table, size_t from)
{
	return least(from < STEP_BYTES ? from * 2 : from + STEP_BYTES, table->most_bytes);
}

/* Maps the first step where the whole table has its place, or the whole table somewhere if it has none.
 * Returns the table's memory, or 0. */
static uintptr_t make(struct fxt_growing_table *table)
{
	size_t bytes = least(FIRST_BYTES, table->most_bytes);
	uintptr_t place = fxt_place_set_aside(table->most_bytes), there = 0,
		  made = place ? (uintptr_t)fxt_sys_memory_at(place, bytes) : 0;

	if (!made) {
		if (place)
			fxt_place_give_up(place, table->most_bytes);
		place = 0;
		bytes = table->most_bytes;
		made = (uintptr_t)fxt_sys_memory(bytes);
	}
	if (!made)
		return atomic_load_explicit(&table->memory, memory_order_acquire);
	if (!atomic_compare_exchange_strong(&table->memory, &there, made)) {
		/* This gives up the place of the step, too. */
		fxt_sys_munmap((void *)made, bytes);
		if (place && bytes < table->most_bytes)
			fxt_place_give_up(place + bytes, table->most_bytes - bytes);
		return there;
	}
	there = 0;
	atomic_compare_exchange_strong(&table->bytes, &there, bytes);
	return made;
}

void *fxt_growing_table_grow(struct fxt_growing_table *table, size_t bytes)
{
	uintptr_t memory = atomic_load_explicit(&table->memory, memory_order_acquire);
	size_t from, end, seen;

	if (bytes > table->most_bytes)
		return NULL;
	if (!memory)
		memory = make(table);
	if (!memory)
		return NULL;
	while ((seen = atomic_load_explicit(&table->bytes, memory_order_acquire)) < bytes) {
		/* Nobody has told of the first step yet. */
		from = seen ? seen : least(FIRST_BYTES, table->most_bytes);
		end = seen ? end_of_step(table, from) : from;
		if (seen && !fxt_sys_memory_more(memory, from, end))
			return NULL;
		atomic_compare_exchange_strong(&table->bytes, &seen, end);
	}
	return (void *)memory;
}

/* -- Lazy tables ----------------------------------------------------------------------------------- */

static atomic_bool is_refused;

void *fxt_lazy_table_make(_Atomic(void *) *table, size_t bytes)
{
	void *made = fxt_sys_memory(bytes), *all = NULL;

	/* Kernels before 4.14 do not know this advice. */
	if (made && fxt_sys_madvise(made, bytes, MADVISE_WIPE_ON_FORK))
		atomic_store_explicit(&is_refused, true, memory_order_relaxed);
	if (!made || atomic_compare_exchange_strong(table, &all, made))
		return made;
	fxt_sys_munmap(made, bytes);
	return all;
}

void fxt_lazy_table_empty(_Atomic(void *) *table, size_t bytes)
{
	void *all = atomic_load(table);

	if (all && fxt_sys_madvise(all, bytes, MADV_DONTNEED))
		atomic_store(table, NULL);
}

bool fxt_lazy_tables_stay(void)
{
	return atomic_load_explicit(&is_refused, memory_order_relaxed);
}
