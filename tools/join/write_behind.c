/* Writes to a stream from a thread of its own. See write_behind.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "write_behind.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "tools/common/message.h"

unsigned char *fxt_write_behind_begin(struct fxt_write_behind *w, FILE *out, size_t bytes)
{
	*w = (struct fxt_write_behind){.out = out, .bytes = bytes};
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->blocks[0] = fxt_alloc(bytes, 1);
	return w->blocks[0];
}

/* Writes the oldest block that is filled. The caller holds the lock, which is given up meanwhile. After
 * an error nothing is written any more. */
static void write_one(struct fxt_write_behind *w)
{
	unsigned at = w->written % FXT_WRITE_BEHIND_BLOCKS;
	int error = w->error;

	pthread_mutex_unlock(&w->lock);
	if (!error && fwrite(w->blocks[at], 1, w->used[at], w->out) != w->used[at])
		error = errno;
	pthread_mutex_lock(&w->lock);
	w->error = error;
	w->written++;
	pthread_cond_signal(&w->changed);
}

static void *run(void *context)
{
	struct fxt_write_behind *w = context;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (w->written == w->filled && !w->is_over)
			pthread_cond_wait(&w->changed, &w->lock);
		if (w->written == w->filled)
			break;
		write_one(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Starts the thread that writes, with all signals blocked, so that the other thread gets them. Returns
 * false if there is no such thread. */
static bool start(struct fxt_write_behind *w)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&w->thread, NULL, run, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

/* Hands the last block on and waits until at most `behind` blocks are not written. Without a thread it
 * writes them itself. The caller holds the lock. */
static void hand_on(struct fxt_write_behind *w, size_t used, unsigned behind)
{
	w->used[w->filled % FXT_WRITE_BEHIND_BLOCKS] = used;
	w->filled++;
	pthread_cond_signal(&w->changed);
	while (w->filled - w->written > behind) {
		if (w->has_thread)
			pthread_cond_wait(&w->changed, &w->lock);
		else
			write_one(w);
	}
}

unsigned char *fxt_write_behind_next(struct fxt_write_behind *w, size_t used)
{
	unsigned at;
	int error;

	pthread_mutex_lock(&w->lock);
	if (!w->has_thread)
		w->has_thread = start(w);
	hand_on(w, used, w->has_thread ? FXT_WRITE_BEHIND_BLOCKS - 1 : 0);
	at = w->filled % FXT_WRITE_BEHIND_BLOCKS;
	error = w->error;
	pthread_mutex_unlock(&w->lock);
	if (!w->blocks[at])
		w->blocks[at] = fxt_alloc(w->bytes, 1);
	errno = error;
	return error ? NULL : w->blocks[at];
}

bool fxt_write_behind_end(struct fxt_write_behind *w, size_t used)
{
	pthread_mutex_lock(&w->lock);
	hand_on(w, used, 0);
	w->is_over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	for (unsigned i = 0; i < FXT_WRITE_BEHIND_BLOCKS; i++)
		free(w->blocks[i]);
	errno = w->error;
	return !w->error;
}
