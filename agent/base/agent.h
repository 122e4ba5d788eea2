/* The state that all parts of the agent share: the gate, and the states of the threads and of the process.
 *
 *   fxt_gate        says which categories are on (gate.h). Every wrapper reads it first, in every context.
 *   fxt_self        points to the calling thread's state. Every wrapper reads it after the gate.
 *   fxt_agent       has the configuration, strings and buffer of the process. Only slow paths read it.
 */
#ifndef FXT_AGENT_H
#define FXT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "thread_parts.h"
#include "trigger.h"
#include "writer/buffer.h"
#include "writer/lane.h"

#define FXT_LIKELY(x) __builtin_expect(!!(x), 1)
#define FXT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FXT_COLD __attribute__((cold, noinline))

/* -- Categories and strings -------------------------------------------------------------------- */

enum fxt_category_bit {
#define CATEGORY(name, on, what) FXT_BIT_##name,
#include "writer/categories.def"
#undef CATEGORY
	FXT_CATEGORY_COUNT
};

enum fxt_category {
#define CATEGORY(name, on, what) FXT_CAT_##name = 1 << FXT_BIT_##name,
#include "writer/categories.def"
#undef CATEGORY
};

/* Indices of strings in the trace. The categories come first, then strings.def, then the calls in the order
 * of the tables (FXT_STR_CALLS + call number), then strings that are registered while the program runs. */
enum fxt_string_index {
	FXT_STR_CATEGORIES = 1,
	FXT_STR_BEFORE_STRINGS = FXT_STR_CATEGORIES + FXT_CATEGORY_COUNT - 1,
#define STRING(id, text) FXT_STR_##id,
#include "strings.def"
#undef STRING
	FXT_STR_CALLS
};

/* The records that define the strings are laid out when the agent is compiled: a thousand of them, which each
 * process copies from memory that all processes share. */
#ifndef __has_attribute
#define __has_attribute(attribute) 0
#endif
/* A text that fills its words has no null byte. */
#if __has_attribute(nonstring)
#define FXT_WITHOUT_NUL __attribute__((nonstring))
#else
#define FXT_WITHOUT_NUL
#endif

#define FXT_TEXT_BYTES(text) (sizeof(text) - 1)
#define FXT_TEXT_WORDS(text) ((FXT_TEXT_BYTES(text) + FXT_WORD_BYTES - 1) / FXT_WORD_BYTES)

/* Declares the member `name` of a structure: a record that defines this text, which is a literal. */
#define FXT_STRING_RECORD(name, literal)                                                  \
	struct {                                                                          \
		uint64_t header;                                                          \
		char text[FXT_TEXT_WORDS(literal) * FXT_WORD_BYTES] FXT_WITHOUT_NUL;      \
	} name;

/* The value of such a member. It has the places of the fields once more, as the functions of
 * fxt_format.h are no constants. */
#define FXT_STRING_RECORD_VALUE(index, literal)                                           \
	{FXT_RECORD_STRING | (1 + FXT_TEXT_WORDS(literal)) << 4 | (uint64_t)(index) << 16 | \
		 (uint64_t)FXT_TEXT_BYTES(literal) << 32,                                 \
	 literal},

/* Such records, one behind the other. */
struct fxt_string_records {
	const uint64_t *at;
	size_t words;
};

/* The names of the interposed calls in the order of their numbers, and the records that define them.
 * interpose/start.c hands them over at start. */
struct fxt_call_names {
	const char *const *list;
	unsigned count;
	struct fxt_string_records records;
};

/* -- Threads ----------------------------------------------------------------------------------- */

enum {
	FXT_HELD_LOCKS_MAX = 32,
	/* The records of signal handlers that are nested deeper than this are counted as dropped. */
	FXT_LANES = 6,
	/* The lane behind the others never has room. All emissions share it for which no lane is free. */
	FXT_LANE_FENCES = 1,
	FXT_IN_PROGRESS_MAX = 512,      /* Perfetto nests slices no deeper */
	/* Functions have entries up to this depth. The entries above it are for the calls that the functions
	 * make at that depth. */
	FXT_FUNCTION_DEPTH = 500,
	FXT_DEFINED_BYTES = (FXT_STRING_MAX_INDEX + 1) * sizeof(uint32_t),
};

/* A call that a handler has interrupted by a switch to another coroutine takes this long, as a rule. */
enum { FXT_SWITCH_NS = 4 * 1000 };

/* A call in progress. Its slot is a record in the file that is rewritten in place. The record always has the
 * same size, and is a filler or a duration begin with one argument, so that a reader never loses step. */
