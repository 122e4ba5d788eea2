/* A CTF 1.8 trace of an FXT trace, as babeltrace2, LTTng's tools and Trace Compass read it. docs/ctf.md says
 * what becomes of what.
 *
 * The writer is a visitor (visit.h). Each thing becomes one event or more, whose fields are encoded at once
 * and given to the sorter. Names of threads and nodes of call stacks may stand behind what refers to them,
 * so an item has their places, and its context and stack are put in front and behind when the sorted items
 * become packets.
 *
 * ctf.c begins and ends, ctf_take.c is the visitor's functions, ctf_shapes.c finds the classes of a record,
 * and ctf_lttng.c adds the events of LTTng's own helpers that views of Trace Compass are made of.
 * ctf_kernel.c is the kernel's directory. ctf_nodes.c keeps call stacks, ctf_modules.c the files that they
 * lead through. ctf_streams.c gives the sorted items to streams (ctf_file.h), ctf_running.c knows who was on
 * which processor, ctf_losses.c says when events were lost, and ctf_metadata.c writes the metadata.
 */
#ifndef FXT_TOOLS_CTF_H
#define FXT_TOOLS_CTF_H

#include "ctf_bytes.h"
#include "ctf_classes.h"
#include "export.h"
#include "sorter.h"
#include "tools/analysis/overview.h"
#include "tools/printing/utc_time.h"
#include "visit.h"

/* Streams: babeltrace2 keeps all files open, and a process may have 1024 as a rule. One stream is of what
 * belongs to no process, and each process has one, of events whose processor is not known. The others are
 * those of processors: in the programs' directory and in the kernel's. */
enum {
	FXT_CTF_OWN_STREAM = 0,
	FXT_CTF_MOST_STREAMS = 480,
	FXT_CTF_MOST_PROCESSORS = 240,
	FXT_CTF_KERNEL = 1 << 16,
	/* An item that is told by the processor that its thread was on. */
	FXT_CTF_KERNEL_OF_THREAD = FXT_CTF_KERNEL + FXT_CTF_MOST_PROCESSORS,
};

enum fxt_ctf_stream_class { FXT_CTF_OF_PROCESS, FXT_CTF_OF_CPU, FXT_CTF_OF_KERNEL };

/* What is put behind an item's fields when it becomes an event. FXT_CTF_SWITCHES_LOST is no event. */
enum fxt_ctf_late {
	FXT_CTF_PLAIN,
	FXT_CTF_STACK,
	FXT_CTF_SWITCH,
	FXT_CTF_WAKEUP,
	FXT_CTF_EXIT,
	FXT_CTF_SWITCHES_LOST,
};

/* An item's beginning; its fields follow. */
struct fxt_ctf_item {
	uint32_t class;
	uint32_t thread; /* place in the reader's threads */
	uint32_t node; /* of its stack, plus 1; 0: none */
	uint32_t late; /* enum fxt_ctf_late */
};

/* Where an event stands among those of its stream at one time: ends of what began before come first, and a
 * call's events lie within it. */
enum fxt_ctf_rank { FXT_CTF_ENDS_WITHIN, FXT_CTF_ENDS, FXT_CTF_BEGINS, FXT_CTF_AT };

/* What LTTng's helpers have an event for. */
enum fxt_ctf_lttng {
	FXT_CTF_NO_LTTNG,
	FXT_CTF_MALLOC,
	FXT_CTF_CALLOC,
	FXT_CTF_REALLOC,
	FXT_CTF_FREE,
	FXT_CTF_MEMALIGN,
	FXT_CTF_POSIX_MEMALIGN,
	FXT_CTF_FUNC_ENTRY,
	FXT_CTF_FUNC_EXIT,
	FXT_CTF_STATEDUMP_START,
	FXT_CTF_BIN_INFO,
	FXT_CTF_BUILD_ID,
	FXT_CTF_DEBUG_LINK,
	FXT_CTF_STATEDUMP_END,
	FXT_CTF_LIB_LOAD,
	FXT_CTF_LIB_BUILD_ID,
	FXT_CTF_LIB_DEBUG_LINK,
	FXT_CTF_LIB_UNLOAD,
	FXT_CTF_LTTNG_COUNT,
	FXT_CTF_REALLOCARRAY = FXT_CTF_LTTNG_COUNT,
	FXT_CTF_PAGES /* as realloc, and as memalign */
};

