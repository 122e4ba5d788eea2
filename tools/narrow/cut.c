/* Writes the chosen part of a trace, and the command fxt cut. See cut.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "selection.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/perfetto/perfetto_blob.h"
#include "writer/fxt_encode.h"

enum { THREAD_INDICES = 256 };

/* The threads of a provider that were registered and not written yet, as the offsets of their records. */
struct waiting {
	uint64_t threads[THREAD_INDICES];
	unsigned count;
};

struct cutting {
	struct fxt_selection selection;
	struct fxt_reader r;
	FILE *out;
	const struct fxt_provider *provider;    /* whose records are written */
	struct waiting *waiting;                /* by the provider's index */
	size_t waiting_count, waiting_capacity;
};

static void put_words(struct cutting *c, const void *words, size_t count)
{
	fwrite(words, FXT_WORD_BYTES, count, c->out);
}

/* Says whose the next records are, unless those before them are of the same provider. */
static void put_provider(struct cutting *c, const struct fxt_provider *p)
{
	uint64_t words[4];

	if (c->provider == p)
		return;
	c->provider = p;
	put_words(c, words, fxt_encode_provider_section(words, sizeof(words) / sizeof(*words), p->id));
}

static void put(struct cutting *c, const struct fxt_provider *p, uint64_t offset)
{
	uint64_t header;

	put_provider(c, p);
	memcpy(&header, c->r.data + offset, sizeof(header));
	put_words(c, c->r.data + offset, fxt_record_size_words(header));
}

static struct waiting *waiting_of(struct cutting *c, const struct fxt_provider *p)
{
	c->waiting = fxt_reach(c->waiting, &c->waiting_capacity, &c->waiting_count, p->index,
			       sizeof(*c->waiting));
	return &c->waiting[p->index];
}

static void put_thread(struct cutting *c, const struct fxt_provider *p, unsigned index)
{
	struct waiting *w = waiting_of(c, p);

	if (!w->threads[index])
		return;
	put(c, p, w->threads[index]);
	w->threads[index] = 0;
	w->count--;
}

/* Writes a record with the threads that it refers to. An event refers to one. */
static void put_chosen(struct cutting *c, const struct fxt_record *rec)
{
	struct waiting *w = waiting_of(c, rec->provider);

	if (rec->type == FXT_RECORD_EVENT) {
		put_thread(c, rec->provider, (unsigned)fxt_get_event_thread(rec->header));
	} else if (w->count) {
		for (unsigned i = 0; i < THREAD_INDICES; i++)
			put_thread(c, rec->provider, i);
	}
	put(c, rec->provider, rec->offset);
}

static void take_thread(struct cutting *c, const struct fxt_record *rec)
{
	struct waiting *w = waiting_of(c, rec->provider);

	if (rec->id >= THREAD_INDICES)
		return;
	w->count += !w->threads[rec->id];
	w->threads[rec->id] = rec->offset;
}

/* Writes the record that announces a provider; what follows is of that one. */
static void put_info(struct cutting *c, const struct fxt_record *rec)
{
	c->provider = rec->provider;
	put_words(c, c->r.data + rec->offset, rec->words);
}

/* Takes a record that has no time. */
static void take_untimed(struct cutting *c, const struct fxt_record *rec)
{
	if (rec->type == FXT_RECORD_THREAD)
		take_thread(c, rec);
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_PROVIDER_INFO)
		put_info(c, rec);
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_PROVIDER_SECTION)
		;
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_TRACE_INFO)
		put_words(c, c->r.data + rec->offset, rec->words);
	else if (rec->type != FXT_RECORD_BLOB || !fxt_text_is(&rec->name, FXT_PERFETTO_BLOB))
		put(c, rec->provider, rec->offset);
}

