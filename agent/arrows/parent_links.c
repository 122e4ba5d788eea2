/* See parent_links.h. This file owns the process's own entry in the section `parents`, and the arrow to a
 * forked child that is not written yet. */
#include "parent_links.h"

#include <string.h>

#include "agent/base/stack.h"
#include "agent/clock/clock_offset.h"
#include "agent/emit/deferred.h"
#include "agent/base/koid.h"
#include "parent_entry.h"
#include "task_life.h"
#include "writer/apart.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum {
	LOOKED_AT = 4 * PARENT_PAGE_ENTRIES,    /* the places that a parent's entries may have, one a child */
	ASKS = 8,                               /* the most system calls to find parents that are gone */
	CHILDREN_BYTES = 256,                   /* the part of a list of children that is read at once */
	/* The kernel makes a process at most so long after the time in its entry. */
	BEGINS_WITHIN_NS = 1000000000,
	NS_PER_SECOND = 1000000000,
};

/* A reference to this process's entry; 0: there is none. */
static _Atomic uint64_t own;
/* Threads of other processes that this process's file names, by a hash of pid and tid. */
static _Atomic uint64_t named[64];

/* The arrow to this process's first moment, as long as the process is a forked child that has recorded
 * nothing. */
static struct {
	uint32_t tid;                   /* the thread that writes it; 0: none is due */
	struct fxt_cause cause;
	uint64_t after_ns, end_ns;
} first_moment;

/* -- Entries ----------------------------------------------------------------------------------- */

/* Returns whether an entry is of no use any more: its child has ended and was not reaped by a call that is
 * seen, or its parent is gone, or it is a signal's. *asks is how many system calls may still be made for
 * this. */
static bool is_left_over(const struct fxt_parent_entry *entry, uint64_t word, unsigned *asks)
{
	if (state_of(word) >= LEFT)
		return true;
	if (state_of(word) == FILLED || state_of(word) == LEAVING || !*asks)
		return false;
	--*asks;
	return !fxt_sys_thread_exists((int)entry->parent, (int)entry->parent);
}

/* Fills a free entry of the parent's, or else one that is of no use any more. Returns a reference to it, or 0
 * if there is none. */
static uint64_t make_entry(const struct fxt_cause *cause, uint32_t pid, enum state state)
{
	unsigned n, pass, asks = ASKS;
	struct fxt_parent_entry *entry;
	uint64_t word;

	if (!fxt_shared)
		return 0;
	for (pass = 0; pass < 2; pass++) {
		for (n = 0; n < LOOKED_AT; n++) {
			entry = entry_of(cause->pid, n);
			word = atomic_load_explicit(&entry->word, memory_order_relaxed);
			if (state_of(word) != FREE && (pass == 0 || !is_left_over(entry, word, &asks)))
				continue;
			if (!atomic_compare_exchange_strong(&entry->word, &word,
							    word_of(generation_of(word) + 1, 0, FILLED)))
				continue;
			word = word_of(generation_of(word) + 1, pid, state);
			entry->born_ns = cause->at_ns;
			entry->parent = cause->pid;
			entry->parent_tid = cause->tid;
			entry->parent_cpu_and_1 = cause->cpu_and_1;
			entry->signum = 0;
			entry->thread = 0;
			entry->check = check_of(entry, false);
			atomic_store(&entry->word, word);
			return reference_of(entry, word);
		}
	}
	return 0;
}

/* -- Children that are made -------------------------------------------------------------------- */

void fxt_parent_forget(struct fxt_thread *thread)
{
	release(thread->expects);
	thread->expects = 0;
}

void fxt_birth_begin(struct fxt_thread *thread, struct fxt_birth *birth, enum fxt_birth_how how)
{
	fxt_parent_forget(thread);
	if (how != FXT_BIRTH_HIDDEN)
		fxt_task_expect(1);
	birth->cause = fxt_flow_leave(thread);
	birth->entry = fxt_stack_is_short()
			     ? 0
			     : make_entry(&birth->cause, 0, how == FXT_BIRTH_FORKS ? FORKED : EXPECTED);
	thread->expects = birth->entry;
}

void fxt_birth_end(struct fxt_thread *thread, const struct fxt_birth *birth, int child)
{
	uint64_t word;
	struct fxt_parent_entry *entry = dereference(birth->entry, &word);

	thread->expects = 0;
	if (entry && child < 0)
		change(entry, word, 0, FREE);
	/* The child may have taken the entry meanwhile, or be gone: then the entry stays as it is. */
	else if (entry && !pid_of(word) && (state_of(word) == FORKED || state_of(word) == EXPECTED))
		change(entry, word, (uint32_t)child, state_of(word) == FORKED ? FORKED : MADE);
	if (child > 0 && !fxt_stack_is_short())
		fxt_task_child_begins(thread, birth->cause.at_ns, (uint32_t)child);
	fxt_task_expect(-1);
}