/* The classes of the kernel's directory. */
enum fxt_ctf_linux {
	FXT_CTF_SCHED_SWITCH,
	FXT_CTF_SCHED_WAKING,
	FXT_CTF_SCHED_WAKEUP,
	FXT_CTF_SCHED_FORK,
	FXT_CTF_SCHED_EXIT,
	FXT_CTF_SCHED_FREE,
	FXT_CTF_SCHED_EXEC,
	FXT_CTF_PROCESS_STATE,
	FXT_CTF_LINUX_COUNT
};

/* One class of a record: it has the arguments from `from` up to `to`. */
struct fxt_ctf_part {
	uint32_t class;
	unsigned from, to;
	bool has_stack;
	bool has_name; /* the class is one of many names */
};

/* The classes of all records that have one form. */
struct fxt_ctf_shape {
	struct fxt_ctf_part whole; /* what went into a call, or all of another record */
	struct fxt_ctf_part exit; /* what came out of it */
	enum fxt_ctf_lttng lttng;
	uint64_t address; /* that stands for an instrumented function */
};

struct fxt_ctf_shapes; /* in ctf_shapes.c */
struct fxt_ctf_running; /* ctf_running.h */

/* A node of a call stack, and a file that code is in. */
struct fxt_ctf_node {
	uint32_t parent, module; /* places plus 1; 0: none */
	uint64_t offset;
	uint64_t first_ns; /* when it first stood in a stack; UINT64_MAX: in none */
};

struct fxt_ctf_module {
	struct fxt_provider *provider;
	uint64_t pid, base, last; /* last: the largest offset of a node */
	uint64_t first_ns; /* of its nodes, when all are known */
	char *path, *build_id; /* NULL: it is known of nodes only */
};

/* A process that another one has made, or has waited for. */
struct fxt_ctf_birth {
	uint64_t at_ns, pid;
	uint32_t thread; /* that did so */
	bool is_end;
};

/* One of the two directories. */
struct fxt_ctf_directory {
	char *path;
	struct fxt_ctf_classes classes;
	bool is_used; /* it has events */
	unsigned char uuid[16]; /* readers take two directories with one for one trace */
};

struct fxt_ctf {
	const struct fxt_export *export;
	struct fxt_reader *reader;
	struct fxt_ctf_directory ust, kernel;
	uint32_t lttng[FXT_CTF_LTTNG_COUNT], linux_classes[FXT_CTF_LINUX_COUNT];
	struct fxt_ctf_shapes *shapes;
	FILE *functions; /* the names that addresses of functions stand for */
	uint64_t function_count;
	struct fxt_map functions_by_name; /* symbol -> address */
	struct fxt_sorter sorter;
	uint64_t item_count;
	struct fxt_ctf_bytes item; /* the one that is being made */
	struct fxt_map streams; /* process -> stream */
	struct fxt_map begins; /* thread -> when its last begin was, and when one ended at once */
	struct fxt_map provider_processes;      /* provider -> its own process */
	struct fxt_map provider_begins; /* provider -> time of its first event, and a thread of it */
	struct fxt_overview losses; /* of what tells of losses alone */
	uint64_t discarded; /* what all streams lack */
	struct fxt_wall_clock clock;
	char *hostname; /* NULL: not told */
	bool has_hosts; /* of several names */
	uint64_t first_ns, last_ns;
	bool has_times;
	/* call stacks */
	struct fxt_map node_places, module_places;
	struct fxt_ctf_node *nodes;
	struct fxt_ctf_module *modules;
	size_t node_count, node_capacity, module_count, module_capacity;
	struct fxt_map loads; /* provider and name of a file -> when the program has first asked to load it */
	struct fxt_ctf_birth *births;
	size_t birth_count, birth_capacity;
	struct fxt_map ends; /* thread -> when the kernel says that it ended */
	bool lacks_switches; /* nobody knows when */
	/* what contexts are made of, at the end */
	char **contexts; /* thread -> its bytes; NULL: not made yet */
	size_t *context_bytes;
	struct fxt_map thread_by_tid;
	struct fxt_map numbers; /* koid that is no int32_t -> what stands for it */
	unsigned char clock_uuid[16]; /* that both directories have: it is one clock */
};

