/* See stack_walk.h. */
#include "stack_walk.h"

#include <string.h>
#include <ucontext.h>

#include "agent/base/stack.h"
#include "code.h"
#include "return_thunk.h"

enum {
	OWN_BYTES = 16384,              /* the frames of this library up to the program's take less */
	STEPS_MOST = 512,               /* damaged memory that leads in a circle comes to an end */
	BELOW_BYTES = 1 << 20,          /* the frame of a function that found its stack used up is smaller */
};

#if defined(__x86_64__)
#define HAS_RULES true
#else
#define HAS_RULES false
#endif

/* How a frame was left. */
enum step {
	STEP_NONE,                      /* it was not: the caller's frame is not known */
	STEP_SURE,
	STEP_GUESSED,                   /* the caller's frame is one if the walk gets to the stack's end */
};

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

/* Leaves a frame without a rule by the frame pointer. Code that programs make while they run has frame
 * pointers as a rule; but a compiler may use the register for anything, and where the code was called by code
 * that has no frame pointer, the one that it has saved is any number. Of code in modules that has no rule,
 * some was made in the same way (V8's), and some was written by hand. So this is a guess, however much what
 * lies there looks like a frame: lists on the stack have pointers to functions. */
static enum step step_by_frame_pointer(const struct bounds *bounds, struct fxt_frame *frame)
{
	const uintptr_t *saved = (const uintptr_t *)frame->fp;

	if (frame->fp < frame->sp || frame->fp < bounds->low || frame->fp % sizeof(uintptr_t) ||
	    frame->fp > bounds->high - 2 * sizeof(uintptr_t))
		return STEP_NONE;
	/* Where no code has rules, all of it has frame pointers, and nothing could confirm a guess. */
	if (!HAS_RULES && saved[0] && saved[0] <= frame->fp)
		return STEP_NONE;
	frame->sp = (uintptr_t)(saved + 2);
	frame->fp = saved[0];
	frame->place = saved[1];
	return HAS_RULES ? STEP_GUESSED : STEP_SURE;
}

#if defined(__x86_64__)

/* Returns whether the instruction in front of `place` can be a call: with a distance, or through a register
 * or a word, whose address has up to five bytes. `reach` has the pages that the walk has asked about. */
static bool is_behind_call(uintptr_t place, struct fxt_reach *reach)
{
	enum { CALL = 0xe8, CALL_BYTES = 5, INDIRECT = 0xff, LONGEST = 7 };
	/* Of an instruction of that kind, the second byte says which it is. */
	enum { WHICH_SHIFT = 3, WHICH = 7, IS_CALL = 2 };
	const uint8_t *code = (const uint8_t *)place;
	int bytes;

	/* The program may have code that cannot be read. */
	if (place < LONGEST || !fxt_reaches_all(reach, code - LONGEST, LONGEST))
		return false;
	if (code[-CALL_BYTES] == CALL)
		return true;
	for (bytes = 2; bytes <= LONGEST; bytes++)
		if (code[-bytes] == INDIRECT && (code[1 - bytes] >> WHICH_SHIFT & WHICH) == IS_CALL)
			return true;
	return false;
}

/* Returns whether the code at `place`, which lies in a module, is what the kernel lets a handler return to:
 * the system call rt_sigreturn. */
static bool is_signal_return(uintptr_t place)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return fxt_sys_can_read(place) && fxt_sys_can_read(place + sizeof(code) - 1) &&
	       !memcmp((const void *)place, code, sizeof(code));
}

/* Returns how far down the stack can be read, from its high end to `low`: a thread that has used it up has a
 * stack pointer below that. */
static uintptr_t readable_low(uintptr_t low, uintptr_t high)
{
	enum { PAGE = 4096 };
	uintptr_t readable = high, middle;

	if (fxt_sys_can_read(low))
		return low;
	low -= low % PAGE;
	while (readable - low > PAGE) {
		middle = low + (readable - low) / 2;
		middle -= middle % PAGE;
		if (fxt_sys_can_read(middle))
			readable = middle;
		else
			low = middle;
	}
	return readable;
}

/* Goes from a handler to the code that the signal has interrupted, whose registers lie on the stack. That
 * code may be on another stack, which may be used up. */
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
	if (fxt_on_own_stack(thread, frame->sp))
		bounds->low = readable_low(frame->sp, bounds->high);
	else if (frame->sp < bounds->low && bounds->low - frame->sp <= BELOW_BYTES)
		bounds->low = readable_low(bounds->low, bounds->high);
	else
		return false;
	return true;
}

/* Goes from an address at which there is no code to who has called it. */
static bool step_from_nowhere(const struct bounds *bounds, struct fxt_frame *frame, struct fxt_reach *reach)
{
	if (frame->sp < bounds->low || bounds->high - frame->sp < sizeof(uintptr_t) ||
	    frame->sp % sizeof(uintptr_t) || fxt_sys_can_read(frame->place - 1))
		return false;
	frame->place = *(const uintptr_t *)frame->sp;
	frame->sp += sizeof(uintptr_t);
	return is_behind_call(frame->place, reach);
}

