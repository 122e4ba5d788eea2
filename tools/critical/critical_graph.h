/* The graph of waits that the critical path is found in. Only the files of tools/critical/ include this.
 *
 * A node is a call that took its time, on its thread, or a moment of no length in which an arrow ends.
 * Between nodes a thread runs. An arrow says that its node did not end before another thread had come to some
 * moment.
 *
 *    thread A  ----run----[ node: sleep ]--------run--------+----------->
 *                                                            \ arrow: from woken_ns of A
 *    thread B  --run--[ node: lock ..........................]---run---->
 *                                                     ends at at_ns of B
 */
#ifndef FXT_TOOLS_CRITICAL_GRAPH_H
#define FXT_TOOLS_CRITICAL_GRAPH_H

#include "critical.h"

/* Stands in the place of a node, a sample or a thing that there is none of. */
#define FXT_GRAPH_NONE UINT32_MAX

enum {
	FXT_GRAPH_NODES = 1 << 19,      /* the most nodes that are kept, and the most arrows */
	FXT_GRAPH_SAMPLES = 1 << 20,
};

/* What a thread did in a node. */
enum fxt_graph_standing {
	FXT_GRAPH_RUNS,                 /* it ran */
	FXT_GRAPH_TAKES,                /* it waited for the world outside, which takes as long as it takes */
	FXT_GRAPH_WAITS,                /* it waited for another thread, or for somebody who is not known */
	FXT_GRAPH_MEETS,                /* it waited at a barrier */
};

struct fxt_graph_node {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint32_t thing;                 /* place in fxt_critical.things, or FXT_GRAPH_NONE */
	uint32_t frame;                 /* innermost node of its call stack, or FXT_NO_FRAME */
	uint32_t id;                    /* its place before nodes were sorted */
	uint32_t arrows, arrow_count;   /* those that end in it lie together in fxt_critical_graph.arrows */
	/* The samples that were taken about the time of its start and its end. */
	uint32_t start_sample, end_sample;
	uint8_t standing;               /* enum fxt_graph_standing */
	bool is_poll;                   /* it waits for any of several descriptors */
	bool is_sleep;                  /* it waits for nothing but the time */
	bool is_begin;                  /* the thread began with it, made by the waker of its arrow */
};

struct fxt_graph_arrow {
	uint64_t at_ns, woken_ns;
	uint32_t thread, waker;
	uint32_t node;                  /* the id of its node; once the graph is made, its place */
	uint32_t before;                /* the waker's last node that had ended at woken_ns, or NONE */
	uint32_t sample;                /* of the waker, about woken_ns */
	bool is_meeting;                /* it says that who came last to a barrier was waited for */
};

/* A sample stands for the time from half way to the one before it to half way to the next of its thread. */
struct fxt_graph_sample {
	uint64_t ns;                    /* when it was taken; once the graph is made, where its time begins */
	uint32_t thread, frame;
};

/* A thread's places in the arrays, which are sorted by thread and time. */
struct fxt_graph_thread {
	bool is_known;                  /* it has a life */
	bool is_open;
	uint64_t first_ns, last_ns;
	size_t nodes, node_count;
	size_t samples, sample_count;
};

/* Who had which pthread_t from when on, and calls that joined it. */
struct fxt_graph_handle {
	uint64_t pid, handle, ns;
	uint32_t thread;
	bool is_join;
};

struct fxt_critical_graph {
	struct fxt_graph_node *nodes;
	size_t node_count, node_capacity;
	struct fxt_graph_arrow *arrows;
	size_t arrow_count, arrow_capacity;
	uint64_t arrow_step_ns;         /* of one thread by one other, one arrow in so much time is kept */
	struct fxt_graph_sample *samples;
	size_t sample_count, sample_capacity;
	unsigned sample_step, sample_turn;      /* one of so many samples is kept */
	struct fxt_graph_handle *handles;
	size_t handle_count, handle_capacity;
	struct fxt_map things;          /* kind, and key and module -> place */
	uint8_t *calls;                 /* by symbol of the name: what fxt_graph_call_is() found */
	size_t call_count, call_capacity;
	/* These are set by fxt_graph_make(). */
	struct fxt_graph_thread *threads;       /* by thread */
	size_t thread_count, thread_capacity;
	uint32_t *order;                /* places of nodes in the order of their ends */
	uint64_t begin_ns, end_ns;      /* of the run */
	uint32_t last_thread;
	uint32_t *last_threads;         /* of each process that ended, the thread that it ended with */
	size_t last_count, last_capacity;
};

/* Returns the place of the thing, which is made if it is new. */
uint32_t fxt_graph_thing(struct fxt_critical *c, enum fxt_critical_kind kind, uint64_t key, uint32_t module);

/* Returns the symbol of the name of a process's first thread, which is that of its program. */
uint32_t fxt_graph_program(struct fxt_reader *r, uint64_t pid);

/* Makes the graph of what was taken. Returns false if there is no run in it. */
bool fxt_graph_make(struct fxt_critical *c, struct fxt_reader *r, const struct fxt_critical_life *lives,
		    size_t count, uint64_t first_ns);
void fxt_graph_free(struct fxt_critical_graph *g);

/* Returns the place of the thread's last node that had ended at this time, or NONE. */
uint32_t fxt_graph_before(const struct fxt_critical_graph *g, uint32_t thread, uint64_t ns);
/* Returns the place of the sample that stands for this time of the thread, or NONE. */
uint32_t fxt_graph_sample_at(const struct fxt_critical_graph *g, uint32_t thread, uint64_t ns);
/* Returns the node after this one on the same thread, whose first is the one after NONE, or NULL. */
const struct fxt_graph_node *fxt_graph_after(const struct fxt_critical_graph *g, uint32_t thread,
					     uint32_t node);
/* Returns whether the node's arrow ended a wait. Others only say that the node came later. */
static inline bool fxt_graph_ended_wait(const struct fxt_graph_node *n, const struct fxt_graph_arrow *a)
{
	return n->is_begin || (n->standing != FXT_GRAPH_RUNS && a->woken_ns > n->start_ns);
}
/* Returns the last of the arrows that ended the node's wait, or NULL: none did. */
const struct fxt_graph_arrow *fxt_graph_waker(const struct fxt_critical_graph *g,
					      const struct fxt_graph_node *n);

/* Finds out for how long the path was in what, from the end of the run to its beginning (critical_path.c). */
void fxt_critical_walk(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who);

/* So many functions of a stack count, from the innermost on. */
enum { FXT_CRITICAL_DEPTH = 128 };

/* Finds the functions of a stack, the innermost first, each once, as places in fxt_critical.things: those
 * that are no wrappers. The outermost counts only where it is the only one: else it is what all of the
 * thread did, which nobody can take away. */
size_t fxt_critical_functions(struct fxt_critical *c, struct fxt_who *who, uint32_t frame, uint32_t *list);

/* -- What a change would win (critical_replay.c) -------------------------------------------------- */

enum { FXT_CRITICAL_TRIED = 32 };

/* Sets run_ns and its bounds of these things, at most FXT_CRITICAL_TRIED. */
void fxt_critical_replay(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who,
			 const uint32_t *things, size_t count);

#endif
