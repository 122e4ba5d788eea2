/* This is no program of the test's own build: tests/e2e/early.sh compiles it, with a list of functions
 * (early.inc), as a library and as a program. A resolver of an indirect function calls each of them while the
 * loader binds the program: each in a child of its own, with zeros as arguments. The program prints how each
 * child ended. Nothing here calls the C library but the calls that are tried. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#define FUNCTION(name) extern long try_##name() __asm__(#name);
#include "early.inc"
#undef FUNCTION

#define FUNCTION(name) #name,
static const char *const names[] = {
#include "early.inc"
};
#undef FUNCTION
#define FUNCTION(name) try_##name,
static long (*const functions[])() = {
#include "early.inc"
};

enum { COUNT = sizeof(names) / sizeof(names[0]) };
static int ends[COUNT];

static long kernel(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#endif
}

/* The child has no rights that could do harm, and its processor time and patience end. */
static void begin_child(void)
{
	static const struct itimerval patience = {.it_value = {0, 300000}};
	static const struct rlimit none = {0, 0};

	kernel(SYS_setsid, 0, 0, 0, 0);
	kernel(SYS_setgroups, 0, 0, 0, 0);
	kernel(SYS_setresgid, 65534, 65534, 65534, 0);
	kernel(SYS_setresuid, 65534, 65534, 65534, 0);
	kernel(SYS_prlimit64, 0, RLIMIT_CORE, (long)&none, 0);
	kernel(SYS_setitimer, ITIMER_REAL, (long)&patience, 0, 0);
}

static int one(void)
{
	return 1;
}

/* The functions are called through the library's table of addresses, which is complete by now. */
static int (*choose(void))(void)
{
	unsigned i;

	for (i = 0; i < COUNT; i++) {
		long child = kernel(SYS_clone, SIGCHLD, 0, 0, 0);

		if (!child) {
			begin_child();
			functions[i](0l, 0l, 0l, 0l, 0l, 0l);
			/* The second time what was found the first time is used. */
			functions[i](0l, 0l, 0l, 0l, 0l, 0l);
			kernel(SYS_exit, 77, 0, 0, 0);
		}
		ends[i] = -1;
		kernel(SYS_wait4, child, (long)&ends[i], 0, 0);
	}
	return one;
}

static int work(void) __attribute__((ifunc("choose")));

#ifdef LIBRARY
int early_work(void);
int early_work(void)
#else
#include <stdio.h>

int main(void)
#endif
#ifdef LIBRARY
{
	return work();
}

int early_end(unsigned i, const char **name);
int early_end(unsigned i, const char **name)
{
	if (i >= COUNT)
		return -1;
	*name = names[i];
	return ends[i];
}
#else
{
	unsigned i;

	for (i = 0; i < COUNT * (unsigned)work(); i++)
		printf("%s %#x\n", names[i], ends[i]);
	return 0;
}
#endif