uint64_t fxt_birth_hidden(struct fxt_thread *thread, const struct fxt_birth *birth, bool made)
{
	thread->expects = 0;
	if (made)
		return fxt_task_hidden_begins(thread, birth->cause.at_ns);
	release(birth->entry);
	return 0;
}

void fxt_birth_vforked(struct fxt_thread *thread, uint32_t pid)
{
	struct fxt_cause cause = fxt_flow_leave(thread);
	bool again = thread->vfork.child == pid;

	/* An exec that searches PATH may try one file after the other: this is the same child once more. */
	if (again)
		release(thread->vfork.link);
	thread->vfork.child = pid;
	thread->vfork.link = make_entry(&cause, pid, MADE);
	if (!again)
		fxt_task_child_begins(thread, cause.at_ns, pid);
}

void fxt_birth_forked(const struct fxt_birth *birth)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	struct fxt_parent_entry *entry;
	uint64_t word;

	if (!thread)
		return;
	thread->expects = 0;
	first_moment.cause = birth->cause;
	fxt_flow_first_moment(thread, &birth->cause, &first_moment.after_ns, &first_moment.end_ns);
	first_moment.tid = thread->tid;
	fxt_deferred_ask(thread);
	/* The parent may be writing down the pid at this moment, so a change that fails is tried again. */
	while ((entry = dereference(birth->entry, &word)) != NULL && state_of(word) == FORKED) {
		if (!change(entry, word, thread->pid, ALIVE))
			continue;
		atomic_store(&own, birth->entry);
		return;
	}
}

void fxt_birth_tell(struct fxt_thread *thread)
{
	if (!first_moment.tid || first_moment.tid != thread->tid || !fxt_agent_has_file())
		return;
	first_moment.tid = 0;
	fxt_flow_resume(thread, first_moment.after_ns, first_moment.end_ns, &first_moment.cause, 1);
}

/* -- The start of a program -------------------------------------------------------------------- */

/* Returns whether an entry can be this process's, by the time at which the kernel made the process: an
 * earlier process may have had the same pid. An `expected` entry has no pid, so the process must not be older
 * than the entry either. */
static bool may_be_own(const struct fxt_parent_entry *entry, bool expected, uint64_t start_ns)
{
	const uint64_t tick_ns = NS_PER_SECOND / 100;

	return start_ns && start_ns < entry->born_ns + BEGINS_WITHIN_NS &&
	       (!expected || start_ns + tick_ns >= entry->born_ns);
}

static size_t put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length + 1);
	return length;
}

struct look {
	uint32_t parent, tid, pid;
};

/* Returns whether a process is in the kernel's list of a thread's children. Runs apart, because it opens a
 * file. */
