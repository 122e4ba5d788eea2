/* This tests the arrows between parents and children (agent/arrows/parent_links.h): which entry of the shared
 * memory a child takes, when it is free again, and what is said of a child's beginning and end. The file's
 * text is included, with functions of ours in the place of the kernel's: the test plays the parent, the child,
 * and other processes that write to the memory. FXT_SEED names the choices. */
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

/* -- What stands for the rest of the agent -------------------------------------------------------------- */

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

/* -- The test --------------------------------------------------------------------------------------------- */

/* Plays the process `pid`, with one thread. */
static void be(uint32_t pid, uint32_t tid)
{
	own_pid = part_thread.pid = fxt_agent.koid = pid;
	part_thread.tid = tid;
}

static void setup(void)
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

static struct fxt_parent_entry *nth(unsigned n)
{
	return (struct fxt_parent_entry *)(void *)memory->parents + n;
}

/* Returns how many entries are used. */
static unsigned used(void)
{
	unsigned n, count = 0;

	for (n = 0; n < FXT_PARENT_ENTRIES; n++)
		count += state_of(nth(n)->word) != FREE;
	return count;
}

/* Returns the only entry that is used. */
static struct fxt_parent_entry *only(void)
{
	unsigned n;

	EXPECT(used() == 1);
	for (n = 0; state_of(nth(n)->word) == FREE; n++)
		;
	return nth(n);
}

static bool is(const struct fxt_parent_entry *entry, enum state state, uint32_t pid)
{
	return state_of(entry->word) == state && pid_of(entry->word) == pid;
}

#define AT (5 * (uint64_t)SECOND_NS + 1)        /* the time of the first cause */

START_TEST(a_forked_child_takes_its_entry)
{
	struct fxt_birth birth;
	struct fxt_parent_entry *entry;

	fxt_birth_begin(&part_thread, &birth, FXT_BIRTH_FORKS);
	entry = only();
	EXPECT(is(entry, FORKED, 0) && part_thread.expects == birth.entry && birth.entry);
	EXPECT(entry->born_ns == AT && entry->parent == PART_PID && entry->parent_tid == PART_TID &&
	       entry->parent_cpu_and_1 == 5 && entry->check == check_of(entry, false));
	ASKED("expect 1;");
	/* The parent goes on first. */
	fxt_birth_end(&part_thread, &birth, CHILD);
	ASKED("child begins 5000000001;pid 500;expect less 1;");
	EXPECT(is(entry, FORKED, CHILD) && !part_thread.expects);
	be(CHILD, CHILD_TID);
	part_thread.expects = birth.entry;
	fxt_birth_forked(&birth);
	EXPECT(is(entry, ALIVE, CHILD) && own == birth.entry && !part_thread.expects);
	EXPECT(part_thread.commit & FXT_COMMIT_DEFERRED);
	/* The arrow is written by that thread, when there is a file, and once. */
	part_thread.tid++;
	fxt_birth_tell(&part_thread);
	part_thread.tid--;
	fxt_agent.file_made = false;
	fxt_birth_tell(&part_thread);
	ASKED("");
	fxt_agent.file_made = true;
	fxt_birth_tell(&part_thread);
	fxt_birth_tell(&part_thread);
	ASKED("arrow from 5000000001;pid 70;tid 71;cpu 5;after 8001;to 8002;");
	/* The child ends, and its end is taken back. */
	part_thread.last_ns = 6 * (uint64_t)SECOND_NS;
	own_pid++;
	fxt_parent_leave(&part_thread);
	own_pid--;
	EXPECT(is(entry, ALIVE, CHILD));
	fxt_parent_leave(&part_thread);
	EXPECT(is(entry, LEFT, CHILD) && entry->left_ns == 6 * (uint64_t)SECOND_NS + 1 &&
	       entry->left_tid == CHILD_TID && entry->left_cpu_and_1 == 5 &&
	       entry->check == check_of(entry, true));
	own_pid++;
	fxt_parent_stay();
	own_pid--;
	EXPECT(is(entry, LEFT, CHILD));
	fxt_parent_stay();
	EXPECT(is(entry, ALIVE, CHILD) && entry->check == check_of(entry, false));
	fxt_parent_stay();
	EXPECT(is(entry, ALIVE, CHILD));
	fxt_agent.file_made = false;
	fxt_parent_leave(&part_thread);
	fxt_parent_leave(&part_thread);
	EXPECT(is(entry, LEFT, CHILD) && entry->left_cpu_and_1 == (5 | LEFT_NAMELESS) &&
	       entry->left_ns == 6 * (uint64_t)SECOND_NS + 4);
	ASKED("");
	/* It is reaped, and named, as it has no file. */
	be(PART_PID, PART_TID);
	is_run = true;
	fxt_child_reaped(&part_thread, CHILD + 1, 3, 1, 2, 3);
	ASKED("child ends 3;pid 501;status 3;");
	fxt_child_reaped(&part_thread, CHILD, 3, 1, 8500, 9000);
	ASKED("child ends 9000;pid 500;status 3;"
	      "arrow from 6000000004;pid 500;tid 501;cpu 5;after 8500;to 9000;");
	SAID("kernel object 500 \"prog\"\n"
	     "thread 501 \"prog\" process=koid:500\n");
	EXPECT(!used());
	fxt_child_reaped(&part_thread, CHILD, 3, 1, 8500, 9000);
	ASKED("child ends 9000;pid 500;status 3;");
}
END_TEST

