/* The entries of the section `kin`, for parent_links.c and signal_senders.c: what their words say, and how they are found and
 * changed. */
#ifndef FXT_KIN_ENTRY_H
#define FXT_KIN_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared.h"
#include "wait.h"

enum { KIN_PAGE_ENTRIES = FXT_SHARED_PAGE_BYTES / FXT_KIN_ENTRY_BYTES };

/* What a word says of its entry. */
enum state {
	FREE,
	FILLED,                         /* by its parent, right now */
	FORKED,                         /* for a child that knows it: it may be there */
	EXPECTED,                       /* for a child that is going to look for it; its pid is not known */
	MADE,                           /* the same, its pid is */
	ALIVE,                          /* the child has taken it */
	LEAVING,                        /* it is writing down its end */
	LEFT,                           /* and has */
	SENT,                           /* no child at all: a signal to the process of that pid (signal_senders.c) */
	SENT_TO_GROUP,                  /* the same, to each process of that group; whoever gets it leaves it there */
};

struct fxt_kin_entry {
	_Atomic uint64_t word;          /* state, pid of the child or 0, generation */
	uint64_t born_ns, left_ns;
	uint32_t parent, parent_tid, parent_cpu_and_1;
	uint32_t left_tid, left_cpu_and_1;      /* and LEFT_NAMELESS */
	uint32_t signum;
	uint64_t thread;                /* the signal is for: its tid or handle, or 0 for any */
	_Atomic uint32_t arrows;        /* that have left from a signal to a group */
	uint32_t check;                 /* of what its state says is there: check_of() */
};

/* The child has no file, in which its name would stand. */
#define LEFT_NAMELESS (UINT32_C(1) << 31)

static_assert(sizeof(struct fxt_kin_entry) == FXT_KIN_ENTRY_BYTES && FXT_KIN_ENTRIES % KIN_PAGE_ENTRIES == 0, "as the section is laid out");

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

/* Entry n of those that a parent's are among. */
static inline struct fxt_kin_entry *entry_of(uint32_t parent, unsigned n)
{
	unsigned page = (unsigned)(fxt_wait_hash(parent) >> 52) % (FXT_KIN_ENTRIES / KIN_PAGE_ENTRIES);

	return (struct fxt_kin_entry *)(void *)fxt_shared->kin + (page * KIN_PAGE_ENTRIES + n) % FXT_KIN_ENTRIES;
}

/* What stands for an entry in this generation of it. */
static inline uint64_t reference_of(const struct fxt_kin_entry *entry, uint64_t word)
{
	return (uint64_t)(entry - (struct fxt_kin_entry *)(void *)fxt_shared->kin + 1) << 32 | generation_of(word);
}

/* NULL: it has been given to others. */
static inline struct fxt_kin_entry *dereference(uint64_t reference, uint64_t *word)
{
	struct fxt_kin_entry *entry;

	if (!reference || !fxt_shared)
		return NULL;
	entry = (struct fxt_kin_entry *)(void *)fxt_shared->kin + ((reference >> 32) - 1) % FXT_KIN_ENTRIES;
	*word = atomic_load(&entry->word);
	return generation_of(*word) == (uint32_t)reference ? entry : NULL;
}

static inline bool change(struct fxt_kin_entry *entry, uint64_t word, uint32_t pid, enum state state)
{
	return atomic_compare_exchange_strong(&entry->word, &word, word_of(generation_of(word), pid, state));
}

/* Of what a parent, a sender or a child that leaves has written down. Whoever reads it compares: it is
 * another process's memory too, and what does not fit is not believed. */
static inline uint32_t check_of(const struct fxt_kin_entry *entry, bool has_left)
{
	uint64_t check = entry->born_ns ^ (uint64_t)entry->parent << 32 ^ entry->parent_tid;

	check = (check ^ check >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + entry->parent_cpu_and_1 + ((uint64_t)entry->signum << 32) + entry->thread;
	if (has_left) {
		check = (check ^ check >> 31) * UINT64_C(0x94d049bb133111eb) + entry->left_ns;
		check = (check ^ check >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + ((uint64_t)entry->left_tid << 32) + entry->left_cpu_and_1;
	}
	check = (check ^ check >> 31) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(check >> 32);
}

static inline void release(uint64_t reference)
{
	uint64_t word;
	struct fxt_kin_entry *entry = dereference(reference, &word);

	if (entry)
		change(entry, word, 0, FREE);
}

#endif
