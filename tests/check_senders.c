/* This tests who is found to have sent a signal (agent/arrows/signal_senders.h). Threads of several
 * processes send and receive by turns; times are made up, and the memory that processes share is this
 * process's own. */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent/arrows/parent_entry.h"
#include "agent/arrows/signal_senders.h"
#include "agent/base/bind.h"
#include "agent/base/fdinfo.h"
#include "agent/base/gate.h"
#include "agent/base/koid.h"
#include "agent/emit/thread.h"
#include "suite.h"

enum { HERE = 4000, THERE = 5000, PLACES = 16, ARROWS = 64, QUEUED = 34 };

struct fxt_agent fxt_agent;
struct fxt_gate fxt_gate;
struct fxt_shared *fxt_shared;
void *volatile fxt_bind_mark = (void *)&fxt_bind_mark;
__thread struct fxt_thread *fxt_self;

static struct fxt_thread sender, receiver;
static uint64_t now_ns;
static const char *fdinfo_text;
static bool differs;

void fxt_bind_early(void)
{
}

bool fxt_fdinfo_read(struct fxt_fdinfo *info, int fd)
{
	(void)info;
	return fd == 7 && fdinfo_text;
}

bool fxt_fdinfo_number(const struct fxt_fdinfo *info, const char *field, unsigned base, uint64_t *number)
{
	(void)info;
	ck_assert_str_eq(field, "Pid");
	*number = strtoull(fdinfo_text, NULL, (int)base);
	return *fdinfo_text;
}

struct fxt_cause fxt_flow_leave(struct fxt_thread *thread)
{
	thread->last_ns = now_ns;
	return (struct fxt_cause){.at_ns = now_ns, .pid = thread->pid, .tid = thread->tid, .cpu_and_1 = 3};
}

bool fxt_koid_differs(void)
{
	return differs;
}

struct fxt_thread *fxt_thread_attach(void)
{
	return NULL;
}

