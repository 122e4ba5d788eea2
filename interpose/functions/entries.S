/* The entries of functions that call a hook only when they are entered, and the code they return to. The
 * hooks stand between a caller and the function that it calls, or between a function and its caller, where
 * compilers expect nothing. So they keep every register: those for integers here, and all others, where C
 * code may change them, by with_vectors. entry.c has what is done quickly, in integer registers alone, and
 * entry_slow.c the rest. See docs/entries.md.
 *
 * A function's return word is the word of the stack that has the address it returns to.
 */
#include "agent/names/plt_call_count.h"
#include "agent/stacks/return_thunk_count.h"

#if defined(__x86_64__)

#define SAVED 72                        /* bytes of the registers that SAVE pushes */

/* The language of unwind tables, for rules that the assembler has no directives for. r7 is the stack pointer,
 * and r16 the address at which the thread is. Valgrind ends the program if it meets an operation that it does
 * not know, such as `or`. */
#define DW_CFA_def_cfa_expression 0x0f
#define DW_CFA_val_expression 0x16
#define DW_OP_deref 0x06
#define DW_OP_const1s 0x09
#define DW_OP_const4s 0x0d
#define DW_OP_and 0x1a
#define DW_OP_minus 0x1c
#define DW_OP_plus 0x22
#define DW_OP_plus_uconst 0x23
#define DW_OP_shl 0x24
#define DW_OP_ge 0x2a
#define DW_OP_lit(n) (0x30 + n)
#define DW_OP_breg(n) (0x70 + n)
/* Tells whether the last 4 bits of the address, less `from`, are at least `least`: 1 or 0. */
#define IS_AT_LEAST(from, least) \
	DW_OP_breg(16), 0, DW_OP_lit(from), DW_OP_minus, DW_OP_lit(15), DW_OP_and, DW_OP_lit(least), DW_OP_ge

.macro SAVE
	pushq %rax
	.cfi_adjust_cfa_offset 8
	pushq %rcx
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %r8
	.cfi_adjust_cfa_offset 8
	pushq %r9
	.cfi_adjust_cfa_offset 8
	pushq %r10
	.cfi_adjust_cfa_offset 8
	pushq %r11
	.cfi_adjust_cfa_offset 8
.endm

.macro RESTORE_BUT_RAX
	popq %r11
	.cfi_adjust_cfa_offset -8
	popq %r10
	.cfi_adjust_cfa_offset -8
	popq %r9
	.cfi_adjust_cfa_offset -8
	popq %r8
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdx
	.cfi_adjust_cfa_offset -8
	popq %rcx
	.cfi_adjust_cfa_offset -8
.endm

.macro RESTORE
	RESTORE_BUT_RAX
	popq %rax
	.cfi_adjust_cfa_offset -8
.endm

/* Jumps to `to` if the thread has a shadow stack: no return address may be changed then. On processors and in
 * threads without one, rdsspq does nothing. */
.macro UNLESS_SHADOWED to
	xorl %eax, %eax
	rdsspq %rax
	testq %rax, %rax
	jnz \to
.endm

.macro BEGIN name
	.balign 64
	.type \name, @function
\name:
	.cfi_startproc
.endm

.macro END name
	.cfi_endproc
	.size \name, . - \name
.endm

	.text

/* Calls the function in rax, whose two arguments are in rdi and rsi, and keeps the registers that SAVE does
 * not. Which of them there are is known from the first call on (fxt_vector_bytes). The area for them is
 * aligned as xsave demands. */
BEGIN with_vectors
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %r12
	.cfi_offset %r12, -24
	movq %rax, %r12
	movl fxt_vector_bytes(%rip), %ecx
	testl %ecx, %ecx
	jnz 1f
	pushq %rdi
	pushq %rsi
	subq $16, %rsp
	andq $-16, %rsp
	call fxt_vector_find
	movl %eax, %ecx
	movq -16(%rbp), %rdi
	movq -24(%rbp), %rsi
