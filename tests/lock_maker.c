/* See lock_maker.h. */
#include "lock_maker.h"

#include <check.h>

uint64_t now;
struct fxt_report report;

void call_about(unsigned thread_index, const char *name, const char *argument, uint64_t lock)
{
	event(COMPLETE, thread_index, "pthread", name, now, now + 10, ARGS({argument, POINTER, lock}));
	now += 20;
}

void failed(unsigned thread_index, const char *name, uint64_t mutex, uint64_t error)
{
	event(COMPLETE, thread_index, "pthread", name, now, now + 10,
	      ARGS({"mutex", POINTER, mutex}, {"errno", INT, error}));
	now += 20;
}

void make(uint64_t mutex)
{
	call_about(1, "pthread_mutex_init", "mutex", mutex);
}

void lock(unsigned thread_index, uint64_t mutex)
{
	call_about(thread_index, "pthread_mutex_lock", "mutex", mutex);
}

void try(unsigned thread_index, uint64_t mutex)
{
	call_about(thread_index, "pthread_mutex_trylock", "mutex", mutex);
}

void unlock(unsigned thread_index, uint64_t mutex)
{
	call_about(thread_index, "pthread_mutex_unlock", "mutex", mutex);
}

void read_lock(unsigned thread_index, uint64_t rwlock)
{
	call_about(thread_index, "pthread_rwlock_rdlock", "rwlock", rwlock);
}

void write_lock(unsigned thread_index, uint64_t rwlock)
{
	call_about(thread_index, "pthread_rwlock_wrlock", "rwlock", rwlock);
}

void unlock_rwlock(unsigned thread_index, uint64_t rwlock)
{
	call_about(thread_index, "pthread_rwlock_unlock", "rwlock", rwlock);
}

void wait_for_condition(unsigned thread_index, uint64_t mutex)
{
	event(COMPLETE, thread_index, "pthread", "pthread_cond_wait", now, now + 10,
	      ARGS({"cond", POINTER, 0x5000}, {"mutex", POINTER, mutex}));
	now += 20;
}

void lock_both(unsigned thread_index, uint64_t first, uint64_t then)
{
	lock(thread_index, first);
	lock(thread_index, then);
}

void unlock_both(unsigned thread_index, uint64_t first, uint64_t then)
{
	unlock(thread_index, then);
	unlock(thread_index, first);
}

void takes(unsigned thread_index, uint64_t first, uint64_t then)
{
	lock_both(thread_index, first, then);
	unlock_both(thread_index, first, then);
}

void begin(void)
{
	begin_trace();
	now = 10000000;
	make(A);
	make(B);
	make(C);
	make(G);
}

const struct fxt_lock *lock_of(uint32_t number)
{
	return &report.lock_orders.replay.places.locks[number];
}

void expect_circles(size_t count)
{
	make_report(&report, 10);
	ck_assert_msg(report.lock_orders.circles.count == count, "%zu circles, expected %zu",
		      report.lock_orders.circles.count, count);
}

void expect_none(void)
{
	expect_circles(0);
	end_report(&report);
}

void expect_one(void)
{
	expect_circles(1);
	end_report(&report);
}

void expect_order(size_t circle, size_t order, uint64_t first, uint64_t then, uint64_t tid, uint64_t first_ns,
		  uint64_t count)
{
	const struct fxt_lock_order *o = &report.lock_orders.circles.list[circle].orders[order];

	ck_assert_uint_eq(lock_of(o->first)->address, first);
	ck_assert_uint_eq(lock_of(o->then)->address, then);
	ck_assert_uint_eq(tid_of(o->thread), tid);
	ck_assert_uint_eq(o->first_ns, first_ns);
	ck_assert_uint_eq(o->count, count);
}
