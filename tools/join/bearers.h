/* Knows which processes and threads had a number, one after the other. renumber.c tells it what the records
 * of a trace say, and asks it which of them a record is about.
 *
 * Nothing in a trace says outright that a number went to another process. That follows from what is known of
 * its life, in the order of time:
 *	a child with this number begins:        another process, unless nothing was known of it but its
 *	                                        first program, a moment ago
 *	a program begins in it, or it is seen:  another process if it had ended, else it executed this one
 *	the process ends:                       the kernel, the process itself or its parent say so
 *	it executes a program:                  it has not ended: another of its threads has taken over
 * A thread's number goes to another one when the process does, or when another process's thread has it.
 */
#ifndef FXT_TOOLS_BEARERS_H
#define FXT_TOOLS_BEARERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* In the order in which they count where they have one time. */
enum fxt_life_sign_kind {
	FXT_SIGN_EXECUTED,
	FXT_SIGN_SEEN,
	FXT_SIGN_END,
	FXT_SIGN_KERNEL_END,
	FXT_SIGN_BORN,
	FXT_SIGN_PROGRAM,
};

/* Something that is known of the life of a process. */
struct fxt_life_sign {
	uint64_t number, at_ns;
	uint64_t since_ns; /* END: when the child began that has ended; 0: not known */
	enum fxt_life_sign_kind kind;
	size_t program; /* PROGRAM: the caller's number of it */
};

/* A process or thread that has had a number. */
struct fxt_bearer {
	uint64_t number, begin_ns; /* 0: it was there before all that is known */
	size_t process; /* a thread's process; a process's own place */
	uint64_t koid;
	struct fxt_text name;
};

/* At first all members are zero. */
struct fxt_bearers {
	struct fxt_life_sign *lives;
	size_t life_count, life_capacity;
	struct fxt_bearer *list; /* processes by number and time, then threads */
	size_t count, capacity, process_count;
	size_t *order; /* places of all of them, by number and time */
	struct fxt_map threads; /* process and number -> place of its thread */
	struct fxt_map programs; /* number of a program -> place of its process */
};

#define FXT_NO_BEARER SIZE_MAX

/* Takes something that is known. */
void fxt_bearers_live(struct fxt_bearers *b, struct fxt_life_sign life);

/* Finds the processes. All of the above was taken. */
void fxt_bearers_find(struct fxt_bearers *b);

/* Takes a thread of a process that was found. */
void fxt_bearers_thread(struct fxt_bearers *b, size_t process, uint64_t number, uint64_t at_ns);

/* Gives all of them their koids. Returns whether one has another koid than its number. */
bool fxt_bearers_give(struct fxt_bearers *b);

/* Returns the place of the process that had the number at that time, or FXT_NO_BEARER. */
size_t fxt_bearers_process(const struct fxt_bearers *b, uint64_t number, uint64_t at_ns);

/* Returns the place of the process of a program. */
size_t fxt_bearers_of_program(const struct fxt_bearers *b, size_t program);

/* Returns the place of the thread of `process` that has the number, or else of who had it at that time. */
size_t fxt_bearers_thread_of(const struct fxt_bearers *b, size_t process, uint64_t number, uint64_t at_ns);

/* Returns the place of the last thread with a number that a process with the number `pid` had. */
size_t fxt_bearers_last_thread(const struct fxt_bearers *b, uint64_t pid, uint64_t number);

void fxt_bearers_free(struct fxt_bearers *b);

#endif
