/* What stands for the rest of the agent where a test has one part of it. part.c has a thread with a lane, a
 * clock that goes on by a nanosecond a reading, and weak functions in place of those of other parts: a test
 * that links one of those parts, or has a function of that name, gets that one.
 *
 *	part_setup();
 *	... the part records ...
 *	SAID("instant log:syslog @1001 message=\"a\"\n");       what was recorded since, a record a line
 *
 * A line has the type of the record, category and name, the start, `pid/tid` where the record does not have
 * the thread's index, the arguments, and the last word of those that have one: `-> end` of a slice, `#id`
 * otherwise. Numbers are decimal, and pointers hexadecimal. */
#ifndef PART_H
#define PART_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/agent.h"
#include "agent/emit/emit.h"

#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

/* Fails unless this is what was recorded since it was last asked. */
#define SAID(text) ck_assert_str_eq(part_said(), text)

enum { PART_PID = 70, PART_TID = 71, PART_KOID = 70, PART_INDEX = 3, PART_START_NS = 1000 };

extern struct fxt_thread part_thread;
/* What the stubs know. part_setup() empties it. */
extern struct part {
	bool has_file, lacks_room, lacks_durable_room, stack_is_short, is_forbidden, may_not_lock;
	uint32_t stack;                 /* the number of each call stack */
	uint64_t flow;                  /* the last id that was given */
	unsigned lost[FXT_LOSS_TOLD];   /* how many of each cause, whoever counts them */
	unsigned deferred;              /* how often work was asked for after a call */
} part;

/* Makes everything as it is at first. The thread records calls of all categories. */
void part_setup(void);
/* Makes the lane empty again, with room for so many words and the slack. */
void part_lane(size_t words);
/* Returns what was recorded since this was last called. */
const char *part_said(void);
/* Writes one record as such a line behind `text`, which has room for it. */
void part_describe(char *text, const uint64_t *record);

#endif
