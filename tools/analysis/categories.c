/* fxt categories: the command. It prints the categories that can be recorded, or those of a trace. fxt
 * record checks its option -c by the lists here. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "categories.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "overview.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

const struct fxt_category fxt_categories[] = {
#define CATEGORY(name, on, what) {#name, on, what},
#include "writer/categories.def"
#undef CATEGORY
};

const size_t fxt_category_count = sizeof(fxt_categories) / sizeof(fxt_categories[0]);

static bool is_default(const char *item, size_t bytes)
{
	static const char all[] = "#default";

	return bytes == strlen(all) && memcmp(item, all, bytes) == 0;
}

static bool fits(const char *item, size_t bytes, const char *name)
{
	return bytes && item[bytes - 1] == '*' ? strncmp(name, item, bytes - 1) == 0
					       : strlen(name) == bytes && memcmp(name, item, bytes) == 0;
}

static bool matches(const char *item, size_t bytes)
{
	if (is_default(item, bytes))
		return true;
	for (size_t i = 0; i < fxt_category_count; i++)
		if (fits(item, bytes, fxt_categories[i].name))
			return true;
	return false;
}

bool fxt_categories_have(const char *list, const char *category)
{
	bool by_default = false, have = false;

	for (size_t i = 0; i < fxt_category_count; i++)
		by_default |= fxt_categories[i].by_default && strcmp(fxt_categories[i].name, category) == 0;
	while (*list) {
		size_t bytes = strcspn(list, ", ");
		size_t minus = *list == '-';
		const char *item = list + minus;

		if (bytes > minus && (is_default(item, bytes - minus) ? by_default
								      : fits(item, bytes - minus, category)))
			have = !minus;
		list += bytes;
		list += strspn(list, ", ");
	}
	return have;
}

bool fxt_categories_valid(const char *list, char **unknown)
{
	while (*list) {
		size_t bytes = strcspn(list, ", ");
		size_t minus = *list == '-';

		if (bytes && !matches(list + minus, bytes - minus)) {
			*unknown = fxt_format("%.*s", (int)(bytes - minus), list + minus);
			return false;
		}
		list += bytes;
		list += strspn(list, ", ");
	}
	return true;
}

char *fxt_categories_known(void)
{
	char *text = fxt_strdup(fxt_categories[0].name);

	for (size_t i = 1; i < fxt_category_count; i++) {
		char *longer = fxt_format("%s, %s", text, fxt_categories[i].name);

		free(text);
		text = longer;
	}
	return text;
}

static void list_known(FILE *out)
{
	for (size_t i = 0; i < fxt_category_count; i++)
		fprintf(out, "%-10s %s%s\n", fxt_categories[i].name, fxt_categories[i].what,
			fxt_categories[i].by_default ? "" : " (not in #default)");
	fputs("\n#default   what is recorded without FXT_CATEGORIES: all that do not say otherwise\n\n"
	      "FXT_CATEGORIES and `fxt record -c` take a list: names, PREFIX*, #default, and -NAME\n"
	      "to leave one out.\n",
	      out);
}

#define USAGE "%14s %10s %7s  %s\n"

static void print_usage(const struct fxt_overview *o, const struct fxt_reader *r, FILE *out)
{
	fprintf(out, USAGE, "events", "bytes", "share", "category");
	for (size_t i = 0; i < o->category_count; i++) {
		const struct fxt_category_usage *u = &o->categories[i];
		struct fxt_text text = fxt_symbol_text(r, u->category);
		char *name = fxt_printable(&text, 60, false);
		char *share = fxt_format("%.1f%%", 100.0 * (double)u->bytes / (double)r->size);

		fprintf(out, USAGE, fxt_count(u->events).text, fxt_bytes(u->bytes).text, share,
			*name ? name : "(empty)");
		free(share);
		free(name);
	}
}

static void list_known_json(FILE *out)
{
	struct fxt_json j = {.out = out};

	fxt_json_array(&j, NULL);
	for (size_t i = 0; i < fxt_category_count; i++) {
		fxt_json_object(&j, NULL);
		fxt_json_string(&j, "category", fxt_categories[i].name);
		fxt_json_bool(&j, "default", fxt_categories[i].by_default);
		fxt_json_string(&j, "shows", fxt_categories[i].what);
		fxt_json_end(&j);
	}
	fxt_json_end(&j);
}

void fxt_category_json(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_category_usage *u)
{
	fxt_json_object(j, NULL);
	fxt_json_symbol(j, "category", r, u->category);
	fxt_json_u64(j, "events", u->events);
	fxt_json_u64(j, "bytes", u->bytes);
	fxt_json_end(j);
}

static void print_usage_json(const struct fxt_overview *o, const struct fxt_reader *r, FILE *out)
{
	struct fxt_json j = {.out = out};

	fxt_json_array(&j, NULL);
	for (size_t i = 0; i < o->category_count; i++)
		fxt_category_json(&j, r, &o->categories[i]);
	fxt_json_end(&j);
}

void fxt_categories_of(struct fxt_reader *r, bool json, FILE *out)
{
	struct fxt_overview o = {0};
	struct fxt_record rec;

	while (fxt_reader_next(r, &rec))
		fxt_overview_take(&o, r, &rec);
	fxt_overview_rank(&o);
	if (json)
		print_usage_json(&o, r, out);
	else
		print_usage(&o, r, out);
	fxt_overview_free(&o);
}

/* -- The command ----------------------------------------------------------------------------------- */

struct input {
	bool json;
	const char *path;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 'j': in->json = true; return 0;
	case ARGP_KEY_ARG: return fxt_parse_file(key, arg, state, &in->path);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void show(struct fxt_reader *r, void *context)
{
	const struct input *in = context;

	fxt_categories_of(r, in->json, stdout);
}

int fxt_command_categories(int argc, char **argv)
{
	static const struct argp_option options[] = {FXT_JSON_OPTION, {0}};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[FILE]",
		.doc = "The categories of events that can be recorded, or what of each is in a trace.",
	};
	struct input in = {0};

	fxt_parse(&argp, argc, argv, 0, &in);
	if (!in.path) {
		if (in.json)
			list_known_json(stdout);
		else
			list_known(stdout);
		return 0;
	}
	return fxt_trace_show(in.path, show, &in);
}