1:	subq %rcx, %rsp
	andq $-64, %rsp
	movl fxt_vector_mask(%rip), %eax
	testl %eax, %eax
	jz 2f
	/* The header of the area, which xrstor examines. */
	xorl %edx, %edx
	movq %rdx, 512(%rsp)
	movq %rdx, 520(%rsp)
	movq %rdx, 528(%rsp)
	movq %rdx, 536(%rsp)
	movq %rdx, 544(%rsp)
	movq %rdx, 552(%rsp)
	movq %rdx, 560(%rsp)
	movq %rdx, 568(%rsp)
	xsave64 (%rsp)
	cld
	call *%r12
	movl fxt_vector_mask(%rip), %eax
	xorl %edx, %edx
	xrstor64 (%rsp)
	jmp 3f
2:	fxsave64 (%rsp)
	cld
	call *%r12
	fxrstor64 (%rsp)
3:	leaq -8(%rbp), %rsp
	popq %r12
	popq %rbp
	.cfi_def_cfa %rsp, 8
	ret
END with_vectors

/* The body of an entry. ARGUMENTS puts the function's return word into rdi and its address into rsi. */
.macro ENTER quick slow shadowed=3f
	UNLESS_SHADOWED \shadowed
	ARGUMENTS
	call \quick
	testl %eax, %eax
	jz 3f
	ARGUMENTS
	leaq \slow(%rip), %rax
	call with_vectors
3:
.endm

/* Stands for the C library's hooks until they are found, and where it has none. */
	.globl fxt_entry_nothing
	.hidden fxt_entry_nothing
BEGIN fxt_entry_nothing
	ret
END fxt_entry_nothing

/* The rest of a hook of -pg. The C library's own is called where functions cannot be recorded. */
.macro PROFILED quick slow real
	cmpb $0, fxt_gmon_is_foreign(%rip)
	jnz 5f
	ENTER \quick, \slow, 4f
	cmpb $0, fxt_gmon_is_foreign(%rip)
	jnz 5f
	RESTORE
	ret
	.cfi_adjust_cfa_offset SAVED
4:	leaq fxt_entry_prepare(%rip), %rax
	call with_vectors
5:	RESTORE
	jmp *\real(%rip)
.endm

/* -pg: called behind the function's prologue, which has set the frame pointer. */
	.globl mcount
	.globl _mcount
	.type _mcount, @function
BEGIN mcount
_mcount:
	endbr64
	SAVE
	.macro ARGUMENTS
	leaq 8(%rbp), %rdi
	movq SAVED(%rsp), %rsi
	.endm
	PROFILED fxt_entry_mcount_quick, fxt_entry_mcount, fxt_real_mcount
	.purgem ARGUMENTS
END mcount
	.size _mcount, . - _mcount

/* -pg -mfentry: called by the first instruction of the function. */
	.globl __fentry__
BEGIN __fentry__
	endbr64
	SAVE
	.macro ARGUMENTS
	leaq SAVED + 8(%rsp), %rdi
	movq SAVED(%rsp), %rsi
	.endm
	PROFILED fxt_entry_fentry_quick, fxt_entry_fentry, fxt_real_fentry
END __fentry__

/* Functions that patch.c has patched: they call this as they would __fentry__. */
	.globl fxt_entry_patched
	.hidden fxt_entry_patched
BEGIN fxt_entry_patched
	SAVE
	ENTER fxt_entry_quick, fxt_entry_patched_slow
	RESTORE
	ret
	.purgem ARGUMENTS
END fxt_entry_patched

/* -- Calls through procedure linkage tables --------------------------------------------------------- */

/* The stub of each call pushes its number. The number's place gets the address to go on at. A signal may come
 * between the two instructions, and an unwinder then needs to know that there is a word more on the stack. */
