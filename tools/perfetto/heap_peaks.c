/* Finds what each process had of the heap when most of it was in use. See profile.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

static uint64_t process_of(const struct fxt_profile *p, const struct fxt_profile_change *change)
{
	return p->heaps[change->heap].process;
}

/* Orders by process and time. What is freed at one time with what is taken makes room for that. */
static int by_process(const void *a, const void *b, void *profile)
{
	const struct fxt_profile_change *x = a, *y = b;
	uint64_t first = process_of(profile, x), second = process_of(profile, y);

	if (first != second)
		return first < second ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (int)y->is_free - (int)x->is_free;
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_heap_peak *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->process < y->process ? -1 : 1;
}

/* Returns how many of a process's changes were there at its peak. *has_freed says that something was freed
 * later. */
static size_t until_peak(const struct fxt_profile_change *changes, size_t count, bool *has_freed)
{
	uint64_t now = 0, most = 0;
	size_t until = 0;

	*has_freed = false;
	for (size_t i = 0; i < count; i++) {
		if (changes[i].is_free) {
			now -= changes[i].bytes;
			*has_freed = true;
			continue;
		}
		now += changes[i].bytes;
		if (now > most) {
			most = now;
			until = i + 1;
			*has_freed = false;
		}
	}
	return until;
}

/* Adds up a process's changes. `sums` has a place for each of the profile's heaps, all zero, and is so again
 * afterwards. */
static void add_up(const struct fxt_profile *p, const struct fxt_profile_change *changes, size_t count,
		   struct fxt_profile_heap *sums, struct fxt_heap_peak *peak)
{
	size_t capacity = 0;

	for (size_t i = 0; i < count; i++) {
		struct fxt_profile_heap *sum = &sums[changes[i].heap];

		if (!sum->blocks) {
			sum->process = peak->process;
			sum->node = p->heaps[changes[i].heap].node;
		}
		*(changes[i].is_free ? &sum->freed : &sum->allocated) += changes[i].bytes;
		*(changes[i].is_free ? &sum->freed_blocks : &sum->blocks) += 1;
	}
	for (size_t i = 0; i < count; i++) {
		struct fxt_profile_heap *sum = &sums[changes[i].heap];

		if (!sum->blocks)
			continue;
		peak->heaps = fxt_grow(peak->heaps, &capacity, peak->count + 1, sizeof(*peak->heaps));
		peak->heaps[peak->count++] = *sum;
		memset(sum, 0, sizeof(*sum));
	}
}

struct fxt_heap_peak *fxt_heap_peaks(struct fxt_profile *p, size_t *count)
{
	struct fxt_profile_heap *sums = fxt_alloc(p->heap_count + 1, sizeof(*sums));
	struct fxt_heap_peak *peaks = NULL;
	size_t capacity = 0;

	*count = 0;
	if (p->change_count)
		qsort_r(p->changes, p->change_count, sizeof(*p->changes), by_process, p);
	for (size_t from = 0, to, until; from < p->change_count; from = to) {
		uint64_t process = process_of(p, &p->changes[from]);
		bool has_freed;

		for (to = from + 1; to < p->change_count && process_of(p, &p->changes[to]) == process;)
			to++;
		until = until_peak(&p->changes[from], to - from, &has_freed);
		if (!has_freed || !until)
			continue;
		peaks = fxt_grow(peaks, &capacity, *count + 1, sizeof(*peaks));
		peaks[*count] = (struct fxt_heap_peak){.process = process,
						       .at_ns = p->changes[from + until - 1].at_ns};
		add_up(p, &p->changes[from], until, sums, &peaks[(*count)++]);
	}
	if (*count)
		qsort(peaks, *count, sizeof(*peaks), by_time);
	free(sums);
	return peaks;
}

void fxt_heap_peaks_free(struct fxt_heap_peak *peaks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(peaks[i].heaps);
	free(peaks);
}
