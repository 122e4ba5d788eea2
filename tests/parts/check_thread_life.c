/* This tests how threads get their states, begin and end (agent/emit/thread.c). The text of the file is
 * included. What it asks of other parts is noted and compared, and so is what the thread's page shows. */
#include <stdio.h>
#include <string.h>

#include "agent/base/koid.h"
#include "agent/base/parts.h"
#include "agent/emit/function.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

static char asked[4000];                /* what was asked of other parts */

static void ask(const char *what)
{
	if (strlen(asked) < 3900)
		strcat(strcat(asked, what), ";");
}

static void lanes_put_thread(struct fxt_thread *thread)
{
	(void)thread;
	ask("put");
}

static unsigned lanes_left(struct fxt_thread *thread)
{
	(void)thread;
	ask("lanes left");
	return 3;
}

static void lanes_after_fork(struct fxt_thread *thread, bool returns)
{
	(void)thread;
	ask(returns ? "lanes fork, returns" : "lanes fork");
}

static uint32_t process;
#undef fxt_sys_getpid
#define fxt_sys_getpid() ((int)process)
#define fxt_sys_gettid() 5000
#define fxt_lanes_put_thread lanes_put_thread
#define fxt_lanes_left lanes_left
#define fxt_lanes_after_fork lanes_after_fork
#include "agent/emit/thread.c"

enum { OTHERS = 5 };

static _Alignas(64) uint64_t pages[3][FXT_PAGE_WORDS];
static unsigned next_page, returned;
static bool has_pages;
static struct fxt_thread *claims;       /* the state that the next thread gets */
static struct fxt_thread others[OTHERS];
static uint64_t kernel_ns, none_before_ns, counted[FXT_LOSS_TOLD], counted_at[FXT_LOSS_TOLD];
struct fxt_threads fxt_threads;

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0

/* -- What stands for the rest of the agent ------------------------------------------------------- */

bool fxt_in_progress_add_page(struct fxt_thread *thread, uint64_t now_ns, bool is_last)
{
	(void)now_ns;
	ask(is_last ? "page anyhow" : "page");
	if (!has_pages)
		return false;
	thread->pages.list[0] = pages[next_page];
	memset(pages[next_page], 0, sizeof(pages[0]));
	thread->pages.count = 1;
	fxt_thread_show_page(thread, pages[next_page++]);
	return true;
}

void fxt_in_progress_shape(struct fxt_thread *thread)
{
	EXPECT(thread->ready);
	ask("shape");
}

void fxt_in_progress_close_all(struct fxt_thread *thread)
{
	(void)thread;
	ask("close calls");
}

void fxt_in_progress_set_deep_count(struct fxt_thread *thread, uint32_t count)
{
	/* There is no page any more. */
	EXPECT(!thread->pages.count && count == thread->deep_count);
	ask("deep");
}

void fxt_in_progress_after_fork(struct fxt_thread *thread)
{
	(void)thread;
	ask("calls fork");
}

void fxt_chunks_after_fork(void)
{
	ask("chunks fork");
}

void fxt_chunks_start(void)
{
	ask("chunks start");
}

void fxt_thread_states_after_fork(void)
{
	ask("states fork");
}

void fxt_thread_enter_number(struct fxt_thread *thread)
{
	EXPECT(thread->own_tid == 5000);
	ask("number");
}

struct fxt_thread *fxt_thread_claim_state(uint32_t pid)
{
	EXPECT(pid == fxt_agent.pid);
	ask("claim");
	if (claims)
		claims->claimed = true;
	return claims;
}

void fxt_thread_tell_name(struct fxt_thread *thread, const struct fxt_thread *of, const char *given)
{
	EXPECT(thread == of && !given);
	ask("name");
}

void fxt_parts_thread_ends(struct fxt_thread *thread)
{
	(void)thread;
	ask("parts end");
}

void fxt_parts_thread_is_gone(struct fxt_thread *thread)
{
	(void)thread;
	ask("parts gone");
}

