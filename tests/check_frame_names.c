/* This tests the names of frames (tools/programs/frame_names.h), and the records with names that join makes
 * (tools/join/frame_records.h). The program tests/apps/inlined says where it makes a call in functions that
 * are inlined. It is looked up as it was built, stripped, away, and replaced by another program. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"
#include "tools/common/message.h"
#include "tools/join/merge.h"
#include "tools/programs/code_file.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/frame_names.h"
#include "tools/reading/mapped_trace.h"
#include "trace_maker.h"

#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))
#define MODULE(number) (UINT64_C(0x7fd0000000000000) + (number))
#ifdef HAVE_LIBIBERTY
#define OUTER "names::outer(int)"
#else
#define OUTER "_ZN5names5outerEi"
#endif

static char directory[] = "/tmp/fxt-names.XXXXXX";
static char build_id[129], *program, *debug_path, *unknown;
static uint64_t address;
static int lines[3];

static void shell(char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
	free(command);
}

/* Copies the program into the directory, without its debug information and symbols. */
static void strip_program(void)
{
	shell(fxt_format("strip -o %s tests/apps/inlined", program));
}

/* Puts the debug information of the program where `path` in the directory is. */
static void put_debug(const char *path)
{
	shell(fxt_format("mkdir -p $(dirname %s/%s) && objcopy --only-keep-debug tests/apps/inlined %s/%s",
			 directory, path, directory, path));
}

static void learn_build_id(void)
{
	char *path = fxt_format("%s/id", directory);
	unsigned char bytes[64];
	size_t count;
	FILE *file;

	shell(fxt_format("objcopy -O binary --only-section=.note.gnu.build-id tests/apps/inlined %s", path));
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	count = fread(bytes, 1, sizeof(bytes), file);
	ck_assert_uint_gt(count, 16);
	/* The note has a head of 16 bytes. */
	for (size_t i = 16; i < count; i++)
		snprintf(build_id + 2 * (i - 16), 3, "%02x", bytes[i]);
	fclose(file);
	free(path);
}

static void begin(void)
{
	FILE *says;

	ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/fxt-names.XXXXXX")));
	program = fxt_format("%s/inlined", directory);
	learn_build_id();
	debug_path = fxt_format(".build-id/%.2s/%s.debug", build_id, build_id + 2);
	says = popen("tests/apps/inlined", "re");
	ck_assert_ptr_nonnull(says);
	ck_assert_int_eq(fscanf(says, "%" SCNu64 " %d %d %d", &address, &lines[0], &lines[1], &lines[2]), 4);
	ck_assert_int_eq(pclose(says), 0);
	unknown = fxt_format("inlined+0x%" PRIx64, address);
}

static void end(void)
{
	shell(fxt_format("rm -r %s", directory));
	free(program);
	free(debug_path);
	free(unknown);
}

static const struct fxt_frame_place *place_at(struct fxt_frame_names *n, const char *path, const char *id,
					      uint64_t offset)
{
	const struct fxt_frame_at at = {fxt_text_of(path), fxt_text_of(id), offset};
	const struct fxt_frame_place *place = fxt_frame_place(n, &at);

	ck_assert_uint_ge(place->count, 1);
	ck_assert_str_eq(place->levels[place->count - 1].function, fxt_frame_function(n, &at));
	ck_assert_ptr_eq(fxt_frame_place(n, &at), place);
	return place;
}

/* Looks up the address, in files that may have been changed until now. */
static void expect_name(const char *id, const char *name)
{
	struct fxt_frame_names *n = fxt_frame_names_open(time(NULL) + 1);
	const struct fxt_frame_place *place = place_at(n, program, id, address);

	ck_assert_str_eq(place->levels[place->count - 1].function, name);
	ck_assert_uint_eq(place->is_known, strcmp(name, unknown) != 0);
	fxt_frame_names_close(n);
}

static void expect_level(const struct fxt_code_level *level, const char *function, int line)
{
	const char *slash;

	ck_assert_str_eq(level->function, function);
	ck_assert_ptr_nonnull(level->file);
	slash = strrchr(level->file, '/');
	ck_assert_str_eq(slash ? slash + 1 : level->file, "inlined.c");
	ck_assert_int_eq(level->line, line);
}

static void expect_levels(const char *id)
{
	struct fxt_frame_names *n = fxt_frame_names_open(time(NULL) + 1);
	const struct fxt_frame_place *place = place_at(n, program, id, address);

	ck_assert(place->is_known);
	ck_assert_uint_eq(place->count, 3);
	expect_level(&place->levels[0], "innermost", lines[0]);
	expect_level(&place->levels[1], "middle", lines[1]);
	expect_level(&place->levels[2], OUTER, lines[2]);
	fxt_frame_names_close(n);
}

