/* This tests what a thread notes of itself: the locks that it holds (agent/emit/held_locks.h), the work that
 * it puts off (deferred.h), and its name (thread_name.c). Locks are taken and given up at random and compared
 * with a list. FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/base/parts.h"
#include "agent/emit/deferred.h"
#include "agent/emit/held_locks.h"
#include "agent/emit/threads.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

struct fxt_threads fxt_threads;
static char durable_said[1000];
static bool durable_is_full;

static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	(void)storage;
	EXPECT(words == fxt_get_record_words(*record) && !reserve_words);
	if (!durable_is_full)
		part_describe(durable_said + strlen(durable_said), record);
	return !durable_is_full;
}

static struct fxt_thread *found_thread;

struct fxt_thread *fxt_threads_find(uint32_t tid)
{
	return tid == PART_TID ? found_thread : NULL;
}

static uint64_t worked_ns;
static unsigned work;

void fxt_parts_deferred(struct fxt_thread *thread, uint64_t now_ns)
{
	EXPECT(!(thread->commit & (FXT_COMMIT_DEFERRED | FXT_COMMIT_WATCHED)));
	worked_ns = now_ns;
	work++;
}

#define DURABLE(text)                              \
	ck_assert_str_eq(durable_said, text);      \
	*durable_said = 0

static void setup(void)
{
	static const struct fxt_storage_ops ops = {.durable = durable};
	static struct fxt_storage storage = {.ops = &ops};

	random_seed(0);
	part_setup();
	fxt_agent.storage = &storage;
	*durable_said = 0;
	durable_is_full = false;
	worked_ns = work = 0;
	fxt_lender = 0;
}

/* -- Held locks ---------------------------------------------------------------------------------- */

START_TEST(held_locks_are_as_in_a_list)
{
	uintptr_t model[FXT_HELD_LOCKS_MAX], lock;
	unsigned count = 0, step, i, n;
	struct fxt_held_lock found, *entry;

	found_thread = &part_thread;
	for (step = 0; step < 20000; step++) {
		lock = 0x1000 + random_below(60) * 8;
		for (i = count; i-- > 0 && model[i] != lock;)
			;
		if (random_below(random_below(2) ? 2 : 5)) {
			fxt_held_lock_push(&part_thread, lock, step, step + 7);
			if (count < FXT_HELD_LOCKS_MAX)
				model[count++] = lock;
		} else {
			fxt_held_lock_pop(&part_thread, lock);
			if (i < count) {
				memmove(model + i, model + i + 1, (count - i - 1) * sizeof(*model));
				count--;
			}
		}
		EXPECT(part_thread.held_top == part_thread.held + count);
		for (i = 0; i < count; i++)
			EXPECT(part_thread.held[i].lock == model[i] &&
			       part_thread.held[i].place == part_thread.held[i].since_ns + 7);
		entry = fxt_held_lock_find(&part_thread, lock);
		for (n = count; n-- > 0 && model[n] != lock;)
			;
		EXPECT(entry == (n < count ? part_thread.held + n : NULL));
		EXPECT(fxt_held_lock_by(PART_TID, lock, &found) == (n < count));
		if (n < count) {
			for (i = 0; model[i] != lock; i++)
				;
			EXPECT(found.lock == lock && found.since_ns == part_thread.held[i].since_ns &&
			       found.place == found.since_ns + 7);
		}
	}
	EXPECT(!fxt_held_lock_by(PART_TID + 1, model[0], &found));
	part_thread.held_top = part_thread.held + 1;
	part_thread.last_ns = part_thread.held[0].since_ns + FXT_HELD_LONG_NS - 1;
	EXPECT(fxt_holds_lock(&part_thread));
	part_thread.last_ns++;
	EXPECT(!fxt_holds_lock(&part_thread));
	part_thread.held_top--;
	part_thread.last_ns--;
	EXPECT(!fxt_holds_lock(&part_thread));
}
END_TEST

/* -- Deferred work ------------------------------------------------------------------------------- */

