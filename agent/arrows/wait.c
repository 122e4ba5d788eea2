/* See wait.h. Waiting threads and their causes are in a table of buckets, each with a lock of its own; the
 * causes of locks that one thread has at a time are in words without a lock. */
#include "wait.h"

#include <string.h>

#include "agent/base/agent.h"
#include "agent/base/lazy_table.h"
#include "agent/emit/clock.h"

enum {
	BUCKETS = 256,
	ENTRIES = 8,                    /* the size of a bucket */
	PENDING = 32,                   /* causes that no thread has taken yet; the oldest gives way */
};

struct pending {
	struct fxt_cause cause;
	uint32_t left;
};

struct entry {
	uintptr_t object;
	uintptr_t lock;
	uint32_t waiters;
	uint32_t parties, arrived;      /* for a barrier: fxt_wait_set_parties() */
	uint32_t pending_count;
	struct pending pending[PENDING];        /* the oldest first */
};

struct bucket {
	struct fxt_lock lock;           /* it nests in no lock */
	struct entry entries[ENTRIES];
};

/* The place for a lock's cause, which says which thread gave the lock up last while another one waited.
 * `turn` is odd while a thread writes or reads the place. */
struct word {
	_Alignas(64) atomic_uint turn;
	uintptr_t lock;
	struct fxt_cause cause;
};

FXT_WIPED atomic_ushort fxt_waiting[FXT_WAITING_SLOTS];
static _Atomic(void *) words;           /* struct word; made with the first cause of a lock */
static _Atomic(void *) buckets;         /* struct bucket; made when somebody waits for the first time */
static _Atomic uint64_t next_flow;       /* 32 bits would come round in an hour of busy locks */
static _Atomic uint64_t flow_base;

static void add_waiters(uintptr_t object, int count)
{
	atomic_fetch_add(&fxt_waiting[fxt_wait_hash(object) >> 52], (unsigned short)count);
}

/* Returns the bucket of an object, or NULL if there is no memory. */
static struct bucket *bucket_of(uintptr_t object)
{
	struct bucket *all = fxt_lazy_table(&buckets, BUCKETS * sizeof(*all));

	return all ? &all[fxt_wait_hash(object) >> 56] : NULL;
}

static struct entry *find(struct bucket *bucket, uintptr_t object)
{
	struct entry *entry;

	for (entry = bucket->entries; entry < bucket->entries + ENTRIES; entry++)
		if (entry->object == object)
			return entry;
	return NULL;
}

/* Returns the object's entry, or one that is free: nobody waits for its object. A barrier's entry is taken
 * only if there is no other. Returns NULL if none is free. */
static struct entry *find_or_make(struct bucket *bucket, uintptr_t object)
{
	struct entry *entry = find(bucket, object), *free_entry = NULL;

	if (entry)
		return entry;
	for (entry = bucket->entries; entry < bucket->entries + ENTRIES; entry++)
		if (!entry->waiters && (!free_entry || (free_entry->parties && !entry->parties)))
			free_entry = entry;
	if (free_entry) {
		memset(free_entry, 0, sizeof(*free_entry));
		free_entry->object = object;
	}
	return free_entry;
}

/* Locks and returns the object's bucket. `*entry` is the object's entry, which is made if there is none and
 * `make` says so. Returns NULL if there is no entry; then nothing is locked. */
static struct bucket *open_bucket(uintptr_t object, bool make, struct entry **entry, uint64_t *mask)
{
	struct bucket *bucket = bucket_of(object);

	if (!bucket || fxt_may_not_lock())
		return NULL;
	*mask = fxt_lock(&bucket->lock);
	*entry = make ? find_or_make(bucket, object) : find(bucket, object);
	if (*entry)
		return bucket;
	fxt_unlock(&bucket->lock, *mask);
	return NULL;
}

bool fxt_wait_begin(uintptr_t object, uintptr_t lock)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = open_bucket(object, true, &entry, &mask);

	if (!bucket)
		return false;
	entry->lock = lock;
	entry->waiters++;
	add_waiters(object, 1);
	fxt_unlock(&bucket->lock, mask);
	return true;
}

static void drop_oldest(struct entry *entry)
{
	entry->pending_count--;
	memmove(entry->pending, entry->pending + 1, entry->pending_count * sizeof(*entry->pending));
}