START_TEST(the_child_may_be_first)
{
	struct fxt_birth birth, later;
	struct fxt_parent_entry *entry;

	fxt_birth_begin(&part_thread, &birth, FXT_BIRTH_FORKS);
	entry = only();
	be(CHILD, CHILD_TID);
	fxt_birth_forked(&birth);
	EXPECT(is(entry, ALIVE, CHILD));
	be(PART_PID, PART_TID);
	part_thread.expects = birth.entry;
	fxt_birth_end(&part_thread, &birth, CHILD);
	EXPECT(is(entry, ALIVE, CHILD));
	/* A call that fails frees the entry, and so does the next call of one that was left. */
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_EXECUTES);
	EXPECT(used() == 2 && later.entry != birth.entry);
	*asked = 0;
	fxt_birth_end(&part_thread, &later, -1);
	ASKED("expect less 1;");
	EXPECT(used() == 1);
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_EXECUTES);
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_HIDDEN);
	EXPECT(used() == 2);
	fxt_parent_forget(&part_thread);
	EXPECT(used() == 1 && !part_thread.expects);
	/* With little stack there is no entry. */
	part.stack_is_short = true;
	*asked = 0;
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_FORKS);
	EXPECT(!later.entry && later.cause.at_ns && used() == 1);
	fxt_birth_end(&part_thread, &later, CHILD);
	fxt_child_reaped(&part_thread, CHILD, 3, 1, 2, 3);
	ASKED("expect 1;expect less 1;");
	part.stack_is_short = false;
	/* Nor without memory; and a process that is not recorded takes none. */
	fxt_shared = NULL;
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_FORKS);
	EXPECT(!later.entry);
	fxt_child_reaped(&part_thread, CHILD, 3, 1, 2, 3);
	fxt_shared = memory;
	fxt_birth_begin(&part_thread, &later, FXT_BIRTH_FORKS);
	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_process);
	fxt_parent_after_fork();
	fxt_birth_forked(&later);
	EXPECT(!own && !first_moment.tid);
}
END_TEST

/* Makes an entry as another process of a run would, for a child that looks for it. */
static struct fxt_parent_entry *expected(uint32_t pid, uint64_t born_ns, enum state state, uint32_t tid)
{
	const struct fxt_cause cause = {.at_ns = born_ns, .pid = PART_PID, .tid = tid, .cpu_and_1 = 2};
	uint64_t word, reference = make_entry(&cause, pid, state);

	EXPECT(reference);
	return dereference(reference, &word);
}

