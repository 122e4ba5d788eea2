/* Makes the pointers by which wrappers call the real functions, and finds those functions. This is a part of
 * interpose.h. */
#ifndef FXT_REAL_H
#define FXT_REAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/base/agent.h"
#include "agent/base/bind.h"
#include "each.h"

#define FXT_EXPORT __attribute__((visibility("default")))

/* A function, and where its address is kept. Until the address is known the pointer leads to a function that
 * finds them all. */
struct fxt_real {
	const char *name;
	const char *version;            /* NULL: the default one */
	void **pointer;
};

/* Functions that the C library keeps for old programs alone have no default version. FXT_OLD_NAME is the
 * version of such a function. */
#if defined(__x86_64__)
#define FXT_BASE_VERSION "GLIBC_2.2.5"
#else
#define FXT_BASE_VERSION "GLIBC_2.17"
#endif
#define FXT_OLD_cfree , FXT_BASE_VERSION
#define FXT_OLD_llseek , FXT_BASE_VERSION
#define FXT_OLD_pthread_yield , FXT_BASE_VERSION
#define FXT_OLD_pthread_mutex_consistent_np , "GLIBC_2.4"
#define FXT_OLD___pthread_once , FXT_BASE_VERSION
#define FXT_OLD___res_nquery , FXT_BASE_VERSION
#define FXT_OLD___res_nquerydomain , FXT_BASE_VERSION
#define FXT_OLD___res_nsearch , FXT_BASE_VERSION
#define FXT_OLD___res_nsend , FXT_BASE_VERSION
#define FXT_OLD___res_query , FXT_BASE_VERSION
#define FXT_OLD___res_querydomain , FXT_BASE_VERSION
#define FXT_OLD___res_search , FXT_BASE_VERSION
#define FXT_OLD___res_send , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_init , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_destroy , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_lock , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_trylock , FXT_BASE_VERSION
#define FXT_OLD___pthread_mutex_unlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_init , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_destroy , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_rdlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_tryrdlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_trywrlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_unlock , FXT_BASE_VERSION
#define FXT_OLD___pthread_rwlock_wrlock , FXT_BASE_VERSION
#define FXT_VERSION_OF(symbol) FXT_SECOND(FXT_OLD_##symbol, NULL, )

/* Finds every real function, and starts the agent if the process is far enough for that. It may be called in
 * any context in which the program may call the C library, also before constructors; the second time it does
 * nothing. */
void fxt_interpose_start(void);

/* Finds the function of this pointer alone. The function is one that is called during the search, by a
 * handler that interrupts the search, or that this C library does not have. */
FXT_COLD void fxt_interpose_find(void **pointer);

/* Returns whether the search is over. */
extern atomic_bool fxt_interpose_found __attribute__((visibility("hidden")));
static inline bool fxt_interpose_is_found(void)
{
	return FXT_LIKELY(atomic_load_explicit(&fxt_interpose_found, memory_order_relaxed));
}

/* Returns whether the pointer to the real function was relocated, like all words that have addresses in this
 * library (agent/base/bind.h). A wrapper asks before it calls the function without recording it. If the
 * answer is no, it calls first_SYMBOL(). A wrapper that records need not ask. */
#define FXT_IS_RELOCATED(symbol) fxt_is_relocated_word((void *)real_##symbol)

/* Does what first_SYMBOL() does, for wrappers that have something else to do with the call. */
#define FXT_RELOCATED(symbol)                           \
	do {                                            \
		if (FXT_UNLIKELY(!FXT_IS_RELOCATED(symbol))) \
			fxt_bind_early();               \
	} while (0)

/* Makes the pointer to the real function, which at first leads to first_SYMBOL(), and that function.
 * `params` is a parenthesised parameter list, `args` has the same names. */
#define FXT_REAL(type, symbol, params, args)            \
	static type first_##symbol params;              \
	static type(*real_##symbol) params = first_##symbol; \
	static FXT_COLD type first_##symbol params      \
	{                                               \
		fxt_interpose_start();                  \
		if (real_##symbol == first_##symbol)    \
			fxt_interpose_find((void **)&real_##symbol); \
		return real_##symbol args;              \
	}

/* Makes the same for a wrapper whose pointer only that wrapper calls by. The constructor of a library may
 * run before ours, so its call may be the one by which tracing begins: first_SYMBOL() records it like those
 * after it. */
#define FXT_REAL_FIRST(category, type, symbol, params, args)                    \
	static type traced_##symbol params;                                     \
	static type first_##symbol params;                                      \
	static type(*real_##symbol) params = first_##symbol;                    \
	static FXT_COLD type first_##symbol params                              \
	{                                                                       \
		bool was_on = fxt_is_on(FXT_CAT_##category);                    \
										\
		fxt_interpose_start();                                          \
		if (real_##symbol == first_##symbol)                            \
			fxt_interpose_find((void **)&real_##symbol);            \
		if (!was_on && fxt_is_on(FXT_CAT_##category))                   \
			return traced_##symbol args;                            \
		return real_##symbol args;                                      \
	}

#endif
