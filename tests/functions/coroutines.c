/* Runs coroutines, which are left and entered again in the middle of functions. Two coroutines have stacks of
 * their own. Two others share one stack: when one of them is left its frames are copied away, and they are
 * copied back before it goes on, as greenlet does. */
#include <stdbool.h>
#include <ucontext.h>

#include "counted.h"

enum { COROUTINES = 4, STACK_BYTES = 1 << 16, ROUNDS = 5 };

struct coroutine {
	ucontext_t context, back;
	char *stack, *frames;           /* frames: a copy of those on the shared stack */
	size_t bytes;
	int depth, sum;
	bool shares, is_over;
};

#if defined(__x86_64__)
#define STACK_POINTER(context) ((context).uc_mcontext.gregs[REG_RSP])
#elif defined(__aarch64__)
#define STACK_POINTER(context) ((context).uc_mcontext.sp)
#else
#error "where does a context have its stack pointer?"
#endif

static struct coroutine *current;

COUNTED static void yield(void)
{
	struct coroutine *self = current;

	HERE;
	need(!swapcontext(&self->context, &self->back));
}

COUNTED static int leaf(int n)
{
	HERE;
	return n & 1;
}

COUNTED static int climb(int n)
{
	int above = 0;

	HERE;
	if (n % 3 == 0)
		yield();
	if (n)
		above = climb(n - 1);
	KEEP(above);
	if (n % 4 == 0)
		yield();
	return above + leaf(n);
}

COUNTED static int count_down(int n)
{
	int i, sum = 0;

	HERE;
	for (i = n; i > 0; i--) {
		yield();
		sum += leaf(i);
	}
	return sum;
}

/* Is the outermost function of each coroutine. When it returns, the context that uc_link names goes on. */
COUNTED static void body(void)
{
	int i;

	HERE;
	for (i = 0; i < ROUNDS; i++) {
		current->sum += climb(current->depth);
		current->sum += count_down(i);
	}
	current->is_over = true;
}

/* Copies the frames of a coroutine that does not run, and overwrites them. */
PLAIN static void save(struct coroutine *coroutine)
{
	char *top = coroutine->stack + STACK_BYTES;
	char *bottom = (char *)STACK_POINTER(coroutine->context);

	coroutine->bytes = (size_t)(top - bottom);
	coroutine->frames = realloc(coroutine->frames, coroutine->bytes);
	need(coroutine->frames);
	memcpy(coroutine->frames, bottom, coroutine->bytes);
	memset(coroutine->stack, 0x55, STACK_BYTES);
}

PLAIN static void restore(struct coroutine *coroutine)
{
	memcpy(coroutine->stack + STACK_BYTES - coroutine->bytes, coroutine->frames, coroutine->bytes);
}

COUNTED static void resume(struct coroutine *coroutine)
{
	HERE;
	current = coroutine;
	if (coroutine->shares)
		restore(coroutine);
	need(!swapcontext(&coroutine->back, &coroutine->context));
	if (coroutine->shares && !coroutine->is_over)
		save(coroutine);
}

COUNTED static void make(struct coroutine *coroutine, char *stack, int depth, bool shares)
{
	HERE;
	coroutine->depth = depth;
	coroutine->shares = shares;
	coroutine->stack = stack;
	need(stack && !getcontext(&coroutine->context));
	coroutine->context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
	coroutine->context.uc_link = &coroutine->back;
	makecontext(&coroutine->context, body, 0);
	if (shares)
		save(coroutine);
}

int main(void)
{
	static struct coroutine all[COROUTINES];
	char *shared = malloc(STACK_BYTES);
	int i, going = COROUTINES;

	HERE;
	for (i = 0; i < COROUTINES; i++)
		make(&all[i], i < 2 ? malloc(STACK_BYTES) : shared, 10 + 8 * i, i >= 2);
	while (going)
		for (i = 0; i < COROUTINES; i++)
			if (!all[i].is_over) {
				resume(&all[i]);
				leaf(i);
				going -= all[i].is_over;
			}
	for (i = 0; i < COROUTINES; i++)
		need(all[i].sum == ROUNDS * (all[i].depth / 2) + 6);
	print_counts();
	return 0;
}
