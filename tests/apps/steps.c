/* A handler interrupts a call of the agent's behind each of its instructions, and leaves it in every way in
 * which a handler can.
 *
 *	steps CALL all ACTION...	behind each instruction
 *	steps CALL COUNT ACTION...	behind so many instructions, which are drawn (FXT_SEED)
 *
 * steps_calls.c has the calls and steps.h the actions. For each instruction there is a child of its own. It
 * makes some calls, one of which is interrupted at that instruction, and then some more. A line says what it
 * did; tests/e2e/steps.py says what its trace must have then:
 *
 *	PID HOW WHERE HOW WHERE STATUS FORKED CALLS... CALLS-OF-THE-FORKED... HAS-GOT
 *
 * HAS-GOT is 1 if the interrupted call had got its lock, and was left then.
 * WHERE is the instruction at which the call was interrupted; the second one is where the call of a coroutine
 * was. HOW is "break" where a breakpoint led there, "step" where single steps did, and "over" where the call
 * was over before.
 *
 * The instructions of a call are learned by single steps in a first child. A breakpoint leads the others
 * there, which is a thousand times as fast as single steps are. A call that takes another way than the first
 * one did, because it is so fast, is tried again by single steps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "need.h"
#include "random.h"
#include "steps.h"

struct steps_shared *steps_shared;

const char *const steps_actions[ACTIONS] = {
	"emit", "jump", "emit-jump", "fork-on", "fork-exit", "switch-back", "switch-later", "switch-away",
};

enum {
	FIRST_ACTION = 3,
	PATH_MOST_STEPS = 1 << 22,      /* instructions of a call that are learned */
	STEPS_MOST = 20000,             /* single steps that are worth while for one point */
	TRIES = 8,                      /* a call is learned by so many tries, or by so many steps */
	LEARNED_MOST = 100000,
	TURNS_MOST = 4,                 /* a loop is interrupted in its first turns */
	DEBUG_ENABLE = 1,               /* the first breakpoint, at an instruction */
};

/* An instruction of the call: behind how many others it comes when it comes for the `turn`-th time. */
struct place {
	unsigned long address;
	long steps, turn;
};

static unsigned long *path;             /* the instructions that were learned, in their order */
static struct place *places;            /* each of them once, or once for each turn */
static long path_length, place_count, longest;

/* Keeps this process and its children to one processor. A step wakes one of the two and lets the other sleep,
 * which takes twenty times as long if two processors fall asleep in turn. */
static void stay_here(void)
{
	cpu_set_t here;
	int processor = sched_getcpu();

	CPU_ZERO(&here);
	if (processor >= 0 && processor < CPU_SETSIZE) {
		CPU_SET(processor, &here);
		need(sched_setaffinity(0, sizeof(here), &here) == 0);
	}
}

/* Waits until the child stops or ends. Returns the status. */
static int wait_for_stop(pid_t pid)
{
	int status = 0;

	need(unseen(SYS_wait4, pid, &status, __WALL) == pid);
	return status;
}

/* Returns the address of the instruction that the child comes to. */
static unsigned long place_of(pid_t pid)
{
	return (unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), NULL);
}

/* Lets the child make so many instructions. Returns how many it has made before its call was over. Keeps
 * them as the path if `learns`. */
static long step(pid_t pid, long instructions, bool learns)
{
	int status;
	long i;

	for (i = 0; i < instructions && steps_shared->in_call; i++) {
		if (learns) {
			need(i < PATH_MOST_STEPS);
			path[i] = place_of(pid);
		}
		need(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		status = wait_for_stop(pid);
		need(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	}
	return i;
}

static void set_breakpoint(pid_t pid, unsigned long address)
{
	need(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) == 0);
	need(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]),
		    address ? (unsigned long)DEBUG_ENABLE : 0UL) == 0);
}

/* Lets the child go on to a place. Returns false if its call was over before; `*status` is the
 * child's next status then. */
