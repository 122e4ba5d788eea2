/* Leaves functions by longjmp(), from functions that they call and from handlers of signals. */
#include <setjmp.h>
#include <signal.h>

#include "counted.h"

enum { DEPTH = 40, ROUNDS = 50 };

static jmp_buf back, at[DEPTH + 1];
static sigjmp_buf back_masked;

COUNTED static void leaf(void)
{
	HERE;
}

COUNTED static void jump(int value)
{
	HERE;
	longjmp(back, value);
}

COUNTED static void jump_masked(int value)
{
	HERE;
	siglongjmp(back_masked, value);
}

COUNTED static int descend(int depth, void (*last)(int))
{
	HERE;
	if (!depth)
		last(7);
	else
		depth = descend(depth - 1, last);
	KEEP(depth);
	return depth;
}

/* Leaves all functions that it calls, as many as `depth` says. */
COUNTED static void leave_all(int depth)
{
	int value;

	HERE;
	value = setjmp(back);
	if (!value)
		descend(depth, jump);
	need(value == 7);
	leaf();
}

COUNTED static void leave_all_masked(int depth)
{
	int value;

	HERE;
	value = sigsetjmp(back_masked, 1);
	if (!value)
		descend(depth, jump_masked);
	need(value == 7);
	leaf();
}

/* Jumps back by three levels from every fifth level, when it is reached first. The level that was jumped to
 * goes on. */
COUNTED static int staircase(int depth, char *jumped)
{
	volatile int rest = 0;

	HERE;
	if (setjmp(at[depth]))
		leaf();
	if (depth && depth % 5 == 0 && !jumped[depth]) {
		jumped[depth] = 1;
		longjmp(at[depth - 3], 1);
	}
	leaf();
	if (depth < DEPTH)
		rest = staircase(depth + 1, jumped);
	leaf();
	return rest + 1;
}

COUNTED static void handler(int signal)
{
	HERE;
	leaf();
	descend(3, signal == SIGUSR1 ? jump_masked : jump);
}

COUNTED static void signalled(int signal)
{
	HERE;
	if (signal == SIGUSR1) {
		if (!sigsetjmp(back_masked, 1))
			raise(signal);
	} else if (!setjmp(back)) {
		raise(signal);
	}
	leaf();
}

int main(void)
{
	static char stack[1 << 16];
	struct sigaction action = {.sa_handler = handler};
	int i;

	HERE;
	need(!sigaction(SIGUSR1, &action, NULL));
	action.sa_flags = SA_ONSTACK | SA_NODEFER;
	need(!sigaction(SIGUSR2, &action, NULL));
	need(!sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
	for (i = 0; i < ROUNDS; i++) {
		leave_all(i);
		leave_all_masked(i);
		need(staircase(0, (char[DEPTH + 1]){0}) == DEPTH + 1);
		signalled(SIGUSR1);
		signalled(SIGUSR2);
	}
	print_counts();
	return 0;
}
