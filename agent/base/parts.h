/* The parts of the agent, and what each does when something happens that concerns them all: at the start, in the child of a fork, when a
 * thread or the process ends, and when a thread has time for deferred work.
 *
 * Rooms that lie lower know nothing of those above them (docs/rooms.md). So the parts stand in one table, agent/process/part_table.c, and
 * whoever sees that something happens calls the functions here, which go through the table from its first row to its last. Before the table
 * is there they do nothing.
 */
#ifndef FXT_PARTS_H
#define FXT_PARTS_H

#include "agent.h"

struct fxt_part {
	const char *what;               /* the part, and what becomes of it in the child of a fork */

	/* Once, before anything is recorded. */
	void (*start)(void);

	/* In the child of a fork, which has one thread: fork.c has the rule. Any context. */
	void (*child)(void);

	/* The calling thread has time: deferred.h. `now_ns` is close enough to tell what is due. */
	void (*deferred)(struct fxt_thread *thread, uint64_t now_ns);

	/* The calling thread's routine is over: fxt_thread_ends(). */
	void (*thread_ends)(struct fxt_thread *thread);

	/* The kernel does not know the thread any more, which nobody saw end: its state gets another thread. */
	void (*thread_is_gone)(struct fxt_thread *thread);

	/* A call has met a trigger. In the middle of that call's emission; any context. */
	void (*triggered)(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name, size_t bytes, uint64_t ns,
			  int error);

	/* The process is about to end normally; `thread` is the calling one, or NULL. */
	void (*exits)(struct fxt_thread *thread);
};

/* Once, at start, before the other functions: `count` rows that stay where they are. */
void fxt_parts_use(const struct fxt_part *parts, unsigned count);

void fxt_parts_start(void);
void fxt_parts_child(void);
void fxt_parts_deferred(struct fxt_thread *thread, uint64_t now_ns);
void fxt_parts_thread_ends(struct fxt_thread *thread);
void fxt_parts_thread_is_gone(struct fxt_thread *thread);
void fxt_parts_triggered(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name, size_t bytes, uint64_t ns,
			 int error);
void fxt_parts_exit(struct fxt_thread *thread);

#endif
