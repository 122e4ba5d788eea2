/* These words stand in a row in the place of BLOCKS(), and say how a call that may wait is shown while it
 * waits. They are a part of interpose.h.
 *
 *	QUICK           the call does not block, and is not shown
 *	BLOCKS(x)       shows parameter x while the call waits
 *	SHOWS(x)        does the same for a call that moves no bytes, or that says itself which it moves
 *	BLOCKS_FOR(x)   shows parameter x, which is a TIME, by its value
 *	STEPS           shows the thread's number, for a call that has no argument to show
 */
#ifndef FXT_BLOCKING_H
#define FXT_BLOCKING_H

#define QUICK NULL
#define BLOCKS(name) (FXT_FILE_MOVES(name), SHOWS(name))
#define SHOWS(name) FXT_SHOWS_ARG(FXT_IN_PROGRESS_ARG_HEADER(name), FXT_IN_PROGRESS_ARG(name))
#define BLOCKS_FOR(name) FXT_SHOWS_ARG(fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_##name), (uint64_t)name##_ns)
#define STEPS FXT_SHOWS_ARG(fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_tid), (uint64_t)thread_->tid)

#define FXT_SHOWS_ARG(header, value) \
	(start_ns_ = fxt_explain_start(thread_, start_ns_, names_), FXT_PUSHES(header, value))
#define FXT_PUSHES(header, value)									\
	fxt_in_progress_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_, names_,	\
			     header, value)
/* Shows parameter x of a call that is not explained, and whose thread is ready. */
#define FXT_SHOWS_ONLY(name) FXT_PUSHES(FXT_IN_PROGRESS_ARG_HEADER(name), FXT_IN_PROGRESS_ARG(name))
#define FXT_IN_PROGRESS_ARG_HEADER(name) \
	fxt_arg_header(FXT_IS_INTEGER(name) ? FXT_ARG_INT64 : FXT_ARG_POINTER, 2, FXT_STR_##name)
#define FXT_IN_PROGRESS_ARG(name) ((uint64_t)(uintptr_t)(name))
#define FXT_IS_INTEGER(x) \
	_Generic((x), int: 1, unsigned: 1, long: 1, unsigned long: 1, default: 0)

/* Gives up the arrows of the stream if the argument is a FILE: nobody sees which bytes the C library moves
 * for it. */
#define FXT_FILE_MOVES(x) \
	_Generic((x), struct _IO_FILE *: fxt_file_moves, default: fxt_nothing_moves)((void *)(uintptr_t)(x))
static inline void fxt_nothing_moves(const void *unused)
{
	(void)unused;
}

#endif
