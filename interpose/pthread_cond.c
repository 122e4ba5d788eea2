/* Conditions, in both of their versions. A program linked long ago calls the older ones, whose structure is only a
 * pointer; one wrapper for both would hand it to functions that take it for the newer. aarch64 has one version.
 */
#include <pthread.h>

#include "interpose.h"

/* Default version and, where there is one, the older. */
#if defined(__x86_64__)
#define NEW_VERSION "GLIBC_2.3.2"
#define OLD_VERSION "GLIBC_2.2.5"
#define VERSIONED(name)                                                \
	__asm__(".symver new_" #name "," #name "@@" NEW_VERSION);      \
	__asm__(".symver old_" #name "," #name "@" OLD_VERSION);
#define OLD_WRAP(...) WRAP(old, __VA_ARGS__)
#else
#define NEW_VERSION NULL
#define VERSIONED(name) __asm__(".symver new_" #name "," #name "@@");
#define OLD_WRAP(...)
#endif

#define WRAP(age, name, blocks, ...) \
	FXT_WRAP(pthread, int, age##_##name, name, blocks, ERROR, __VA_ARGS__)
#define BOTH(name, blocks, ...)                 \
	WRAP(new, name, blocks, __VA_ARGS__)    \
	OLD_WRAP(name, blocks, __VA_ARGS__)     \
	VERSIONED(name)

BOTH(pthread_cond_wait, BLOCKS(cond), (pthread_cond_t *, cond, PTR), (pthread_mutex_t *, mutex, PTR))
BOTH(pthread_cond_timedwait, BLOCKS(cond), (pthread_cond_t *, cond, PTR), (pthread_mutex_t *, mutex, PTR),
     (const struct timespec *, abstime, SKIP))
BOTH(pthread_cond_signal, QUICK, (pthread_cond_t *, cond, PTR))
BOTH(pthread_cond_broadcast, QUICK, (pthread_cond_t *, cond, PTR))
BOTH(pthread_cond_init, QUICK, (pthread_cond_t *, cond, PTR), (const pthread_condattr_t *, attr, SKIP))
BOTH(pthread_cond_destroy, QUICK, (pthread_cond_t *, cond, PTR))

#if defined(__x86_64__)
#define REAL(name)                                                \
	{#name, NEW_VERSION, (void **)&real_new_##name},          \
	{#name, OLD_VERSION, (void **)&real_old_##name},
#else
#define REAL(name) {#name, NEW_VERSION, (void **)&real_new_##name},
#endif
#define BY_HAND(category, name) REAL(name)

const struct fxt_real fxt_reals_pthread_cond[] = {
#include "pthread_cond.def"
	{NULL, NULL, NULL},
};
