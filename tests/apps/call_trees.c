/* Calls instrumented functions at random, and knows what it called. It is compiled with
 * -finstrument-functions.
 *
 *	call_trees CALLS [jumps]
 *
 * Threads call trees of the functions alpha() to eta(). In the middle of its tree one thread ends by
 * pthread_exit(), one is cancelled, one leaves its coroutine and comes back to it, and the first one forks.
 * Its child goes on in the same tree. With `jumps` functions are also left by longjmp(),
 * and nothing is forked.
 *
 * For each call it prints "PID THREAD DEPTH NAME", in the order of the calls of a thread. The functions that
 * a child was in when it was forked come first in its part, marked by a minus in front of the depth.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <ucontext.h>

#define PLAIN __attribute__((no_instrument_function))

PLAIN static void need(bool condition);

#include "need.h"
#include "random.h"

enum { FUNCTIONS = 7, DEPTH_MOST = 30, LOG_MOST = 200000, JUMP_DEPTH = 8, STACK_BYTES = 1 << 18 };
enum ending { RETURNS, EXITS, IS_CANCELLED, SWITCHES, FORKS };

static const char *const names[FUNCTIONS] = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"};

struct entry {
	int name, depth;
};

struct tree {
	int number, calls, end_at;
	enum ending ending;
	bool jumps, is_ended;
	int depth, used;
	int stack[DEPTH_MOST + 1];
	jmp_buf back[DEPTH_MOST + 1];
	ucontext_t own, coroutine;
	struct entry log[LOG_MOST];
};

static void alpha(struct tree *tree);
static void beta(struct tree *tree);
static void gamma_(struct tree *tree) __asm__("gamma");
static void delta(struct tree *tree);
static void epsilon(struct tree *tree);
static void zeta(struct tree *tree);
static void eta(struct tree *tree);

PLAIN static void print(const struct tree *tree)
{
	int i;

	for (i = 0; i < tree->used; i++)
		printf("%d %d %d %s\n", (int)getpid(), tree->number, tree->log[i].depth,
		       names[tree->log[i].name]);
	fflush(stdout);
}

PLAIN static void call(struct tree *tree, int name)
{
	switch (name) {
	case 0: alpha(tree); break;
	case 1: beta(tree); break;
	case 2: gamma_(tree); break;
	case 3: delta(tree); break;
	case 4: epsilon(tree); break;
	case 5: zeta(tree); break;
	default: eta(tree); break;
	}
}

/* Becomes the child's: what it is in already was called by its parent. */
PLAIN static void inherit(struct tree *tree)
{
	int i;

	tree->used = tree->depth;
	for (i = 0; i < tree->depth; i++)
		tree->log[i] = (struct entry){tree->stack[i], -i - 1};
	tree->calls += 200;
	tree->number = 9;
}

PLAIN static void end(struct tree *tree)
{
	tree->is_ended = true;
	switch (tree->ending) {
	case EXITS: print(tree); pthread_exit(NULL);
	case IS_CANCELLED:
		print(tree);
		pthread_cancel(pthread_self());
		pthread_testcancel();
		break;
	case SWITCHES: swapcontext(&tree->coroutine, &tree->own); break;
	case FORKS:
		fflush(stdout);
		if (!fork())
			inherit(tree);
		break;
	case RETURNS: break;
	}
}

/* Is the body of each function. */
PLAIN static void body(struct tree *tree, int name)
{
	int depth = tree->depth + 1;

	tree->stack[depth - 1] = name;
	tree->depth = depth;
	need(tree->used < LOG_MOST);
	tree->log[tree->used++] = (struct entry){name, depth};
	if (tree->used >= tree->end_at && !tree->is_ended)
		end(tree);
	if (tree->jumps && setjmp(tree->back[depth]))
		tree->depth = depth;
	while (tree->used < tree->calls && depth < DEPTH_MOST && random_below(3)) {
		call(tree, (int)random_below(FUNCTIONS));
		if (tree->jumps && depth > JUMP_DEPTH && !random_below(20))
			longjmp(tree->back[depth - 1 - (int)random_below(3)], 1);
	}
	tree->depth = depth - 1;
}

#define FUNCTION(function, number)                                            \
	__attribute__((noinline)) static void function(struct tree *tree)     \
	{                                                                     \
		body(tree, number);                                           \
	}

FUNCTION(alpha, 0)
FUNCTION(beta, 1)
FUNCTION(gamma_, 2)
FUNCTION(delta, 3)
FUNCTION(epsilon, 4)
FUNCTION(zeta, 5)
FUNCTION(eta, 6)

PLAIN static struct tree *make(int number, int calls, enum ending ending)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	need(tree);
	tree->number = number;
	tree->calls = calls;
	tree->end_at = calls / 2;
	tree->ending = ending;
	return tree;
}

PLAIN static void grow(struct tree *tree)
{
	while (tree->used < tree->calls)
		call(tree, (int)random_below(FUNCTIONS));
}

/* Begins the coroutine, and finds its tree. */
static __thread struct tree *of_coroutine;

PLAIN static void begin(void)
{
	grow(of_coroutine);
	swapcontext(&of_coroutine->coroutine, &of_coroutine->own);
}

PLAIN static void grow_elsewhere(struct tree *tree)
{
	char *stack = malloc(STACK_BYTES);

	need(stack && !getcontext(&tree->coroutine));
	tree->coroutine.uc_stack = (stack_t){stack, 0, STACK_BYTES};
	makecontext(&tree->coroutine, begin, 0);
	of_coroutine = tree;
	need(!swapcontext(&tree->own, &tree->coroutine));
	need(!swapcontext(&tree->own, &tree->coroutine));
}

PLAIN static void *run(void *argument)
{
	struct tree *tree = argument;

	random_seed((uint64_t)tree->number);
	if (tree->ending == SWITCHES)
		grow_elsewhere(tree);
	else
		grow(tree);
	print(tree);
	return NULL;
}

PLAIN int main(int argc, char **argv)
{
	static const enum ending endings[] = {RETURNS, EXITS, IS_CANCELLED, SWITCHES};
	int calls = argc > 1 ? atoi(argv[1]) : 1000, i;
	pid_t parent = getpid();
	struct tree *tree;
	pthread_t thread;

	random_seed(0);
	for (i = 0; i < (int)(sizeof(endings) / sizeof(*endings)); i++) {
		tree = make(1 + i, calls, endings[i]);
		tree->jumps = argc > 2;
		need(!pthread_create(&thread, NULL, run, tree) && !pthread_join(thread, NULL));
	}
	tree = make(0, calls, argc > 2 ? RETURNS : FORKS);
	tree->jumps = argc > 2;
	grow(tree);
	/* The lines of two processes must not be mixed. */
	while (getpid() == parent && wait(NULL) > 0)
		;
	print(tree);
	if (getpid() != parent)
		_exit(0);
	return 0;
}
