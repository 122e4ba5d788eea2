/* This tests the table of objects with names, agent/objects/label_table.c. Memory that is freed takes its
 * objects with it, all of them and no others. How long that takes does not depend on how many objects there
 * ever were. The addresses are random and the seed is printed; CHECK_LABELS_SEED=N makes the same ones again.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "agent/emit/function.h"
#include "agent/objects/label_table.h"
#include "suite.h"

/* label_table.c calls this when libraries are unloaded. */
bool fxt_function_is_mapped(uintptr_t address)
{
	return address;
}

enum { KEYS = 3000, STEPS = 40000, ALIAS_BYTES = 128 << 20, BLOCK_BYTES = 100000 };

/* After so many instructions, which are far more than a look takes, none is counted any more. */
enum { COUNTED_MOST = 100000 };

#define HEAP ((uintptr_t)0x7f0000000000)

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % n;
}

static void seed(void)
{
	const char *said = getenv("CHECK_LABELS_SEED");

	state = said ? strtoull(said, NULL, 0) : (uint64_t)time(NULL);
	printf("CHECK_LABELS_SEED=%llu\n", (unsigned long long)state);
}

static struct object {
	uintptr_t key;
	bool lives, is_gone;
} objects[KEYS];

static unsigned wrong;

static int by_key(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static struct object *object_at(uintptr_t key)
{
	const struct object wanted = {.key = key};

	return bsearch(&wanted, objects, KEYS, sizeof(wanted), by_key);
}

static void buried(uintptr_t key)
{
	struct object *object = object_at(key);

	if (!object || !object->lives || object->is_gone)
		wrong++;
	else
		object->is_gone = true;
}

/* Returns an address: of a spin lock among others side by side, of a mutex in a row, or any other. Some lie
 * in memory that shares its counts with other memory, ALIAS_BYTES away. */
static uintptr_t random_key(void)
{
	uintptr_t key = HEAP + below(5) * ALIAS_BYTES;

	switch (below(3)) {
	case 0: return key + below(1024) * 4;
	case 1: return key + (1 << 20) + below(4096) * 40;
	default: return key + (2 << 20) + below(16 << 20) * 4;
	}
}

static void make_keys(void)
{
	unsigned i, kept = 0;

	for (i = 0; i < KEYS; i++)
		objects[i] = (struct object){.key = random_key()};
	qsort(objects, KEYS, sizeof(*objects), by_key);
	for (i = 1; i < KEYS; i++)
		if (objects[i].key != objects[kept].key)
			objects[++kept] = objects[i];
	/* Each address is there once. The rest of the array gets addresses in memory that nobody frees. */
	for (i = kept + 1; i < KEYS; i++)
		objects[i] = (struct object){.key = HEAP + (UINT64_C(1) << 40) + 4 * i};
}

static void change(struct object *object)
{
	static const struct fxt_label_detail detail = {
		{.text = "f", .bytes = 1, .kind = FXT_LABEL_MUTEX, .how = FXT_LABEL_MADE}, 1};
	static const struct fxt_label_detail other = {
		{.text = "g", .bytes = 1, .kind = FXT_LABEL_MUTEX, .how = FXT_LABEL_MADE}, 2};

	switch (below(4)) {
	case 0:
		fxt_label_bury(object->key);
		object->lives = false;
		break;
	case 1:
		if (fxt_label_revive(object->key))
			object->lives = true;
		break;
	default:
		object->lives = fxt_label_enter(object->key, below(2) ? &detail : &other) !=
				FXT_ENTERED_NOT || object->lives;
	}
}

static void free_memory(void)
{
	uintptr_t low = random_key() - below(2) * below(100), high = low + below(UINT64_C(1) << below(28));
	unsigned i;

	fxt_label_bury_within(low, high, buried);
	for (i = 0; i < KEYS; i++) {
		bool is_within = objects[i].key >= low && objects[i].key < high;

		if (objects[i].is_gone != (is_within && objects[i].lives))
			wrong++;
		objects[i].lives = objects[i].lives && !is_within;
		objects[i].is_gone = false;
	}
}

START_TEST(all_within_and_no_others)
{
	unsigned i;

	seed();
	make_keys();
	for (i = 0; i < STEPS; i++) {
		if (below(40))
			change(&objects[below(KEYS)]);
		else
			free_memory();
		ck_assert_uint_eq(wrong, 0);
	}
	/* All memory is freed at once. */
	fxt_label_bury_within(0, UINTPTR_MAX, buried);
	for (i = 0; i < KEYS; i++)
		ck_assert(objects[i].is_gone == objects[i].lives);
}
END_TEST

/* -- The cost of a look, in instructions ----------------------------------------------------------- */

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };

static volatile unsigned instructions;

static void count(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number;
	(void)info;
	if (++instructions >= COUNTED_MOST)
		at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static __attribute__((noinline)) void set_trap_flag(uint64_t flags)
{
	uint64_t rest;

	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tpop %0\n\tand %2, %0\n\tor %1, %0\n\t"
			 "push %0\n\tpopfq\n\tadd $128, %%rsp"
			 : "=&r"(rest) : "r"(flags), "i"(~TRAP_FLAG) : "memory", "cc");
}

static void none(uintptr_t key)
{
	(void)key;
	wrong++;
}

static unsigned instructions_of_look(uintptr_t low)
{
	instructions = 0;
	set_trap_flag(TRAP_FLAG);
	fxt_label_bury_within(low, low + BLOCK_BYTES, none);
	set_trap_flag(0);
	return instructions;
}

static void forget(uintptr_t key)
{
	(void)key;
}

static void come_and_go(unsigned objects_made)
{
	const struct fxt_label_detail detail = {
		{.text = "f", .bytes = 1, .kind = FXT_LABEL_MUTEX, .how = FXT_LABEL_MADE}, 1};
	unsigned i;

	for (i = 0; i < objects_made; i++) {
		fxt_label_enter(HEAP + i * UINT64_C(64), &detail);
		if (below(2))
			fxt_label_bury(HEAP + i * UINT64_C(64));
		else
			fxt_label_bury_within(HEAP + i * UINT64_C(64), HEAP + i * UINT64_C(64) + 64, forget);
	}
}

/* A block is freed in 8 to 128 MiB where each 64 bytes have held an object. That costs less than twice what
 * it did before these objects came and went. */
START_TEST(what_died_is_forgotten)
{
	struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
	unsigned before, after, made;

	seed();
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	come_and_go(1);
	before = instructions_of_look(HEAP);
	made = (1u << 17) + (unsigned)below((1u << 21) - (1u << 17));
	come_and_go(made);
	after = instructions_of_look(HEAP + below(made * UINT64_C(64) - BLOCK_BYTES));
	ck_assert_msg(after < 2 * before, "%u instructions, %u before %u objects came and went", after,
		      before, made);
}
END_TEST
#endif

/* -- What is entered ------------------------------------------------------------------------------- */

enum { FEW = 40, ENTRIES = 4000, NEVER = 100000 };

/* Check notes the line of each of its own assertions, which takes long where there are many. */
#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

static struct known {
	bool is_there, lives;
	struct fxt_label_detail detail;
} knowns[FEW];

static uintptr_t key_of(unsigned n)
{
	return HEAP + n * 4096 + 64;
}

static bool is_like(const struct fxt_label *a, const struct fxt_label *b)
{
	return a->text == b->text && a->offset == b->offset && a->kind == b->kind && a->how == b->how;
}

static void compare(unsigned n)
{
	const struct known *known = &knowns[n];
	struct fxt_label_detail detail;
	uintptr_t key = key_of(n), found;

	EXPECT(fxt_label_look(key, &detail, &found) == known->is_there);
	EXPECT(fxt_label_has_place(key));
	if (!known->is_there)
		return;
	EXPECT(found == (known->lives ? key : key | FXT_LABEL_IS_DEAD));
	EXPECT(is_like(&detail.label, &known->detail.label) && detail.place == known->detail.place);
	EXPECT(detail.label.is_repeated == known->detail.label.is_repeated);
}