/* Plays the start of program CHILD. Returns what it has found. */
static const char *start(void)
{
	static char found[sizeof(asked)];

	own = 0;
	be(CHILD, CHILD);
	fxt_parent_start();
	be(PART_PID, PART_TID);
	strcpy(found, asked);
	*asked = 0;
	return found;
}

#define ARROW "arrow from 5000000000;pid 70;tid 72;cpu 2;after 0;to 0;"

START_TEST(a_program_finds_its_entry)
{
	struct fxt_parent_entry *entry = expected(CHILD, process_ns, MADE, 72);

	ck_assert_str_eq(start(), ARROW);
	EXPECT(is(entry, ALIVE, CHILD) && own && !lists_read);
	/* It executes another program: there is no second arrow. */
	own = 0;
	ck_assert_str_eq(start(), "");
	EXPECT(own && is(entry, ALIVE, CHILD));
	/* The entry of another process, and none. */
	setup();
	entry = expected(CHILD + 1, process_ns, MADE, 72);
	ck_assert_str_eq(start(), "");
	EXPECT(is(entry, MADE, CHILD + 1) && !own);
	/* An entry without a pid, as the parent has not come to write it down yet. */
	setup();
	entry = expected(0, process_ns, EXPECTED, 72);
	ck_assert_str_eq(start(), ARROW);
	EXPECT(is(entry, ALIVE, CHILD) && own && !lists_read);
	/* A forked child whose handler did not run. */
	setup();
	entry = expected(CHILD, process_ns, FORKED, 72);
	ck_assert_str_eq(start(), ARROW);
	EXPECT(is(entry, ALIVE, CHILD));
	/* States in which no child takes one. */
	setup();
	entry = expected(CHILD, process_ns, LEFT, 72);
	ck_assert_str_eq(start(), "");
	entry->word = word_of(1, CHILD, FILLED);
	ck_assert_str_eq(start(), "");
	entry->word = word_of(1, CHILD, LEAVING);
	ck_assert_str_eq(start(), "");
	/* What another process has written is not believed. */
	entry->word = word_of(1, CHILD, MADE);
	entry->born_ns++;
	ck_assert_str_eq(start(), "");
	entry->born_ns--;
	entry->parent++;
	entry->check = check_of(entry, false);
	ck_assert_str_eq(start(), "");
	entry->parent--;
	entry->check = check_of(entry, false);
	may_be = false;
	ck_assert_str_eq(start(), "");
	EXPECT(is(entry, ALIVE, CHILD) && own);
	/* Nobody looks where nothing can be found. */
	setup();
	entry = expected(CHILD, process_ns, MADE, 72);
	differs = true;
	ck_assert_str_eq(start(), "");
	differs = false;
	parent_pid = 0;
	ck_assert_str_eq(start(), "");
	parent_pid = UINT32_MAX;
	ck_assert_str_eq(start(), "");
	parent_pid = PART_PID;
	fxt_shared = NULL;
	ck_assert_str_eq(start(), "");
	fxt_shared = memory;
	atomic_store(&fxt_gate.mask, 0);
	ck_assert_str_eq(start(), "");
	atomic_store(&fxt_gate.mask, UINT32_MAX);
	ck_assert_str_eq(start(), ARROW);
}
END_TEST

START_TEST(an_entry_is_of_a_process_of_its_time)
{
	static const struct {
		int64_t after_ns;       /* when the kernel made the process */
		bool with_pid, without;
	} tests[] = {{0, true, true}, {SECOND_NS - 1, true, true}, {SECOND_NS, false, false},
		     {-TICK_NS, true, true}, {-TICK_NS - 1, true, false}};
	unsigned i, without;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		for (without = 0; without < 2; without++) {
			setup();
			(void)expected(without ? 0 : CHILD, process_ns, without ? EXPECTED : MADE, 72);
			fxt_clock_offset_ns = 77;
			process_ns += (uint64_t)tests[i].after_ns + 77;
			ck_assert_str_eq(start(), (without ? tests[i].without : tests[i].with_pid) ? ARROW : "");
		}
	/* Where that is not known, none is taken. */
	setup();
	(void)expected(CHILD, process_ns, MADE, 72);
	process_ns = 0;
	ck_assert_str_eq(start(), "");
}
END_TEST

