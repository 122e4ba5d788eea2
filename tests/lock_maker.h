/* These functions put the calls about locks into a trace (trace_maker.h), one after another in time, and look
 * at the circles that the report finds. Locks are in process 7, whose threads have the indices 1, 2 and 3. */
#ifndef FXT_TESTS_LOCK_MAKER_H
#define FXT_TESTS_LOCK_MAKER_H

#include "trace_maker.h"

enum { A = 0xa0, B = 0xb0, C = 0xc0, G = 0x90, LOCKS = 0x1000 };

/* When the next call begins. It takes 10 ns, and the one after it begins 20 ns later. */
extern uint64_t now;
extern struct fxt_report report;

/* Begins a trace in which the process has made A, B, C and G. */
void begin(void);
void make(uint64_t mutex);

/* Writes a call whose only argument is the lock. */
void call_about(unsigned thread_index, const char *name, const char *argument, uint64_t lock);
void lock(unsigned thread_index, uint64_t mutex);
void try(unsigned thread_index, uint64_t mutex);
void unlock(unsigned thread_index, uint64_t mutex);
void read_lock(unsigned thread_index, uint64_t rwlock);
void write_lock(unsigned thread_index, uint64_t rwlock);
void unlock_rwlock(unsigned thread_index, uint64_t rwlock);
void wait_for_condition(unsigned thread_index, uint64_t mutex);
/* Writes a call that failed with this error number. */
void failed(unsigned thread_index, const char *name, uint64_t mutex, uint64_t error);

/* The thread takes two mutexes in this order, or gives them up in the other. takes() does both. */
void lock_both(unsigned thread_index, uint64_t first, uint64_t then);
void unlock_both(unsigned thread_index, uint64_t first, uint64_t then);
void takes(unsigned thread_index, uint64_t first, uint64_t then);

/* Makes the report of what was put together, and fails unless it has so many circles. The caller ends it. */
void expect_circles(size_t count);
/* Do the same for no circle, or one, and end the report. */
void expect_none(void);
void expect_one(void);
/* Returns the lock of this number in the report. */
const struct fxt_lock *lock_of(uint32_t number);
/* Fails unless the circle has this order. */
void expect_order(size_t circle, size_t order, uint64_t first, uint64_t then, uint64_t tid, uint64_t first_ns,
		  uint64_t count);

#endif
