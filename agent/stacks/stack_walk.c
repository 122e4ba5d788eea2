/* See stack_walk.h. */
#include "stack_walk.h"

#include <string.h>
#include <ucontext.h>

#include "agent/base/stack.h"
#include "code.h"
#include "return_thunk.h"

/* The frames of this library up to the program's take less. */
enum { OWN_BYTES = 16384 };

/* The stack that an address lies on. */
struct bounds {
	uintptr_t low, high;
};

/* Finds the bounds of the stack that `at` lies on. Returns false if they are not known. */
static bool find_bounds(const struct fxt_thread *thread, uintptr_t at, struct bounds *bounds)
{
	stack_t stack;

	if (fxt_on_own_stack(thread, at) && !thread->stack.alternate_is_within) {
		*bounds = (struct bounds){thread->stack.low, thread->stack.high};
		return true;
	}
	if (FXT_SYSCALL2(SYS_sigaltstack, NULL, &stack))
		return false;
	*bounds = (struct bounds){(uintptr_t)stack.ss_sp, (uintptr_t)stack.ss_sp + stack.ss_size};
	if (stack.ss_flags & SS_ONSTACK && at >= bounds->low && at < bounds->high)
		return true;
	*bounds = (struct bounds){thread->stack.low, thread->stack.high};
	return fxt_on_own_stack(thread, at) && !(stack.ss_flags & SS_ONSTACK);
}

/* Leaves a frame without a rule by the frame pointer, as code that was compiled with frame pointers allows.
 */
static bool step_by_frame_pointer(const struct bounds *bounds, struct fxt_frame *frame)
{
	const uintptr_t *saved = (const uintptr_t *)frame->fp;

	if (frame->fp < frame->sp || frame->fp % sizeof(uintptr_t) ||
	    frame->fp > bounds->high - 2 * sizeof(uintptr_t) || (saved[0] && saved[0] <= frame->fp))
		return false;
	frame->sp = (uintptr_t)(saved + 2);
	frame->fp = saved[0];
	frame->place = saved[1];
	return true;
}

#if defined(__x86_64__)

#define HAS_RULES true

/* Returns whether the code at `place`, which lies in a module, is what the kernel lets a handler return to:
 * the system call rt_sigreturn. */
static bool is_signal_return(uintptr_t place)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return !memcmp((const void *)place, code, sizeof(code));
}

/* Goes from a handler to the code that the signal has interrupted, whose registers lie on the stack. That
 * code may be on another stack. */
static bool step_over_signal(const struct fxt_thread *thread, struct bounds *bounds, struct fxt_frame *frame)
{
	const ucontext_t *context = (const ucontext_t *)frame->sp;
	const greg_t *registers = context->uc_mcontext.gregs;

	if (bounds->high - frame->sp < sizeof(*context))
		return false;
	/* What was interrupted has not called: its next instruction may be the first of a function, and
	 * an address that a call returns to lies behind the call. */
	*frame = (struct fxt_frame){(uintptr_t)registers[REG_RIP] + 1, (uintptr_t)registers[REG_RSP],
				    (uintptr_t)registers[REG_RBP]};
	if (frame->sp >= bounds->low && frame->sp < bounds->high)
		return true;
	*bounds = (struct bounds){thread->stack.low, thread->stack.high};
	return fxt_on_own_stack(thread, frame->sp);
}

#else

#define HAS_RULES false

static bool is_signal_return(uintptr_t place)
{
	(void)place;
	return false;
}

static bool step_over_signal(const struct fxt_thread *thread, struct bounds *bounds, struct fxt_frame *frame)
{
	(void)thread;
	(void)bounds;
	(void)frame;
	return false;
}

#endif

static bool step(const struct fxt_code *code, const struct bounds *bounds, struct fxt_frame *frame)
{
	if (code->how == FXT_UNWIND_RULE)
		return fxt_unwind_step(&code->rule, bounds->high, frame);
	/* The register is any number in code that was compiled without frame pointers. Where modules have
	 * rules, code without one is written by hand. */
	return (!code->module || !HAS_RULES) && step_by_frame_pointer(bounds, frame);
}

__attribute__((noinline)) void fxt_stack_walk(const struct fxt_thread *thread, unsigned most,
					      struct fxt_walk *walk)
{
	const uintptr_t *own = __builtin_frame_address(0);
	struct fxt_frame frame = {own[1], (uintptr_t)(own + 2), own[0]};
	unsigned own_module = fxt_code_own(), steps;
	struct bounds bounds;
	struct fxt_code code;
	bool has_bounds = find_bounds(thread, frame.sp, &bounds);

	walk->count = 0;
	walk->is_whole = false;
	if (!has_bounds)
		bounds = (struct bounds){frame.sp, frame.sp + OWN_BYTES};
	else if (frame.sp - bounds.low < FXT_WALK_BYTES)
		return;
	/* Frames of ours count here, so that damaged memory that leads in a circle comes to an end. */
	for (steps = 0; steps < 2 * FXT_WALK_MOST; steps++) {
		if (!frame.place) {
			walk->is_whole = true;
			return;
		}
		frame.place = fxt_return_place(frame.place);
		code = fxt_code_at(frame.place);
		if (code.module && code.how == FXT_UNWIND_NONE && is_signal_return(frame.place)) {
			if (!step_over_signal(thread, &bounds, &frame))
				return;
			continue;
		}
		if (!code.module || code.module != own_module) {
			if (walk->count == most)
				return;
			walk->places[walk->count] = frame.place;
			walk->modules[walk->count++] = code.module;
			walk->is_whole = code.how == FXT_UNWIND_OUTERMOST;
			if (!has_bounds || walk->is_whole)
				return;
		}
		if (!step(&code, &bounds, &frame))
			return;
	}
}
