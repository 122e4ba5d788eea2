/* Says which events have the quick form of engine.h: those whose numbers take one word each. This is a part
 * of interpose.h. */
#ifndef FXT_QUICK_H
#define FXT_QUICK_H

#include <stdbool.h>
#include <stdint.h>

/* FITS_KIND says whether the value of a parameter takes no more than MOST_KIND words. An event with a kind
 * that is not here never has the quick form. */
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

/* RESULT_FITS says whether the result takes one word, if it is a number. */
#define RESULT_FITS                                                                         \
	_Generic(result_, long: FITS_SIGNED((intptr_t)result_),                                \
		 unsigned long: FITS_UNSIGNED((uintptr_t)result_), default: true)
#define NO_RESULT_VOID , true

#endif