#else

static bool is_behind_call(uintptr_t place, struct fxt_reach *reach)
{
	(void)place;
	(void)reach;
	return true;
}

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

static bool step_from_nowhere(const struct bounds *bounds, struct fxt_frame *frame, struct fxt_reach *reach)
{
	(void)bounds;
	(void)frame;
	(void)reach;
	return false;
}

#endif

/* Returns down to where an interrupted function may have saved something. A function that is about to return
 * has taken its caller's frame pointer from the stack, and the tables of many compilers say that it is still
 * there. So it is, because the kernel leaves so many bytes below the stack pointer alone. */
static uintptr_t low_of_interrupted(const struct bounds *bounds, const struct fxt_frame *frame)
{
	enum { RED_ZONE_BYTES = 128 };

	return frame->sp > bounds->low + RED_ZONE_BYTES ? frame->sp - RED_ZONE_BYTES : bounds->low;
}

static inline __attribute__((always_inline)) enum step
leave(const struct fxt_code *code, const struct bounds *bounds, bool is_interrupted, struct fxt_frame *frame)
{
	if (FXT_LIKELY(code->how == FXT_UNWIND_RULE))
		return fxt_unwind_step_from(&code->rule,
					    FXT_UNLIKELY(is_interrupted) ? low_of_interrupted(bounds, frame)
									 : frame->sp,
					    bounds->high, frame)
			       ? STEP_SURE
			       : STEP_NONE;
	return step_by_frame_pointer(bounds, frame);
}

/* Returns whether a frame that was guessed cannot be one: its code lies in a module, and does not go on
 * behind a call. */
static bool is_wrong(const struct fxt_code *code, uintptr_t place, struct fxt_reach *reach)
{
	return code->module && !is_behind_call(place, reach);
}

/* This says whether a walk had to guess. */
struct guess {
	bool is_any;
	unsigned sure;                  /* the number of frames up to the first guess */
};

/* Walks from `frame`, and counts the frames, of which at most `most` are kept. Returns whether the walk has
 * come to the end of the stack. The count and the guess are apart from the walk, and stay in registers. */
static inline __attribute__((always_inline)) bool
walk_on(const struct fxt_thread *thread, unsigned most, struct fxt_frame frame, struct fxt_walk *walk,
	unsigned *count, struct guess *guess)
{
	unsigned own_module = fxt_code_own(), steps;
	bool was_interrupted = false, has_bounds;
	struct fxt_code_latest latest = {0};
	struct fxt_reach reach = {0};
	enum step how = STEP_SURE;
	struct bounds bounds;
	struct fxt_code code;

	has_bounds = find_bounds(thread, frame.sp, &bounds);
	if (!has_bounds)
		bounds = (struct bounds){frame.sp, frame.sp + OWN_BYTES};
	else if (frame.sp - bounds.low < FXT_WALK_BYTES)
		return false;
	for (steps = 0; steps < STEPS_MOST; steps++) {
		/* A wrong guess may lead to memory that is zero. */
		if (!frame.place)
			return !guess->is_any;
		frame.place = fxt_return_place(frame.place);
		code = fxt_code_at(frame.place, &latest);
		if (FXT_UNLIKELY(how == STEP_GUESSED) && is_wrong(&code, frame.place, &reach))
			return false;
		if (code.module && code.how == FXT_UNWIND_NONE && is_signal_return(frame.place)) {
			if (!step_over_signal(thread, &bounds, &frame))
				return false;
			was_interrupted = true;
			how = STEP_SURE;
			continue;
		}
		if (FXT_UNLIKELY(code.module == FXT_CODE_NO_ROOM)) {
			walk->lacks_room = true;
			return false;
		}
		if (!code.module || code.module != own_module) {
			if (*count < most) {
				walk->places[*count] = frame.place;
				walk->modules[*count] = code.module;
			} else if (!guess->is_any) {
				return false;
			}
			++*count;
			if (!has_bounds || code.how == FXT_UNWIND_OUTERMOST)
				return code.how == FXT_UNWIND_OUTERMOST;
		}
		if (FXT_UNLIKELY(was_interrupted && !code.module) &&
		    step_from_nowhere(&bounds, &frame, &reach)) {
			was_interrupted = false;
			continue;
		}
		how = leave(&code, &bounds, was_interrupted, &frame);
		if (how == STEP_NONE)
			return false;
		if (FXT_UNLIKELY(how == STEP_GUESSED)) {
			/* What was interrupted may have no frame yet. */
			if (was_interrupted)
				return false;
			if (!guess->is_any)
				*guess = (struct guess){true, *count};
		}
		was_interrupted = false;
	}
	return false;
}

