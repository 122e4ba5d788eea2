/* Dies, for tests/e2e/crashes.sh:
 *
 *	crashes HOW WHERE PATH
 *
 * HOW is a fault, a call that ends the process, or raise-N, kill-N, queue-N: the signal N, sent to the
 * process by itself. WHERE says in which thread, handler, stack or child, and what was set for the signal
 * before. PATH has a letter for each function on the way there. Before that, the program prints what
 * sigaction() and the system call say of these signals.
 */
#include <assert.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "crashes_library.h"
#include "need.h"

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS};
static const char *how, *path;
static volatile int done, zero;
static volatile unsigned long bad = 0x10;

/* -- How ------------------------------------------------------------------------------------------- */

#define HOW(name) static __attribute__((noinline)) void die_by_##name(void)

#if defined(__x86_64__)
/* The registers that a function keeps have known values in the core file. */
#define WITH_REGISTERS(instruction)									\
	__asm__ volatile("movl $0x1234567, %%ebx; movl $0x2345678, %%r12d; movl $0x3456789, %%r13d;"	\
			 "movl $0x456789a, %%r14d; movl $0x56789ab, %%r15d; movl $0x6789abc, %%esi;"	\
			 instruction									\
			 :										\
			 : "D"(bad)									\
			 : "rbx", "r12", "r13", "r14", "r15", "rsi", "rax", "rdx", "rcx", "r11", "memory")
HOW(read) { WITH_REGISTERS("movl (%%rdi), %%eax"); }
HOW(write) { WITH_REGISTERS("movl %%esi, (%%rdi)"); }
HOW(ill) { WITH_REGISTERS("ud2"); }
HOW(trap) { WITH_REGISTERS("int3"); }
HOW(fpe) { WITH_REGISTERS("xorl %%ecx, %%ecx; movl $1, %%eax; cltd; idivl %%ecx"); }
HOW(sys) { WITH_REGISTERS("movl $158, %%eax; movl $0x5003, %%edi; syscall"); }
HOW(step) { WITH_REGISTERS("pushfq; orl $0x100, (%%rsp); popfq; nop; nop; nop"); }
#else
HOW(read) { done = *(volatile int *)bad; }
HOW(write) { *(volatile int *)bad = 1; }
HOW(ill) { __asm__ volatile(".inst 0"); }
HOW(trap) { __asm__ volatile("brk #1"); }
HOW(fpe) { need(!raise(SIGFPE)); }
HOW(sys) { syscall(SYS_sethostname, "", 0); }
HOW(step) { need(!raise(SIGTRAP)); }
#endif

/* No address of this kind is valid, and the kernel does not tell it. */
HOW(protection)
{
	bad = 0x8000deadbeef0000;
	die_by_write();
}

HOW(bus)
{
	FILE *file = tmpfile();

	need(file && !ftruncate(fileno(file), 4096));
	bad = (unsigned long)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0) + 4096;
	die_by_write();
}

HOW(pipe)
{
	int ends[2];

	need(!pipe(ends) && !close(ends[0]));
	done += (int)write(ends[1], "lost", 4);
}

HOW(call) { ((void (*)(void))(unsigned long)zero)(); done++; }
HOW(library) { memset((void *)bad, zero, 1000 + (size_t)zero); done++; }
HOW(abort) { abort(); }
HOW(assert) { assert(zero); }

HOW(frees)
{
	char *volatile block = malloc(48), *volatile again = block;

	free(block);
	free(again);
}

static const struct {
	const char *name;
	void (*die)(void);
} ways[] = {{"read", die_by_read}, {"write", die_by_write}, {"ill", die_by_ill}, {"trap", die_by_trap},
	    {"fpe", die_by_fpe}, {"sys", die_by_sys}, {"step", die_by_step}, {"bus", die_by_bus},
	    {"protection", die_by_protection}, {"pipe", die_by_pipe}, {"call", die_by_call},
	    {"library", die_by_library}, {"abort", die_by_abort}, {"assert", die_by_assert},
	    {"frees", die_by_frees}};

static void trap_system_call(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
#if defined(__x86_64__)
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
#else
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sethostname, 0, 1),
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static __attribute__((noinline)) void die(void)
{
	union sigval value = {.sival_int = 77};
	size_t i;

	if (!strncmp(how, "raise-", 6))
		need(!raise(atoi(how + 6)));
	if (!strncmp(how, "kill-", 5))
		need(!kill(getpid(), atoi(how + 5)));
	if (!strncmp(how, "queue-", 6))
		need(!sigqueue(getpid(), atoi(how + 6), value));
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(how, ways[i].name))
			ways[i].die();
	done++;
}

