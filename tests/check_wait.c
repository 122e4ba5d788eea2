/* This tests agent/arrows/wait.c: which cause a wait gets, of those that were handed on to its object. All
 * times are made up. */
#include <check.h>

#include "agent/base/agent.h"
#include "agent/emit/clock.h"
#include "agent/arrows/wait.h"
#include "suite.h"

struct fxt_agent fxt_agent = {.pid = 7};

uint64_t fxt_clock_kernel_ns(void)
{
	return 1;
}

enum { OBJECT = 0x1000, LOCK = 0x2000 };

/* Hands on a cause by thread `tid`. Returns how many threads get it. */
static unsigned release(enum fxt_release how, uint32_t tid, uint64_t at_ns)
{
	const struct fxt_cause cause = {.at_ns = at_ns, .pid = 7, .tid = tid};

	return fxt_wait_release(OBJECT, how, &cause);
}

/* Ends a wait. Returns the thread that let it go on, or 0 if that is not known. */
static uint32_t end(uint64_t start_ns, uint64_t end_ns)
{
	struct fxt_cause cause;

	return fxt_wait_end(OBJECT, start_ns, end_ns, &cause) ? cause.tid : 0;
}

static void begin(unsigned count)
{
	while (count--)
		ck_assert(fxt_wait_begin(OBJECT, 0));
}

static void forget(void)
{
	fxt_wait_after_fork();
}

START_TEST(one_each)
{
	begin(2);
	ck_assert(fxt_is_waited_for(OBJECT));
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 1, 100), 1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 2, 200), 1);
	/* Both waiting threads have a cause. */
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 3, 300), 0);
	ck_assert_uint_eq(end(10, 150), 1);
	ck_assert_uint_eq(end(10, 250), 2);
	ck_assert(!fxt_is_waited_for(OBJECT));
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 4, 400), 0);
}
END_TEST

/* The thread that was let go on first looks for its cause last. */
START_TEST(out_of_order)
{
	begin(3);
	release(FXT_RELEASE_ONE, 1, 100);
	release(FXT_RELEASE_ONE, 2, 200);
	release(FXT_RELEASE_ONE, 3, 300);
	ck_assert_uint_eq(end(10, 250), 2);
	ck_assert_uint_eq(end(10, 350), 3);
	ck_assert_uint_eq(end(10, 150), 1);
}
END_TEST

START_TEST(before_it_began)
{
	begin(1);
	release(FXT_RELEASE_ONE, 1, 100);
	begin(1);
	ck_assert_uint_eq(end(110, 200), 0);
	ck_assert_uint_eq(end(10, 210), 1);
}
END_TEST

/* The cause is later than the wait's end, because clocks differ. It is used up all the same: otherwise the
 * next release would find that all threads have a cause. */
START_TEST(later_than_the_end)
{
	begin(2);
	release(FXT_RELEASE_ONE, 1, 100);
	ck_assert_uint_eq(end(10, 90), 1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 2, 200), 1);
	ck_assert_uint_eq(end(10, 250), 2);
}
END_TEST

START_TEST(all)
{
	struct fxt_cause cause;
	unsigned i;

	begin(3);
	ck_assert_uint_eq(release(FXT_RELEASE_ALL, 1, 100), 3);
	/* Each cause has a time of its own, because each arrow leaves from another place. */
	for (i = 0; i < 3; i++) {
		ck_assert(fxt_wait_end(OBJECT, 10, 200, &cause));
		ck_assert_uint_eq(cause.at_ns, 100 + 2 * i);
	}
}
END_TEST

/* One thread has the lock at a time. The cause of a wait is the last one that was left between the begin and
 * the end of the wait. */
START_TEST(one_owner)
{
	const struct fxt_cause first = {.at_ns = 100, .tid = 1}, second = {.at_ns = 200, .tid = 2};
	struct fxt_cause cause;

	fxt_wait_for_lock(LOCK);
	fxt_wait_for_lock(LOCK);
	ck_assert(fxt_is_waited_for(LOCK));
	ck_assert(fxt_wait_lock_left(LOCK, &first));
	ck_assert(fxt_wait_lock_left(LOCK, &second));
	ck_assert(fxt_wait_got_lock(LOCK, 10, 300, &cause));
	ck_assert_uint_eq(cause.tid, 2);
	ck_assert(fxt_is_waited_for(LOCK));
	/* This wait began after the last cause. */
	ck_assert(!fxt_wait_got_lock(LOCK, 201, 400, &cause));
	ck_assert(!fxt_is_waited_for(LOCK));
}
END_TEST

/* The lock was given up twice while a thread waited, so another thread had it in between. The last cause
 * counts. */
START_TEST(lock)
{
	begin(1);
	ck_assert_uint_eq(release(FXT_RELEASE_LOCK, 1, 100), 1);
	ck_assert_uint_eq(release(FXT_RELEASE_LOCK, 2, 200), 1);
	ck_assert_uint_eq(end(10, 300), 2);
}
END_TEST