/* -- ctf.c ------------------------------------------------------------------------------------------- */

/* Writes the trace that export->reader reads. See fxt_export_function. */
char *fxt_ctf_export(struct fxt_export *export);

/* Begins an item, whose fields are put into c->item next, and gives it to the sorter. */
void fxt_ctf_begin_item(struct fxt_ctf *c, uint32_t class, uint32_t thread);
void fxt_ctf_end_item(struct fxt_ctf *c, uint32_t stream, uint64_t at_ns, enum fxt_ctf_rank rank,
		      uint64_t tie);
static inline struct fxt_ctf_item *fxt_ctf_item(struct fxt_ctf *c)
{
	return (struct fxt_ctf_item *)(void *)c->item.data;
}

/* What begins or ends at one time in a thread nests by how long it lasts: the longest call begins first and
 * ends last. Of a begin or end that is a record of its own this is not known: it is outside of those. A call
 * that begins and ends at once stands at its place in the file. */
#define FXT_CTF_TIE_MOST ((UINT64_C(1) << 60) - 1)
#define FXT_CTF_TIE_OF_RECORD (UINT64_C(1) << 59)

static inline uint64_t fxt_ctf_tie_of_end(const struct fxt_visit *v)
{
	uint64_t ns = v->end_ns - v->at_ns;

	return !ns ? v->rec->offset + 1 : ns < FXT_CTF_TIE_OF_RECORD ? ns : FXT_CTF_TIE_OF_RECORD - 1;
}

static inline uint64_t fxt_ctf_tie_of_begin(const struct fxt_visit *v)
{
	return v->end_ns == v->at_ns ? v->rec->offset : FXT_CTF_TIE_MOST - fxt_ctf_tie_of_end(v);
}

/* Returns the stream of a thread's process. */
uint32_t fxt_ctf_stream_of(struct fxt_ctf *c, uint32_t thread);

/* -- ctf_take.c -------------------------------------------------------------------------------------- */

void fxt_ctf_visitor(struct fxt_ctf *c, struct fxt_visitor *visitor);

/* -- ctf_shapes.c ------------------------------------------------------------------------------------ */

/* What a record is, beyond its type: the numbers up to 10 are those of events. */
enum fxt_ctf_kind {
	FXT_CTF_COUNTER = FXT_EVENT_COUNTER,
	FXT_CTF_CALL_BEGIN = FXT_EVENT_DURATION_BEGIN,
	FXT_CTF_CALL_END = FXT_EVENT_DURATION_END,
	FXT_CTF_CALL = FXT_EVENT_DURATION_COMPLETE,
	FXT_CTF_LOG = FXT_EVENT_FLOW_END + 1,
	FXT_CTF_BLOB,
	FXT_CTF_LARGE_BLOB,
	FXT_CTF_OBJECT,
	FXT_CTF_PROCESS,
	FXT_CTF_THREAD,
	FXT_CTF_OTHER_OBJECT,
	FXT_CTF_PROVIDER,
	FXT_CTF_INITIALIZATION,
	FXT_CTF_PROVIDER_EVENT,
	FXT_CTF_CONTEXT_SWITCH,
	FXT_CTF_WOKEN,
	FXT_CTF_KIND_COUNT
};

struct fxt_ctf_shapes *fxt_ctf_shapes_new(void);
void fxt_ctf_shapes_free(struct fxt_ctf_shapes *shapes);

/* Returns the shape of a record, which stays in place. */
const struct fxt_ctf_shape *fxt_ctf_shape_of(struct fxt_ctf *c, enum fxt_ctf_kind kind,
					     const struct fxt_visit *v);

/* Puts the fields of a part of a record. */
void fxt_ctf_put_part(struct fxt_ctf *c, enum fxt_ctf_kind kind, const struct fxt_visit *v,
		      const struct fxt_ctf_part *part);

/* -- ctf_lttng.c ------------------------------------------------------------------------------------- */

/* Declares the classes. */
void fxt_ctf_lttng_declare(struct fxt_ctf *c);
/* Returns what a call is for LTTng's helpers. */
enum fxt_ctf_lttng fxt_ctf_lttng_of(const struct fxt_record *rec);
/* Adds the events of a call that is over, or of one in progress. */
void fxt_ctf_lttng_call(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape);
void fxt_ctf_lttng_begin(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape);
void fxt_ctf_lttng_end(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape,
		       enum fxt_ctf_rank rank);