START_TEST(deferred_work_has_its_moment)
{
	fxt_deferred_after(&part_thread, 1000);
	fxt_deferred_before(&part_thread);
	EXPECT(!work);
	fxt_deferred_ask(&part_thread);
	part_thread.commit |= FXT_COMMIT_SHOWN;
	/* The clock was read since. */
	fxt_deferred_after(&part_thread, 999);
	EXPECT(!work);
	fxt_deferred_after(&part_thread, 1000);
	EXPECT(work == 1 && worked_ns == 1000 && part_thread.commit == FXT_COMMIT_SHOWN);
	fxt_deferred_ask(&part_thread);
	fxt_deferred_before(&part_thread);
	EXPECT(work == 2 && worked_ns == 1000 && part_thread.commit == FXT_COMMIT_SHOWN);
	/* It waits where the program would wait for it. */
	fxt_deferred_ask(&part_thread);
	part_thread.lanes->raised_at = 5;
	fxt_deferred_after(&part_thread, 1000);
	part_thread.lanes->raised_at = 0;
	fxt_held_lock_push(&part_thread, 8, 1000, 9);
	fxt_deferred_after(&part_thread, 1000);
	fxt_held_lock_pop(&part_thread, 8);
	part_thread.own_tid++;
	fxt_deferred_after(&part_thread, 1000);
	part_thread.own_tid--;
	part.stack_is_short = true;
	fxt_deferred_after(&part_thread, 1000);
	fxt_deferred_before(&part_thread);
	part.stack_is_short = false;
	EXPECT(work == 2 && part_thread.commit & FXT_COMMIT_DEFERRED &&
	       part_thread.commit & FXT_COMMIT_WATCHED);
	fxt_deferred_after(&part_thread, 1000);
	EXPECT(work == 3);
	/* Where no lock may be taken any more it is given up. */
	fxt_deferred_ask(&part_thread);
	atomic_store(&fxt_forbidden, FXT_NO_LOCKS);
	fxt_deferred_after(&part_thread, 1000);
	EXPECT(work == 3 && part_thread.commit == FXT_COMMIT_SHOWN);
	atomic_store(&fxt_forbidden, 0);
}
END_TEST

/* -- Names of threads ---------------------------------------------------------------------------- */

START_TEST(a_thread_is_named)
{
	struct fxt_thread others[4], *list[5];
	unsigned i;

	memset(others, 0, sizeof(others));
	ck_assert_int_eq(prctl(PR_SET_NAME, "kernel's name"), 0);
	fxt_thread_tell_name(&part_thread, &part_thread, NULL);
	DURABLE("thread 71 \"kernel's name\" process=koid:70\n");
	fxt_thread_tell_name(&part_thread, &part_thread, "0123456789abcdefgh");
	DURABLE("thread 71 \"0123456789abcde\" process=koid:70\n");
	fxt_thread_tell_name(&part_thread, &part_thread, "a\xff");
	DURABLE("thread 71 \"a?\" process=koid:70\n");
	SAID("");
	durable_is_full = true;
	fxt_thread_tell_name(&part_thread, &part_thread, "");
	SAID("thread 71  process=koid:70\n");
	durable_is_full = false;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	fxt_thread_tell_name(&part_thread, &part_thread, "x");
	DURABLE("");
	/* One of several that have had the handle: the one that has recorded last. */
	for (i = 0; i < 4; i++) {
		others[i] = (struct fxt_thread){.tid = 80 + i, .last_ns = i == 1 ? 50 : 10 + i, .handle = 5,
						.in_use = true, .ready = true};
		list[i] = &others[i];
	}
	others[3].last_ns = 60;
	fxt_threads.list = list;
	fxt_threads.count = 3;
	fxt_thread_renamed(&part_thread, 5, "new");
	DURABLE("");
	fxt_lender = 0;
	fxt_thread_renamed(&part_thread, 5, "new");
	DURABLE("thread 81 \"new\" process=koid:70\n");
	others[1].in_use = false;
	fxt_thread_renamed(&part_thread, 5, "new");
	DURABLE("thread 82 \"new\" process=koid:70\n");
	others[2].ready = false;
	fxt_thread_renamed(&part_thread, 5, "new");
	DURABLE("thread 80 \"new\" process=koid:70\n");
	others[0].handle = 6;
	fxt_thread_renamed(&part_thread, 5, "new");
	DURABLE("");
	part_thread.ready = false;
	fxt_thread_renamed(&part_thread, 6, "new");
	DURABLE("");
	EXPECT(!fxt_threads.lock.taken);
}
END_TEST

int main(void)
{
	TCase *held = tcase_create("held");

	tcase_add_checked_fixture(held, setup, NULL);
	tcase_add_test(held, held_locks_are_as_in_a_list);
	tcase_add_test(held, deferred_work_has_its_moment);
	tcase_add_test(held, a_thread_is_named);
	return RUN_SUITE("held", held);
}
