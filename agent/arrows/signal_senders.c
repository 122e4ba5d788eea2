/* See signal_senders.h. Leaves the notes of signals that are sent, and finds them for the threads that got
 * the signals. */
#include "signal_senders.h"

#include "agent/base/fdinfo.h"
#include "agent/base/koid.h"
#include "parent_entry.h"

enum {
	/* the last entries of a process's page, and of a group's, which are also for signals */
	PLACES = 16,
	FIRST = PARENT_PAGE_ENTRIES - PLACES,
	SIGNALS_BYTES = 8,                      /* bytes of the kernel's signal sets */
	/* signals from here on are pending as often as they were sent */
	QUEUED = 32,
	/* arrows from one signal to a group; further ones are left out */
	ARROWS = 64,
};

/* -- Sending ----------------------------------------------------------------------------------- */

static bool is_sent(uint64_t word)
{
	return state_of(word) == SENT || state_of(word) == SENT_TO_GROUP;
}

/* Returns a free entry, or else that of the signal that was sent first, which most likely no thread waits
 * for. Returns NULL if children have all PLACES entries. `*found` gets the entry's word. */
static struct fxt_parent_entry *find_room(uint32_t id, uint64_t *found)
{
	struct fxt_parent_entry *entry, *oldest = NULL;
	unsigned n;
	uint64_t word;

	for (n = FIRST; n < PARENT_PAGE_ENTRIES; n++) {
		entry = entry_of(id, n);
		word = atomic_load_explicit(&entry->word, memory_order_relaxed);
		if (state_of(word) == FREE) {
			*found = word;
			return entry;
		}
		if (is_sent(word) && (!oldest || entry->born_ns < oldest->born_ns)) {
			*found = word;
			oldest = entry;
		}
	}
	return oldest;
}

static uint32_t own_group(void)
{
	long group = FXT_SYSCALL1(SYS_getpgid, 0);

	return group > 0 ? (uint32_t)group : 0;
}

uint64_t fxt_signal_sent(int to, uint64_t thread, int signum)
{
	bool goes_out = fxt_shared && !fxt_koid_differs() && to != FXT_SENT_TO_ALL && signum > 0 &&
		signum < NSIG;
	struct fxt_thread *self = goes_out ? fxt_enter(FXT_CAT_process) : NULL;
	uint32_t id = to > 0 || !self ? (uint32_t)to : to ? -(uint32_t)to : own_group();
	struct fxt_parent_entry *entry;
	struct fxt_cause cause;
	uint64_t word = 0;

	entry = self && id ? find_room(id, &word) : NULL;
	if (!entry ||
	    !atomic_compare_exchange_strong(&entry->word, &word, word_of(generation_of(word) + 1, 0, FILLED)))
		return 0;
	cause = fxt_flow_leave(self);
	entry->born_ns = cause.at_ns;
	entry->parent = cause.pid;
	entry->parent_tid = cause.tid;
	entry->parent_cpu_and_1 = cause.cpu_and_1;
	entry->signum = (uint32_t)signum;
	entry->thread = thread;
	entry->check = check_of(entry, false);
	atomic_store(&entry->arrows, 0);
	/* Each arrow from a signal to a group leaves at a time of its own: see take(). */
	if (to <= 0)
		self->last_ns += 2 * (ARROWS - 1);
	word = word_of(generation_of(word) + 1, id, to > 0 ? SENT : SENT_TO_GROUP);
	atomic_store(&entry->word, word);
	return reference_of(entry, word);
}

void fxt_signal_unsent(uint64_t sent)
{
	uint64_t word;
	struct fxt_parent_entry *entry = dereference(sent, &word);

	if (entry && is_sent(word))
		change(entry, word, 0, FREE);
}

int fxt_signal_pidfd(int pidfd)
{
	struct fxt_fdinfo info;
	uint64_t pid;

	/* The number is 0 if the process is in another namespace, and -1 if it is gone. */
	if (!fxt_shared || !fxt_fdinfo_read(&info, pidfd) || !fxt_fdinfo_number(&info, "Pid", 10, &pid) ||
	    !pid || pid > INT32_MAX)
		return FXT_SENT_TO_ALL;
	return (int)pid;
}

/* -- Waiting ----------------------------------------------------------------------------------- */

/* References to the notes of signals to a group that this process has taken. The notes stay, because they are
 * for other processes as well. */
static _Atomic uint64_t taken[PLACES];

/* A note that may be that of the signal. */
struct candidate {
	struct fxt_parent_entry *entry;
	uint64_t word;
	unsigned place;
};

/* Looks at note n. The first PLACES notes are of signals to this process, and the others of signals to its
 * group. The group's number is stored in `*group` when note PLACES is looked at. Returns false if the note
 * is not for this thread, or was taken. */
static bool look_at(const struct fxt_thread *thread, unsigned n, uint32_t *group, struct candidate *found)
{
	if (n == PLACES)
		*group = own_group();
	found->place = n % PLACES;
	found->entry = entry_of(n < PLACES ? thread->pid : *group, FIRST + found->place);
	found->word = atomic_load(&found->entry->word);
	if (found->entry->check != check_of(found->entry, false))
		return false;
	if (n < PLACES)
		return state_of(found->word) == SENT && pid_of(found->word) == thread->pid &&
		       (!found->entry->thread || found->entry->thread == thread->tid ||
			found->entry->thread == thread->handle);
	return state_of(found->word) == SENT_TO_GROUP && pid_of(found->word) == *group &&
	       atomic_load(&taken[found->place]) != reference_of(found->entry, found->word);
}