void fxt_parts_woken(void)
{
	ask("woken");
}

void fxt_agent_count(enum fxt_loss why, uint64_t count, uint64_t at_ns)
{
	counted[why] += count;
	counted_at[why] = at_ns;
}

void fxt_agent_count_short(uint64_t now_ns)
{
	EXPECT(now_ns == kernel_ns);
	ask("short");
}

void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns)
{
	EXPECT(now_ns);
	ask(why == FXT_LOSS_ROOM ? "lost room" : why == FXT_LOSS_STATE ? "lost state" : "lost");
}

void fxt_explain_reset(struct fxt_thread *thread)
{
	(void)thread;
	ask("explain");
}

void fxt_program_text_forget(struct fxt_thread *thread)
{
	(void)thread;
	ask("texts");
}

void fxt_stack_find(struct fxt_thread *thread, const struct fxt_known_stack *known)
{
	(void)thread;
	ask(known ? "known stack" : "stack");
}

bool fxt_stack_know(struct fxt_thread *thread, const struct fxt_known_stack *known)
{
	EXPECT(known && thread == fxt_self);
	ask("know stack");
	return true;
}

void fxt_stack_find_of_child(struct fxt_thread *thread, bool returns)
{
	(void)thread, (void)returns;
	ask("child's stack");
}

void fxt_clock_begin_line(struct fxt_thread *thread)
{
	EXPECT(thread == fxt_self);
	ask("line");
}

uint64_t fxt_clock_kernel_ns(void)
{
	return kernel_ns;
}

uint32_t fxt_koid_of_thread(uint32_t tid)
{
	return tid + 7;
}

static uint64_t none_before(const struct fxt_storage *storage)
{
	(void)storage;
	return none_before_ns;
}

static void return_page(struct fxt_storage *storage, uint64_t *page, uint32_t words)
{
	(void)storage;
	EXPECT(page && words == (returned ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS));
	returned++;
}

static struct fxt_storage_ops ops = {.none_before = none_before, .return_page = return_page};
static struct fxt_storage storage = {.ops = &ops};

static void setup(void)
{
	random_seed(0);
	part_setup();
	fxt_agent.storage = &storage;
	fxt_agent.state = FXT_ON;
	fxt_agent.config.triggers.most_ns = INT64_MAX;
	fxt_agent.config.least_stack_ns = UINT64_MAX;
	process = fxt_agent.pid;
	kernel_ns = 777777;
	has_pages = true;
	fxt_self = NULL;
	claims = &part_thread;
	memset(&part_thread, 0, sizeof(part_thread));
	part_lane(FXT_CHUNK_WORDS);
	fxt_thread_count_nowhere(&part_thread);
	memset(others, 0, sizeof(others));
	next_page = returned = 0;
	memset(counted, 0, sizeof(counted));
	*asked = 0;
}

static void teardown(void)
{
	EXPECT(fxt_signals != FXT_SIGNALS_BLOCKED && !fxt_threads.lock.taken);
}

#define BEGIN_LIFE "number;deep;explain;texts;"
#define READY "shape;put;page;name;"

/* -- Beginning ------------------------------------------------------------------------------------- */

/* Returns what a page begins with, as text. */
static const char *page_text(const uint64_t *page)
{
	static char text[2000];

	part_describe(text, page);
	if (!fxt_is_filler(page[DROPPED_SLOT]))
		part_describe(text + strlen(text), page + DROPPED_SLOT);
	if (!fxt_is_filler(page[FILTERED_SLOT]))
		part_describe(text + strlen(text), page + FILTERED_SLOT);
	return text;
}

