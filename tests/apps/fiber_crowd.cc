// This program has many fibers, which several threads run in turn, each thread any of them. It prints for
// each fiber what its functions did, so a script can compare that with the trace: the program is compiled
// with -finstrument-functions, and what keeps the account is not.
//
//	fiber_crowd HOW THREADS FIBERS STACK
//
// HOW is how they switch: `context` (swapcontext) or `hand` (written by hand, on x86_64). Where THREADS is 0
// the main thread runs all. STACK is the size of their stacks, which lie one behind the other. First all
// functions run on the main thread's own stack, so none is new when a fiber enters it. Fibers yield, throw
// exceptions through their functions, get signals, on their own stack and on an alternate one, and fork: the
// child goes on with that fiber alone, and prints its account. All numbers follow from FXT_SEED, but which
// thread runs which fiber does not.
//
// A line for each fiber and process: `ACCOUNT +body +one -one ... -body`. Of a child, the functions that it
// was forked in come first. A line `HANDLED NUMBER` is about the handlers on the alternate stack.
#include <sys/wait.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "need.h"
#include "random.h"
}

#define PLAIN __attribute__((no_instrument_function))
#define WHOLE __attribute__((noinline))

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

namespace {

struct fiber {
	ucontext_t context;
	void *stack_pointer;            // where one that was left by hand goes on
	fiber *runner;                  // what the thread goes on with that runs it
	uint64_t state;
	std::string *account;
	const char *inside[64];         // the functions that it is in
	int depth;
	bool is_over;
};

bool by_hand;
volatile bool is_child, is_warm;
std::deque<fiber *> *ready;
std::mutex *ready_lock;
std::atomic<bool> is_any;
std::atomic<int> left_over, handled_count, forks;
__thread fiber *current;

PLAIN WHOLE fiber *self()
{
	fiber *volatile one = current;

	return one;
}

PLAIN WHOLE void set_self(fiber *one)
{
	current = one;
}

PLAIN uint64_t below(uint64_t end)
{
	return random_of(&self()->state) % end;
}

// -- The account --------------------------------------------------------------------------------------

PLAIN void say(char what, const char *name)
{
	fiber *one = self();

	if (is_warm)
		return;
	*one->account += ' ';
	*one->account += what;
	*one->account += name;
	if (what == '+')
		one->inside[one->depth++] = name;
	else
		one->depth--;
}

// Says when it is destroyed that the function has ended, if an exception leaves it, too.
struct says {
	const char *name;

