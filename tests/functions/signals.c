/* Handles signals with functions that are counted. Handlers interrupt each other, run on a stack of their
 * own, and interrupt the functions of a loop anywhere. How often the timer's handler runs differs from run to
 * run. */
#include <signal.h>
#include <sys/time.h>

#include "counted.h"

enum { ROUNDS = 200, CALLS = 60000, NESTED = 8 };

static volatile int level;

COUNTED static int leaf(int n)
{
	HERE;
	return n + 1;
}

COUNTED static int middle(int n)
{
	HERE;
	return leaf(n) + leaf(n + 1);
}

COUNTED static void plain_handler(int signal)
{
	HERE;
	need(signal == SIGUSR1);
	need(middle(1) == 5);
}

COUNTED static void info_handler(int signal, siginfo_t *info, void *context)
{
	HERE;
	need(info->si_signo == signal && context);
	need(middle(2) == 7);
	raise(SIGUSR1);
	need(leaf(2) == 3);
}

COUNTED static void again_handler(int signal)
{
	HERE;
	if (++level < NESTED)
		raise(signal);
	level--;
	middle(level);
}

COUNTED static void stack_handler(int signal)
{
	HERE;
	leaf(signal);
	raise(SIGUSR2);
	raise(SIGUSR1);
}

COUNTED static void timer_handler(int signal)
{
	HERE;
	need(signal == SIGALRM);
	need(middle(3) == 9);
}

COUNTED static int raises(int signal)
{
	HERE;
	need(leaf(1) == 2);
	need(!raise(signal));
	return leaf(signal);
}

COUNTED static int busy(int n)
{
	HERE;
	return middle(n) + leaf(n);
}

PLAIN static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	need(!sigaction(signal, &action, NULL));
}

PLAIN static void set_timer(int us)
{
	struct itimerval timer = {{0, us}, {0, us}};

	need(!setitimer(ITIMER_REAL, &timer, NULL));
}

int main(void)
{
	static char stack[1 << 16];
	struct sigaction action = {.sa_sigaction = info_handler, .sa_flags = SA_SIGINFO};
	int i;

	HERE;
	need(!sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
	need(!sigaction(SIGUSR2, &action, NULL));
	handle(SIGUSR1, plain_handler, 0);
	handle(SIGHUP, again_handler, SA_NODEFER);
	handle(SIGWINCH, again_handler, SA_NODEFER | SA_ONSTACK);
	handle(SIGTERM, stack_handler, SA_ONSTACK);
	handle(SIGALRM, timer_handler, SA_RESTART);
	for (i = 0; i < ROUNDS; i++) {
		raises(SIGUSR1);
		raises(SIGUSR2);
		raises(SIGHUP);
		raises(SIGWINCH);
		raises(SIGTERM);
	}
	set_timer(100);
	for (i = 0; i < CALLS / 4; i++)
		need(busy(i) == 3 * i + 4);
	handle(SIGALRM, timer_handler, SA_RESTART | SA_ONSTACK);
	for (i = 0; i < CALLS / 4; i++)
		need(busy(i) == 3 * i + 4);
	set_timer(0);
	print_counts();
	return 0;
}
