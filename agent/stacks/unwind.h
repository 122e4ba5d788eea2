/* Unwind rules: how to get from a function's frame to that of its caller. A rule holds for code at one
 * address, and is read from the .eh_frame section, which every object has for exceptions ("Call Frame
 * Information" in the DWARF specification, and "Exception Frames" in the Linux Standard Base). No library
 * unwinds for us, because those take locks or allocate.
 *
 * Only x86_64 has rules. Code whose rule is no sum of a register and a number has none either, such as that
 * of procedure linkage tables and of signal trampolines; functions that align their stack have one. Any
 * context.
 */
#ifndef FXT_UNWIND_H
#define FXT_UNWIND_H

#include <elf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/reach.h"

/* After five steps, what is left of the 14 000 functions of a large program stands in a page or two. */
enum { FXT_UNWIND_STEPS = (1 << 5) - 1 };

/* What is kept of an object's table of functions, at which each search begins: how many there are, and where
 * those begin that the first steps of a search compare with. Otherwise each search would touch as many pages,
 * and ask the kernel about them. Threads fill it without a lock. At the beginning all members are zero. */
struct fxt_unwind_known {
	/* by the step: that of number n goes on at 2 n + 1, or above at 2 n + 2; 0: not known yet */
	_Atomic int32_t firsts[FXT_UNWIND_STEPS];
	/* where the table begins behind the header, in the high half, and how many functions it has; 0: not
	 * known yet */
	_Atomic uint64_t functions;
};

/* The unwind tables of an object in memory: the section .eh_frame_hdr, which says where .eh_frame is, and the
 * bounds of the segment in which both lie. An object with code that the calling thread will return to stays
 * mapped, but not all of it need be readable: somebody may have cut its file off behind the code, and the
 * program may have taken the right to read it away. So the kernel is asked about each page. */
struct fxt_unwind_tables {
	const uint8_t *header, *low, *high;
	struct fxt_unwind_known *known; /* NULL: nothing is kept */
	struct fxt_reach reach;
};

struct fxt_unwind_rule {
	int32_t caller_sp;              /* the caller's stack pointer, less the register, in bytes */
	/* the address where the function has saved the caller's frame pointer, less the caller's stack
	 * pointer; 0: it has not changed the frame pointer */
	int32_t saved_fp;
	bool is_from_fp;                /* the register is the frame pointer, and not the stack pointer */
	/* The function has aligned its stack: the caller's stack pointer stands in memory, `caller_sp` from
	 * the frame pointer, and the caller's frame pointer where the frame pointer points to. */
	bool is_aligned;
};

/* A frame: the address that a call returns to, and the registers as they are when it has returned. */
struct fxt_frame {
	uintptr_t place, sp, fp;
};

enum fxt_unwind_found {
	FXT_UNWIND_NONE,                /* the tables do not say, or not in the form of a rule */
	FXT_UNWIND_RULE,
	FXT_UNWIND_OUTERMOST,           /* the code has no caller: a thread or the program begins there */
};

/* Finds the tables of an object by its program headers; `bias` is how far the object lies in memory from its
 * own addresses. Returns false if there are none. */
bool fxt_unwind_find(const Elf64_Phdr *segments, size_t count, uintptr_t bias,
		     struct fxt_unwind_tables *tables);

/* Finds the rule for the code at an address in memory. Reads nothing outside of the tables' bounds, and
 * nothing that cannot be read, whatever they have. `*rule` is set only for FXT_UNWIND_RULE. */
enum fxt_unwind_found fxt_unwind_rule(struct fxt_unwind_tables *tables, uintptr_t address,
				      struct fxt_unwind_rule *rule);

/* Does what fxt_unwind_step() does, for a function that has aligned its stack. */
static inline bool fxt_unwind_step_aligned(const struct fxt_unwind_rule *rule, uintptr_t low, uintptr_t high,
					   struct fxt_frame *frame)
{
	uintptr_t holder = frame->fp + (uintptr_t)(intptr_t)rule->caller_sp, sp;

	if (low < frame->sp)
		low = frame->sp;
	if (holder < low || frame->fp < low || holder % sizeof(uintptr_t) ||
	    frame->fp % sizeof(uintptr_t) || holder > high - sizeof(uintptr_t) ||
	    frame->fp > high - sizeof(uintptr_t))
		return false;
	sp = *(const uintptr_t *)holder;
	if (sp < low + sizeof(uintptr_t) || sp > high || sp % sizeof(uintptr_t))
		return false;
	frame->place = ((const uintptr_t *)sp)[-1];
	frame->fp = *(const uintptr_t *)frame->fp;
	frame->sp = sp;
	return true;
}

/* Goes from a frame to its caller's. `high` is the end of the stack, and what the function has saved does not
 * lie below `low`. Returns false, with nothing changed, if the caller's frame would not lie between the frame
 * and the end. */
static inline bool fxt_unwind_step_from(const struct fxt_unwind_rule *rule, uintptr_t low, uintptr_t high,
					struct fxt_frame *frame)
{
	uintptr_t sp = (rule->is_from_fp ? frame->fp : frame->sp) + (uintptr_t)(intptr_t)rule->caller_sp,
		  saved = sp + (uintptr_t)(intptr_t)rule->saved_fp;

	if (rule->is_aligned)
		return fxt_unwind_step_aligned(rule, low, high, frame);
	if (sp < frame->sp + sizeof(uintptr_t) || sp < low + sizeof(uintptr_t) || sp > high ||
	    sp % sizeof(uintptr_t) ||
	    (rule->saved_fp && (saved < low || saved > sp - sizeof(uintptr_t))))
		return false;
	frame->place = ((const uintptr_t *)sp)[-1];
	if (rule->saved_fp)
		frame->fp = *(const uintptr_t *)saved;
	frame->sp = sp;
	return true;
}

/* Does the same from a frame whose function has called. */
static inline bool fxt_unwind_step(const struct fxt_unwind_rule *rule, uintptr_t high,
				   struct fxt_frame *frame)
{
	return fxt_unwind_step_from(rule, frame->sp, high, frame);
}

#endif