static long look_for_child(void *argument)
{
	const struct look *look = argument;
	char text[CHILDREN_BYTES];
	size_t length = 0;
	uint32_t number = 0;
	ssize_t bytes, i;
	bool found = false;
	int fd;

	length += put_text(text, "/proc/");
	length += fxt_decimal(text + length, look->parent);
	length += put_text(text + length, "/task/");
	length += fxt_decimal(text + length, look->tid);
	put_text(text + length, "/children");
	fd = fxt_sys_open(text, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	/* The file has numbers, each with a blank behind it. */
	while (!found && (bytes = fxt_sys_read(fd, text, sizeof(text))) > 0) {
		for (i = 0; i < bytes && !found; i++) {
			found = text[i] == ' ' && number == look->pid;
			number = text[i] == ' ' ? 0 : number * 10 + (uint32_t)(text[i] - '0');
		}
	}
	fxt_sys_close(fd);
	return found;
}

/* Returns whether the kernel says that this thread of `parent` has made process `pid`. */
static bool is_child_of(uint32_t parent, uint32_t tid, uint32_t pid)
{
	struct look look = {parent, tid, pid};

	return fxt_apart(look_for_child, &look) > 0;
}

/* Returns when this process began, on the clock of the host; 0: not known. */
static uint64_t began_ns(void)
{
	uint64_t ns = fxt_process_start_ns();

	return ns ? ns - (uint64_t)fxt_clock_offset_ns : 0;
}

/* Looks for this process's entry among those of its parent, and counts in *count how many it can be. An entry
 * with the process's pid is the one. Otherwise it can be any entry without a pid; if `by_thread`, only those
 * of the thread that made the process. *found gets the entry's word. If its state is ALIVE, the process has
 * executed another program since it took the entry. */
static struct fxt_parent_entry *look(uint32_t parent, uint32_t pid, bool by_thread, uint64_t *found,
				  unsigned *count)
{
	struct fxt_parent_entry *entry, *expected = NULL;
	uint64_t word, start_ns = 0;
	enum state state;
	unsigned n;

	*count = 0;
	for (n = 0; n < LOOKED_AT; n++) {
		entry = entry_of(parent, n);
		word = atomic_load(&entry->word);
		state = state_of(word);
		if (entry->parent != parent || (state != EXPECTED && pid_of(word) != pid) || state < FORKED ||
		    state > ALIVE || entry->check != check_of(entry, false))
			continue;
		if (!start_ns)
			start_ns = began_ns();
		if (!may_be_own(entry, state == EXPECTED, start_ns) ||
		    (by_thread && state == EXPECTED && !is_child_of(parent, entry->parent_tid, pid)))
			continue;
		expected = entry;
		*found = word;
		*count += 1;
		/* The entry has the process's pid, so the others do not matter. */
		if (state != EXPECTED) {
			*count = 1;
			break;
		}
	}
	return expected;
}

/* Returns this process's entry, with its word in *word; NULL if none is certain to be its own. */
static struct fxt_parent_entry *find_own(uint32_t parent, uint32_t pid, uint64_t *word)
{
	unsigned count;
	struct fxt_parent_entry *entry = look(parent, pid, false, word, &count);

	/* The kernel is asked only if there is a choice, because that costs several system calls. */
	if (count > 1)
		entry = look(parent, pid, true, word, &count);
	return count == 1 ? entry : NULL;
}

void fxt_parent_start(void)
{
	struct fxt_thread *thread = fxt_shared && !fxt_koid_differs() ? fxt_enter(FXT_CAT_process) : NULL;
	uint32_t parent = thread ? (uint32_t)FXT_SYSCALL0(SYS_getppid) : 0;
	struct fxt_cause cause;
	struct fxt_parent_entry *entry;
	uint64_t word = 0;

	if (!thread || (int)parent <= 0)
		return;
	entry = find_own(parent, thread->pid, &word);
	if (!entry)
		return;
	cause = (struct fxt_cause){.at_ns = entry->born_ns,
				   .pid = parent,
				   .tid = entry->parent_tid,
				   .cpu_and_1 = entry->parent_cpu_and_1};
	/* If the state is ALIVE, the process has executed another program, and its arrow was written
	 * before. */
	if (state_of(word) != ALIVE) {
		if (!change(entry, word, thread->pid, ALIVE)) {
			/* Either the parent has written down the pid meanwhile, or another child was
			 * faster. */
			word = atomic_load(&entry->word);
			if (pid_of(word) != thread->pid || state_of(word) != MADE ||
			    !change(entry, word, thread->pid, ALIVE))
				return;
		}
		if (fxt_shared_may_be(cause.at_ns, fxt_now(thread)))
			fxt_flow_arrive(thread, &cause);
	}
	atomic_store(&own, reference_of(entry, word));
}

/* -- Ends -------------------------------------------------------------------------------------- */

void fxt_parent_leave(struct fxt_thread *thread)
{
	struct fxt_cause cause;
	struct fxt_parent_entry *entry;
	uint64_t word;

	fxt_birth_tell(thread);
	entry = dereference(atomic_load(&own), &word);
	/* The child of a vfork finds its parent's entry here, which is not its own. */
	if (!entry || state_of(word) != ALIVE || pid_of(word) != (uint32_t)fxt_sys_getpid() ||
	    !change(entry, word, pid_of(word), LEAVING))
		return;
	cause = fxt_flow_leave(thread);
	entry->left_ns = cause.at_ns;
	entry->left_tid = cause.tid;
	entry->left_cpu_and_1 = cause.cpu_and_1 | (fxt_agent_has_file() ? 0 : LEFT_NAMELESS);
	entry->check = check_of(entry, true);
	atomic_store(&entry->word, word_of(generation_of(word), pid_of(word), LEFT));
}

void fxt_parent_stay(void)
{
	uint64_t word;
	struct fxt_parent_entry *entry = dereference(atomic_load(&own), &word);

	if (!entry || state_of(word) != LEFT || pid_of(word) != (uint32_t)fxt_sys_getpid())
		return;
	entry->check = check_of(entry, false);
	change(entry, word, pid_of(word), ALIVE);
}

/* Frees the entry of a child that was reaped, and says in *cause who ended the child and when. Returns false
 * if the child has left no end. */
static bool take_end(struct fxt_parent_entry *entry, uint64_t word, struct fxt_cause *cause,
		     bool *is_nameless)
{
	bool is_whole = entry->check == check_of(entry, true);

	*is_nameless = entry->left_cpu_and_1 & LEFT_NAMELESS;
	*cause = (struct fxt_cause){.at_ns = entry->left_ns, .pid = pid_of(word), .tid = entry->left_tid,
				    .cpu_and_1 = entry->left_cpu_and_1 & ~LEFT_NAMELESS};
	return change(entry, word, 0, FREE) && state_of(word) == LEFT && is_whole;
}

/* Names a kernel object, `koid`, by this program's name. */
static void put_name(struct fxt_thread *thread, enum fxt_kernel_object_type type, uint32_t koid,
		     struct fxt_args args)
{
	uint64_t record[16];

	fxt_thread_put_extra(
		thread, record,
		fxt_encode_kernel_object(record, 16, type, koid,
					 FXT_INLINE(fxt_agent.program, strlen(fxt_agent.program)), args));
}

static void put_names(struct fxt_thread *thread, uint32_t pid, uint32_t tid)
{
	struct fxt_arg process = {FXT_ARG_KOID, FXT_INDEXED(FXT_STR_process), .u64 = pid};

	put_name(thread, FXT_OBJECT_PROCESS, pid, (struct fxt_args){0});
	put_name(thread, FXT_OBJECT_THREAD, tid, (struct fxt_args){1, &process});
}

void fxt_parent_name(struct fxt_thread *thread, uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;
	_Atomic uint64_t *place = &named[fxt_wait_hash(key << 1) >> 58];

	/* Threads that share a place are named again whenever they take it from one another. */
	if (fxt_shared_is_run() || atomic_exchange_explicit(place, key, memory_order_relaxed) == key)
		return;
	put_names(thread, pid, tid);
}

/* Writes the arrow from a child's end to the call that reaped the child. */
static void resume(struct fxt_thread *thread, struct fxt_cause *cause, bool is_nameless, uint64_t start_ns,
		   uint64_t after_ns, uint64_t end_ns)
{
	/* A child without a file has recorded nothing: it is a fork of this program, and has its name. */
	if (is_nameless && fxt_shared_is_run())
		put_names(thread, cause->pid, cause->tid);
	/* If the child had ended before the call began, the call did not sleep, and no processor woke it. */
	if (cause->at_ns < start_ns)
		cause->cpu_and_1 = 0;
	fxt_flow_resume(thread, after_ns, end_ns, cause, 1);
}

/* Frees the entries of a child that was reaped. If several have its pid, the newest is the child's; the
 * others are of children that were reaped unseen. Returns what take_end() returns for it. */
static bool take_end_of(uint32_t parent, uint32_t pid, struct fxt_cause *cause, bool *is_nameless)
{
	struct fxt_cause found;
	struct fxt_parent_entry *entry;
	uint64_t word, newest_ns = 0, born_ns;
	bool has_left = false, left, nameless;
	unsigned n;

	for (n = 0; fxt_shared && n < LOOKED_AT; n++) {
		entry = entry_of(parent, n);
		word = atomic_load(&entry->word);
		if (pid_of(word) != pid || entry->parent != parent || state_of(word) == FREE ||
		    state_of(word) >= SENT)
			continue;
		born_ns = entry->born_ns;
		left = take_end(entry, word, &found, &nameless);
		if (born_ns < newest_ns)
			continue;
		newest_ns = born_ns;
		has_left = left;
		*is_nameless = nameless;
		*cause = found;
	}
	return has_left;
}

void fxt_child_reaped(struct fxt_thread *thread, int pid, int status, uint64_t start_ns, uint64_t after_ns,
		      uint64_t end_ns)
{
	struct fxt_cause cause;
	bool is_nameless;

	if (fxt_stack_is_short())
		return;
	fxt_task_child_ends(thread, end_ns, (uint32_t)pid, status);
	if (take_end_of(thread->pid, (uint32_t)pid, &cause, &is_nameless))
		resume(thread, &cause, is_nameless, start_ns, after_ns, end_ns);
}

void fxt_child_ended(struct fxt_thread *thread, const struct fxt_birth *birth, uint64_t life, int status,
		     uint64_t start_ns, uint64_t after_ns, uint64_t end_ns)
{
	struct fxt_cause cause = {0};
	uint64_t word;
	struct fxt_parent_entry *entry = dereference(birth->entry, &word);
	bool is_nameless = false, left = entry && take_end(entry, word, &cause, &is_nameless);

	if (thread->expects == birth->entry)
		thread->expects = 0;
	fxt_task_hidden_ends(thread, life, end_ns, cause.pid, status);
	if (left)
		resume(thread, &cause, is_nameless, start_ns, after_ns, end_ns);
}

void fxt_parent_after_fork(void)
{
	first_moment.tid = 0;
	atomic_store(&own, 0);
	memset(named, 0, sizeof(named));
}