/* A thread gets a state, which knows nothing of the thread before, and its page names it. */
START_TEST(begins)
{
	struct fxt_thread *thread;
	struct fxt_known_stack known = {1, 2};

	part_thread.commit = 7;
	part_thread.watched_errno = part_thread.first_errno = 5;
	part_thread.born_ns = part_thread.stopped_ns = part_thread.lasted_ns = 9;
	part_thread.life = part_thread.expects = part_thread.vfork.link = 3;
	part_thread.vfork.child = 4;
	part_thread.vfork.chunk.words = 6;
	part_thread.filtered.hidden = 2;
	part_thread.shown = part_thread.fenced_entries;
	part_thread.pages.none[0] = part_thread.pages.none[1] = 12;
	part_thread.no_room_before_ns = 12;
	fxt_agent.starts = 42;
	fxt_agent.config.filters_functions = _i == 1;
	fxt_agent.config.has_threshold = _i == 2;
	fxt_agent.config.filters_callers = _i == 3;
	thread = _i ? fxt_thread_attach() : fxt_thread_begins(&known);
	ck_assert_ptr_eq(thread, &part_thread);
	ck_assert_ptr_eq(fxt_self, thread);
	ck_assert_ptr_eq(fxt_self_ending, thread);
	if (_i) {
		ASKED("claim;" BEGIN_LIFE "stack;line;" READY);
	} else {
		ASKED("claim;" BEGIN_LIFE "known stack;line;" READY);
	}
	EXPECT(thread->in_use && thread->ready && !thread->claimed);
	ck_assert_uint_eq(thread->pid, PART_KOID);
	ck_assert_uint_eq(thread->tid, 5007);
	ck_assert_uint_eq(thread->starts, 42);
	ck_assert_uint_eq(thread->index, 1);
	ck_assert_uint_eq(thread->event_thread, fxt_event_thread(1));
	EXPECT(!thread->commit && !thread->watched_errno && !thread->first_errno && !thread->shown);
	EXPECT(!thread->born_ns && !thread->stopped_ns && !thread->lasted_ns && !thread->life);
	EXPECT(!thread->expects && !thread->vfork.link && !thread->vfork.child);
	EXPECT(!thread->vfork.chunk.words && !thread->filtered.hidden && !thread->no_room_before_ns);
	EXPECT(!thread->pages.none[0] && !thread->pages.none[1]);
	/* Calls that a filter or a threshold is about are never usual. */
	ck_assert_uint_eq(thread->usual_ns, _i >= 2 ? 0 : FXT_SWITCH_NS);
	ck_assert_uint_eq(thread->usual_function_ns, _i == 2 ? 0 : FXT_SWITCH_NS);
	ck_assert_str_eq(page_text(thread->pages.list[0]),
			 _i ? "thread 1 is 70/5007\ncounter agent:filtered @777777 t1 records=0ul #5007\n"
			    : "thread 1 is 70/5007\n");
	/* It has a state now. */
	ck_assert_ptr_eq(fxt_thread_attach(), thread);
	ck_assert_ptr_eq(fxt_thread_begins(&known), thread);
	ASKED("know stack;");
}
END_TEST

/* Whoever may have no state gets none, and it is counted where something is lost. */
START_TEST(refused)
{
	struct fxt_known_stack known = {1, 2};

	fxt_agent.state = FXT_ON + 1;
	EXPECT(!fxt_thread_attach());
	fxt_agent.state = FXT_ON;
	/* The child of a vfork has another process id. */
	process++;
	EXPECT(!fxt_thread_attach());
	process--;
	ASKED("");
	fxt_gate_lent = true;
	EXPECT(!fxt_thread_attach());
	ASKED("woken;");
	part.stack_is_short = true;
	EXPECT(!fxt_thread_attach());
	ASKED("");
	fxt_gate_lent = false;
	EXPECT(!fxt_thread_attach());
	ASKED("short;");
	part.stack_is_short = false;
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 0);
	fxt_forbidden = FXT_NO_LOCKS;
	EXPECT(!fxt_thread_attach());
	fxt_forbidden = 0;
	ASKED("lost state;");
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 1);
	ck_assert_uint_eq(counted_at[FXT_LOSS_ROOM], kernel_ns);
	claims = NULL;
	EXPECT(!fxt_thread_attach());
	ASKED("claim;lost state;");
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 2);
	part.has_file = false;
	EXPECT(!fxt_thread_attach());
	ASKED("claim;");
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 2);
	EXPECT(!fxt_self);
	/* A thread that has just begun is at the beginning of its stack. */
	claims = &part_thread;
	part.has_file = part.stack_is_short = true;
	EXPECT(fxt_thread_begins(&known));
}
END_TEST