/* -- ctf_modules.c ----------------------------------------------------------------------------------- */

/* Notes that a program asks to load a file. */
void fxt_ctf_modules_load(struct fxt_ctf *c, const struct fxt_visit *v);
/* Adds what programs had mapped, after all records. */
void fxt_ctf_modules_finish(struct fxt_ctf *c);

/* -- ctf_kernel.c ------------------------------------------------------------------------------------ */

void fxt_ctf_kernel_declare(struct fxt_ctf *c);
/* Adds the event of Linux's own that an instant of the kernel's part tells of, if there is one. */
void fxt_ctf_kernel_moment(struct fxt_ctf *c, const struct fxt_visit *v);
void fxt_ctf_kernel_switch(struct fxt_ctf *c, const struct fxt_visit *v);
void fxt_ctf_kernel_wakeup(struct fxt_ctf *c, const struct fxt_visit *v);
/* Notes who has made a process, or has waited for its end. */
void fxt_ctf_kernel_birth(struct fxt_ctf *c, const struct fxt_visit *v);
/* Adds births and the threads that there were, after all records. */
void fxt_ctf_kernel_finish(struct fxt_ctf *c);
/* Puts the late fields of switches and wakeups, and tells `running` of a switch. */
void fxt_ctf_kernel_put(struct fxt_ctf *c, struct fxt_ctf_bytes *out, const struct fxt_ctf_item *item,
			const unsigned char *fields, size_t bytes, uint32_t cpu,
			struct fxt_ctf_running *running);
/* Returns the stream of a processor. */
uint32_t fxt_ctf_kernel_stream(struct fxt_ctf *c, unsigned cpu);

/* -- ctf_nodes.c ------------------------------------------------------------------------------------- */

/* Takes an object that may be a node of a stack, or a file. */
void fxt_ctf_nodes_take(struct fxt_ctf *c, const struct fxt_visit *v);
/* Returns the place plus 1 of the node that the record has as its stack; 0: it has none. */
uint32_t fxt_ctf_node_of(struct fxt_ctf *c, const struct fxt_visit *v);
/* Finds when each file was first in a stack, after all records. */
void fxt_ctf_nodes_finish(struct fxt_ctf *c);
/* Returns the address in memory of a node's call, as a return address; 0: it is not known. */
uint64_t fxt_ctf_node_address(const struct fxt_ctf *c, uint32_t node);
/* Puts the addresses of a stack, the innermost first. */
void fxt_ctf_put_stack(const struct fxt_ctf *c, struct fxt_ctf_bytes *out, uint32_t node);
void fxt_ctf_nodes_free(struct fxt_ctf *c);

/* -- ctf_losses.c ------------------------------------------------------------------------------------ */

/* Events that a stream lacks, and when they were lost. */
struct fxt_ctf_loss {
	uint64_t from_ns, to_ns, events;
};

/* What a stream lost: in windows, which are in order and do not overlap; before its first event, because a
 * ring has overwritten them; and in addition, at a time that is not known. */
struct fxt_ctf_losses {
	struct fxt_ctf_loss *windows;
	size_t count, capacity;
	uint64_t overwritten, rest;
};

/* Takes a record that may tell of a loss. */
void fxt_ctf_losses_take(struct fxt_ctf *c, const struct fxt_visit *v);
/* Finds those of a stream, after all records. */
void fxt_ctf_losses_find(struct fxt_ctf *c, uint32_t stream, struct fxt_ctf_losses *losses);

/* -- ctf_streams.c, ctf_metadata.c ------------------------------------------------------------------- */

/* Makes the files of all streams. Returns 0 or an errno. */
int fxt_ctf_write_streams(struct fxt_ctf *c);

/* Returns a number for a process or thread that is an int32_t, as readers want it. */
int32_t fxt_ctf_number(struct fxt_ctf *c, uint64_t koid);

/* Writes the metadata of a directory. Returns 0 or an errno. */
int fxt_ctf_write_metadata(struct fxt_ctf *c, const struct fxt_ctf_directory *d);

#endif
