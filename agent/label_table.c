/* See label_table.h. A table that is made when there is the first object. What is in it stays until it is destroyed, and its place until
 * somebody else needs that: a lock that is made at the same address by the same code is then the same again, and nothing has to be
 * told. Where a bucket is full of living objects the next one has no name: to forget one would be to look it up again at its next
 * use.
 */
#include "label_table.h"

#include "function.h"

enum { BUCKETS = 1024, WAYS = 8 };

/* Where objects are, or were: a bit for each 64 bytes of memory, and for others that are a multiple of 128 MiB away. Who frees memory
 * sees in some words that there is none in 100 KiB; of more than 32 MiB it is cheaper to look at all there are. */
enum { LINE_BYTES = 64, LINES = 1 << 21, LINES_MANY = 1 << 19, LEAST_ALIGNMENT = 4 };

struct table {
	_Atomic uintptr_t keys[BUCKETS][WAYS];  /* 0: free, or changing */
	struct fxt_label_detail details[BUCKETS][WAYS];
	_Atomic uint64_t lines[LINES / 64];
};

static _Atomic(struct table *) table;
static struct fxt_lock table_lock;      /* for changing what is not a key alone; functions.lock nests in it */
static atomic_bool any_replaced;        /* somebody who was told of is not in the table any more */

static uint64_t bucket_of(uintptr_t key)
{
	return fxt_wait_hash(key & ~(uintptr_t)FXT_LABEL_IS_DEAD) >> 54;
}

static int find(struct table *all, uintptr_t key)
{
	_Atomic uintptr_t *keys;
	int i;

	if (!all)
		return -1;
	for (keys = all->keys[bucket_of(key)], i = 0; i < WAYS; i++)
		if ((atomic_load_explicit(&keys[i], memory_order_acquire) & ~(uintptr_t)FXT_LABEL_IS_DEAD) == key)
			return i;
	return -1;
}

static void mark_line(struct table *all, uintptr_t key)
{
	uintptr_t line = key / LINE_BYTES % LINES;

	atomic_fetch_or_explicit(&all->lines[line / 64], UINT64_C(1) << line % 64, memory_order_relaxed);
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

	if (way < 0 || !(atomic_compare_exchange_strong(&all->keys[bucket][way], &dead, key) || dead == key))
		return false;
	all->details[bucket][way].label.is_repeated = true;
	return true;
}

static struct table *get_table(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire), *made;

	if (all)
		return all;
	made = fxt_sys_memory(sizeof(*made));
	if (made && !atomic_compare_exchange_strong(&table, &all, made))
		fxt_sys_munmap(made, sizeof(*made));
	return atomic_load_explicit(&table, memory_order_acquire);
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

/* Where one that is not in it goes: a place nobody has, or somebody who is dead. -1: there is none. */
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

	if (!all)
		return FXT_ENTERED_NOT;
	mask = fxt_lock(&table_lock);
	way = find(all, key);
	if (way < 0) {
		way = find_place(all, bucket);
		how = way < 0 ? FXT_ENTERED_NOT : atomic_load_explicit(&any_replaced, memory_order_relaxed) ? FXT_ENTERED_NEXT : FXT_ENTERED_FIRST;
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
		atomic_store_explicit(&all->keys[bucket][way], key, memory_order_relaxed);
		how = FXT_ENTERED_KNOWN;
	}
	if (how == FXT_ENTERED_FIRST || how == FXT_ENTERED_NEXT) {
		atomic_store_explicit(&all->keys[bucket][way], 0, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		all->details[bucket][way] = *new;
		if (new->label.how == FXT_LABEL_PATH)
			all->details[bucket][way].label.text = NULL;
		mark_line(all, key);
		atomic_store_explicit(&all->keys[bucket][way], key, memory_order_release);
	}
	fxt_unlock(&table_lock, mask);
	return how;
}

/* False: it did not live. */
static bool bury(struct table *all, uintptr_t key)
{
	uintptr_t living = key;
	int way = find(all, key);

	return way >= 0 && atomic_compare_exchange_strong(&all->keys[bucket_of(key)][way], &living, key | FXT_LABEL_IS_DEAD);
}

void fxt_label_bury(uintptr_t key)
{
	bury(atomic_load_explicit(&table, memory_order_acquire), key);
}

/* The objects of one line, of which there may be as many as have this alignment. */
static void bury_line(struct table *all, uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	uintptr_t key;

	for (key = (low + LEAST_ALIGNMENT - 1) & ~(uintptr_t)(LEAST_ALIGNMENT - 1); key < high; key += LEAST_ALIGNMENT)
		if (bury(all, key))
			buried(key);
}

static void bury_of_all(struct table *all, uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	uintptr_t key;
	unsigned i;

	for (i = 0; i < BUCKETS * WAYS; i++) {
		key = atomic_load_explicit(&all->keys[i / WAYS][i % WAYS], memory_order_relaxed);
		if (key >= low && key < high && bury(all, key))
			buried(key);
	}
}

void fxt_label_bury_within(uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key))
{
	struct table *all = atomic_load_explicit(&table, memory_order_acquire);
	uintptr_t line = low / LINE_BYTES, end = high / LINE_BYTES + 1, from, to;
	uint64_t marked;

	if (!all)
		return;
	if (end - line > LINES_MANY) {
		bury_of_all(all, low, high, buried);
		return;
	}
	while (line < end) {
		marked = atomic_load_explicit(&all->lines[line / 64 % (LINES / 64)], memory_order_relaxed) >> line % 64;
		if (!marked) {
			line = (line | 63) + 1;
			continue;
		}
		line += (unsigned)__builtin_ctzll(marked);
		from = line * LINE_BYTES;
		to = from + LINE_BYTES;
		line++;
		bury_line(all, from > low ? from : low, to < high ? to : high, buried);
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
			key = atomic_load_explicit(&all->keys[bucket][way], memory_order_relaxed) & ~(uintptr_t)FXT_LABEL_IS_DEAD;
			detail = &all->details[bucket][way];
			if (!key || (detail->label.how != FXT_LABEL_SYMBOL && !detail->label.offset) || fxt_function_is_mapped(key))
				continue;
			detail->place = 0;
			atomic_store_explicit(&all->keys[bucket][way], key | FXT_LABEL_IS_DEAD, memory_order_relaxed);
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

void fxt_label_table_after_fork(void)
{
	struct table *all = atomic_load_explicit(&table, memory_order_relaxed);

	fxt_lock_reset(&table_lock);
	/* Emptied and not unmapped: see fork.c. */
	if (all && fxt_sys_madvise(all, sizeof(*all), MADV_DONTNEED))
		atomic_store(&table, NULL);
	atomic_store(&any_replaced, false);
}
