/* The reader of FXT traces that every subcommand of fxt is built on.
 *
 * tools/reading/ turns a file into records: it maps the file, decodes records, keeps strings, threads and symbols, and
 * gives events in the order of time. It uses tools/common/ and the format's header in writer/. It does not know what a
 * record means.
 *
 * A forward pass over a mapped file: fxt_reader_next() decodes one record at a time into a struct whose
 * strings are views into the mapping. What is kept is what records refer to: strings and threads of each
 * provider, names of threads and processes. Nothing is kept of an event.
 *
 *     struct fxt_reader r;
 *     struct fxt_record rec;
 *
 *     fxt_reader_init(&r, bytes, size);
 *     while (fxt_reader_next(&r, &rec))
 *             ...
 *     if (r.tail_bytes) ... the last record was cut short ...
 *     fxt_reader_free(&r);
 *
 * reader.c walks, reader_records.c decodes each type of record, reader_atoms.c what records are made of,
 * reader_tables.c keeps providers, strings and threads.
 */
#ifndef FXT_TOOLS_READER_H
#define FXT_TOOLS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "faults.h"
#include "tools/common/map.h"
#include "writer/fxt_format.h"

/* A string of the trace: not terminated, and not necessarily UTF-8. */
struct fxt_text {
	const char *text;
	uint32_t bytes;
	uint32_t *symbol;               /* where a registered string's symbol is cached; NULL when inline */
};

struct fxt_argument {
	enum fxt_arg_type type;
	struct fxt_text name;
	union {
		int64_t i;              /* int32, int64 */
		uint64_t u;             /* uint32, uint64, pointer, koid, bool */
		double f;
		struct fxt_text string;
	};
};

/* Strings and threads are kept with the offset they were registered at, and with what the index meant before, oldest first: a
 * record read again out of order (order.h) finds the meaning it was written with. */
struct fxt_older {
	uint64_t offset;
	const char *text;               /* of a string */
	uint32_t value;                 /* a string's bytes, or the thread */
};

struct fxt_meanings {
	struct fxt_older *list;
	size_t count, capacity;
};

/* Not moved while the reader lives: texts point to its symbol. */
struct fxt_string_entry {
	uint64_t offset;
	const char *text;
	uint32_t bytes;
	uint32_t symbol;
	uint32_t index;
	struct fxt_meanings *older;     /* NULL: it never meant anything else */
};

struct fxt_thread_entry {
	uint64_t offset;
	struct fxt_meanings *older;
	uint32_t thread;                /* into fxt_reader.threads */
	uint32_t index;                 /* 0: the place is free */
};

struct fxt_provider {
	uint32_t id;
	uint32_t index;                 /* place among the file's providers */
	bool announced;                 /* by a provider info record */
	struct fxt_text name;
	uint64_t ticks_per_second; /* 1e9 until told: "the reader may assume that 1 tick is 1 nanosecond" */
	struct fxt_string_entry **strings;      /* by index, open addressing: a provider may have one string or 32767 */
	size_t string_count, string_capacity;   /* the latter a power of two, or 0 */
	struct fxt_thread_entry *threads;       /* the same */
	size_t thread_count, thread_capacity;
	uint32_t generation;            /* how often an index got another meaning */
};

/* A thread that was mentioned anywhere. A process of one trace may be two providers, before and after
 * exec. */
struct fxt_thread {
	uint64_t pid, tid;              /* koids */
	struct fxt_text name;           /* empty when no kernel object named it */
};

/* One record. Which members are set depends on its type, as said beside them; the others are undefined,
 * except arg_count, has_extra, timed and the texts, which are 0 or empty where a type has none. */
