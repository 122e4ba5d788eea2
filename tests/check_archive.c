/* A long run in simulated time: what is kept of it is true however often the archive has turned to another
 * file (tools/archive/archive_keep.h). ARCHIVE_TURNS says how often it does. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

#include "apps/random.h"
#include "tools/archive/archive.h"
#include "tools/common/map.h"
#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader.h"
#include "writer/fxt_encode.h"

enum {
	TURNS = 400,
	LASTING = 6,                    /* programs that are there all the time; others have a few calls */
	SLOTS = 300,                    /* for lifetimes */
	FRAMES = 400,
	KEPT = 3,
	EACH_NS = 50000,                /* 20 000 calls a second */
	WORDS = 64,
	FIRST_SHORT = 1000,             /* the first id of a program that is over soon */
};

static const uint64_t FRAME = UINT64_C(0x7fe0000000000000);

/* What has been recorded. */
struct run {
	char directory[64], *path;
	struct fxt_archive archive;
	uint64_t now_ns, calls, turns, lifetimes;
	uint32_t shorts;                /* programs that are over soon */
	uint64_t file;                  /* the number of the present file */
	uint64_t told[LASTING];         /* the file that has a program's names */
	struct {
		uint64_t id;            /* 0: none */
		uint32_t program;
	} open[SLOTS];
	unsigned frames;                /* so many have been told */
};

/* What a trace has. */
struct seen {
	uint64_t calls, gone, first, last, orphans, frames, begins, programs;
	struct fxt_map halves;          /* lifetimes -> 1 begin, 2 end; none: both */
};

static void append(struct run *r, uint32_t id, const uint64_t *words, size_t count)
{
	ck_assert_uint_ne(count, 0);
	ck_assert_uint_eq(fxt_archive_append(&r->archive, id, words, count, true), count);
}

/* Says the names of a program. */
static void tell_names(struct run *r, uint32_t id)
{
	static const char *const texts[] = {"", "io", "call", "lifetime", "number", "agent"};
	uint64_t words[WORDS];
	char name[32];

	snprintf(name, sizeof(name), "program %u", id);
	fxt_archive_name(&r->archive, id, name, strlen(name));
	append(r, id, words, fxt_encode_initialization(words, WORDS, 1000000000));
	for (uint16_t i = 1; i < sizeof(texts) / sizeof(texts[0]); i++)
		append(r, id, words, fxt_encode_string(words, WORDS, i, texts[i], strlen(texts[i])));
	append(r, id, words, fxt_encode_thread(words, WORDS, 1, id, id));
	append(r, id, words,
	       fxt_encode_kernel_object(words, WORDS, FXT_OBJECT_PROCESS, id, FXT_INLINE(name, strlen(name)),
					(struct fxt_args){0, NULL}));
}

static void tell_lasting(struct run *r, uint32_t program)
{
	if (r->told[program] == r->file)
		return;
	tell_names(r, program + 1);
	r->told[program] = r->file;
}

static void put(struct run *r, uint32_t id, enum fxt_event_type type, uint16_t name, uint64_t number,
		uint64_t extra)
{
	struct fxt_arg argument = {.type = FXT_ARG_UINT64, .name = FXT_INDEXED(4), .u64 = number};
	uint64_t words[WORDS];

	append(r, id, words,
	       fxt_encode_event(words, WORDS, type, r->now_ns, (struct fxt_thread_ref){.index = 1},
				FXT_INDEXED(1), FXT_INDEXED(name), (struct fxt_args){1, &argument}, extra));
}

static void put_call(struct run *r, uint32_t id)
{
	put(r, id, FXT_EVENT_DURATION_COMPLETE, 2, r->calls++, r->now_ns + EACH_NS / 2);
	r->now_ns += EACH_NS;
}