static bool go_to(pid_t pid, const struct place *place, int *status)
{
	long turn;

	set_breakpoint(pid, place->address);
	for (turn = 0; turn <= place->turn; turn++) {
		need(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
		*status = wait_for_stop(pid);
		if (!WIFSTOPPED(*status) || WSTOPSIG(*status) != SIGTRAP || !steps_shared->in_call)
			return false;
	}
	set_breakpoint(pid, 0);
	return true;
}

struct point {
	const struct place *place[2];   /* the program's, and its coroutine's; NULL: to its end */
	bool by_steps;
	const char *how[2];
	unsigned long where[2];
	int status;
	pid_t pid;
};

/* Interrupts the call that the child has stopped before. Returns the next status of the child. */
static int interrupt_call(struct point *point, int which)
{
	const struct place *place = point->place[which];
	int status = 0;
	bool is_there;

	if (!place) {
		path_length = step(point->pid, LONG_MAX, true);
		is_there = false;
	} else if (point->by_steps) {
		is_there = step(point->pid, place->steps, false) == place->steps && steps_shared->in_call;
	} else {
		is_there = go_to(point->pid, place, &status);
		if (!is_there)
			return status;
	}
	if (is_there) {
		point->how[which] = point->by_steps ? "step" : "break";
		point->where[which] = place_of(point->pid);
		/* It is for the child's first thread. */
		need(unseen(SYS_tgkill, point->pid, point->pid, SIGUSR1) == 0);
	}
	need(ptrace(PTRACE_CONT, point->pid, NULL, NULL) == 0);
	return wait_for_stop(point->pid);
}

/* Makes a child that is interrupted at this point. */
static void interrupt(const char *call, enum action action, struct point *point)
{
	int status, signal, calls = 0;

	memset((void *)steps_shared, 0, sizeof(*steps_shared));
	point->how[0] = point->how[1] = "over";
	point->where[0] = point->where[1] = 0;
	point->pid = fork();
	need(point->pid >= 0);
	if (!point->pid) {
		need(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
		steps_make_calls(call, action);
	}
	status = wait_for_stop(point->pid);
	while (WIFSTOPPED(status)) {
		signal = WSTOPSIG(status);
		/* The child stops itself where its calls begin. */
		if (signal == SIGSTOP && steps_shared->in_call && calls < (point->place[0] ? 2 : 1)) {
			status = interrupt_call(point, calls++);
			continue;
		}
		if (signal == SIGTRAP)
			set_breakpoint(point->pid, 0);
		if (signal == SIGSTOP || signal == SIGTRAP)
			signal = 0;
		need(ptrace(PTRACE_CONT, point->pid, NULL, signal) == 0);
		status = wait_for_stop(point->pid);
	}
	point->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* -- The places --------------------------------------------------------------------------------------- */

static int compare_places(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->steps < b->steps ? -1 : a->steps > b->steps;
}

/* Lets a call go to its end some times, and keeps the shortest way. Under single steps so much time passes
 * that the agent often has to do work that it has deferred, such as reading the kernel's clock. */
static void learn_path(const char *call)
{
	struct point point = {.place = {NULL, NULL}};
	const size_t bytes = PATH_MOST_STEPS * sizeof(*path);
	unsigned long *kept = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long length = LONG_MAX;
	long tries, steps;

	need(kept != MAP_FAILED);
	path = kept + PATH_MOST_STEPS;
	for (tries = steps = 0; tries < TRIES && steps < LEARNED_MOST; tries++, steps += path_length) {
		interrupt(call, EMIT, &point);
		need(point.status == 0);
		longest = path_length > longest ? path_length : longest;
		if (path_length < length) {
			length = path_length;
			memcpy(kept, path, (size_t)length * sizeof(*path));
		}
	}
	path = kept;
	path_length = length;
}

/* Makes the list of places of the path. */
static void learn_places(void)
{
	long i, kept = 0, turn;

	places = calloc((size_t)path_length, sizeof(*places));
	need(places != NULL);
	for (i = 0; i < path_length; i++)
		places[i] = (struct place){path[i], i, 0};
	qsort(places, (size_t)path_length, sizeof(*places), compare_places);
	for (i = 0; i < path_length; i++) {
		turn = kept && places[kept - 1].address == places[i].address ? places[kept - 1].turn + 1 : 0;
		if (turn < TURNS_MOST) {
			places[kept] = places[i];
			places[kept++].turn = turn;
		}
	}
	place_count = kept;
}

/* -- What is said ------------------------------------------------------------------------------------- */

/* Prints the file that an instruction lies in, and where. The files of the children lie there in this
 * process, too. */
static void tell_where(const char *how, unsigned long address)
{
	const char *slash;
	Dl_info info;

	if (!address) {
		printf(" %s -", how);
	} else if (!dladdr((void *)address, &info) || !info.dli_fname || !*info.dli_fname) {
		printf(" %s %#lx", how, address);
	} else {
		slash = strrchr(info.dli_fname, '/');
		printf(" %s %s+%#lx", how, slash ? slash + 1 : info.dli_fname,
		       address - (unsigned long)info.dli_fbase);
	}
}

static void tell(const struct point *point)
{
	int i;

	printf("%d", (int)point->pid);
	for (i = 0; i < 2; i++)
		tell_where(point->how[i], point->where[i]);
	printf(" %d %d", steps_shared->has_failed ? 2000 : point->status, steps_shared->forked);
	for (i = BEFORE; i < WHO_END; i++)
		printf(" %ld", steps_shared->made[i]);
	for (i = BEFORE; i < WHO_END; i++)
		printf(" %ld", steps_shared->forked_made[i]);
	printf(" %d\n", steps_shared->has_got);
	fflush(stdout);
}

static void try_place(const char *call, enum action action, const struct place *place)
{
	struct point point = {.place = {place, &places[random_below((uint64_t)place_count)]}};

	interrupt(call, action, &point);
	tell(&point);
	if (strcmp(point.how[0], "over") || place->steps > STEPS_MOST)
		return;
	point.by_steps = true;
	if (point.place[1]->steps > STEPS_MOST)
		point.place[1] = place;
	interrupt(call, action, &point);
	tell(&point);
}

/* Prints the name of an action, and a line for each of `count` places, which are all that there are or are
 * drawn. */
static void try_places(const char *call, enum action action, long count)
{
	long i;

	printf("action %s\n", steps_actions[action]);
	for (i = 0; i < count; i++)
		try_place(call, action,
			  &places[count == place_count ? i : (long)random_below((uint64_t)place_count)]);
}

/* Returns the action of this name. */
static enum action find_action(const char *name)
{
	enum action action = EMIT;

	while (action < ACTIONS && strcmp(name, steps_actions[action]))
		action++;
	need(action < ACTIONS);
	return action;
}

int main(int argc, char **argv)
{
	int i;

	need(argc > FIRST_ACTION && steps_introduce(argv[1]));
	random_seed(0);
	stay_here();
	steps_shared = mmap(NULL, sizeof(*steps_shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(steps_shared != MAP_FAILED);
	learn_path(argv[1]);
	learn_places();
	printf("instructions %ld to %ld places %ld\n", path_length, longest, place_count);
	fflush(stdout);
	for (i = FIRST_ACTION; i < argc; i++)
		try_places(argv[1], find_action(argv[i]),
			   strcmp(argv[2], "all") ? atol(argv[2]) : place_count);
	return 0;
}
