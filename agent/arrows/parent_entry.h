/* The entries of the section `parents` of the shared memory: what they contain, and how they are found and
 * changed. parent_links.c uses them for children and signal_senders.c for signals; both do so in any
 * context. */
#ifndef FXT_PARENT_ENTRY_H
#define FXT_PARENT_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared.h"
#include "wait.h"

enum { PARENT_PAGE_ENTRIES = FXT_SHARED_PAGE_BYTES / FXT_PARENT_ENTRY_BYTES };

/* The states of an entry. */
enum state {
	FREE,
	FILLED,                         /* the parent is filling it */
	FORKED,                         /* a child is being forked, or was; it knows the entry */
	EXPECTED,                       /* a child that will look for it is being made; no pid is known */
	MADE,                           /* a child that will look for it was made; the pid is known */
	ALIVE,                          /* the child has taken it */
	LEAVING,                        /* the child is writing down its end */
	LEFT,                           /* the child has written down its end */
	SENT,                           /* no child: a signal to the process of that pid (signal_senders.c) */
	SENT_TO_GROUP,                  /* a signal to a group; each process that gets it leaves the entry */
};

struct fxt_parent_entry {
	_Atomic uint64_t word;          /* state, pid of the child or 0, generation: word_of() */
	uint64_t born_ns, left_ns;      /* when the child was made, and when it ended */
	uint32_t parent, parent_tid, parent_cpu_and_1;  /* the maker of the child, or the signal's sender */
	uint32_t left_tid, left_cpu_and_1;      /* the thread that ended the child; LEFT_NAMELESS */
	uint32_t signum;
	uint64_t thread;                /* the tid or handle of the thread that the signal is for; 0: any */
	_Atomic uint32_t arrows;        /* how many have left from a signal to a group */
	uint32_t check;                 /* a checksum of the rest, by the entry's state: check_of() */
};

/* A bit of left_cpu_and_1: the child had no file, so its name stands nowhere in the trace. */
#define LEFT_NAMELESS (UINT32_C(1) << 31)

static_assert(sizeof(struct fxt_parent_entry) == FXT_PARENT_ENTRY_BYTES &&
		      FXT_PARENT_ENTRIES % PARENT_PAGE_ENTRIES == 0,
	      "as the section is laid out");

static inline uint64_t word_of(uint64_t generation, uint32_t pid, enum state state)
{
	return generation << 40 | (uint64_t)pid << 8 | state;
}

static inline enum state state_of(uint64_t word)
{
	return (enum state)(word & 0xff);
}

static inline uint32_t pid_of(uint64_t word)
{
	return (uint32_t)(word >> 8);
}

static inline uint64_t generation_of(uint64_t word)
{
	return word >> 40;
}

/* Returns entry n, counted from the beginning of the page in which the entries of `parent` begin. */
static inline struct fxt_parent_entry *entry_of(uint32_t parent, unsigned n)
{
	unsigned page = (unsigned)(fxt_wait_hash(parent) >> 52) % (FXT_PARENT_ENTRIES / PARENT_PAGE_ENTRIES);

	return (struct fxt_parent_entry *)(void *)fxt_shared->parents +
	       (page * PARENT_PAGE_ENTRIES + n) % FXT_PARENT_ENTRIES;
}

/* Returns a reference to an entry in the generation that `word` has. It is never 0. */
static inline uint64_t reference_of(const struct fxt_parent_entry *entry, uint64_t word)
{
	return (uint64_t)(entry - (struct fxt_parent_entry *)(void *)fxt_shared->parents + 1) << 32 |
	       generation_of(word);
}

/* Returns the entry that a reference stands for, with its present word in *word; NULL if the reference is 0
 * or the entry is used for something else by now. */
static inline struct fxt_parent_entry *dereference(uint64_t reference, uint64_t *word)
{
	struct fxt_parent_entry *entry;

	if (!reference || !fxt_shared)
		return NULL;
	entry = (struct fxt_parent_entry *)(void *)fxt_shared->parents +
		((reference >> 32) - 1) % FXT_PARENT_ENTRIES;
	*word = atomic_load(&entry->word);
	return generation_of(*word) == (uint32_t)reference ? entry : NULL;
}

/* Changes pid and state of an entry, if its word is still `word`. Returns whether it was. */
static inline bool change(struct fxt_parent_entry *entry, uint64_t word, uint32_t pid, enum state state)
{
	return atomic_compare_exchange_strong(&entry->word, &word, word_of(generation_of(word), pid, state));
}

/* Returns the checksum of what a parent or a sender and, if `has_left`, a child that ended has written down.
 * Each reader compares it: other processes write to this memory, too, and what does not fit is not
 * believed. */
static inline uint32_t check_of(const struct fxt_parent_entry *entry, bool has_left)
{
	uint64_t check = entry->born_ns ^ (uint64_t)entry->parent << 32 ^ entry->parent_tid;

	check = (check ^ check >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + entry->parent_cpu_and_1 +
		((uint64_t)entry->signum << 32) + entry->thread;
	if (has_left) {
		check = (check ^ check >> 31) * UINT64_C(0x94d049bb133111eb) + entry->left_ns;
		check = (check ^ check >> 29) * UINT64_C(0xbf58476d1ce4e5b9) +
			((uint64_t)entry->left_tid << 32) + entry->left_cpu_and_1;
	}
	check = (check ^ check >> 31) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(check >> 32);
}

/* Frees the entry that a reference stands for, if it is still the same. */
static inline void release(uint64_t reference)
{
	uint64_t word;
	struct fxt_parent_entry *entry = dereference(reference, &word);

	if (entry)
		change(entry, word, 0, FREE);
}

#endif
