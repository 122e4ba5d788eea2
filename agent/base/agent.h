/* The state that all parts of the agent share: the gate, the state of each thread, and what there is once in a process.
 *
 *   fxt_gate        Every wrapper reads it first, in every context: it says which categories are on.
 *   fxt_self        Every wrapper reads it after that: it leads to the calling thread's state.
 *   fxt_agent       Only slow paths read it: the configuration, the strings and the buffer of the process.
 */
#ifndef FXT_AGENT_H
#define FXT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
#include "categories.def"
#undef CATEGORY
	FXT_CATEGORY_COUNT
};

enum fxt_category {
#define CATEGORY(name, on, what) FXT_CAT_##name = 1 << FXT_BIT_##name,
#include "categories.def"
#undef CATEGORY
};

/* Indices of strings in the trace. The categories come first, then strings.def, then the calls in the order of the tables
 * (FXT_STR_CALLS + call number), and then strings that are registered while the program runs. */
enum fxt_string_index {
	FXT_STR_CATEGORIES = 1,
	FXT_STR_BEFORE_STRINGS = FXT_STR_CATEGORIES + FXT_CATEGORY_COUNT - 1,
#define STRING(id, text) FXT_STR_##id,
#include "strings.def"
#undef STRING
	FXT_STR_CALLS
};

/* The names of the interposed calls in the order of their numbers. interpose/start.c hands them over at start. */
struct fxt_call_names {
	const char *const *list;
	unsigned count;
};

/* -- Gate -------------------------------------------------------------------------------------- */

/* The gate has a page of its own, which the kernel wipes in the child of any kind of fork: so a child that has not been
 * through our handler records nothing, and cannot write to its parent's buffer. */
struct fxt_gate {
	_Atomic uint32_t mask;          /* enum fxt_category */
	_Atomic uint32_t owner;         /* the process it was opened for */
	char rest[FXT_PAGE_BYTES - 2 * sizeof(uint32_t)];
};

extern struct fxt_gate fxt_gate __attribute__((visibility("hidden")));

/* -- Threads ----------------------------------------------------------------------------------- */

enum {
	FXT_HELD_LOCKS_MAX = 32,
	FXT_LANES = 6,                  /* signal handlers nested deeper than this are counted as dropped */
	FXT_EXPLAIN_BITS = 64,
	FXT_LANE_FENCES = 4,            /* raised before that is noticed, by handlers that interrupt one another */
	FXT_IN_PROGRESS_MAX = 512,             /* Perfetto nests slices no deeper */
	FXT_FUNCTION_DEPTH = 500,       /* of these, for functions: the calls they make at that depth nest in them */
	FXT_DEFINED_BYTES = (FXT_STRING_MAX_INDEX + 1) * sizeof(uint32_t),
	FXT_IN_PROGRESS_PAGES = 10,            /* 512 slots, 61 to a page where threads are inline */
};

/* A call in progress. Its slot is a record in the file that is rewritten in place. The record always has the same size,
 * and is a filler or a duration begin with one argument, so that a reader never loses step. */
struct fxt_in_progress {
	uintptr_t frame;                /* of who made the entry: see in_progress.h */
	uintptr_t function;             /* of no interposed call: fxt_in_progress_function() */
	uintptr_t site;                 /* of a function: where its entry hook was called from */
	uint64_t *slot;                 /* NULL: no page yet; never NULL after a push */
	uint64_t start_ns;
	uint64_t names;                 /* category and name, as in an event's header */
};

/* Flags that say what is due when the thread commits its next record. */
enum fxt_commit_way {
	FXT_COMMIT_WATCHED = 2,         /* the next may meet a trigger, or is slow, or: */
	FXT_COMMIT_DEFERRED = 4,        /* the thread has deferred work: deferred.h */
};

/* This is the last chunk of a ring that a lane has filled. It is given back when the next one is full, so that what a
 * thread did last stays, however rarely it does anything. */
struct fxt_full_chunk {
	_Atomic uint64_t hold;          /* as in struct fxt_lane; 0: none */
	uint64_t last_ns;
	uint32_t events;
};

/* A lock the thread holds: held_locks.h. */
struct fxt_held_lock {
	uintptr_t lock;
	uint64_t since_ns;
	uintptr_t place;                /* the return address of the call that took it */
};

/* Time by the processor's counter, valid while its upper half is `high` and its lower one is not above
 * `until`:
 *	origin_ns + (lower half * scale >> FXT_CLOCK_SHIFT)     modulo 2^64: the origin may lie before boot
 * See clock.h. */
