/* The gap of an archive that keeps its first file and the newest ones: archive.c counts what each file has,
 * and when one is removed, what it had belongs to the gap.
 * */
#ifndef FXT_TOOLS_ARCHIVE_GAP_H
#define FXT_TOOLS_ARCHIVE_GAP_H

#include <stddef.h>
#include <stdint.h>

#include "tools/common/map.h"

/* How many files there are beside the first one, at most. */
enum { FXT_ARCHIVE_MOST_KEPT = 99 };

/* What some files have of a provider: how many calls, and the times of the first and the last event. */
struct fxt_archive_span {
	uint64_t calls, first_ns, last_ns;
};

struct fxt_archive_sums {
	struct fxt_map providers;       /* ids -> an index of `spans` */
	struct fxt_archive_span *spans;
	size_t count, capacity;
};

/* At first all members are zero. */
struct fxt_archive_gap {
	/* of the files that are there, the present one first; and of those that are gone */
	struct fxt_archive_sums files[FXT_ARCHIVE_MOST_KEPT + 1], gone;
	/* providers -> their names, strings of ours, and the index that they have for the string "agent" */
	struct fxt_map names;
};

/* Remembers the name of a provider. */
void fxt_archive_gap_name(struct fxt_archive_gap *g, uint32_t id, const char *name, size_t bytes);

/* Notes the index of a string record if that is the name of the agent's category; `record` may be NULL.
 * `known` is what was noted before. Returns what is known. */
uint64_t fxt_archive_gap_agent(struct fxt_archive_gap *g, uint32_t id, const uint64_t *record,
			       uint64_t known);

/* Returns what the present file has of the provider, and counts an event there. Its category is compared
 * with that of the agent. */
struct fxt_archive_span *fxt_archive_gap_span(struct fxt_archive_gap *g, uint32_t id);
void fxt_archive_gap_count(struct fxt_archive_span *span, uint64_t header, uint64_t at_ns, uint64_t agent);

/* Says that the present file is kept for good; or that it is the first of the older ones now, and the one
 * that was number `count` is gone. */
void fxt_archive_gap_keep(struct fxt_archive_gap *g);
void fxt_archive_gap_shift(struct fxt_archive_gap *g, unsigned count);

/* Makes records that tell of the gap: for each provider its name, and then events. */
void fxt_archive_gap_put(const struct fxt_archive_gap *g,
			 void (*put)(void *context, const uint64_t *words, size_t count), void *context);

void fxt_archive_gap_free(struct fxt_archive_gap *g);

#endif
