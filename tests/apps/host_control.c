/* This program has kinds of control flow that wrappers do not see: jumps, coroutines, handlers and callbacks.
 * Its arguments say which (see main()). It is compiled with -finstrument-functions. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

#include "host.h"
#include "random.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;
static sem_t sem;
static atomic_ulong handled;
static int null;

/* -- jump: out of a handler that interrupted whatever the thread was doing, emissions too ---------------- */

static volatile sig_atomic_t may_jump;

static void jump(int number)
{
	mark();
	if (may_jump)
		siglongjmp(back, number);
}

static void jumps(unsigned long times)
{
	struct sigaction action = {.sa_handler = jump};
	struct itimerval soon = {.it_value = {0, 100}};
	volatile unsigned long i;

	need(!sigaction(SIGALRM, &action, NULL));
	for (i = 0; i < times; i++) {
		soon.it_value.tv_usec = 50 + (suseconds_t)(i * 7 % 100);
		if (!sigsetjmp(back, 1)) {
			may_jump = 1;
			need(!setitimer(ITIMER_REAL, &soon, NULL));
			/* These calls use neither locks nor the heap: a jump out of either would be the
			 * program's own end. */
			for (;;) {
				need(write(null, "", 1) == 1);
				need(!sem_post(&sem) && !sem_trywait(&sem));
			}
		}
		may_jump = 0;
		mark();
	}
}

/* -- coroutines ----------------------------------------------------------------------------------------- */

static ucontext_t main_context, contexts[2];
static int turns;

__attribute__((noinline)) static void step(int depth, int other)
{
	if (depth) {
		step(depth - 1, other);
		return;
	}
	pthread_mutex_lock(&mutex);
	mark();
	allocate(20001);
	pthread_mutex_unlock(&mutex);
	need(!swapcontext(&contexts[1 - other], &contexts[other]));
	mark();
}

static void coroutine(int self)
{
	while (turns > 0) {
		turns--;
		step(turns % 5, 1 - self);
	}
}

static void coroutines(void)
{
	static char stacks[2][64 << 10];
	int i;

	turns = 4001;
	for (i = 0; i < 2; i++) {
		need(!getcontext(&contexts[i]));
		contexts[i].uc_stack = (stack_t){stacks[i], 0, sizeof(stacks[i])};
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	need(!swapcontext(&main_context, &contexts[0]));
	mark();
}

/* -- handlers -------------------------------------------------------------------------------------------- */

static void handler(int number)
{
	int error = errno;

	(void)number;
	mark();
	need(write(null, "x", 1) == 1);
	need(!sem_post(&sem));
	atomic_fetch_add(&handled, 1);
	errno = error;
}

static void small_handler(int number)
{
	/* malloc in a handler is wrong unless, as here, what was interrupted does not allocate. */
	allocate(20002);
	handler(number);
}

static void alternate(size_t bytes)
{
	char *memory = mmap(NULL, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack;
	struct sigaction action = {.sa_handler = small_handler, .sa_flags = SA_ONSTACK};
	int i;

	/* The stack lies just above memory that nobody may touch. */
	need(memory != MAP_FAILED && !mprotect(memory, 4096, PROT_NONE));
	stack = (stack_t){memory + 4096, 0, bytes};
	need(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < 100; i++)
		need(!raise(SIGUSR1));
}

/* Runs in a thread that starts tracing in a handler on such a stack. */
static void *alternate_thread(void *argument)
{
	alternate((size_t)argument);
	return NULL;
}

enum { SIGNALS = 20000 };

static atomic_bool stop;

static void *send_signals(void *argument)
{
	pthread_t target = *(pthread_t *)argument;
	unsigned long sent = 0;
	sigset_t all;

	sigfillset(&all);
	need(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	while (sent < SIGNALS) {
		need(!pthread_kill(target, SIGUSR1));
		sent++;
		/* Signals do not queue, so the next one is sent when as many were handled. */
		while (atomic_load(&handled) < sent)
			sched_yield();
	}
	atomic_store(&stop, true);
	return NULL;
}

/* Does traced work in a storm of signals. The program counts every handler. */
static void storm(unsigned long times)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 1000}, {0, 1000}};
	pthread_t self = pthread_self(), sender;
	unsigned long i;

	need(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGALRM, &action, NULL));
	need(!setitimer(ITIMER_REAL, &often, NULL));
	need(!pthread_create(&sender, NULL, send_signals, &self));
	for (i = 0; i < times || !atomic_load(&stop); i++) {
		if (i > times)
			usleep(10);
		mark();
		pthread_mutex_lock(&mutex);
		allocate(100 + i % 1000);
		pthread_mutex_unlock(&mutex);
		errno = 77;
		need(write(null, "y", 1) == 1 && errno == 77);
	}
	need(!pthread_join(sender, NULL));
	often = (struct itimerval){{0, 0}, {0, 0}};
	need(!setitimer(ITIMER_REAL, &often, NULL));
}