struct fxt_in_progress {
	uintptr_t frame;                /* the frame of the wrapper or hook that made the entry */
	/* the address of an instrumented function: fxt_in_progress_function(); of an interposed call, other
	 * data: in_progress.c */
	uintptr_t function;
	uintptr_t site;                 /* the address that the function's entry hook returns to */
	uint64_t *slot;                 /* NULL: there is no page for it yet; never NULL after a push */
	uint64_t start_ns;
	uint64_t names;                 /* category and name as in an event's header; 0: it is changing */
};

/* Flags that say what is due when the thread commits its next record. */
enum fxt_commit_way {
	FXT_COMMIT_WATCHED = 2,         /* the call may meet a trigger or is slow, or work is deferred: */
	FXT_COMMIT_DEFERRED = 4,        /* the thread has deferred work: deferred.h */
	FXT_COMMIT_NO_ROOM = 8,         /* there is no room for good, so no quick way needs to look for it */
	FXT_COMMIT_SHOWN = 16,          /* a slot shows a call that has ended: fxt_in_progress_end_slow() */
	FXT_COMMIT_OVERLAPS = 32,       /* the call that ends at overlaps_ns does not nest: in_progress.c */
};

/* The full chunk of a lane: the chunk of a ring that the lane filled last. It is given back when the lane's
 * next chunk is full, so that the last events of a thread stay, however rarely it does anything. */
struct fxt_full_chunk {
	_Atomic uint64_t hold;          /* as in struct fxt_lane; 0: the lane has no full chunk */
	uint64_t last_ns;               /* the time of its last event */
	uint32_t events;                /* the number of its events */
};

/* A lock that the thread holds: held_locks.h. */
struct fxt_held_lock {
	uintptr_t lock;                 /* its address */
	uint64_t since_ns;
	uintptr_t place;                /* the return address of the call that took it */
};

/* The line of a thread's clock (clock.h) leads from the processor's counter to time:
 *	origin_ns + (lower half * scale >> FXT_CLOCK_SHIFT)     modulo 2^64: the origin may lie before boot
 * It is good while the upper half of the counter is `high` and the lower half is not above `until`. */
struct fxt_clock_line {
	uint64_t origin_ns;
	uint64_t scale;
	uint32_t high, until;           /* `until` is 0 while there is no line */
};

/* The state of a thread. The order of the members decides which cache lines an event touches, so a mechanism
 * may have several groups. "0: none" means that the member is 0 if there is no such thing. */
struct fxt_thread {
	/* Most events read these: emit.h, clock.h, in_progress.h, held_locks.h. */
	uint64_t event_thread;          /* the thread ref as in an event's header; 0: the koids are inline */
	uint64_t last_ns;               /* the last time that the thread got from its clock */
	struct fxt_clock_line clock;    /* the line by which the thread computes the time */
	uint64_t usual_ns;              /* a call is usual if it takes less: fxt_is_usual() */
	int64_t until_sample;           /* units until a call is drawn as a sample: fxt_is_drawn() */
	uint64_t usual_function_ns;     /* the same of functions, which FXT_CALLERS is not about */
	uint64_t no_room_before_ns;     /* the time until which the storage has no room: fxt_has_no_room() */
	struct fxt_in_progress *open;   /* the entry that the next call in progress gets */
	struct fxt_held_lock *held_top; /* the element of `held` that the next lock gets */

	/* Slots of calls in progress: in_progress.h. */
	uint64_t slot_header;           /* the header of a slot that shows a call, without its names */
	uint64_t slot_filler;           /* the header of a slot that shows no call */

	/* The calls that can block and that a reading has to precede: explain.h. */
	uint64_t explain_due_ns;        /* all calls that start at this time or later */
	uint64_t explain_slow;          /* calls that were slow the last time: bits of fxt_explain_bit() */

	/* Slots again. */
	size_t slot_arg;                /* the index of the argument's first word in a slot */

	/* Chunks and losses: lane.c, losses.h. The counts are in the file once the thread has a page. */
	uint32_t serial;                /* the number of chunks that the thread has taken */
	uint32_t deep_count;            /* functions that are too deep for an entry and have not ended yet */
	struct fxt_thread_counts counts;
	struct fxt_thread_names names;  /* of instrumented functions: function.h */
	struct fxt_thread_stack stack;  /* the thread's own: stack.h */

	/* the quick way of functions takes only entries below this; NULL: none. It depends on deep_count:
	 * fxt_in_progress_set_deep_count() */
	struct fxt_in_progress *quick_limit;