void fxt_stack_walk(const struct fxt_thread *thread, const uintptr_t *own, unsigned most,
		    struct fxt_walk *walk)
{
	struct guess guess = {false, 0};
	unsigned count = 0;
	bool is_whole;

	walk->lacks_room = false;
	is_whole = walk_on(thread, most, (struct fxt_frame){own[1], (uintptr_t)(own + 2), own[0]}, walk,
			   &count, &guess);
	if (guess.is_any && !is_whole)
		count = guess.sure;
	walk->is_whole = is_whole && count <= most;
	walk->count = count < most ? count : most;
}

/* -- On a stack of which nothing is known --------------------------------------------------------- */

enum { PAGE_BYTES = 4096, FRAME_MOST_BYTES = 1 << 16, PAGES_ASKED_MOST = 256 };

/* Makes one page more of the stack known to be readable. Returns false if it is not. */
static bool know_more(struct bounds *bounds, unsigned *asked)
{
	if (++*asked > PAGES_ASKED_MOST || !fxt_sys_can_read(bounds->high))
		return false;
	bounds->high += PAGE_BYTES;
	return true;
}

/* Goes from a handler to the code that the signal has interrupted, if that is on the same stack. */
static bool leave_handler(struct bounds *bounds, unsigned *asked, struct fxt_frame *at)
{
	uintptr_t sp = at->sp;

	while (bounds->high - sp < sizeof(ucontext_t) && know_more(bounds, asked))
		;
	bounds->low = sp;
	/* The registers that the kernel saves there take some pages. */
	bounds->high += FRAME_MOST_BYTES;
	if (!step_over_signal(fxt_self, bounds, at) || at->sp <= sp || at->sp >= bounds->high)
		return false;
	bounds->low = at->sp;
	bounds->high = (at->sp | (PAGE_BYTES - 1)) + 1;
	return true;
}

/* Walks from `*at` until a function is left whose frame reaches down to `frame` or below. Returns
 * FXT_REACH_YES if there is one; `*at` is its caller's then. */
static enum fxt_frame_reach walk_beyond(uintptr_t frame, struct fxt_frame *at)
{
	/* The page of a frame that lives is there. */
	struct bounds bounds = {at->sp, (at->sp | (PAGE_BYTES - 1)) + 1};
	struct fxt_code_latest latest = {0};
	unsigned steps, asked = 0;
	bool is_guessed = false;

	for (steps = 0; steps < STEPS_MOST; steps++) {
		struct fxt_code code;
		enum step how;

		at->place = fxt_return_place(at->place);
		if (at->sp > frame + sizeof(uintptr_t))
			return is_guessed ? FXT_REACH_UNKNOWN : FXT_REACH_YES;
		if (!at->place)
			return is_guessed ? FXT_REACH_UNKNOWN : FXT_REACH_NOT;
		code = fxt_code_at(at->place, &latest);
		if (code.how == FXT_UNWIND_OUTERMOST)
			return is_guessed ? FXT_REACH_UNKNOWN : FXT_REACH_NOT;
		if (code.module && code.how == FXT_UNWIND_NONE && is_signal_return(at->place)) {
			if (!leave_handler(&bounds, &asked, at))
				return FXT_REACH_UNKNOWN;
			continue;
		}
		while ((how = leave(&code, &bounds, false, at)) == STEP_NONE)
			if (bounds.high > frame + FRAME_MOST_BYTES || !know_more(&bounds, &asked))
				return bounds.high <= frame && !is_guessed ? FXT_REACH_NOT
									   : FXT_REACH_UNKNOWN;
		is_guessed |= how == STEP_GUESSED;
	}
	return FXT_REACH_UNKNOWN;
}

enum fxt_frame_reach fxt_stack_reaches(const uintptr_t *own, uintptr_t frame, uintptr_t place)
{
	struct fxt_frame at = {own[1], (uintptr_t)(own + 2), own[0]};
	enum fxt_frame_reach reach = walk_beyond(frame, &at);

	/* A guess that leads to the right place was right. */
	if (reach != FXT_REACH_NOT && at.sp > frame + sizeof(uintptr_t) && at.place == place)
		return FXT_REACH_YES;
	return reach == FXT_REACH_YES ? FXT_REACH_NOT : reach;
}

enum fxt_frame_reach fxt_stack_goes_beyond(const uintptr_t *own, uintptr_t at)
{
	struct fxt_frame frame = {own[1], (uintptr_t)(own + 2), own[0]};

	return walk_beyond(at, &frame);
}

uintptr_t fxt_stack_end_of(const uintptr_t *own, uintptr_t frame)
{
	struct fxt_frame at = {own[1], (uintptr_t)(own + 2), own[0]};

	return walk_beyond(frame, &at) == FXT_REACH_YES ? at.sp : 0;
}
