/* Forbids itself system calls, and goes on with what is still allowed: with marks, locks, instrumented
 * functions that it has not entered before, and threads that it had already or makes now. It is compiled
 * with -finstrument-functions. In place of WAY stands one of these:
 *
 *	host_seccomp WAY ROUNDS
 *
 *	kill, kill-threads, raw-kill	calls that open, map or grow files kill the process
 *	late				as kill; then two threads begin, on stacks of the program
 *	crowd				likewise, and a hundred threads are alive at once
 *	browser				as sandboxes of browsers have it: most of madvise() kills, and so
 *					do flags of mmap(); then threads begin
 *	talk				calls on sockets kill the process
 *	refuse				mmap, pwritev64 and openat fail with EPERM
 *	allow				a filter that forbids nothing but acct()
 *	asks				calls that ask about processes, sockets and file systems kill
 *	requests			getpid() fails, and a child sends SIGUSR2, which is for the agent
 *	least				all calls but write and exit_group kill
 *	strict				all calls but read, write and _exit kill
 *	tsc				reading the processor's counter is an error, for a time
 *	tscs				likewise, in threads that are made at random, which make children; the
 *					program has to end, and what it does meanwhile is not recorded
 *	how				operations of rt_sigprocmask and futex that there are not kill
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

enum { CROWD = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned long rounds;
static uint32_t own_pid;

#define FORBID(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),  \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_DATA)             /* replaced by the action */

static void install(unsigned action, bool raw, struct sock_filter *code, unsigned short length)
{
	struct sock_fprog program = {length, code};
	unsigned i;

	for (i = 0; i < length; i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_DATA)
			code[i].k = action;
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (raw)
		need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
	else
		need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

/* Makes a child that sends this process SIGUSR2 for each byte that it is sent, and answers then. */
static void make_sender(int ends[2])
{
	char byte;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	if (fork())
		return;
	close(ends[0]);
	while (read(ends[1], &byte, 1) == 1) {
		kill(getppid(), SIGUSR2);
		need(write(ends[1], &byte, 1) == 1);
	}
	_exit(0);
}

static void forbid_and_be_asked(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(getpid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	char byte = 0;
	int ends[2], i;

	make_sender(ends);
	install(SECCOMP_RET_ERRNO | EPERM, false, code, sizeof(code) / sizeof(*code));
	/* The signal is there before the answer is. */
	for (i = 0; i < 3; i++)
		need(write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
	close(ends[0]);
}

static void forbid_talk(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(socket),
		FORBID(connect),
		FORBID(sendto),
		FORBID(sendmsg),
		FORBID(recvfrom),
		FORBID(recvmsg),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(code[0]));
}

static void forbid(unsigned action, bool raw)
{
	/* The array has no written size, because each FORBID() fills two elements. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(openat),
		FORBID(mmap),
		FORBID(ftruncate),
		FORBID(pwritev),
		FORBID(fallocate),
		FORBID(renameat2),
		FORBID(linkat),
		FORBID(unlinkat),
		FORBID(memfd_create),
		FORBID(dup),
		FORBID(fcntl),
#ifdef SYS_open
		FORBID(open),
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(action, raw, code, sizeof(code) / sizeof(*code));
}

static void forbid_next_to_nothing(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(acct),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(*code));
}

/* Loads the lower half of an argument. */
#define LOAD_ARGUMENT(number) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + (number) * sizeof(uint64_t))

/* Firefox and Chromium have such rules for the processes that show pages. */
static void forbid_as_browsers(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 5),
		LOAD_ARGUMENT(2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_FREE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_DATA),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		LOAD_ARGUMENT(3),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
			 ~(uint32_t)(MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE |
				     MAP_FIXED),
			 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_DATA),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(*code));
}

/* What is forbidden here is nothing that the program does: a tracer might ask so. */
static void forbid_questions(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(getpgid),
		FORBID(getppid),
		FORBID(getrusage),
		FORBID(getsockname),
		FORBID(getpeername),
		FORBID(getsockopt),
		FORBID(fstatfs),
		FORBID(sched_yield),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int ends[2];
	char byte = 'x';

	need(!setpgid(0, 0));
	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(*code));
	need(!kill(0, SIGURG));         /* nobody handles it, and its default is nothing */
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	need(write(ends[0], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1);
	need(!close(ends[0]) && !close(ends[1]));
}

#define ALLOW(call)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),  \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Forbids even signal masks, futexes and getpid(). */
static void allow_next_to_nothing(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write), ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(*code));
}

__attribute__((noinline)) static int never_met_before(int depth)
{
	return depth ? never_met_before(depth - 1) + 1 : 0;
}

static void work(void)
{
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		mark();
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		allocate(100);
	}
	need(never_met_before(30) == 30);
}

static void *work_after(void *argument)
{
	/* A thread's own heap is mapped at its first use, so this comes before the filter. */
	allocate(100);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	work();
	return argument;
}

static void *work_late(void *argument)
{
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	if (argument)
		pthread_barrier_wait(argument);
	return NULL;
}