	/* Lanes: lanes.h. */
	struct fxt_lane lanes[FXT_LANES + FXT_LANE_FENCES];     /* the fence comes last and never has room */
	struct fxt_full_chunk full[FXT_LANES];  /* the full chunk of each lane */

	/* Pages of slots, with the counters in the first: thread.c, in_progress.c. */
	struct fxt_thread_pages pages;

	/* Whose state this is: thread.c. */
	uint32_t pid, tid;              /* the koids of process and thread: koid.h */
	uint32_t starts;                /* fxt_agent.starts when the thread began to record last */
	uint32_t own_tid;               /* the result of gettid() */
	uintptr_t handle;               /* the result of pthread_self() */

	/* Records that need a look: watched.c, deferred.h. */
	struct fxt_in_progress *shown;  /* the entry whose call has ended and whose slot still shows it */
	unsigned commit;                /* what is due at the next commit: enum fxt_commit_way; 0: nothing */
	int watched_errno;              /* the error of the call that is recorded, for triggers; 0: none */
	uint64_t left_ns;               /* the end of the call that is closed, which has no stack; or 0 */
	uint64_t overlaps_ns;           /* the end of the call that FXT_COMMIT_OVERLAPS is about */
	/* what begins until the first of these was in progress when a manager stopped the trace last; the
	 * second is until when such a call is known to have lasted since: close_entry() */
	uint64_t stopped_ns, lasted_ns;
	int first_errno;                /* the same, if its call site has not failed so before */
	uint64_t born_ns;               /* the time when the child of a fork began; 0 in other processes */

	/* Flags of several mechanisms, and the index: thread.c, explain.h. */
	bool ready;                     /* the trace has the thread's record: fxt_thread_ready() */
	bool in_use;                    /* a thread has the state; whether it still lives is not known */
	bool claimed;                   /* the state is passing to a new thread: no other may take it */
	atomic_bool is_holder;          /* it is among those that may hold chunks: thread_chunks.c */
	bool may_be_child;              /* vfork was called, so the caller may be the child: fxt_fds_ask() */
	uint8_t index;                  /* the thread's index in the trace; 0: its koids are inline */

	/* Counters of the process are the sums over all states, so a state's earlier threads count too:
	 * sample.c. */
	struct fxt_thread_bytes bytes;

	struct fxt_call_samples samples;        /* call_samples.h */

	/* Readings: explain.h. */
	struct fxt_readings readings;

	/* Held locks and waits: held_locks.h, flow.h. */
	struct fxt_held_lock held[FXT_HELD_LOCKS_MAX];  /* the newest last, right below held_top */
	uintptr_t waits_for;            /* the object as for fxt_wait_begin(), or a lock: flow.c; 0: none */

	struct fxt_last_vfork vfork;

	/* Texts that the program writes to standard error: program_text.h. */
	struct fxt_program_text texts[FXT_PROGRAM_TEXTS];

	/* The thread's lifetime (task_life.h), and its children (parent_links.h). */
	uint64_t life;                  /* the id of the lifetime; 0: none */
	uint64_t expects;               /* the parent link of the child that is being made; 0: none */

	struct fxt_fiber *fiber;        /* the fiber that ran last in the thread: agent/fibers/; or NULL */

	struct fxt_thread_filtered filtered;    /* instrumented functions that are left out: filtered.h */

	/* the latest calls, and the last slow one before these were kept: watched.c */
	_Atomic(void *) recent_calls;
	struct fxt_call_time {
		uint64_t start_ns, end_ns;
	} last_slow_call;

	/* Large arrays of these mechanisms. */
	/* the entries of calls in progress, between two fences: fxt_in_progress_entries() */
	struct fxt_in_progress fenced_entries[1 + FXT_IN_PROGRESS_MAX + 1];
	/* for each entry, the last reading before its start and the first one after it, once there is one */
	struct fxt_usage_window usage_windows[FXT_IN_PROGRESS_MAX];
	/* for the entry of each function, what its filter found: filtered.c */
	uint16_t filter_marks[FXT_IN_PROGRESS_MAX];
	/* the characters of `texts` */
	char text_bytes[FXT_PROGRAM_TEXTS][FXT_PROGRAM_TEXT_BYTES + FXT_PROGRAM_TEXT_MARK_BYTES];
};

/* Returns the entries of calls in progress. There are FXT_IN_PROGRESS_MAX, and a fence at either end. The
 * fence in front has a frame above all others. */
