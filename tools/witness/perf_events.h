/* The kernel's own records of what processes do, by perf_event_open(2): samples of the processor clock with
 * the registers and a copy of the user stack, context switches, and what processes execute, map and make.
 * An ordinary user may have them of his own processes if kernel.perf_event_paranoid is at most 2. Nothing is
 * added to those processes.
 *
 * There is one event for each processor, which children inherit, and a ring of memory for each event. The
 * memory is locked at the user's cost, and programs of the run may need what he has left. So a ring is small,
 * and a thread empties it (perf_rings.c). All times are of CLOCK_BOOTTIME, as those of traces are.
 */
#ifndef FXT_TOOLS_PERF_EVENTS_H
#define FXT_TOOLS_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The registers of a sample, in the kernel's order: those that unwinding needs (unwind_stack.h). */
#if defined(__x86_64__)
#define FXT_PERF_REGISTERS UINT64_C(0xff01ff)
enum { FXT_PERF_REGISTER_COUNT = 17, FXT_PERF_STACK = 7, FXT_PERF_PC = 8 };
#elif defined(__aarch64__)
#define FXT_PERF_REGISTERS UINT64_C(0x1ffffffff)
enum { FXT_PERF_REGISTER_COUNT = 33, FXT_PERF_STACK = 31, FXT_PERF_PC = 32 };
#else
#define FXT_PERF_REGISTERS UINT64_C(0)
enum { FXT_PERF_REGISTER_COUNT = 1, FXT_PERF_STACK = 0, FXT_PERF_PC = 0 };
#endif

/* The ring of a processor. */
struct fxt_perf_ring {
	int fd;
	uint32_t cpu;
	struct perf_event_mmap_page *page;      /* the ring lies behind it */
	size_t bytes;                           /* of the ring, a power of two */
	unsigned char *queue;                   /* records that were taken from the ring and not delivered */
	size_t begin, end, capacity;            /* of the queue */
	unsigned char *fresh;                   /* what the reader has taken and is not in the queue */
	size_t fresh_bytes, fresh_capacity;
};

struct fxt_perf {
	struct fxt_perf_ring *rings;
	size_t count;
	int *others;                    /* events of further threads, which write to the rings too */
	size_t other_count, other_capacity;
	bool samples_kernel;            /* samples are taken in the kernel too */
	bool is_enough;                 /* every event that was wanted could be had */
	bool says_lost;                 /* the kernel says how many records of an event are lost */
	size_t ring_bytes;
	uint32_t stack_bytes;           /* of the stack in a sample */
	pthread_t reader;
	bool is_read;                   /* there is a reader */
	pthread_mutex_t lock;           /* of the rings and what is fresh */
	size_t fresh_bytes;             /* of all rings */
	int full, stop;                 /* can be read when there is much that is fresh, and at the end */
};

/* A record, decoded as far as all records have it in common, and samples and switches entirely. */
struct fxt_perf_record {
	const struct perf_event_header *header;
	uint32_t pid, tid, cpu;
	uint64_t time_ns;
	/* samples only */
	uint64_t ip;
	const uint64_t *registers;      /* FXT_PERF_REGISTER_COUNT of them; NULL: there are none of 64 bits */
	const unsigned char *stack;     /* a copy of what lies from the stack pointer up */
	size_t stack_bytes;
};

/* Returns a copy that says whose and when the record was, and points to nothing. */
static inline struct fxt_perf_record fxt_perf_record_whose(const struct fxt_perf_record *record)
{
	return (struct fxt_perf_record){
		.pid = record->pid, .tid = record->tid, .cpu = record->cpu, .time_ns = record->time_ns};
}

/* Opens the events for process `pid` and all that it makes later. If `on_exec`, they begin when one of these
 * executes a program; otherwise now, for each of its threads. Samples are taken `hz` times a second of
 * processor time, or not at all if that is 0. Returns 0, or a positive errno with nothing open: ENOBUFS if
 * there is no memory for rings. */
int fxt_perf_open(struct fxt_perf *perf, pid_t pid, unsigned hz, bool on_exec);

/* Returns how large the ring of a processor is, without the page in front, or 0 if there is to be none: with
 * these bytes that perf events may lock for each processor (kernel.perf_event_mlock_kb), and these that a
 * process may lock in all (RLIMIT_MEMLOCK). */
uint64_t fxt_perf_ring_bytes(uint64_t mlock_bytes, uint64_t limit_bytes, uint64_t processors, uint64_t page);

/* Returns how many records have found no room so far, as far as the kernel says it. */
uint64_t fxt_perf_lost(const struct fxt_perf *perf);

/* Begins and ends the thread that empties the rings. fxt_perf_open() and fxt_perf_close() do that. */
bool fxt_perf_begin_reading(struct fxt_perf *perf);
void fxt_perf_end_reading(struct fxt_perf *perf);

/* Waits until there is much to take, `fd` can be read, or the time is over. Returns whether `fd` can be read
 * or has no other end any more. */
bool fxt_perf_wait(const struct fxt_perf *perf, int fd, int milliseconds);

/* Takes what the rings have, and delivers records in the order of time: all that are older than this call, or
 * all if `is_end`. A record and what it points to is valid during the call. */
typedef void fxt_perf_handler(void *context, const struct fxt_perf_record *record);
void fxt_perf_take(struct fxt_perf *perf, bool is_end, fxt_perf_handler *handler, void *context);

void fxt_perf_close(struct fxt_perf *perf);

#endif
