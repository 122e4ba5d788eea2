/* The reader of FXT traces that every subcommand of fxt is built on.
 *
 * The reader passes forward over a mapped file. fxt_reader_next() decodes one record at a time into a struct
 * whose strings are views into the mapping. The reader keeps what later records refer to: strings and threads
 * of each provider, and names of threads and processes. It keeps no events. A reader is for one thread.
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
 * reader.c walks from record to record. reader_records.c decodes each type of record, reader_atoms.c the
 * strings, threads and arguments within one; reader_forms.c is the short way for events that are like earlier
 * ones. reader_tables.c keeps providers and threads, reader_strings.c
 * their strings, reader_numbers.c numbers that were used again, and reader_skim.c goes quickly past events of
 * a known form.
 */
#ifndef FXT_TOOLS_READER_H
#define FXT_TOOLS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "faults.h"
#include "fxt_format.h"
#include "tools/common/map.h"

/* A string of the trace: not terminated, and not necessarily UTF-8. */
struct fxt_text {
	const char *text;
	uint32_t bytes;
	/* where a registered string's symbol is cached; NULL: an inline string */
	uint32_t *symbol;
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

/* An earlier meaning of an index. A record that is read again out of order (order.h) has to find the meaning
 * that it was written with. So each string and thread is kept with the offset at which it was registered,
 * and with the earlier meanings of its index, the oldest first. */
struct fxt_older {
	uint64_t offset;                /* where it was registered */
	const char *text;               /* the string; unused for a thread */
	uint32_t value;                 /* bytes of the string, or place in fxt_reader.threads */
};

struct fxt_meanings {
	struct fxt_older *list;
	size_t count, capacity;
};

/* A text that providers have registered, whichever and by whatever index. It is not moved while the reader
 * lives, because every fxt_text of it points to its symbol. */
struct fxt_string_entry {
	const char *text;
	uint32_t bytes;
	uint32_t symbol;
};

struct fxt_few_string;
struct fxt_string_page;                 /* strings at indices that follow each other, in reader_strings.c */
struct fxt_string_pool;                 /* the texts of all providers, in the same file */

struct fxt_thread_entry {
	uint64_t offset;
	struct fxt_meanings *older;
	uint32_t thread;                /* place in fxt_reader.threads */
	uint32_t index;                 /* 0: the entry is free */
};

struct fxt_provider {
	uint32_t id;
	uint32_t index;                 /* place among the file's providers */
	bool announced;                 /* it has a provider info record */
	struct fxt_text name;
	/* 1e9 until an initialization record comes, as the specification says: "the reader may assume
	 * that 1 tick is 1 nanosecond". */
	uint64_t ticks_per_second;
	struct fxt_few_string *few;     /* its strings, as long as they are few, in no order */
	unsigned few_count;
	struct fxt_string_page ***strings;      /* pages of pages, by index; NULL: it has none */
	bool has_strings;
	uint64_t first_string;          /* the offset of the first of them */
	struct fxt_map older_strings;   /* index -> its earlier meanings, if it has some */
	/* The threads are found by index with open addressing. The capacity is a power of two, or 0. */
	struct fxt_thread_entry *threads;
	size_t thread_count, thread_capacity;
	uint32_t generation;            /* counts how often an index got another meaning */
};

/* The provider that has what the kernel told of programs is none of these programs (tools/witness/witness.h).
 * Its number is above those that they get, and is a process's too: its threads are the processors. In a trace
 * that was joined of several runs, each run's has another number. */
#define FXT_KERNEL_PROVIDER "kernel"
enum { FXT_KERNEL_PROVIDER_ID = 0x7fffffff };
bool fxt_provider_is_kernel(const struct fxt_provider *provider);

/* The process that stands for programs of which nothing but a sum is kept (tools/archive/archive_told.h). Its
 * number is none, and is not shown. */
enum { FXT_OTHERS_ID = 0x7ffffffe };

/* A thread that any record mentioned. It belongs to no provider, because one process may be several of them:
 * each program that it executes is a new one. */
struct fxt_trace_thread {
	uint64_t pid, tid;              /* koids */
	struct fxt_text name;           /* empty when no kernel object named it */
	/* It is no thread but another track of the process, of a fiber (docs/fibers.md) or of its gaps
	 * (archive_told.h): its kernel object names a thread. */
	bool is_track;
};

/* One decoded record. Notes beside the members say for which types of record they are set. For other types
 * they are undefined, except that arg_count, has_extra and timed are then 0 and the texts empty. */
struct fxt_record {
	uint64_t offset;
	uint64_t header;
	uint64_t words;
	enum fxt_record_type type;
	unsigned subtype;               /* metadata, event, blob, kernel object, scheduling, large type */
	/* false: a filler, or a type that this reader does not know and skips */
	bool known;
	bool damaged;                   /* it has a structural fault: the members below are guesses */
	struct fxt_provider *provider;
	bool timed;                     /* `ticks` is set */
	uint64_t ticks;                 /* event, scheduling, log, large blob with metadata */
	/* place in fxt_reader.threads, for these types; outgoing or woken thread */
	uint32_t thread;
	/* legacy switch: the thread that runs now. A switch of either kind has the ids of both, in `id` and
	 * `extra` */
	uint32_t incoming;
	unsigned cpu, state;            /* scheduling */
	/* string or thread index, koid, pointer, ticks per second, provider id */
	uint64_t id;
	struct fxt_text category;       /* event, large blob */
	/* event, object, blob, provider; text of a string record or log message */
	struct fxt_text name;
	uint64_t blob_bytes;            /* blob, large blob */
	const unsigned char *blob;      /* their bytes */
	bool has_extra;
	uint64_t extra;                 /* event: counter id, end time, correlation id */
	/* event: a number, from 1 up, of its type, category, name and the names and types of its arguments;
	 * so what follows from these is found once for each kind. 0: it is not known, as for the first of a
	 * kind */
	uint32_t kind;
	/* event: zero words follow its last member, which the format allows */
	bool appended_zeros;
	unsigned arg_count;
	struct fxt_argument args[FXT_MAX_ARGS];         /* last, because most of them are not used */
};

/* Copies a record without the arguments that it does not have. */
static inline void fxt_record_copy(struct fxt_record *to, const struct fxt_record *from)
{
	memcpy(to, from, offsetof(struct fxt_record, args) + from->arg_count * sizeof(from->args[0]));
}

enum fxt_stop { FXT_STOP_NONE, FXT_STOP_END, FXT_STOP_TORN, FXT_STOP_SIZE_ZERO };

/* The reader calls this for every fault that it finds. `detail` is a few words on what exactly is wrong, and
 * lives only during the call. */
typedef void fxt_fault_function(void *context, enum fxt_fault fault, uint64_t offset, const char *detail);

struct fxt_reader {
	const unsigned char *data;
	uint64_t size;
	uint64_t at;
	/* it looks for cosmetic faults too; only fxt check wants to pay for that */
	bool strict;
	/* names and strings are copied, so that `data` may be replaced: fxt_reader_go_on() */
	bool copies;
	/* it reports no faults, as they were reported when this was first read */
	bool muted;
	fxt_fault_function *on_fault;   /* may be NULL */
	void *fault_context;