#define STUB_HAS_PUSHED IS_AT_LEAST(0, 5)

	.globl fxt_plt_stubs
	.hidden fxt_plt_stubs
	.balign 64
	.type fxt_plt_stubs, @function
fxt_plt_stubs:
	.cfi_startproc
	.cfi_escape DW_CFA_def_cfa_expression, 13, DW_OP_breg(7), 8, STUB_HAS_PUSHED, DW_OP_lit(3), \
		DW_OP_shl, DW_OP_plus
	.set i, 0
	.rept FXT_PLT_CALLS
	.byte 0x68                              /* pushq $i */
	.long i
	jmp plt_common
	.balign FXT_PLT_STUB_BYTES, 0xcc
	.set i, i + 1
	.endr
	.cfi_endproc
	.size fxt_plt_stubs, . - fxt_plt_stubs

/* If the call is recorded, its return word has a thunk's address now. The processor guesses that a function
 * returns behind the last call, and a wrong guess costs as much as all of this. So the function is entered by
 * way of the call in front of the thunk. Its own address lies on the stack meanwhile. */
BEGIN plt_common
	.cfi_def_cfa_offset 16
	SAVE
	movl SAVED(%rsp), %ecx
	movq fxt_plt_targets(%rip), %rax
	movq (%rax,%rcx,8), %rax
	movq %rax, SAVED(%rsp)
	shll $4, %ecx                           /* FXT_PLT_STUB_BYTES */
	leaq fxt_plt_stubs(%rip), %rsi
	addq %rcx, %rsi
	pushq SAVED + 8(%rsp)                   /* the return address, as it was */
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	.macro ARGUMENTS
	leaq SAVED + 24(%rsp), %rdi
	movq (%rsp), %rsi
	.endm
	ENTER fxt_entry_plt_quick, fxt_entry_plt
	.purgem ARGUMENTS
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rcx
	.cfi_adjust_cfa_offset -8
	cmpq SAVED + 8(%rsp), %rcx
	jne 1f
	.cfi_remember_state
	RESTORE
	leaq 8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp *-8(%rsp)
	.cfi_restore_state
1:	RESTORE_BUT_RAX
	movq 16(%rsp), %rax
	subq $FXT_RETURN_THUNK_CALL_BYTES, %rax
	movq %rax, -8(%rsp)
	popq %rax
	.cfi_adjust_cfa_offset -8
	jmp *-16(%rsp)
END plt_common

/* -- Return thunks ----------------------------------------------------------------------------------- */

/* The call in front of a thunk comes here. It has pushed the thunk's address, as if that were the function's
 * return word, and above that lies the function's address. */
BEGIN thunk_entered
	.cfi_def_cfa_offset 24
	leaq 16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	jmp *-8(%rsp)
END thunk_entered

/* Each thunk pushes the address to go on at to where the function's return address was, so an unwinder finds
 * it there, whenever a signal comes. A function that was entered by way of the thunk's call leaves the
 * caller's own call as the last one, so a return is what the processor expects here. */
BEGIN return_common
	SAVE
	leaq SAVED(%rsp), %rdi
	call fxt_return_quick
	testb $FXT_RETURN_SLOW, %al
	jnz 3f
1:	testb $FXT_RETURN_AFTER_CALL, %al
	jz 2f
	.cfi_remember_state
	RESTORE
	ret
	.cfi_restore_state
	.cfi_remember_state
2:	RESTORE
	leaq 8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp *-8(%rsp)
	.cfi_restore_state
3:	pushq %rax
	.cfi_adjust_cfa_offset 8
	leaq SAVED + 8(%rsp), %rdi
	leaq fxt_return_slow(%rip), %rax
	call with_vectors
	popq %rax
	.cfi_adjust_cfa_offset -8
	jmp 1b
END return_common

	.globl fxt_return_thunks
	.hidden fxt_return_thunks
	.balign 64
	.type fxt_return_thunks, @function
