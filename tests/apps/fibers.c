/* This program has fibers that call functions of random depth, and switch to one another at random
 * places. It prints what each function did, in the order in which it happened, so a script can compare
 * that with the trace: the program is compiled with -finstrument-functions, and what keeps the account
 * is not.
 *
 *	fibers HOW STACKS FIBERS ROUNDS
 *
 * HOW is how they switch: `context` (swapcontext) or `hand` (written by hand, on x86_64). STACKS says
 * where their stacks are: `block` (one behind the other in one block of the heap), `pages` (mapped, with
 * guard pages), `again` (one block, where stacks of random sizes take the place of those of the round
 * before), or `freed` (blocks or mappings that are freed behind the round). ROUNDS sets of FIBERS fibers run
 * one after the other. In each, some fibers are left for good in the middle of their functions; how, chance
 * decides: they are not gone on with any more, or they leave by longjmp() to the scheduler's stack. Some run
 * to their ends on another thread than they began on. All numbers follow from FXT_SEED.
 *
 * Lines: `+ FIBER FUNCTION` and `- FIBER FUNCTION` for the begin and end of each; FIBER is a number that
 * no other fiber has, and 0 for what runs on the threads' own stacks. The last event of a fiber that is
 * left for good is `! FIBER`: what it was in then has no end of its own. `~ FIBER` says that its stack is
 * freed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "need.h"
#include "random.h"

#define PLAIN __attribute__((no_instrument_function))

enum { FIBERS_MOST = 64, STACK_LEAST = 16 << 10, STACK_MOST = 64 << 10, PAGE = 4096, DEPTH_MOST = 24 };

struct fiber {
	ucontext_t context;
	void *stack_pointer;            /* where one that was left by hand goes on */
	char *stack;
	size_t bytes;
	int number, steps, leaves_at;
	bool is_over, jumps, is_mapped;
};

static struct fiber fibers[FIBERS_MOST], scheduler[2], *current;
static int fiber_count, last_number, thread_number;
static bool by_hand;
static jmp_buf back;
static uint64_t state;

static int run_some(int depth);

PLAIN static uint64_t below(uint64_t end)
{
	return random_of(&state) % end;
}

/* -- The account ------------------------------------------------------------------------------------ */

static char *said;
static size_t said_bytes, said_room;

PLAIN static void say(char what, int number, const char *function)
{
	if (said_room - said_bytes < 64) {
		said_room = 2 * said_room + 4096;
		said = realloc(said, said_room);
		need(said);
	}
	said_bytes += (size_t)sprintf(said + said_bytes, "%c %d %s\n", what, number, function);
}

#define BEGINS int number_ = current->number; say('+', number_, __func__)
#define ENDS say('-', number_, __func__)

/* -- Switches --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
void switch_by_hand(void **from, void *to);
__asm__(".text\n"
	".globl switch_by_hand\n"
	".type switch_by_hand, @function\n"
	"switch_by_hand:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n"
	"	ret\n"
	".size switch_by_hand, . - switch_by_hand\n");
#else
PLAIN static void switch_by_hand(void **from, void *to)
{
	(void)from;
	(void)to;
	abort();
}
#endif

PLAIN static void switch_to(struct fiber *to)
{
	struct fiber *from = current;

	current = to;
	if (by_hand)
		switch_by_hand(&from->stack_pointer, to->stack_pointer);
	else
		need(!swapcontext(&from->context, &to->context));
}

PLAIN static struct fiber *another(void)
{
	struct fiber *one;
	int i, first = (int)below((uint64_t)fiber_count);

	for (i = 0; i < fiber_count; i++) {
		one = &fibers[(first + i) % fiber_count];
		if (!one->is_over && one != current && one->number)
			return one;
	}
	return &scheduler[thread_number];
}

/* Leaves a fiber in the middle of what it is in. Sometimes it is the last time. */
PLAIN static void go_away(void)
{
	struct fiber *self = current;

	if (self->number && ++self->steps == self->leaves_at) {
		say('!', self->number, "");
		self->is_over = true;
		if (self->jumps && thread_number == 0) {
			current = &scheduler[0];
			longjmp(back, 1);
		}
		switch_to(&scheduler[thread_number]);
		abort();
	}
	switch_to(below(4) ? another() : &scheduler[thread_number]);
}

/* -- Functions -------------------------------------------------------------------------------------- */

#define FUNCTION(name)							\
	__attribute__((noinline)) static int name(int depth)		\
	{								\
		/* The frame grows, so the function ends further down than it began. */ \
		volatile char *frame = __builtin_alloca(16 + (size_t)depth % 3 * 200); \
		int sum;						\
									\
		BEGINS;							\
		frame[0] = (char)depth;					\
		sum = run_some(depth - 1);				\
		ENDS;							\
		return sum + frame[0];					\
	}

FUNCTION(one)
FUNCTION(two)
FUNCTION(three)
FUNCTION(four)

__attribute__((noinline)) static int leaf(int depth)
{
	BEGINS;
	ENDS;
	return depth;
}

/* Is entered from many places, and gone on with somewhere else. */
__attribute__((noinline)) static void yield(void)
{
	BEGINS;
	go_away();
	ENDS;
}

