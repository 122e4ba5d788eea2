/* See lock_places.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_places.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* Compares the place with an address in a process. */
static int compare(const struct fxt_lock_place *place, uint64_t pid, uint64_t address)
{
	if (place->pid != pid)
		return place->pid < pid ? -1 : 1;
	return place->address < address ? -1 : place->address > address;
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct fxt_lock_place *list = context, *y = &list[*(const uint32_t *)b];

	return compare(&list[*(const uint32_t *)a], y->pid, y->address);
}

void fxt_lock_places_begin(struct fxt_lock_places *p, const struct fxt_map *places)
{
	bool fresh;

	p->by_address = places;
	p->list = fxt_alloc(places->used, sizeof(*p->list));
	p->sorted = fxt_alloc(places->used, sizeof(*p->sorted));
	for (const struct fxt_slot *s = fxt_map_next(places, NULL); s; s = fxt_map_next(places, s)) {
		p->list[s->value[0]] =
			(struct fxt_lock_place){.pid = s->a, .address = s->b, .lock = FXT_NO_LOCK};
		p->sorted[p->count] = (uint32_t)p->count;
		p->count++;
		fxt_map_put(&p->processes, s->a, 0, &fresh);
	}
	qsort_r(p->sorted, p->count, sizeof(*p->sorted), by_address, p->list);
}

void fxt_lock_places_free(struct fxt_lock_places *p)
{
	free(p->list);
	free(p->sorted);
	free(p->locks);
	fxt_map_free(&p->processes);
}

void fxt_lock_place_renew(struct fxt_lock_place *place)
{
	*place = (struct fxt_lock_place){.pid = place->pid,
					 .address = place->address,
					 .lock = FXT_NO_LOCK,
					 .turn = place->turn + 1};
}

/* -- Memory ------------------------------------------------------------------------------------------ */

/* Sets *address and *bytes to the memory that a call of category malloc has allocated. */
static bool memory_of(const struct fxt_record *rec, uint64_t *address, uint64_t *bytes)
{
	const struct fxt_argument *got = fxt_argument(rec, "ret");
	uint64_t size = 0;

	/* posix_memalign returns an error number, and has its block among the other arguments. */
	if (fxt_text_is(&rec->name, "posix_memalign"))
		got = fxt_argument(rec, "ptr");
	if (!got || got->type != FXT_ARG_POINTER || !got->u ||
	    !(fxt_argument_u64(fxt_argument(rec, "size"), &size) ||
	      fxt_argument_u64(fxt_argument(rec, "length"), &size) ||
	      fxt_argument_u64(fxt_argument(rec, "new_size"), &size)))
		return false;
	*address = got->u;
	return !__builtin_mul_overflow(size, fxt_argument_or(rec, "nmemb", 1), bytes);
}

/* Returns the number in `sorted` of the first place that is in the memory or behind it. */
static size_t first_in(const struct fxt_lock_places *p, uint64_t pid, uint64_t address)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&p->list[p->sorted[middle]], pid, address) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_in(const struct fxt_lock_places *p, size_t i, uint64_t pid, uint64_t address, uint64_t bytes)
{
	const struct fxt_lock_place *place = i < p->count ? &p->list[p->sorted[i]] : NULL;

	return place && place->pid == pid && place->address >= address && place->address - address < bytes;
}

bool fxt_lock_places_allocated(const struct fxt_lock_places *p, const struct fxt_reader *r,
			       const struct fxt_record *rec)
{
	uint64_t pid = r->threads[rec->thread].pid, address, bytes;

	return fxt_text_is(&rec->category, "malloc") && memory_of(rec, &address, &bytes) &&
	       is_in(p, first_in(p, pid, address), pid, address, bytes);
}

void fxt_lock_places_allocate(struct fxt_lock_places *p, const struct fxt_reader *r,
			      const struct fxt_record *rec)
{
	/* Mappings are for allocators of the program's own, which use them again and again unseen. */
	bool is_block = !fxt_text_is(&rec->name, "mmap") && !fxt_text_is(&rec->name, "mremap");
	uint64_t pid = r->threads[rec->thread].pid, address, bytes;

	if (!memory_of(rec, &address, &bytes))
		return;
	for (size_t i = first_in(p, pid, address); is_in(p, i, pid, address, bytes); i++) {
		if (p->renewals++ >= FXT_LOCK_RENEWALS_MAX)
			return;
		fxt_lock_place_renew(&p->list[p->sorted[i]]);
		p->list[p->sorted[i]].is_in_block = is_block;
	}
}

/* -- Locks ------------------------------------------------------------------------------------------- */

/* Returns whether the lock is a variable of a loaded file. Its name is a symbol then, and otherwise begins
 * with its type: "mutex of pool_create". */
static bool is_variable(const struct fxt_object *known)
{
	const struct fxt_text *name = &known->name, *type = &known->type;

	if (!type->bytes)
		return false;
	return name->bytes <= type->bytes || name->text[type->bytes] != ' ' ||
	       memcmp(name->text, type->text, type->bytes) != 0;
}

uint32_t fxt_lock_place_lock(struct fxt_lock_places *p, struct fxt_lock_place *place)
{
	if (place->lock != FXT_NO_LOCK)
		return place->lock;
	p->locks = fxt_grow(p->locks, &p->lock_capacity, p->lock_count + 1, sizeof(*p->locks));
	p->locks[p->lock_count] = (struct fxt_lock){
		.pid = place->pid,
		.address = place->address,
		.known = place->known,
		.is_certain = place->is_made || place->is_in_block ||
			      (place->known && is_variable(place->known)),
		.is_confused = place->is_confused,
	};
	return place->lock = (uint32_t)p->lock_count++;
}