static inline struct fxt_in_progress *fxt_in_progress_entries(struct fxt_thread *thread)
{
	return thread->fenced_entries + 1;
}

extern __thread struct fxt_thread *fxt_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Points to the calling thread's state too, for the end of an instrumented function. It is NULL where the
 * function's record would be dropped whenever it ends. Then the clock need not be read, which takes
 * longest. */
extern __thread struct fxt_thread *fxt_self_ending
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Points to the calling thread's state for the quick way out of an instrumented function. It is NULL where
 * fxt_self_ending is, and in all threads if functions are filtered: filtered.h. */
extern __thread struct fxt_thread *fxt_self_leaving
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The causes for which a record is not in the trace, and what else is not there. The trace has a counter for
 * each, whose time is that of the last one that it counts. For most, an instant tells of the first one. */
enum fxt_loss {
	FXT_LOSS_ROOM,                  /* the buffer has no room */
	FXT_LOSS_DEPTH,                 /* functions nest deeper than FXT_FUNCTION_DEPTH */
	FXT_LOSS_SIGNALS,               /* a handler is deeper than FXT_LANES, was left, or lacks stack */
	FXT_LOSS_SIZE,                  /* the record is larger than a chunk */
	FXT_DROP_COUNT,
	FXT_LOSS_FILTERED = FXT_DROP_COUNT,     /* a threshold, FXT_FILTER or FXT_DEPTH left it out */
	FXT_LOSS_OVERWRITTEN,                   /* the ring has given the chunk to newer events */
	/* These count no calls, which are all there: */
	FXT_LOSS_UNNAMED,                       /* an object has no name: label.h */
	FXT_LOSS_BLOCKS,                        /* a block or sample has no lifetime: blocks.c */
	FXT_LOSS_STACKS,                        /* an event has no stack: stack_nodes.h */
	FXT_LOSS_COUNT,
	/* The trace tells of these, but does not count them: */
	FXT_LOSS_SHARED = FXT_LOSS_COUNT,       /* two tasks use one thread's storage: fxt_thread_bar() */
	FXT_LOSS_STATE,                         /* a thread has no state; what it records counts as ROOM */
	FXT_LOSS_TOLD
};

/* Adds one to a count that only this thread and its signal handlers write. It does so in one instruction, so
 * that no count of a handler is lost. */
static inline void fxt_count_one(uint64_t *count)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*count) : : "cc");
#else
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
#endif
}

/* -- The process ------------------------------------------------------------------------------- */

enum { FXT_TRIGGER_KEEP_MAX = 64 };

struct fxt_config {
	uint32_t categories;
	uint32_t own_categories;        /* those of FXT_CATEGORIES; a manager may want others */
	enum fxt_mode mode;
	uint64_t buffer_bytes, max_bytes;
	/* for each category: calls that are shorter are filtered; 0: none */
	uint64_t threshold_ns[FXT_CATEGORY_COUNT];
	bool has_threshold;             /* one of these is not 0 */
	bool filters_callers;           /* FXT_CALLERS is set: callers.h */
	bool filters_functions;         /* FXT_FILTER or FXT_DEPTH is set: filtered.h */
	uint32_t function_depth;        /* instrumented functions that nest deeper are filtered; 0: none */
	uint64_t explain_ns;            /* 0: no call is explained */
	uint64_t heap_track_bytes;      /* blocks and mappings of this size or more have lifetimes; 0: none */
	uint64_t heap_sample_bytes;     /* a smaller block is drawn once in so many bytes; 0: none is */
	bool stacks;                    /* the trace has call stacks */
	/* calls of each category that take this long or longer have one; UINT64_MAX: none has for its
	 * duration. The second is the least of them, and the third how many frames these stacks have. */
	uint64_t stack_ns[FXT_CATEGORY_COUNT], least_stack_ns;
	uint8_t stack_frames[FXT_CATEGORY_COUNT];
	bool quiet;                     /* nothing is written to standard error */
	bool wait_on_full;              /* FXT_ON_FULL=wait: a call waits for room on a full disk */
	bool waits_for_manager;         /* a call waits until the manager has saved a part of the buffer */
	bool in_memory;                 /* FXT_STORAGE=memory: the buffer is in memory on any file system */
	bool dormant;                   /* recording begins with the first signal of FXT_SIGNAL */
	int signal;                     /* the number of that signal; 0: none */
	struct fxt_trigger_list triggers;
	uint64_t trigger_keep;          /* how many snapshots by triggers are kept */
	char manager[108];              /* the path of a manager's socket; empty: there is none */
	bool may_lack_manager;          /* nothing is said if no manager answers there */
	char output[FXT_PATH_BYTES];    /* absolute; %e %p %h %t %% are expanded from output_fixed on */
	size_t output_fixed;
};

