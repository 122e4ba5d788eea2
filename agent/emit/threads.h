/* The states of all threads, for the files that go over them: thread_states.c, which makes them, thread.c,
 * thread_name.c and thread_chunks.c. All other files ask for a thread by the functions of thread.h. */
#ifndef FXT_THREADS_H
#define FXT_THREADS_H

#include "agent/base/agent.h"

enum { FXT_THREAD_STATES_MAX = 1 << 16 };

struct fxt_threads {
	struct fxt_lock lock;           /* it nests in no lock */
	struct fxt_thread **list;
	uint32_t count;
};

extern struct fxt_threads fxt_threads __attribute__((visibility("hidden")));

/* Returns a state for a thread of process `pid` that begins; NULL: there is no memory. Nobody else takes it,
 * because it is claimed. If it is in use, a thread that the kernel no longer knows has left it. */
struct fxt_thread *fxt_thread_claim_state(uint32_t pid);
/* Makes the thread have no place in the file for its counts. A state has them from the moment on at which it
 * is in the list, where others may add them up. */
static inline void fxt_thread_count_nowhere(struct fxt_thread *thread)
{
	thread->counts.filtered = &thread->pages.none[0];
	thread->counts.dropped = &thread->pages.none[1];
	thread->counts.dropped_ns = &thread->pages.none[2];
}
/* Called in the child of a fork, under no lock. */
void fxt_thread_states_after_fork(void);
/* Enters the thread's number (own_tid), by which fxt_threads_find() finds it. */
void fxt_thread_enter_number(struct fxt_thread *thread);

/* Writes the name that the program has given to a thread of this process; NULL: that of the calling thread as
 * the kernel has it, so that it is the one that other tools show. */
void fxt_thread_tell_name(struct fxt_thread *thread, const struct fxt_thread *of, const char *given);

/* Makes every thread ask the kernel for the time and turn to another chunk when it next records, because the
 * gate is lent (fxt_gate_prepare()). A thread that is in the middle of a record may write it still. */
void fxt_threads_expire(void);

/* Prepares for taking chunks away from threads. */
void fxt_chunks_start(void);
/* Returns whether the process is registered for membarrier() because the agent needs it, so that the program
 * has to be told what it has registered itself. */
bool fxt_chunks_registered(void);
/* Called in the child of a fork, under no lock: no thread holds a chunk of the child's. */
void fxt_chunks_after_fork(void);

#endif
