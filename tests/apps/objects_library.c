/* This library has locks, and is built twice (OF). The two differ in the names of the variables alone, so
 * one may be loaded where the other was. */
#include <pthread.h>
#include <stdio.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define SHARED JOIN(OF, shared)
#define HIDDEN JOIN(OF, hidden)

extern pthread_mutex_t SHARED;
pthread_mutex_t SHARED = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t HIDDEN = PTHREAD_MUTEX_INITIALIZER;

void use_library(void);

void use_library(void)
{
	pthread_mutex_lock(&SHARED);
	dprintf(1, "pthread_mutex_lock %s\n", TEXT(SHARED));
	pthread_mutex_lock(&HIDDEN);
	dprintf(1, "pthread_mutex_lock %s\n", TEXT(HIDDEN));
	pthread_mutex_unlock(&HIDDEN);
	dprintf(1, "pthread_mutex_unlock %s\n", TEXT(HIDDEN));
	pthread_mutex_unlock(&SHARED);
	dprintf(1, "pthread_mutex_unlock %s\n", TEXT(SHARED));
}
