/* This tests the arrows from children to parents (agent/arrows/parent_links.h): what is said of a child's
 * end, and when its entry of the shared memory is free again. */
#include "parents_fixture.h"

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
	ASKED("hidden ends 33;at 7200;pid 500;status 4;"
	      "arrow from 7000;pid 500;tid 501;cpu 6;after 7100;to 7200;");
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
	memset(fxt_agent.program, 'p', sizeof(fxt_agent.program) - 1);
	fxt_parent_name(&part_thread, 91, 92);
	EXPECT(strlen(part_said()) > 2 * sizeof(fxt_agent.program));
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
	TCase *ends = tcase_create("ends");

	tcase_add_checked_fixture(ends, setup, NULL);
	tcase_add_test(ends, children_of_vfork_and_of_calls_that_hide_them);
	tcase_add_test(ends, a_reaped_child_frees_its_entries);
	tcase_add_test(ends, threads_of_other_processes_are_named);
	tcase_add_test(ends, entries_that_are_left_over_are_taken);
	return RUN_SUITE("parent ends", ends);
}
