/* This compares what the report says of locks with a simple model, on random programs. A program is a list of
 * steps, of which each is possible after those before it. The model remembers every situation and compares
 * each with each. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>

#include "apps/random.h"
#include "lock_maker.h"
#include "suite.h"

enum { ROUNDS = 400, THREADS = 4, PLACES = 6, MUTEXES = 4, STEPS = 150, HELD_MAX = 4 };

static uint64_t state;

static unsigned below(unsigned n)
{
	return (unsigned)(random_of(&state) % n);
}

/* -- The program ----------------------------------------------------------------------------------------- */

/* A lock: its place, and how many locks were there before it. The first places have mutexes, the others
 * read-write locks. */
struct node {
	unsigned place, age;
};

struct held {
	struct node lock;
	bool is_shared;
	unsigned times;
};

static struct stack {
	struct held list[HELD_MAX];
	unsigned count;
} stacks[THREADS];

static unsigned ages[PLACES];

static struct step {
	uint64_t ns;
	const char *name;
	unsigned thread, place;
} steps[STEPS + PLACES];
static unsigned step_count;

/* A thread took a lock, while it held others. */
static struct sighting {
	unsigned thread;
	struct node taken;
	bool is_shared;
	struct stack held;              /* the others */
	uint64_t ns;
} sightings[STEPS];
static unsigned sighting_count;

static struct held *find(unsigned thread_number, unsigned place)
{
	for (unsigned i = 0; i < stacks[thread_number].count; i++)
		if (stacks[thread_number].list[i].lock.place == place)
			return &stacks[thread_number].list[i];
	return NULL;
}

/* Returns whether a thread besides this one keeps it from getting the lock. */
static bool is_taken(unsigned thread_number, unsigned place, bool is_shared)
{
	for (unsigned i = 0; i < THREADS; i++) {
		const struct held *held = find(i, place);

		if (i != thread_number && held && !(held->is_shared && is_shared))
			return true;
	}
	return false;
}

static void put(unsigned thread_number, const char *name, unsigned place)
{
	now += 20;
	steps[step_count++] = (struct step){now, name, thread_number, place};
}

static void see(unsigned thread_number, unsigned place, bool is_shared)
{
	struct sighting *s = &sightings[sighting_count];

	*s = (struct sighting){.thread = thread_number,
			       .taken = {place, ages[place]},
			       .is_shared = is_shared,
			       .ns = steps[step_count - 1].ns + 10};
	for (unsigned i = 0; i < stacks[thread_number].count; i++)
		if (stacks[thread_number].list[i].lock.place != place)
			s->held.list[s->held.count++] = stacks[thread_number].list[i];
	sighting_count += s->held.count != 0;
}

static void some_take(unsigned thread_number)
{
	static const char *const mutex_names[] = {"pthread_mutex_lock", "pthread_mutex_trylock",
						  "pthread_mutex_timedlock"};
	static const char *const rwlock_names[] = {"pthread_rwlock_wrlock", "pthread_rwlock_trywrlock",
						   "pthread_rwlock_timedwrlock"};
	static const char *const reader_names[] = {"pthread_rwlock_rdlock", "pthread_rwlock_tryrdlock",
						   "pthread_rwlock_timedrdlock"};
	unsigned place = below(PLACES), how = below(2) ? 0 : below(3);
	bool is_shared = place >= MUTEXES && below(2);
	struct stack *stack = &stacks[thread_number];
	struct held *held = find(thread_number, place);

	if (is_taken(thread_number, place, is_shared) || (held && place >= MUTEXES && !is_shared) ||
	    (held && !held->is_shared && is_shared) || (!held && stack->count == HELD_MAX))
		return;
	put(thread_number, (is_shared ? reader_names : place < MUTEXES ? mutex_names : rwlock_names)[how],
	    place);
	if (held) {
		held->times++;
		return;
	}
	if (how == 0)
		see(thread_number, place, is_shared);
	stack->list[stack->count++] = (struct held){{place, ages[place]}, is_shared, 1};
}

static void some_give_up(unsigned thread_number)
{
	struct stack *stack = &stacks[thread_number];
	struct held *held = &stack->list[below(HELD_MAX)];

	if (held >= stack->list + stack->count)
		return;
	put(thread_number, held->lock.place < MUTEXES ? "pthread_mutex_unlock" : "pthread_rwlock_unlock",
	    held->lock.place);
	if (--held->times == 0)
		*held = stack->list[--stack->count];
}

static void some_step(void)
{
	unsigned thread_number = below(THREADS), place;
	struct held *held;

	switch (below(20)) {
	case 0:
		place = below(PLACES);
		for (unsigned i = 0; i < THREADS; i++)
			if (find(i, place))
				return;
		put(thread_number, place < MUTEXES ? "pthread_mutex_init" : "pthread_rwlock_init", place);
		ages[place]++;
		return;
	case 1:
		held = find(thread_number, place = below(MUTEXES));
		if (!held || held->times > 1)
			return;
		put(thread_number, "pthread_cond_wait", place);
		see(thread_number, place, false);
		return;
	default: (below(2) ? some_take : some_give_up)(thread_number);
	}
}

