/* See lock_replay.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_replay.h"

#include <stdlib.h>
#include <string.h>

#include "tools/analysis/gaps.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

/* -- Which events matter ----------------------------------------------------------------------------- */

static void end_at(struct fxt_lock_replay *replay, uint64_t pid, uint64_t ns)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&replay->until_ns, pid, 0, &fresh);

	if (fresh || ns < s->value[0])
		s->value[0] = ns;
}

/* Takes an instant that says that recording has begun or ended while the process ran. */
static void take_gap(struct fxt_lock_replay *replay, const struct fxt_record *rec)
{
	uint64_t pid = replay->r->threads[rec->thread].pid;

	if (fxt_gap_ends(rec))
		end_at(replay, pid, 0);
	else if (fxt_gap_begins(rec))
		end_at(replay, pid, fxt_ns(rec->provider, rec->ticks));
}

static bool is_thread(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_text_is(&rec->category, "pthread") &&
	       fxt_text_is(&rec->name, "thread");
}

/* Refuses events of most categories without decoding them. An event whose category stands in it as text may
 * matter. */
static bool may_matter(void *context, const struct fxt_reader *r, uint64_t offset,
		       const struct fxt_provider *p)
{
	uint64_t header = fxt_word(r, offset), ref = fxt_get_event_category(header);
	struct fxt_text category;

	(void)context;
	if (fxt_get_record_type(header) != FXT_RECORD_EVENT)
		return false;
	if (fxt_get_string_ref_inline(ref))
		return true;
	category = fxt_registered_string(p, (unsigned)ref, offset);
	return category.text && (fxt_text_is(&category, "pthread") || fxt_text_is(&category, "malloc") ||
				 fxt_text_is(&category, "agent"));
}

/* The key of the pass (fxt_order_key). Gaps come into no order, because they have to be known before. */
static bool key_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct fxt_lock_replay *replay = context;
	uint64_t lock;

	if (!rec->known || rec->damaged)
		return false;
	if (rec->subtype == FXT_EVENT_INSTANT)
		take_gap(replay, rec);
	if (!fxt_map_find(&replay->places.processes, replay->r->threads[rec->thread].pid, 0))
		return false;
	if (is_thread(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		return true;
	}
	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE || rec->extra < rec->ticks)
		return false;
	*key_ns = fxt_ns(rec->provider, rec->extra);
	if (fxt_text_is(&rec->category, "malloc"))
		return fxt_lock_places_allocated(&replay->places, replay->r, rec);
	return fxt_lock_call_done(&replay->calls, replay->r, rec,
				  fxt_lock_call(&replay->calls, replay->r, &rec->name), &lock);
}

/* -- Situations -------------------------------------------------------------------------------------- */

/* Returns the place of a lock that the thread holds; NULL if the lock is in no circle. */
static struct fxt_lock_place *place_of(const struct fxt_lock_replay *replay, const struct fxt_taken *taken)
{
	return taken->place ? &replay->places.list[taken->place - 1] : NULL;
}

/* Returns whether the thread does not hold the lock any more, although it did not give it up itself. */
static bool is_over(const struct fxt_lock_replay *replay, const struct fxt_taken *taken)
{
	const struct fxt_lock_place *place = place_of(replay, taken);

	return place && place->turn != taken->turn;
}

/* Fills `held` with the locks that the thread holds besides the one at `address`, and returns how many they
 * are. Sets *is_edge if one of them may be in a circle, and *hash. */
static size_t gather(struct fxt_lock_replay *replay, const struct fxt_lock_stack *stack, uint64_t address,
		     struct fxt_lock_held *held, bool *is_edge, uint64_t *hash)
{
	size_t count = 0;

	*is_edge = false;
	*hash = 0;
	for (size_t i = 0; i < stack->count; i++) {
		const struct fxt_taken *taken = &stack->list[i];
		struct fxt_lock_place *place = place_of(replay, taken);
		uint32_t lock;

		if (taken->address == address || is_over(replay, taken))
			continue;
		lock = place ? fxt_lock_place_lock(&replay->places, place) : FXT_NO_LOCK;
		held[count++] = (struct fxt_lock_held){taken->address, lock, taken->is_shared};
		*is_edge |= place != NULL;
		/* The order on the stack does not matter. */
		*hash += fxt_hash_pair(taken->address, (uint64_t)lock << 1 | taken->is_shared);
	}
	return count;
}

