/* fxt report: sums up the calls of one kind on one file. See report_transfers.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_transfers.h"

#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"

void fxt_transfers_add(struct fxt_transfers *t, uint64_t ns, uint64_t bytes)
{
	if (t->calls < FXT_FEW_TRANSFERS) {
		t->few_ns[t->calls] = ns;
	} else if (!t->many) {
		t->many = fxt_alloc(1, sizeof(*t->many));
		for (size_t i = 0; i < FXT_FEW_TRANSFERS; i++)
			fxt_histogram_add(t->many, t->few_ns[i]);
	}
	if (t->many)
		fxt_histogram_add(t->many, ns);
	t->calls++;
	t->bytes += bytes;
	t->total_ns += ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t fxt_transfers_percentile(struct fxt_transfers *t, double percent)
{
	uint64_t ns;

	if (t->calls == 0)
		return 0;
	if (t->many) {
		ns = fxt_histogram_percentile(t->many, percent);
		return ns < t->max_ns ? ns : t->max_ns;
	}
	qsort(t->few_ns, t->calls, sizeof(t->few_ns[0]), ascending);
	return t->few_ns[(size_t)fmax(ceil((double)t->calls * percent / 100), 1) - 1];
}

uint64_t fxt_transfers_mean_bytes(const struct fxt_transfers *t)
{
	return t->calls > t->unsaid ? t->bytes / (t->calls - t->unsaid) : 0;
}

void fxt_transfers_free(struct fxt_transfers *t)
{
	if (t->many)
		fxt_histogram_free(t->many);
	free(t->many);
	*t = (struct fxt_transfers){0};
}
