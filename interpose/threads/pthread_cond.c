/* Makes the wrappers of conditions, in both of their versions: pthread_cond.def. A program linked long ago
 * calls the older ones, whose structure is only a pointer; one wrapper for both would hand it to functions
 * that take it for the newer. aarch64 has one version.
 */
#include <pthread.h>

#include "sync.h"

#define DEFAULT_VERSION "GLIBC_2.3.2"
#include "interpose/engine/versions.h"

#define WRAP(age, name, blocks, ...) \
	FXT_WRAP(pthread, int, age##_##name, name, blocks, ERROR, __VA_ARGS__)
#define BOTH(name, blocks, ...)                 \
	WRAP(new, name, blocks, __VA_ARGS__)    \
	IN_OLD(WRAP, name, blocks, __VA_ARGS__) \
	VERSIONED(name)

#define BOTH_FORMS(name, form, ...)                     \
	FORM_IN(new, name, form, __VA_ARGS__)           \
	IN_OLD(FORM_IN, name, form, __VA_ARGS__)        \
	VERSIONED(name)
#define FORM_IN(age, name, form, ...) \
	FXT_FORM_ALIAS(pthread, int, age##_##name, name, form, ERROR, __VA_ARGS__)

BOTH_FORMS(pthread_cond_wait, COND_WAITS, (pthread_cond_t *, cond, WAITED), (pthread_mutex_t *, mutex, PTR))
BOTH_FORMS(pthread_cond_timedwait, COND_WAITS, (pthread_cond_t *, cond, WAITED),
	   (pthread_mutex_t *, mutex, PTR), (const struct timespec *, abstime, SKIP))
BOTH_FORMS(pthread_cond_signal, POSTS, (pthread_cond_t *, cond, USED))
BOTH_FORMS(pthread_cond_broadcast, WAKES_ALL, (pthread_cond_t *, cond, USED))
BOTH(pthread_cond_init, QUICK, (pthread_cond_t *, cond, NEW), (const pthread_condattr_t *, attr, SKIP))
BOTH(pthread_cond_destroy, QUICK, (pthread_cond_t *, cond, OLD))

#define BY_HAND(category, name, role) BOTH_REAL(name)
const struct fxt_real fxt_reals_pthread_cond[] = {
#include "interpose/engine/rows.inc"
#include "interpose/tables/pthread_cond.def"
	{NULL, NULL, NULL},
};
#include "interpose/engine/unrows.inc"