/* A barred thread records nothing until it is unbarred. */
START_TEST(barred_thread)
{
	struct fxt_thread *thread = fxt_thread_attach();

	ck_assert_ptr_eq(fxt_thread_bar(), thread);
	EXPECT(!fxt_self && !fxt_self_ending && fxt_signals == FXT_SIGNALS_SHARED);
	EXPECT(!fxt_thread_attach());
	fxt_thread_unbar(thread);
	EXPECT(fxt_self == thread && fxt_self_ending == thread);
	ck_assert_ptr_eq(fxt_thread_attach(), thread);
	/* The child of a fork is not barred. */
	fxt_thread_bar();
	fxt_threads_after_fork(false);
	claims = &others[0];
	EXPECT(fxt_thread_attach());
}
END_TEST

/* A thread that cannot be made ready at once is when it can. */
START_TEST(ready_later)
{
	struct fxt_thread *thread;

	part.has_file = false;
	thread = fxt_thread_attach();
	ASKED("claim;" BEGIN_LIFE "stack;line;");
	EXPECT(!thread->ready && !fxt_thread_ready(thread));
	fxt_thread_ends();
	part.has_file = true;
	fxt_lender = (uint32_t)process + 1;
	fxt_agent.pid = process;
	ck_assert(!fxt_thread_ready(thread) || fxt_lender == process);
	fxt_lender = 0;
	ASKED("");
	EXPECT(fxt_thread_ready(thread));
	ASKED(READY);
	EXPECT(fxt_thread_ready(thread));
	ASKED("");
	fxt_thread_ends();
	ASKED("close calls;parts end;");
}
END_TEST

/* There are so many indices, and further threads have none. */
START_TEST(indices)
{
	unsigned i;

	for (i = 1; i <= FXT_THREAD_MAX_INDEX + 3; i++) {
		memset(&others[0], 0, sizeof(others[0]));
		others[0].usual_ns = others[0].usual_function_ns = 5;
		next_page = 0;
		EXPECT(fxt_thread_ready(&others[0]));
		ck_assert_uint_eq(others[0].index, i <= FXT_THREAD_MAX_INDEX ? i : 0);
		ck_assert_uint_eq(others[0].usual_ns, i <= FXT_THREAD_MAX_INDEX ? 5 : 0);
		ck_assert_uint_eq(others[0].usual_function_ns, i <= FXT_THREAD_MAX_INDEX ? 5 : 0);
		*asked = 0;
	}
	/* Its page names no thread. */
	EXPECT(fxt_is_filler(pages[0][0]) && fxt_get_record_words(pages[0][0]) == 3);
	fxt_threads_after_fork(false);
	memset(&others[0], 0, sizeof(others[0]));
	next_page = 0;
	EXPECT(fxt_thread_ready(&others[0]));
	ck_assert_uint_eq(others[0].index, 1);
}
END_TEST

/* -- Losses ---------------------------------------------------------------------------------------- */