START_TEST(condition)
{
	const struct fxt_cause given_up = {.at_ns = 150, .tid = 2};
	struct fxt_cause cause;

	ck_assert(fxt_wait_begin(OBJECT, LOCK));
	ck_assert(!fxt_is_waited_for(LOCK));
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 1, 100), 1);
	/* From here on the thread waits for the lock, too. */
	ck_assert(fxt_wait_lock_left(LOCK, &given_up));
	ck_assert(fxt_wait_end(OBJECT, 10, 200, &cause));
	ck_assert_uint_eq(cause.tid, 1);
	ck_assert_uint_eq(cause.lock, LOCK);
	ck_assert(fxt_wait_got_lock(LOCK, cause.at_ns, 200, &cause));
	ck_assert_uint_eq(cause.tid, 2);
	ck_assert(!fxt_is_waited_for(LOCK));
}
END_TEST

START_TEST(barrier)
{
	unsigned round;
	bool waits;

	fxt_wait_set_parties(OBJECT, 3);
	for (round = 1; round < 4; round++) {
		ck_assert(!fxt_wait_arrive(OBJECT, &waits) && waits);
		ck_assert(!fxt_wait_arrive(OBJECT, &waits) && waits);
		ck_assert(fxt_wait_arrive(OBJECT, &waits) && !waits);
		ck_assert_uint_eq(release(FXT_RELEASE_ALL, round, 100 * round), 2);
		ck_assert_uint_eq(end(100 * round - 50, 100 * round + 50), round);
		ck_assert_uint_eq(end(100 * round - 50, 100 * round + 50), round);
	}
}
END_TEST

START_TEST(forgotten)
{
	begin(2);
	fxt_wait_forget(OBJECT);
	ck_assert(!fxt_is_waited_for(OBJECT));
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 1, 100), 0);
	ck_assert_uint_eq(end(10, 200), 0);
	/* The other one goes on when somebody waits for a new object at the same address. */
	begin(1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 2, 300), 1);
	ck_assert_uint_eq(end(250, 400), 2);
	ck_assert(!fxt_is_waited_for(OBJECT));
	ck_assert_uint_eq(end(10, 500), 0);
	ck_assert(!fxt_is_waited_for(OBJECT));
	begin(1);
	ck_assert(fxt_is_waited_for(OBJECT));
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 3, 600), 1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 4, 700), 0);
	ck_assert_uint_eq(end(550, 800), 3);
}
END_TEST

/* More causes are handed on than are kept: the oldest give way. */
START_TEST(many)
{
	enum { WAITERS = 50, KEPT = 32 };
	unsigned i, found = 0;

	begin(WAITERS);
	for (i = 1; i <= WAITERS; i++)
		release(FXT_RELEASE_ONE, i, 100 * i);
	for (i = 0; i < WAITERS; i++)
		found += end(10, 10000) != 0;
	ck_assert_uint_eq(found, KEPT);
	ck_assert(!fxt_is_waited_for(OBJECT));
}
END_TEST

/* -- Objects of one bucket ---------------------------------------------------------------------------- */

enum { ENTRIES = 8 };

/* Finds objects that share a bucket. */
static void find_alike(uintptr_t *alike, unsigned count)
{
	uintptr_t object = OBJECT;

	for (alike[0] = object; --count; *++alike = object)
		do
			object += 16;
		while (fxt_wait_hash(object) >> 56 != fxt_wait_hash(OBJECT) >> 56 ||
		       fxt_wait_hash(object) >> 52 == fxt_wait_hash(*alike) >> 52);
}

static unsigned release_of(uintptr_t object, uint32_t tid, uint64_t at_ns)
{
	const struct fxt_cause cause = {.at_ns = at_ns, .pid = 7, .tid = tid};

	return fxt_wait_release(object, FXT_RELEASE_ONE, &cause);
}

static uint32_t end_of(uintptr_t object)
{
	struct fxt_cause cause;

	return fxt_wait_end(object, 10, 1000, &cause) ? cause.tid : 0;
}

/* Each object has waits of its own, as many objects as a bucket has places for. */
START_TEST(one_bucket)
{
	uintptr_t alike[ENTRIES + 2];
	unsigned i;

	find_alike(alike, ENTRIES + 2);
	for (i = 0; i < ENTRIES + 2; i++)
		ck_assert_int_eq(fxt_wait_begin(alike[i], 0), i < ENTRIES);
	for (i = 0; i < ENTRIES + 2; i++) {
		ck_assert_int_eq(fxt_is_waited_for(alike[i]), i < ENTRIES);
		ck_assert_uint_eq(release_of(alike[i], 100 + i, 100 + i), i < ENTRIES);
	}
	/* An object that is not there is forgotten without harm, and so is one that is. */
	fxt_wait_forget(alike[ENTRIES]);
	fxt_wait_forget(alike[3]);
	ck_assert(!fxt_is_waited_for(alike[3]));
	ck_assert(fxt_wait_begin(alike[ENTRIES], 0));
	ck_assert(!fxt_wait_begin(alike[3], 0));
	for (i = ENTRIES; i-- > 0;)
		ck_assert_uint_eq(end_of(alike[i]), i == 3 ? 0 : 100 + i);
	ck_assert_uint_eq(end_of(alike[ENTRIES]), 0);
}
END_TEST