static void some_program(void)
{
	now = 1000;
	step_count = sighting_count = 0;
	memset(stacks, 0, sizeof(stacks));
	memset(ages, 0, sizeof(ages));
	for (unsigned i = 0; i < PLACES; i++)
		put(0, i < MUTEXES ? "pthread_mutex_init" : "pthread_rwlock_init", i);
	for (unsigned i = 0; i < STEPS; i++)
		some_step();
}

/* -- The trace ------------------------------------------------------------------------------------------- */

static uint64_t address_of(unsigned place)
{
	return 0x1000 + 0x40 * place;
}

static void write_step(const struct step *s)
{
	const char *argument = s->place < MUTEXES ? "mutex" : "rwlock";

	if (strcmp(s->name, "pthread_cond_wait") == 0)
		event(COMPLETE, s->thread + 1, "pthread", s->name, s->ns, s->ns + 10,
		      ARGS({"cond", POINTER, 0x9000}, {argument, POINTER, address_of(s->place)}));
	else
		event(COMPLETE, s->thread + 1, "pthread", s->name, s->ns, s->ns + 10,
		      ARGS({argument, POINTER, address_of(s->place)}));
}

/* Writes the steps of each thread in chunks, and the chunks of all threads in any order. */
static void write_program(void)
{
	struct chunk {
		unsigned thread, from, to;
	} chunks[THREADS * STEPS];
	unsigned count = 0, most = 1 + below(40);

	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned from = 0, to; from < step_count; from = to) {
			to = from + 1 + below(most);
			to = to < step_count ? to : step_count;
			chunks[count++] = (struct chunk){t, from, to};
		}
	for (unsigned i = count; below(3) && i > 1; i--) {
		unsigned other = below(i);
		struct chunk swap = chunks[i - 1];

		chunks[i - 1] = chunks[other];
		chunks[other] = swap;
	}
	begin_trace();
	thread(4, 7, 10);
	for (unsigned i = 0; i < count; i++) {
		thread(chunks[i].thread + 1, 7, 7 + chunks[i].thread);
		for (unsigned k = chunks[i].from; k < chunks[i].to; k++)
			if (steps[k].thread == chunks[i].thread)
				write_step(&steps[k]);
	}
}

/* -- The model ------------------------------------------------------------------------------------------- */

static bool is_same(struct node a, struct node b)
{
	return a.place == b.place && a.age == b.age;
}

/* Returns what the thread held of this lock, or NULL. */
static const struct held *held_of(const struct sighting *s, struct node lock)
{
	for (unsigned i = 0; i < s->held.count; i++)
		if (is_same(s->held.list[i].lock, lock))
			return &s->held.list[i];
	return NULL;
}

/* Returns whether two threads can be where they were seen at one time. */
static bool can_meet(const struct sighting *a, const struct sighting *b)
{
	if (a->thread == b->thread)
		return false;
	for (unsigned i = 0; i < a->held.count; i++)
		for (unsigned k = 0; k < b->held.count; k++)
			if (a->held.list[i].lock.place == b->held.list[k].lock.place &&
			    !(a->held.list[i].is_shared && b->held.list[k].is_shared))
				return false;
	return true;
}

/* Returns whether the first waits for a lock that the second holds. */
static bool waits_for(const struct sighting *a, const struct sighting *b)
{
	const struct held *held = held_of(b, a->taken);

	return held && !(held->is_shared && a->is_shared);
}

/* Counts the pairs of locks at these places that were taken in both orders. */
static unsigned pairs_at(unsigned place, unsigned other)
{
	bool found[STEPS + 1][STEPS + 1] = {{false}};
	unsigned count = 0;

	for (const struct sighting *a = sightings; a < sightings + sighting_count; a++)
		for (const struct sighting *b = sightings; b < sightings + sighting_count; b++)
			if (a->taken.place == place && b->taken.place == other && waits_for(a, b) &&
			    waits_for(b, a) && can_meet(a, b) && !found[a->taken.age][b->taken.age]) {
				found[a->taken.age][b->taken.age] = true;
				count++;
			}
	return count;
}

static const struct sighting *sighting_at(uint64_t ns)
{
	for (unsigned i = 0; i < sighting_count; i++)
		if (sightings[i].ns == ns)
			return &sightings[i];
	ck_abort_msg("no lock was taken at %d", (int)ns);
}

/* Returns the lock of a sighting at this address. */
static struct node node_at(const struct sighting *s, uint64_t address)
{
	for (unsigned i = 0; i < s->held.count; i++)
		if (address_of(s->held.list[i].lock.place) == address)
			return s->held.list[i].lock;
	ck_assert_uint_eq(address_of(s->taken.place), address);
	return s->taken;
}

