/* Makes the kinds of parameters: how each is recorded. This is a part of interpose.h, which says what the
 * kinds mean; object.h and address.h have more of them, and so have files of families. A kind X is made of
 * these macros, which may use the variables that engine.h gives to a wrapper's body:
 *
 *	COUNT_X                 how many arguments of the event it is; 0 if PUT_X counts for itself
 *	WORDS_X(name)           how many words of the record it takes at most
 *	FIRST_X , MACRO         MACRO(name) is done before the call; without a FIRST_X nothing is done there
 *	MEASURE_X(name)         finds what WORDS_X needs, after the call and before the event
 *	PUT_X(name)             writes the argument at at_ and moves at_ on
 */
#ifndef FXT_PARAMETERS_H
#define FXT_PARAMETERS_H

#define P_DECLARE(type, name, kind) type name
#define P_NAME(type, name, kind) name
#define P_COUNT(type, name, kind) +COUNT_##kind
#define P_WORDS(type, name, kind) +WORDS_##kind(name)
#define P_BEFORE(type, name, kind) FXT_SECOND(FIRST_##kind, FXT_NOTHING, )(name)
#define P_MEASURE(type, name, kind) MEASURE_##kind(name)
#define P_PUT(type, name, kind) PUT_##kind(name)

#define COUNT_INT 1
#define COUNT_UINT 1
#define COUNT_LONG 1
#define COUNT_PTR 1
#define COUNT_TEXT 1
#define COUNT_LATER 1
#define COUNT_TIME 1
#define COUNT_TIMEVAL 1
#define COUNT_MADE 0
#define COUNT_SKIP 0
#define COUNT_NONE 0

#define WORDS_INT(name) 1
#define WORDS_UINT(name) 2
#define WORDS_LONG(name) 2
#define WORDS_PTR(name) 2
#define WORDS_TEXT(name) (2 + fxt_words_of(name##_bytes))
#define WORDS_LATER(name) WORDS_TEXT(name)
#define WORDS_TIME(name) 2
#define WORDS_TIMEVAL(name) 2
#define WORDS_MADE(name) 2
#define WORDS_SKIP(name) 0
#define WORDS_NONE(name) 0

/* These keep the time before the call, because the call may overwrite it, as nanosleep(&time, &time) does. */
#define FIRST_TIME , BEFORE_TIME
#define FIRST_TIMEVAL , BEFORE_TIMEVAL
#define BEFORE_TIME(name) int64_t name##_ns = fxt_time_ns(thread_, name);
#define BEFORE_TIMEVAL(name) int64_t name##_ns = fxt_timeval_ns(thread_, name);

/* These find the length of a string after the call. If the call failed, perhaps nobody has looked at the
 * memory before us, so the memory is checked. ENOENT says that somebody has looked at it if the call has one
 * string; the further strings of a call are LATER. */
#define MEASURE_INT(name)
#define MEASURE_UINT(name)
#define MEASURE_LONG(name)
#define MEASURE_PTR(name)
#define MEASURE_TEXT(name)                                                                              \
	size_t name##_bytes = FXT_UNLIKELY(failure_) && failure_ != ENOENT                              \
				      ? fxt_text_bytes_checked(thread_, name)                           \
				      : fxt_text_bytes(name);
#define MEASURE_LATER(name) size_t name##_bytes = fxt_text_bytes_checked(thread_, name);
#define MEASURE_TIME(name)
#define MEASURE_TIMEVAL(name)
#define MEASURE_MADE(name)
#define MEASURE_SKIP(name)
#define MEASURE_NONE(name)

#define PUT_INT(name) at_ = fxt_put_int(at_, FXT_STR_##name, (int)(name));
#define PUT_UINT(name) at_ = fxt_put_uint(at_, FXT_STR_##name, (uint64_t)(name));
#define PUT_LONG(name) at_ = fxt_put_long(at_, FXT_STR_##name, (int64_t)(name));
#define PUT_PTR(name) at_ = fxt_put_pointer(at_, FXT_STR_##name, (const void *)(name));
#define PUT_TEXT(name) at_ = fxt_put_text(at_, FXT_STR_##name, name, name##_bytes);
#define PUT_LATER(name) PUT_TEXT(name)
#define PUT_TIME(name) at_ = fxt_put_long(at_, FXT_STR_##name, name##_ns);
#define PUT_TIMEVAL(name) PUT_TIME(name)
#define PUT_MADE(name)                                                          \
	if (!result_ && (name)) {                                               \
		at_ = fxt_put_uint(at_, FXT_STR_##name, (uint64_t)*(name));     \
		arguments_++;                                                   \
	}
#define PUT_SKIP(name)
#define PUT_NONE(name)

/* Returns fxt_text_bytes(text), or 0 if the memory cannot be read. */
size_t fxt_text_bytes_checked(const struct fxt_thread *thread, const char *text);

#endif