/* Takes the note away, so that no other thread of this process gets it. Returns false if another thread has
 * it, or if the entry is another note's by now. */
static bool forget(const struct candidate *found)
{
	uint64_t reference = reference_of(found->entry, found->word), was;

	if (state_of(found->word) == SENT)
		return change(found->entry, found->word, 0, FREE);
	was = atomic_load(&taken[found->place]);
	return was != reference && atomic_compare_exchange_strong(&taken[found->place], &was, reference) &&
	       atomic_load(&found->entry->word) == found->word;
}

/* Takes the note, and stores in `*cause` who sent the signal. The arrows from a signal to a group leave 2 ns
 * after each other. Returns false if the note was taken already, or if ARROWS arrows have left from it. */
static bool take(const struct candidate *found, struct fxt_cause *cause)
{
	struct fxt_parent_entry *entry = found->entry;
	uint32_t before;

	if (!entry)
		return false;
	*cause = (struct fxt_cause){.at_ns = entry->born_ns, .pid = entry->parent, .tid = entry->parent_tid,
				    .cpu_and_1 = entry->parent_cpu_and_1};
	if (!forget(found))
		return false;
	before = state_of(found->word) == SENT ? 0 : atomic_fetch_add(&entry->arrows, 1);
	cause->at_ns += 2 * (uint64_t)before;
	return before < ARROWS;
}

/* Tells whether a thread may have sent the signal. */
static bool has_sender(const siginfo_t *info)
{
	return fxt_shared &&
		(info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL);
}

static bool is_like(const struct fxt_parent_entry *entry, const siginfo_t *info)
{
	return entry->signum == (uint32_t)info->si_signo && entry->parent == (uint32_t)info->si_pid;
}

/* Finds the first note that was left since start_ns. Returns false if there is none, or if there are notes of
 * two threads, because it is not known which thread was first. `*others` is the number of notes that were
 * left before start_ns. */
static bool first_since(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info,
			struct candidate *first, unsigned *others)
{
	struct candidate found;
	uint32_t group = 0;
	bool is_one = true;
	unsigned n;

	*first = (struct candidate){0};
	*others = 0;
	for (n = 0; n < 2 * PLACES; n++) {
		if (!look_at(thread, n, &group, &found) || !is_like(found.entry, info))
			continue;
		if (found.entry->born_ns < start_ns) {
			++*others;
			continue;
		}
		is_one = is_one && (!first->entry || first->entry->parent_tid == found.entry->parent_tid);
		if (!first->entry || found.entry->born_ns < first->entry->born_ns)
			*first = found;
	}
	return is_one && first->entry;
}

/* Forgets a signal's notes that were left before `before_ns`, if the signal can be pending only once: it came
 * once, however many threads had sent it. */
static void forget_before(const struct fxt_thread *thread, uint64_t before_ns, const siginfo_t *info)
{
	struct candidate found;
	uint32_t group = 0;
	unsigned n;

	if (info->si_signo >= QUEUED)
		return;
	for (n = 0; n < 2 * PLACES; n++)
		if (look_at(thread, n, &group, &found) && is_like(found.entry, info) &&
		    found.entry->born_ns < before_ns)
			forget(&found);
}

bool fxt_signal_received(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info,
			 struct fxt_cause *cause)
{
	struct candidate first;
	unsigned others;

	if (!has_sender(info))
		return false;
	if (first_since(thread, start_ns, info, &first, &others) && take(&first, cause))
		return true;
	/* Notes that were left before the wait are out of date: if that signal was pending, it has come. */
	forget_before(thread, start_ns, info);
	return false;
}

bool fxt_signal_taken(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info,
		      struct fxt_cause *cause)
{
	struct candidate first;
	unsigned others;

	if (!has_sender(info))
		return false;
	if (first_since(thread, start_ns, info, &first, &others) && !others)
		return take(&first, cause);
	/* If there is only one note, it is taken whenever it was left. If there are several, some may be of
	 * signals that a handler got, because such notes may stay. */
	if (!first.entry && others == 1)
		return first_since(thread, 0, info, &first, &others) && take(&first, cause);
	forget_before(thread, UINT64_MAX, info);
	return false;
}

/* Tells whether the program has a handler for the signal. */
static bool is_handled(uint32_t signum)
{
	struct {
		uintptr_t handler;
		uint64_t rest[3];
	} action = {0};

	return !FXT_SYSCALL4(SYS_rt_sigaction, signum, NULL, &action, SIGNALS_BYTES) &&
		action.handler > (uintptr_t)SIG_IGN;
}

bool fxt_signal_handled(const struct fxt_thread *thread, uint64_t start_ns, const sigset_t *mask,
			struct fxt_cause *cause)
{
	struct candidate found, only = {0};
	uint32_t group = 0;
	uint64_t blocked;
	unsigned n;

	if (!fxt_shared)
		return false;
	/* The first word of the C library's set is the kernel's. */
	memcpy(&blocked, mask, sizeof(blocked));
	for (n = 0; n < 2 * PLACES; n++) {
		if (!look_at(thread, n, &group, &found) || found.entry->born_ns < start_ns ||
		    found.entry->signum - 1 >= 64 || blocked >> (found.entry->signum - 1) & 1 ||
		    !is_handled(found.entry->signum))
			continue;
		if (only.entry || found.entry->parent != thread->pid)
			return false;
		only = found;
	}
	return take(&only, cause);
}
