/* Records system calls that are made by way of syscall(): each is recorded as the function of the C library
 * that it stands for. This is a part of interpose.h.
 *
 * The tables say which: SYSTEM_CALL, BY_NUMBER and BY_NUMBER_ALONE rows (interpose.h) become functions
 * fxt_numbered_NUMBER() here, which do what the wrapper does around the call that was asked for. They never
 * call the C library's function: that one may be a cancellation point, and may change the arguments. The
 * arguments go to the kernel as they came, and what it returns goes to the program.
 */
#ifndef FXT_SYSCALL_H
#define FXT_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

#include "syscall_numbers.h"

struct fxt_by_number {
	long number;
	long args[6];
	long result;                    /* what syscall() returns */
	uintptr_t place;                /* the return address of syscall() */
};

/* Makes the call; errno and `result` are as syscall() leaves them. */
long fxt_by_number_make(struct fxt_by_number *call);

/* A function that is made from a row calls this: `by_number` stands for the name of the real function. */
#define real_by_number(...) ((returned_)fxt_by_number_make(call_))

/* That function, or a macro of NAME.c around it: `#define FXT_NUMBER_dup , DUP_BY_NUMBER`. Such a macro takes
 * any number of arguments, and call_ and returned_ are in its scope. FXT_APPLY() gives the arguments to a
 * macro that names them. */
#define FXT_APPLY(macro, ...) macro(__VA_ARGS__)
#define FXT_NUMBER_CALLEE(number) FXT_SECOND(FXT_NUMBER_##number, real_by_number, )

/* Gives the call a pointer of the wrapper in the place of the program's; `position` is the parameter's. */
#define FXT_GIVE_by_number , FXT_GIVE_NUMBER
#define FXT_GIVE_NUMBER(position, pointer) call_->args[position] = (long)(pointer);
#define FXT_GIVE(symbol, position, pointer) FXT_SECOND(FXT_GIVE_##symbol, FXT_NOTHING, )(position, pointer)

/* Takes the parameters out of args, and replaces the trace's descriptor there (given.h). A parameter that the
 * function has and the system call does not have is ABSENT: it is 0. */
#define P_TAKE(type, name, kind) FXT_SECOND(TAKE_##kind, TAKE_USUAL, )(type, name)
#define TAKE_USUAL(type, name)                                  \
	__attribute__((unused)) type name = (type)*next_++;     \
	P_GIVE_NUMBER(name, next_ - 1)
#define TAKE_NONE , FXT_NOTHING
#define TAKE_ABSENT , TAKE_ZERO
#define TAKE_ZERO(type, name) __attribute__((unused)) type name = 0;
#define COUNT_ABSENT 0
#define WORDS_ABSENT(name) 0
#define MEASURE_ABSENT(name)
#define PUT_ABSENT(name)

/* The head of a function that is written by hand. */
#define FXT_BY_HAND_NUMBER(number)                                                                     \
	__attribute__((visibility("hidden"))) void fxt_numbered_##number(struct fxt_by_number *call);   \
	void fxt_numbered_##number(struct fxt_by_number *call)

#define FXT_NUMBERED_BEGIN(type, number)                                                                \
	__attribute__((visibility("hidden"))) void fxt_numbered_##number(struct fxt_by_number *call_);  \
	static __attribute__((noinline)) type numbered_##number(struct fxt_by_number *call_);           \
	void fxt_numbered_##number(struct fxt_by_number *call_)                                         \
	{                                                                                               \
		(void)numbered_##number(call_);                                                         \
	}                                                                                               \
	static type numbered_##number(struct fxt_by_number *call_)

#define FXT_NUMBERED_TAKE(type, ...)                                            \
	__attribute__((unused)) typedef type returned_;                         \
	__attribute__((unused)) long *next_ = call_->args;                      \
	FXT_EACH(P_TAKE, __VA_ARGS__)

/* Makes the function of a row. */
#define FXT_NUMBERED(category, type, number, event, blocks, result_kind, ...)				\
	FXT_NUMBERED_BEGIN(type, number)								\
	{												\
		FXT_NUMBERED_TAKE(type, __VA_ARGS__)							\
		FXT_BODY(fxt_enter_first(FXT_CAT_##category), category, type, event,			\
			 FXT_NUMBER_CALLEE(number), blocks, result_kind, __VA_ARGS__)			\
	}
#define FXT_NUMBERED_ALONE(category, type, number, ...) \
	FXT_NUMBERED(category, type, number, number, __VA_ARGS__)

#endif
