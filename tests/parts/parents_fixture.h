/* What the tests of the arrows between parents and children share (agent/arrows/parent_links.h). The
 * file's text is included, with functions of ours in the place of the kernel's: a test plays the parent,
 * the child, and other processes that write to the shared memory. */
#ifndef PARENTS_FIXTURE_H
#define PARENTS_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/arrows/flow.h"
#include "agent/arrows/parent_links.h"
#include "agent/arrows/shared.h"
#include "agent/arrows/task_life.h"
#include "agent/base/koid.h"
#include "agent/clock/clock_offset.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"
#include "writer/apart.h"
#include "writer/sys.h"

enum { CHILD = 500, CHILD_TID = 501, TICK_NS = 10 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static char asked[4000];                /* what the functions of other parts were asked */
static char children[2000], children_path[100];     /* the kernel's list, and where it was read */
static uint32_t own_pid, parent_pid;
static uint64_t process_ns;               /* when the kernel made this process */
static bool parents_live, is_run, may_be, differs;
static unsigned lives_asked, lists_read;

static void ask(const char *what, uint64_t number)
{
	ck_assert_int_lt(strlen(asked), 3900);
	sprintf(asked + strlen(asked), "%s %llu;", what, (unsigned long long)number);
}

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0

static bool lives(int pid, int tid)
{
	EXPECT(pid == tid && pid);
	lives_asked++;
	return parents_live;
}

static int open_list(const char *path, int flags, mode_t mode)
{
	int fd = memfd_create("children", 0);

	(void)mode;
	EXPECT(flags == (O_RDONLY | O_CLOEXEC));
	snprintf(children_path, sizeof(children_path), "%s", path);
	lists_read++;
	ck_assert_int_eq(write(fd, children, strlen(children)), (int)strlen(children));
	lseek(fd, 0, SEEK_SET);
	return *children == '!' ? -2 : fd;
}

static long do_it(fxt_work work, void *argument)
{
	return work(argument);
}

#undef FXT_SYSCALL0
#define FXT_SYSCALL0(number) ((long)(int)parent_pid)
#define fxt_sys_getpid() ((int)own_pid)
#define fxt_sys_thread_exists lives
#define fxt_sys_open open_list
#define fxt_apart do_it
#include "agent/arrows/parent_links.c"

/* -- What stands for the rest of the agent ------------------------------------------------------- */

struct fxt_shared *fxt_shared;
static struct fxt_shared *memory;
_Atomic int64_t fxt_clock_offset_ns;

bool fxt_shared_is_run(void)
{
	return is_run;
}

bool fxt_shared_may_be(uint64_t at_ns, uint64_t now_ns)
{
	return may_be && at_ns <= now_ns;
}

bool fxt_koid_differs(void)
{
	return differs;
}

uint64_t fxt_process_start_ns(void)
{
	return process_ns;
}

void fxt_task_expect(int more)
{
	ask(more > 0 ? "expect" : "expect less", 1);
}

void fxt_task_child_begins(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid)
{
	EXPECT(thread == &part_thread);
	ask("child begins", at_ns);
	ask("pid", pid);
}

void fxt_task_child_ends(struct fxt_thread *thread, uint64_t at_ns, uint32_t pid, int status)
{
	EXPECT(thread == &part_thread);
	ask("child ends", at_ns);
	ask("pid", pid);
	ask("status", (uint64_t)status);
}

uint64_t fxt_task_hidden_begins(struct fxt_thread *thread, uint64_t at_ns)
{
	EXPECT(thread == &part_thread);
	ask("hidden begins", at_ns);
	return 33;
}

void fxt_task_hidden_ends(struct fxt_thread *thread, uint64_t life, uint64_t at_ns, uint32_t pid, int status)
{
	EXPECT(thread == &part_thread);
	ask("hidden ends", life);
	ask("at", at_ns);
	ask("pid", pid);
	ask("status", (uint64_t)status);
}

struct fxt_cause fxt_flow_leave(struct fxt_thread *thread)
{
	thread->last_ns += 3;
	return (struct fxt_cause){.at_ns = thread->last_ns - 2, .pid = thread->pid, .tid = thread->tid,
				  .cpu_and_1 = 5};
}

void fxt_flow_first_moment(struct fxt_thread *thread, const struct fxt_cause *cause, uint64_t *after_ns,
			   uint64_t *end_ns)
{
	EXPECT(thread == &part_thread && cause);
	*after_ns = 8001;
	*end_ns = 8002;
}

void fxt_flow_resume(struct fxt_thread *thread, uint64_t after_ns, uint64_t end_ns,
		     const struct fxt_cause *causes, unsigned count)
{
	EXPECT(thread == &part_thread && count == 1);
	ask("arrow from", causes->at_ns);
	ask("pid", causes->pid);
	ask("tid", causes->tid);
	ask("cpu", causes->cpu_and_1);
	ask("after", after_ns);
	ask("to", end_ns);
}

void fxt_flow_arrive(struct fxt_thread *thread, const struct fxt_cause *cause)
{
	fxt_flow_resume(thread, 0, 0, cause, 1);
}

/* -- The test ------------------------------------------------------------------------------------ */

/* Plays the process `pid`, with one thread. */
static void be(uint32_t pid, uint32_t tid)
{
	own_pid = part_thread.pid = fxt_agent.koid = pid;
	part_thread.tid = tid;
}

static inline void setup(void)
{
	random_seed(0);
	part_setup();
	be(PART_PID, PART_TID);
	if (!memory)
		memory = mmap(NULL, FXT_SHARED_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memset(memory->parents, 0, sizeof(memory->parents));
	fxt_shared = memory;
	fxt_parent_after_fork();
	parent_pid = PART_PID;
	process_ns = 5 * (uint64_t)SECOND_NS;
	part_thread.last_ns = process_ns;
	fxt_clock_offset_ns = 0;
	parents_live = may_be = true;
	is_run = differs = false;
	lives_asked = lists_read = 0;
	strcpy(fxt_agent.program, "prog");
	fxt_agent.file_made = true;
	*asked = *children = *children_path = 0;
}

static inline struct fxt_parent_entry *nth(unsigned n)
{
	return (struct fxt_parent_entry *)(void *)memory->parents + n;
}

/* Returns how many entries are used. */
static inline unsigned used(void)
{
	unsigned n, count = 0;

	for (n = 0; n < FXT_PARENT_ENTRIES; n++)
		count += state_of(nth(n)->word) != FREE;
	return count;
}

/* Returns the only entry that is used. */
static inline struct fxt_parent_entry *only(void)
{
	unsigned n;

	EXPECT(used() == 1);
	for (n = 0; state_of(nth(n)->word) == FREE; n++)
		;
	return nth(n);
}

static inline bool is(const struct fxt_parent_entry *entry, enum state state, uint32_t pid)
{
	return state_of(entry->word) == state && pid_of(entry->word) == pid;
}

#define AT (5 * (uint64_t)SECOND_NS + 1)        /* the time of the first cause */

/* Makes an entry as another process of a run would, for a child that looks for it. */
static inline struct fxt_parent_entry *expected(uint32_t pid, uint64_t born_ns, enum state state,
						uint32_t tid)
{
	const struct fxt_cause cause = {.at_ns = born_ns, .pid = PART_PID, .tid = tid, .cpu_and_1 = 2};
	uint64_t word, reference = make_entry(&cause, pid, state);

	EXPECT(reference);
	return dereference(reference, &word);
}

#endif
