/* The stacks of both sides of a diff. See diff.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "diff.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

struct fxt_diff_stack {
	char *key;                      /* as a folded line has it */
	double mean[2];                 /* of its weights, by side */
	UT_hash_handle hh;
};

static void add(struct fxt_diff_folded *f, const char *key, bool is_b, double weight)
{
	struct fxt_diff_stack *one;

	HASH_FIND_STR(f->stacks, key, one);
	if (!one) {
		one = fxt_alloc(1, sizeof(*one));
		one->key = fxt_strdup(key);
		HASH_ADD_KEYPTR(hh, f->stacks, one->key, strlen(one->key), one);
	}
	one->mean[is_b] += weight;
}

void fxt_diff_folded_take(struct fxt_diff_folded *f, const struct fxt_diff *d, size_t run,
			  const struct fxt_report *report)
{
	bool is_b = run >= d->a_count;
	double runs = (double)(is_b ? d->run_count - d->a_count : d->a_count);
	struct fxt_stacks stacks;
	uint64_t missing;
	char *text, *line, *rest;
	size_t bytes;
	FILE *out;

	if (!f->to.path || fxt_weighed_stacks(report, f->to.weight, &stacks, &missing))
		return;
	out = fxt_text_stream(&text, &bytes);
	fxt_stacks_print_folded(&stacks, out);
	fclose(out);
	fxt_stacks_free(&stacks);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *space = strrchr(line, ' ');

		*space = '\0';
		add(f, line, is_b, strtod(space + 1, NULL) / runs);
	}
	free(text);
}

bool fxt_diff_folded_write(struct fxt_diff_folded *f)
{
	bool is_stdout = strcmp(f->to.path, "-") == 0, ok;
	FILE *out;

	if (!f->stacks) {
		fxt_error(NULL, "no run has such stacks");
		return false;
	}
	out = is_stdout ? stdout : fopen(f->to.path, "we");
	ok = out != NULL;
	for (const struct fxt_diff_stack *one = f->stacks; ok && one; one = one->hh.next) {
		double a = round(one->mean[0]), b = round(one->mean[1]);

		ok = (a == 0 && b == 0) || fprintf(out, "%s %.0f %.0f\n", one->key, a, b) > 0;
	}
	/* What standard output could not take is told at the exit. */
	if (out && !is_stdout)
		ok &= fclose(out) == 0;
	if (!ok && !is_stdout)
		fxt_error(f->to.path, "%s", strerror(errno));
	return ok || is_stdout;
}

void fxt_diff_folded_free(struct fxt_diff_folded *f)
{
	struct fxt_diff_stack *one, *next;

	HASH_ITER(hh, f->stacks, one, next) {
		HASH_DEL(f->stacks, one);
		free(one->key);
		free(one);
	}
}
