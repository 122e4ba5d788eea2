/* fxt report: bytes by file and socket. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "message.h"
#include "print.h"
#include "report.h"

struct fxt_file_name {
	size_t file;
	UT_hash_handle hh;              /* the key is the label */
};

size_t fxt_file_named(struct fxt_files *f, char *label)
{
	struct fxt_file_name *name;

	HASH_FIND_STR(f->names, label, name);
	if (name) {
		free(label);
		return name->file;
	}
	f->list = fxt_grow(f->list, &f->capacity, f->count + 1, sizeof(*f->list));
	f->list[f->count] = (struct fxt_file){.label = label};
	name = fxt_alloc(1, sizeof(*name));
	name->file = f->count++;
	HASH_ADD_KEYPTR(hh, f->names, label, strlen(label), name);
	return name->file;
}

static uint64_t moved_bytes(const struct fxt_record *rec, const struct fxt_role *role)
{
	uint64_t ret, size, bytes;

	if (role->effect == FXT_EFFECT_GET || role->effect == FXT_EFFECT_PUT)
		return fxt_argument(rec, "errno") == NULL;
	if (!fxt_argument_u64(fxt_argument(rec, "ret"), &ret) || (int64_t)ret < 0)
		return 0;
	if (role->effect == FXT_EFFECT_READ_THINGS || role->effect == FXT_EFFECT_WRITE_THINGS)
		return fxt_argument_u64(fxt_argument(rec, "size"), &size) &&
				       !__builtin_mul_overflow(ret, size, &bytes)
			       ? bytes
			       : 0;
	return ret;
}

/* Whether a call of the kind that does not say how much did anything: it returned no error, end or NULL. */
static bool moved_some(const struct fxt_record *rec)
{
	const struct fxt_argument *ret = fxt_argument(rec, "ret");
	uint64_t value;

	return fxt_argument_u64(ret, &value) &&
	       (ret->type == FXT_ARG_POINTER ? value != 0 : (int64_t)value >= 0);
}

static void transfer(struct fxt_files *f, size_t index, const struct fxt_record *rec, uint64_t in,
		     uint64_t out)
{
	struct fxt_file *file = &f->list[index];

	file->used = true;
	file->calls++;
	file->in_bytes += in;
	file->out_bytes += out;
	file->total_ns += fxt_ns(rec->provider, fxt_commit_ticks(rec)) - fxt_ns(rec->provider, rec->ticks);
}

void fxt_files_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role)
{
	const char *destination = strcmp(role->argument, "in_fd") == 0 ? "out_fd" : "fd_out";
	uint64_t bytes;
	size_t file;

	switch (role->effect) {
	case FXT_EFFECT_READ:
	case FXT_EFFECT_READ_THINGS:
	case FXT_EFFECT_GET:
		transfer(f, fxt_file_of(f, r, rec, role->argument), rec, moved_bytes(rec, role), 0);
		break;
	case FXT_EFFECT_READ_SOME:
	case FXT_EFFECT_WRITE_SOME:
		file = fxt_file_of(f, r, rec, role->argument);
		transfer(f, file, rec, 0, 0);
		f->list[file].unsaid += moved_some(rec);
		break;
	case FXT_EFFECT_USE: transfer(f, fxt_file_of(f, r, rec, role->argument), rec, 0, 0); break;
	case FXT_EFFECT_WRITE:
	case FXT_EFFECT_WRITE_THINGS:
	case FXT_EFFECT_PUT:
		transfer(f, fxt_file_of(f, r, rec, role->argument), rec, 0, moved_bytes(rec, role));
		break;
	case FXT_EFFECT_COPY:
		bytes = moved_bytes(rec, role);
		transfer(f, fxt_file_of(f, r, rec, role->argument), rec, bytes, 0);
		transfer(f, fxt_file_of(f, r, rec, destination), rec, 0, bytes);
		break;
	default: fxt_file_table_take(f, r, rec, role);
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct fxt_file *x = a, *y = b;
	uint64_t p = x->in_bytes + x->out_bytes, q = y->in_bytes + y->out_bytes;

	if (x->used != y->used)
		return x->used ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->label, y->label);
}

static void free_names(struct fxt_files *f)
{
	struct fxt_file_name *name = f->names, *next;

	HASH_CLEAR(hh, f->names);
	for (; name; name = next) {
		next = name->hh.next;
		free(name);
	}
}

void fxt_files_sort(struct fxt_files *f)
{
	fxt_map_free(&f->open);
	free_names(f);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), by_bytes);
	/* Files that were opened and no more are not worth a line. */
	while (f->count && !f->list[f->count - 1].used)
		free(f->list[--f->count].label);
}

void fxt_files_print(const struct fxt_files *f, size_t top, FILE *out)
{
	bool unsaid = false;

	if (f->count == 0)
		return;
	fprintf(out, "\n%-34s %10s  %11s %9s %9s %9s\n", "FILES AND SOCKETS", "bytes", "calls", "read",
		"written", "time");
	for (size_t i = 0; i < f->count && i < top; i++) {
		const struct fxt_file *file = &f->list[i];
		struct fxt_text text = {.text = file->label, .bytes = (uint32_t)strlen(file->label)};
		char *label = fxt_printable(&text, 32, true);

		fputs("  ", out);
		fxt_put_padded(out, label, 32);
		fprintf(out, " %10s%c %11s %9s %9s %9s\n", fxt_bytes(file->in_bytes + file->out_bytes).text,
			file->unsaid ? '+' : ' ', fxt_count(file->calls).text, fxt_bytes(file->in_bytes).text,
			fxt_bytes(file->out_bytes).text, fxt_duration(file->total_ns).text);
		unsaid = unsaid || file->unsaid;
		free(label);
	}
	if (f->count > top)
		fprintf(out, "  and %zu more\n", f->count - top);
	if (unsaid)
		fputs("  + and what fputs, fgets and other calls moved that do not say how much\n", out);
}

void fxt_files_free(struct fxt_files *f)
{
	free_names(f);
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].label);
	free(f->list);
	fxt_map_free(&f->open);
}