	enum fxt_stop stop;
	uint64_t tail_bytes;            /* bytes after the last whole record */
	uint64_t damaged_records;
	enum fxt_fault first_fault;     /* the first structural fault; valid when damaged_records is not 0 */
	uint64_t first_fault_offset;
	char first_fault_detail[160];   /* what exactly is wrong there */

	struct fxt_provider **providers;
	size_t provider_count, provider_capacity;
	struct fxt_map provider_by_id;
	struct fxt_provider *provider;  /* the provider of the records that come next */
	struct fxt_trace_thread *threads;
	size_t thread_count, thread_capacity;
	struct fxt_map thread_by_koids;
	struct fxt_map process_names;   /* pid -> text and its bytes */
	struct fxt_map thread_names;    /* tid -> text and its bytes, where the process was not told */
	/* koid of a process or thread whose number another one had before -> since when it has it, and the
	 * koid of a thread's process (0: it is a process) */
	struct fxt_map again;
	struct fxt_symbols *symbols;
	struct fxt_string_pool *strings;
	struct fxt_event_form *forms;   /* reader_forms.c; NULL: no event has a known form */
	struct fxt_event_kind *kinds;   /* in the same file */
	uint64_t faults;                /* how many were found so far, of any severity */
};

/* Begins to read `size` bytes at `data`, which have to stay until fxt_reader_free(). They need not be
 * aligned, and may be damaged in any way. `strict` and `on_fault` may be set after this call. */
void fxt_reader_init(struct fxt_reader *r, const void *data, uint64_t size);
void fxt_reader_free(struct fxt_reader *r);

/* Frees the strings and threads of a provider of which no more records follow, so that a trace that is read
 * for long while it grows takes memory for the programs that run. */
void fxt_reader_forget(struct fxt_reader *r, struct fxt_provider *p);

/* Goes on with the `size` bytes at `data` behind what was read, as if they followed it. What was read may go
 * then, but for copies of records. `copies` has to be set from the beginning on. */
void fxt_reader_go_on(struct fxt_reader *r, const void *data, uint64_t size);

/* Decodes the next record in the order of the file. Returns false at the end; r->stop then says why reading
 * ended. */
bool fxt_reader_next(struct fxt_reader *r, struct fxt_record *rec);

/* Skips records until `wanted` returns true for a header, or the file ends. The reader does not learn the
 * strings and threads that skipped records register. */
typedef bool fxt_reader_wanted(uint64_t header);
void fxt_reader_skip_to(struct fxt_reader *r, fxt_reader_wanted *wanted);

/* The form of an event is its headers without what differs from event to event. A form is remembered when an
 * event of it was found sound. Later events of that form are only compared with it, copied and counted, which
 * costs a twentieth of fxt_reader_next(). In a large trace nearly all records are such events. */
enum { FXT_SKIM_FORMS = 256, FXT_SKIM_ARGS = 6 };

/* The times of a group of events, in ticks. */
struct fxt_times {
	uint64_t first, latest;         /* when the earliest and the latest of them began */
	uint64_t last;                  /* when the last of them ended */
};

struct fxt_form {
	uint64_t header;
	/* events that went by and were not reported to `counted` yet */
	uint64_t count;
	struct fxt_times times;                 /* the times of those events */
	uint32_t args[FXT_SKIM_ARGS];           /* lower halves of the arguments' headers */
	uint32_t category;                      /* symbol */
	uint32_t thread;                        /* place in fxt_reader.threads */
};

/* Called for form->count events of the form, which is 1 or more. */
typedef void fxt_skim_count(void *context, const struct fxt_form *form);

/* Called for each begin and end of an async, with its id and the offset of its record. */
typedef void fxt_skim_link(void *context, enum fxt_event_type type, uint64_t id, uint64_t offset);

/* The known forms. The caller sets the functions and `context`, and zeroes all else. */
struct fxt_skims {
	fxt_skim_count *counted;
	fxt_skim_link *linked;
	void *context;
	const struct fxt_provider *provider;    /* whose events the forms are */
	uint32_t generation;                    /* that provider's, when the forms were remembered */
	struct fxt_form forms[FXT_SKIM_FORMS];
};

/* Goes past fillers and events of known forms, and stops in front of the first record that is neither. Copies
 * the events to `to` (NULL: nowhere) while they fit in `room` bytes. Returns the bytes copied. */
size_t fxt_reader_skim(struct fxt_reader *r, struct fxt_skims *s, unsigned char *to, size_t room);

/* Examines the next record without going past it. Returns true for a whole and sound event that refers to its
 * category, name and thread by index and whose category has a symbol; sets all of `form` but `args` then.
 * Returns false for every other record, which the caller has to decode. */
bool fxt_reader_examine(const struct fxt_reader *r, struct fxt_form *form);

/* Remembers the form of the next record, after fxt_reader_examine() returned true for it. Returns false
 * if the record has no form, because a name stands in it as text or a string value does not. */
bool fxt_reader_remember(const struct fxt_reader *r, struct fxt_skims *s, const struct fxt_form *form);

/* Reports to `counted` all events that it was not told of yet. */
void fxt_skims_tell(struct fxt_skims *s);

/* Decodes the event record at `offset` of provider `p` once more, after a pass that came to the end of the
 * file. Reports no faults and changes no table. Returns false if the record is no event. */
bool fxt_reader_event_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p,
			 struct fxt_record *rec);

