/* This is no program of the test's own build: tests/e2e/foreign.sh compiles it without a C library, for this
 * machine and for 32 bits, as a static program and as the loader of other programs. It prints its arguments
 * and what LD_PRELOAD says to it, and exits with 3. An empty LD_PRELOAD counts as none. */
static long call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__i386__)
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

#if defined(__x86_64__)
enum { WRITE = 1, EXIT = 60 };
__asm__(".globl _start\n_start: mov %rsp,%rdi\n and $-16,%rsp\n call begin\n");
#elif defined(__i386__)
enum { WRITE = 4, EXIT = 1 };
__asm__(".globl _start\n_start: mov %esp,%eax\n and $-16,%esp\n sub $12,%esp\n push %eax\n call begin\n");
#else
enum { WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start: mov x0,sp\n bl begin\n");
#endif

static void say(const char *text)
{
	long bytes = 0;

	while (text[bytes])
		bytes++;
	call(WRITE, 1, (long)text, bytes);
}

static const char *value_of(char **environment)
{
	static const char name[] = "LD_PRELOAD=";
	unsigned i;

	for (; *environment; environment++) {
		for (i = 0; name[i] && (*environment)[i] == name[i]; i++)
			;
		if (!name[i] && (*environment)[i])
			return *environment + i;
	}
	return "none";
}

__attribute__((used)) void begin(long *stack)
{
	char **argument = (char **)(stack + 1);

	say("foreign:");
	for (; *argument; argument++) {
		say(" ");
		say(*argument);
	}
	say("\nLD_PRELOAD: ");
	say(value_of(argument + 1));
	say("\n");
	call(EXIT, 3, 0, 0);
}