static bool is_within(const struct pending *pending, uint64_t start_ns, uint64_t end_ns)
{
	return pending->cause.at_ns >= start_ns && pending->cause.at_ns < end_ns;
}

/* Chooses the cause for which a thread went on: the last one that was handed on between the beginning and
 * the end of its wait. What was handed on before was not for this thread, and threads do not always come
 * here in the order in which they were woken. If threads' clocks differ by more than the wait was long, there
 * may be no such cause. Then the first one after the beginning is chosen, because one cause has to be used up
 * for each thread that goes on. */
static struct pending *choose(struct entry *entry, uint64_t start_ns, uint64_t end_ns)
{
	struct pending *pending;

	for (pending = entry->pending + entry->pending_count; pending-- > entry->pending;)
		if (is_within(pending, start_ns, end_ns))
			return pending;
	for (pending = entry->pending; pending < entry->pending + entry->pending_count; pending++)
		if (pending->cause.at_ns >= start_ns)
			return pending;
	return NULL;
}

static bool take(struct entry *entry, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause)
{
	struct pending *pending = choose(entry, start_ns, end_ns);

	if (!pending)
		return false;
	*cause = pending->cause;
	pending->cause.at_ns += 2;
	if (!--pending->left) {
		entry->pending_count--;
		memmove(pending, pending + 1,
			(size_t)(entry->pending + entry->pending_count - pending) * sizeof(*pending));
	}
	return true;
}

bool fxt_wait_end(uintptr_t object, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = open_bucket(object, false, &entry, &mask);
	bool found = false;

	if (!bucket)
		return false;
	/* There are no waiters if the object was forgotten while it was waited for: the program destroyed
	 * what it uses. */
	if (entry->waiters) {
		found = take(entry, start_ns, end_ns, cause);
		entry->waiters--;
		add_waiters(object, -1);
		if (!entry->waiters)
			entry->pending_count = 0;
	}
	fxt_unlock(&bucket->lock, mask);
	return found;
}

/* Returns how many threads wait and have no cause yet. */
static uint32_t unanswered(const struct entry *entry)
{
	uint32_t answered = 0, i;

	for (i = 0; i < entry->pending_count; i++)
		answered += entry->pending[i].left;
	return entry->waiters > answered ? entry->waiters - answered : 0;
}

static void hand_on(struct entry *entry, const struct fxt_cause *cause, uint32_t count)
{
	struct pending *pending;

	if (entry->pending_count == PENDING)
		drop_oldest(entry);
	pending = &entry->pending[entry->pending_count++];
	*pending = (struct pending){*cause, count};
	pending->cause.lock = entry->lock;
}

unsigned fxt_wait_release(uintptr_t object, enum fxt_release how, const struct fxt_cause *cause)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = open_bucket(object, false, &entry, &mask);
	uintptr_t lock;
	uint32_t count, i;

	if (!bucket)
		return 0;
	if (how == FXT_RELEASE_LOCK || how == FXT_RELEASE_SHARED)
		entry->pending_count = 0;
	count = unanswered(entry);
	if (count > 1 && how != FXT_RELEASE_ALL && how != FXT_RELEASE_SHARED)
		count = 1;
	lock = entry->lock;
	if (count)
		hand_on(entry, cause, count);
	fxt_unlock(&bucket->lock, mask);
	for (i = 0; lock && i < count; i++)
		fxt_wait_for_lock(lock);
	return count;
}

/* -- Locks ------------------------------------------------------------------------------------- */

enum { WORDS_BYTES = FXT_WAITING_SLOTS * sizeof(struct word) };

/* Returns the place for a lock's cause. Makes the places if `make`. Returns NULL if there are none. */
static struct word *word_of(uintptr_t lock, bool make)
{
	struct word *all = make ? fxt_lazy_table(&words, WORDS_BYTES)
				: atomic_load_explicit(&words, memory_order_acquire);

	return all ? &all[fxt_wait_hash(lock) >> 52] : NULL;
}

void fxt_wait_for_lock(uintptr_t lock)
{
	add_waiters(lock, 1);
}

/* Takes the place for the calling function alone. Returns false if there is none, or if another one has it,
 * perhaps for another lock. That may be in this thread, if a handler has come in between. */