static void see(struct fxt_lock_replay *replay, struct fxt_lock_situation *s, const struct fxt_record *rec,
		uint64_t ns)
{
	uint32_t thread = rec->thread;
	struct fxt_lock_sighting *sighting = s->sightings, *end = sighting + s->sighting_count;

	while (sighting < end && sighting->thread != thread)
		sighting++;
	if (sighting == s->sightings + FXT_LOCK_THREADS_MAX)
		return;
	if (sighting == end)
		s->sighting_count++;
	/* What is not sure is forgotten. */
	if (sighting == end || !fxt_lock_is_sure(replay, sighting))
		*sighting = (struct fxt_lock_sighting){
			.thread = thread, .innermost = FXT_NO_FRAME, .first_ns = ns};
	/* Only calls that took long have one, as a rule. */
	if (sighting->innermost == FXT_NO_FRAME)
		sighting->innermost = fxt_call_stack_of(replay->stacks_of_calls, rec);
	sighting->count++;
}

/* Notes that the thread takes the lock at this place, while it holds what is on its stack. */
static void note(struct fxt_lock_replay *replay, const struct fxt_record *rec,
		 const struct fxt_lock_stack *stack, struct fxt_lock_place *place, bool is_shared)
{
	struct fxt_lock_held held[FXT_LOCK_STACK_MAX];
	uint64_t hash, ns = fxt_ns(rec->provider, rec->extra);
	struct fxt_lock_situation *s;
	struct fxt_slot *slot;
	bool fresh, is_edge;
	uint32_t taken;
	size_t count;

	if (stack->is_lost)
		return;
	count = gather(replay, stack, place->address, held, &is_edge, &hash);
	if (!is_edge)
		return;
	taken = fxt_lock_place_lock(&replay->places, place);
	slot = fxt_map_find(&replay->by_hash, hash, (uint64_t)taken << 1 | is_shared);
	if (slot) {
		see(replay, &replay->situations[slot->value[0]], rec, ns);
		return;
	}
	if (replay->count == FXT_LOCK_NOTED_MAX)
		return;
	fxt_map_put(&replay->by_hash, hash, (uint64_t)taken << 1 | is_shared, &fresh)->value[0] =
		replay->count;
	replay->situations = fxt_grow(replay->situations, &replay->capacity, replay->count + 1, sizeof(*s));
	s = &replay->situations[replay->count++];
	*s = (struct fxt_lock_situation){
		.pid = place->pid,
		.taken = taken,
		.is_shared = is_shared,
		.held = replay->held_count,
		.held_count = (uint8_t)count,
	};
	replay->held = fxt_grow(replay->held, &replay->held_capacity, replay->held_count + count,
				sizeof(*replay->held));
	memcpy(replay->held + replay->held_count, held, count * sizeof(*held));
	replay->held_count += count;
	see(replay, s, rec, ns);
}

/* -- What the calls do ------------------------------------------------------------------------------- */

/* Makes the thread hold the lock at the place, for itself or for reading. */
static void get(struct fxt_lock_replay *replay, struct fxt_lock_place *place, struct fxt_taken *taken,
		uint32_t thread)
{
	if (!place)
		return;
	if (!taken->is_shared) {
		place->turn++;
		place->owner = thread + 1;
	} else if (place->owner) {
		place->turn++;
		place->owner = 0;
	}
	taken->place = (uint32_t)(place - replay->places.list) + 1;
	taken->turn = place->turn;
}

static void take_lock(struct fxt_lock_replay *replay, const struct fxt_record *rec,
		      const struct fxt_lock_call *call, struct fxt_lock_stack *stack,
		      struct fxt_lock_place *place, uint64_t address)
{
	struct fxt_taken *taken = fxt_lock_stack_find(stack, address);

	if (taken && is_over(replay, taken) && call->act != FXT_LOCK_WAITS) {
		fxt_lock_stack_drop(stack, taken);
		taken = NULL;
	}
	if (taken && call->act != FXT_LOCK_WAITS) {
		taken->times++;
		return;
	}
	if (place && stack->count && call->act != FXT_LOCK_TRIES)
		note(replay, rec, stack, place, call->is_shared);
	if (!taken)
		taken = fxt_lock_stack_push(stack, address, call->is_shared);
	if (taken)
		get(replay, place, taken, rec->thread);
}

