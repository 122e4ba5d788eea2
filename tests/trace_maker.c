/* See trace_maker.h. */
#include "trace_maker.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/findings/finding.h"
#include "tools/printing/handle.h"
#include "trace_words.h"

static uint64_t words[1 << 20];
static size_t count;
static const char *strings[256];
static unsigned string_count;

static void put(uint64_t word)
{
	ck_assert_uint_lt(count, sizeof(words) / sizeof(words[0]));
	words[count++] = word;
}

static void put_text(const char *text)
{
	for (size_t at = 0; at < strlen(text); at += 8) {
		uint64_t word = 0;

		for (size_t i = 0; i < 8 && at + i < strlen(text); i++)
			word |= AT(8 * i, (unsigned char)text[at + i]);
		put(word);
	}
}

/* Forgets the strings, because a provider has a table of its own. */
void provider(unsigned id)
{
	put(HEAD(0, 2, 1 | AT(4, id) | AT(36, 3)));
	put_text("app");
	string_count = 0;
}

static unsigned string(const char *text)
{
	for (unsigned i = 0; i < string_count; i++)
		if (strcmp(strings[i], text) == 0)
			return i + 1;
	ck_assert_uint_lt(string_count, sizeof(strings) / sizeof(strings[0]));
	strings[string_count++] = text;
	put(HEAD(2, 1 + (strlen(text) + 7) / 8, AT(0, string_count) | AT(16, strlen(text))));
	put_text(text);
	return string_count;
}

void thread(unsigned index, uint64_t pid, uint64_t tid)
{
	put(HEAD(3, 3, index));
	put(pid);
	put(tid);
}

void begin_trace(void)
{
	count = 0;
	put(MAGIC);
	provider(7);
	thread(1, 7, 7);
	thread(2, 7, 8);
	thread(3, 7, 9);
}

void event(unsigned kind, unsigned thread_index, const char *category, const char *name, uint64_t at,
		  uint64_t extra, const struct argument *args)
{
	unsigned c = string(category), n = string(name), arg_count = 0;
	uint64_t arguments[32];
	size_t used = 0;
	bool has_extra = kind != BEGIN && kind != END && kind != INSTANT;

	for (; args[arg_count].name; arg_count++) {
		const struct argument *a = &args[arg_count];

		if (a->type == TEXT) {
			arguments[used++] = ARG(TEXT, 1, string(a->name),
						string((const char *)(uintptr_t)a->value));
			continue;
		}
		arguments[used++] = ARG(a->type, 2, string(a->name), 0);
		arguments[used++] = a->value;
	}
	put(EVENT(2 + used + has_extra, kind, arg_count, thread_index, c, n));
	put(at);
	for (size_t i = 0; i < used; i++)
		put(arguments[i]);
	if (has_extra)
		put(extra);
}

void call(unsigned thread_index, const char *category, const char *name, uint64_t from, uint64_t to)
{
	event(COMPLETE, thread_index, category, name, from, to, NO_ARGS);
}

void woken(bool call_first, unsigned thread_index, const char *name, uint64_t object, uint64_t from,
		  uint64_t to, unsigned waker, uint64_t at, uint64_t id)
{
	if (call_first)
		event(COMPLETE, thread_index, "pthread", name, from, to, ARGS({"object_", POINTER, object}));
	if (waker) {
		call(waker, "agent", "released", at, at + 1);
		event(FLOW_BEGIN, waker, "agent", "wakes", at, id, NO_ARGS);
	}
	call(thread_index, "agent", "resumed", at + 2, to);
	event(FLOW_END, thread_index, "agent", "wakes", to, id, NO_ARGS);
	if (!call_first)
		event(COMPLETE, thread_index, "pthread", name, from, to, ARGS({"object_", POINTER, object}));
}

void named(unsigned thread_index, const char *type, uint64_t address, const char *name, uint64_t since)
{
	unsigned n = string(name), type_value = string(type), type_name = string("type"),
		 since_name = string("since");

	put(HEAD(6, 5, thread_index) | AT(24, n) | AT(40, 2));
	put(address);
	put(ARG(TEXT, 1, type_name, type_value));
	put(ARG(UINT, 2, since_name, 0));
	put(since);
}

void mapped(uint64_t id, const char *path, const char *build_id)
{
	unsigned type_name = string("type"), type = string("module"), base_name = string("base"),
		 id_name = build_id ? string("build_id") : 0, id_value = build_id ? string(build_id) : 0;
	size_t bytes = strlen(path);

	put(HEAD(6, 5 + (bytes + 7) / 8 + (build_id ? 1 : 0), 1) | AT(24, 0x8000 | bytes) |
	    AT(40, 2 + (build_id ? 1 : 0)));
	put(id);
	put_text(path);
	put(ARG(TEXT, 1, type_name, type));
	put(ARG(POINTER, 2, base_name, 0));
	put(UINT64_C(0x555500000000));
	if (build_id)
		put(ARG(TEXT, 1, id_name, id_value));
}

void node(uint64_t id, uint64_t parent, uint64_t mapping, uint64_t offset)
{
	unsigned type_name = string("type"), type = string("frame"), offset_name = string("offset"),
		 parent_name = string("parent"), mapping_name = string("mapping"),
		 args = 2 + (parent ? 1 : 0) + (mapping ? 1 : 0);

	put(HEAD(6, 2 * args + 1, 1) | AT(40, args));
	put(id);
	put(ARG(TEXT, 1, type_name, type));
	if (parent) {
		put(ARG(POINTER, 2, parent_name, 0));
		put(parent);
	}
	if (mapping) {
		put(ARG(POINTER, 2, mapping_name, 0));
		put(mapping);
	}
	put(ARG(UINT, 2, offset_name, 0));
	put(offset);
}