/* Ends the lifetime of a slot, or begins one. */
static void put_lifetime(struct run *r)
{
	unsigned slot = (unsigned)random_below(SLOTS);
	uint32_t program = (uint32_t)random_below(LASTING);
	bool begins = !r->open[slot].id;

	if (begins) {
		r->open[slot].id = ++r->lifetimes;
		r->open[slot].program = program;
	}
	tell_lasting(r, r->open[slot].program);
	put(r, r->open[slot].program + 1, begins ? FXT_EVENT_ASYNC_BEGIN : FXT_EVENT_ASYNC_END, 3,
	    r->open[slot].id, r->open[slot].id);
	if (!begins)
		r->open[slot].id = 0;
	r->now_ns++;
}

/* Tells a frame, once and for good, or gives an object of any address another name. */
static void put_object(struct run *r)
{
	bool is_frame = r->frames < FRAMES && random_below(4) == 0;
	uint64_t words[WORDS], id = is_frame ? FRAME + ++r->frames : random_below(UINT64_C(1) << 47);

	tell_lasting(r, 0);
	append(r, 1, words,
	       fxt_encode_userspace_object(words, WORDS, id, (struct fxt_thread_ref){.index = 1},
					   FXT_INDEXED(2), (struct fxt_args){0, NULL}));
}

/* A program of a few calls. */
static void put_short(struct run *r)
{
	uint32_t id = FIRST_SHORT + r->shorts++;
	uint64_t count = random_below(4);

	tell_names(r, id);
	for (uint64_t i = 0; i < count; i++)
		put_call(r, id);
}

static void step(struct run *r)
{
	uint32_t program = (uint32_t)random_below(LASTING);

	tell_lasting(r, program);
	for (uint64_t i = random_below(60); i-- > 0;)
		put_call(r, program + 1);
	put_lifetime(r);
	put_object(r);
	if (random_below(20) == 0)
		put_short(r);
	if (fxt_archive_keep_turn(&r->archive, r->now_ns)) {
		r->turns++;
		r->file++;
	}
}

/* -- What a trace has ---------------------------------------------------------------------------- */

static void see_event(struct seen *s, const struct fxt_record *rec)
{
	uint64_t number = fxt_argument_or(rec, "number", 0);
	struct fxt_slot *half;
	bool fresh;

	if (rec->subtype == FXT_EVENT_COUNTER && fxt_text_is(&rec->name, "dropped"))
		s->gone += fxt_argument_or(rec, "records", 0);
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE) {
		s->calls++;
		s->first = number < s->first ? number : s->first;
		s->last = number > s->last ? number : s->last;
	}
	if (rec->subtype != FXT_EVENT_ASYNC_BEGIN && rec->subtype != FXT_EVENT_ASYNC_END)
		return;
	ck_assert_uint_eq(number, rec->extra);
	ck_assert(fxt_text_is(&rec->name, "lifetime"));
	half = fxt_map_put(&s->halves, rec->extra, 0, &fresh);
	s->begins += rec->subtype == FXT_EVENT_ASYNC_BEGIN;
	if (fresh)
		half->value[0] = rec->subtype == FXT_EVENT_ASYNC_BEGIN ? 1 : 2;
	else
		fxt_map_remove(&s->halves, half);
}

static void see(struct seen *s, const char *path)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	struct fxt_record rec;

	*s = (struct seen){.first = UINT64_MAX};
	ck_assert(fxt_trace_open(&file, path));
	fxt_reader_init(&r, file.data, file.size);
	r.strict = true;
	while (fxt_reader_next(&r, &rec)) {
		ck_assert(!rec.damaged);
		if (rec.type == FXT_RECORD_EVENT)
			see_event(s, &rec);
		s->frames += rec.type == FXT_RECORD_USERSPACE_OBJECT && rec.id > FRAME &&
			     rec.id <= FRAME + FRAMES;
	}
	ck_assert_uint_eq(r.tail_bytes, 0);
	s->programs = r.provider_count;
	for (const struct fxt_slot *half = fxt_map_next(&s->halves, NULL); half;
	     half = fxt_map_next(&s->halves, half))
		s->orphans += half->value[0] == 2;
	fxt_reader_free(&r);
	fxt_trace_close(&file);
}

/* Whether a trace is to have the first call. */
enum first { LACKS_FIRST, HAS_FIRST, MAY_HAVE_FIRST };