struct fxt_record {
	uint64_t offset;
	uint64_t header;
	uint64_t words;
	enum fxt_record_type type;
	unsigned subtype;               /* metadata, event, blob, kernel object, scheduling, large type */
	bool known;                     /* false: a type this reader does not know, or filler; only skipped */
	bool damaged;                   /* a structural fault: what is below is a guess */
	struct fxt_provider *provider;
	bool timed;
	uint64_t ticks;                 /* event, scheduling, log, large blob with metadata */
	uint32_t thread;                /* the same, into fxt_reader.threads; outgoing or woken thread */
	uint32_t incoming;              /* scheduling: the thread that runs now */
	unsigned cpu, state;            /* scheduling */
	uint64_t id; /* string or thread index, koid, pointer, ticks per second, provider id */
	struct fxt_text category;       /* event, large blob */
	struct fxt_text name; /* event, objects, blob, provider; a string record's text; a log message */
	uint64_t blob_bytes;            /* blob, large blob */
	unsigned arg_count;
	struct fxt_argument args[FXT_MAX_ARGS];
	bool has_extra;
	uint64_t extra;                 /* event: counter id, end time, correlation id */
	bool appended_zeros;            /* event: zero words after its last member, which the format allows */
};

enum fxt_stop { FXT_STOP_NONE, FXT_STOP_END, FXT_STOP_TORN, FXT_STOP_SIZE_ZERO };

/* Called for every fault, with a few words that say what exactly; they do not outlive the call. */
typedef void fxt_fault_function(void *context, enum fxt_fault fault, uint64_t offset, const char *detail);

struct fxt_reader {
	const unsigned char *data;
	uint64_t size;
	uint64_t at;
	bool strict;                    /* look for cosmetic faults too; only check wants to pay for it */
	bool muted;                     /* faults were reported when this was read first */
	fxt_fault_function *on_fault;   /* may be NULL */
	void *fault_context;

	enum fxt_stop stop;
	uint64_t tail_bytes;            /* left behind the last whole record */
	uint64_t damaged_records;
	enum fxt_fault first_fault;     /* of structural faults, when damaged_records is not 0 */
	uint64_t first_fault_offset;

	struct fxt_provider **providers;
	size_t provider_count, provider_capacity;
	struct fxt_map provider_by_id;
	struct fxt_provider *provider;  /* current */
	struct fxt_thread *threads;
	size_t thread_count, thread_capacity;
	struct fxt_map thread_by_koids;
	struct fxt_map process_names;   /* pid -> view */
	struct fxt_symbols *symbols;
};

void fxt_reader_init(struct fxt_reader *r, const void *data, uint64_t size);
void fxt_reader_free(struct fxt_reader *r);

/* The next record in file order; false at the end, with r->stop saying which. */
bool fxt_reader_next(struct fxt_reader *r, struct fxt_record *rec);

/* Goes past records of whose header `wanted` says false. Strings and threads among them are unknown from then on. */
typedef bool fxt_reader_wanted(uint64_t header);
void fxt_reader_skip_to(struct fxt_reader *r, fxt_reader_wanted *wanted);

/* Forms of events that were found sound: their headers but for what differs from event to event. Events of a known form are only
 * compared with it, copied and counted, which costs a twentieth of fxt_reader_next(); in a large trace that is nearly everything. */
enum { FXT_SKIM_FORMS = 256, FXT_SKIM_ARGS = 6 };

/* Of some events, in ticks. */
struct fxt_times {
	uint64_t first, latest;         /* when the earliest and the latest began */
	uint64_t last;                  /* when the last ended */
};

struct fxt_form {
	uint64_t header;
	uint64_t count;                         /* of events that have gone by and were not told of yet */
	struct fxt_times times;                 /* of those */
	uint32_t args[FXT_SKIM_ARGS];           /* lower halves of the arguments' headers */
	uint32_t category;                      /* symbol */
	uint32_t thread;                        /* into fxt_reader.threads */
};

/* Told of form->count events, which is 1 or more. */
typedef void fxt_skim_count(void *context, const struct fxt_form *form);

/* Told of each begin and end of an async, with its id and the offset of its record. */
typedef void fxt_skim_link(void *context, enum fxt_event_type type, uint64_t id, uint64_t offset);

