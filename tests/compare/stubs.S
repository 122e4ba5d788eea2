/* This file has the entries of the counting library: one for every function that the interposition tables
 * declare, and one for syscall(). An entry counts the call and jumps to the next library's function of that
 * name, with registers, stack and return address as they came. Entries are numbered in the order of the
 * tables; count.c and tests/list_calls --symbols number them in the same way.
 *
 * The entry of syscall() also counts by the system call's number.
 *
 * An entry tests whether its function's address is known and whether the process has counters. If one is
 * missing, count_prepare() in count.c sees to it and counts the call.
 */
#include "count.h"

	.text
	.set	number, 0

#define CALL(category, type, name, ...) entry name
#define ALIAS(category, type, symbol, name, ...) entry symbol
#define BY_HAND(category, name, role) entry name
#define BY_HAND_ALIAS(category, symbol, name) entry symbol
#define SYSTEM_CALL CALL

#if defined(__x86_64__)

	/* by_number: whether the call is also counted by its first argument, a number below COUNT_NUMBERS */
	.macro	entry symbol, by_number=0
	.globl	\symbol
	.type	\symbol, @function
	.balign	16
\symbol:
	endbr64
	cmpq	$0, count_next + 8 * number(%rip)
	je	1f
	movq	count_gate(%rip), %r11
	movq	(%r11), %r11
	testq	%r11, %r11
	je	1f
	lock incq 8 * number(%r11)
	.if	\by_number
	cmpq	$COUNT_NUMBERS, %rdi
	jae	2f
	lock incq 16 * (number + 1)(%r11, %rdi, 8)
2:
	.endif
	jmp	*count_next + 8 * number(%rip)
1:	movl	$number, %r11d
	jmp	prepare
	.size	\symbol, . - \symbol
	.set	number, number + 1
	.endm

	/* Entries jump here with their number in r11. All registers that may hold arguments are saved; rax is
	 * one, because it holds how many vector registers a variadic call uses. */
	.balign	16
prepare:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$192, %rsp
	movq	%rdi, (%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, 48(%rsp)
	movq	%r10, 56(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	movq	%rdi, %rsi
	movl	%r11d, %edi
	call	count_prepare
	movq	%rax, %r11
	movq	(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movq	48(%rsp), %rax
	movq	56(%rsp), %r10
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc

#else
#error "make compare knows x86_64 only"
#endif

#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
	entry	syscall, 1

	.section .note.GNU-stack, "", @progbits
