/* See witness_switches.h. What is known of a thread stands in the trace's map `seen`. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness_switches.h"

#include <sched.h>
#include <sys/resource.h>

#include "witness_stacks.h"
#include "witness_trace.h"
#include "writer/fxt_encode.h"

/* The values of a thread's slot: whether it has a processor, with its weight above that; and when the weight
 * was asked for. */
enum { STATE, ASKED_NS };
enum { HAS_PROCESSOR = 1, WEIGHT_SHIFT = 32 };

/* The kernel's priorities. */
enum { ORDINARY = 120, BELOW_REAL_TIME = 99, DEADLINE = -1, POLICY_DEADLINE = 6 };

/* Programs change priorities, and nobody tells when. */
enum { ASK_AGAIN_NS = 100 * 1000 * 1000 };

/* Returns the kernel's priority of a thread, or `otherwise` if it is gone. */
static int32_t priority_of(pid_t tid, int32_t otherwise)
{
	int policy = sched_getscheduler(tid);
	struct sched_param param;

	if (policy < 0)
		return otherwise;
	switch (policy & ~SCHED_RESET_ON_FORK) {
	case SCHED_FIFO:
	case SCHED_RR:
		return sched_getparam(tid, &param) ? otherwise : BELOW_REAL_TIME - param.sched_priority;
	case POLICY_DEADLINE: return DEADLINE;
	default: return ORDINARY + getpriority(PRIO_PROCESS, (id_t)tid);
	}
}

static int32_t weight_of(struct fxt_slot *slot, const struct fxt_perf_record *record)
{
	int32_t weight = slot->value[ASKED_NS] ? (int32_t)(slot->value[STATE] >> WEIGHT_SHIFT) : ORDINARY;

	if (record->time_ns - slot->value[ASKED_NS] < ASK_AGAIN_NS)
		return weight;
	weight = priority_of((pid_t)record->tid, weight);
	slot->value[ASKED_NS] = record->time_ns;
	slot->value[STATE] = (slot->value[STATE] & HAS_PROCESSOR) |
			     (uint64_t)(uint32_t)weight << WEIGHT_SHIFT;
	return weight;
}

/* The thread of the record leaves its processor (`is_out`), or gets it. Nobody tells which thread of another
 * program is next, or was last: that is 0, and its weight is that of an idle processor. Viewers would show a
 * thread 0 without it. */
static void put_switch(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
		       enum fxt_thread_state state, bool is_out)
{
	struct fxt_slot *slot = fxt_map_find(&w->seen, record->pid, record->tid);
	struct fxt_arg weights[2] = {
		{FXT_ARG_INT32, fxt_witness_string(w, "outgoing_weight"), .i32 = INT32_MIN},
		{FXT_ARG_INT32, fxt_witness_string(w, "incoming_weight"), .i32 = INT32_MIN},
	};
	uint64_t words[16];

	weights[!is_out].i32 = weight_of(slot, record);
	slot->value[STATE] = (slot->value[STATE] & ~(uint64_t)HAS_PROCESSOR) | (is_out ? 0 : HAS_PROCESSOR);
	fxt_witness_put(w, words,
			fxt_encode_context_switch(words, 16, record->time_ns, (uint16_t)record->cpu, state,
						  is_out ? record->tid : 0, is_out ? 0 : record->tid,
						  (struct fxt_args){2, weights}));
}

void fxt_witness_switch(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	bool is_preempted = record->header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

	if (record->header->misc & PERF_RECORD_MISC_SWITCH_OUT)
		put_switch(w, record, is_preempted ? FXT_THREAD_RUNNING : FXT_THREAD_BLOCKED, true);
	else
		put_switch(w, record, FXT_THREAD_RUNNING, false);
}

void fxt_witness_dies(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	put_switch(w, record, FXT_THREAD_DEAD, true);
}

void fxt_witness_runs(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	const struct fxt_slot *slot = fxt_map_find(&w->seen, record->pid, record->tid);

	if (!(slot->value[STATE] & HAS_PROCESSOR))
		put_switch(w, record, FXT_THREAD_RUNNING, false);
}
