/* This tests the arrows from parents to children (agent/arrows/parent_links.h): which entry of the shared
 * memory a child takes, and what is said of its beginning. FXT_SEED names the choices. */
#include "parents_fixture.h"

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
	/* A child that has no file until it ends writes the arrow then. */
	first_moment.tid = CHILD_TID;
	own_pid++;
	fxt_parent_leave(&part_thread);
	own_pid--;
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
			ck_assert_str_eq(start(),
					 (without ? tests[i].without : tests[i].with_pid) ? ARROW : "");
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

int main(void)
{
	TCase *parents = tcase_create("parents");

	tcase_add_checked_fixture(parents, setup, NULL);
	tcase_add_test(parents, a_forked_child_takes_its_entry);
	tcase_add_test(parents, the_child_may_be_first);
	tcase_add_test(parents, a_program_finds_its_entry);
	tcase_add_test(parents, an_entry_is_of_a_process_of_its_time);
	tcase_add_test(parents, the_kernel_is_asked_where_there_is_a_choice);
	return RUN_SUITE("parents", parents);
}
