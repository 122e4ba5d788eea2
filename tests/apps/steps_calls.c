/* See steps.h. The calls of the program steps, and what its handler does. Everything here is called in the
 * child. A handler may come behind each instruction of a call, so the calls that it makes are such that the
 * C library allows it to: the heap is that of steps_heap.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "need.h"
#include "random.h"
#include "steps.h"

enum { STACK_BYTES = 256 * 1024, FD_FIRST = 700, BLOCK_BYTES = 5000, LONG_CALLS = 7 };

static sigjmp_buf back;
static ucontext_t program, coroutine;
static volatile enum action action;
static volatile bool is_forked;
static char stack[STACK_BYTES] __attribute__((aligned(64)));

static void count(enum who who)
{
	if (is_forked)
		steps_shared->forked_made[who]++;
	else
		steps_shared->made[who]++;
}

/* -- The calls -------------------------------------------------------------------------------------- */

static void call_close(enum who who)
{
	need(close(-(int)who) == -1 && errno == EBADF);
}

static void call_malloc(enum who who)
{
	need(malloc(BLOCK_BYTES + (size_t)who) != NULL);
}

static pthread_mutex_t *mutexes;

/* The process before this one may have left one of them locked. The children of the handler have the same
 * mutexes, so that the thread which holds one for them need not be there twice. */
static void begin_mutexes(void)
{
	pthread_mutexattr_t attributes;
	int i;

	need(pthread_mutexattr_init(&attributes) == 0);
	need(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
	for (i = 0; i < WHO_END; i++)
		need(pthread_mutex_init(&mutexes[i], &attributes) == 0);
}

static void call_lock(enum who who)
{
	need(pthread_mutex_lock(&mutexes[who]) == 0);
}

static void after_lock(enum who who)
{
	need(pthread_mutex_unlock(&mutexes[who]) == 0);
}

static char paths[WHO_END][16];

static void call_open(enum who who)
{
	need(open(paths[who], O_RDONLY) == -1 && errno == ENOENT);
}

static void call_read(enum who who)
{
	char byte;

	need(read(FD_FIRST + (int)who, &byte, 1) == 1);
}

static void begin_read(void)
{
	int fd = open("/dev/zero", O_RDONLY), i;

	need(fd >= 0);
	for (i = 0; i < WHO_END; i++)
		need(dup2(fd, FD_FIRST + i) >= 0);
}

/* The file names of a long path are such that seven records fill a chunk but for a part of one. */
static char long_path[PATH_MAX];

static void call_access(enum who who)
{
	char *path = long_path + PATH_MAX - 1 - PATH_MOST + who;

	need(access(path, F_OK) == -1 && errno == ENOENT);
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static volatile int sink;

/* These functions are like those that are compiled with -finstrument-functions. */
#define FUNCTION(name)                                                                       \
	__attribute__((noinline)) void name(void);                                           \
	__attribute__((noinline)) void name(void)                                            \
	{                                                                                    \
		__cyg_profile_func_enter((void *)name, __builtin_return_address(0));         \
		sink++;                                                                      \
		__cyg_profile_func_exit((void *)name, __builtin_return_address(0));          \
	}
FUNCTION(steps_before)
FUNCTION(steps_stepped)
FUNCTION(steps_handler)
FUNCTION(steps_after)
FUNCTION(steps_forked)
FUNCTION(steps_other)

static void (*const functions[WHO_END])(void) = {
	NULL, steps_before, steps_stepped, steps_handler, steps_after, steps_forked, steps_other,
};

static void call_function(enum who who)
{
	functions[who]();
}

/* -- A lock that another thread holds --------------------------------------------------------------- */

static volatile enum who wanted;
static volatile bool is_held, is_given_up;

static void *hold(void *argument)
{
	pthread_mutex_t *mutex;

	for (;;) {
		while (!wanted)
			unseen(SYS_sched_yield);
		mutex = &mutexes[wanted];
		need(pthread_mutex_lock(mutex) == 0);
		is_held = true;
		/* Somebody sleeps until it is free. */
		while (*(volatile int *)&mutex->__data.__lock != 2 && !is_given_up)
			unseen(SYS_sched_yield);
		need(pthread_mutex_unlock(mutex) == 0);
		wanted = 0;
	}
	return argument;
}

static void begin_contended(void)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, hold, NULL) == 0);
}

static void before_contended(enum who who)
{
	is_held = false;
	wanted = who;
	while (!is_held)
		unseen(SYS_sched_yield);
}

/* The other thread lets go of what nobody wants any more. */
static void give_up_contended(void)
{
	is_given_up = true;
	while (wanted && !is_forked)
		unseen(SYS_sched_yield);
	steps_shared->has_got = mutexes[STEPPED].__data.__owner != 0;
}

/* -- The list --------------------------------------------------------------------------------------- */

static void nothing(void)
{
}

static void nothing_for(enum who who)
{
	(void)who;
}

/* `alone`: nobody but the interrupted part of the program makes this call; others make call_close(). */
static const struct call {
	const char *name;
	void (*begin)(void);
	void (*before)(enum who);
	void (*make)(enum who);
	void (*after)(enum who);
	void (*give_up)(void);
	bool is_alone, is_long;
} calls[] = {
	{"close", nothing, nothing_for, call_close, nothing_for, nothing, false, false},
	{"malloc", nothing, nothing_for, call_malloc, nothing_for, nothing, false, false},
	{"lock", nothing, nothing_for, call_lock, after_lock, nothing, false, false},
	{"open", nothing, nothing_for, call_open, nothing_for, nothing, false, false},
	{"read", begin_read, nothing_for, call_read, nothing_for, nothing, false, false},
	{"function", nothing, nothing_for, call_function, nothing_for, nothing, false, false},
	{"contended", begin_contended, before_contended, call_lock, after_lock, give_up_contended, true,
	 false},
	{"turn", nothing, nothing_for, call_access, nothing_for, nothing, true, true},
};