START_TEST(the_kernel_is_asked_where_there_is_a_choice)
{
	struct fxt_parent_entry *entries[2];
	unsigned i;

	entries[0] = expected(0, process_ns - 1, EXPECTED, 71);
	entries[1] = expected(0, process_ns, EXPECTED, 72);
	/* Neither thread has made it, as far as the kernel says. */
	strcpy(children, "5001 50 1500 ");
	ck_assert_str_eq(start(), "");
	EXPECT(lists_read == 2 && !own);
	ck_assert_str_eq(children_path, "/proc/70/task/72/children");
	strcpy(children, "!");
	ck_assert_str_eq(start(), "");
	/* Both have, which cannot be. */
	strcpy(children, "5 500 ");
	ck_assert_str_eq(start(), "");
	/* One with the process's pid is the one. */
	entries[0]->word = word_of(generation_of(entries[0]->word), CHILD, MADE);
	lists_read = 0;
	ck_assert_str_eq(start(), "arrow from 4999999999;pid 70;tid 71;cpu 2;after 0;to 0;");
	EXPECT(is(entries[1], EXPECTED, 0) && !lists_read);
	/* One of them; the list is longer than what is read at once. */
	setup();
	entries[0] = expected(0, process_ns, EXPECTED, 72);
	entries[1] = expected(0, process_ns - 2 * (uint64_t)SECOND_NS, EXPECTED, 72);
	ck_assert_str_eq(start(), ARROW);
	for (i = 0; i < 300; i++) {
		setup();
		strcpy(children, "");
		while (strlen(children) < i * 3)
			strcat(children, "12345 " + random_below(5));
		entries[0] = expected(0, process_ns, EXPECTED, 72);
		EXPECT(!is_child_of(PART_PID, 72, CHILD));
		strcat(children, "500 ");
		EXPECT(is_child_of(PART_PID, 72, CHILD) && !is_child_of(PART_PID, 72, 50) &&
		       !is_child_of(PART_PID, 72, 0));
		strcat(children, "9 9 9 ");
		EXPECT(is_child_of(PART_PID, 72, CHILD));
	}
}
END_TEST

START_TEST(children_of_vfork_and_of_calls_that_hide_them)
{
	struct fxt_birth birth;
	struct fxt_parent_entry *entry;
	uint64_t life;

	/* The child of a vfork makes its own, in its parent's memory; exec may be tried several times. */
	own_pid = CHILD;
	fxt_birth_vforked(&part_thread, CHILD);
	entry = only();
	EXPECT(is(entry, MADE, CHILD) && entry->parent == PART_PID && part_thread.vfork.child == CHILD);
	ASKED("child begins 5000000001;pid 500;");
	fxt_birth_vforked(&part_thread, CHILD);
	entry = only();
	EXPECT(entry->born_ns == AT + 3);
	ASKED("");
	fxt_birth_vforked(&part_thread, CHILD + 1);
	EXPECT(used() == 2);
	ASKED("child begins 5000000007;pid 501;");
	own_pid = PART_PID;
	/* The call hides the child. */
	setup();
	fxt_birth_begin(&part_thread, &birth, FXT_BIRTH_HIDDEN);
	ASKED("");
	EXPECT(!fxt_birth_hidden(&part_thread, &birth, false) && !used() && !part_thread.expects);
	fxt_birth_begin(&part_thread, &birth, FXT_BIRTH_HIDDEN);
	life = fxt_birth_hidden(&part_thread, &birth, true);
	ASKED("hidden begins 5000000004;");
	EXPECT(life == 33 && is(only(), EXPECTED, 0) && !part_thread.expects);
	/* It runs, and ends. */
	entry = only();
	entry->word = word_of(generation_of(entry->word), CHILD, ALIVE);
	entry->left_ns = 7000;
	entry->left_tid = CHILD_TID;
	entry->left_cpu_and_1 = 6;
	entry->check = check_of(entry, true);
	entry->word = word_of(generation_of(entry->word), CHILD, LEFT);
	part_thread.expects = birth.entry;
	fxt_child_ended(&part_thread, &birth, life, 4, 7000, 7100, 7200);
	ASKED("hidden ends 33;at 7200;pid 500;status 4;arrow from 7000;pid 500;tid 501;cpu 6;after 7100;to 7200;");
	EXPECT(!used() && !part_thread.expects);
	SAID("");
	/* It was killed, so no arrow leads from its end. */
	fxt_birth_begin(&part_thread, &birth, FXT_BIRTH_HIDDEN);
	entry = only();
	entry->word = word_of(generation_of(entry->word), CHILD, ALIVE);
	fxt_child_ended(&part_thread, &birth, 34, 9, 1, 2, 3);
	ASKED("hidden ends 34;at 3;pid 500;status 9;");
	EXPECT(!used());
	part_thread.expects = 99;
	fxt_child_ended(&part_thread, &birth, 34, 9, 1, 2, 3);
	ASKED("hidden ends 34;at 3;pid 0;status 9;");
	EXPECT(part_thread.expects == 99);
}
END_TEST

