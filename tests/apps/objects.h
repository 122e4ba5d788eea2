/* Declares what objects.c and objects_blocks.c share. The functions are visible, because a stripped program
 * has no other names. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone, visibility("default")))

/* Says the name of an object in the call that is made next, or has just been made. */
#define SAY(call, ...)                                          \
	do {                                                    \
		char text_[200];                                \
								\
		snprintf(text_, sizeof(text_), __VA_ARGS__);    \
		dprintf(1, "%s %s\n", call, text_);             \
	} while (0)

static void need(int condition)
{
	if (!condition)
		abort();
}

#define USE(lock, ...)                                  \
	do {                                            \
		pthread_mutex_lock(lock);               \
		SAY("pthread_mutex_lock", __VA_ARGS__); \
		pthread_mutex_unlock(lock);             \
		SAY("pthread_mutex_unlock", __VA_ARGS__); \
	} while (0)

#endif
