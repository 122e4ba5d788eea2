/* The parts of the agent, and what each does when something happens that concerns them all: at the start, in
 * the child of a fork, when a thread or the process ends, when a call meets a trigger, when a thread has time
 * for deferred work, and when there is nothing left to record to.
 *
 * A folder knows nothing of the folders above it (docs/rooms.md). So the parts stand in one table,
 * agent/process/part_table.c, and the code that sees such an event calls the function here, which goes
 * through the table from its first row to its last. The functions do nothing before fxt_parts_use() was
 * called.
 */
#ifndef FXT_PARTS_H
#define FXT_PARTS_H

#include "agent.h"

struct fxt_part {
	const char *what;               /* the part, and what becomes of it in the child of a fork */

	/* Called once, before anything is recorded. */
	void (*start)(void);

	/* Called at start, and when a manager has told the buffering mode that it wants. Nobody records. */
	void (*mode)(void);

	/* Called when recording begins again in a process in which it had stopped: what was known of the
	 * program's objects may be wrong by now. Other threads may be in the middle of a call. */
	void (*again)(void);

	/* Called when a manager has opened the gate that was lent to it. Any context. */
	void (*woken)(void);

	/* Called when the program may not wait for page faults from here on: makes the tables that calls are
	 * likely to need. Any context. */
	void (*prepare)(void);

	/* Called in the child of a fork, which has one thread: fork.c has the rule. Any context. */
	void (*child)(void);

	/* Does deferred work of the calling thread (deferred.h). `now_ns` is close enough to the present time
	 * to tell what is due. */
	void (*deferred)(struct fxt_thread *thread, uint64_t now_ns);

	/* Called when the calling thread's routine is over: fxt_thread_ends(). */
	void (*thread_ends)(struct fxt_thread *thread);

	/* Called when the kernel does not know the thread any more, whose end nobody saw. Another thread gets
	 * its state. */
	void (*thread_is_gone)(struct fxt_thread *thread);

	/* Called when a call has met a trigger, after its record was committed. Any context. */
	void (*triggered)(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			  size_t bytes, uint64_t ns, int error);

	/* Called when the storage hands out no chunk any more because a manager wants no more records
	 * (-ESHUTDOWN), or is gone (-EPIPE). Any context; it may be called several times. */
	void (*storage_ends)(int why);

	/* Called when the process is about to end normally. `thread` is the calling thread's state, or
	 * NULL. */
	void (*exits)(struct fxt_thread *thread);
};

/* Sets the table: `count` rows, which stay where they are. Called once, at start, before the functions
 * below. */
void fxt_parts_use(const struct fxt_part *parts, unsigned count);

void fxt_parts_start(void);
void fxt_parts_mode(void);
void fxt_parts_again(void);
void fxt_parts_woken(void);
void fxt_parts_prepare(void);
void fxt_parts_child(void);
void fxt_parts_deferred(struct fxt_thread *thread, uint64_t now_ns);
void fxt_parts_thread_ends(struct fxt_thread *thread);
void fxt_parts_thread_is_gone(struct fxt_thread *thread);
void fxt_parts_triggered(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			 size_t bytes, uint64_t ns, int error);
void fxt_parts_storage_ends(int why);
void fxt_parts_exit(struct fxt_thread *thread);

#endif
