/* This compares the agent's walk over a stack, and the tree of calls that it keeps, with libunwind: the same
 * stack, from the same place. The code on the stack is in libraries that tests/e2e/walks.py makes, which call
 * compare() wherever they like; or a signal comes behind each of their instructions (the trap flag).
 *
 *	check_walks SEED WALKS STEPS LIBRARY...
 *
 * It walks from so many random beginnings, and behind so many instructions. It fails if a frame differs. A
 * stack of ours that ends before that of libunwind is counted, by the function whose caller was not found;
 * each line `ends` says which, and walks.py knows why it may. The frames of this program are no frames for
 * the agent, which takes them for its own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/stacks/code.h"
#include "agent/stacks/return_thunk.h"
#include "agent/stacks/stack_nodes.h"
#include "agent/stacks/stack_walk.h"
#include "walks.h"

enum { FRAMES_MOST = 400, ENDS_MOST = 1 << 18, TRAP_FLAG = 1 << 8, TELL_MOST = 5,
	FIRST_LIBRARY = 4, STEPPED_DEEPEST = 12 };

/* The agent has return thunks here. This program has none, so no code lies here. */
char room_of_thunks[FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES] __asm__("fxt_return_thunks")
	__attribute__((visibility("hidden")));

/* The agent's threads have this. */
__thread struct fxt_thread *fxt_self;
static __thread struct fxt_thread thread_state;

static volatile long steps_left;
static volatile bool is_stepped;

static struct {
	atomic_ulong stacks, whole, frames, cut, signals, differ, by_steps, nodes, faults;
	atomic_uint ends;
	uintptr_t end_of[ENDS_MOST];            /* the last frame that was found, of a stack that is longer */
	bool end_after_signal[ENDS_MOST];
} seen;

struct stack {
	uintptr_t places[FRAMES_MOST];
	bool is_interrupted[FRAMES_MOST];       /* what was interrupted, and has not called */
	int count;
	bool has_fault;                         /* libunwind died there, so nobody knows how it goes on */
};

/* -- The two walks --------------------------------------------------------------------------------- */

static bool is_ours(uintptr_t place)
{
	struct fxt_code_latest latest = {0};

	return fxt_code_at(place, &latest).module == fxt_code_own();
}

/* Where gcc aligns the stack in the middle of a function's first instructions, it describes the frame by a
 * register that does not yet have its value there. libunwind believes that, and reads at whatever address. */
static __thread sigjmp_buf *volatile libunwind_reads;

static void fault(int number)
{
	if (libunwind_reads)
		siglongjmp(*libunwind_reads, 1);
	signal(number, SIG_DFL);
}

static __attribute__((noinline)) void follow_on(unw_context_t *context, struct stack *stack)
{
	unw_cursor_t cursor;
	unw_word_t place;
	bool was_signal = false;
	static const unsigned char signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	if (unw_init_local(&cursor, context))
		abort();
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &place) || !place)
			break;
		/* The frame that the kernel makes for a handler is no caller. */
		if (fxt_sys_can_read(place) &&
		    !memcmp((const void *)place, signal_return, sizeof(signal_return))) {
			was_signal = true;
			continue;
		}
		/* The agent says of what was interrupted what it would say of a call. */
		place += was_signal;
		if (!is_ours(place)) {
			stack->is_interrupted[stack->count] = was_signal;
			stack->places[stack->count++] = place;
		}
		was_signal = false;
	} while (stack->count < FRAMES_MOST && unw_step(&cursor) > 0);
}

/* Follows the stack as libunwind does. */
static void follow(unw_context_t *context, struct stack *stack)
{
	sigjmp_buf here;

	stack->count = 0;
	stack->has_fault = sigsetjmp(here, true) != 0;
	libunwind_reads = stack->has_fault ? NULL : &here;
	if (!stack->has_fault)
		follow_on(context, stack);
	libunwind_reads = NULL;
}

static void name_place(uintptr_t place, char *text, size_t bytes)
{
	Dl_info info;

	if (!dladdr((void *)(place - 1), &info) || !info.dli_fname)
		snprintf(text, bytes, "%#lx", place);
	else
		snprintf(text, bytes, "%s(%s)+%#lx", info.dli_fname,
			 info.dli_sname ? info.dli_sname : "?", place - (uintptr_t)info.dli_fbase);
}

