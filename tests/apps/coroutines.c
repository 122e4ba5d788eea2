/* A coroutine of a thread whose stack is small, of a size that the program has chosen: below it lies the coroutine's, where the stack of a
 * thread of the usual size would still be. The function within() of the coroutine is left and entered again some times, and while it is
 * left the thread calls others; it is over after all of these.
 *
 *	coroutines KIBIBYTES    of the thread's stack
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { TURNS = 5, COROUTINE_BYTES = 64 << 10 };

void within(void);
void between(void);

static ucontext_t scheduler, coroutine;
static int is_over;

static void need(int condition)
{
	if (!condition)
		abort();
}

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

/* The stack's lowest address, and below it the coroutine's: a part of the same pages. */
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

	pages = mmap(NULL, COROUTINE_BYTES + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(pages != MAP_FAILED && !pthread_attr_init(&attributes));
	/* The program's own pages, and then the C library's, where the kernel puts them. */
	for (i = 0; i < 2; i++) {
		is_over = 0;
		need(i ? !pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, bytes)
		       : !pthread_attr_setstack(&attributes, pages + COROUTINE_BYTES, bytes));
		need(!pthread_create(&thread, &attributes, run, NULL) && !pthread_join(thread, NULL));
	}
	return 0;
}
