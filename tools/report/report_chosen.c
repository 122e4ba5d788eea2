/* fxt report: which categories the user wants to hear of. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/categories.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"

static bool in_list(const char *list, const struct fxt_text *name)
{
	while (*list) {
		size_t bytes = strcspn(list, ", ");

		if (bytes == name->bytes && memcmp(list, name->text, bytes) == 0)
			return true;
		list += bytes + (list[bytes] != '\0');
	}
	return false;
}

bool fxt_report_wants(struct fxt_report *report, const struct fxt_text *category)
{
	uint32_t symbol;

	if (!report->options.categories)
		return true;
	symbol = fxt_symbol(report->r, category);
	report->chosen =
		fxt_reach(report->chosen, &report->chosen_capacity, &report->chosen_count, symbol, 1);
	if (!report->chosen[symbol])
		report->chosen[symbol] = 1 + in_list(report->options.categories, category);
	return report->chosen[symbol] == 2;
}

/* Samples and context switches are of these categories for the user, and are no events. */
static const char *const of_the_kernel[] = {"sample", "kernel"};

static bool is_known(const char *name)
{
	for (size_t i = 0; i < sizeof(of_the_kernel) / sizeof(*of_the_kernel); i++) {
		if (strcmp(name, of_the_kernel[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < fxt_category_count; i++) {
		if (strcmp(name, fxt_categories[i].name) == 0)
			return true;
	}
	return false;
}

static bool has(char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* Returns the names of the trace's categories, and of what the kernel told. The caller frees each, and the
 * list. */
static char **names_of(const struct fxt_report *report, size_t *count)
{
	const struct fxt_overview *o = &report->overview;
	char **names = fxt_alloc(o->category_count + 2, sizeof(*names));

	*count = 0;
	for (size_t i = 0; i < o->category_count; i++) {
		struct fxt_text text = fxt_symbol_text(report->r, o->categories[i].category);

		names[(*count)++] = fxt_printable(&text, SIZE_MAX, false);
	}
	for (size_t i = 0;
	     i < sizeof(of_the_kernel) / sizeof(*of_the_kernel) && report->witnessed.threads.count; i++) {
		if (!has(names, *count, of_the_kernel[i]))
			names[(*count)++] = fxt_strdup(of_the_kernel[i]);
	}
	return names;
}

/* Returns the message about a name that matches nothing. */
static char *say_unmatched(const char *name, char *const *names, size_t count)
{
	char *all = fxt_strdup(count ? "it has " : "it has no events"), *longer, *hint, *message;

	for (size_t i = 0; i < count; i++) {
		longer = fxt_format("%s%s%s", all, !i ? "" : i + 1 < count ? ", " : " and ", names[i]);
		free(all);
		all = longer;
	}
	hint = fxt_did_you_mean(name, (const char *const *)names, count);
	message = fxt_format("the trace has nothing of category '%s'%s%s %s", name, hint, *hint ? "" : ":",
			     all);
	free(all);
	free(hint);
	return message;
}

char *fxt_report_unmatched(const struct fxt_report *report)
{
	const char *list = report->options.categories;
	char *bad = NULL, *copy, *rest, *name, **names;
	bool has_any = false;
	size_t count;

	if (!list)
		return NULL;
	names = names_of(report, &count);
	rest = copy = fxt_strdup(list);
	while ((name = strsep(&rest, ", "))) {
		if (!*name)
			continue;
		if (has(names, count, name)) {
			has_any = true;
		} else if (!bad || !is_known(name)) {
			free(bad);
			bad = say_unmatched(name, names, count);
			if (!is_known(name))
				break;
		}
	}
	/* A category that exists may be absent beside one that is there. */
	if (has_any && (!name || is_known(name))) {
		free(bad);
		bad = NULL;
	}
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(copy);
	return bad;
}
