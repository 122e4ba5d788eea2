/* prctl() and syscall(), by which a program forbids itself system calls, or reading the processor's counter. Neither is recorded:
 * they are looked at, so that the agent stays within what remains (agent/seccomp.h). Any context.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/seccomp.h"
#include "interpose.h"

typedef unsigned long word;

/* A filter that cannot be read is refused by the kernel too. */
static const struct sock_fprog *filter_at(word address)
{
	static const struct fxt_thread nobody;
	const struct sock_fprog *filter = (const struct sock_fprog *)address;

	if (!fxt_readable(&nobody, filter, sizeof(*filter)) ||
	    !fxt_readable(&nobody, filter->filter, filter->len * sizeof(*filter->filter)))
		return NULL;
	return filter;
}

/* -- prctl --------------------------------------------------------------------------------------------- */

FXT_REAL(int, prctl, (int option, word a, word b, word c, word d), (option, a, b, c, d))

static FXT_COLD int prctl_seccomp(word mode, word filter_address, word c, word d)
{
	bool strict = mode == SECCOMP_MODE_STRICT;
	const struct sock_fprog *filter = strict ? NULL : filter_at(filter_address);
	unsigned before = 0;
	int result;

	if (strict || filter)
		before = fxt_seccomp_expect(filter);
	result = real_prctl(PR_SET_SECCOMP, mode, filter_address, c, d);
	if (result && (strict || filter))
		fxt_seccomp_restore(before);
	return result;
}

#if defined(__x86_64__)
static FXT_COLD int prctl_tsc(word mode, word b, word c, word d)
{
	int result;

	if (mode == PR_TSC_SIGSEGV)
		fxt_agent_suspend("the program has made reading the TSC an error: nothing is recorded");
	result = real_prctl(PR_SET_TSC, mode, b, c, d);
	if ((mode == PR_TSC_ENABLE) == !result)
		fxt_agent_resume();
	return result;
}
#endif

FXT_EXPORT int prctl(int option, ...)
{
	word a, b, c, d;
	va_list list;

	va_start(list, option);
	a = va_arg(list, word);
	b = va_arg(list, word);
	c = va_arg(list, word);
	d = va_arg(list, word);
	va_end(list);
	if (FXT_UNLIKELY(option == PR_SET_SECCOMP))
		return prctl_seccomp(a, b, c, d);
#if defined(__x86_64__)
	if (FXT_UNLIKELY(option == PR_SET_TSC))
		return prctl_tsc(a, b, c, d);
#endif
	return real_prctl(option, a, b, c, d);
}

/* -- syscall ------------------------------------------------------------------------------------------- */

typedef long syscall_fn(long number, word a, word b, word c, word d, word e, word f);

static long first_syscall(long number, word a, word b, word c, word d, word e, word f);

/* Named for the assembler below. */
syscall_fn *fxt_real_syscall __attribute__((visibility("hidden"))) = first_syscall;
syscall_fn fxt_syscall_seccomp __attribute__((visibility("hidden")));

static FXT_COLD long first_syscall(long number, word a, word b, word c, word d, word e, word f)
{
	fxt_interpose_start();
	return fxt_real_syscall(number, a, b, c, d, e, f);
}

/* SYS_seccomp, and SYS_prctl as far as it is the same. */
long fxt_syscall_seccomp(long number, word a, word b, word c, word d, word e, word f)
{
	const struct sock_fprog *filter = NULL;
	unsigned before = 0;
	bool strict = false;
	long result;

	if (number == SYS_seccomp) {
		strict = a == SECCOMP_SET_MODE_STRICT;
		filter = a == SECCOMP_SET_MODE_FILTER ? filter_at(c) : NULL;
	} else if (a == PR_SET_SECCOMP) {
		strict = b == SECCOMP_MODE_STRICT;
		filter = strict ? NULL : filter_at(c);
	}
	if (strict || filter)
		before = fxt_seccomp_expect(filter);
	result = fxt_real_syscall(number, a, b, c, d, e, f);
	if (result < 0 && (strict || filter))
		fxt_seccomp_restore(before);
	return result;
}

/* No frame of ours lies between the program and its call: the child of a SYS_vfork returns through it a second time, and
 * that of a SYS_clone on another stack. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined(__x86_64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpq $" TEXT(__NR_seccomp) ", %rdi\n"
	"	je fxt_syscall_seccomp\n"
	"	cmpq $" TEXT(__NR_prctl) ", %rdi\n"
	"	je fxt_syscall_seccomp\n"
	"	jmp *fxt_real_syscall(%rip)\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n");
#else
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	hint #34\n"             /* bti c */
	"	cmp x0, #" TEXT(__NR_seccomp) "\n"
	"	b.eq fxt_syscall_seccomp\n"
	"	cmp x0, #" TEXT(__NR_prctl) "\n"
	"	b.eq fxt_syscall_seccomp\n"
	"	adrp x16, fxt_real_syscall\n"
	"	ldr x16, [x16, #:lo12:fxt_real_syscall]\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n");
#endif

const struct fxt_real fxt_reals_seccomp[] = {
	{"prctl", NULL, (void **)&real_prctl},
	{"syscall", NULL, (void **)&fxt_real_syscall},
	{NULL, NULL, NULL},
};