START_TEST(names_are_those_of_the_source)
{
	static const char *const names[][2] = {
		{"read", "read"},
		{"read@GLIBC_2.2.5", "read"},
		{"_ZN5names5outerEi", OUTER},
		{"_ZN5names5outerEi@@V_1", OUTER},
		{"@", "@"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = fxt_code_name(names[i][0]);

		ck_assert_str_eq(name, names[i][1]);
		free(name);
	}
}
END_TEST

START_TEST(names_inlined_functions)
{
	shell(fxt_format("cp tests/apps/inlined %s", program));
	expect_levels(build_id);
	expect_levels("");
}
END_TEST

/* Every place in a directory where the debug information of a stripped program, or of one that is away, may
 * be. */
START_TEST(looks_into_directories)
{
	char *paths[] = {debug_path, fxt_format("%s.debug", program + 1), fxt_strdup("inlined.debug")};

	fxt_debug_dirs_add(directory);
	strip_program();
	expect_name(build_id, unknown);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		put_debug(paths[i]);
		expect_levels(build_id);
		if (i != 1)
			expect_levels("");
		/* The program is not needed for that. */
		ck_assert_int_eq(unlink(program), 0);
		expect_levels(build_id);
		expect_name("", unknown);
		strip_program();
		shell(fxt_format("rm %s/%s", directory, paths[i]));
		expect_name(build_id, unknown);
	}
	free(paths[1]);
	free(paths[2]);
}
END_TEST

/* The unstripped file is in the directory, and what is at the path is another program. The directory's name
 * has to last. */
START_TEST(takes_an_unstripped_file)
{
	char *other = fxt_format("%s/other", directory);

	shell(fxt_format("mkdir %s && cp /bin/sh %s", other, program));
	fxt_debug_dirs_add(other);
	expect_name(build_id, unknown);
	shell(fxt_format("cp tests/apps/inlined %s", other));
	expect_levels(build_id);
	strip_program();
	expect_levels(build_id);
	shell(fxt_format("cp /bin/sh %s", other));
	shell(fxt_format("mv %s/sh %s/inlined", other, other));
	expect_name(build_id, unknown);
}
END_TEST

/* A program that was replaced is not used; nor what is no file, or no program. */
START_TEST(uses_no_other_program)
{
	static const char *const paths[] = {"/dev/zero", "/nonexistent/inlined", "/etc/passwd", "/proc/kcore",
					    "[vdso]",	 "inlined",		 "/",		"../inlined"};
	struct fxt_frame_names *n = fxt_frame_names_open(time(NULL) + 1);
	char *other_id = fxt_strdup(build_id);

	shell(fxt_format("cp tests/apps/inlined %s", program));
	other_id[0] = other_id[0] == '0' ? '1' : '0';
	expect_name(other_id, unknown);
	expect_name("not digits", unknown);
	expect_name("../../../etc", unknown);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ck_assert(!place_at(n, paths[i], "", 16)->is_known);
		ck_assert(!place_at(n, paths[i], build_id, 16)->is_known);
	}
	ck_assert_str_eq(place_at(n, "[vdso]", "", 16)->levels[0].function, "[vdso]+0x10");
	ck_assert_str_eq(place_at(n, "", "", 16)->levels[0].function, "[code in no file]");
	fxt_frame_names_close(n);
	/* It was changed later than the trace. */
	n = fxt_frame_names_open(1);
	ck_assert(!place_at(n, program, "", address)->is_known);
	ck_assert(place_at(n, program, build_id, address)->is_known);
	fxt_frame_names_close(n);
	free(other_id);
}
END_TEST

/* -- Join ------------------------------------------------------------------------------------------ */

static void make_part(const char *path)
{
	begin_trace();
	/* The innermost comes first, and is told twice. */
	node(NODE(3), NODE(2), MODULE(1), address);
	event(COMPLETE, 1, "io", "open", 10, 20, ARGS({"stack", POINTER, NODE(3)}));
	node(NODE(2), NODE(1), MODULE(2), 64);
	mapped(MODULE(1), program, build_id);
	mapped(MODULE(2), "/nonexistent/lib.so", NULL);
	node(NODE(3), NODE(2), MODULE(1), address);
	node(NODE(1), NODE(99), 0, 4096);
	provider(9);
	thread(1, 9, 9);
	node(NODE(3), 0, MODULE(7), 32);
	frame(NODE(4), NODE(3), "named", "/bin/it", 8);
	write_trace(path);
}

/* How a part becomes a trace. */
enum way { COPIED, KEPT, FOLLOWED, WAYS };

/* Follows a part that grows by a record each time. */
static void follow(struct fxt_merge *m, struct fxt_reader *r, uint64_t bytes)
{
	r->size = 0;
	fxt_merge_follow_begin(m, r);
	while (r->size < bytes) {
		uint64_t header;

		memcpy(&header, r->data + r->size, sizeof(header));
		r->size += 8 * fxt_record_size_words(header);
		ck_assert(fxt_merge_follow(m, r));
	}
}