	PLAIN explicit says(const char *function) : name(function) { say('+', name); }
	PLAIN ~says() { say('-', name); }
};

#define SAYS says says_(__func__)

// -- Switches -----------------------------------------------------------------------------------------

#if defined(__x86_64__)
extern "C" void crowd_switch(void **from, void *to);
__asm__(".text\n"
	".globl crowd_switch\n"
	".type crowd_switch, @function\n"
	"crowd_switch:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n"
	"	ret\n"
	".size crowd_switch, . - crowd_switch\n");
#else
PLAIN void crowd_switch(void **, void *)
{
	abort();
}
#endif

PLAIN WHOLE void switch_to(fiber *to)
{
	fiber *from = self();

	set_self(to);
	if (by_hand)
		crowd_switch(&from->stack_pointer, to->stack_pointer);
	else
		need(!swapcontext(&from->context, &to->context));
}

// -- Functions ----------------------------------------------------------------------------------------

PLAIN void run_some(int depth);

#define FUNCTION(name, bytes)						\
	WHOLE void name(int depth)					\
	{								\
		volatile char room[bytes];				\
		SAYS;							\
									\
		room[0] = (char)depth;					\
		run_some(depth - 1);					\
		(void)room[0];						\
	}

FUNCTION(one, 8)
FUNCTION(two, 100)
FUNCTION(three, 300)

WHOLE void leaf()
{
	SAYS;
}

WHOLE void yield()
{
	SAYS;

	if (!is_warm)
		switch_to(self()->runner);
}

WHOLE void throws(int depth)
{
	SAYS;

	if (!depth)
		throw depth;
	throws(depth - 1);
}

WHOLE void caught(int)
{
	SAYS;
	leaf();
}

// Runs on the alternate stack, which is no fiber.
WHOLE void handled(int)
{
	handled_count++;
}

PLAIN void fork_here()
{
	fiber *one = self();
	pid_t child;

	if (is_warm || is_child || forks >= 8)
		return;
	forks++;
	child = fork();
	need(child >= 0);
	if (child)
		return;
	is_child = true;
	handled_count = 0;
	one->account->clear();
	for (int i = 0; i < one->depth; i++)
		*one->account += std::string(" +") + one->inside[i];
}

PLAIN void run_some(int depth)
{
	int count = (int)below(3);

	for (int i = 0; i <= count; i++) {
		switch (depth > 0 ? below(8) : 7) {
		case 0: case 1: one(depth); break;
		case 2: two(depth); break;
		case 3: three(depth); break;
		default: leaf(); break;
		}
		switch (below(24)) {
		case 0: case 1: case 2: case 3: case 4: case 5: yield(); break;
		case 6:
			try {
				throws((int)below(4));
			} catch (int) {
			}
			break;
		case 7: raise(SIGUSR1); break;
		case 8: raise(SIGUSR2); break;
		case 9:
			if (!below(4))
				fork_here();
			break;
		default: break;
		}
	}
}

WHOLE void body()
{
	SAYS;
	// Functions that end in the first turn of the first fiber are not seen to be a fiber's:
	// docs/fibers.md.
	if (!is_warm && !is_any.exchange(true))
		yield();
	run_some(2 + (int)below(4));
}

PLAIN void begins()
{
	body();
	self()->is_over = true;
	switch_to(self()->runner);
	abort();
}

// -- The scheduler ------------------------------------------------------------------------------------

PLAIN void begin(fiber *one, uint64_t number, char *stack, size_t bytes)
{
	one->state = random_state_of(number);
	one->account = new std::string;
	if (by_hand) {
		uintptr_t *top = (uintptr_t *)(stack + bytes) - 3;

		*top = 0;
		*--top = (uintptr_t)begins;
		one->stack_pointer = top - 6;
		memset(one->stack_pointer, 0, 6 * sizeof(*top));
		return;
	}
	need(!getcontext(&one->context));
	one->context.uc_stack.ss_sp = stack;
	one->context.uc_stack.ss_size = bytes;
	one->context.uc_link = nullptr;
	makecontext(&one->context, begins, 0);
}

PLAIN void print_account(const fiber *one)
{
	printf("ACCOUNT%s\n", one->account->c_str());
}

WHOLE void resume(fiber *runner, fiber *one)
{
	one->runner = runner;
	switch_to(one);
}

PLAIN void use_alternate()
{
	stack_t stack = {};

	stack.ss_sp = malloc(65536);
	stack.ss_size = 65536;
	stack.ss_flags = (int)SS_AUTODISARM;
	need(stack.ss_sp);
	if (sigaltstack(&stack, nullptr)) {
		stack.ss_flags = 0;
		need(!sigaltstack(&stack, nullptr));
	}
}

WHOLE void work()
{
	fiber *runner = new fiber(), *one;

	use_alternate();
	set_self(runner);
	while (left_over) {
		one = nullptr;
		ready_lock->lock();
		if (!ready->empty()) {
			one = ready->front();
			ready->pop_front();
		}
		ready_lock->unlock();
		if (!one) {
			sched_yield();
			continue;
		}
		do {
			resume(runner, one);
		} while (is_child && !one->is_over);
		if (is_child) {
			print_account(one);
			printf("HANDLED %d\n", handled_count.load());
			fflush(stdout);
			_exit(0);
		}
		if (one->is_over) {
			left_over--;
			continue;
		}
		// Fibers behind the others and in front of them, so that the order changes.
		ready_lock->lock();
		if (random_of(&runner->state) % 4)
			ready->push_back(one);
		else
			ready->push_front(one);
		ready_lock->unlock();
	}
}

PLAIN void warm_up()
{
	static fiber own;

	own.state = random_state_of(1);
	set_self(&own);
	is_warm = true;
	for (int i = 0; i < 50; i++)
		body();
	try {
		throws(1);
	} catch (int) {
	}
	caught(0);
	handled(0);
	yield();
	is_warm = false;
}

} // namespace

PLAIN int main(int argc, char **argv)
{
	struct sigaction action = {};
	std::vector<std::thread> threads;
	int thread_count, fiber_count, status;
	size_t bytes;

	need(argc == 5);
	by_hand = !strcmp(argv[1], "hand");
	thread_count = atoi(argv[2]);
	fiber_count = atoi(argv[3]);
	bytes = (size_t)atoi(argv[4]);
	ready = new std::deque<fiber *>;
	ready_lock = new std::mutex;
	std::vector<fiber> fibers((size_t)fiber_count);
	random_seed(0);
	action.sa_handler = caught;
	need(!sigaction(SIGUSR1, &action, nullptr));
	action.sa_handler = handled;
	action.sa_flags = SA_ONSTACK;
	need(!sigaction(SIGUSR2, &action, nullptr));
	warm_up();
	char *block = (char *)malloc(bytes * (size_t)fiber_count);
	need(block);
	for (int i = 0; i < fiber_count; i++) {
		begin(&fibers[(size_t)i], (uint64_t)i + 2, block + bytes * (size_t)i, bytes);
		ready->push_back(&fibers[(size_t)i]);
	}
	left_over = fiber_count;
	for (int i = 0; i < thread_count; i++)
		threads.emplace_back(work);
	if (!thread_count)
		work();
	for (std::thread &one : threads)
		one.join();
	while (wait(&status) > 0)
		need(!status);
	for (const fiber &one : fibers)
		print_account(&one);
	printf("HANDLED %d\n", handled_count.load());
	return 0;
}
