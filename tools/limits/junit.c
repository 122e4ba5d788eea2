/* Writes what became of limits in the form of JUnit. See limit.h. All attributes and elements that the two
 * schemas in use ask for are there: the one of Ant and that of Jenkins. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "limit.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Writes text as the value of an attribute. What is no character of XML is printed as an escape. */
static void put(FILE *out, const char *text)
{
	struct fxt_text raw = fxt_text_of(text);
	char *safe = fxt_printable(&raw, SIZE_MAX, false);

	for (const char *at = safe; *at; at++) {
		/* U+FFFE and U+FFFF are no characters of XML. */
		if (memcmp(at, "\xef\xbf", 2) == 0 && (unsigned char)at[2] >= 0xbe) {
			fputc('?', out);
			at += 2;
			continue;
		}
		switch (*at) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*at, out); break;
		}
	}
	free(safe);
}

static void put_attribute(FILE *out, const char *name, const char *text)
{
	fprintf(out, " %s=\"", name);
	put(out, text);
	fputc('"', out);
}

/* Writes lines as text. */
static void put_lines(FILE *out, const char *text)
{
	while (*text) {
		size_t bytes = strcspn(text, "\n");
		char *line = fxt_format("%.*s", (int)bytes, text);

		put(out, line);
		free(line);
		text += bytes;
		if (*text)
			fputc(*text++, out);
	}
}

/* Writes a case. `element` is "failure" or "error", or NULL: it has passed. */
static void put_case(FILE *out, const char *suite, const char *name, const char *element, const char *type,
		     const char *message)
{
	fputs("    <testcase", out);
	put_attribute(out, "classname", suite);
	put_attribute(out, "name", name);
	fputs(" time=\"0\"", out);
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s", element);
	put_attribute(out, "type", type);
	put_attribute(out, "message", message);
	fputc('>', out);
	put(out, message);
	fprintf(out, "</%s>\n    </testcase>\n", element);
}

static void put_limit(struct fxt_junit *junit, const char *path, const struct fxt_limit_result *one,
		      FILE *out)
{
	char *found = fxt_limit_found(one);
	bool is_untold = one->verdict == FXT_UNTOLD;

	junit->failures += one->verdict == FXT_BROKEN;
	junit->errors += is_untold;
	put_case(out, path, one->limit->text,
		 one->verdict == FXT_MET ? NULL : is_untold ? "error" : "failure",
		 fxt_verdict_names[one->verdict], found);
	free(found);
}

/* Puts a case for the rules of the format. `c` is NULL if the trace cannot be read. */
static void put_format(struct fxt_junit *junit, const char *path, const struct fxt_check *c, FILE *out)
{
	char *text;
	size_t bytes;
	FILE *words = fxt_text_stream(&text, &bytes);

	if (c)
		fxt_check_print(c, path, words);
	else
		fputs("the trace cannot be read", words);
	fclose(words);
	/* The message is one line. */
	text[strcspn(text, "\n")] = '\0';
	junit->failures += c && c->violation_count;
	junit->errors += !c;
	put_case(out, path, "format", !c ? "error" : c->violation_count ? "failure" : NULL,
		 c ? "violations" : "unreadable", text);
	free(text);
}

void fxt_junit_begin(struct fxt_junit *junit)
{
	*junit = (struct fxt_junit){0};
	junit->out = fxt_text_stream(&junit->text, &junit->bytes);
}

void fxt_junit_suite(struct fxt_junit *junit, const char *path, const struct fxt_check *c,
		     const struct fxt_limit_results *results)
{
	unsigned failures = junit->failures, errors = junit->errors;
	unsigned tests = 1 + (unsigned)results->count;
	time_t now = time(NULL);
	char when[32], *cases;
	size_t bytes;
	struct tm utc;
	FILE *out = fxt_text_stream(&cases, &bytes);

	put_format(junit, path, c, out);
	for (size_t i = 0; i < results->count; i++)
		put_limit(junit, path, &results->list[i], out);
	fclose(out);
	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	fputs("  <testsuite", junit->out);
	put_attribute(junit->out, "name", path);
	fprintf(junit->out,
		" package=\"fxt\" id=\"%u\" timestamp=\"%s\" hostname=\"localhost\" tests=\"%u\""
		" failures=\"%u\" errors=\"%u\" time=\"0\">\n    <properties/>\n%s    <system-out>",
		junit->suites++, when, tests, junit->failures - failures, junit->errors - errors, cases);
	put_lines(junit->out, results->not_seen ? results->not_seen : "");
	fputs("</system-out>\n    <system-err/>\n  </testsuite>\n", junit->out);
	junit->tests += tests;
	free(cases);
}

bool fxt_junit_end(struct fxt_junit *junit, const char *path)
{
	FILE *out = fopen(path, "we");
	bool ok;

	fclose(junit->out);
	if (out) {
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<testsuites name=\"fxt check\" tests=\"%u\" failures=\"%u\" errors=\"%u\""
			" time=\"0\">\n%s</testsuites>\n",
			junit->tests, junit->failures, junit->errors, junit->text);
		ok = !ferror(out);
		ok &= fclose(out) == 0;
	} else {
		ok = false;
	}
	if (!ok)
		fxt_error(path, "%s", strerror(errno));
	free(junit->text);
	return ok;
}
