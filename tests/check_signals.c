/* This tests how the writer blocks signals (writer/sys.h): once for work within work, and given back by
 * whoever has blocked them; by the kernel each time where another task has the same thread-local storage. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"
#include "suite.h"

enum { SIGNAL = SIGUSR1, LEVELS = 8 };

static bool is_blocked(void)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	return sigismember(&set, SIGNAL);
}

static void set_blocked(bool blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Blocks signals so many times, the one within the other, and restores them. The kernel is asked each time:
 * the signal is blocked again where it was let through meanwhile. */
static void nest(unsigned levels)
{
	uint64_t mask = fxt_sys_block_signals();

	ck_assert(is_blocked());
	if (levels) {
		set_blocked(false);
		nest(levels - 1);
		ck_assert_int_eq(is_blocked(), false);
		set_blocked(true);
	}
	fxt_sys_restore_signals(mask);
}

/* Within blocked signals the same is done for nothing: the kernel is not asked. */
static void nest_within(unsigned levels)
{
	uint64_t mask = fxt_sys_block_signals();
	bool blocked = is_blocked();

	if (levels)
		nest_within(levels - 1);
	ck_assert_int_eq(is_blocked(), blocked);
	fxt_sys_restore_signals(mask);
	ck_assert_int_eq(is_blocked(), blocked);
}

START_TEST(nested)
{
	uint64_t mask;

	set_blocked(_i);
	mask = fxt_sys_block_signals();
	ck_assert(is_blocked());
	nest_within(LEVELS);
	set_blocked(false);
	nest_within(LEVELS);
	ck_assert(!is_blocked());
	fxt_sys_restore_signals(mask);
	ck_assert_int_eq(is_blocked(), _i);
	mask = fxt_sys_block_signals();
	ck_assert(is_blocked());
	fxt_sys_restore_signals(mask);
	ck_assert_int_eq(is_blocked(), _i);
}
END_TEST

START_TEST(shared)
{
	uint64_t mask;

	fxt_sys_signals_are_shared();
	nest(LEVELS);
	ck_assert(!is_blocked());
	fxt_sys_signals_are_own();
	mask = fxt_sys_block_signals();
	set_blocked(false);
	nest_within(LEVELS);
	ck_assert(!is_blocked());
	fxt_sys_restore_signals(mask);
}
END_TEST

static struct fxt_lock lock, other;
static unsigned handled;

static void handle(int signum)
{
	uint64_t mask = fxt_lock(&lock), inner = fxt_lock(&other);

	(void)signum;
	handled++;
	fxt_unlock(&other, inner);
	fxt_unlock(&lock, mask);
}

/* A handler that takes locks comes when the thread has none, wherever it interrupts the thread. */
START_TEST(handlers)
{
	struct sigaction action = {.sa_handler = handle};
	unsigned i;

	sigaction(SIGNAL, &action, NULL);
	for (i = 0; i < 1000; i++) {
		uint64_t mask = fxt_lock(&lock), inner = fxt_lock(&other);

		raise(SIGNAL);
		ck_assert_uint_eq(handled, i);
		fxt_unlock(&other, inner);
		ck_assert_uint_eq(handled, i);
		fxt_unlock(&lock, mask);
		ck_assert_uint_eq(handled, i + 1);
	}
}
END_TEST

/* The child of a fork within blocked signals goes on as its parent. */
START_TEST(forks)
{
	uint64_t mask = fxt_sys_block_signals();
	pid_t child = fork();
	int status;

	nest_within(1);
	fxt_sys_restore_signals(mask);
	if (!child)
		_exit(is_blocked());
	ck_assert(!is_blocked());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("signals");

	tcase_add_loop_test(test, nested, 0, 2);
	tcase_add_test(test, shared);
	tcase_add_test(test, handlers);
	tcase_add_test(test, forks);
	return RUN_SUITE("signals", test);
}
