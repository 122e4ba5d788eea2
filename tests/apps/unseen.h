/* Makes system calls by instruction, so nothing of them is in the trace. Each returns what the kernel
 * returns: an error number below 0 if it fails. */
#ifndef UNSEEN_H
#define UNSEEN_H

#include <sys/syscall.h>

__attribute__((unused, no_instrument_function)) static inline long unseen_call(long number, long a, long b,
									       long c, long d)
{
#if defined(__x86_64__)
	register long fourth __asm__("r10") = d;
	long result = number;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
#else
	register long result __asm__("x0") = a;
	register long second __asm__("x1") = b;
	register long third __asm__("x2") = c;
	register long fourth __asm__("x3") = d;
	register long call __asm__("x8") = number;

	__asm__ volatile("svc 0" : "+r"(result) : "r"(second), "r"(third), "r"(fourth), "r"(call) : "memory");
#endif
	return result;
}

/* unseen(NUMBER, ARGUMENT...) takes four arguments at most. */
#define unseen(...) UNSEEN_(__VA_ARGS__, 0, 0, 0, 0, )
#define UNSEEN_(number, a, b, c, d, ...) unseen_call(number, (long)(a), (long)(b), (long)(c), (long)(d))

#endif