/* Leaves an entry behind as a child does that ended at that time. */
static struct fxt_parent_entry *leave_end(uint32_t pid, uint64_t born_ns, uint64_t left_ns)
{
	struct fxt_parent_entry *entry = expected(pid, born_ns, ALIVE, 72);

	entry->left_ns = left_ns;
	entry->left_tid = CHILD_TID;
	entry->left_cpu_and_1 = 6;
	entry->check = check_of(entry, true);
	entry->word = word_of(generation_of(entry->word), pid, LEFT);
	return entry;
}

START_TEST(a_reaped_child_frees_its_entries)
{
	struct fxt_parent_entry *entry;

	/* The newest of those with its pid is the child's. */
	leave_end(CHILD, 3000, 3500);
	leave_end(CHILD, 5000, 5500);
	leave_end(CHILD, 4000, 4500);
	leave_end(CHILD + 1, 6000, 6500);
	fxt_child_reaped(&part_thread, CHILD, 0, 5500, 7100, 7200);
	ASKED("child ends 7200;pid 500;status 0;arrow from 5500;pid 500;tid 501;cpu 6;after 7100;to 7200;");
	EXPECT(is(only(), LEFT, CHILD + 1));
	/* It had ended before the call began, so nobody woke. */
	fxt_child_reaped(&part_thread, CHILD + 1, 0, 6501, 7100, 7200);
	ASKED("child ends 7200;pid 501;status 0;arrow from 6500;pid 501;tid 501;cpu 0;after 7100;to 7200;");
	/* What does not fit is not believed, and an older end is not the newest one's. */
	leave_end(CHILD, 3000, 3500);
	entry = leave_end(CHILD, 4000, 4500);
	entry->left_ns++;
	fxt_child_reaped(&part_thread, CHILD, 0, 1, 7100, 7200);
	ASKED("child ends 7200;pid 500;status 0;");
	EXPECT(!used());
	/* Entries of other parents, and of signals. */
	entry = leave_end(CHILD, 3000, 3500);
	entry->parent++;
	fxt_child_reaped(&part_thread, CHILD, 0, 1, 7100, 7200);
	EXPECT(used() == 1);
	entry->parent--;
	entry->word = word_of(2, CHILD, SENT);
	fxt_child_reaped(&part_thread, CHILD, 0, 1, 7100, 7200);
	EXPECT(used() == 1);
	entry->word = word_of(2, CHILD, LEAVING);
	*asked = 0;
	fxt_child_reaped(&part_thread, CHILD, 0, 1, 7100, 7200);
	ASKED("child ends 7200;pid 500;status 0;");
	EXPECT(!used());
	/* A child without a file is named where no file of the run could name it. */
	entry = leave_end(CHILD, 3000, 3500);
	entry->left_cpu_and_1 |= LEFT_NAMELESS;
	entry->check = check_of(entry, true);
	fxt_child_reaped(&part_thread, CHILD, 0, 1, 7100, 7200);
	SAID("");
	EXPECT(strstr(asked, "cpu 6;"));
}
END_TEST

