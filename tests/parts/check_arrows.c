/* This tests the records of arrows (agent/arrows/flow.h): what they say, and in which case there are none.
 * Waits are noted by the functions here, which know what was asked of them. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "agent/arrows/flow.h"
#include "agent/arrows/parent_links.h"
#include "agent/arrows/shared.h"
#include "part.h"
#include "suite.h"

enum { OBJECT = 0x5000, LOCK = 0x6000, OTHER_LOCK = 0x7000 };

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static char asked[1000];                /* what was asked of the table of waits */
static unsigned released;               /* how many threads get a cause */
static bool has_cause, is_possible = true;
static struct fxt_cause handed, left;
static uint64_t may_be_from, may_be_to;

static void ask(const char *what, uintptr_t object)
{
	sprintf(asked + strlen(asked), "%s %lx;", what, (unsigned long)object);
}

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0

bool fxt_wait_begin(uintptr_t object, uintptr_t lock)
{
	ask("begin", object);
	ask("with", lock);
	return is_possible;
}

bool fxt_wait_end(uintptr_t object, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause)
{
	ask("end", object);
	ask("from", start_ns);
	ask("to", end_ns);
	*cause = handed;
	return has_cause;
}

unsigned fxt_wait_release(uintptr_t object, enum fxt_release how, const struct fxt_cause *cause)
{
	ask(how == FXT_RELEASE_ALL ? "release all" : "release one", object);
	left = *cause;
	return released;
}

void fxt_wait_for_lock(uintptr_t lock)
{
	ask("for lock", lock);
}

bool fxt_wait_lock_left(uintptr_t lock, const struct fxt_cause *cause)
{
	ask("left", lock);
	left = *cause;
	return released;
}

bool fxt_wait_got_lock(uintptr_t lock, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause)
{
	ask("got", lock);
	ask("from", start_ns);
	ask("to", end_ns);
	*cause = handed;
	return has_cause;
}

bool fxt_shared_may_be(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns >= may_be_from && at_ns <= now_ns && now_ns < may_be_to;
}

void fxt_parent_name(struct fxt_thread *thread, uint32_t pid, uint32_t tid)
{
	EXPECT(thread == &part_thread && !thread->lanes->raised_at);
	ask("name", pid);
	ask("thread", tid);
}

static bool is_alone;
static uint64_t alone_from, alone_to;

bool fxt_call_is_alone(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	EXPECT(thread == &part_thread);
	alone_from = start_ns;
	alone_to = end_ns;
	return is_alone;
}

static void setup(void)
{
	part_setup();
	is_alone = true;
	*asked = 0;
	released = 1;
	has_cause = is_possible = true;
	handed = left = (struct fxt_cause){.at_ns = 5};
	may_be_from = 0;
	may_be_to = UINT64_MAX;
}

/* -- Flows --------------------------------------------------------------------------------------- */

START_TEST(an_arrow_has_both_its_slices)
{
	struct fxt_cause causes[FXT_CAUSES_MAX] = {{.at_ns = 2000, .pid = PART_PID, .tid = 72},
						   {.at_ns = 2500, .pid = 90, .tid = 91, .cpu_and_1 = 4}};

	fxt_flow_resume(&part_thread, 2100, 3000, causes, 1);
	SAID("slice agent:released @2000 70/72 -> 2001\n"
	     "flow-begin agent:wakes @2000 70/72 #1\n"
	     "slice agent:resumed @2101 -> 3000\n"
	     "flow-end agent:wakes @3000 #1\n");
	ASKED("");
	/* The slice begins later than what it came from, even if that was the thread's last moment. */
	fxt_flow_resume(&part_thread, 2000, 3000, causes, 1);
	EXPECT(strstr(part_said(), "slice agent:resumed @2002 -> 3000\n"));
	part.flow = 1;
	/* Two causes, of which one is another process's; the slice begins behind both. */
	fxt_flow_resume(&part_thread, 2100, 3000, causes, 2);
	SAID("slice agent:released @2000 70/72 -> 2001\n"
	     "flow-begin agent:wakes @2000 70/72 #2\n"
	     "slice agent:released @2500 90/91 -> 2501\n"
	     "flow-begin agent:wakes @2500 90/91 #3\n"
	     "slice agent:resumed @2502 -> 3000\n"
	     "flow-end agent:wakes @3000 #2\n"
	     "flow-end agent:wakes @3000 #3\n"
	     "wakeup type2 cpu3 @2500 of 71 waker=koid:91\n");
	ASKED("name 5a;thread 5b;");
	EXPECT(!part_thread.lanes->events && !part_thread.lanes->raised_at);
	/* The thread itself, by its index; a thread of that number in another process; one without
	 * an index. */
	causes[0].tid = PART_TID;
	fxt_flow_resume(&part_thread, 2100, 3000, causes, 1);
	SAID("slice agent:released @2000 -> 2001\n"
	     "flow-begin agent:wakes @2000 #4\n"
	     "slice agent:resumed @2101 -> 3000\n"
	     "flow-end agent:wakes @3000 #4\n");
	causes[0].pid = 90;
	fxt_flow_resume(&part_thread, 2100, 3000, causes, 1);
	EXPECT(!strncmp(part_said(), "slice agent:released @2000 90/71 ", 33));
	part_thread.event_thread = 0;
	fxt_flow_resume(&part_thread, 2100, 3000, causes, 1);
	SAID("slice agent:released @2000 90/71 -> 2001\n"
	     "flow-begin agent:wakes @2000 90/71 #6\n"
	     "slice agent:resumed @2101 70/71 -> 3000\n"
	     "flow-end agent:wakes @3000 70/71 #6\n");
}
END_TEST

