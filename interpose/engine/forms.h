/* Makes wrappers of rows that say how the call waits for others, in the place of BLOCKS() and QUICK. The
 * middle of such a wrapper, a form, is written out in the family's file, and records the event itself;
 * FXT_FORM_BODY() of engine.h stands around it. There are two ways.
 *
 * lock.c, sync.c and pthread_cond.c, whose calls are all of the category pthread and return an int:
 *
 *	LOCKS(try) LOCKS_UNTIL(taken) TRIES UNLOCKS  locks: lock.c
 *	COND_WAITS SEM_WAITS JOINS ARRIVES ...       conditions, semaphores, threads, barriers: sync.h, sync.c
 *
 * The file defines FORM_X(kind, symbol, object, parameters...) for each form X it has, FORM_X(y) as the name
 * of such a macro for X(y), and then CALL and ALIAS as FXT_FORM_CALL and FXT_FORM_ALIAS. The object is the
 * first parameter.
 *
 * child.c and signal_delivery.c: the row says FORM(shown), and the file defines FORM(shown) as `FORM, shown`
 * and the macro BODY_FORM(shown, kind, symbol, parameters...).
 *
 * A form has thread_, names_, start_ns_ and after_ns_, and sets result_ and end_ns_.
 */
#ifndef FXT_FORMS_H
#define FXT_FORMS_H

#include "interpose.h"
#include "object.h"

/* Ends a call: writes its event. */
#define FXT_FORM_RECORD(kind, ...)                              \
	do {                                                    \
		int failure_ = FAILURE_##kind;                  \
		FXT_EACH(P_MEASURE, __VA_ARGS__)                \
		FXT_RECORD(kind, , __VA_ARGS__);                \
	} while (0)

/* Ends a call that may have waited for another thread: writes its event and, if waits_, the arrow that ends
 * at after_ns_. */
#define FXT_FORM_RECORD_WAIT(kind, ...)                                         \
	FXT_FORM_RECORD(kind, __VA_ARGS__);                                     \
	if (waits_)                                                             \
		fxt_flow_resume(thread_, after_ns_, end_ns_, &cause_, 1);

#define FXT_FORM_WRAP(form, kind, symbol, event, object, ...)						\
	FXT_REAL_FIRST(pthread, int, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)),			\
		       (FXT_LIST(P_NAME, __VA_ARGS__)))							\
	static __attribute__((noinline)) int traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))		\
	FXT_FORM_BODY(fxt_enter_on(), pthread, int, event, real_##symbol,				\
		      form(kind, symbol, object, __VA_ARGS__), kind, __VA_ARGS__)			\
	FXT_EXPORTED(pthread, int, symbol, real_##symbol, __VA_ARGS__)

#define FXT_NAME_OF(type, name, kind) name
#define FXT_FIRST_NAME(first, ...) FXT_NAME_OF first
#define FXT_FORM_EXPAND(...) FXT_FORM_WRAP(__VA_ARGS__)

#define FXT_FORM_CALL(category, type, symbol, form, kind, ...) \
	FXT_FORM_EXPAND(FORM_##form, kind, symbol, symbol, FXT_FIRST_NAME(__VA_ARGS__, ), __VA_ARGS__)
#define FXT_FORM_ALIAS(category, type, symbol, event, form, kind, ...) \
	FXT_FORM_EXPAND(FORM_##form, kind, symbol, event, FXT_FIRST_NAME(__VA_ARGS__, ), __VA_ARGS__)

/* -- child.c, signal_delivery.c ---------------------------------------------------------------- */

/* The function that is called: the real one, or one around it if the file says `#define FXT_AROUND_SYMBOL ,
 * prefix_`. */
#define FXT_BY_CALLEE(symbol) FXT_PASTE(FXT_SECOND(FXT_AROUND_##symbol, real_, ), symbol)
#define FXT_BY_REAL(symbol, ...) FXT_BY_CALLEE(symbol)(FXT_LIST(P_GIVE, __VA_ARGS__))

#define FXT_BY_WRAP(category, type, symbol, event, form, shown, kind, ...)				\
	FXT_REAL(type, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)), (FXT_LIST(P_NAME, __VA_ARGS__)))	\
	static __attribute__((noinline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))		\
	FXT_FORM_BODY(fxt_enter_on(), category, type, event, FXT_BY_CALLEE(symbol),			\
		      BODY_##form(shown, kind, symbol, __VA_ARGS__), kind, __VA_ARGS__)			\
	FXT_EXPORTED(category, type, symbol, FXT_BY_CALLEE(symbol), __VA_ARGS__)

#define FXT_BY_EXPAND(...) FXT_BY_WRAP(__VA_ARGS__)
#define FXT_BY_CALL(category, type, symbol, ...) FXT_BY_EXPAND(category, type, symbol, symbol, __VA_ARGS__)
#define FXT_BY_ALIAS(...) FXT_BY_EXPAND(__VA_ARGS__)

/* Makes the function of a call that is made by syscall(): syscall.h. */
#define FXT_BY_NUMBER(category, type, number, event, form, shown, kind, ...)				\
	FXT_NUMBERED_BEGIN(type, number)								\
	{												\
		FXT_NUMBERED_TAKE(type, __VA_ARGS__)							\
		FXT_FORM_BODY(fxt_enter_first(FXT_CAT_##category), category, type, event,		\
			      FXT_BY_CALLEE(by_number),							\
			      BODY_##form(shown, kind, by_number, __VA_ARGS__), kind, __VA_ARGS__)	\
	}
#define FXT_BY_NUMBERED(...) FXT_BY_NUMBER(__VA_ARGS__)
#define FXT_BY_NUMBERED_ALONE(category, type, number, ...) \
	FXT_BY_NUMBER_EXPAND(category, type, number, number, __VA_ARGS__)
#define FXT_BY_NUMBER_EXPAND(...) FXT_BY_NUMBER(__VA_ARGS__)
#define FXT_BY_SYSTEM_CALL(...)   \
	FXT_BY_CALL(__VA_ARGS__)   \
	FXT_BY_NUMBERED_ALONE(__VA_ARGS__)

#endif