char *fxt_cut(const struct fxt_trace_file *file, struct fxt_narrow *narrow, FILE *out)
{
	struct cutting c = {.out = out};
	struct fxt_record rec;
	char *wrong;

	wrong = fxt_narrow_settle(narrow, file->path, file->data, file->size);
	if (wrong)
		return wrong;
	fxt_selection_make(&c.selection, narrow, file->data, file->size);
	fxt_reader_init(&c.r, file->data, file->size);
	/* A trace may begin with records of a provider that is never announced. */
	c.provider = c.r.provider;
	while (fxt_reader_next(&c.r, &rec) && !ferror(out)) {
		if (!rec.known || rec.damaged)
			continue;
		if (!rec.timed)
			take_untimed(&c, &rec);
		else if (fxt_selects(&c.selection, &c.r, &rec))
			put_chosen(&c, &rec);
	}
	if (c.r.damaged_records || c.r.tail_bytes)
		fxt_error(file->path,
			  "what is damaged or cut short in it is not in the part: fxt check says more");
	wrong = fflush(out) || ferror(out) ? fxt_format("the part cannot be written: %s", strerror(errno))
					   : fxt_selection_unmatched(&c.selection);
	fxt_selection_free(&c.selection);
	fxt_reader_free(&c.r);
	free(c.waiting);
	return wrong;
}

/* -- For other commands ------------------------------------------------------------------------------ */

char *fxt_cut_nameless(const char *path, struct fxt_narrow *narrow)
{
	struct fxt_trace_file file;
	int fd = fxt_nameless_file();
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	struct timespec times[2];
	struct stat st;
	char *wrong;

	if (!out) {
		fxt_error(path, "no file for a part of it: %s", strerror(errno));
		return NULL;
	}
	if (!fxt_trace_open(&file, path)) {
		fclose(out);
		return NULL;
	}
	wrong = fxt_cut(&file, narrow, out);
	fclose(out);
	fxt_trace_close(&file);
	/* Code that was changed after the recording is known by the time of the trace. */
	if (stat(path, &st) == 0) {
		times[0] = times[1] = st.st_mtim;
		futimens(fd, times);
	}
	if (!wrong)
		return fxt_format("/proc/self/fd/%d", fd);
	fxt_error(path, "%s", wrong);
	free(wrong);
	return NULL;
}

/* -- The command ------------------------------------------------------------------------------------- */

struct input {
	struct fxt_narrow narrow;
	const char *path, *out;
	bool is_forced;
};

enum { KEY_FORCE = 0x100 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 'o': in->out = arg; return 0;
	case KEY_FORCE: in->is_forced = true; return 0;
	case ARGP_KEY_SUCCESS:
		if (!in->out)
			argp_error(state, "no file was given to write to: -o FILE");
		if (!fxt_narrow_is_any(&in->narrow))
			argp_error(state, "no part was given: --help lists what chooses one");
		return 0;
	default: break;
	}
	if (fxt_narrow_parse(&in->narrow, key, arg, state) == 0)
		return 0;
	return fxt_parse_file(key, arg, state, &in->path);
}

/* Writes the part beside the file, which is there only when it is whole. */
static int write_part(struct input *in, const struct fxt_trace_file *file)
{
	char *beside = fxt_format("%s.%d.tmp", in->out, (int)getpid()), *wrong;
	FILE *out = fopen(beside, "wxe");

	if (!out) {
		fxt_error(in->out, "%s", strerror(errno));
		free(beside);
		return 1;
	}
	wrong = fxt_cut(file, &in->narrow, out);
	if (fclose(out) != 0 && !wrong)
		wrong = fxt_format("the part cannot be written: %s", strerror(errno));
	if (!wrong && rename(beside, in->out) != 0)
		wrong = fxt_strdup(strerror(errno));
	if (wrong)
		unlink(beside);
	free(beside);
	if (!wrong)
		return 0;
	fxt_error(in->path, "%s", wrong);
	free(wrong);
	return 1;
}

int fxt_command_cut(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"output", 'o', "FILE", 0, "Write the part to FILE", 0},
		{"force", KEY_FORCE, NULL, 0, "Replace FILE", 0},
		FXT_NARROW_OPTIONS,
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Writes a part of a trace as a trace.",
	};
	struct input in = {0};
	struct fxt_trace_file file;
	struct stat st;
	int status = 1;

	fxt_parse(&argp, argc, argv, 0, &in);
	if (stat(in.out, &st) == 0 && !S_ISREG(st.st_mode)) {
		fxt_error(in.out, "is no regular file");
	} else if (!in.is_forced && lstat(in.out, &st) == 0) {
		fxt_error(in.out, "exists, and is not replaced without --force");
	} else if (fxt_trace_open(&file, in.path)) {
		status = write_part(&in, &file);
		fxt_trace_close(&file);
	}
	fxt_narrow_free(&in.narrow);
	return status;
}
