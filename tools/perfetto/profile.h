/* What Perfetto reads in its own form: who used the processor, and who has what of the heap, by call stack.
 * Join takes it from the records of the parts while it reads them (profile_take.c), and writes it at the end
 * of the trace (perfetto_blob.h).
 *
 * Each part has a reader of its own, and so strings and nodes of its own. When a part ends, those that
 * something refers to are looked up in the tables of the whole trace (profile.c). The profile costs memory
 * for each sample, each such node, and each live block that has a stack.
 */
#ifndef FXT_TOOLS_PROFILE_H
#define FXT_TOOLS_PROFILE_H

#include "tools/analysis/call_stacks.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* The agent takes a sample of the heap each time that so many bytes have been asked for, on average. */
enum { FXT_PROFILE_HEAP_INTERVAL = 65536 };

struct fxt_profile_text;                /* a string in the table, in profile.c */

/* What refers to something by a number has its place in the list plus 1, because 0 is "none" in Perfetto. */
struct fxt_profile_string {
	char *text;
	uint32_t bytes;
	bool is_name, is_path, is_build_id;     /* what it is referred to as */
};

struct fxt_profile_mapping {
	uint32_t path, build_id;        /* strings; 0: none */
};

struct fxt_profile_frame {
	uint32_t name, mapping;         /* string, mapping */
	uint64_t offset;                /* address, as in the mapping's file */
};

struct fxt_profile_node {
	uint32_t caller, frame;         /* node (0: outermost), frame */
	bool is_innermost;              /* something refers to it */
};

struct fxt_profile_sample {
	uint64_t at_ns;
	uint32_t pid, tid, cpu;
	uint32_t node;                  /* until its part ends, a place in the part's stacks */
	bool is_node;                   /* it is a node already, because the trace has no stack of it */
};

/* What a process asked for in one node. */
struct fxt_profile_heap {
	/* the koid of its process, and above that a number of its provider until fxt_profile_settle() */
	uint64_t process;
	uint32_t node; /* as above */
	uint64_t allocated, freed;      /* bytes */
	uint64_t blocks, freed_blocks;
};

/* A block was taken or freed. */
struct fxt_profile_change {
	uint64_t at_ns, bytes;
	uint32_t heap;                  /* place of the sums; those of the part until that ends */
	bool is_free;
};

/* All members are zero at first. */
struct fxt_profile {
	bool is_on;                     /* it takes something */
	struct fxt_profile_text *texts;
	struct fxt_profile_string *strings;
	struct fxt_profile_mapping *mappings;
	struct fxt_profile_frame *frames;
	struct fxt_profile_node *nodes;
	struct fxt_profile_sample *samples;
	struct fxt_profile_heap *heaps;
	struct fxt_profile_change *changes;
	size_t string_count, string_capacity, mapping_count, mapping_capacity, frame_count, frame_capacity,
		node_count, node_capacity, sample_count, sample_capacity, heap_count, heap_capacity,
		change_count, change_capacity;
	struct fxt_map by_mapping, by_frame, by_node, by_heap;  /* to places plus 1 */
	struct fxt_map heap_times; /* process -> times of the first and the last event of its heap */
	size_t providers; /* of the parts that have ended */
	uint64_t hz;                    /* of samples; 0: not known */
};

/* A part that is being read. All members are zero at first. */
struct fxt_profile_part {
	struct fxt_call_stacks *stacks; /* the part's nodes, which belong to the caller */
	size_t first_sample, first_change;      /* places of the part's first sample and change */
	struct fxt_profile_heap *heaps;
	size_t heap_count, heap_capacity;
	struct fxt_map by_heap; /* process and place of a node -> place in heaps, plus 1 */
	struct fxt_map lives;           /* async id of a block -> place in heaps, and bytes */
	/* async id -> time of an end whose begin may follow in the file, because another thread has that */
	struct fxt_map early;
};

/* -- profile_take.c ------------------------------------------------------------------------------- */

/* Returns whether the next record, which was examined, has to be decoded for fxt_profile_take(). */
bool fxt_profile_wants(const struct fxt_profile *p, const struct fxt_reader *r, const struct fxt_form *form);

/* Takes a record. */
void fxt_profile_take(struct fxt_profile *p, struct fxt_profile_part *part, struct fxt_reader *r,
		      const struct fxt_record *rec);

/* Takes the end of an async that need not be decoded. It is at `offset`. */
void fxt_profile_ended(struct fxt_profile *p, struct fxt_profile_part *part, const struct fxt_reader *r,
		       uint64_t id, uint64_t offset);

/* Takes the time of an event of a heap. */
void fxt_profile_heap_time(struct fxt_profile *p, uint64_t process, uint64_t at_ns);

/* -- profile.c ------------------------------------------------------------------------------------ */

/* Begins a part. The caller takes its nodes into `stacks`. */
void fxt_profile_begin_part(const struct fxt_profile *p, struct fxt_profile_part *part,
			    struct fxt_call_stacks *stacks);

/* Ends a part, all of which `r` has read, and frees it. Its stacks are finished, and have names as far as
 * these are known. */
void fxt_profile_end_part(struct fxt_profile *p, struct fxt_profile_part *part, struct fxt_reader *r);

/* Frees a part of which nothing more is wanted. */
void fxt_profile_free_part(struct fxt_profile_part *part);

/* Returns the node of a function that the trace has no stack of. */
uint32_t fxt_profile_lone_node(struct fxt_profile *p, const struct fxt_text *name);

/* Returns the sums of a process and a node. They stay in place until this is called again. */
struct fxt_profile_heap *fxt_profile_heap_of(struct fxt_profile_heap **heaps, size_t *count, size_t *capacity,
					     struct fxt_map *by_heap, uint64_t process, uint32_t node);

/* Tells processes apart that had one number in turn: `who` returns the koid of the process that had a number
 * at a time, or of one of its threads if `tid` is not 0. NULL: no number was used again. Called after all
 * parts. */
typedef uint64_t fxt_profile_who(const void *context, uint64_t pid, uint64_t tid, uint64_t at_ns);
void fxt_profile_settle(struct fxt_profile *p, fxt_profile_who *who, const void *context);

void fxt_profile_free(struct fxt_profile *p);

/* -- heap_peaks.c --------------------------------------------------------------------------------- */

/* The heap of a process when most of it was in use. */
struct fxt_heap_peak {
	uint64_t process, at_ns;
	struct fxt_profile_heap *heaps; /* the sums until then, of stacks that were there */
	size_t count;
};

/* Finds the peaks, in the order of time, after fxt_profile_settle(). A process that freed nothing after its
 * peak has none here: its end says the same. The caller frees the peaks. */
struct fxt_heap_peak *fxt_heap_peaks(struct fxt_profile *p, size_t *count);
void fxt_heap_peaks_free(struct fxt_heap_peak *peaks, size_t count);

#endif
