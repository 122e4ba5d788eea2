/* fxt report: which categories the user wants to hear of. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "report.h"
#include "tools/common/message.h"

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