/* Checks that a trace has all that it should have of the run. */
static void judge(const struct run *r, const char *path, enum first first)
{
	struct seen s;
	uint64_t open = 0;

	see(&s, path);
	ck_assert_uint_eq(s.calls + s.gone, r->calls);
	ck_assert_uint_eq(s.last, r->calls - 1);
	if (first != MAY_HAVE_FIRST)
		ck_assert_uint_eq(s.first == 0, first == HAS_FIRST);
	ck_assert_uint_eq(s.orphans, 0);
	ck_assert_uint_eq(s.frames, r->frames);
	for (unsigned i = 0; i < SLOTS; i++) {
		open += r->open[i].id != 0;
		if (r->open[i].id)
			ck_assert_ptr_nonnull(fxt_map_find(&s.halves, r->open[i].id, 0));
	}
	/* Each lifetime that was ended has its end. */
	ck_assert_uint_eq(s.halves.used, open);
	fxt_map_free(&s.halves);
}

/* Returns how many bytes the files of the archive have. */
static uint64_t bytes_of(const struct run *r)
{
	DIR *d = opendir(r->directory);
	struct dirent *e;
	uint64_t bytes = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		char *path = fxt_format("%s/%s", r->directory, e->d_name);
		struct stat st;

		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
		free(path);
	}
	closedir(d);
	return bytes;
}

/* Makes a trace of what there is by now, and looks at it. */
static void copy_and_judge(struct run *r, uint64_t from_ns, enum first first)
{
	char *path = fxt_format("%s/copy", r->directory);
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	fxt_archive_flush(&r->archive);
	ck_assert(fxt_archive_keep_copy(r->path, from_ns, out));
	ck_assert_int_eq(fclose(out), 0);
	judge(r, path, first);
	unlink(path);
	free(path);
}

static void run(const struct fxt_archive_keep_wish *wish)
{
	const char *wanted = getenv("ARCHIVE_TURNS");
	uint64_t turns = wanted ? strtoull(wanted, NULL, 10) : TURNS, most = 0, bytes, looked = 0;
	struct run *r = fxt_alloc(1, sizeof(*r));

	random_seed(wish->has_first);
	snprintf(r->directory, sizeof(r->directory), "check_archive.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(r->directory));
	r->path = fxt_format("%s/manager.fxt", r->directory);
	r->now_ns = 1000000000;
	r->file = 1;
	ck_assert(fxt_archive_open(&r->archive, r->path, false));
	fxt_archive_keep_begin(&r->archive, wish);
	while (r->turns < turns) {
		step(r);
		if (r->turns < looked)
			continue;
		looked = r->turns + 1 + random_below(turns / 4);
		bytes = bytes_of(r);
		most = bytes > most ? bytes : most;
		copy_and_judge(r, 0, wish->has_first || r->turns <= KEPT ? HAS_FIRST : LACKS_FIRST);
		copy_and_judge(r, r->now_ns - random_below(r->now_ns / EACH_NS) * EACH_NS / 2,
			       MAY_HAVE_FIRST);
	}
	fxt_archive_close(&r->archive);
	ck_assert(fxt_archive_keep_put_together(r->path));
	judge(r, r->path, wish->has_first ? HAS_FIRST : LACKS_FIRST);
	/* The files are bounded, and so is what is kept of names of objects. */
	bytes = bytes_of(r);
	ck_assert_uint_lt(bytes, most + (UINT64_C(1) << 20));
	unlink(r->path);
	ck_assert_int_eq(rmdir(r->directory), 0);
	free(r->path);
	free(r);
}

START_TEST(keeps_beginning_and_newest)
{
	run(&(struct fxt_archive_keep_wish){
		.has_first = true, .first_bytes = 64 << 10, .bytes = 16 << 10, .count = KEPT});
}
END_TEST

START_TEST(keeps_newest)
{
	run(&(struct fxt_archive_keep_wish){.first_bytes = 16 << 10, .bytes = 16 << 10, .count = KEPT});
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("archive");

	tcase_set_timeout(cases, 600);
	tcase_add_test(cases, keeps_beginning_and_newest);
	tcase_add_test(cases, keeps_newest);
	return RUN_SUITE("archive", cases);
}