static void tell_difference(const struct fxt_walk *walk, const struct stack *right)
{
	char ours[256], theirs[256];
	int i;

	if (atomic_fetch_add(&seen.differ, 1) >= TELL_MOST)
		return;
	printf("the walk has %u frames%s, libunwind %d:\n", walk->count, walk->is_whole ? "" : " and more",
	       right->count);
	for (i = 0; i < right->count || i < (int)walk->count; i++) {
		strcpy(ours, "-");
		strcpy(theirs, "-");
		if (i < (int)walk->count)
			name_place(walk->places[i], ours, sizeof(ours));
		if (i < right->count)
			name_place(right->places[i], theirs, sizeof(theirs));
		printf("%s %s %s\n", strcmp(ours, theirs) ? "!" : " ", ours, theirs);
	}
	fflush(stdout);
}

/* Notes where a stack of ours ended before its end. */
static void note_end(const struct fxt_walk *walk, const struct stack *right)
{
	unsigned number = atomic_fetch_add(&seen.ends, 1);

	if (number >= ENDS_MOST)
		return;
	seen.end_of[number] = walk->count ? walk->places[walk->count - 1] : 0;
	seen.end_after_signal[number] = walk->count && right->is_interrupted[walk->count - 1];
}

/* Looks whether the node of the stack has the same frames, and is the same when it is asked for again. */
static bool is_node_right(const struct fxt_walk *walk)
{
	uint32_t number = fxt_stack_node_of(walk);
	const struct fxt_stack_node *node;
	unsigned i;

	if (number != fxt_stack_node_of(walk) || (!number && walk->count))
		return false;
	/* The test program has more stacks than any program. */
	if (number == FXT_STACK_NO_ROOM)
		return true;
	atomic_fetch_add(&seen.nodes, 1);
	for (i = 0; i < walk->count; i++, number = node->caller) {
		if (!number)
			return false;
		node = fxt_stack_node(number);
		if (node->place != walk->places[i] || node->module != walk->modules[i])
			return false;
	}
	if (walk->is_whole || !walk->count)
		return !number;
	node = fxt_stack_node(number);
	return number && !node->place && !node->caller;
}

static __attribute__((noinline)) void compare_from(const uintptr_t *own, unsigned most, bool is_step)
{
	struct fxt_walk walk;
	struct stack right;
	unw_context_t context;
	bool is_wrong;
	unsigned i;

	fxt_stack_walk(&thread_state, own, most, &walk);
	unw_getcontext(&context);
	follow(&context, &right);
	atomic_fetch_add(&seen.stacks, 1);
	atomic_fetch_add(&seen.by_steps, is_step);
	atomic_fetch_add(&seen.frames, walk.count);
	atomic_fetch_add(&seen.faults, right.has_fault);
	is_wrong = (walk.count > (unsigned)right.count && !right.has_fault) || walk.count > most;
	for (i = 0; !is_wrong && i < walk.count && i < (unsigned)right.count; i++) {
		is_wrong = walk.places[i] != right.places[i];
		atomic_fetch_add(&seen.signals, right.is_interrupted[i]);
	}
	is_wrong |= walk.is_whole && walk.count != (unsigned)right.count && !right.has_fault;
	if (is_wrong || !is_node_right(&walk))
		tell_difference(&walk, &right);
	else if (walk.is_whole)
		atomic_fetch_add(&seen.whole, 1);
	else if (walk.count == most || right.has_fault)
		atomic_fetch_add(&seen.cut, 1);
	else
		note_end(&walk, &right);
}

/* -- What the libraries call ----------------------------------------------------------------------- */

static void know_stack(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	if (fxt_self)
		return;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	thread_state.stack.low = (uintptr_t)low;
	thread_state.stack.high = (uintptr_t)low + bytes;
	fxt_self = &thread_state;
}

static __attribute__((noinline)) void compare(unsigned most)
{
	know_stack();
	/* libunwind blocks signals, which a trap must not find. */
	if (is_stepped)
		return;
	compare_from(__builtin_frame_address(0), most < FXT_WALK_MOST ? most : FXT_WALK_MOST, false);
	/* The frame has to be there during the call. */
	__asm__ volatile("");
}