/* Returns the signal by which the program is going to die. */
static int expected(void)
{
	static const struct {
		const char *name;
		int signum;
	} by[] = {{"ill", SIGILL}, {"trap", SIGTRAP}, {"step", SIGTRAP}, {"fpe", SIGFPE}, {"sys", SIGSYS},
		  {"bus", SIGBUS}, {"pipe", SIGPIPE}, {"abort", SIGABRT}, {"assert", SIGABRT},
		  {"frees", SIGABRT}};
	const char *dash = strchr(how, '-');
	size_t i;

	for (i = 0; i < sizeof(by) / sizeof(*by); i++)
		if (!strcmp(how, by[i].name))
			return by[i].signum;
	return dash ? atoi(dash + 1) : SIGSEGV;
}

/* -- The way there --------------------------------------------------------------------------------- */

static void step_a(const char *rest), step_b(const char *rest), step_c(const char *rest);

static inline __attribute__((always_inline)) void go_on(const char *rest)
{
	switch (*rest) {
	case 'a':
		step_a(rest + 1);
		break;
	case 'b':
		step_b(rest + 1);
		break;
	case 'c':
		step_c(rest + 1);
		break;
	case 'l':
		crashes_library(rest + 1, go);
		break;
	default:
		die();
	}
	done++;
}

void go(const char *rest) { go_on(rest); }
static __attribute__((noinline)) void step_a(const char *rest) { go_on(rest); }

static __attribute__((noinline)) void step_b(const char *rest)
{
	volatile char room[100];

	room[0] = 1;
	go_on(rest);
	done += room[0];
}

static __attribute__((noinline)) void step_c(const char *rest)
{
	volatile char *room = __builtin_alloca((size_t)done + 200);

	room[0] = 1;
	go_on(rest);
	done += room[0];
}

static __attribute__((noinline)) unsigned long overflow(unsigned long depth)
{
	volatile char room[300];

	room[depth % 300] = 1;
	return (bad ? overflow(depth + 1) : 0) + (unsigned long)room[0];
}

/* -- Where ----------------------------------------------------------------------------------------- */

static void say(const char *text)
{
	need(write(1, text, strlen(text)) > 0);
}

static void on_signal(int signum)
{
	(void)signum;
	go(path);
}

static void come_by_signal(int signum, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	on_signal(signum);
}

static void tell(int signum, siginfo_t *info, void *context)
{
	char line[100];

	(void)context;
	snprintf(line, sizeof(line), "handled %d %d %#lx\n", signum, info->si_code,
		 info->si_code > 0 && signum == SIGSEGV ? (unsigned long)info->si_addr : 0);
	say(line);
}

static void tell_and_exit(int signum, siginfo_t *info, void *context)
{
	tell(signum, info, context);
	_exit(3);
}

static void tell_and_raise(int signum, siginfo_t *info, void *context)
{
	tell(signum, info, context);
	signal(signum, SIG_DFL);
	raise(signum);
}

static void tell_and_return(int signum, siginfo_t *info, void *context)
{
	tell(signum, info, context);
	signal(signum, SIG_DFL);
}

static void set(int signum, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	need(!sigaction(signum, &act, NULL));
}

static void use_stack(size_t bytes)
{
	stack_t stack = {.ss_size = bytes};

	stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(stack.ss_sp != MAP_FAILED && !sigaltstack(&stack, NULL));
}

static void *in_thread(void *unused)
{
	(void)unused;
	go(path);
	return NULL;
}

/* Sends the signal with so many bytes left on the stack. */
static void *with_little_left(void *bytes)
{
	pthread_attr_t attr;
	volatile char *room;
	void *low;
	size_t size;

	need(!pthread_getattr_np(pthread_self(), &attr) && !pthread_attr_getstack(&attr, &low, &size));
	room = __builtin_alloca((size_t)__builtin_frame_address(0) - (size_t)low - (size_t)bytes);
	room[0] = 1;
	die();
	return NULL;
}