/* The state of the process. */
struct fxt_agent {
	atomic_int state;               /* enum fxt_state */
	atomic_int recording;           /* enum fxt_recording */
	/* how often recording has begun in this process; a thread that was there before begins anew when it
	 * finds another number: fxt_thread_begins_again() */
	atomic_uint starts;
	/* the trace that begins now has nothing that was recorded before: fxt_async_begin_anew() */
	bool begins_anew;
	/* when the manager stopped the trace last; 0: never */
	_Atomic uint64_t stopped_ns;
	atomic_bool file_made;          /* the buffer exists */
	atomic_bool filtered;           /* fxt_filter_begins() was called */
	atomic_bool has_handlers;       /* fxt_handlers_begin() was called */
	struct fxt_lock fatal_lock;     /* held to set actions of signals: interpose/signals/fatal.c */
	/* held to make the buffer or a snapshot; it nests in no lock, and durable_lock nests in it */
	struct fxt_lock file_lock;
	bool file_failed;               /* the buffer could not be made */
	bool is_forked;                 /* the process has executed no program since it was forked */
	uint32_t pid;                   /* the result of getpid() */
	uint32_t koid;                  /* the process's id in the trace: koid.h */
	enum fxt_koid_kind koid_kind;
	uint64_t start_seconds;         /* the time of the start since the epoch, for %t */
	/* The counters of losses in the durable area. They count for threads that have no page or are gone,
	 * and the losses that no thread counts itself. */
	uint64_t *losses[FXT_LOSS_COUNT];
	uint64_t *lost_before;          /* the record of fxt_losses_session(), in the durable area too */
	char program[64];               /* the program's name, for %e */
	struct fxt_config config;
	struct fxt_call_names calls;
	struct fxt_storage *storage;    /* the storage that records go to: that of `buffer` */
	struct fxt_buffer buffer;
	/* /proc/self/statm, which stays open for the counters; -1: it does not. descriptor.h keeps it out of
	 * the program's way. */
	_Atomic int statm_fd;
	uint32_t statm_pid;             /* the process that opened it */
	dev_t statm_device;
	ino_t statm_inode;
};

enum fxt_state { FXT_UNBORN, FXT_STARTING, FXT_ON, FXT_OFF };

enum fxt_recording {
	FXT_RECORDING,
	FXT_DORMANT,                    /* nothing is recorded until the first signal of FXT_SIGNAL */
	FXT_WAITING,                    /* nothing is recorded until the manager starts: the gate is lent */
	FXT_STOPPED,                    /* nothing is recorded any more */
};

extern struct fxt_agent fxt_agent __attribute__((visibility("hidden")));

/* Sets fxt_self_ending, and fxt_self_leaving with it. */
static inline void fxt_set_self_ending(struct fxt_thread *thread)
{
	fxt_self_ending = thread;
	fxt_self_leaving = fxt_agent.config.filters_functions ? NULL : thread;
}

/* Returns whether the trace file exists. A forked child that has recorded nothing yet has none, and records
 * that do not matter by themselves make none. */
static inline bool fxt_agent_has_file(void)
{
	return atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire);
}

/* Notes that the process asks for a filter of its system calls. The filter may kill the process for a call
 * that it does not know, so the agent makes no more system calls that it can do without. */
static inline void fxt_filter_begins(void)
{
	atomic_store_explicit(&fxt_agent.filtered, true, memory_order_relaxed);
}

static inline bool fxt_is_filtered(void)
{
	return atomic_load_explicit(&fxt_agent.filtered, memory_order_relaxed);
}

/* Notes, for good, that code of the program may run in the middle of what a thread does, as a signal handler
 * or as a cancellation: it may leave that by longjmp, or fork. Called before the program sets its first
 * handler, and before it cancels a thread; in any context. The agent's own handlers do neither. A turn
 * (agent/emit/lane.c) that another thread has begun before is not protected any more. */
static inline void fxt_handlers_begin(void)
{
	atomic_store_explicit(&fxt_agent.has_handlers, true, memory_order_seq_cst);
}

/* Returns whether a handler of the program may interrupt the calling thread. Where none can, work that a
 * handler must not interrupt need not block signals. */
static inline bool fxt_has_handlers(void)
{
	return atomic_load_explicit(&fxt_agent.has_handlers, memory_order_relaxed);
}

#endif
