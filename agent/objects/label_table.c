/* See label_table.h. The table is made when there is the first object. An object stays in it until it is
 * destroyed, and keeps its place until another one needs that. A lock that is made at the same address by
 * the same code is then the same again, and nothing has to be told. If a bucket is full of living objects,
 * the next one has no name: an object that was forgotten would be looked up again at its next use. */
#include "label_table.h"

#include "agent/base/lazy_table.h"
#include "agent/emit/function.h"

enum { BUCKETS = 1024, WAYS = 8 };

/* The counts say where objects live. There is a count of 16 bits for each KiB of memory, which all KiB that
 * are a multiple of 128 MiB apart share. A call that frees 100 KiB without an object sees that in 25 words.
 * The counts fit, because the table holds 8192 objects. All objects of a unit of 32 bytes (their alignment is
 * 4 at least) are in one bucket, so a KiB with objects is 32 buckets to look at. All buckets together cost no
 * more than 32 such KiB, or than the counts of 32 MiB. So all are looked at for more memory than that, or for
 * memory with more such KiB. */
enum {
	UNIT_BYTES = 32,
	AREA_BYTES = 1024,
	AREAS = 1 << 17,
	COUNT_BITS = 16,
	COUNTS = 64 / COUNT_BITS,       /* counts in a word */
	AREAS_MANY = 1 << 15,
	AREAS_WITH_OBJECTS_MANY = BUCKETS * UNIT_BYTES / AREA_BYTES,
};

static_assert(BUCKETS * WAYS < 1 << (COUNT_BITS - 1), "no count runs into the next");

struct table {
	_Atomic uintptr_t keys[BUCKETS][WAYS];  /* 0: the place is free, or is changing */
	struct fxt_label_detail details[BUCKETS][WAYS];
	_Atomic uint64_t counts[AREAS / COUNTS];
};

static _Atomic(void *) table;           /* struct table */
/* needed for changes of more than a key; functions.lock nests in it */
static struct fxt_lock table_lock;
/* an object that the trace was told of is not in the table any more */
static atomic_bool any_replaced;

static uint64_t bucket_of(uintptr_t key)
{
	return key / UNIT_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 54;
}

static int find(struct table *all, uintptr_t key)
{
	_Atomic uintptr_t *keys;
	int i;

	if (!all)
		return -1;
	for (keys = all->keys[bucket_of(key)], i = 0; i < WAYS; i++)
		if ((atomic_load_explicit(&keys[i], memory_order_acquire) &
		     ~(uintptr_t)FXT_LABEL_IS_DEAD) == key)
			return i;
	return -1;
}

static bool lives(uintptr_t key)
{
	return key && !(key & FXT_LABEL_IS_DEAD);
}

static unsigned count_shift(uintptr_t area)
{
	return (unsigned)(area % COUNTS * COUNT_BITS);
}

static _Atomic uint64_t *count_word(struct table *all, uintptr_t area)
{
	return &all->counts[area / COUNTS % (AREAS / COUNTS)];
}

/* Counts an object before its key says that it lives, so that nobody who frees its memory passes it by. */
static void count_birth(struct table *all, uintptr_t key)
{
	uintptr_t area = key / AREA_BYTES;

	atomic_fetch_add_explicit(count_word(all, area), UINT64_C(1) << count_shift(area),
				  memory_order_relaxed);
}

/* Takes an object out of the count after its key has said that it is dead. If a handler has forked in
 * between, the count is 0 already. */