void kernel(void)
{
	put(HEAD(0, 2, 1 | AT(4, FXT_KERNEL_PROVIDER_ID) | AT(36, 6)));
	put_text("kernel");
	string_count = 0;
	thread(1, FXT_KERNEL_PROVIDER_ID, FXT_KERNEL_PROVIDER_ID - 1);
}

void frame(uint64_t node, uint64_t parent, const char *name, const char *module, uint64_t offset)
{
	uint64_t type_name = string("type"), type = string("frame"), offset_name = string("offset"),
		 parent_name = string("parent"), module_name = string("module"),
		 path = module ? string(module) : 0, n = name ? string(name) : 0;

	put(HEAD(6, 5 + (module ? 1 : 0) + (parent ? 2 : 0), 1) | AT(24, n) |
	    AT(40, 2 + (module ? 1 : 0) + (parent ? 1 : 0)));
	put(node);
	put(ARG(TEXT, 1, type_name, type));
	if (parent) {
		put(ARG(POINTER, 2, parent_name, 0));
		put(parent);
	}
	if (module)
		put(ARG(TEXT, 1, module_name, path));
	put(ARG(UINT, 2, offset_name, 0));
	put(offset);
}

void sample(uint64_t pid, uint64_t tid, uint64_t at, uint64_t stack, const char *name)
{
	const struct argument args[] = {
		{"process", KOID, pid}, {"thread", KOID, tid}, {stack ? "stack" : NULL, POINTER, stack}, {0}};

	event(INSTANT, 1, "sample", name, at, 0, args);
}

void fact(uint64_t pid, uint64_t tid, const char *name, uint64_t at, const struct argument *args)
{
	struct argument all[8] = {{"process", KOID, pid}, {"thread", KOID, tid}};

	for (unsigned i = 0; i < 5 && args[i].name; i++)
		all[2 + i] = args[i];
	event(INSTANT, 1, "kernel", name, at, 0, all);
}

void switched(uint64_t at, unsigned state, uint64_t outgoing, uint64_t incoming)
{
	put(HEAD(8, 4, 0) | AT(36, state) | AT(60, 1));
	put(at);
	put(outgoing);
	put(incoming);
}

void object_name(uint64_t pid, uint64_t tid, const char *name)
{
	uint64_t n = string(name), process = string("process");

	put(HEAD(7, tid ? 4 : 2, tid ? 2 : 1) | AT(24, n) | AT(40, tid ? 1 : 0));
	put(tid ? tid : pid);
	if (tid) {
		put(ARG(KOID, 2, process, 0));
		put(pid);
	}
}

void said(unsigned thread_index, uint64_t at, const char *message)
{
	put(HEAD(9, 2 + (strlen(message) + 7) / 8, strlen(message) | AT(16, thread_index)));
	put(at);
	put_text(message);
}

void write_trace(const char *path)
{
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(words, 8, count, out), count);
	ck_assert_int_eq(fclose(out), 0);
}

struct fxt_reader reader;

void read_trace(void)
{
	fxt_reader_init(&reader, words, count * 8);
}

void make_report_with(struct fxt_report *report, const struct fxt_report_options *options)
{
	read_trace();
	fxt_report_make(report, &reader, options);
	ck_assert_uint_eq(reader.damaged_records, 0);
}

void make_report(struct fxt_report *report, size_t top)
{
	const struct fxt_report_options options = {.top = top};

	make_report_with(report, &options);
}

void end_report(struct fxt_report *report)
{
	fxt_report_free(report);
	fxt_reader_free(&reader);
}

void expect_symbol(uint32_t symbol, const char *text)
{
	struct fxt_text t;

	ck_assert_uint_ne(symbol, 0);
	t = fxt_symbol_text(&reader, symbol);
	ck_assert_msg(fxt_text_is(&t, text), "'%.*s', expected '%s'", (int)t.bytes, t.text, text);
}

uint64_t tid_of(uint32_t index)
{
	return reader.threads[index].tid;
}

/* Prints a row as it would be if it had no handle: the label begins four columns further left. */
static void put_without_handle(const char *line, FILE *out)
{
	const char *label, *gap;

	if (!fxt_is_handle(line)) {
		fprintf(out, "%s\n", line);
		return;
	}
	label = line + FXT_HANDLE_COLUMNS + 1;
	gap = strstr(label + strspn(label, " "), "  ");
	fprintf(out, "  %.*s%s%s\n", gap ? (int)(gap - label) : (int)strlen(label), label, gap ? "    " : "",
		gap ? gap : "");
}

void print_report(const struct fxt_report *report, FILE *out)
{
	struct fxt_findings findings;
	char *text, *rest, *line;
	size_t bytes;
	FILE *whole = open_memstream(&text, &bytes);

	fxt_findings_make(&findings, report, 0);
	fxt_findings_print_report(&findings, report, whole);
	fxt_findings_free(&findings);
	fclose(whole);
	rest = text;
	while ((line = strsep(&rest, "\n")) && rest)
		put_without_handle(line, out);
	free(text);
}

void print_report_json(const struct fxt_report *report, FILE *out)
{
	struct fxt_findings findings;

	fxt_findings_make(&findings, report, 0);
	fxt_findings_json_report(&findings, report, out);
	fxt_findings_free(&findings);
}
