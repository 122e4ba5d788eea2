/* Walks the calling thread's stack. Frames are left by the rules of their code (code.h), or by the frame
 * pointer where there is no rule. Code of this library is passed over. Any context.
 */
#ifndef FXT_STACK_WALK_H
#define FXT_STACK_WALK_H

#include "agent/base/agent.h"

enum {
	FXT_WALK_MOST = 64,             /* frames of a stack that are looked at */
	FXT_WALK_BYTES = 4096,          /* what a walk and the work on its frames need of the stack */
};

struct fxt_walk {
	unsigned count;
	bool is_whole;                  /* the last frame has no caller */
	bool lacks_room;                /* it ends at a module that there was no room for */
	uintptr_t places[FXT_WALK_MOST];        /* return addresses, the innermost first */
	uint16_t modules[FXT_WALK_MOST];        /* and their modules, or 0: fxt_code_module() */
};

/* Walks the stack outwards from a function of this library, for at most `most` frames. `own` is what that
 * function gets from __builtin_frame_address(0). Finds nothing where the stack has too little left. On a
 * stack whose bounds are not known (a coroutine's) it finds the innermost frame alone. */
void fxt_stack_walk(const struct fxt_thread *thread, const uintptr_t *own, unsigned most,
		    struct fxt_walk *walk);

/* Says whether a call led to the present function. */
enum fxt_frame_reach {
	FXT_REACH_NOT,                  /* the stack ends before, or other calls lie there */
	FXT_REACH_YES,
	FXT_REACH_UNKNOWN,              /* some code on the way has no rule */
};

/* Finds out whether a frame that lies on the stack at `frame` or just above, and returns to `place`, is
 * that of a caller of a function of this library. `own` is as above. Nothing is known of the stack: the
 * memory need not be there, and may have any contents. */
enum fxt_frame_reach fxt_stack_reaches(const uintptr_t *own, uintptr_t frame, uintptr_t place);

/* Says whether a caller of the present function has a frame that reaches beyond `at`. */
enum fxt_frame_reach fxt_stack_goes_beyond(const uintptr_t *own, uintptr_t at);

/* Returns where the frame ends that lies on the stack at `frame` or just above: the stack pointer of the
 * function's caller behind the call. Returns 0 if that is not known. */
uintptr_t fxt_stack_end_of(const uintptr_t *own, uintptr_t frame);

#endif