/* All zero, but for the functions and `context`, is the beginning. */
struct fxt_skims {
	fxt_skim_count *counted;
	fxt_skim_link *linked;
	void *context;
	const struct fxt_provider *provider;
	uint32_t generation;
	struct fxt_form forms[FXT_SKIM_FORMS];
};

/* Goes past fillers and events of known forms, and stays in front of the first record that is neither. The events are copied to `to`
 * (NULL: nowhere) while they fit in `room` bytes. Returns the bytes copied. */
size_t fxt_reader_skim(struct fxt_reader *r, struct fxt_skims *s, unsigned char *to, size_t room);

/* Examines the next record and stays in front of it. True for whole and sound events that have their category, their name and their
 * thread by index and a category that has a symbol; `form` is then set but for `args`. False for all else: decode it. */
bool fxt_reader_examine(const struct fxt_reader *r, struct fxt_form *form);

/* Remembers the form of the record at hand, which was examined. False: it has none, as a name stands in it or a
 * string that is a value does not. */
bool fxt_reader_remember(const struct fxt_reader *r, struct fxt_skims *s, const struct fxt_form *form);

/* Tells of all that was not counted yet. */
void fxt_skims_tell(struct fxt_skims *s);

/* Decodes the event record at `offset` again, which a pass to the end has come by before, in the context of
 * its provider. Reports no faults and changes no table. Returns false for anything but an event. */
bool fxt_reader_event_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p,
			 struct fxt_record *rec);

/* Whether the record at `offset` is a complete event, and from when to when, without decoding the rest of it. */
bool fxt_reader_slice_at(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p, uint64_t *start_ns,
			 uint64_t *end_ns);

/* The provider of what follows the record at `offset`, when that of what comes before it is `p`. */
struct fxt_provider *fxt_reader_provider_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p);

/* Whether an event of the type begins or ends an async. */
static inline bool fxt_event_bounds_async(uint64_t type)
{
	return type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END;
}

/* The same of a call in progress. */
static inline bool fxt_event_bounds_call(uint64_t type)
{
	return type == FXT_EVENT_DURATION_BEGIN || type == FXT_EVENT_DURATION_END;
}

/* The words of a record from its header alone; 0 is what it cannot be. */
uint64_t fxt_record_size_words(uint64_t header);

/* A trace's time in nanoseconds. */
uint64_t fxt_ns(const struct fxt_provider *p, uint64_t ticks);

/* The name a kernel object record gave the process; empty without one. */
struct fxt_text fxt_process_name(const struct fxt_reader *r, uint64_t pid);

/* When an event took effect: the end of a complete event, otherwise its time. In ticks. */
uint64_t fxt_commit_ticks(const struct fxt_record *rec);

/* The argument of that name, or NULL. */
const struct fxt_argument *fxt_argument(const struct fxt_record *rec, const char *name);

/* An integer argument of any width or a pointer, koid or bool; false if it is none of these. */
bool fxt_argument_u64(const struct fxt_argument *a, uint64_t *value);

/* Whether it is the end of a lifetime that the program left open, or of a call that it left in progress, which fxt record or merge has made
 * (open_lifetimes.h). */
bool fxt_is_made_end(const struct fxt_record *rec);

/* Whether such an end is a call's that was in progress when its process executed another program: it is over, as one that returned. */
bool fxt_is_cut_by_exec(const struct fxt_record *rec);

bool fxt_text_is(const struct fxt_text *t, const char *text);
bool fxt_text_equal(const struct fxt_text *a, const struct fxt_text *b);

/* -- Symbols: small numbers for strings, so that analyses compare and index by number ------------ */

/* The same number for the same bytes, from 1 up. */
uint32_t fxt_symbol(struct fxt_reader *r, const struct fxt_text *t);
struct fxt_text fxt_symbol_text(const struct fxt_reader *r, uint32_t symbol);
uint32_t fxt_symbol_count(const struct fxt_reader *r);       /* the largest number given */

#endif
