/* Tells the agent's helpers (writer/apart.h) from the processes of a program.
 *
 * To the kernel a helper is a process like any other that was forked. It names itself before it does anything
 * else, and the kernel tells of that. So what the kernel tells of a process is held back after it was
 * forked, until it is known what it is: it has that name; or it has executed a program, taken another name,
 * ended, been blocked for long, or done more than a helper does before it has its name. Its records are
 * delivered late then, in their order.
 *
 * A helper's own records are left out: its maker sleeps meanwhile, and nothing of it is the program's. Its
 * samples are its maker's, because they tell what the recording costs that thread.
 */
#ifndef FXT_TOOLS_FRESH_TASKS_H
#define FXT_TOOLS_FRESH_TASKS_H

#include "perf_events.h"
#include "tools/common/map.h"

/* The processes that are not known yet, and the helpers. All members are zero at first. */
struct fxt_fresh_tasks {
	struct fxt_map by_pid;          /* pid -> address of a struct fxt_fresh_task */
};

/* A process was forked by this thread. */
void fxt_fresh_task_begin(struct fxt_fresh_tasks *t, uint32_t pid, uint32_t maker_pid, uint32_t maker_tid);

/* Takes any record before it is used. `handler` is called with records that were held back. Returns true if
 * the record is held back, or is that of a helper and left out. */
bool fxt_fresh_tasks_take(struct fxt_fresh_tasks *t, const struct fxt_perf_record *record,
			  fxt_perf_handler *handler, void *context);

/* Delivers what is held back of processes that have been blocked since before this time: they are no helpers.
 */
void fxt_fresh_tasks_settle(struct fxt_fresh_tasks *t, uint64_t before_ns, fxt_perf_handler *handler,
			    void *context);

/* Delivers all that is held back, and frees everything. */
void fxt_fresh_tasks_end(struct fxt_fresh_tasks *t, fxt_perf_handler *handler, void *context);

#endif
