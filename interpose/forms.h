/* Wrappers whose lines say what they do with others that wait, in the place of BLOCKS() and QUICK:
 *
 *	LOCKS(try) LOCKS_UNTIL(taken) TRIES UNLOCKS     locks: lock.c
 *	WAITS ...                                       conditions, semaphores, barriers: sync.c
 *
 * A file defines FORM_X(kind, symbol, object, parameters...) for each form X it has, FORM_X(y) as the name of such a macro for X(y),
 * and then CALL and ALIAS as FXT_FORM_CALL and FXT_FORM_ALIAS. A body has thread_, names_ and start_ns_, and
 * sets result_; the object is the first parameter.
 */
#ifndef FXT_FORMS_H
#define FXT_FORMS_H

#include "interpose.h"
#include "object.h"

/* The end of a call: its event. */
#define FXT_FORM_RECORD(kind, ...)                              \
	do {                                                    \
		int failure_ = FAILURE_##kind;                  \
		FXT_EACH(P_MEASURE, __VA_ARGS__)                \
		FXT_RECORD(kind, , __VA_ARGS__);                \
	} while (0)

/* The same of a call that has waited for another thread, if waits_: with the arrow that ends at after_ns_. */
#define FXT_FORM_RECORD_WAIT(kind, ...)                                                                         \
	FXT_FORM_RECORD(kind, __VA_ARGS__);                                                                     \
	if (waits_)                                                                                             \
		fxt_flow_resume(thread_, after_ns_, end_ns_, &cause_, 1);

#define FXT_FORM_WRAP(body, kind, symbol, event, object, ...)                                           \
	FXT_REAL_FIRST(pthread, int, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)), (FXT_LIST(P_NAME, __VA_ARGS__))) \
	static __attribute__((noinline)) int traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))          \
	{                                                                                               \
		const uint64_t names_ = FXT_NAMES(pthread, event);                                      \
		struct fxt_thread *thread_ = fxt_enter_on();                                            \
		uint64_t start_ns_, end_ns_;                                                            \
		int result_;                                                                            \
													\
		if (!thread_)                                                                           \
			return real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                            \
		FXT_EACH(P_BEFORE, __VA_ARGS__)                                                         \
		start_ns_ = fxt_now(thread_);                                                           \
		body(kind, symbol, object, __VA_ARGS__)                                                 \
		return result_;                                                                         \
	}                                                                                               \
	FXT_EXPORT int symbol(FXT_LIST(P_DECLARE, __VA_ARGS__));                                        \
	FXT_EXPORT int symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                                         \
	{                                                                                               \
		if (!fxt_is_on(FXT_CAT_pthread))                                                        \
			return real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                            \
		return traced_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                                  \
	}

#define FXT_NAME_OF(type, name, kind) name
#define FXT_FIRST_NAME(first, ...) FXT_NAME_OF first
#define FXT_FORM_EXPAND(...) FXT_FORM_WRAP(__VA_ARGS__)

#define FXT_FORM_CALL(category, type, symbol, form, kind, ...) \
	FXT_FORM_EXPAND(FORM_##form, kind, symbol, symbol, FXT_FIRST_NAME(__VA_ARGS__, ), __VA_ARGS__)
#define FXT_FORM_ALIAS(category, type, symbol, event, form, kind, ...) \
	FXT_FORM_EXPAND(FORM_##form, kind, symbol, event, FXT_FIRST_NAME(__VA_ARGS__, ), __VA_ARGS__)

/* -- Forms of other families ------------------------------------------------------------------ */

/* child.c, await.c: a line says FORM, SHOWN in the place of BLOCKS(SHOWN), by a macro FORM(shown), and the file defines BODY_FORM(shown, kind,
 * symbol, parameters...). A body has thread_, names_, start_ns_, end_ns_ and after_ns_, and sets result_. */
#define FXT_BY_REAL(symbol, ...) real_##symbol(FXT_LIST(P_GIVE, __VA_ARGS__))

#define FXT_BY_WRAP(category, type, symbol, event, body, shown, kind, ...)                              \
	FXT_REAL(type, symbol, (FXT_LIST(P_DECLARE, __VA_ARGS__)), (FXT_LIST(P_NAME, __VA_ARGS__)))     \
	static __attribute__((noinline)) type traced_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))         \
	{                                                                                               \
		const uint64_t names_ = FXT_NAMES(category, event);                                     \
		struct fxt_thread *thread_ = fxt_enter_on();                                            \
		uint64_t start_ns_, end_ns_, after_ns_ = 0;                                             \
		type result_;                                                                           \
													\
		if (!thread_)                                                                           \
			return real_##symbol(FXT_LIST(P_GIVE, __VA_ARGS__));                            \
		FXT_EACH(P_BEFORE, __VA_ARGS__)                                                         \
		start_ns_ = fxt_now(thread_);                                                           \
		BODY_##body(shown, kind, symbol, __VA_ARGS__)                                           \
		(void)after_ns_;                                                                        \
		GIVE_##kind;                                                                            \
	}                                                                                               \
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__));                                       \
	FXT_EXPORT type symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                                        \
	{                                                                                               \
		if (!fxt_is_on(FXT_CAT_##category))                                                     \
			return real_##symbol(FXT_LIST(P_GIVE, __VA_ARGS__));                            \
		return traced_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                                  \
	}

#define FXT_BY_EXPAND(...) FXT_BY_WRAP(__VA_ARGS__)
#define FXT_BY_CALL(category, type, symbol, ...) FXT_BY_EXPAND(category, type, symbol, symbol, __VA_ARGS__)
#define FXT_BY_ALIAS(...) FXT_BY_EXPAND(__VA_ARGS__)

/* The same by number: by_number.h. */
#define FXT_BY_NUMBER(category, type, number, event, body, shown, kind, ...)                            \
	FXT_NUMBERED_BEGIN(type, number)                                                                \
	{                                                                                               \
		const uint64_t names_ = FXT_NAMES(category, event);                                     \
		FXT_NUMBERED_TAKE(type, __VA_ARGS__)                                                    \
		struct fxt_thread *thread_ = fxt_enter_first(FXT_CAT_##category);                       \
		uint64_t start_ns_, end_ns_, after_ns_ = 0;                                             \
		type result_;                                                                           \
													\
		if (!thread_)                                                                           \
			return real_by_number();                                                        \
		FXT_EACH(P_BEFORE, __VA_ARGS__)                                                         \
		start_ns_ = fxt_now(thread_);                                                           \
		BODY_##body(shown, kind, by_number, __VA_ARGS__)                                        \
		(void)after_ns_;                                                                        \
		GIVE_##kind;                                                                            \
	}
#define FXT_BY_NUMBERED(...) FXT_BY_NUMBER(__VA_ARGS__)
#define FXT_BY_NUMBERED_ALONE(category, type, number, ...) FXT_BY_NUMBER_EXPAND(category, type, number, number, __VA_ARGS__)
#define FXT_BY_NUMBER_EXPAND(...) FXT_BY_NUMBER(__VA_ARGS__)
#define FXT_BY_SYSTEM_CALL(...)   \
	FXT_BY_CALL(__VA_ARGS__)   \
	FXT_BY_NUMBERED_ALONE(__VA_ARGS__)

#endif