fxt_return_thunks:
	.set i, 0
	.rept FXT_RETURN_THUNKS
	.byte 0xe8                              /* call thunk_entered; the thunk begins behind it */
	.long thunk_entered - (. + 4)
	.byte 0xff, 0x35                        /* pushq fxt_return_places + 16 * i(%rip) */
	.long fxt_return_places + FXT_RETURN_THUNK_BYTES * i - (. + 4)
	.byte 0xe9                              /* jmp return_common */
	.long return_common - (. + 4)
	.set i, i + 1
	.endr
	.size fxt_return_thunks, . - fxt_return_thunks

/* The unwind table of the thunks. Its rules need more than the assembler has directives for:
 *
 *	return address          on the stack, if the thunk has pushed it; before the call in front of a
 *	                        thunk it is the thunk's own, and lies one word further up. Otherwise it is the
 *	                        word of fxt_return_places that belongs to the thunk. It is as far from the
 *	                        call in front of the thunk as the first word is from the first call. The
 *	                        linker knows how far both are from a place here, and the difference of the two
 *	                        is wanted.
 *	stack pointer           as it is, because the function has returned; one word more if the address is
 *	                        on the stack, and two before the call
 *	CFA                     the stack pointer and 1. Unwinders tell frames apart by their CFA, and the
 *	                        caller's frame has the stack pointer's value.
 */
	/* Tells whether the address is on the stack: behind the 6 bytes of the thunk's first instruction, and
	 * before the call; and whether it is before the call. The byte in front of the thunk counts to the
	 * thunk, because valgrind looks up that one. */
#define HAS_ADDRESS IS_AT_LEAST(FXT_RETURN_THUNK_CALL_BYTES - 1, 7)
#define IS_BEFORE_CALL IS_AT_LEAST(FXT_RETURN_THUNK_CALL_BYTES - 1, 8)

	/* Pushes the place of the address on the stack. */
	.macro ADDRESS
	.byte DW_OP_breg(7), 0, IS_BEFORE_CALL, DW_OP_lit(3), DW_OP_shl, DW_OP_plus
	.endm

	/* Pushes the stack pointer as the thunk found it. */
	.macro FOUND_STACK
	ADDRESS
	.byte HAS_ADDRESS, DW_OP_lit(3), DW_OP_shl, DW_OP_plus
	.endm

	/* Pushes the address of the thunk's word of fxt_return_places. */
	.macro PLACE
	.byte DW_OP_breg(16), 0, DW_OP_const1s, 0xf0, DW_OP_and
	.byte DW_OP_const4s
	.long fxt_return_places - .
	.byte DW_OP_plus
	.byte DW_OP_const4s
	.long fxt_return_thunks - .
	.byte DW_OP_minus
	.byte DW_OP_lit(6), DW_OP_minus         /* as far are the two numbers apart */
	.endm

	.section .eh_frame, "a", @unwind
	.balign 8
	.long 2f - 1f
1:	.long 0                                 /* a CIE */
	.byte 1                                 /* its version */
	.string "zR"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte 0x1b                              /* addresses are relative, in four bytes */
	.byte DW_CFA_def_cfa_expression
	.uleb128 4f - 3f
3:	FOUND_STACK
	.byte DW_OP_plus_uconst, 1
4:	.byte DW_CFA_val_expression, 7
	.uleb128 4f - 3f
3:	FOUND_STACK
4:	.balign 8
2:	.long 6f - 5f
5:	.long 5b - 1b + 4                       /* how far back the CIE is */
	.long fxt_return_thunks - .
	.long FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES
	.uleb128 0
	.byte DW_CFA_val_expression, 16
	.uleb128 4f - 3f
3:	PLACE
	ADDRESS
	PLACE
	.byte DW_OP_minus, DW_OP_lit(0), HAS_ADDRESS, DW_OP_minus, DW_OP_and, DW_OP_plus, DW_OP_deref
4:	.balign 8
6:

#endif

	.section .note.GNU-stack, "", @progbits