START_TEST(threads_of_other_processes_are_named)
{
	unsigned i, told = 0;

	fxt_parent_name(&part_thread, 90, 91);
	fxt_parent_name(&part_thread, 90, 91);
	SAID("kernel object 90 \"prog\"\n"
	     "thread 91 \"prog\" process=koid:90\n");
	is_run = true;
	fxt_parent_name(&part_thread, 90, 92);
	SAID("");
	is_run = false;
	for (i = 0; i < 200; i++) {
		part_lane(FXT_CHUNK_WORDS);
		fxt_parent_name(&part_thread, 100, 200 + i % 20);
		told += *part_said() != 0;
	}
	/* Few share a place. */
	EXPECT(told >= 20 && told < 120);
	fxt_parent_after_fork();
	fxt_parent_name(&part_thread, 100, 200);
	EXPECT(*part_said());
}
END_TEST

/* When all places are taken, those that are of no use any more are taken again. */
START_TEST(entries_that_are_left_over_are_taken)
{
	const struct fxt_cause cause = {.at_ns = 1, .pid = PART_PID, .tid = PART_TID};
	unsigned places = 4 * PARENT_PAGE_ENTRIES, i;
	struct fxt_parent_entry *entry;
	uint64_t reference, word, first;

	first = make_entry(&cause, CHILD, MADE);
	for (i = 1; i < places; i++)
		EXPECT(make_entry(&cause, CHILD + i, MADE));
	EXPECT(used() == places && !lives_asked);
	/* The parents live, and few of them are asked about. */
	EXPECT(!make_entry(&cause, 1, MADE) && lives_asked == 8);
	entry = entry_of(PART_PID, places - 1);
	entry->word = word_of(generation_of(entry->word), 7, FILLED);
	EXPECT(!make_entry(&cause, 1, MADE));
	entry->word = word_of(generation_of(entry->word), 7, LEAVING);
	EXPECT(!make_entry(&cause, 1, MADE));
	entry->word = word_of(3, 7, LEFT);
	reference = make_entry(&cause, 1, MADE);
	EXPECT(reference && dereference(reference, &word) == entry && is(entry, MADE, 1) &&
	       generation_of(entry->word) == 4);
	entry->word = word_of(3, 7, SENT);
	EXPECT(make_entry(&cause, 1, MADE) && is(entry, MADE, 1));
	/* A parent is gone. */
	parents_live = false;
	entry = dereference(first, &word);
	EXPECT(entry == entry_of(PART_PID, 0));
	reference = make_entry(&cause, 1, MADE);
	EXPECT(dereference(reference, &word) == entry && !dereference(first, &word));
	entry = entry_of(PART_PID, 0);
	entry->word = word_of(5, 7, FILLED);
	EXPECT(make_entry(&cause, 1, MADE) && is(entry, FILLED, 7));
	/* A free one comes first. */
	entry = entry_of(PART_PID, 2 * PARENT_PAGE_ENTRIES);
	entry->word = word_of(9, 0, FREE);
	reference = make_entry(&cause, 1, MADE);
	EXPECT(dereference(reference, &word) == entry && generation_of(word) == 10);
	EXPECT(!dereference(0, &word));
}
END_TEST

int main(void)
{
	TCase *parents = tcase_create("parents");

	tcase_add_checked_fixture(parents, setup, NULL);
	tcase_add_test(parents, a_forked_child_takes_its_entry);
	tcase_add_test(parents, the_child_may_be_first);
	tcase_add_test(parents, a_program_finds_its_entry);
	tcase_add_test(parents, an_entry_is_of_a_process_of_its_time);
	tcase_add_test(parents, the_kernel_is_asked_where_there_is_a_choice);
	tcase_add_test(parents, children_of_vfork_and_of_calls_that_hide_them);
	tcase_add_test(parents, a_reaped_child_frees_its_entries);
	tcase_add_test(parents, threads_of_other_processes_are_named);
	tcase_add_test(parents, entries_that_are_left_over_are_taken);
	return RUN_SUITE("parents", parents);
}
