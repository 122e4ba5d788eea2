/* Makes the wrapper of syscall(), which records each call as the function that it stands for: see
 * engine/syscall.h. Any context. */
#include <stdarg.h>
#include <unistd.h>

#include "interpose/engine/interpose.h"

/* These are the functions that all tables have for system calls, by number. */
#define SYSTEM_CALL(category, type, number, ...) BY_HAND_NUMBER(number)
#define BY_NUMBER SYSTEM_CALL
#define BY_NUMBER_ALONE SYSTEM_CALL

#define BY_HAND_NUMBER(number) \
	__attribute__((visibility("hidden"))) void fxt_numbered_##number(struct fxt_by_number *call);
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#undef BY_HAND_NUMBER
#define BY_HAND_NUMBER(number) [SYS_##number] = fxt_numbered_##number,
static void (*const numbered[FXT_NUMBERS_ALL])(struct fxt_by_number *call) = {
#include "interpose/tables/calls.def"
};
#include "interpose/engine/unrows.inc"

FXT_EXPORT long syscall(long number, ...)
{
	struct fxt_by_number call = {.number = number, .place = (uintptr_t)__builtin_return_address(0)};
	va_list list;
	int i;

	/* No call has more than six arguments. One that was not given is passed on as it was found, and the
	 * kernel does not look at it. */
	va_start(list, number);
	for (i = 0; i < 6; i++)
		call.args[i] = va_arg(list, long);
	va_end(list);
	/* The table may not be relocated yet. */
	if ((unsigned long)number < FXT_NUMBERS && fxt_is_relocated_word((void *)numbered[number])) {
		numbered[number](&call);
	} else {
		if (FXT_UNLIKELY(!fxt_is_relocated()))
			fxt_bind_early();
		fxt_by_number_make(&call);
	}
	return call.result;
}