static void print_actions(const char *when)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} by_number;
	struct sigaction act;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		need(!sigaction(signals[i], NULL, &act));
		need(!syscall(SYS_rt_sigaction, signals[i], NULL, &by_number, 8));
		printf("%s %d: %d %#x %d%d%d, %d %#lx %d %#lx\n", when, signals[i],
		       act.sa_handler == SIG_DFL ? 0 : act.sa_handler == SIG_IGN ? 1 : 2,
		       (unsigned)act.sa_flags, sigismember(&act.sa_mask, SIGUSR1),
		       sigismember(&act.sa_mask, SIGSEGV), sigismember(&act.sa_mask, SIGTERM),
		       by_number.handler == (void *)SIG_DFL, by_number.flags, by_number.restorer != NULL,
		       by_number.mask);
	}
}

static void explicitly(void)
{
	struct sigaction act = {.sa_handler = SIG_DFL, .sa_flags = SA_RESTART | SA_NODEFER}, old;
	size_t i;

	sigaddset(&act.sa_mask, SIGUSR1);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		need(!sigaction(signals[i], &act, &old) && old.sa_handler == SIG_DFL);
		need(signal(signals[i], SIG_DFL) == SIG_DFL);
		need(!sigaction(signals[i], &act, NULL));
	}
}

static void in_child(pid_t child)
{
	siginfo_t info;

	if (!child) {
		go(path);
		_exit(9);
	}
	need(!waitid(P_PID, (id_t)child, &info, WEXITED));
	printf("child %d %d\n", info.si_code, info.si_status);
}

static void on_stack_of_its_own(void)
{
	enum { BYTES = 65536 };
	ucontext_t here, there;

	need(!getcontext(&there));
	there.uc_stack.ss_sp = malloc(BYTES);
	there.uc_stack.ss_size = BYTES;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))go, 1, path);
	need(!swapcontext(&here, &there));
}

static void be_killed(void)
{
	char byte;
	int ends[2];

	need(!pipe(ends));
	say("ready\n");
	while (read(ends[0], &byte, 1) < 0)
		;
}

int main(int argc, char **argv)
{
	const char *where = argc > 3 ? argv[2] : "";
	size_t bytes = strchr(where, '-') ? (size_t)atol(strchr(where, '-') + 1) : 65536;
	pthread_t thread;
	sigset_t all;

	if (argc != 4)
		return 2;
	how = argv[1];
	path = argv[3];
	setvbuf(stdout, NULL, _IOLBF, 0);
	print_actions("first");
	if (!strcmp(how, "sys"))
		trap_system_call();
	if (!strcmp(where, "thread")) {
		need(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
	} else if (!strncmp(where, "left-", 5)) {
		need(!pthread_create(&thread, NULL, with_little_left, (void *)bytes) &&
		     !pthread_join(thread, NULL));
	} else if (!strcmp(where, "handler")) {
		signal(SIGUSR1, on_signal);
		need(!raise(SIGUSR1));
	} else if (!strncmp(where, "stack-", 6)) {
		use_stack(bytes);
		set(SIGUSR1, come_by_signal, SA_ONSTACK);
		need(!raise(SIGUSR1));
	} else if (!strncmp(where, "beside-", 7)) {
		use_stack(bytes);
		go(path);
	} else if (!strcmp(where, "fork")) {
		in_child(fork());
	} else if (!strcmp(where, "vfork")) {
		in_child(vfork());
	} else if (!strcmp(where, "own")) {
		set(expected(), tell_and_exit, 0);
		go(path);
	} else if (!strcmp(where, "own-once")) {
		set(expected(), tell, (int)SA_RESETHAND);
		go(path);
		go(path);
	} else if (!strcmp(where, "raises")) {
		set(expected(), tell_and_raise, 0);
		go(path);
	} else if (!strncmp(where, "raises-", 7)) {
		use_stack(bytes);
		set(expected(), tell_and_raise, SA_ONSTACK);
		go(path);
	} else if (!strcmp(where, "returns")) {
		set(expected(), tell_and_return, 0);
		go(path);
	} else if (!strcmp(where, "blocked")) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		go(path);
	} else if (!strcmp(where, "ignored")) {
		signal(expected(), SIG_IGN);
		go(path);
	} else if (!strcmp(where, "explicit")) {
		explicitly();
		print_actions("then");
		go(path);
	} else if (!strcmp(where, "coroutine")) {
		on_stack_of_its_own();
	} else if (!strcmp(where, "overflow")) {
		done = (int)overflow(0);
	} else if (!strncmp(where, "overflow-", 9)) {
		use_stack(bytes);
		done = (int)overflow(0);
	} else if (!strcmp(where, "killed")) {
		be_killed();
	} else if (!strcmp(where, "secret")) {
		need(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
		go(path);
	} else {
		go(path);
	}
	print_actions("last");
	return 0;
}