struct fxt_clock_line {
	uint64_t origin_ns;
	uint64_t scale;
	uint32_t high, until;           /* until 0: none yet */
};

struct fxt_thread {
	struct fxt_lane *lane;          /* where to write; raised by one during an emission */
	uint64_t event_thread;          /* the thread ref, in its place in an event's header; 0: inline */
	uint64_t last_ns;
	struct fxt_clock_line clock;
	uint64_t usual_ns;              /* calls that take as long need a look: fxt_is_usual() */
	struct fxt_in_progress *open;          /* the next entry to use */
	struct fxt_held_lock *held_top;      /* the next to use */
	uint64_t slot_header;           /* of an open call: thread ref, type, size and count of arguments */
	uint64_t slot_filler;
	uint64_t explain_due_ns;        /* a call that starts later is preceded by a reading: explain.h */
	uint64_t explain_slow;          /* and one that may have one of explain_names; bits as of fxt_explain_bit() */
	size_t slot_arg;                /* where in a slot its argument is: in_progress.h */
	uint32_t serial;                /* chunks taken so far */
	uint64_t *filtered;             /* where the counts are kept: in the file once the thread has a page */
	uint64_t *dropped;
	uint64_t *dropped_ns;           /* and where the time of the last one that was dropped is */
	uint64_t no_room_before_ns;     /* the storage has given nothing and will not until then: fxt_lane_turn() */
	uint32_t *defined;              /* by string index: serial of the last chunk that has it; see function.h */
	const uint32_t *defined_quick;  /* the same; none is while deep_count is not 0, or event_thread is */
	uintptr_t stack_low, stack_high;
	bool alternate_is_within;       /* fxt_alternate_is_within(), as it was when the thread last set one */
	uint32_t deep_count;            /* functions entered too deep to have an entry, and not left yet; no quick way then */
	struct fxt_in_progress *quick_limit;        /* the quick way has entries below this: fxt_in_progress_set_deep_count() */
	struct fxt_lane lanes[FXT_LANES + FXT_LANE_FENCES];     /* the last have never room */
	struct fxt_full_chunk full[FXT_LANES];
	uint64_t no_page[3];            /* filtered, dropped and dropped_ns before there is a page */
	uint64_t no_slot[8];
	uint64_t *pages[FXT_IN_PROGRESS_PAGES];
	uint32_t page_count;
	uint32_t pid, tid;              /* as the trace has them: koid.h */
	uint32_t own_tid;               /* as gettid() has it */
	uint32_t vforked;               /* see vforked_entry */
	uintptr_t handle;               /* pthread_self() */
	unsigned commit;                /* enum fxt_commit_way; 0: nothing */
	int watched_errno;              /* how the call failed that is being recorded, if a trigger may look at that */
	uint64_t threshold_ns;
	uint64_t born_ns;               /* of the child of a fork: when it began; 0 */
	bool ready;                     /* known to this process's trace */
	bool in_use;
	bool claimed;                   /* changing hands */
	bool may_be_child;              /* it has called vfork: fds.h, in_progress.h */
	uint8_t index;                  /* 0: inline */
	bool usage_changing;
	uint64_t read_bytes, written_bytes;     /* by its calls; of threads before it as well */
	uint64_t heap_bytes;            /* allocated less freed: heap.h; the same */
	struct fxt_usage_window usage;  /* the last two readings */
	uint16_t explain_names[FXT_EXPLAIN_BITS];       /* of calls that were slow the last time, where the bit is set */
	struct fxt_held_lock held[FXT_HELD_LOCKS_MAX];
	uintptr_t waits_for;            /* as fxt_wait_begin() has it; 0 */
	struct fxt_in_progress *vfork_entry;    /* the next entry to use when it last called vfork */
	uint64_t vfork_left_ns;         /* when that child executed a program or ended; 0: it has not */
	struct fxt_program_text texts[FXT_PROGRAM_TEXTS];
	uint64_t life;                  /* the id of its lifetime; 0 */
	uint64_t expects;               /* the child it is making, as parent_links.h has it; 0 */
	uint64_t vforked_entry;           /* and the last that it has made by vfork and that executed a program, which is `vforked` */
	void *environment;              /* of the program that its last child of vfork executed: interpose/process/complete.h */
	size_t environment_bytes;
	struct fxt_in_progress fenced_entries[1 + FXT_IN_PROGRESS_MAX + 1];     /* see fxt_in_progress_entries() */
	struct fxt_usage_window usage_windows[FXT_IN_PROGRESS_MAX];    /* of each entry: the readings around its start, once there are any */
	char text_bytes[FXT_PROGRAM_TEXTS][FXT_PROGRAM_TEXT_BYTES + FXT_PROGRAM_TEXT_MARK_BYTES];
};

