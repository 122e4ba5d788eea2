/* Sums about a trace as a whole: how much is in it, from when to when, in which categories, and what was
 * lost. The summary of record and merge, the first lines of report, and categories use them.
 */
#ifndef FXT_TOOLS_OVERVIEW_H
#define FXT_TOOLS_OVERVIEW_H

#include "loss_spans.h"
#include "tools/printing/witnessed.h"
#include "tools/reading/reader.h"

struct fxt_category_usage {
	uint32_t category;              /* symbol */
	uint64_t events, bytes;
};

/* The sums. Before the first record all members are zero. */
struct fxt_overview {
	uint64_t records, events, event_bytes;
	/* Events about what the program did and finished: all but the agent's own, the kernel's and open
	 * calls. */
	uint64_t written;
	uint64_t first_ns, last_ns;     /* valid when events is not 0 */
	struct fxt_category_usage *categories;   /* by symbol; symbols that are no category have no events */
	size_t category_count, category_capacity;
	uint64_t *thread_events;        /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_map own;             /* provider's index -> its process */
	struct fxt_map foreign;         /* thread -> its events that another process has written */
	size_t silent;                  /* processes that have recorded nothing, of which the kernel tells */
	/* Thread, of those with lifetimes -> how many these are: the kernel uses a thread's number again. */
	struct fxt_map lives;
	/* The agent's running totals of losses, by provider and loss, and counter id. */
	struct fxt_map counters;
	struct fxt_map before;          /* what was lost before the session: loss_spans.h */
	struct fxt_loser *losers;       /* by provider and without counts, until fxt_overview_losers() */
	size_t loser_count, loser_capacity;
	uint64_t buffer_full;           /* provider events that say that a buffer was full */
	uint64_t kernel_lost;           /* records of the kernel that found no room, or were not kept */
	/* How often and how long threads waited for room for their records: a cost of the recording. */
	uint64_t room_waits, room_ns;
	/* why records were lost, as the first instant says it; or NULL */
	char *reason;
	struct fxt_loss_spans spans;    /* when programs lost records */
};

/* Takes any record. */
void fxt_overview_take(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_record *rec);
/* Counts `events` events of `bytes` bytes each, which nobody decoded. They are none of category agent. */
void fxt_overview_count(struct fxt_overview *o, uint32_t category, uint32_t thread, uint64_t bytes,
			uint64_t events);
/* Counts a thread among those with events. The kernel's events about threads are not theirs, so somebody has
 * to tell of a thread of which only the kernel knows. */
void fxt_overview_mention(struct fxt_overview *o, uint32_t thread);
void fxt_overview_free(struct fxt_overview *o);

/* Has what was lost before a session count for none of the functions below. All records were taken. */
void fxt_overview_settle(struct fxt_overview *o);

/* Returns how many records were lost for this cause, in all providers and threads; or how much the agent did
 * not keep. */
uint64_t fxt_overview_lost(const struct fxt_overview *o, enum fxt_loss_kind loss);
/* Returns the same of one provider, as far as its process has counted it and no thread by itself. */
uint64_t fxt_overview_lost_of(const struct fxt_overview *o, const struct fxt_provider *provider,
			      enum fxt_loss_kind loss);
/* Returns when the provider last dropped a record that was no function; 0: it has dropped none. What it had
 * before may have been freed and closed where nobody could write it down. A ring keeps lifetimes. */
uint64_t fxt_overview_lost_until(const struct fxt_overview *o, const struct fxt_provider *provider);
/* Returns whether any call was lost, for whatever cause. Functions are none: neither those that nest too
 * deep, nor `functions_left_out` of them that were left out (left_out.h). */
bool fxt_overview_any_call_lost(const struct fxt_overview *o, uint64_t functions_left_out);
/* Returns when the last loss of this cause was, in the trace's nanoseconds; 0: there was none. */
uint64_t fxt_overview_lost_last_ns(const struct fxt_overview *o, enum fxt_loss_kind loss);

/* Fills a map from pid to the time from which the trace may lack calls of the process. A process of which it
 * has all calls is not in the map, and one of which calls may be missing from the beginning has the time 0.
 * This has to be asked before fxt_overview_losers(). */
void fxt_overview_gaps(const struct fxt_overview *o, struct fxt_map *from_ns);

/* Sorts o->losers, the process that lost most first, and returns how many there are. Nothing can be taken
 * afterwards. */
size_t fxt_overview_losers(struct fxt_overview *o);

/* The words for the causes of dropped records. */
extern const char *const fxt_drop_causes[FXT_DROP_COUNT];

/* Returns the number of dropped records, from the sums of a trace or of all parts of a run. */
uint64_t fxt_lost_dropped(const uint64_t lost[FXT_LOSS_COUNT]);

/* Sorts categories by bytes, the largest first, and removes those without events. Nothing can be taken
 * afterwards. */
void fxt_overview_rank(struct fxt_overview *o);

/* Returns whether its process has recorded an event of the thread. Others write events of it too: arrows
 * begin in a child that has recorded nothing. */
bool fxt_overview_records(const struct fxt_overview *o, size_t thread);
/* Returns whether the event begins the lifetime of a thread. */
bool fxt_begins_thread(const struct fxt_record *rec);
/* Returns how many lifetimes began of threads with this number; 0: that is not told. */
uint64_t fxt_overview_lives(const struct fxt_overview *o, uint32_t thread);
/* Returns the number of programs' threads with events. Those that had one number in turn count each. */
size_t fxt_overview_threads(const struct fxt_overview *o, const struct fxt_reader *r);
/* Returns the number of programs' processes that have threads with events, or a name. */
size_t fxt_overview_processes(const struct fxt_overview *o, const struct fxt_reader *r);
/* Returns whether another tracer wrote the trace, whose providers are no programs. Each provider of ours is a
 * program and names its process, and there is one with the number of that process: if the process executes
 * another program, it has two providers, and a join gives one of them another number. */
bool fxt_overview_is_foreign(const struct fxt_overview *o, const struct fxt_reader *r);
/* Takes what the kernel tells of threads, after all records: those that count are mentioned. The processes of
 * which the trace had no event before have recorded nothing, and are counted in `silent`. */
void fxt_overview_witnessed(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_witnessed *w);

#endif
