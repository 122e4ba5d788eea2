/* See sent.h. */
#include "sent.h"

#include "kin_entry.h"

enum {
	FIRST = KIN_PAGE_ENTRIES - 16,          /* the last of a process's page are for signals too */
	SIGNALS_BYTES = 8,                      /* of the kernel's sets */
};

/* -- Sending ----------------------------------------------------------------------------------- */

/* Free, or of the signal that was sent first: nobody waited for that. */
static struct fxt_kin_entry *find_room(uint32_t pid, uint64_t *found)
{
	struct fxt_kin_entry *entry, *oldest = NULL;
	unsigned n;
	uint64_t word;

	for (n = FIRST; n < KIN_PAGE_ENTRIES; n++) {
		entry = entry_of(pid, n);
		word = atomic_load_explicit(&entry->word, memory_order_relaxed);
		if (state_of(word) == FREE) {
			*found = word;
			return entry;
		}
		if (state_of(word) == SENT && (!oldest || entry->born_ns < oldest->born_ns)) {
			*found = word;
			oldest = entry;
		}
	}
	return oldest;
}

uint64_t fxt_signal_sent(uint32_t pid, uint64_t thread, int signum)
{
	struct fxt_thread *self = fxt_shared && pid && signum > 0 && signum < NSIG ? fxt_enter(FXT_CAT_process) : NULL;
	struct fxt_kin_entry *entry;
	struct fxt_cause cause;
	uint64_t word = 0;

	entry = self ? find_room(pid, &word) : NULL;
	if (!entry || !atomic_compare_exchange_strong(&entry->word, &word, word_of(generation_of(word) + 1, 0, FILLED)))
		return 0;
	cause = fxt_flow_leave(self);
	entry->born_ns = cause.at_ns;
	entry->parent = cause.pid;
	entry->parent_tid = cause.tid;
	entry->parent_cpu_and_1 = cause.cpu_and_1;
	entry->signum = (uint32_t)signum;
	entry->thread = thread;
	word = word_of(generation_of(word) + 1, pid, SENT);
	atomic_store(&entry->word, word);
	return reference_of(entry, word);
}

void fxt_signal_unsent(uint64_t sent)
{
	uint64_t word;
	struct fxt_kin_entry *entry = dereference(sent, &word);

	if (entry && state_of(word) == SENT)
		change(entry, word, 0, FREE);
}

/* -- Waiting ----------------------------------------------------------------------------------- */

/* Whether it was for this thread, and sent since then. */
static bool is_for(const struct fxt_kin_entry *entry, uint64_t word, const struct fxt_thread *thread, uint64_t start_ns)
{
	return state_of(word) == SENT && pid_of(word) == thread->pid && entry->born_ns >= start_ns &&
	       (!entry->thread || entry->thread == thread->tid || entry->thread == thread->handle);
}

static bool take(struct fxt_kin_entry *entry, uint64_t word, struct fxt_cause *cause)
{
	if (!entry)
		return false;
	*cause = (struct fxt_cause){.at_ns = entry->born_ns, .pid = entry->parent, .tid = entry->parent_tid,
				    .cpu_and_1 = entry->parent_cpu_and_1};
	return change(entry, word, 0, FREE);
}

bool fxt_signal_received(const struct fxt_thread *thread, uint64_t start_ns, const siginfo_t *info, struct fxt_cause *cause)
{
	struct fxt_kin_entry *entry, *found = NULL;
	uint64_t word, found_word = 0;
	unsigned n;

	if (!fxt_shared || (info->si_code != SI_USER && info->si_code != SI_QUEUE && info->si_code != SI_TKILL))
		return false;
	for (n = FIRST; n < KIN_PAGE_ENTRIES; n++) {
		entry = entry_of(thread->pid, n);
		word = atomic_load(&entry->word);
		if (!is_for(entry, word, thread, start_ns) || entry->signum != (uint32_t)info->si_signo ||
		    entry->parent != (uint32_t)info->si_pid)
			continue;
		/* Of a thread that has sent several the first is the one; of two threads it is not known which was
		 * first. */
		if (found && entry->parent_tid != found->parent_tid)
			return false;
		if (!found || entry->born_ns < found->born_ns) {
			found = entry;
			found_word = word;
		}
	}
	return take(found, found_word, cause);
}

/* Whether the program has a handler for it. */
static bool is_handled(uint32_t signum)
{
	struct {
		uintptr_t handler;
		uint64_t rest[3];
	} action = {0};

	return !FXT_SYSCALL4(SYS_rt_sigaction, signum, NULL, &action, SIGNALS_BYTES) && action.handler > (uintptr_t)SIG_IGN;
}

bool fxt_signal_handled(const struct fxt_thread *thread, uint64_t start_ns, const sigset_t *mask, struct fxt_cause *cause)
{
	struct fxt_kin_entry *entry, *found = NULL;
	uint64_t word, found_word = 0, blocked;
	unsigned n;

	if (!fxt_shared)
		return false;
	/* Of the C library's set the kernel's is the first word. */
	memcpy(&blocked, mask, sizeof(blocked));
	for (n = FIRST; n < KIN_PAGE_ENTRIES; n++) {
		entry = entry_of(thread->pid, n);
		word = atomic_load(&entry->word);
		if (!is_for(entry, word, thread, start_ns) || entry->signum - 1 >= 64 || blocked >> (entry->signum - 1) & 1 ||
		    !is_handled(entry->signum))
			continue;
		if (found || entry->parent != thread->pid)
			return false;
		found = entry;
		found_word = word;
	}
	return take(found, found_word, cause);
}
