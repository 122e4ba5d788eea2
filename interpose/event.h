/* The event of a call that is over, from what a table's line says of its parameters and result. Part of interpose.h, which says what
 * the kinds mean; nobody else includes it.
 *
 * Files whose calls are short and many define FXT_QUICK_EVENTS before they include anything. Most events of theirs are of one form:
 * the call has not failed, and each number takes one word. That form is written out with its length known, by fxt_quick_room() and
 * fxt_quick_complete(); whatever is not like that goes the way of all others.
 */
#ifndef FXT_EVENT_H
#define FXT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Records a call, its event followed by `after`. In whose scope are thread_, names_, start_ns_, end_ns_, failure_ and result_. */
#define FXT_RECORD(result_kind, after, ...)                                                                             \
	do {                                                                                                            \
		unsigned arguments_ = 0 FXT_EACH(P_COUNT, __VA_ARGS__);                                                 \
		uint64_t *at_;                                                                                          \
															\
		FXT_RECORD_QUICKLY(result_kind, after, __VA_ARGS__)                                                     \
		at_ = fxt_room(thread_, start_ns_, end_ns_, FXT_RESULT_WORDS FXT_EACH(P_WORDS, __VA_ARGS__));           \
		if (at_) {                                                                                              \
			FXT_EACH(P_PUT, __VA_ARGS__)                                                                    \
			RESULT_##result_kind                                                                            \
			if (FXT_UNLIKELY(failure_)) {                                                                   \
				at_ = fxt_put_errno(thread_, at_, failure_);                                            \
				arguments_++;                                                                           \
			}                                                                                               \
			fxt_complete(thread_, at_, end_ns_, names_, arguments_);                                        \
			after                                                                                           \
		}                                                                                                       \
	} while (0)

#ifdef FXT_QUICK_EVENTS
#define FXT_RECORD_QUICKLY(result_kind, after, ...)                                                                     \
	enum { MOST_WORDS_ = FXT_RESULT_WORDS FXT_EACH(P_MOST_WORDS, __VA_ARGS__) };                                   \
	struct fxt_spot spot_;                                                                                          \
															\
	if (FXT_LIKELY(!failure_ && FXT_SECOND(NO_RESULT_##result_kind, RESULT_FITS, )                              \
		       FXT_EACH(P_FITS, __VA_ARGS__)) &&                                                            \
	    fxt_quick_room(thread_, start_ns_, end_ns_, MOST_WORDS_, &spot_)) {                                         \
		at_ = spot_.arguments;                                                                                  \
		FXT_EACH(P_PUT, __VA_ARGS__)                                                                            \
		RESULT_##result_kind                                                                                    \
		fxt_quick_complete(thread_, &spot_, at_, end_ns_, names_, arguments_);                                  \
		after                                                                                                   \
		break;                                                                                                  \
	}
#else
#define FXT_RECORD_QUICKLY(...)
#endif

/* Whether a parameter's value takes no more than MOST_ words; a kind that is not here has no such form. */
#define P_FITS(type, name, kind) &&FXT_SECOND(FITS_##kind, FITS_NEVER, )(name)
#define P_MOST_WORDS(type, name, kind) +FXT_SECOND(MOST_##kind, 0, )
#define FITS_INT , FITS_ALWAYS
#define FITS_UINT , FITS_UNSIGNED
#define FITS_LONG , FITS_SIGNED
#define FITS_PTR , FITS_ALWAYS
#define FITS_SKIP , FITS_ALWAYS
#define FITS_NONE , FITS_ALWAYS
#define FITS_NEVER(name) false
#define FITS_ALWAYS(name) true
#define FITS_UNSIGNED(name) fxt_fits_unsigned((uint64_t)(name))
#define FITS_SIGNED(name) fxt_fits_signed((int64_t)(name))

static inline bool fxt_fits_unsigned(uint64_t value)
{
	return value <= UINT32_MAX;
}

static inline bool fxt_fits_signed(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

#define MOST_INT , 1
#define MOST_UINT , 1
#define MOST_LONG , 1
#define MOST_PTR , 2

/* And the result. */
#define RESULT_FITS                                                                         \
	_Generic(result_, long: FITS_SIGNED((intptr_t)result_),                                \
		 unsigned long: FITS_UNSIGNED((uintptr_t)result_), default: true)
#define NO_RESULT_VOID , true

#endif