/* What a thread drops is counted in its page from the first on, and for good. */
START_TEST(dropped)
{
	struct fxt_thread *thread = fxt_thread_attach();
	unsigned i;

	*asked = 0;
	none_before_ns = 4000;
	thread->last_ns = 2000;
	thread->pages.none[1] = 5;
	for (i = 1; i < 4; i++) {
		char right[200];

		thread->last_ns++;
		fxt_thread_dropped(thread, FXT_LOSS_ROOM);
		sprintf(right, "thread 1 is 70/5007\ncounter agent:dropped @%u t1 records=%uul #5007\n",
			2000 + i, 5 + i);
		ck_assert_str_eq(page_text(thread->pages.list[0]), right);
		ASKED("lost room;");
	}
	ck_assert_uint_eq(thread->no_room_before_ns, 4000);
	EXPECT(!thread->commit && fxt_self_ending == thread);
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 0);
	/* Other causes are the process's, and a thread without a page has the process's count. */
	fxt_thread_dropped(thread, FXT_LOSS_SIZE);
	ck_assert_uint_eq(counted[FXT_LOSS_SIZE], 1);
	ck_assert_uint_eq(counted_at[FXT_LOSS_SIZE], 2003);
	fxt_thread_overtaken(thread, 0);
	ck_assert_uint_eq(counted[FXT_LOSS_SIGNALS], 0);
	fxt_thread_overtaken(thread, 2);
	ck_assert_uint_eq(counted[FXT_LOSS_SIGNALS], 1);
	thread->pages.count = 0;
	thread->last_ns = 0;
	fxt_thread_dropped(thread, FXT_LOSS_ROOM);
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 1);
	ck_assert_uint_eq(counted_at[FXT_LOSS_ROOM], kernel_ns);
	part.has_file = false;
	fxt_thread_dropped(thread, FXT_LOSS_ROOM);
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 1);
	EXPECT(!thread->lanes->raised_at);
}
END_TEST

/* Where there is no room for good, the clock is read only for what needs a duration. */
START_TEST(no_room_for_good)
{
	struct fxt_thread *thread = fxt_thread_attach();

	none_before_ns = FXT_NEVER;
	thread->usual_ns = _i == 1 ? 0 : 10;
	if (_i == 2)
		fxt_agent.config.triggers.most_ns = 99;
	if (_i == 3)
		thread->ready = false;
	thread->last_ns = 5;
	fxt_thread_dropped(thread, FXT_LOSS_ROOM);
	EXPECT((fxt_self_ending == NULL) == (_i == 0));
	EXPECT((thread->commit & FXT_COMMIT_NO_ROOM) == (_i == 3 ? 0 : FXT_COMMIT_NO_ROOM));
	/* Another session has room again. */
	thread->held_top++;
	thread->bytes.heap = 5;
	fxt_agent.starts = 9;
	fxt_thread_begins_again(thread);
	EXPECT(fxt_self_ending == thread && !thread->commit && !thread->no_room_before_ns);
	EXPECT(thread->held_top == thread->held && !thread->bytes.heap && thread->starts == 9);
	EXPECT(!thread->stopped_ns);
	/* What was in progress when the trace was stopped is not usual afterwards. */
	fxt_agent.stopped_ns = _i % 2 ? 3 : 700000;
	thread->last_ns = 1000;
	thread->usual_ns = _i < 2 ? 1000000 : 1;
	thread->usual_function_ns = _i < 2 ? 900000 : 2;
	fxt_thread_begins_again(thread);
	ck_assert_uint_eq(thread->stopped_ns, _i % 2 ? 1000 : 700000);
	ck_assert_uint_eq(thread->lasted_ns, thread->stopped_ns);
	ck_assert_uint_eq(thread->usual_ns, _i < 2 ? kernel_ns - thread->stopped_ns : 1);
	ck_assert_uint_eq(thread->usual_function_ns, _i < 2 ? kernel_ns - thread->stopped_ns : 2);
	/* A clock that is behind has stopped for no time. */
	fxt_agent.stopped_ns = kernel_ns + 5;
	fxt_thread_begins_again(thread);
	EXPECT(!thread->usual_ns && !thread->usual_function_ns);
}
END_TEST

