/* See option_values.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "option_values.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/categories.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"

char *fxt_option_bad_categories(const char *list)
{
	const char *names[64];
	char *unknown, *known, *message, *hint;
	size_t count = fxt_category_count;

	if (!list[strspn(list, ", ")])
		return fxt_format("'%s' names no category", list);
	if (fxt_categories_valid(list, &unknown))
		return NULL;
	for (size_t i = 0; i < count; i++)
		names[i] = fxt_categories[i].name;
	names[count++] = "#default";
	known = fxt_categories_known();
	hint = fxt_did_you_mean(unknown, names, count);
	message = fxt_format("no category '%s'%s%s there are %s, and #default", unknown, hint,
			     *hint ? "" : ":", known);
	free(unknown);
	free(known);
	free(hint);
	return message;
}

char *fxt_option_bad_word(const char *word, const char *const *words, size_t count)
{
	char *all = fxt_strdup(words[0]), *hint, *message;

	for (size_t i = 0; i < count; i++) {
		char *longer = i ? fxt_format("%s%s%s", all, i + 1 < count ? ", " : " or ", words[i]) : NULL;

		if (strcmp(word, words[i]) == 0) {
			free(all);
			free(longer);
			return NULL;
		}
		if (!longer)
			continue;
		free(all);
		all = longer;
	}
	hint = fxt_did_you_mean(word, words, count);
	message = fxt_format("'%s' is not accepted%s%s give %s", word, hint, *hint ? "" : ":", all);
	free(all);
	free(hint);
	return message;
}

char *fxt_option_bad_mode(const char *mode)
{
	static const char *const modes[] = {"oneshot", "circular", "streaming"};

	return fxt_option_bad_word(mode, modes, sizeof(modes) / sizeof(*modes));
}

char *fxt_option_bad_on_full(const char *what)
{
	static const char *const ways[] = {"drop", "wait"};

	return fxt_option_bad_word(what, ways, sizeof(ways) / sizeof(*ways));
}

char *fxt_option_bad_megabytes(const char *text, unsigned most)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long mb = strtoul(text, NULL, 10);

	if (digits && digits < 10 && text[digits] == '\0' && mb > 0 && mb <= most)
		return NULL;
	return fxt_format("'%s' is no number of megabytes: give a whole number from 1 to %u", text, most);
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

/* Reads a time with its unit; 0 needs none. Returns false if it is no time, or longer than a year. */
static bool read_time(const char *text, double *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1},	  {"us", 1e3},	 {"\xc2\xb5s", 1e3}, {"ms", 1e6},
		     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9},	    {"d", 86400e9}};
	char *unit;

	*ns = strtod(text, &unit);
	/* strtod() takes more than numbers in decimal digits. */
	if (*text == '.' || strspn(text, "0123456789.") != (size_t)(unit - text) || unit == text)
		return false;
	if (!*unit)
		return *ns == 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) == 0) {
			*ns *= units[i].ns;
			return *ns <= 366 * 86400e9;
		}
	}
	return false;
}

/* Sets *ns to the digits of a time of which `least_ns` and `most_ns` are the ends, which `range` names.
 * Returns NULL, or what is wrong. */
static char *set_time(char **digits, const char *text, double least_ns, double most_ns, const char *range)
{
	double ns;

	if (!read_time(text, &ns)) {
		bool lacks_unit = *text && !text[strspn(text, "0123456789.")];

		return fxt_format("'%s' %s: give %s", text, lacks_unit ? "has no unit" : "is no time", range);
	}
	if (ns < least_ns || ns > most_ns)
		return fxt_format("'%s' is too %s: give %s", text, ns < least_ns ? "short" : "long", range);
	free(*digits);
	*digits = fxt_format("%" PRIu64, (uint64_t)ns);
	return NULL;
}

char *fxt_option_set_duration(char **ns, const char *text)
{
	return set_time(ns, text, 0, 3600e9, "an hour at most, such as 500ns, 10us, 1ms or 2s");
}

char *fxt_option_set_period(char **ns, const char *text)
{
	return set_time(ns, text, 1, 366 * 86400e9, "1ns to a year, such as 500ms, 10s, 5m or 2h");
}

char *fxt_option_set_moment(char **ns, const char *text)
{
	return set_time(ns, text, 0, 366 * 86400e9, "0 to a year, such as 500us, 200ms, 1.5s or 10m");
}

char *fxt_option_set_age(char **ns, const char *text)
{
	return set_time(ns, text, 1e9, 366 * 86400e9, "a second to a year, such as 30s, 10m or 2h");
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