/* -- callbacks: the program's own functions below the C library's ---------------------------------------- */

static int compare(const void *a, const void *b)
{
	mark();
	return *(const int *)a - *(const int *)b;
}

/* Leaves the search that it is called by. */
static int leave(const void *a, const void *b)
{
	(void)a;
	(void)b;
	jump(1);
	return 0;
}

static void once(void)
{
	mark();
}

static void callbacks(void)
{
	static pthread_once_t control = PTHREAD_ONCE_INIT;
	int numbers[] = {5, 3, 9, 1, 7}, i;
	volatile int key = 9;

	qsort(numbers, 5, sizeof(int), compare);
	for (i = 0; i < 3; i++)
		need(!pthread_once(&control, once));
	need(bsearch((int *)&key, numbers, 5, sizeof(int), compare));
	if (!sigsetjmp(back, 1)) {
		may_jump = 1;
		bsearch((int *)&key, numbers, 5, sizeof(int), leave);
		need(false);
	}
	printf("sorted %d %d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
	fflush(stdout);
}

/* -- stepping: the program single-steps itself, through all that a call does --------------------------- */

#ifdef __x86_64__
#define TRAP_FLAG 0x100

static volatile unsigned long steps;

static void stepped(int number)
{
	(void)number;
	steps++;
}

__attribute__((no_instrument_function)) static void step_itself(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

/* The kernel ends a program that makes a step while SIGTRAP is blocked, so the C library's calls that block
 * all signals are not among these. Each step is a signal, which costs a microsecond. So what is done once,
 * such as looking up names, is done in a first round that makes no steps. Arguments are random. */
__attribute__((no_instrument_function)) static void stepping(unsigned long rounds)
{
	struct sigaction action = {.sa_handler = stepped};
	static char text[PATH_MAX];
	void *kept[8] = {NULL};
	unsigned long round, before;
	size_t i;

	random_seed(0);
	path_nowhere_fill(text);
	need(!sigaction(SIGTRAP, &action, NULL));
	for (round = 0; round < rounds; round++) {
		before = steps;
		step_itself(round > 0);
		for (i = 0; i < 8; i++) {
			free(kept[i]);
			kept[i] = malloc(random_below(300000));
			need(kept[i] && access(path_nowhere(text, random_length(PATH_MOST)), F_OK) == -1);
			mark();
		}
		step_itself(false);
		need(steps > before || !round);
	}
	printf("%lu rounds\n", rounds);
}
#else
static void stepping(unsigned long rounds)
{
	printf("%lu rounds\n", rounds);
}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	pthread_t thread;

	null = open("/dev/null", O_WRONLY);
	need(!sem_init(&sem, 0, 0));
	if (!strcmp(what, "jumps")) {
		jumps(times);
	} else if (!strcmp(what, "coroutines")) {
		coroutines();
	} else if (!strcmp(what, "alternate")) {
		alternate(times);
		need(!pthread_create(&thread, NULL, alternate_thread, (void *)times) &&
		     !pthread_join(thread, NULL));
	} else if (!strcmp(what, "stepping")) {
		stepping(times);
	} else if (!strcmp(what, "storm")) {
		storm(times);
	} else if (!strcmp(what, "callbacks")) {
		callbacks();
	} else {
		return 2;
	}
	say("done\n");
	print_marks();
	return 0;
}