START_TEST(an_arrow_that_cannot_be_is_not_there)
{
	struct fxt_cause causes[] = {{.at_ns = 2000, .pid = PART_PID, .tid = 72},
				     {.at_ns = 2500, .pid = PART_PID, .tid = 73}};

	fxt_flow_resume(&part_thread, 2100, 3000, causes, 0);
	/* The slice would end before it begins. */
	fxt_flow_resume(&part_thread, 2100, 2101, causes, 1);
	fxt_flow_resume(&part_thread, 2998, 2999, causes, 1);
	fxt_flow_resume(&part_thread, 1000, 2002, causes, 1);
	SAID("");
	fxt_flow_resume(&part_thread, 1000, 2003, causes, 1);
	EXPECT(strstr(part_said(), "slice agent:resumed @2002 -> 2003\n"));
	fxt_flow_resume(&part_thread, 2100, 2102, causes, 1);
	EXPECT(strstr(part_said(), "slice agent:resumed @2101 -> 2102\n"));
	EXPECT(alone_from == 2101 && alone_to == 2102);
	/* Another coroutine of the thread has made a call meanwhile: the arrow would end there. */
	is_alone = false;
	fxt_flow_resume(&part_thread, 2100, 2102, causes, 1);
	SAID("");
	is_alone = true;
	/* One of the two is from before the run. */
	may_be_from = 2001;
	fxt_flow_resume(&part_thread, 2600, 3000, causes, 2);
	may_be_from = 0;
	may_be_to = 3000;
	fxt_flow_resume(&part_thread, 2600, 3000, causes, 2);
	SAID("");
	may_be_to = 3001;
	/* All of it is one emission, or nothing is there, and no call counts as lost. */
	part_lane(5 + 2 * 48 - 1);
	fxt_flow_resume(&part_thread, 2600, 3000, causes, 2);
	SAID("");
	EXPECT(!part.lost[FXT_LOSS_ROOM] && !part_thread.lanes->raised_at);
	part_lane(5 + 2 * 48 + 2);
	fxt_flow_resume(&part_thread, 2600, 3000, causes, 2);
	EXPECT(strlen(part_said()) > 100);
}
END_TEST

START_TEST(a_cause_is_signed)
{
	struct fxt_cause cause = {.since_ns = 7, .place = 8, .stack = 9};

	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_sched);
	released = 3;
	fxt_flow_release(&part_thread, OBJECT, FXT_RELEASE_ALL, cause);
	ASKED("release all 5000;");
	EXPECT(left.at_ns == PART_START_NS + 1 && left.pid == PART_PID && left.tid == PART_TID);
	EXPECT(left.since_ns == 7 && left.place == 8 && left.stack == 9 && !left.cpu_and_1);
	/* Two times for each thread are kept free. */
	EXPECT(part_thread.last_ns == PART_START_NS + 7);
	released = 0;
	fxt_flow_release(&part_thread, OBJECT, FXT_RELEASE_ONE, cause);
	ASKED("release one 5000;");
	EXPECT(part_thread.last_ns == PART_START_NS + 8);
	fxt_flow_release_lock(&part_thread, LOCK, cause);
	ASKED("left 6000;");
	EXPECT(left.at_ns == PART_START_NS + 9 && part_thread.last_ns == PART_START_NS + 9);
	released = 1;
	fxt_flow_release_lock(&part_thread, LOCK, cause);
	EXPECT(left.at_ns == PART_START_NS + 10 && part_thread.last_ns == PART_START_NS + 12);
	cause = fxt_flow_leave(&part_thread);
	EXPECT(cause.at_ns == PART_START_NS + 13 && part_thread.last_ns == PART_START_NS + 15);
	EXPECT(cause.pid == PART_PID && cause.tid == PART_TID && !cause.cpu_and_1 && !cause.place);
}
END_TEST

START_TEST(the_processor_is_known_where_it_is_asked_for)
{
	cpu_set_t all, one;
	int cpu;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++)
		;
	for (; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
		errno = 42;
		EXPECT(fxt_flow_cpu() == (uint32_t)cpu + 1 && errno == 42);
		EXPECT(fxt_flow_leave(&part_thread).cpu_and_1 == (uint32_t)cpu + 1);
	}
	fxt_filter_begins();
	EXPECT(!fxt_flow_cpu());
	atomic_store(&fxt_agent.filtered, false);
	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_sched);
	EXPECT(!fxt_flow_cpu());
}
END_TEST