static bool seize(struct word *word)
{
	unsigned turn = word ? atomic_load_explicit(&word->turn, memory_order_relaxed) : 1;

	return !(turn & 1) &&
	       atomic_compare_exchange_strong_explicit(&word->turn, &turn, turn + 1, memory_order_acquire,
						       memory_order_relaxed);
}

static void let_go(struct word *word)
{
	atomic_fetch_add_explicit(&word->turn, 1, memory_order_release);
}

bool fxt_wait_lock_left(uintptr_t lock, const struct fxt_cause *cause)
{
	struct word *word = word_of(lock, true);

	if (!seize(word))
		return false;
	word->lock = lock;
	word->cause = *cause;
	let_go(word);
	return true;
}

bool fxt_wait_got_lock(uintptr_t lock, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause)
{
	struct word *word = word_of(lock, false);
	bool is_cause;

	add_waiters(lock, -1);
	if (!seize(word))
		return false;
	*cause = word->cause;
	is_cause = word->lock == lock && cause->at_ns >= start_ns && cause->at_ns < end_ns;
	/* A cause is for one wait: the next thread that gives the lock up may leave none. */
	if (is_cause)
		word->lock = 0;
	let_go(word);
	return is_cause;
}

void fxt_wait_set_parties(uintptr_t object, uint32_t parties)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = open_bucket(object, true, &entry, &mask);

	if (!bucket)
		return;
	entry->parties = parties;
	entry->arrived = 0;
	fxt_unlock(&bucket->lock, mask);
}

bool fxt_wait_arrive(uintptr_t object, bool *waits)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = open_bucket(object, false, &entry, &mask);
	bool last = false;

	*waits = false;
	if (!bucket)
		return false;
	if (entry->parties) {
		last = ++entry->arrived == entry->parties;
		if (last) {
			entry->arrived = 0;
		} else {
			*waits = true;
			entry->waiters++;
			add_waiters(object, 1);
		}
	}
	fxt_unlock(&bucket->lock, mask);
	return last;
}

void fxt_wait_forget(uintptr_t object)
{
	struct entry *entry;
	uint64_t mask;
	struct bucket *bucket = atomic_load(&buckets) ? open_bucket(object, false, &entry, &mask) : NULL;

	if (!bucket)
		return;
	add_waiters(object, -(int)entry->waiters);
	memset(entry, 0, sizeof(*entry));
	fxt_unlock(&bucket->lock, mask);
}

/* -- Flow ids ---------------------------------------------------------------------------------- */

/* Makes the upper half of flow ids, which no other process has. It comes from the process's number and from
 * the time when it began to have flows, so that it differs after an exec too. */
static uint64_t make_base(void)
{
	uint64_t x = fxt_clock_kernel_ns() * UINT64_C(0x9e3779b97f4a7c15) + fxt_agent.koid, base = 0;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	x = (x ^ x >> 31) | UINT64_C(1) << 32;
	/* The highest bit stays clear for readers that take ids for signed numbers. */
	atomic_compare_exchange_strong(&flow_base, &base, x & UINT64_C(0x7fffffff00000000));
	return atomic_load(&flow_base);
}

uint64_t fxt_flow_id(void)
{
	uint64_t base = atomic_load_explicit(&flow_base, memory_order_relaxed);

	return (base ? base : make_base()) + atomic_fetch_add_explicit(&next_flow, 1, memory_order_relaxed);
}

bool fxt_flow_id_is_own(uint64_t id)
{
	uint64_t base = atomic_load_explicit(&flow_base, memory_order_relaxed);

	return base && id - base < atomic_load_explicit(&next_flow, memory_order_relaxed);
}

void fxt_wait_prepare(void)
{
	fxt_lazy_table(&buckets, BUCKETS * sizeof(struct bucket));
	fxt_lazy_table(&words, WORDS_BYTES);
}

void fxt_wait_after_fork(void)
{
	fxt_lazy_table_after_fork(&buckets, BUCKETS * sizeof(struct bucket));
	/* A place that another thread was writing or reading would stay in use for ever. */
	fxt_lazy_table_after_fork(&words, WORDS_BYTES);
	atomic_store(&next_flow, 0);
	atomic_store(&flow_base, 0);
}
