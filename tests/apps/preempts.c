/* preempts SEED WAY STACKS: coroutines of one thread, which a timer's handler interrupts at any instruction
 * to go on with another one. They make calls that are safe in a handler, and yield by themselves now and
 * then. What SEED says is how many coroutines there are, how large their stacks, how often the timer
 * comes, and which calls they make. WAY is `context` (swapcontext) or `jump` (each coroutine begins in a
 * handler on an alternate stack, and all switch by siglongjmp). STACKS is `pages`, `block` or `static`. Some
 * coroutines are given up in the end, wherever they are. Prints how often each call was begun. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST = 12, MOST_BYTES = 256 * 1024 };

enum { READ, WRITE, LSEEK, PREAD, DUP, CLOSE, SLEEP, MASK, CALLS };
static const char *const names[CALLS] = {"read", "write", "lseek", "pread", "dup", "close", "nanosleep",
					    "sigprocmask"};
static volatile unsigned long begun[CALLS];

static struct coroutine {
	ucontext_t context;
	sigjmp_buf jump;
	unsigned random;
	volatile bool is_over;
} coroutines[MOST];
static ucontext_t main_context;
static sigjmp_buf main_jump;
static volatile unsigned current, count, over;
static unsigned rounds, wanted;
static bool jumps;
static int zero, file, queue[2];

static unsigned below(unsigned *state, unsigned limit)
{
	*state = *state * 1103515245u + 12345;
	return (*state >> 16) % limit;
}

static void go_to(unsigned to)
{
	unsigned from = current;

	current = to;
	if (!jumps)
		swapcontext(&coroutines[from].context, &coroutines[to].context);
	else if (!sigsetjmp(coroutines[from].jump, 1))
		siglongjmp(coroutines[to].jump, 1);
}

static void go_on(void)
{
	unsigned to = current;

	do
		to = (to + 1) % count;
	while (coroutines[to].is_over && to != current);
	if (to != current)
		go_to(to);
}

static void tick(int number)
{
	int error = errno;

	(void)number;
	go_on();
	errno = error;
}

/* Counts the call before it is made: whoever is given up has begun it. */
static void made(unsigned call)
{
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_fetch_add(&begun[call], 1, __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
}

static void hold(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	made(MASK);
	sigprocmask(how, &set, NULL);
}

static void call_something(struct coroutine *self)
{
	static const struct timespec pause = {0, 1000};
	char bytes[64];
	int fd;

	switch (below(&self->random, 8)) {
	case 0:
	case 1:
		made(READ);
		if (read(zero, bytes, 1 + below(&self->random, sizeof(bytes))) < 1)
			abort();
		break;
	case 2:
		made(WRITE);
		if (write(queue[1], bytes, 1) != 1 && errno != EAGAIN)
			abort();
		break;
	case 3:
		made(LSEEK);
		lseek(file, (off_t)below(&self->random, 1000), SEEK_SET);
		break;
	case 4:
		made(PREAD);
		if (pread(file, bytes, sizeof(bytes), 0) < 0)
			abort();
		break;
	case 5:
		made(DUP);
		fd = dup(zero);
		if (fd < 0)
			abort();
		made(CLOSE);
		close(fd);
		break;
	case 6:
		if (below(&self->random, 16))
			break;
		made(SLEEP);
		nanosleep(&pause, NULL);
		break;
	default:
		if (below(&self->random, 64))
			break;
		hold(SIG_BLOCK);
		go_on();
		hold(SIG_UNBLOCK);
	}
}

static void work(unsigned which)
{
	struct coroutine *self = &coroutines[which];
	unsigned round;

	hold(SIG_UNBLOCK);
	for (round = 0; round < rounds; round++)
		call_something(self);
	hold(SIG_BLOCK);
	self->is_over = true;
	if (++over < wanted)
		go_on();
	if (jumps)
		siglongjmp(main_jump, 1);
	setcontext(&main_context);
	abort();
}

static void work_by_context(int which)
{
	work((unsigned)which);
}

/* The handler in which a coroutine begins, on its stack. It goes on when someone jumps to it, and the handler
 * has returned by then. */
static volatile unsigned making;
static void begin(int number)
{
	unsigned which = making;

	(void)number;
	if (!sigsetjmp(coroutines[which].jump, 1))
		return;
	hold(SIG_BLOCK);
	work(which);
}

static void make(unsigned which, char *stack, size_t bytes)
{
	struct sigaction action = {.sa_handler = begin, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_sp = stack, .ss_size = bytes}, none = {.ss_flags = SS_DISABLE};

	if (!jumps) {
		getcontext(&coroutines[which].context);
		coroutines[which].context.uc_stack.ss_sp = stack;
		coroutines[which].context.uc_stack.ss_size = bytes;
		makecontext(&coroutines[which].context, (void (*)(void))work_by_context, 1, (int)which);
		return;
	}
	making = which;
	if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1) ||
	    sigaltstack(&none, NULL))
		abort();
}

int main(int argc, char **argv)
{
	static char stacks[MOST][MOST_BYTES] __attribute__((aligned(4096)));
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
	volatile size_t used = 0;
	unsigned random = argc > 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, i;
	struct itimerval often = {{0, 0}, {0, 0}}, never = {{0, 0}, {0, 0}};
	char path[] = "preempts.XXXXXX", text[1000];
	size_t bytes;

	if (argc != 4)
		return 2;
	jumps = !strcmp(argv[2], "jump");
	count = 2 + below(&random, MOST - 1);
	wanted = count - below(&random, count / 2 + 1);
	rounds = 2000 + below(&random, 20000);
	bytes = 32768u << below(&random, 4);
	often.it_interval.tv_usec = often.it_value.tv_usec = 50 + (int)below(&random, 950);
	zero = open("/dev/zero", O_RDONLY);
	file = mkstemp(path);
	unlink(path);
	if (zero < 0 || file < 0 || pipe2(queue, O_NONBLOCK))
		return 3;
	hold(SIG_BLOCK);
	for (i = 0; i < count; i++) {
		char *stack = !strcmp(argv[3], "pages")
			? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			: !strcmp(argv[3], "block") ? malloc(bytes) : stacks[i];

		if (!stack || stack == MAP_FAILED)
			return 4;
		coroutines[i].random = random + i;
		make(i, stack, bytes);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (!jumps)
		swapcontext(&main_context, &coroutines[0].context);
	else if (!sigsetjmp(main_jump, 1))
		siglongjmp(coroutines[0].jump, 1);
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; i < CALLS; i++)
		used += (size_t)sprintf(text + used, "%s %lu\n", names[i], begun[i]);
	sprintf(text + used, "left %u\n", count - over);
	fputs(text, stdout);
	return 0;
}