/* Returns the kind of an event that has the same header as the record at `offset`, but maybe other arguments:
 * it has the same type, category and name. Returns 0 if none is known. */
uint32_t fxt_reader_kind_at(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p);

/* Returns whether the record at `offset` is a complete event, and sets when it began and ended. It decodes
 * nothing else of the record. */
bool fxt_reader_slice_at(const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p,
			 uint64_t *start_ns, uint64_t *end_ns);

/* Returns the provider of the records after the one at `offset`; `p` is the provider of those before it. */
struct fxt_provider *fxt_reader_provider_at(struct fxt_reader *r, uint64_t offset, struct fxt_provider *p);

/* Returns whether an event of this type begins or ends an async. */
static inline bool fxt_event_bounds_async(uint64_t type)
{
	return type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END;
}

/* Returns whether an event of this type begins or ends a call that is in progress. */
static inline bool fxt_event_bounds_call(uint64_t type)
{
	return type == FXT_EVENT_DURATION_BEGIN || type == FXT_EVENT_DURATION_END;
}

/* Returns how many words the record with this header has; 0 means that the header is invalid. */
static inline uint64_t fxt_record_size_words(uint64_t header)
{
	return fxt_get_record_type(header) == FXT_RECORD_LARGE ? fxt_get_large_words(header)
							       : fxt_get_record_words(header);
}

