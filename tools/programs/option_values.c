/* See option_values.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "option_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/categories.h"
#include "tools/common/message.h"

char *fxt_option_bad_categories(const char *list)
{
	char *unknown, *known, *message;

	if (fxt_categories_valid(list, &unknown))
		return NULL;
	known = fxt_categories_known();
	message = fxt_format("no category '%s': there are %s, and #default", unknown, known);
	free(unknown);
	free(known);
	return message;
}

char *fxt_option_bad_mode(const char *mode)
{
	if (strcmp(mode, "oneshot") == 0 || strcmp(mode, "circular") == 0 || strcmp(mode, "streaming") == 0)
		return NULL;
	return fxt_format("there is no mode '%s': give oneshot, circular or streaming", mode);
}

/* Refuses only what makes no sense in any variable; the agent has limits of its own for each. */
char *fxt_option_bad_megabytes(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (digits && digits < 8 && text[digits] == '\0' && strtoul(text, NULL, 10) > 0)
		return NULL;
	return fxt_format("'%s' is no number of megabytes: give a whole number from 1 to 9999999", text);
}

char *fxt_option_set_memory(uint64_t *bytes, const char *text)
{
	static const char units[] = "KMG";
	const uint64_t least = 256 << 10, most = UINT64_C(1) << 40;
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : units + 1;
	uint64_t value = digits < 10 ? strtoull(text, NULL, 10) : most;

	if (digits && unit && (!text[digits] || !text[digits + 1])) {
		*bytes = value << 10 * (unit - units + 1);
		if (*bytes >= least && *bytes <= most)
			return NULL;
	}
	return fxt_format("'%s' is no size of memory: give 256K or more, such as 64M or 1G", text);
}

char *fxt_option_duration_ns(const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *unit;
	double value = strtod(text, &unit);

	if (unit == text || !isfinite(value) || value < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) == 0 && value * units[i].ns <= 3600e9)
			return fxt_format("%" PRIu64, (uint64_t)(value * units[i].ns));
	}
	return NULL;
}

char *fxt_option_set_duration(char **ns, const char *text)
{
	free(*ns);
	*ns = fxt_option_duration_ns(text);
	return *ns ? NULL
		   : fxt_format("'%s' is no duration of at most an hour: give 500ns, 10us or 1ms, say", text);
}

/* Returns what is wrong with the name of a category, or NULL. */
static char *bad_category(const char *name)
{
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz")] != '\0' || !*name)
		return fxt_format("'%s' is no category: a threshold is a time, or CATEGORY=TIME", name);
	return fxt_option_bad_categories(name);
}

char *fxt_option_set_thresholds(char **ns, const char *text)
{
	char *list = fxt_strdup(text), *rest = list, *element, *out = NULL, *bad = NULL;

	while (!bad && (element = strsep(&rest, ","))) {
		char *is = strchr(element, '='), *duration = NULL, *longer;

		if (is)
			*is = '\0';
		if (is)
			bad = bad_category(element);
		if (!bad)
			bad = fxt_option_set_duration(&duration, is ? is + 1 : element);
		if (!bad) {
			longer = fxt_format("%s%s%s%s%s", out ? out : "", out ? "," : "", is ? element : "",
					    is ? "=" : "", duration);
			free(out);
			out = longer;
		}
		free(duration);
	}
	free(list);
	free(bad ? out : *ns);
	if (!bad)
		*ns = out;
	return bad;
}

char *fxt_option_bad_depth(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long depth = strtoul(text, NULL, 10);

	if (digits && digits < 8 && text[digits] == '\0' && depth > 0 && depth <= 500)
		return NULL;
	return fxt_format("'%s' is no number of levels: give a whole number from 1 to 500", text);
}

char *fxt_option_set_hz(unsigned *hz, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > 10000)
		return fxt_format("'%s' is no number of samples in a second: give 0 to 10000", text);
	*hz = (unsigned)value;
	return NULL;
}

char *fxt_option_set_age(char **ns, const char *text)
{
	static const char units[] = "smhd";
	static const double seconds[] = {1, 60, 3600, 86400};
	char *unit;
	double value = strtod(text, &unit);
	const char *found = *unit && !unit[1] ? strchr(units, *unit) : NULL;

	value *= found ? seconds[found - units] : 0;
	if (unit == text || !isfinite(value) || value < 1 || value > 366 * 86400.0)
		return fxt_format("'%s' is no time of a second to a year: give 30s, 10m or 2h, say", text);
	free(*ns);
	*ns = fxt_format("%" PRIu64, (uint64_t)(value * 1e9));
	return NULL;
}

char *fxt_option_set_rotation(uint64_t *mb, unsigned *count, const char *text)
{
	size_t digits = strspn(text, "0123456789"), more;

	more = text[digits] == ',' ? strspn(text + digits + 1, "0123456789") : 0;
	if (!digits || digits > 7 || !more || more > 4 || text[digits + 1 + more] || !strtoul(text, NULL, 10))
		return fxt_format("'%s' is no rotation: give SIZE,COUNT, such as 100,5 for files of 100 "
				  "megabytes and five older ones",
				  text);
	*mb = strtoul(text, NULL, 10);
	*count = (unsigned)strtoul(text + digits + 1, NULL, 10);
	return NULL;
}