static void enter(unsigned n)
{
	static const char *const texts[] = {"one", "other", NULL};
	static const uint8_t hows[] = {FXT_LABEL_SYMBOL, FXT_LABEL_MADE, FXT_LABEL_USED, FXT_LABEL_PATH};
	struct known *known = &knowns[n];
	const struct fxt_label_detail new = {
		.label = {.text = texts[below(3)], .offset = (uint32_t)below(2),
			  .kind = (uint8_t)(1 + below(2)), .how = hows[below(4)]},
		.place = below(3),
	};
	const struct fxt_label *old = &known->detail.label;
	enum fxt_entered entered = fxt_label_enter(key_of(n), &new), expected = FXT_ENTERED_NEXT;

	if (!known->is_there)
		expected = FXT_ENTERED_FIRST;
	else if (known->lives && new.label.how == FXT_LABEL_USED && old->kind == new.label.kind)
		expected = FXT_ENTERED_KNOWN;
	else if (new.label.how != FXT_LABEL_PATH && known->detail.place && is_like(old, &new.label))
		expected = FXT_ENTERED_KNOWN;
	EXPECT(entered == expected);
	if (entered != FXT_ENTERED_KNOWN) {
		known->detail = new;
		if (new.label.how == FXT_LABEL_PATH)
			known->detail.label.text = NULL;
	} else if (new.label.how != FXT_LABEL_USED) {
		known->detail.place = new.place;
		known->detail.label.is_repeated = true;
	}
	known->is_there = known->lives = true;
}

START_TEST(what_is_entered_is_found)
{
	unsigned step, n;

	seed();
	EXPECT(fxt_label_table_is_empty());
	for (step = 0; step < ENTRIES; step++) {
		n = (unsigned)below(FEW);
		switch (below(8)) {
		case 0:
			fxt_label_bury(key_of(n));
			knowns[n].lives = false;
			break;
		case 1:
			EXPECT(fxt_label_revive(key_of(n)) == knowns[n].is_there);
			if (knowns[n].is_there)
				knowns[n].lives = knowns[n].detail.label.is_repeated = true;
			break;
		case 2:
			if (below(200) == 0) {
				fxt_label_table_empty();
				memset(knowns, 0, sizeof(knowns));
			}
			break;
		default:
			enter(n);
		}
		for (n = 0; n < FEW; n++)
			compare(n);
	}
	EXPECT(!fxt_label_table_is_empty());
}
END_TEST

static void nothing(uintptr_t key)
{
	(void)key;
}

/* Enters objects until one finds no place. Returns its key. All others live. */
static uintptr_t fill_a_bucket(void)
{
	const struct fxt_label_detail new = {.label = {.text = "one", .kind = 1}};
	uintptr_t key, other;
	enum fxt_entered entered;

	for (key = HEAP; key < HEAP + NEVER * UINT64_C(64); key += 64) {
		bool has_place = fxt_label_has_place(key);

		entered = fxt_label_enter(key, &new);
		EXPECT(has_place == (entered != FXT_ENTERED_NOT));
		if (!has_place) {
			/* Those that have a place keep it. */
			for (other = HEAP; other < key; other += 64)
				EXPECT(fxt_label_has_place(other));
			return key;
		}
		EXPECT(entered == FXT_ENTERED_FIRST);
	}
	ck_abort_msg("%d objects have found places", NEVER);
}

/* Where an object takes the place of a dead one, it is not known any more who was there. */
START_TEST(the_dead_give_way)
{
	const struct fxt_label_detail new = {.label = {.text = "one", .kind = 1}};
	unsigned round;
	uintptr_t key;

	for (round = 0; round < 2; round++) {
		key = fill_a_bucket();
		fxt_label_bury_within(HEAP, key, nothing);
		EXPECT(fxt_label_has_place(key));
		EXPECT(fxt_label_enter(key, &new) == FXT_ENTERED_NEXT);
		EXPECT(fxt_label_enter(key + (UINT64_C(1) << 40), &new) == FXT_ENTERED_NEXT);
		if (round)
			fxt_label_table_after_fork();
		/* In a table that is emptied that is over. */
		fxt_label_table_empty();
	}
	fill_a_bucket();
}
END_TEST

int main(void)
{
	TCase *table = tcase_create("table"), *entered = tcase_create("entered");

	tcase_set_timeout(entered, 60);
	tcase_add_test(entered, what_is_entered_is_found);
	tcase_add_test(entered, the_dead_give_way);

	tcase_set_timeout(table, 60);
	tcase_add_test(table, all_within_and_no_others);
#ifdef __x86_64__
	tcase_add_test(table, what_died_is_forgotten);
#endif
	return RUN_SUITE("labels", entered, table);
}