static const struct call *call;

bool steps_introduce(const char *name)
{
	int i;

	for (i = 0; i < (int)(sizeof(calls) / sizeof(*calls)); i++)
		if (!strcmp(name, calls[i].name))
			call = &calls[i];
	mutexes = mmap(NULL, WHO_END * sizeof(*mutexes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	need(mutexes != MAP_FAILED);
	path_nowhere_fill(long_path);
	for (i = 0; i < WHO_END; i++) {
		sprintf(paths[i], "/nowhere/%d", i);
		printf("%d fd=%d fd=%d size=%d mutex=%p pathname=%s pathname=%p length=%d\n", i, -i,
		       FD_FIRST + i, BLOCK_BYTES + i, (void *)&mutexes[i], paths[i],
		       (void *)paths[i], PATH_MOST - i);
	}
	return call != NULL;
}

/* Makes the call of an interrupted part of the program, which stops before it. It lies further down on the
 * stack than all calls that come behind it. */
static __attribute__((noinline)) void stop_and_make(enum who who)
{
	volatile char depth[1024] = {0};

	(void)depth;
	call->before(who);
	count(who);
	steps_shared->in_call = true;
	unseen(SYS_kill, unseen(SYS_getpid), SIGSTOP);
	call->make(who);
	steps_shared->in_call = false;
	call->after(who);
}

/* Makes a call that is not interrupted. */
static void make(enum who who)
{
	count(who);
	if (call->is_alone) {
		call_close(who);
		return;
	}
	call->make(who);
	call->after(who);
}

static _Noreturn void end(void)
{
	for (;;)
		unseen(SYS_exit_group, 0);
}

/* -- The coroutine ---------------------------------------------------------------------------------- */

static void emit_and_come_back(void)
{
	make(OTHER);
	need(swapcontext(&coroutine, &program) == 0);
	abort();
}

/* The program comes here more often if the handler has not come in time. */
static void be_interrupted(void)
{
	stop_and_make(OTHER);
	for (;;) {
		make(OTHER);
		need(swapcontext(&coroutine, &program) == 0);
	}
}

/* Goes on behind a call that was left. The agent notices what was left when it needs another chunk further up
 * on the stack; so this is inlined. */
static inline __attribute__((always_inline)) void go_on_behind(void)
{
	int i;

	call->give_up();
	for (i = 0; i < LONG_CALLS + 2; i++) {
		count(AFTER);
		need(access(long_path + PATH_MAX - 1 - PATH_MOST + AFTER, F_OK) == -1 && errno == ENOENT);
	}
}

static void go_on(void)
{
	go_on_behind();
	make(AFTER);
	end();
}

static void begin_coroutine(void (*function)(void))
{
	need(getcontext(&coroutine) == 0);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = NULL;
	makecontext(&coroutine, function, 0);
}

/* -- The handler ------------------------------------------------------------------------------------ */

/* Makes a child, which ends here or goes on behind the handler, and waits for its end. */
static void fork_here(void)
{
	int status = 0;
	pid_t pid;

	pid = fork();
	need(pid >= 0);
	if (!pid) {
		is_forked = true;
		make(FORKED);
		if (action == FORK_EXIT)
			end();
		return;
	}
	steps_shared->forked = pid;
	need(unseen(SYS_wait4, pid, &status, 0) == pid);
	steps_shared->has_failed = status != 0;
}

/* Tells whether the coroutine's stack is the present one. */
static bool is_on_coroutine(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here >= (uintptr_t)stack && here < (uintptr_t)(stack + sizeof(stack));
}

static void handle(int number)
{
	int error = errno;

	(void)number;
	switch (action) {
	case EMIT:
		make(HANDLER);
		break;
	case JUMP:
		siglongjmp(back, 1);
	case EMIT_JUMP:
		make(HANDLER);
		siglongjmp(back, 1);
	case FORK_ON:
	case FORK_EXIT:
		make(HANDLER);
		fork_here();
		break;
	case SWITCH_BACK:
	case SWITCH_LATER:
		if (is_on_coroutine()) {
			need(swapcontext(&coroutine, &program) == 0);
			break;
		}
		make(HANDLER);
		need(swapcontext(&program, &coroutine) == 0);
		break;
	default:
		make(HANDLER);
		setcontext(&coroutine);
		abort();
	}
	errno = error;
}

_Noreturn void steps_make_calls(const char *name, enum action wanted_action)
{
	struct sigaction does = {.sa_handler = handle, .sa_flags = SA_NODEFER};
	void (*const coroutines[ACTIONS])(void) = {
		[SWITCH_BACK] = emit_and_come_back, [SWITCH_LATER] = be_interrupted, [SWITCH_AWAY] = go_on,
	};
	volatile int i;

	(void)name;
	action = wanted_action;
	begin_mutexes();
	need(sigaction(SIGUSR1, &does, NULL) == 0);
	call->begin();
	if (coroutines[action])
		begin_coroutine(coroutines[action]);
	/* The agent knows all names and objects then. */
	for (i = BEFORE; i < WHO_END; i++)
		make((enum who)i);
	for (i = 0; call->is_long && i < LONG_CALLS; i++) {
		count(BEFORE);
		call_access(BEFORE);
	}
	if (!sigsetjmp(back, 1))
		stop_and_make(STEPPED);
	else
		go_on_behind();
	make(AFTER);
	/* The coroutine comes to its end now, wherever it was interrupted. */
	for (i = 0; action == SWITCH_LATER && i < 2; i++)
		need(swapcontext(&program, &coroutine) == 0);
	make(AFTER);
	end();
}