/* Joins the file at `from` into one at `to`. */
static void join(const char *from, const char *to, enum way way)
{
	struct fxt_merge m = {0};
	struct fxt_trace_file file;
	struct fxt_reader r;
	FILE *out;

	if (way != COPIED)
		shell(fxt_format("cp %s %s", from, to));
	out = fopen(to, way == COPIED ? "we" : "ae");
	ck_assert_ptr_nonnull(out);
	ck_assert(fxt_trace_open(&file, from));
	fxt_reader_init(&r, file.data, file.size);
	if (way == COPIED) {
		ck_assert(fxt_merge_begin(&m, out) && fxt_merge_trace(&m, &r));
	} else if (way == KEPT) {
		ck_assert(fxt_merge_begin_with(&m, out, &r));
	} else {
		follow(&m, &r, file.size);
		fxt_merge_follow_end(&m, &r, out);
	}
	ck_assert(fxt_merge_end(&m));
	fclose(out);
	fxt_merge_free(&m);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
}

/* What a record with a name has to say. */
struct expected {
	const char *name, *module;      /* no module: "" */
	uint64_t offset;
	unsigned provider, node, parent;
};

static void expect_record(struct fxt_reader *r, const struct fxt_record *rec, const struct expected *e)
{
	const struct fxt_text *module = fxt_argument_text(rec, "module"),
			      *id = fxt_argument_text(rec, "build_id"),
			      *type = fxt_argument_text(rec, "type");

	ck_assert(!rec->damaged);
	ck_assert_uint_eq(rec->provider->id, e->provider);
	ck_assert_uint_eq(rec->id, NODE(e->node));
	ck_assert_uint_eq(r->threads[rec->thread].pid, e->provider);
	ck_assert_msg(fxt_text_is(&rec->name, e->name), "'%.*s', expected '%s'", (int)rec->name.bytes,
		      rec->name.text, e->name);
	ck_assert(type && fxt_text_is(type, "frame"));
	ck_assert_uint_eq(fxt_argument_or(rec, "parent", NODE(0)), NODE(e->parent));
	ck_assert(module ? fxt_text_is(module, e->module) : !*e->module);
	ck_assert_uint_eq(fxt_argument_or(rec, "offset", 0), e->offset);
	ck_assert(id ? fxt_text_is(id, build_id) : e->module != program);
	ck_assert_ptr_null(fxt_argument(rec, "mapping"));
}

/* Compares the records with names, in their order. The one that had a name before comes first. */
static void expect_records(const char *path, const struct expected *list, size_t count)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	struct fxt_record rec;
	size_t found = 0;

	ck_assert(fxt_trace_open(&file, path));
	fxt_reader_init(&r, file.data, file.size);
	r.strict = true;
	while (fxt_reader_next(&r, &rec)) {
		const struct fxt_text *type = fxt_argument_text(&rec, "type");

		if (rec.type != FXT_RECORD_USERSPACE_OBJECT || !rec.name.bytes ||
		    (type && fxt_text_is(type, "module")))
			continue;
		ck_assert_uint_lt(found, count);
		expect_record(&r, &rec, &list[found++]);
	}
	ck_assert_uint_eq(found, count);
	ck_assert_uint_eq(r.damaged_records, 0);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
}

/* Joined once more, the trace gets no more records. */
START_TEST(names_frames_of_a_trace)
{
	char *part = fxt_format("%s/part", directory), *joined = fxt_format("%s/joined", directory),
	     *again = fxt_format("%s/again", directory);
	const struct expected list[] = {
		{"named", "/bin/it", 8, 9, 4, 3},
		{"[code in no file]", "", 4096, 7, 1, 0},
		{"lib.so+0x40", "/nonexistent/lib.so", 64, 7, 2, 1},
		{OUTER, program, address, 7, 3, 2},
		{"[code in no file]", "", 32, 9, 3, 0},
	};

	shell(fxt_format("cp tests/apps/inlined %s", program));
	make_part(part);
	join(part, joined, (enum way)_i);
	expect_records(joined, list, sizeof(list) / sizeof(list[0]));
	join(joined, again, (enum way)((_i + 1) % WAYS));
	expect_records(again, list, sizeof(list) / sizeof(list[0]));
	free(part);
	free(joined);
	free(again);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("names of frames");

#ifndef HAVE_LIBDW
	puts("fxt was built without libdw");
	return 77;
#endif
	if (system("objcopy --version > /dev/null 2>&1 && strip --version > /dev/null 2>&1") != 0) {
		puts("there are no binutils here");
		return 77;
	}
	tcase_add_checked_fixture(c, begin, end);
	tcase_add_test(c, names_are_those_of_the_source);
	tcase_add_test(c, names_inlined_functions);
	tcase_add_test(c, looks_into_directories);
	tcase_add_test(c, takes_an_unstripped_file);
	tcase_add_test(c, uses_no_other_program);
	tcase_add_loop_test(c, names_frames_of_a_trace, 0, WAYS);
	return RUN_SUITE("names of frames", c);
}
