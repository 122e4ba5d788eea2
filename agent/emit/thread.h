/* These functions give threads their states and names, and write whole records to a thread's lane. The
 * structure of a state is in agent/base/agent.h. Files that go over the states of all threads include
 * threads.h as well.
 */
#ifndef FXT_THREAD_H
#define FXT_THREAD_H

#include "agent/base/agent.h"
#include "agent/base/stack.h"

/* Gives the calling thread a state, and makes it ready if that is possible now. Returns NULL if it can get no
 * state; the event is then dropped and counted. Returns NULL too, and counts nothing, if the process does not
 * record, if the thread is barred, in the child of a vfork, and if the gate was lent (gate.h); in that last
 * case recording may begin now, with the next call. Any context. */
struct fxt_thread *fxt_thread_attach(void);

/* Does the same for a thread whose making was seen, before it does anything else. */
struct fxt_thread *fxt_thread_begins(const struct fxt_known_stack *stack);

/* Stops recording in the calling thread, which is about to make a task that shares its thread-local storage:
 * both would write to the state at once. Returns the state. If the task is not made after all,
 * fxt_thread_unbar() takes the state and lets the thread record again. */
struct fxt_thread *fxt_thread_bar(void);
void fxt_thread_unbar(struct fxt_thread *thread);

/* Called when the buffering mode is known. Prepares for circular mode, where chunks can be taken away from
 * threads (threads.h). */
void fxt_threads_mode(void);

/* Forgets what the calling thread knew before recording began again: locks that it held may be free. */
void fxt_thread_begins_again(struct fxt_thread *thread);

/* Completes a thread's state in the process that it runs in: its index, its name and its page. Called when
 * the thread gets its state, and later if it is not ready, as in the child of a fork. Returns false if there
 * is no file or no lock may be taken. */
bool fxt_thread_ready(struct fxt_thread *thread);

/* Writes the name of a thread, given by its pthread_t, which the program has just renamed. A thread that has
 * no record in the trace yet is named when it gets one. */
void fxt_thread_renamed(struct fxt_thread *thread, uintptr_t handle, const char *name);

/* Ends the calls in progress of the calling thread, its lifetime and the like, because its routine has
 * returned, or was left by pthread_exit() or by cancellation. The state stays, because destructors of the
 * program may still run. A second call for a thread ends only what has begun since the first. */
void fxt_thread_ends(void);

/* Returns the state of the thread of this process that has this kernel id, or NULL if none of the first
 * 1024 states is its own. The thread may end at any time, and its state then goes to another thread. */
struct fxt_thread *fxt_threads_find(uint32_t own_tid);

/* Writes the thread record of a page, and its counters, which are empty. They lie before the slots, which are
 * laid out already. */
void fxt_thread_show_page(struct fxt_thread *thread, uint64_t *page);

/* Commits a whole record, as fxt_encode.h makes it, to the thread's lane. Returns false if it was dropped,
 * and counted. */
bool fxt_thread_put(struct fxt_thread *thread, const uint64_t *record, size_t words);
/* Commits a whole record that is no call of the program. If there is no room, it is missing and is not
 * counted. */
bool fxt_thread_put_extra(struct fxt_thread *thread, const uint64_t *record, size_t words);
/* Makes the thread forget its chunks and pages, because the file was rewritten and they belong to the old
 * one. */
void fxt_thread_after_rewrite(struct fxt_thread *thread);

/* Called in the child of a fork: forgets all states but the caller's, which belongs to a new thread from now
 * on. `returns` is as for fxt_lanes_after_fork(). */
void fxt_threads_after_fork(bool returns);

/* Returns what the process has lost for this cause so far, by its counter and those of its threads. It does
 * not know what a ring has overwritten. Takes the lock of threads.h. */
FXT_COLD uint64_t fxt_threads_lost(enum fxt_loss why);

/* Maps states for threads that begin later, because the program is about to forbid that. Takes the lock of
 * threads.h. */
FXT_COLD void fxt_threads_reserve(void);

#endif
