/* This program uses up stacks of its own making, as language runtimes do that look after their own stacks:
 * it switches to mapped memory above a page that nobody may touch, and calls itself until it meets that page.
 * Its handler of SIGSEGV, on an alternate stack, leaves the stack by siglongjmp(). Arguments: how often, the
 * stack's size in bytes, and a number to draw frames' sizes from. */
#define _GNU_SOURCE
#include <alloca.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

#include "host.h"

enum { GUARD_BYTES = 4096 };

static sigjmp_buf back;
static char *guard;
static sem_t sem;
static int elsewhere;
static unsigned state;

static unsigned draw(void)
{
	state = state * 1103515245 + 12345;
	return state >> 16;
}

static void met(int signum, siginfo_t *info, void *context)
{
	(void)context;
	elsewhere += signum != SIGSEGV || (char *)info->si_addr < guard ||
		     (char *)info->si_addr >= guard + GUARD_BYTES;
	siglongjmp(back, 1);
}

static unsigned deeper(unsigned depth);

/* The compiler does not see that this never ends. */
static unsigned (*volatile go_deeper)(unsigned depth) = deeper;

/* The calls take no lock: a jump out of one that does would be the program's own end. */
static unsigned deeper(unsigned depth)
{
	volatile char *room = alloca(16 + draw() % 200);

	room[0] = (char)depth;
	if (sem_post(&sem) || sem_trywait(&sem) || write(-1, "", 1) != -1)
		abort();
	return go_deeper(depth + 1) + (unsigned)room[0];
}

static void use_up(void)
{
	exit((int)go_deeper(0));
}

#if defined(__x86_64__)
#define SWITCH(high) __asm__ volatile("movq %0, %%rsp\n\tcall *%1" : : "r"(high), "r"(use_up) : "memory")
#elif defined(__aarch64__)
#define SWITCH(high) __asm__ volatile("mov sp, %0\n\tblr %1" : : "r"(high), "r"(use_up) : "memory")
#endif

int main(int argc, char **argv)
{
	const size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 65536;
	volatile unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	stack_t alternate = {malloc(1 << 16), 0, 1 << 16};
	struct sigaction action = {.sa_sigaction = met, .sa_flags = SA_ONSTACK | SA_SIGINFO};

	state = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
	guard = mmap(NULL, bytes + GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(guard != MAP_FAILED && !mprotect(guard, GUARD_BYTES, PROT_NONE) && !sem_init(&sem, 0, 0));
	need(!sigaltstack(&alternate, NULL) && !sigaction(SIGSEGV, &action, NULL));
	for (; times; times--) {
		/* The memory is as large as before, and so is what of it has been touched. */
		if (!sigsetjmp(back, 1)) {
#ifdef SWITCH
			SWITCH(guard + GUARD_BYTES + bytes / 16 * 16);
#else
			puts("not on this machine");
			return 77;
#endif
		}
		while (!sem_trywait(&sem))
			;
		mark();
	}
	printf("met elsewhere than in the guard page: %d\n", elsewhere);
	print_marks();
	return 0;
}