/* Returns the place of a thread in r->threads. A thread that no record has mentioned gets a place. */
uint32_t fxt_thread_of(struct fxt_reader *r, uint64_t pid, uint64_t tid);

/* Converts a time of the provider from ticks to nanoseconds. */
static inline uint64_t fxt_ns(const struct fxt_provider *p, uint64_t ticks)
{
	if (p->ticks_per_second == 1000000000)
		return ticks;
	return (uint64_t)((unsigned __int128)ticks * 1000000000 / p->ticks_per_second);
}

/* Returns the name that a kernel object record gave the thread, which has a place in r->threads; empty if
 * there is no such record. A record that does not say whose thread it is names all that have the id. */
struct fxt_text fxt_thread_name(const struct fxt_reader *r, uint32_t thread);

/* Returns the name that a kernel object record gave the process; empty if there is no such record. */
struct fxt_text fxt_process_name(const struct fxt_reader *r, uint64_t pid);

/* The kernel gives the number of a process or thread that has ended to another one later. A trace that was
 * joined has a koid of its own for each (tools/join/renumber.h): the first that had a number has that number
 * as its koid, and each later one has it plus a multiple of FXT_AGAIN_STEP, so that a person still reads it
 * in the last digits. A kernel object record with the number, as `pid` or `tid`, and `since` says so. It may
 * stand behind all others, so these functions are for a reader that has read the whole trace. */
enum { FXT_AGAIN_STEP = 10000000, FXT_AGAIN_MOST = 428, FXT_NUMBER_MOST = 1 << 22 };

/* Returns the number that the kernel gave to the process or thread with this koid. */
uint64_t fxt_number(const struct fxt_reader *r, uint64_t koid);

/* Returns the koid of the process that had a number at that time. */
uint64_t fxt_process_at(const struct fxt_reader *r, uint64_t number, uint64_t at_ns);

/* Returns how many processes had a number, as far as they have koids of their own. */
uint64_t fxt_processes_of(const struct fxt_reader *r, uint64_t number);