/* Returns the entries of calls in progress. There are FXT_IN_PROGRESS_MAX, and a fence at either end; the one in front has a
 * frame above all others. */
static inline struct fxt_in_progress *fxt_in_progress_entries(struct fxt_thread *thread)
{
	return thread->fenced_entries + 1;
}

extern __thread struct fxt_thread *fxt_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* This is the same for an instrumented function that ends. It is NULL where the function's record would be dropped
 * whenever it ends: then the clock need not be read, which is what takes longest. */
extern __thread struct fxt_thread *fxt_self_ending __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* These are the causes for which a record is not in the trace. Each has a counter in it, whose time is that of the last
 * record it counts; an instant tells of the first one. */
enum fxt_loss {
	FXT_LOSS_ROOM,                  /* the buffer has none */
	FXT_LOSS_DEPTH,                 /* functions nest deeper than FXT_FUNCTION_DEPTH */
	FXT_LOSS_SIGNALS,               /* handlers deeper than FXT_LANES, cut off, or short of stack */
	FXT_LOSS_SIZE,                  /* the record is larger than a chunk */
	FXT_DROP_COUNT,
	FXT_LOSS_FILTERED = FXT_DROP_COUNT,     /* shorter than the threshold: nobody wanted it */
	FXT_LOSS_OVERWRITTEN,                   /* the ring has given its chunk to newer events */
	FXT_LOSS_UNNAMED,                       /* no record: an object without a name, see label.h */
	FXT_LOSS_COUNT,
	/* Told, and not to be counted: */
	FXT_LOSS_SHARED = FXT_LOSS_COUNT,       /* a thread's storage is used by two: fxt_thread_bar() */
	FXT_LOSS_TOLD
};

/* Adds one to a count that only this thread and its signal handlers write: in one instruction, so that a
 * handler's is not lost. */
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
	enum fxt_mode mode;
	uint64_t buffer_bytes, max_bytes, threshold_ns;
	uint64_t explain_ns;            /* 0: no call is explained */
	uint64_t heap_track_bytes;      /* blocks and mappings of as many have a lifetime; 0: none has */
	bool quiet;
	bool wait_on_full;
	bool in_memory;                 /* FXT_STORAGE=memory: the buffer, whatever the file system is */
	bool dormant;                   /* recording begins by the signal */
	int signal;                     /* 0: none */
	struct fxt_trigger_list triggers;
	uint64_t trigger_keep;
	char output[FXT_PATH_BYTES];    /* absolute; what follows output_fixed has %e %p %h %t %% to expand */
	size_t output_fixed;
};

struct fxt_agent {
	atomic_int state;               /* enum fxt_state */
	atomic_int recording;           /* enum fxt_recording: control.h */
	atomic_bool file_made;          /* the buffer exists */
	atomic_bool filtered;           /* fxt_filter_begins() */
	atomic_bool has_handlers;       /* fxt_handlers_begin() */
	struct fxt_lock bus_lock;       /* setting the action of SIGBUS: interpose/signals/bus.c */
	struct fxt_lock file_lock;      /* makes it; nests in nothing, and durable_lock in it */
	bool file_failed;
	bool is_forked;                 /* since the program was executed */
	uint32_t pid;                   /* as getpid() has it */
	uint32_t koid;                  /* as the trace has it: koid.h */
	enum fxt_koid_kind koid_kind;
	uint64_t start_seconds;         /* since the epoch, for %t */
	/* Slots in the durable area: counts of threads that have no page or are gone, and those that no
	 * thread keeps. */
	uint64_t *losses[FXT_LOSS_COUNT];
	char program[64];
	struct fxt_config config;
	struct fxt_call_names calls;
	struct fxt_storage *storage;    /* where records go: the buffer's */
	struct fxt_buffer buffer;
};

enum fxt_state { FXT_UNBORN, FXT_STARTING, FXT_ON, FXT_OFF };

extern struct fxt_agent fxt_agent __attribute__((visibility("hidden")));

/* Whether it is there: a forked child that has recorded nothing yet has none, and what does not matter by
 * itself makes none. */
static inline bool fxt_agent_has_file(void)
{
	return atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire);
}

/* The process asks for a filter of its system calls, which may kill for one that it does not know: the agent
 * makes none of those any more that it can do without. */
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