static void count_death(struct table *all, uintptr_t key)
{
	uintptr_t area = key / AREA_BYTES;
	_Atomic uint64_t *word = count_word(all, area);
	uint64_t counts = atomic_load_explicit(word, memory_order_relaxed),
		one = UINT64_C(1) << count_shift(area);

	while (counts & one * UINT16_MAX &&
	       !atomic_compare_exchange_weak_explicit(word, &counts, counts - one, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* Changes the key of a place, under table_lock. Without the lock a key only changes from living to dead and
 * back. */
static void set_key(struct table *all, uint64_t bucket, int way, uintptr_t key)
{
	uintptr_t was;

	if (lives(key))
		count_birth(all, key);
	was = atomic_exchange_explicit(&all->keys[bucket][way], key, memory_order_acq_rel);
	if (lives(was))
		count_death(all, was);
}

bool fxt_label_look(uintptr_t key, struct fxt_label_detail *detail, uintptr_t *found)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t bucket = bucket_of(key);
	int way = find(all, key);

	if (way < 0)
		return false;
	*found = atomic_load_explicit(&all->keys[bucket][way], memory_order_acquire);
	*detail = all->details[bucket][way];
	atomic_thread_fence(memory_order_acquire);
	return (*found & ~(uintptr_t)FXT_LABEL_IS_DEAD) == key &&
	       atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed) == *found;
}

bool fxt_label_revive(uintptr_t key)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t bucket = bucket_of(key);
	uintptr_t dead = key | FXT_LABEL_IS_DEAD;
	int way = find(all, key);

	if (way < 0)
		return false;
	count_birth(all, key);
	if (!atomic_compare_exchange_strong(&all->keys[bucket][way], &dead, key)) {
		count_death(all, key);
		if (dead != key)
			return false;
	}
	all->details[bucket][way].label.is_repeated = true;
	return true;
}

static struct table *get_table(void)
{
	return fxt_lazy_table(&table, sizeof(struct table));
}

bool fxt_label_has_place(uintptr_t key)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uintptr_t there;
	int i;

	for (i = 0; all && i < WAYS; i++) {
		there = atomic_load_explicit(&all->keys[bucket_of(key)][i], memory_order_relaxed);
		if (!there || there & FXT_LABEL_IS_DEAD || there == key)
			return true;
	}
	return !all;
}

/* Returns a place for an object that is not in the table: a free one, or that of a dead object. Returns -1
 * if there is none. */
static int find_place(struct table *all, uint64_t bucket)
{
	uintptr_t key;
	int i, dead = -1;

	for (i = 0; i < WAYS; i++) {
		key = atomic_load_explicit(&all->keys[bucket][i], memory_order_relaxed);
		if (!key)
			return i;
		if (key & FXT_LABEL_IS_DEAD)
			dead = i;
	}
	if (dead >= 0)
		atomic_store_explicit(&any_replaced, true, memory_order_relaxed);
	return dead;
}

static bool is_same(const struct fxt_label *a, const struct fxt_label *b)
{
	return a->text == b->text && a->offset == b->offset && a->kind == b->kind && a->how == b->how;
}

enum fxt_entered fxt_label_enter(uintptr_t key, const struct fxt_label_detail *new)
{
	struct table *all = get_table();
	uint64_t mask, bucket = bucket_of(key);
	enum fxt_entered how = FXT_ENTERED_NEXT;
	struct fxt_label_detail *old;
	uintptr_t was = 0;
	int way;

	if (!all || fxt_may_not_lock())
		return FXT_ENTERED_NOT;
	mask = fxt_lock(&table_lock);
	way = find(all, key);
	if (way < 0) {
		way = find_place(all, bucket);
		how = way < 0 ? FXT_ENTERED_NOT
			: atomic_load_explicit(&any_replaced, memory_order_relaxed) ? FXT_ENTERED_NEXT
			: FXT_ENTERED_FIRST;
	} else {
		was = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed);
	}
	old = way < 0 ? NULL : &all->details[bucket][way];
	if (was && ((was == key && new->label.how == FXT_LABEL_USED && old->label.kind == new->label.kind) ||
		    (new->label.how != FXT_LABEL_PATH && old->place && is_same(&old->label, &new->label)))) {
		if (new->label.how != FXT_LABEL_USED) {
			old->place = new->place;
			old->label.is_repeated = true;
		}
		set_key(all, bucket, way, key);
		how = FXT_ENTERED_KNOWN;
	}
	if (how == FXT_ENTERED_FIRST || how == FXT_ENTERED_NEXT) {
		set_key(all, bucket, way, 0);
		atomic_thread_fence(memory_order_release);
		all->details[bucket][way] = *new;
		if (new->label.how == FXT_LABEL_PATH)
			all->details[bucket][way].label.text = NULL;
		set_key(all, bucket, way, key);
	}
	fxt_unlock(&table_lock, mask);
	return how;
}

/* Marks an object dead. Returns false if it was not alive. */
static bool bury(struct table *all, uintptr_t key)
{
	uintptr_t living = key;
	int way = find(all, key);

	if (way < 0 ||
	    !atomic_compare_exchange_strong(&all->keys[bucket_of(key)][way], &living,
					    key | FXT_LABEL_IS_DEAD))
		return false;
	count_death(all, key);
	return true;
}

