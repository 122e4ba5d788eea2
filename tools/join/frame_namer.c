/* See frame_namer.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "frame_namer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tools/common/message.h"

struct fxt_frame_namer {
	struct fxt_frame_names *names;
	pthread_t thread;
	pthread_mutex_t lock;           /* it guards what follows */
	pthread_cond_t changed;
	struct fxt_frame_at *frames;
	size_t count, capacity;
	size_t done;                    /* how many of them were looked up */
	bool is_over;
};

static void *run(void *context)
{
	struct fxt_frame_namer *n = context;

	pthread_mutex_lock(&n->lock);
	while (!n->is_over) {
		struct fxt_frame_at at;

		if (n->done == n->count) {
			n->done = n->count = 0;
			pthread_cond_wait(&n->changed, &n->lock);
			continue;
		}
		at = n->frames[n->done++];
		pthread_mutex_unlock(&n->lock);
		fxt_frame_function(n->names, &at);
		pthread_mutex_lock(&n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* The thread blocks all signals, so that the other threads get them. */
struct fxt_frame_namer *fxt_frame_namer_begin(struct fxt_frame_names *names)
{
	struct fxt_frame_namer *n = fxt_alloc(1, sizeof(*n));
	sigset_t all, before;
	bool ok;

	n->names = names;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&n->thread, NULL, run, n) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok)
		return n;
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	free(n);
	return NULL;
}

void fxt_frame_namer_add(struct fxt_frame_namer *n, const struct fxt_frame_at *at)
{
	pthread_mutex_lock(&n->lock);
	n->frames = fxt_grow(n->frames, &n->capacity, n->count + 1, sizeof(*n->frames));
	n->frames[n->count++] = *at;
	pthread_mutex_unlock(&n->lock);
}

void fxt_frame_namer_wake(struct fxt_frame_namer *n)
{
	pthread_cond_signal(&n->changed);
}

void fxt_frame_namer_end(struct fxt_frame_namer *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->is_over = true;
	pthread_cond_signal(&n->changed);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	free(n->frames);
	free(n);
}