/* How long a call may take to be usual follows from all that wants to look at calls. */
START_TEST(usual)
{
	struct fxt_config *config = &fxt_agent.config;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		uint64_t right = FXT_SWITCH_NS, trigger = 1 + random_below(2 * FXT_SWITCH_NS),
			 stack = random_below(2 * FXT_SWITCH_NS), explain = random_below(3) * 1500;

		config->triggers.most_ns = trigger;
		config->triggers.least_ns = random_below(4) == 0;
		config->explain_ns = explain;
		config->least_stack_ns = stack;
		right = trigger < right ? trigger : right;
		right = explain && explain < right ? explain : right;
		right = stack < right ? stack : right;
		right = config->triggers.least_ns ? 0 : right;
		fxt_self = NULL;
		part_thread.in_use = false;
		next_index = 0;
		next_page = 0;
		EXPECT(fxt_thread_attach());
		ck_assert_uint_eq(part_thread.usual_ns, right);
		ck_assert_uint_eq(part_thread.usual_function_ns, right);
		*asked = 0;
	}
}
END_TEST

/* -- Ends ------------------------------------------------------------------------------------------ */

/* A state that a dead thread has left is closed first: its counts are the process's from then on. */
START_TEST(taken_over)
{
	struct fxt_thread *thread = fxt_thread_attach();
	unsigned i;

	*asked = 0;
	thread->last_ns = 50;
	fxt_thread_dropped(thread, FXT_LOSS_ROOM);
	fxt_thread_dropped(thread, FXT_LOSS_ROOM);
	thread->counts.filtered = show_counter(thread, FILTERED_SLOT, FXT_STR_filtered, 7);
	thread->pages.list[1] = pages[1];
	thread->pages.list[2] = pages[2];
	thread->pages.count = 3;
	thread->held_top++;
	for (i = 0; i < FXT_IN_PROGRESS_MAX; i++)
		fxt_in_progress_entries(thread)[i].slot = pages[1];
	*asked = 0;
	thread->last_ns = 60;
	next_page = 1;
	fxt_self = NULL;
	EXPECT(fxt_thread_attach() == thread);
	ASKED("claim;lanes left;close calls;parts gone;" BEGIN_LIFE "stack;line;" READY);
	ck_assert_uint_eq(returned, 3);
	ck_assert_uint_eq(counted[FXT_LOSS_ROOM], 2);
	ck_assert_uint_eq(counted_at[FXT_LOSS_ROOM], 50);
	ck_assert_uint_eq(counted[FXT_LOSS_FILTERED], 7);
	ck_assert_uint_eq(counted_at[FXT_LOSS_FILTERED], 60);
	ck_assert_uint_eq(counted[FXT_LOSS_SIGNALS], 3);
	EXPECT(thread->held_top == thread->held && thread->index == 2);
	for (i = 0; i < FXT_IN_PROGRESS_MAX; i++)
		EXPECT(!fxt_in_progress_entries(thread)[i].slot);
}
END_TEST

/* After the file was rewritten the thread has no page, and its counts go on. */
START_TEST(rewritten)
{
	enum { USED = 3 };
	struct fxt_thread *thread = fxt_thread_attach();
	uint64_t page[USED];
	unsigned i;

	fxt_agent.config.has_threshold = _i;
	thread->pages.none[1] = 4;
	/* The entries that were used have slots, and come first. The memory of others stays untouched. */
	for (i = 0; i < USED; i++)
		fxt_in_progress_entries(thread)[i].slot = page + i;
	thread->counts.filtered = show_counter(thread, FILTERED_SLOT, FXT_STR_filtered, 9);
	*asked = 0;
	fxt_thread_after_rewrite(thread);
	ck_assert_uint_eq(*thread->counts.dropped, 4);
	ck_assert_uint_eq(*thread->counts.filtered, 9);
	for (i = 0; i < FXT_IN_PROGRESS_MAX; i++)
		EXPECT(fxt_in_progress_entries(thread)[i].slot == (i < USED ? thread->pages.no_slot : NULL));
	if (_i) {
		ASKED("deep;page anyhow;");
		EXPECT(thread->counts.filtered > pages[1] && thread->counts.filtered < pages[2]);
	} else {
		ASKED("deep;");
		EXPECT(thread->counts.filtered == thread->pages.none);
	}
	EXPECT(!thread->lanes[0].hold);
}
END_TEST