/* The C library maps nothing for a thread that has a stack already. */
static void late_threads(int count, bool have_stacks)
{
	static char stacks[CROWD][1 << 16] __attribute__((aligned(4096)));
	pthread_attr_t attributes;
	pthread_t late[CROWD];
	int i;

	if (count > 2) {
		need(!pthread_barrier_init(&barrier, NULL, (unsigned)count));
		atomic_fetch_add(marks, 1);
	}
	need(!pthread_attr_init(&attributes));
	for (i = 0; i < count; i++)
		need((!have_stacks ||
		      !pthread_attr_setstack(&attributes, stacks[i], sizeof(stacks[i]))) &&
		     !pthread_create(&late[i], &attributes, work_late, count > 2 ? &barrier : NULL));
	for (i = 0; i < count; i++)
		need(!pthread_join(late[i], NULL));
}

static void strict(void)
{
	need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
	work();
	print_marks();
	/* The C library's _exit() calls exit_group, which is forbidden. */
	syscall(SYS_exit, 21);
}

static void forbid_counter(void)
{
#if defined(__x86_64__)
	need(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	allocate(100);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	need(!prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
#endif
}

#if defined(__x86_64__)
static void *end_without_counter(void *unused)
{
	allocate(10);
	need(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	allocate(10);
	return unused;
}

/* What a child does that its parent may have denied the counter. It, or a thread of it, may end without
 * having got it back. */
static void live_without_counter(void)
{
	pthread_t thread;

	allocate(1000);
	if (random_below(2)) {
		need(!pthread_create(&thread, NULL, end_without_counter, NULL));
		need(!pthread_join(thread, NULL));
	}
	if (random_below(2))
		need(!prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
	allocate(1000);
	_exit(0);
}
#endif

/* What threads do that may not read the counter: they use the heap and a lock, make threads and children that
 * may not either, and in the end may read it again. */
static void *lose_counter(void *argument)
{
	uintptr_t depth = (uintptr_t)argument;
	pthread_t threads[2];
	unsigned i, count;
	int status;
	pid_t child;

	random_seed(depth * 1000 + (uint64_t)syscall(SYS_gettid));
#if defined(__x86_64__)
	for (i = 0; i < 1 + random_below(4); i++) {
		/* The first thread loses it once whatever is drawn. */
		bool loses = (depth == 2 && !i) || random_below(3);

		need(!prctl(PR_SET_TSC, loses ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0));
		allocate(100);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		count = depth ? random_below(3) : 0;
		for (unsigned k = 0; k < count; k++)
			need(!pthread_create(&threads[k], NULL, lose_counter, (void *)(depth - 1)));
		child = random_below(3) ? 0 : fork();
		if (child < 0 || (child == 0 && (uint32_t)getpid() != own_pid))
			live_without_counter();
		need(!child || (waitpid(child, &status, 0) == child && !status));
		for (unsigned k = 0; k < count; k++)
			need(!pthread_join(threads[k], NULL));
	}
	need(!prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
#endif
	allocate(100);
	return NULL;
}

/* Refuses what there is not among operations: those would be questions that somebody asks of the kernel. */
static void look_at_operations(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 4),
		LOAD_ARGUMENT(0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SIG_SETMASK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_DATA),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 4),
		LOAD_ARGUMENT(1),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ~(uint32_t)(15 | 128 | 256), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_DATA),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(SECCOMP_RET_KILL_PROCESS, false, code, sizeof(code) / sizeof(*code));
	/* These fail, and the agent looks at what it was given. */
	need(link("/nowhere/at/all", "/nowhere/else") && rename("/nowhere/at/all", "/nowhere/else") &&
	     rename((const char *)1, "/nowhere"));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool threads = !strcmp(what, "kill-threads");
	pthread_t list[3];
	int i;

	rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	own_pid = (uint32_t)getpid();
	/* After this the heap has what work() and printing need, and needs no mapping. */
	allocate(60000);
	if (threads) {
		need(!pthread_barrier_init(&barrier, NULL, 4));
		atomic_fetch_add(marks, 1);
		for (i = 0; i < 3; i++)
			need(!pthread_create(&list[i], NULL, work_after, NULL));
		pthread_barrier_wait(&barrier);
	}
	mark_times(10);
	if (!strcmp(what, "strict"))
		strict();
	else if (!strcmp(what, "tsc"))
		forbid_counter();
	else if (!strcmp(what, "tscs"))
		lose_counter((void *)2);
	else if (!strcmp(what, "how"))
		look_at_operations();
	else if (!strcmp(what, "allow"))
		forbid_next_to_nothing();
	else if (!strcmp(what, "requests"))
		forbid_and_be_asked();
	else if (!strcmp(what, "asks"))
		forbid_questions();
	else if (!strcmp(what, "least"))
		allow_next_to_nothing();
	else if (!strcmp(what, "talk"))
		forbid_talk();
	else if (!strcmp(what, "browser"))
		forbid_as_browsers();
	else if (!strcmp(what, "refuse"))
		forbid(SECCOMP_RET_ERRNO | EPERM, false);
	else
		forbid(SECCOMP_RET_KILL_PROCESS, threads || !strcmp(what, "raw-kill"));
	if (threads) {
		pthread_barrier_wait(&barrier);
		for (i = 0; i < 3; i++)
			need(!pthread_join(list[i], NULL));
	}
	work();
	if (!strcmp(what, "late"))
		late_threads(2, true);
	if (!strcmp(what, "crowd"))
		late_threads(CROWD, true);
	if (!strcmp(what, "browser"))
		late_threads(20, false);
	errno = 0;
	if (!strcmp(what, "refuse")) {
		char line[100];

		snprintf(line, sizeof(line), "open %d, errno %d\n", open("/dev/null", O_RDONLY), errno);
		say(line);
	}
	print_marks();
	_exit(17);
}