void fxt_label_bury(uintptr_t key)
{
	bury(atomic_load_explicit(&table, memory_order_acquire), key);
}

/* Buries the objects of one bucket that lie in [low, high). */
static void bury_in_bucket(struct table *all, uint64_t bucket, uintptr_t low, uintptr_t high,
			   void (*buried)(uintptr_t key))
{
	uintptr_t key;
	int way;

	for (way = 0; way < WAYS; way++) {
		key = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed);
		if (key >= low && key < high && lives(key) && bury(all, key))
			buried(key);
	}
}

/* Buries the objects in [low, high), which lies within one KiB. */
static void bury_in_area(struct table *all, uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	uintptr_t unit;

	for (unit = low / UNIT_BYTES; unit <= (high - 1) / UNIT_BYTES; unit++)
		bury_in_bucket(all, bucket_of(unit * UNIT_BYTES), low, high, buried);
}

static void bury_in_all(struct table *all, uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	uint64_t bucket;

	for (bucket = 0; bucket < BUCKETS; bucket++)
		bury_in_bucket(all, bucket, low, high, buried);
}

/* Returns the first area of [area, end) whose count says that it has objects; areas that share the count
 * may have them instead. Returns `end` if there is none. */
static uintptr_t next_area(struct table *all, uintptr_t area, uintptr_t end)
{
	uint64_t counts;

	while (area < end) {
		counts = atomic_load_explicit(count_word(all, area), memory_order_relaxed) >>
			 count_shift(area);
		if (counts) {
			area += (unsigned)__builtin_ctzll(counts) / COUNT_BITS;
			break;
		}
		area = (area | (COUNTS - 1)) + 1;
	}
	return area < end ? area : end;
}

void fxt_label_bury_within(uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uintptr_t area = low / AREA_BYTES, end, from, to;
	unsigned with_objects = 0;

	if (!all || low >= high)
		return;
	end = (high - 1) / AREA_BYTES + 1;
	if (end - area > AREAS_MANY) {
		bury_in_all(all, low, high, buried);
		return;
	}
	for (area = next_area(all, area, end); area < end; area = next_area(all, area + 1, end)) {
		from = area * AREA_BYTES;
		if (++with_objects > AREAS_WITH_OBJECTS_MANY) {
			bury_in_all(all, from, high, buried);
			return;
		}
		to = high - from < AREA_BYTES ? high : from + AREA_BYTES;
		bury_in_area(all, from > low ? from : low, to, buried);
	}
}

bool fxt_label_table_is_empty(void)
{
	return !atomic_load_explicit(&table, memory_order_relaxed);
}

static void bury_variables(struct table *all)
{
	struct fxt_label_detail *detail;
	uintptr_t key;
	unsigned bucket, way;

	for (bucket = 0; bucket < BUCKETS; bucket++) {
		for (way = 0; way < WAYS; way++) {
			key = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed) &
			      ~(uintptr_t)FXT_LABEL_IS_DEAD;
			detail = &all->details[bucket][way];
			if (!key || (detail->label.how != FXT_LABEL_SYMBOL && !detail->label.offset) ||
			    fxt_function_is_mapped(key))
				continue;
			detail->place = 0;
			set_key(all, bucket, (int)way, key | FXT_LABEL_IS_DEAD);
		}
	}
}

void fxt_label_bury_variables(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uint64_t mask = fxt_lock(&table_lock);

	bury_variables(all);
	fxt_unlock(&table_lock, mask);
}

void fxt_label_table_prepare(void)
{
	get_table();
}

void fxt_label_table_empty(void)
{
	uint64_t mask = fxt_lock(&table_lock);

	fxt_lazy_table_empty(&table, sizeof(struct table));
	atomic_store(&any_replaced, false);
	fxt_unlock(&table_lock, mask);
}

void fxt_label_table_after_fork(void)
{
	fxt_lock_reset(&table_lock);
	fxt_lazy_table_after_fork(&table, sizeof(struct table));
	if (atomic_load_explicit(&any_replaced, memory_order_relaxed))
		atomic_store(&any_replaced, false);
}