/* Returns the koid of the thread of a process that has a number. */
uint64_t fxt_thread_in(const struct fxt_reader *r, uint64_t process, uint64_t number);

/* Returns when an event took effect, in ticks: the end of a complete event, the time of any other. */
static inline uint64_t fxt_commit_ticks(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_DURATION_COMPLETE && rec->has_extra && rec->extra > rec->ticks
		       ? rec->extra
		       : rec->ticks;
}

/* Returns how long a complete event took that does not end before it begins, in nanoseconds. */
static inline uint64_t fxt_duration_ns(const struct fxt_record *rec)
{
	return fxt_ns(rec->provider, rec->extra) - fxt_ns(rec->provider, rec->ticks);
}

/* Returns the record's argument with this name, or NULL. Where this is inlined, the compiler knows the length
 * of a name that is a literal, and compares it without a call. */
static inline const struct fxt_argument *fxt_argument(const struct fxt_record *rec, const char *name)
{
	size_t bytes = strlen(name);

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_text *other = &rec->args[i].name;

		if (other->bytes == bytes && memcmp(other->text, name, bytes) == 0)
			return &rec->args[i];
	}
	return NULL;
}

/* Sets *value to an argument that is an integer of any width, a pointer, a koid or a bool. Returns false if
 * it is none of these, or if `a` is NULL. */
static inline bool fxt_argument_u64(const struct fxt_argument *a, uint64_t *value)
{
	if (!a || a->type == FXT_ARG_NULL || a->type == FXT_ARG_DOUBLE || a->type == FXT_ARG_STRING)
		return false;
	*value = a->u;
	return true;
}
/* Returns the record's argument with this name, if fxt_argument_u64() takes it, else `otherwise`. */
static inline uint64_t fxt_argument_or(const struct fxt_record *rec, const char *name, uint64_t otherwise)
{
	uint64_t value;

	return fxt_argument_u64(fxt_argument(rec, name), &value) ? value : otherwise;
}
/* Returns the record's argument with this name, if it is a string, else NULL. */
static inline const struct fxt_text *fxt_argument_text(const struct fxt_record *rec, const char *name)
{
	const struct fxt_argument *a = fxt_argument(rec, name);

	return a && a->type == FXT_ARG_STRING ? &a->string : NULL;
}

/* Returns whether fxt record or fxt merge has made this end, for a lifetime that the program left open or a
 * call that it was in when it was over (open_lifetimes.h). */
bool fxt_is_made_end(const struct fxt_record *rec);

/* Returns whether the record is an end that was made for a call in progress when its process executed another
 * program. Such a call is over, like one that returned. */
bool fxt_is_cut_by_exec(const struct fxt_record *rec);

/* Returns a text that ends with a NUL as one that does not, without copying it. */
struct fxt_text fxt_text_of(const char *text);
/* Returns whether the text has these bytes. Analyses ask this for each event, nearly always about a literal,
 * whose length the compiler knows where this is inlined. */
static inline bool fxt_text_is(const struct fxt_text *t, const char *text)
{
	size_t bytes = strlen(text);

	return t->bytes == bytes && memcmp(t->text, text, bytes) == 0;
}
static inline bool fxt_text_equal(const struct fxt_text *a, const struct fxt_text *b)
{
	return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

/* -- Symbols: small numbers for strings, so that analyses compare and index by number ------------ */

/* Returns the symbol of the text: from 1 up, and the same for the same bytes. */
uint32_t fxt_symbol_found(struct fxt_reader *r, const struct fxt_text *t);
static inline uint32_t fxt_symbol(struct fxt_reader *r, const struct fxt_text *t)
{
	return t->symbol && *t->symbol ? *t->symbol : fxt_symbol_found(r, t);
}
struct fxt_text fxt_symbol_text(const struct fxt_reader *r, uint32_t symbol);
/* Returns the largest symbol so far. */
uint32_t fxt_symbol_count(const struct fxt_reader *r);

#endif
