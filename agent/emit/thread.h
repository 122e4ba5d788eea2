/* Threads' states: how a thread gets one, what it is known by, and whole records in its name. The state itself is in
 * agent/base/agent.h; thread.c makes states and gives them to other threads, threads.h is for those that go over all of them.
 */
#ifndef FXT_THREAD_H
#define FXT_THREAD_H

#include "agent/base/agent.h"

/* Makes the calling thread known. NULL when that is impossible now: the event is then dropped and counted.
 * Any context. */
struct fxt_thread *fxt_thread_attach(void);

/* Where the stack of a thread is, by whoever saw it made: its lowest address, or, where the C library has
 * mapped it, so many bytes; 0: not known. By the thread itself. */
void fxt_thread_has_stack(struct fxt_thread *thread, uintptr_t low, size_t bytes);

/* The calling thread is about to share its thread-local storage with a task of its own time, and so what
 * fxt_self points to: both would write to it at once. Neither records from here on. Returns the state, to be
 * given to fxt_thread_unbar() should nothing come of it. */
struct fxt_thread *fxt_thread_bar(void);
void fxt_thread_unbar(struct fxt_thread *thread);

/* Once, at start. */
void fxt_threads_start(void);

/* Completes a thread's state (index, names, page) in the process it runs in: after attaching, and again after
 * fork. */
bool fxt_thread_ready(struct fxt_thread *thread);

/* The program has named a thread, by its pthread_t. A thread that is known to the trace is named there too;
 * any other will be when it is first seen. */
void fxt_thread_renamed(struct fxt_thread *thread, uintptr_t handle);

/* The calling thread's routine has returned, or was left by pthread_exit() or cancellation, which do not
 * return from calls in progress: these end here. Its state stays, since destructors of the program come after
 * this. A second time it does nothing. */
void fxt_thread_ends(void);

/* The state of a thread of this process by its kernel's id; NULL. It may end, and its state go to another,
 * any time. */
struct fxt_thread *fxt_threads_find(uint32_t own_tid);

/* Makes a page with a laid-out rest visible: its thread record and counters, which lie before the slots. */
void fxt_thread_show_page(struct fxt_thread *thread, uint64_t *page);

/* Commits a whole record (encoded by fxt_encode.h) to the thread's lane. False: dropped, and counted. */
bool fxt_thread_put(struct fxt_thread *thread, const uint64_t *record, size_t words);
/* The same of what is no call: it is missing where there is no room, and not counted. */
bool fxt_thread_put_extra(struct fxt_thread *thread, const uint64_t *record, size_t words);
/* The file was rewritten: the thread's chunks and pages belong to the old one. */
void fxt_thread_after_rewrite(struct fxt_thread *thread);

/* In the child of a fork: all states but the caller's are free, and the caller's belongs to a new thread. */
void fxt_threads_after_fork(bool returns);

/* How many records of the process have found no room, as far as the trace's counters still say it. */
FXT_COLD uint64_t fxt_threads_dropped(void);

#endif
