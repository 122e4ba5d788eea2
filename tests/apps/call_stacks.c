/* Makes calls that have a call stack in the trace, and says for each which one:
 * "TID WHAT CALLER CALLER ...", with the innermost first. A caller is a module and the address of the last
 * byte of its call there; they are found by the compiler's own unwinder. Functions with frames of all kinds
 * call each other in a random order, as deep as FXT_SEED says, in two threads, in handlers on an alternate
 * stack, and on a coroutine's stack.
 *
 *	call_stacks [ROUNDS]
 */
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "random.h"

#define APART __attribute__((noinline, noclone))

enum { FRAMES_MOST = 300, BIG_BYTES = 1 << 17, STACK_BYTES = 1 << 18 };

static __thread uint64_t numbers;
static volatile unsigned sink;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static const char *own_name;

static unsigned below(unsigned most)
{
	return (unsigned)(random_of(&numbers) % most);
}

/* -- What the unwinder says ------------------------------------------------------------------------ */

struct stack {
	uintptr_t places[FRAMES_MOST];
	int count;
};

/* The frame that the kernel makes for a handler is no caller. */
static int is_signal_frame(uintptr_t address)
{
	static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return memcmp((const void *)address, code, sizeof(code)) == 0;
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
	struct stack *stack = argument;
	int is_exact = 0;
	uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);

	if (stack->count == FRAMES_MOST || !address)
		return _URC_END_OF_STACK;
	if (!is_signal_frame(address))
		stack->places[stack->count++] = address - !is_exact;
	return _URC_NO_REASON;
}

/* Says what the calling function's callers are. The line is written at once, and by a call that is not
 * traced, because handlers come in between. */
APART static void say(const char *what)
{
	char line[16384];
	struct stack stack = {.count = 0};
	int used, i;

	used = snprintf(line, sizeof(line), "%d %s", (int)unseen(SYS_gettid), what);
	_Unwind_Backtrace(take_frame, &stack);
	/* The first two are this function and the one that makes the call. */
	for (i = 2; i < stack.count; i++) {
		struct link_map *object;
		const char *name;
		Dl_info info;

		if (!dladdr1((void *)stack.places[i], &info, (void **)&object, RTLD_DL_LINKMAP))
			continue;
		name = strrchr(object->l_name, '/');
		name = name ? name + 1 : *object->l_name ? object->l_name : own_name;
		/* Functions of the agent are on the stack of a thread, and in no stack of the trace. */
		if (!strncmp(name, "libfxtagent", 11))
			continue;
		used += snprintf(line + used, sizeof(line) - (size_t)used, " %s+0x%lx", name,
				 (unsigned long)(stack.places[i] - object->l_addr));
	}
	line[used++] = '\n';
	unseen(SYS_write, 1, line, (size_t)used);
}

/* -- Calls that have a stack ----------------------------------------------------------------------- */

APART static void opens(void)
{
	say("file");
	close(open("/dev/null", O_RDONLY));
	sink++;
}

APART static void allocates(void)
{
	char *block;

	say("block");
	block = malloc(BIG_BYTES);
	block[0] = 1;
	say("freed");
	free(block);
	sink++;
}

APART static void maps(void)
{
	void *pages;

	say("mapping");
	pages = mmap(NULL, BIG_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages, BIG_BYTES);
	sink++;
}

APART static void is_slow(void)
{
	say("slow");
	usleep(300);
	sink++;
}

static void (*const leaves[])(void) = {opens, maps, is_slow, allocates};

/* -- Functions with frames of all kinds -------------------------------------------------------------- */

static void call_on(unsigned depth);

APART static void plain(unsigned depth)
{
	call_on(depth);
	sink++;
}

APART __attribute__((optimize("no-omit-frame-pointer"))) static void with_frame_pointer(unsigned depth)
{
	call_on(depth);
	sink++;
}

APART static void with_alloca(unsigned depth)
{
	volatile char *array = alloca(16 + below(1000));

	array[0] = (char)depth;
	call_on(depth);
	sink += (unsigned char)array[0];
}

APART static void with_alignment(unsigned depth)
{
	_Alignas(64) volatile char array[128];

	array[depth % 128] = (char)depth;
	call_on(depth);
	sink += (unsigned char)array[depth % 128];
}

APART static void with_registers(unsigned depth)
{
	unsigned a = sink, b = a * 3 + 1, c = b ^ a, d = c * 7, e = d - b, f = e * a;

	call_on(depth);
	sink = a + b * 3 + c * 5 + d * 7 + e * 11 + f;
}

static __thread unsigned depth_of_sort;

static int compare(const void *a, const void *b)
{
	unsigned depth = depth_of_sort;

	depth_of_sort = 0;
	if (depth)
		call_on(depth - 1);
	return *(const int *)a - *(const int *)b;
}

/* Calls through a function of the C library. */
APART static void through_sort(unsigned depth)
{
	int some[] = {3, 1, 2, (int)below(9)};

	depth_of_sort = depth + 1;
	qsort(some, 4, sizeof(*some), compare);
	sink++;
}

static void (*const kinds[])(unsigned depth) = {plain, with_frame_pointer, with_alloca, with_alignment,
						with_registers, through_sort};

static __thread unsigned leaf_count = sizeof(leaves) / sizeof(*leaves);

APART static void call_on(unsigned depth)
{
	if (depth == 0)
		leaves[below(leaf_count)]();
	else
		kinds[below(sizeof(kinds) / sizeof(*kinds))](depth - 1);
	sink++;
}

/* -- Where they are called --------------------------------------------------------------------------- */

/* Calls what a handler may call. */
static void on_signal(int number)
{
	unsigned all = leaf_count;

	(void)number;
	leaf_count = 3;
	depth_of_sort = 0;
	plain(below(10));
	leaf_count = all;
}

static void rounds(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		/* Most stacks are whole, and some have more frames than a stack of the trace. */
		call_on(below(below(6) ? 25 : 90));
		if (!below(4))
			raise(SIGUSR1);
	}
}

static void *other_thread(void *argument)
{
	numbers = random_state_of(2);
	rounds(*(const unsigned *)argument);
	/* This lock is held, and is given up when this thread waits for it. */
	say("contended");
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return NULL;
}

/* The type of a mutex that somebody waits for has this in its word. */
static int is_waited_for(const pthread_mutex_t *mutex)
{
	return *(const volatile int *)&mutex->__data.__lock == 2;
}

static ucontext_t outside, inside;

static void coroutine(void)
{
	leaves[0]();
	swapcontext(&inside, &outside);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 50;
	stack_t alternate = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	char *stack = malloc(STACK_BYTES);
	pthread_t thread;

	random_seed(0);
	numbers = random_state_of(1);
	own_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	pthread_mutex_lock(&held);
	pthread_create(&thread, NULL, other_thread, &count);
	rounds(count);
	while (!is_waited_for(&held))
		sched_yield();
	pthread_mutex_unlock(&held);
	say("joins");
	pthread_join(thread, NULL);
	/* Only the innermost frame is known there. */
	getcontext(&inside);
	inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	say("freed");
	free(stack);
	return 0;
}