/* A barrier that nobody waits for keeps its place as long as there is another. */
START_TEST(barriers_go_last)
{
	uintptr_t alike[ENTRIES + 2];
	bool waits;
	unsigned i;

	find_alike(alike, ENTRIES + 2);
	fxt_wait_set_parties(alike[0], 2);
	for (i = 1; i < ENTRIES; i++)
		ck_assert(fxt_wait_begin(alike[i], 0));
	ck_assert_uint_eq(end_of(alike[ENTRIES - 1]), 0);
	ck_assert(fxt_wait_begin(alike[ENTRIES], 0));
	ck_assert(!fxt_wait_arrive(alike[0], &waits) && waits);
	ck_assert(fxt_wait_arrive(alike[0], &waits) && !waits);
	ck_assert_uint_eq(release_of(alike[0], 5, 500), 1);
	ck_assert_uint_eq(end_of(alike[0]), 5);
	ck_assert(fxt_wait_begin(alike[ENTRIES + 1], 0));
	ck_assert(!fxt_wait_arrive(alike[0], &waits) && !waits);
}
END_TEST

/* A cause that nobody took is gone with the last one who waited. */
START_TEST(causes_go_with_the_last)
{
	begin(1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 1, 100), 1);
	ck_assert_uint_eq(end(200, 300), 0);
	begin(1);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 2, 400), 1);
	ck_assert_uint_eq(end(350, 500), 2);
	/* What is shared is handed on anew to all. */
	begin(2);
	ck_assert_uint_eq(release(FXT_RELEASE_ONE, 1, 100), 1);
	ck_assert_uint_eq(release(FXT_RELEASE_SHARED, 2, 200), 2);
	ck_assert_uint_eq(end(10, 300), 2);
	ck_assert_uint_eq(end(10, 300), 2);
}
END_TEST

/* A lock's cause is from before the end of the wait. */
START_TEST(lock_at_its_bounds)
{
	const struct fxt_cause left = {.at_ns = 100, .pid = 7, .tid = 3};
	struct fxt_cause cause;

	fxt_wait_for_lock(LOCK);
	ck_assert(fxt_wait_lock_left(LOCK, &left));
	ck_assert(!fxt_wait_got_lock(LOCK, 10, 100, &cause));
	fxt_wait_for_lock(LOCK);
	ck_assert(!fxt_wait_got_lock(LOCK, 101, 200, &cause));
	fxt_wait_for_lock(LOCK);
	ck_assert(fxt_wait_got_lock(LOCK, 100, 101, &cause));
	fxt_wait_for_lock(LOCK);
	ck_assert(!fxt_wait_got_lock(LOCK, 100, 101, &cause));
}
END_TEST

/* Flow ids are this process's, come one after the other, and are positive. */
START_TEST(flow_ids)
{
	uint64_t first, last, i;

	ck_assert(!fxt_flow_id_is_own(0) && !fxt_flow_id_is_own(UINT64_C(1) << 32));
	first = fxt_flow_id();
	ck_assert(first >> 32 && !(first >> 63) && !(first & UINT32_MAX));
	for (i = 1; i < 100; i++) {
		ck_assert(!fxt_flow_id_is_own(first + i));
		ck_assert_uint_eq(fxt_flow_id(), first + i);
		ck_assert(fxt_flow_id_is_own(first + i) && fxt_flow_id_is_own(first));
	}
	ck_assert(!fxt_flow_id_is_own(first - 1));
	/* Other processes have other ones. */
	for (i = 1; i < 100; i++) {
		fxt_agent.koid = 4000 + (uint32_t)i;
		fxt_wait_after_fork();
		last = first;
		first = fxt_flow_id();
		ck_assert(first >> 32 != last >> 32 && !(first & UINT32_MAX));
		ck_assert(!fxt_flow_id_is_own(last) && fxt_flow_id_is_own(first));
	}
}
END_TEST

int main(void)
{
	TCase *waits = tcase_create("waits");

	tcase_add_checked_fixture(waits, NULL, forget);
	tcase_add_test(waits, one_each);
	tcase_add_test(waits, out_of_order);
	tcase_add_test(waits, before_it_began);
	tcase_add_test(waits, later_than_the_end);
	tcase_add_test(waits, all);
	tcase_add_test(waits, one_owner);
	tcase_add_test(waits, lock);
	tcase_add_test(waits, condition);
	tcase_add_test(waits, barrier);
	tcase_add_test(waits, forgotten);
	tcase_add_test(waits, many);
	tcase_add_test(waits, one_bucket);
	tcase_add_test(waits, barriers_go_last);
	tcase_add_test(waits, causes_go_with_the_last);
	tcase_add_test(waits, lock_at_its_bounds);
	tcase_add_test(waits, flow_ids);
	return RUN_SUITE("wait", waits);
}