PLAIN static int run_some(int depth)
{
	static int (*const all[])(int) = {one, two, three, four, leaf};
	int sum = 0, i, count = (int)below(3);

	for (i = 0; i <= count; i++) {
		if (depth <= 0 || below(3) == 0)
			sum += leaf(depth);
		else
			sum += all[below(5)](depth);
		if (below(3) == 0)
			yield();
		else if (below(8) == 0)
			go_away();
	}
	return sum;
}

__attribute__((noinline)) static void whole(void)
{
	BEGINS;
	run_some(2 + (int)below(5));
	ENDS;
}

/* The other outermost function, so that a fiber does not always begin as the one before. */
__attribute__((noinline)) static void other(void)
{
	char room[300];

	BEGINS;
	memset(room, number_, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	leaf(1);
	yield();
	run_some(4);
	ENDS;
}

PLAIN static void body(void)
{
	if (current->number % 3)
		whole();
	else
		other();
	current->is_over = true;
	switch_to(&scheduler[thread_number]);
	abort();
}

/* -- The scheduler ---------------------------------------------------------------------------------- */

PLAIN static void begin(struct fiber *fiber)
{
	uintptr_t *top;

	fiber->number = ++last_number;
	fiber->steps = 0;
	fiber->is_over = false;
	fiber->leaves_at = below(4) ? 0 : 1 + (int)below(6);
	fiber->jumps = !by_hand && below(2);
	if (by_hand) {
		top = (uintptr_t *)(fiber->stack + fiber->bytes) - 3;
		*top = 0;
		*--top = (uintptr_t)body;
		fiber->stack_pointer = top - 6;
		memset(fiber->stack_pointer, 0, 6 * sizeof(*top));
		return;
	}
	need(!getcontext(&fiber->context));
	fiber->context.uc_stack = (stack_t){.ss_sp = fiber->stack, .ss_size = fiber->bytes};
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, body, 0);
}

__attribute__((noinline)) static void resume(struct fiber *fiber)
{
	BEGINS;
	switch_to(fiber);
	ENDS;
}

/* Runs fibers until `steps` switches have been made from here, or all are over. */
PLAIN static void run(int steps)
{
	struct fiber *next;
	volatile int left = steps;

	current = &scheduler[thread_number];
	if (thread_number == 0 && setjmp(back)) {
		/* What the thread was in is left. */
		say('!', 0, "");
	}
	while (left-- > 0) {
		next = another();
		if (next == current)
			return;
		resume(next);
		leaf(0);
	}
}

PLAIN static void *run_there(void *steps)
{
	thread_number = 1;
	run(*(int *)steps);
	thread_number = 0;
	return NULL;
}

PLAIN static void take_stack(struct fiber *fiber)
{
	fiber->bytes = STACK_MOST;
	fiber->is_mapped = below(2);
	if (fiber->is_mapped) {
		fiber->stack = mmap(NULL, fiber->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);
		need(fiber->stack != MAP_FAILED);
	} else {
		fiber->stack = malloc(fiber->bytes);
		need(fiber->stack);
	}
}

PLAIN static void free_stack(struct fiber *fiber)
{
	if (fiber->is_mapped)
		need(!munmap(fiber->stack, fiber->bytes));
	else
		free(fiber->stack);
	say('~', fiber->number, "");
}

PLAIN int main(int argc, char **argv)
{
	int round, rounds, i, steps;
	char *block, *at;
	pthread_t thread;
	bool pages, again, freed;

	need(argc == 5);
	by_hand = !strcmp(argv[1], "hand");
	pages = !strcmp(argv[2], "pages");
	again = !strcmp(argv[2], "again");
	freed = !strcmp(argv[2], "freed");
	fiber_count = atoi(argv[3]);
	rounds = atoi(argv[4]);
	need(fiber_count <= FIBERS_MOST);
#if !defined(__x86_64__)
	if (by_hand)
		return 77;
#endif
	random_seed(0);
	state = random_state_of(1);
	block = malloc((size_t)fiber_count * STACK_MOST);
	need(block);
	at = block;
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < fiber_count; i++) {
			if (freed) {
				take_stack(&fibers[i]);
			} else if (pages && !fibers[i].stack) {
				at = mmap(NULL, STACK_MOST + PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
				need(at != MAP_FAILED && !mprotect(at, PAGE, PROT_NONE));
				fibers[i].stack = at + PAGE;
				fibers[i].bytes = STACK_MOST;
			} else if (!pages && (again || !fibers[i].stack)) {
				if (!i)
					at = block;
				fibers[i].bytes = STACK_LEAST;
				if (again)
					fibers[i].bytes += below(STACK_MOST - STACK_LEAST) & ~(size_t)15;
				fibers[i].stack = at;
				at += fibers[i].bytes;
			}
			begin(&fibers[i]);
		}
		/* The fibers go on in another thread, and come back. */
		steps = (int)below(40);
		run(steps);
		need(!pthread_create(&thread, NULL, run_there, &steps) && !pthread_join(thread, NULL));
		run(1 << 20);
		for (i = 0; freed && i < fiber_count; i++)
			free_stack(&fibers[i]);
		leaf(0);
	}
	fwrite(said, 1, said_bytes, stdout);
	return 0;
}