static void give_up(struct fxt_lock_replay *replay, const struct fxt_record *rec,
		    struct fxt_lock_stack *stack, struct fxt_lock_place *place, uint64_t address)
{
	struct fxt_taken *taken = fxt_lock_stack_find(stack, address);

	if (taken && --taken->times)
		return;
	if (taken) {
		if (place && !is_over(replay, taken))
			place->owner = 0;
		fxt_lock_stack_drop(stack, taken);
		return;
	}
	stack->unsure_ns = fxt_ns(rec->provider, rec->extra);
	if (!place)
		return;
	if (place->owner) {
		place->owner = 0;
		place->turn++;
	} else if (fxt_text_is(&rec->name, "pthread_rwlock_unlock")) {
		/* One of its readers holds it no more, and nobody knows which. */
		place->is_confused = true;
		if (place->lock != FXT_NO_LOCK)
			replay->places.locks[place->lock].is_confused = true;
	}
}

/* Makes the place have the lock that the call is about. */
static void look_at(struct fxt_lock_replay *replay, const struct fxt_record *rec,
		    const struct fxt_lock_call *call, struct fxt_lock_place *place)
{
	const struct fxt_object *known =
		fxt_object_of(replay->objects, replay->r, rec, fxt_lock_argument(rec, call));

	if (place->known != known && (place->known || place->lock != FXT_NO_LOCK))
		fxt_lock_place_renew(place);
	place->known = known;
}

static void take_call(struct fxt_lock_replay *replay, const struct fxt_record *rec)
{
	const struct fxt_lock_call *call = fxt_lock_call(&replay->calls, replay->r, &rec->name);
	struct fxt_lock_stack *stack = fxt_lock_stack_of(&replay->stacks, rec->thread, rec->provider->index);
	struct fxt_lock_place *place;
	uint64_t address;

	if (!fxt_lock_call_done(&replay->calls, replay->r, rec, call, &address))
		return;
	place = fxt_lock_place_at(&replay->places, replay->r->threads[rec->thread].pid, address);
	if (call->act >= FXT_LOCK_MAKES) {
		if (place) {
			fxt_lock_place_renew(place);
			place->is_made = call->act == FXT_LOCK_MAKES;
		}
		return;
	}
	if (call->act == FXT_LOCK_GIVES_UP) {
		give_up(replay, rec, stack, place, address);
		return;
	}
	if (place)
		look_at(replay, rec, call, place);
	take_lock(replay, rec, call, stack, place, address);
}

static bool is_missing_something(const struct fxt_lock_replay *replay, const struct fxt_record *rec)
{
	const struct fxt_slot *s = fxt_map_find(&replay->until_ns, replay->r->threads[rec->thread].pid, 0);

	return s && fxt_ns(rec->provider, fxt_commit_ticks(rec)) >= s->value[0];
}

void fxt_lock_replay(struct fxt_lock_replay *replay, struct fxt_reader *r, const struct fxt_map *places)
{
	struct fxt_order order = {.glance = may_matter};
	struct fxt_record rec;

	replay->r = r;
	fxt_lock_places_begin(&replay->places, places);
	fxt_order_gather(&order, r, key_of, replay);
	while (fxt_order_next(&order, &rec)) {
		if (is_missing_something(replay, &rec))
			continue;
		if (rec.subtype == FXT_EVENT_ASYNC_BEGIN)
			/* Another thread with this number may have ended and held something. */
			fxt_lock_stack_of(&replay->stacks, rec.thread, rec.provider->index)->count = 0;
		else if (fxt_text_is(&rec.category, "malloc"))
			fxt_lock_places_allocate(&replay->places, r, &rec);
		else
			take_call(replay, &rec);
	}
	fxt_order_free(&order);
}

void fxt_lock_replay_free(struct fxt_lock_replay *replay)
{
	fxt_map_free(&replay->until_ns);
	fxt_lock_calls_free(&replay->calls);
	fxt_lock_places_free(&replay->places);
	fxt_lock_stacks_free(&replay->stacks);
	free(replay->situations);
	free(replay->held);
	fxt_map_free(&replay->by_hash);
}