/* -- Steps ----------------------------------------------------------------------------------------- */

static void trap(int number, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	(void)number;
	(void)info;
	if (steps_left <= 0 || is_ours((uintptr_t)at->uc_mcontext.gregs[REG_RIP] + 1))
		return;
	steps_left--;
	compare_from(__builtin_frame_address(0), FXT_WALK_MOST, true);
	__asm__ volatile("");
}

static void set_trap_flag(bool is_on)
{
	unsigned long flags;

	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tpop %0\n\tadd $128, %%rsp" : "=r"(flags) : : "memory");
	flags = is_on ? flags | TRAP_FLAG : flags & ~(unsigned long)TRAP_FLAG;
	__asm__ volatile("sub $128, %%rsp\n\tpush %0\n\tpopfq\n\tadd $128, %%rsp"
			 :
			 : "r"(flags)
			 : "memory", "cc");
}

/* Prints "ends HOW FILE FUNCTION OFFSET" for each stack that ended before its end, and what was compared. */
static void report(void)
{
	Dl_info info;
	unsigned i;

	for (i = 0; i < seen.ends && i < ENDS_MOST; i++) {
		if (!dladdr((void *)(seen.end_of[i] - 1), &info))
			info = (Dl_info){.dli_fname = "?"};
		printf("ends %s %s %s %#lx\n", seen.end_after_signal[i] ? "interrupted" : "called",
		       info.dli_fname, info.dli_sname ? info.dli_sname : "?",
		       seen.end_of[i] - (uintptr_t)info.dli_fbase);
	}
	printf("compared %lu stacks of %lu frames, %lu behind an instruction; %lu whole, %lu cut at their "
	       "most, %u ended before; %lu frames were interrupted, %lu nodes looked at; %lu differ\n",
	       seen.stacks, seen.frames, seen.by_steps, seen.whole, seen.cut, seen.ends, seen.signals,
	       seen.nodes, seen.differ);
}

static struct walks_state state = {.compare = compare};
static long walks, steps;

static void enter(unsigned deepest)
{
	state.enter[walks_draw(&state, (unsigned)state.count)](&state, 1 + walks_draw(&state, deepest));
}

/* Does a half of all, in the first thread or in another one. */
static void *walk(void *argument)
{
	long i;

	know_stack();
	is_stepped = state.is_stepped = false;
	for (i = 0; i < walks; i++)
		enter(WALKS_DEEPEST);
	is_stepped = state.is_stepped = true;
	for (steps_left = steps; steps_left > 0;) {
		set_trap_flag(true);
		enter(STEPPED_DEEPEST);
		set_trap_flag(false);
	}
	return argument;
}

int main(int argc, char **argv)
{
	enum { FAULTS_PART = 50 };              /* of all stacks, libunwind may die on a part this small */
	struct sigaction traps = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	struct sigaction faults = {.sa_handler = fault};
	pthread_t thread;
	int i;

	if (argc < FIRST_LIBRARY + 1)
		return 2;
	state.random = strtoull(argv[1], NULL, 0);
	walks = atol(argv[2]) / 2;
	steps = atol(argv[3]) / 2;
	for (i = FIRST_LIBRARY; i < argc && state.count < WALKS_LIBRARIES; i++) {
		void *library = dlopen(argv[i], RTLD_LAZY | RTLD_GLOBAL);

		if (!library) {
			printf("%s\n", dlerror());
			return 1;
		}
		state.enter[state.count++] = (walks_function)dlsym(library, "walks_enter");
	}
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
	sigaction(SIGTRAP, &traps, NULL);
	sigaction(SIGSEGV, &faults, NULL);
	walk(NULL);
	if (pthread_create(&thread, NULL, walk, NULL) || pthread_join(thread, NULL))
		abort();
	report();
	if (seen.faults)
		printf("libunwind died on %lu stacks of %lu\n", seen.faults, seen.stacks);
	return seen.differ != 0 || seen.faults > seen.stacks / FAULTS_PART;
}
