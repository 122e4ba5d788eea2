/* Unwind rules: how to get from a function's frame to that of its caller. A rule holds for code at one
 * address, and is read from the .eh_frame section, which every object has for exceptions ("Call Frame
 * Information" in the DWARF specification, and "Exception Frames" in the Linux Standard Base). No library
 * unwinds for us, because those take locks or allocate.
 *
 * Only x86_64 has rules. Code whose rule is no sum of a register and a number has none either: that of
 * procedure linkage tables, of signal trampolines, and of functions that align their stack. Any context.
 */
#ifndef FXT_UNWIND_H
#define FXT_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unwind tables in the mapped file of an object: the section .eh_frame_hdr, which says where .eh_frame
 * is, and the bounds of the segment in which both lie. The file is read, and not the object's memory, which
 * may be unmapped at any time. */
struct fxt_unwind_tables {
	const uint8_t *header, *low, *high;
	uint64_t low_address;           /* the address of `low` in the file's own terms */
};

struct fxt_unwind_rule {
	int32_t caller_sp;              /* the caller's stack pointer, less the register, in bytes */
	/* the address where the function has saved the caller's frame pointer, less the caller's stack
	 * pointer; 0: it has not changed the frame pointer */
	int32_t saved_fp;
	bool is_from_fp;                /* the register is the frame pointer, and not the stack pointer */
};

/* A frame: the address that a call returns to, and the registers as they are when it has returned. */
struct fxt_frame {
	uintptr_t place, sp, fp;
};

/* Finds the tables in a file of `bytes` bytes, which is mapped at `image`. Reads nothing else, whatever the
 * file has. Returns false if there are none. */
bool fxt_unwind_find(const void *image, size_t bytes, struct fxt_unwind_tables *tables);

/* Finds the rule for the code at `address`, in the file's own terms. Reads nothing outside of the tables'
 * bounds, whatever they have. Returns false if there is no rule. */
bool fxt_unwind_rule(const struct fxt_unwind_tables *tables, uint64_t address, struct fxt_unwind_rule *rule);

/* Goes from a frame to its caller's. `high` is the end of the stack. Returns false, with nothing changed, if
 * the caller's frame would not lie between the frame and the end. */
static inline bool fxt_unwind_step(const struct fxt_unwind_rule *rule, uintptr_t high,
				   struct fxt_frame *frame)
{
	uintptr_t sp = (rule->is_from_fp ? frame->fp : frame->sp) + (uintptr_t)(intptr_t)rule->caller_sp,
		  saved = sp + (uintptr_t)(intptr_t)rule->saved_fp;

	if (sp < frame->sp + sizeof(uintptr_t) || sp > high || sp % sizeof(uintptr_t) ||
	    (rule->saved_fp && (saved < frame->sp || saved > sp - sizeof(uintptr_t))))
		return false;
	frame->place = ((const uintptr_t *)sp)[-1];
	if (rule->saved_fp)
		frame->fp = *(const uintptr_t *)saved;
	frame->sp = sp;
	return true;
}

#endif
