/* Makes the kinds of results: how a failure is known from a result, and how the result is recorded. This is a
 * part of interpose.h, which says what the kinds mean; fd_results.h has those that have to do with
 * descriptors, and a family's own file may define more. A kind X is made of two macros
 *
 *	FAILURE_X       the error number of a call that failed, otherwise 0
 *	RESULT_X        writes the argument `ret`, or nothing
 *
 * and, if it has to do something besides, of hooks. A hook is defined as a comma and the text that is put in
 * its place. A kind without the hook has nothing there, or the text in brackets. engine.h shows the places.
 *
 *	ENTER_X         is done before the real call
 *	KEEP_X          keeps the result of the real call [type result_ =]
 *	LEAVE_X         is done after the call, before the time of its end is read
 *	END_X           is the time of the call's end [fxt_end()]
 *	ARROW_X         is done behind the event, if there is one
 *	AFTER_X         is done when all is recorded
 *	VALUE_X         is the value that the wrapper returns [result_]
 *	CALLEE_X        is the prefix of the function that is called [real_]
 *	AROUND_X        is a macro that makes that function from the row
 *	TRACED_X        is a macro that makes traced_NAME [FXT_TRACED_WHOLE]
 *
 * FXT_FIRST_DO() is often what AROUND_X needs.
 */
#ifndef FXT_RESULTS_H
#define FXT_RESULTS_H

#define KEEP_VOID ,
#define VALUE_VOID ,

#define FAILURE_INT (FXT_UNLIKELY(result_ == -1) ? errno : 0)
#define FAILURE_LONG (FXT_UNLIKELY(result_ == -1) ? errno : 0)
#define FAILURE_PTR (FXT_UNLIKELY(!result_) ? errno : 0)
#define FAILURE_ERROR result_
#define FAILURE_PLAIN_INT 0
#define FAILURE_PLAIN_UINT 0
#define FAILURE_PLAIN_PTR 0
#define FAILURE_VOID 0

/* Makes PREFIXsymbol(), which does `what` and then calls the real function. The category may be off. */
#define FXT_FIRST_DO(prefix, what, type, symbol, ...)                   \
	static type prefix##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))    \
	{                                                               \
		what;                                                   \
		return real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));    \
	}

enum { FXT_RESULT_WORDS = 3 };

#define RESULT_INT RESULT_AS_(fxt_put_int(at_, FXT_STR_ret, (int)result_))
#define RESULT_LONG RESULT_AS_(fxt_put_long(at_, FXT_STR_ret, (int64_t)result_))
#define RESULT_PTR RESULT_AS_(fxt_put_pointer(at_, FXT_STR_ret, (const void *)result_))
#define RESULT_ERROR
#define RESULT_PLAIN_INT RESULT_AS_(fxt_put_int(at_, FXT_STR_ret, (int)result_))
#define RESULT_PLAIN_UINT RESULT_AS_(fxt_put_uint(at_, FXT_STR_ret, (uint64_t)result_))
#define RESULT_PLAIN_PTR RESULT_AS_(fxt_put_pointer(at_, FXT_STR_ret, (const void *)result_))
#define RESULT_VOID
#define RESULT_AS_(put)         \
	at_ = (put);             \
	arguments_++;

#endif
