/* This tests the tree of call stacks (agent/stacks/stack_nodes.h): a stack is one node, from which its
 * frames are found again; the same stack is the same node, and no other is. Stacks are random and share
 * their callers. Threads make them at the same moment, and the table is filled to its end. FXT_SEED names
 * them. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "agent/stacks/code.h"
#include "agent/stacks/stack_nodes.h"
#include "apps/random.h"
#include "suite.h"

enum { STACKS = 1500, THREADS = 4, PLACES = 6 };

/* Check notes the line of each of its own assertions, which takes long where there are millions. */
#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

struct fxt_agent fxt_agent;
__thread struct fxt_thread *fxt_self;

static struct fxt_walk walks[STACKS];
static uint32_t nodes[THREADS][STACKS];

/* Few places, so that many stacks begin alike, and some are alike. */
static void draw(struct fxt_walk *walk)
{
	unsigned i;

	*walk = (struct fxt_walk){.count = 1 + (unsigned)random_below(random_below(4) ? 8 : FXT_WALK_MOST),
				  .is_whole = random_below(2)};
	for (i = 0; i < walk->count; i++) {
		walk->places[i] = 0x7f0000001000 + random_below(PLACES) * 16;
		walk->modules[i] = (uint16_t)(walk->places[i] / 16 % 5);
	}
}

static bool are_alike(unsigned one, unsigned other)
{
	const struct fxt_walk *a = &walks[one], *b = &walks[other];

	return a->count == b->count && a->is_whole == b->is_whole &&
	       !memcmp(a->places, b->places, a->count * sizeof(*a->places));
}

/* The frames are found by the node, the innermost first. */
static void is_stack(uint32_t number, const struct fxt_walk *walk)
{
	const struct fxt_stack_node *node;
	unsigned i;

	for (i = 0; i < walk->count; i++) {
		EXPECT(number && number != FXT_STACK_NO_ROOM);
		node = fxt_stack_node(number);
		EXPECT((node->place) == (walk->places[i]));
		EXPECT((node->module) == (walk->modules[i]));
		EXPECT(node->caller < number);
		number = node->caller;
	}
	EXPECT((number != 0) == (!walk->is_whole));
	if (number) {
		EXPECT((fxt_stack_node(number)->place) == (0));
		EXPECT((fxt_stack_node(number)->caller) == (0));
	}
}

START_TEST(the_same_stack_is_the_same_node)
{
	unsigned i, j, alike = 0;

	random_seed((uint64_t)_i);
	for (i = 0; i < STACKS; i++) {
		draw(&walks[i]);
		nodes[0][i] = fxt_stack_node_of(&walks[i]);
		is_stack(nodes[0][i], &walks[i]);
		for (j = 0; j < i; j++) {
			EXPECT((nodes[0][i] == nodes[0][j]) == are_alike(i, j));
			alike += nodes[0][i] == nodes[0][j];
		}
	}
	ck_assert_uint_gt(alike, 0);
	/* The numbers have no gaps. */
	for (i = 0, j = 0; i < STACKS; i++)
		j = nodes[0][i] > j ? nodes[0][i] : j;
	draw(&walks[0]);
	walks[0].places[0] += PLACES * 16;
	walks[0].is_whole = true;
	walks[0].count = 1;
	ck_assert_uint_eq(fxt_stack_node_of(&walks[0]), j + 1);
}
END_TEST

START_TEST(what_is_no_stack_has_no_node)
{
	struct fxt_walk walk = {.count = 0};

	random_seed(0);
	ck_assert_uint_eq(fxt_stack_node_of(&walk), 0);
	walk.is_whole = true;
	ck_assert_uint_eq(fxt_stack_node_of(&walk), 0);
	draw(&walk);
	walk.count = 8;
	/* This address is the kernel's, and none that a call returns to. */
	walk.places[random_below(8)] = UINT64_C(1) << 48;
	ck_assert_uint_eq(fxt_stack_node_of(&walk), 0);
}
END_TEST

static void *make_all(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument, i;

	for (i = 0; i < STACKS; i++)
		nodes[thread][i] = fxt_stack_node_of(&walks[i]);
	return NULL;
}

/* Threads that make the same node at the same moment may make two. Both have the frames. */
START_TEST(threads_find_true_stacks)
{
	pthread_t thread[THREADS];
	unsigned i, n;

	random_seed(0);
	for (i = 0; i < STACKS; i++)
		draw(&walks[i]);
	for (n = 0; n < THREADS; n++)
		ck_assert(!pthread_create(&thread[n], NULL, make_all, (void *)(uintptr_t)n));
	for (n = 0; n < THREADS; n++)
		pthread_join(thread[n], NULL);
	for (n = 0; n < THREADS; n++)
		for (i = 0; i < STACKS; i++)
			is_stack(nodes[n][i], &walks[i]);
	/* Afterwards all find the same. */
	for (i = 0; i < STACKS; i++)
		EXPECT(fxt_stack_node_of(&walks[i]) == fxt_stack_node_of(&walks[i]));
}
END_TEST

/* The table has places for so many nodes and not one more. What is there is found when it is full, too. */
START_TEST(a_full_table_says_so)
{
	struct fxt_walk walk = {.count = 1, .is_whole = true};
	uint32_t i;

	for (i = 1; i < FXT_STACK_NODES; i++) {
		walk.places[0] = 0x1000 + (uintptr_t)i * 16;
		EXPECT(fxt_stack_node_of(&walk) == i);
	}
	for (i = 0; i < 10; i++) {
		walk.places[0] = 0x100 + i;
		ck_assert_uint_eq(fxt_stack_node_of(&walk), FXT_STACK_NO_ROOM);
	}
	walk.is_whole = false;
	walk.places[0] = 0x1010;
	ck_assert_uint_eq(fxt_stack_node_of(&walk), FXT_STACK_NO_ROOM);
	walk.is_whole = true;
	for (i = 1; i < FXT_STACK_NODES; i += 1001) {
		walk.places[0] = 0x1000 + (uintptr_t)i * 16;
		ck_assert_uint_eq(fxt_stack_node_of(&walk), i);
	}
}
END_TEST

/* Where there is no memory there is no room, and no number is lost by that. */
START_TEST(memory_may_come_back)
{
	struct fxt_walk walk = {.count = 1, .is_whole = true};
	struct rlimit all, none;
	uint32_t i, number, refused = 0;

	ck_assert(!getrlimit(RLIMIT_AS, &all));
	none = (struct rlimit){1, all.rlim_max};
	for (i = 1; i < FXT_STACK_NODES; i++) {
		walk.places[0] = 0x1000 + (uintptr_t)i * 16;
		EXPECT(!setrlimit(RLIMIT_AS, &none));
		number = fxt_stack_node_of(&walk);
		refused += number == FXT_STACK_NO_ROOM;
		EXPECT(number == i || number == FXT_STACK_NO_ROOM);
		EXPECT(!setrlimit(RLIMIT_AS, &all));
		EXPECT(fxt_stack_node_of(&walk) == i);
	}
	EXPECT(refused);
}
END_TEST

int main(void)
{
	TCase *tree = tcase_create("tree");

	tcase_set_timeout(tree, 60);
	tcase_add_loop_test(tree, the_same_stack_is_the_same_node, 0, 3);
	tcase_add_test(tree, what_is_no_stack_has_no_node);
	tcase_add_test(tree, threads_find_true_stacks);
	tcase_add_test(tree, a_full_table_says_so);
	tcase_add_test(tree, memory_may_come_back);
	return RUN_SUITE("stack nodes", tree);
}
