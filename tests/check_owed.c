/* This tests the list of names that are owed (agent/objects/label_owed.h): names are put in, taken, told
 * and marked at random, and compared with a model that is a plain list. FXT_SEED names the choices. */
#include <check.h>
#include <stdlib.h>

#include "agent/objects/label_owed.h"
#include "apps/random.h"
#include "suite.h"

enum { SLOTS = 128, STEPS = 30000, OBJECTS = 60, BASE = 0x1000 };

struct entry {
	struct fxt_owed owed;
	bool is_there, is_gone;
	int slot;                       /* the slot that it was taken from; -1: nobody tells it */
};

static struct entry model[SLOTS];
static unsigned there;

static uintptr_t any_object(void)
{
	return BASE + random_below(OBJECTS) * 8;
}

static void put(uint64_t now_ns)
{
	struct fxt_owed owed = {
		.object = any_object(),
		.place = random_below(1000),
		.since_ns = now_ns,
		.bytes = random_below(100),
		.tid = 1 + (uint32_t)random_below(3),
		.kind = (uint8_t)random_below(5),
		.how = (uint8_t)random_below(3),
	};
	unsigned i;

	ck_assert_int_eq(fxt_owed_put(&owed), there < SLOTS);
	if (there == SLOTS)
		return;
	for (i = 0; model[i].is_there; i++)
		;
	model[i] = (struct entry){owed, true, false, -1};
	there++;
}

/* Returns the name that a thread may tell next: the first one after `after_ns` of which no other name of the
 * same address is told or is older. */
static struct entry *next_of(uint32_t tid, uint64_t before_ns, uint64_t after_ns)
{
	struct entry *it, *other, *found = NULL;

	for (it = model; it < model + SLOTS; it++) {
		bool has_to_wait = false;

		if (!it->is_there || it->slot >= 0 || it->owed.since_ns <= after_ns ||
		    (it->owed.tid != tid && it->owed.since_ns >= before_ns))
			continue;
		for (other = model; other < model + SLOTS; other++)
			if (other != it && other->is_there && other->owed.object == it->owed.object &&
			    (other->slot >= 0 || other->owed.since_ns < it->owed.since_ns))
				has_to_wait = true;
		if (!has_to_wait && (!found || it->owed.since_ns < found->owed.since_ns))
			found = it;
	}
	return found;
}

static void take(uint64_t now_ns)
{
	uint32_t tid = 1 + (uint32_t)random_below(4);
	uint64_t before_ns = random_below(3) ? 0 : random_below(2) ? UINT64_MAX : random_below(now_ns + 1),
		 after_ns = random_below(2) ? 0 : random_below(now_ns + 1);
	struct fxt_owed owed = {.since_ns = after_ns};
	struct entry *expected = next_of(tid, before_ns, after_ns);
	int slot = fxt_owed_take(&owed, tid, before_ns);

	ck_assert_int_eq(slot >= 0, expected != NULL);
	if (!expected)
		return;
	ck_assert_uint_eq(owed.since_ns, expected->owed.since_ns);
	ck_assert_uint_eq(owed.object, expected->owed.object);
	ck_assert_uint_eq(owed.place, expected->owed.place);
	ck_assert_uint_eq(owed.bytes, expected->owed.bytes);
	ck_assert_uint_eq(owed.tid, expected->owed.tid);
	ck_assert_uint_eq(owed.kind, expected->owed.kind);
	ck_assert_uint_eq(owed.how, expected->owed.how);
	ck_assert_int_eq(owed.is_gone, expected->is_gone);
	expected->slot = slot;
}

/* Tells a name that was taken. */
static void done(void)
{
	unsigned start = (unsigned)random_below(SLOTS), i;

	for (i = 0; i < SLOTS; i++) {
		struct entry *it = &model[(start + i) % SLOTS];

		if (!it->is_there || it->slot < 0)
			continue;
		ck_assert_int_eq(fxt_owed_is_gone(it->slot), it->is_gone);
		/* Somebody else's object in the slot stays. */
		fxt_owed_done(it->slot, it->owed.object + 8 * OBJECTS);
		fxt_owed_done(it->slot, it->owed.object);
		it->is_there = false;
		there--;
		return;
	}
}

static void gone(void)
{
	uintptr_t low = any_object(), high = low + random_below(5) * 8;
	unsigned i;

	fxt_owed_gone(low, high);
	for (i = 0; i < SLOTS; i++)
		if (model[i].is_there && model[i].owed.object >= low && model[i].owed.object < high)
			model[i].is_gone = true;
}

static void has(void)
{
	uintptr_t object = any_object();
	bool lives = false, any = false;
	unsigned i;

	for (i = 0; i < SLOTS; i++)
		if (model[i].is_there && model[i].owed.object == object) {
			any = true;
			lives |= !model[i].is_gone;
		}
	ck_assert_int_eq(fxt_owed_has(object, true), any);
	ck_assert_int_eq(fxt_owed_has(object, false), lives);
}

static void clear(void)
{
	unsigned i;

	fxt_owed_clear();
	for (i = 0; i < SLOTS; i++)
		model[i].is_there = false;
	there = 0;
}

START_TEST(as_a_list)
{
	unsigned step, puts;

	random_seed((uint64_t)_i);
	puts = 2 + (unsigned)random_below(5);
	for (step = 1; step <= STEPS; step++) {
		switch (random_below(12)) {
		case 0:
			gone();
			break;
		case 1:
		case 2:
			has();
			break;
		case 3:
		case 4:
			take(step);
			break;
		case 5:
			done();
			break;
		case 6:
			if (random_below(600) == 0)
				clear();
			break;
		default:
			if (random_below(6) < puts)
				put(step);
			break;
		}
		ck_assert_uint_eq(atomic_load(&fxt_owed_count), there);
		ck_assert_int_eq(fxt_owed_any(), there != 0);
		if (there == SLOTS)
			puts = (unsigned)random_below(3);
		else if (there < SLOTS / 4)
			puts = 6;
	}
}
END_TEST

/* Two names of one address and one moment: neither waits for the other for ever. */
START_TEST(of_one_moment)
{
	const struct fxt_owed one = {.object = BASE, .since_ns = 5, .tid = 1},
			      other = {.object = BASE, .since_ns = 5, .tid = 2};
	struct fxt_owed owed = {0};
	int slot;

	ck_assert(fxt_owed_put(&one) && fxt_owed_put(&other));
	slot = fxt_owed_take(&owed, 2, 0);
	ck_assert_int_ge(slot, 0);
	ck_assert_uint_eq(owed.tid, 2);
	owed = (struct fxt_owed){0};
	ck_assert_int_lt(fxt_owed_take(&owed, 1, 0), 0);
	fxt_owed_done(slot, BASE);
	owed = (struct fxt_owed){0};
	ck_assert_int_ge(fxt_owed_take(&owed, 1, 0), 0);
	ck_assert_uint_eq(owed.tid, 1);
}
END_TEST

int main(void)
{
	TCase *list = tcase_create("list");

	tcase_set_timeout(list, 60);
	tcase_add_loop_test(list, as_a_list, 0, 6);
	tcase_add_test(list, of_one_moment);
	return RUN_SUITE("owed", list);
}