/* The child of a fork has its own thread alone, with the heap of all. */
START_TEST(forked)
{
	struct fxt_thread *list[OTHERS + 1], *thread = fxt_thread_attach();
	unsigned i;

	for (i = 0; i < OTHERS; i++) {
		list[i] = &others[i];
		others[i].bytes.heap = 10 + i;
	}
	/* Another thread was just being entered. */
	list[2] = NULL;
	list[OTHERS] = thread;
	thread->bytes = (struct fxt_thread_bytes){.read = 5, .written = 6, .heap = 100};
	thread->explain_due_ns = 77;
	thread->is_holder = true;
	thread->last_ns = 900;
	fxt_threads.list = list;
	fxt_threads.count = OTHERS + 1;
	fxt_threads.lock.taken = 1;
	fxt_agent.config.least_stack_ns = UINT64_MAX;
	*asked = 0;
	fxt_threads_after_fork(_i);
	if (_i) {
		ASKED("states fork;chunks fork;lanes fork, returns;calls fork;" BEGIN_LIFE "child's stack;");
	} else {
		ASKED("states fork;chunks fork;lanes fork;calls fork;" BEGIN_LIFE "child's stack;");
	}
	EXPECT(!fxt_threads.lock.taken && fxt_threads.count == 1 && list[0] == thread);
	ck_assert_uint_eq(thread->bytes.heap, 100 + 10 + 11 + 13 + 14);
	EXPECT(!thread->bytes.read && !thread->bytes.written && !thread->is_holder);
	EXPECT(!thread->explain_due_ns && !thread->ready && thread->in_use);
	ck_assert_uint_gt(thread->born_ns, 900);
	EXPECT(thread->usual_ns == FXT_SWITCH_NS && thread->usual_ns <= LEAST_FORK_NS);
	/* A thread without a state forks too. */
	fxt_self = NULL;
	*asked = 0;
	fxt_threads_after_fork(_i);
	ASKED("states fork;chunks fork;");
	ck_assert_uint_eq(fxt_threads.count, 0);
}
END_TEST

/* Whole records are committed as they are, or there is no room. */
START_TEST(records)
{
	const uint64_t record[] = {FXT_RECORD_STRING | (uint64_t)5 << 16 | (uint64_t)4 << 32, 0x64636261};
	struct fxt_thread *thread = fxt_thread_attach();

	part_lane(FXT_CHUNK_WORDS);
	EXPECT(fxt_thread_put(thread, record, 2) && fxt_thread_put_extra(thread, record, 2));
	SAID("string 5 is \"abcd\"\nstring 5 is \"abcd\"\n");
	part_lane(0);
	EXPECT(!fxt_thread_put_extra(thread, record, 2));
	ck_assert_uint_eq(part.lost[FXT_LOSS_ROOM], 0);
	EXPECT(!fxt_thread_put(thread, record, 2));
	ck_assert_uint_eq(part.lost[FXT_LOSS_ROOM], 1);
	EXPECT(!thread->lanes->raised_at);
	fxt_threads_mode();
	EXPECT(strstr(asked, "chunks start"));
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("thread life");

	tcase_add_checked_fixture(test, setup, teardown);
	tcase_add_loop_test(test, begins, 0, 4);
	tcase_add_test(test, refused);
	tcase_add_test(test, barred_thread);
	tcase_add_test(test, ready_later);
	tcase_add_test(test, indices);
	tcase_add_test(test, dropped);
	tcase_add_loop_test(test, no_room_for_good, 0, 4);
	tcase_add_test(test, usual);
	tcase_add_test(test, taken_over);
	tcase_add_loop_test(test, rewritten, 0, 2);
	tcase_add_loop_test(test, forked, 0, 2);
	tcase_add_test(test, records);
	return RUN_SUITE("thread life", test);
}