static void setup(void)
{
	fxt_shared = mmap(NULL, FXT_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(fxt_shared != MAP_FAILED);
	atomic_store(&fxt_gate.mask, FXT_CAT_process);
	sender = (struct fxt_thread){.pid = THERE, .tid = THERE + 1};
	receiver = (struct fxt_thread){.pid = HERE, .tid = HERE + 2, .handle = 0x7f001000};
	fxt_self = &sender;
	now_ns = 1000;
}

static uint64_t sends(uint32_t tid, int to, uint64_t thread, int signum, uint64_t at_ns)
{
	sender.tid = tid;
	now_ns = at_ns;
	return fxt_signal_sent(to, thread, signum);
}

static siginfo_t info_of(int signum)
{
	return (siginfo_t){.si_signo = signum, .si_code = SI_USER, .si_pid = THERE};
}

/* Returns which thread sent the signal that ended a wait, or 0. */
static uint32_t received(int signum, uint64_t start_ns)
{
	siginfo_t info = info_of(signum);
	struct fxt_cause cause = {0};

	return fxt_signal_received(&receiver, start_ns, &info, &cause) ? cause.tid : 0;
}

static uint32_t taken(int signum, uint64_t start_ns)
{
	siginfo_t info = info_of(signum);
	struct fxt_cause cause = {0};

	return fxt_signal_taken(&receiver, start_ns, &info, &cause) ? cause.tid : 0;
}

START_TEST(one_signal)
{
	siginfo_t info = info_of(SIGUSR1);
	struct fxt_cause cause;

	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(fxt_signal_received(&receiver, 1000, &info, &cause));
	ck_assert_uint_eq(cause.at_ns, 1000);
	ck_assert_uint_eq(cause.pid, THERE);
	ck_assert_uint_eq(cause.tid, 51);
	ck_assert_uint_eq(cause.cpu_and_1, 3);
	ck_assert_uint_eq(sender.last_ns, 1000);
	/* It came once. */
	ck_assert(!fxt_signal_received(&receiver, 1000, &info, &cause));
}
END_TEST

START_TEST(others_are_not_it)
{
	static const int codes[] = {SI_USER, SI_QUEUE, SI_TKILL};
	siginfo_t info = info_of(SIGUSR1);
	struct fxt_cause cause;
	unsigned i;

	/* Another signal, another sender, another receiver. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(!received(SIGUSR2, 0));
	info.si_pid = THERE + 1;
	ck_assert(!fxt_signal_received(&receiver, 0, &info, &cause));
	receiver.pid = HERE + 1;
	ck_assert(!received(SIGUSR1, 0));
	receiver.pid = HERE;
	/* What no thread sends. */
	info = info_of(SIGUSR1);
	info.si_code = SI_TIMER;
	ck_assert(!fxt_signal_received(&receiver, 0, &info, &cause));
	ck_assert(!fxt_signal_taken(&receiver, 0, &info, &cause));
	for (i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		info.si_code = codes[i];
		ck_assert(i == 0 || sends(51, HERE, 0, SIGUSR1, 1000));
		ck_assert(fxt_signal_received(&receiver, 0, &info, &cause));
	}
	/* What is for one thread. */
	ck_assert(sends(51, HERE, HERE + 3, SIGUSR1, 1000));
	ck_assert(!received(SIGUSR1, 0));
	receiver.tid = HERE + 3;
	ck_assert_uint_eq(received(SIGUSR1, 0), 51);
	ck_assert(sends(51, HERE, 0x7f001000, SIGUSR1, 1000));
	receiver.handle++;
	ck_assert(!received(SIGUSR1, 0));
	receiver.handle--;
	ck_assert_uint_eq(received(SIGUSR1, 0), 51);
}
END_TEST

START_TEST(what_is_not_noted)
{
	uint64_t sent;

	ck_assert(!sends(51, HERE, 0, 0, 1000));
	ck_assert(!sends(51, HERE, 0, -1, 1000));
	ck_assert(!sends(51, HERE, 0, NSIG, 1000));
	ck_assert(sends(51, HERE, 0, NSIG - 1, 1000));
	ck_assert(!sends(51, FXT_SENT_TO_ALL, 0, SIGUSR1, 1000));
	differs = true;
	ck_assert(!sends(51, HERE, 0, SIGUSR1, 1000));
	differs = false;
	atomic_store(&fxt_gate.mask, 0);
	ck_assert(!sends(51, HERE, 0, SIGUSR1, 1000));
	atomic_store(&fxt_gate.mask, FXT_CAT_process);
	ck_assert(!received(SIGUSR1, 0));
	/* The call fails: the note is taken back, and no later one is. */
	sent = sends(51, HERE, 0, SIGUSR1, 1000);
	fxt_signal_unsent(sent);
	ck_assert(!received(SIGUSR1, 0));
	ck_assert(sends(52, HERE, 0, SIGUSR1, 1000));
	fxt_signal_unsent(sent);
	fxt_signal_unsent(0);
	ck_assert_uint_eq(received(SIGUSR1, 0), 52);
}
END_TEST

START_TEST(which_of_several)
{
	/* The first one, if all are one thread's. */
	ck_assert(sends(51, HERE, 0, QUEUED, 1002));
	ck_assert(sends(51, HERE, 0, QUEUED, 1000));
	ck_assert(sends(51, HERE, 0, QUEUED, 1004));
	ck_assert_uint_eq(received(QUEUED, 1000), 51);
	ck_assert(!received(QUEUED, 1005));
	ck_assert_uint_eq(received(QUEUED, 1003), 51);
	ck_assert_uint_eq(received(QUEUED, 1002), 51);
	ck_assert(!received(QUEUED, 0));
	/* Of two threads it is not known which was first. */
	ck_assert(sends(51, HERE, 0, QUEUED, 1000));
	ck_assert(sends(52, HERE, 0, QUEUED, 1001));
	ck_assert(!received(QUEUED, 1000));
	/* What was left before the wait began ended no wait. It stays if the signal is pending as often as
	 * it was sent, */
	ck_assert_uint_eq(received(QUEUED, 1001), 52);
	ck_assert_uint_eq(received(QUEUED, 1000), 51);
	/* and goes otherwise. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(sends(51, HERE, 0, SIGUSR2, 1000));
	ck_assert(!received(SIGUSR1, 1001));
	ck_assert(!received(SIGUSR1, 0));
	ck_assert_uint_eq(received(SIGUSR2, 0), 51);
	/* So do those of two threads, if they are older; those of the wait itself stay. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(sends(52, HERE, 0, SIGUSR1, 1001));
	ck_assert(!received(SIGUSR1, 1000));
	ck_assert_uint_eq(received(SIGUSR1, 1001), 52);
	ck_assert_uint_eq(received(SIGUSR1, 1000), 51);
	/* 31 is pending once, and 32 as often as it was sent. */
	ck_assert(sends(51, HERE, 0, 31, 1000) && sends(51, HERE, 0, 32, 1000));
	ck_assert(!received(31, 1001) && !received(32, 1001));
	ck_assert(!received(31, 0));
	ck_assert_uint_eq(received(32, 0), 51);
}
END_TEST

/* The signal that a read of a signalfd got may have been pending for long. */
START_TEST(of_a_signalfd)
{
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert_uint_eq(taken(SIGUSR1, 1000), 51);
	ck_assert(!taken(SIGUSR1, 0));
	/* One that was left before is the one, if there is no other. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert_uint_eq(taken(SIGUSR1, 2000), 51);
	ck_assert(!taken(SIGUSR1, 0));
	/* With one before and one since, or two before, it is not known, and all go. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000) && sends(51, HERE, 0, SIGUSR1, 3000));
	ck_assert(!taken(SIGUSR1, 2000));
	ck_assert(!taken(SIGUSR1, 0));
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000) && sends(51, HERE, 0, SIGUSR1, 1001));
	ck_assert(!taken(SIGUSR1, 2000));
	ck_assert(!taken(SIGUSR1, 0));
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000) && sends(52, HERE, 0, SIGUSR1, 1001));
	ck_assert(!taken(SIGUSR1, 0));
	ck_assert(!taken(SIGUSR1, 0));
}
END_TEST

/* Where there are no more places, the oldest note gives way; a child's entry does not. */
START_TEST(as_many_as_there_are_places)
{
	unsigned i, children = (unsigned)_i;
	struct fxt_parent_entry *entry;
	uint64_t word;

	for (i = 0; i < children; i++)
		atomic_store(&entry_of(HERE, PARENT_PAGE_ENTRIES - 1 - i)->word, word_of(1, 99, ALIVE));
	for (i = 0; i < PLACES - children; i++)
		ck_assert(sends(100 + i, HERE, 0, QUEUED, i == 3 ? 500 : 1000 + i));
	ck_assert_int_eq(sends(200, HERE, 0, QUEUED, 3000) != 0, children < PLACES);
	for (i = 0; i < children; i++) {
		entry = entry_of(HERE, PARENT_PAGE_ENTRIES - 1 - i);
		word = atomic_load(&entry->word);
		ck_assert_uint_eq(word, word_of(1, 99, ALIVE));
	}
	/* No entry of the page before these is used. */
	for (i = 0; i < PARENT_PAGE_ENTRIES - PLACES; i++)
		ck_assert_uint_eq(atomic_load(&entry_of(HERE, i)->word), 0);
	if (children == PLACES)
		return;
	ck_assert_uint_eq(received(QUEUED, 3000), 200);
	/* The oldest has made room: number 3 where there are so many, and number 0 otherwise. */
	for (i = PLACES - children; i-- > 0;)
		if (i != (PLACES - children > 3 ? 3 : 0))
			ck_assert_uint_eq(received(QUEUED, 1000 + i), 100 + i);
	ck_assert(!received(QUEUED, 0));
}
END_TEST

/* Nothing is believed that does not fit together. */
START_TEST(damaged_notes_are_not_believed)
{
	struct fxt_parent_entry *entry = entry_of(HERE, PARENT_PAGE_ENTRIES - PLACES);

	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	switch (_i) {
	case 0:
		entry->born_ns++;
		break;
	case 1:
		entry->parent_tid++;
		break;
	case 2:
		entry->parent_cpu_and_1++;
		break;
	case 3:
		entry->check++;
		break;
	case 4:
		entry->thread = receiver.tid;
		break;
	default:
		ck_assert_uint_eq(received(SIGUSR1, 0), 51);
		return;
	}
	ck_assert(!received(SIGUSR1, 0));
}
END_TEST

/* Each process of a group gets the signal, and an arrow of its own, up to so many. */
START_TEST(to_a_group)
{
	siginfo_t info = info_of(SIGUSR1);
	struct fxt_cause cause;
	int status;
	unsigned i;
	pid_t child;

	ck_assert(sends(51, _i ? 0 : -getpgrp(), 0, SIGUSR1, 1000));
	ck_assert_uint_eq(sender.last_ns, 1000 + 2 * (ARROWS - 1));
	for (i = 0; i < ARROWS + 2; i++) {
		child = fork();
		if (!child) {
			bool found = fxt_signal_received(&receiver, 0, &info, &cause);
			bool again = fxt_signal_received(&receiver, 0, &info, &(struct fxt_cause){0});

			_exit(found == (i < ARROWS) && !again && cause.at_ns == 1000 + 2 * i ? 0 : 1);
		}
		ck_assert(child > 0 && waitpid(child, &status, 0) == child);
		ck_assert_msg(status == 0, "process %u", i);
	}
	/* A later signal's note has arrows of its own. */
	ck_assert(sends(52, HERE, 0, SIGUSR2, 900));
	for (i = 0; i < PLACES; i++)
		ck_assert(sends(53, -getpgrp(), 0, SIGUSR2, 2000));
	ck_assert(fxt_signal_received(&receiver, 2000, &(siginfo_t){.si_signo = SIGUSR2, .si_code = SI_USER,
								   .si_pid = THERE}, &cause));
	ck_assert_uint_eq(cause.at_ns, 2000);
	/* A note of a group that is not this process's is not for it. */
	ck_assert(sends(51, -HERE, 0, SIGHUP, 1000));
	ck_assert(!received(SIGHUP, 0));
}
END_TEST

static void nothing(int signum)
{
	(void)signum;
}

/* Which handler has run is not known: there has to be one signal that it can be. */
START_TEST(of_a_handler)
{
	struct fxt_cause cause;
	sigset_t mask;

	sigemptyset(&mask);
	receiver.pid = HERE;
	sender.pid = HERE;
	signal(SIGUSR1, nothing);
	signal(64, nothing);
	signal(SIGUSR2, SIG_IGN);
	ck_assert(!fxt_signal_handled(&receiver, 0, &mask, &cause));
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(!fxt_signal_handled(&receiver, 1001, &mask, &cause));
	sigaddset(&mask, SIGUSR1);
	ck_assert(!fxt_signal_handled(&receiver, 0, &mask, &cause));
	sigdelset(&mask, SIGUSR1);
	/* Ignored signals and those with no handler ended no wait. */
	ck_assert(sends(52, HERE, 0, SIGUSR2, 1000) && sends(52, HERE, 0, SIGHUP, 1000));
	ck_assert(fxt_signal_handled(&receiver, 1000, &mask, &cause));
	ck_assert_uint_eq(cause.tid, 51);
	ck_assert(!fxt_signal_handled(&receiver, 0, &mask, &cause));
	/* One of two. */
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000) && sends(51, HERE, 0, SIGUSR1, 1001));
	ck_assert(!fxt_signal_handled(&receiver, 0, &mask, &cause));
	ck_assert(fxt_signal_handled(&receiver, 1001, &mask, &cause));
	ck_assert(fxt_signal_handled(&receiver, 0, &mask, &cause));
	/* The last signal there is. */
	ck_assert(sends(53, HERE, 0, 64, 1000));
	ck_assert(fxt_signal_handled(&receiver, 0, &mask, &cause));
	ck_assert_uint_eq(cause.tid, 53);
	/* Another process's signals are not found. */
	sender.pid = THERE;
	ck_assert(sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(!fxt_signal_handled(&receiver, 0, &mask, &cause));
}
END_TEST

START_TEST(of_a_pidfd)
{
	static const struct {
		const char *text;
		int pid;
	} cases[] = {{"77", 77}, {"0", FXT_SENT_TO_ALL}, {"-1", FXT_SENT_TO_ALL}, {"2147483647", 2147483647},
		     {"2147483648", FXT_SENT_TO_ALL}, {"", FXT_SENT_TO_ALL}};

	fdinfo_text = cases[_i].text;
	ck_assert_int_eq(fxt_signal_pidfd(7), cases[_i].pid);
	ck_assert_int_eq(fxt_signal_pidfd(8), FXT_SENT_TO_ALL);
	fxt_shared = NULL;
	ck_assert_int_eq(fxt_signal_pidfd(7), FXT_SENT_TO_ALL);
	/* Without that memory nothing is noted, and nobody is found. */
	ck_assert(!sends(51, HERE, 0, SIGUSR1, 1000));
	ck_assert(!received(SIGUSR1, 0));
	ck_assert(!taken(SIGUSR1, 0));
	fxt_signal_unsent(UINT64_C(1) << 32);
}
END_TEST

int main(void)
{
	TCase *notes = tcase_create("notes");

	tcase_set_timeout(notes, 60);
	tcase_add_checked_fixture(notes, setup, NULL);
	tcase_add_test(notes, one_signal);
	tcase_add_test(notes, others_are_not_it);
	tcase_add_test(notes, what_is_not_noted);
	tcase_add_test(notes, which_of_several);
	tcase_add_test(notes, of_a_signalfd);
	tcase_add_loop_test(notes, as_many_as_there_are_places, 0, PLACES + 1);
	tcase_add_loop_test(notes, damaged_notes_are_not_believed, 0, 6);
	tcase_add_loop_test(notes, to_a_group, 0, 2);
	tcase_add_test(notes, of_a_handler);
	tcase_add_loop_test(notes, of_a_pidfd, 0, 6);
	return RUN_SUITE("senders", notes);
}