START_TEST(the_first_moment_is_behind_its_cause)
{
	struct fxt_cause cause = {.at_ns = 1500, .pid = PART_PID, .tid = 72};
	uint64_t after_ns, end_ns;

	fxt_flow_first_moment(&part_thread, &cause, &after_ns, &end_ns);
	EXPECT(after_ns == 1503 && end_ns == 1506 && part_thread.last_ns == 1506);
	fxt_flow_first_moment(&part_thread, &cause, &after_ns, &end_ns);
	EXPECT(after_ns == 1507 && end_ns == 1510);
	cause.at_ns = 1509;
	fxt_flow_arrive(&part_thread, &cause);
	SAID("slice agent:released @1509 70/72 -> 1510\n"
	     "flow-begin agent:wakes @1509 70/72 #1\n"
	     "slice agent:resumed @1513 -> 1515\n"
	     "flow-end agent:wakes @1515 #1\n");
}
END_TEST

START_TEST(a_wait_ends_once)
{
	struct fxt_cause cause;

	fxt_wait_enter(&part_thread, OBJECT, LOCK);
	ASKED("begin 5000;with 6000;");
	EXPECT(fxt_wait_leave(&part_thread, OBJECT, 10, 20, &cause) && cause.at_ns == 5);
	ASKED("end 5000;from a;to 14;");
	EXPECT(!fxt_wait_leave(&part_thread, OBJECT, 10, 20, &cause));
	fxt_wait_abandon(&part_thread);
	ASKED("");
	/* Where the table has no room, nothing is waited for. */
	is_possible = false;
	fxt_wait_enter(&part_thread, OBJECT, 0);
	ASKED("begin 5000;with 0;");
	EXPECT(!fxt_wait_leave(&part_thread, OBJECT, 10, 20, &cause));
	is_possible = true;
	/* A wait within another one ends that. */
	fxt_wait_enter(&part_thread, OBJECT, 0);
	fxt_wait_enter_lock(&part_thread, LOCK);
	ASKED("begin 5000;with 0;end 5000;from 0;to 0;for lock 6000;");
	EXPECT(!fxt_wait_leave(&part_thread, OBJECT, 10, 20, &cause));
	EXPECT(!fxt_wait_leave_lock(&part_thread, OTHER_LOCK, 10, 20, &cause));
	EXPECT(!fxt_wait_leave(&part_thread, LOCK, 10, 20, &cause));
	ASKED("");
	EXPECT(fxt_wait_leave_lock(&part_thread, LOCK, 10, 20, &cause));
	ASKED("got 6000;from a;to 14;");
	EXPECT(!fxt_wait_leave_lock(&part_thread, LOCK, 10, 20, &cause));
	has_cause = false;
	fxt_wait_enter_lock(&part_thread, LOCK);
	EXPECT(!fxt_wait_leave_lock(&part_thread, LOCK, 10, 20, &cause));
	*asked = 0;
	/* What is left takes its cause along, and that of the lock behind it. */
	has_cause = true;
	handed.lock = OTHER_LOCK;
	fxt_wait_enter(&part_thread, OBJECT, OTHER_LOCK);
	*asked = 0;
	part.stack = 6;
	EXPECT(fxt_wait_enter_blocked(&part_thread, OBJECT + 16, 0) == 6);
	ASKED("end 5000;from 0;to 0;got 7000;from 0;to 0;begin 5010;with 0;");
	SAID("instant agent:blocked @1001 errno=0\n");
	has_cause = false;
	fxt_wait_abandon(&part_thread);
	ASKED("end 5010;from 0;to 0;");
	has_cause = true;
	handed.lock = 0;
	fxt_wait_enter(&part_thread, OBJECT, OTHER_LOCK);
	fxt_wait_abandon(&part_thread);
	ASKED("begin 5000;with 7000;end 5000;from 0;to 0;");
	fxt_wait_enter_lock(&part_thread, LOCK);
	fxt_wait_abandon(&part_thread);
	ASKED("for lock 6000;got 6000;from 0;to 0;");
	fxt_wait_abandon(&part_thread);
	ASKED("");
}
END_TEST

int main(void)
{
	TCase *flow = tcase_create("flow");

	tcase_add_checked_fixture(flow, setup, NULL);
	tcase_add_test(flow, an_arrow_has_both_its_slices);
	tcase_add_test(flow, an_arrow_that_cannot_be_is_not_there);
	tcase_add_test(flow, a_cause_is_signed);
	tcase_add_test(flow, the_processor_is_known_where_it_is_asked_for);
	tcase_add_test(flow, the_first_moment_is_behind_its_cause);
	tcase_add_test(flow, a_wait_ends_once);
	return RUN_SUITE("arrows", flow);
}