/* -- Comparing ------------------------------------------------------------------------------------------- */

/* Fails unless the thread did what the order says, so often. */
static void compare_order(const struct fxt_lock_order *order)
{
	const struct sighting *s = sighting_at(order->first_ns);
	struct node first = node_at(s, lock_of(order->first)->address);
	uint64_t count = 0;

	ck_assert_uint_eq(tid_of(order->thread), 7 + s->thread);
	ck_assert_uint_eq(lock_of(order->then)->address, address_of(s->taken.place));
	ck_assert_ptr_nonnull(held_of(s, first));
	for (unsigned i = 0; i < sighting_count; i++)
		if (sightings[i].thread == s->thread && is_same(sightings[i].taken, s->taken) &&
		    held_of(&sightings[i], first)) {
			ck_assert_uint_ge(sightings[i].ns, order->first_ns);
			count++;
		}
	ck_assert_uint_eq(order->count, count);
}

/* Returns whether the threads of the circle can wait for each other: whether each was seen in a situation for
 * its order number `count` and on in which it can meet those in `seen`. */
static bool can_close(const struct fxt_lock_circle *circle, const struct sighting **seen, size_t count)
{
	const struct fxt_lock_order *order = &circle->orders[count];
	const struct sighting *example;

	if (count == circle->count)
		return waits_for(seen[count - 1], seen[0]);
	example = sighting_at(order->first_ns);
	for (const struct sighting *s = sightings; s < sightings + sighting_count; s++) {
		bool fits = s->thread == example->thread && is_same(s->taken, example->taken) &&
			    held_of(s, node_at(example, lock_of(order->first)->address)) &&
			    (!count || waits_for(seen[count - 1], s));

		for (size_t i = 0; i < count; i++)
			fits &= can_meet(seen[i], s);
		seen[count] = s;
		if (fits && can_close(circle, seen, count + 1))
			return true;
	}
	return false;
}

/* Returns whether the report has this lock in a circle. */
static bool is_reported(struct node lock)
{
	const struct fxt_lock_circles *c = &report.lock_orders.circles;

	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->list[i].count; k++) {
			const struct fxt_lock_order *order = &c->list[i].orders[k];

			if (is_same(node_at(sighting_at(order->first_ns), lock_of(order->first)->address),
				    lock))
				return true;
		}
	return false;
}

/* Fails if the report lacks a circle of three locks of which it has none. */
static void expect_no_other_circle(void)
{
	const struct sighting *end = sightings + sighting_count;

	for (const struct sighting *a = sightings; a < end; a++)
		for (const struct sighting *b = sightings; b < end; b++) {
			if (is_reported(a->taken) || !waits_for(a, b) || !can_meet(a, b) ||
			    is_reported(b->taken))
				continue;
			for (const struct sighting *c = sightings; c < end; c++)
				ck_assert(!waits_for(b, c) || !waits_for(c, a) || !can_meet(a, c) ||
					  !can_meet(b, c) || is_reported(c->taken));
		}
}

static unsigned reported_at(unsigned place, unsigned other)
{
	unsigned count = 0;

	for (size_t i = 0; i < report.lock_orders.circles.count; i++) {
		const struct fxt_lock_circle *circle = &report.lock_orders.circles.list[i];
		uint64_t first = lock_of(circle->orders[0].first)->address,
			 then = lock_of(circle->orders[0].then)->address;

		count += circle->count == 2 && ((first == address_of(place) && then == address_of(other)) ||
						(first == address_of(other) && then == address_of(place)));
	}
	return count;
}

START_TEST(says_what_the_model_says)
{
	unsigned pairs = 0, longer = 0;

	random_begin();
	state = random_state_of(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct sighting *seen[FXT_LOCK_CIRCLE_MAX];

		some_program();
		write_program();
		make_report(&report, 10);
		for (unsigned i = 0; i < PLACES; i++)
			for (unsigned k = 0; k < i; k++) {
				ck_assert_msg(reported_at(i, k) == pairs_at(i, k),
					      "round %u, locks %u and %u: %u pairs, expected %u", round, i, k,
					      reported_at(i, k), pairs_at(i, k));
				pairs += pairs_at(i, k);
			}
		for (size_t i = 0; i < report.lock_orders.circles.count; i++) {
			const struct fxt_lock_circle *circle = &report.lock_orders.circles.list[i];

			for (size_t k = 0; k < circle->count; k++)
				compare_order(&circle->orders[k]);
			ck_assert_msg(can_close(circle, seen, 0), "round %u, circle %zu", round, i);
			longer += circle->count > 2;
		}
		expect_no_other_circle();
		end_report(&report);
	}
	/* The programs have something to compare. */
	ck_assert_uint_gt(pairs, ROUNDS / 10);
	ck_assert_uint_gt(longer, 0);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("model");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, says_what_the_model_says);
	return RUN_SUITE("report, locks and a model", c);
}
