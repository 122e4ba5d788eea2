/* This program runs a coroutine in a thread whose stack is small, of a size that the program has chosen.
 * Below the thread's stack lies the coroutine's, where the stack of a thread of the usual size would still
 * be. The coroutine's function within() is left and entered again some times. While it is left the thread
 * calls between(), so within() is over after all of these calls.
 *
 *	coroutines KIBIBYTES    of the thread's stack
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "need.h"

enum { TURNS = 5, COROUTINE_BYTES = 64 << 10 };

void within(void);
void between(void);

static ucontext_t scheduler, coroutine;
static int is_over;

__attribute__((noinline)) void between(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void within(void)
{
	int i;

	for (i = 0; i < TURNS; i++)
		need(!swapcontext(&coroutine, &scheduler));
}

__attribute__((no_instrument_function)) static void begin(void)
{
	within();
	is_over = 1;
	swapcontext(&coroutine, &scheduler);
}

/* The coroutine's stack, and behind it the thread's. */
static char *pages;

__attribute__((no_instrument_function)) static void *run(void *argument)
{
	need(!getcontext(&coroutine));
	coroutine.uc_stack = (stack_t){pages, 0, COROUTINE_BYTES};
	makecontext(&coroutine, begin, 0);
	while (!is_over) {
		need(!swapcontext(&scheduler, &coroutine));
		if (!is_over)
			between();
	}
	return argument;
}

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 10;
	pthread_attr_t attributes;
	pthread_t thread;
	int i;

	pages = mmap(NULL, COROUTINE_BYTES + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	need(pages != MAP_FAILED && !pthread_attr_init(&attributes));
	/* The thread's stack is in the program's own pages first, then in the C library's, which lie where
	 * the kernel puts them. */
	for (i = 0; i < 2; i++) {
		is_over = 0;
		need(i ? !pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, bytes)
		       : !pthread_attr_setstack(&attributes, pages + COROUTINE_BYTES, bytes));
		need(!pthread_create(&thread, &attributes, run, NULL) && !pthread_join(thread, NULL));
	}
	return 0;
}
