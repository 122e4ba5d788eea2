/* fxt report: the section on files and peers, with their time, bytes and latencies. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "report.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

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
	f->list[f->count] = (struct fxt_file){.label = label, .id = f->count};
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

/* Returns whether a call that does not say how much it moved did anything: it returned no error, end or
 * NULL. */
static bool moved_some(const struct fxt_record *rec)
{
	const struct fxt_argument *ret = fxt_argument(rec, "ret");
	uint64_t value;

	return fxt_argument_u64(ret, &value) &&
	       (ret->type == FXT_ARG_POINTER ? value != 0 : (int64_t)value >= 0);
}

static void use(struct fxt_files *f, size_t index, const struct fxt_record *rec, uint32_t stack,
		enum fxt_file_use how, uint64_t bytes)
{
	struct fxt_file *file = &f->list[index];
	uint64_t ns = fxt_ns(rec->provider, fxt_commit_ticks(rec)) - fxt_ns(rec->provider, rec->ticks);

	if (!file->uses[how])
		file->uses[how] = fxt_alloc(1, sizeof(*file->uses[how]));
	fxt_transfers_add(file->uses[how], ns, bytes);
	if (stack != FXT_NO_FRAME)
		fxt_stack_sums_add_event(&f->by_stack, file->id, stack, ns, rec);
	file->calls++;
	file->total_ns += ns;
	file->in_bytes += how == FXT_FILE_READ ? bytes : 0;
	file->out_bytes += how == FXT_FILE_WRITE ? bytes : 0;
}

void fxt_files_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role, uint32_t stack)
{
	const char *destination = strcmp(role->argument, "in_fd") == 0 ? "out_fd" : "fd_out";
	enum fxt_file_use how = FXT_FILE_WRITE;
	uint64_t bytes = 0;
	size_t file;

	switch (role->effect) {
	case FXT_EFFECT_READ:
	case FXT_EFFECT_READ_THINGS:
	case FXT_EFFECT_GET: how = FXT_FILE_READ;
		/* fall through */
	case FXT_EFFECT_WRITE:
	case FXT_EFFECT_WRITE_THINGS:
	case FXT_EFFECT_PUT: bytes = moved_bytes(rec, role); break;
	case FXT_EFFECT_READ_SOME: how = FXT_FILE_READ; break;
	case FXT_EFFECT_WRITE_SOME: break;
	case FXT_EFFECT_COPY:
		bytes = moved_bytes(rec, role);
		use(f, fxt_file_of(f, r, rec, destination), rec, stack, FXT_FILE_WRITE, bytes);
		how = FXT_FILE_READ;
		break;
	case FXT_EFFECT_CONNECT:
		/* The time to connect is the first thing that shows how far away a peer is. */
		fxt_file_table_take(f, r, rec, role);
		/* fall through */
	case FXT_EFFECT_MOVE:
	case FXT_EFFECT_USE: how = FXT_FILE_OTHER; break;
	default: fxt_file_table_take(f, r, rec, role); return;
	}
	file = fxt_file_of(f, r, rec, role->argument);
	use(f, file, rec, stack, how, bytes);
	if (role->effect == FXT_EFFECT_READ_SOME || role->effect == FXT_EFFECT_WRITE_SOME) {
		f->list[file].uses[how]->unsaid += moved_some(rec);
		f->list[file].unsaid += moved_some(rec);
	}
}

/* Sorts by time. Files that were only opened have none and are not worth a line. */
static int by_time(const void *a, const void *b)
{
	const struct fxt_file *x = a, *y = b;
	uint64_t p = x->in_bytes + x->out_bytes, q = y->in_bytes + y->out_bytes;

	if ((x->calls == 0) != (y->calls == 0))
		return x->calls ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
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
	fxt_fd_images_free(&f->images);
	fxt_fd_lives_free(&f->lives);
	fxt_map_free(&f->open);
	fxt_map_free(&f->gaps);
	fxt_map_free(&f->lifetimes);
	fxt_map_free(&f->last_lifetime);
	free_names(f);
	fxt_stack_sums_finish(&f->by_stack);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), by_time);
	while (f->count && !f->list[f->count - 1].calls)
		free(f->list[--f->count].label);
}

/* -- Printing ------------------------------------------------------------------------------------------ */

enum { LABEL = 24 };
#define USE " %-5s"
#define FIGURES " %8s %9s %8s%c %8s %7s %7s %7s\n"

const char *const fxt_file_use_names[FXT_FILE_USES] = {"read", "write", "other"};

static void print_use(const char *handle, const char *label, enum fxt_file_use how, struct fxt_transfers *t,
		      FILE *out)
{
	uint64_t mean = fxt_transfers_mean_bytes(t);
	static const struct fxt_short none = {"-"};
	struct fxt_short bytes = how == FXT_FILE_OTHER ? none : fxt_bytes(t->bytes);

	fxt_put_label(out, handle, label, LABEL);
	fprintf(out, USE FIGURES, fxt_file_use_names[how],
		fxt_duration(t->total_ns).text, fxt_count(t->calls).text, bytes.text, t->unsaid ? '+' : ' ',
		mean ? fxt_bytes(mean).text : "-", fxt_duration(fxt_transfers_percentile(t, 50)).text,
		fxt_duration(fxt_transfers_percentile(t, 99)).text, fxt_duration(t->max_ns).text);
}

/* Prints one file and returns the number of lines. */
static size_t print_file(const struct fxt_file *file, FILE *out)
{
	size_t lines = 0;
	struct fxt_text text = fxt_text_of(file->label);
	char *label = fxt_printable(&text, LABEL, true);
	struct fxt_handle own = fxt_handle_of_name(FXT_HANDLE_FILE, file->label);
	const char *name = label, *handle = own.text;

	for (int how = 0; how < FXT_FILE_USES; how++) {
		/* Calls that neither read nor write, such as fstat, get a line only if they took a
		 * twentieth of the file's time. */
		if (!file->uses[how] ||
		    (how == FXT_FILE_OTHER && file->uses[how]->total_ns < file->total_ns / 20))
			continue;
		print_use(handle, name, (enum fxt_file_use)how, file->uses[how], out);
		handle = name = "";
		lines++;
	}
	free(label);
	return lines;
}

void fxt_files_print(const struct fxt_files *f, struct fxt_who *who, size_t top, FILE *out)
{
	uint64_t more_ns = 0, more_bytes = 0;
	size_t lines = 0, shown = 0;
	bool unsaid = false;

	if (f->count == 0)
		return;
	fxt_put_title(out, "FILES AND SOCKETS", LABEL);
	fprintf(out, USE FIGURES, "", "time", "calls", "bytes", ' ', "mean", "p50", "p99", "max");
	for (; shown < f->count && lines < top; shown++) {
		lines += print_file(&f->list[shown], out);
		if (f->list[shown].total_ns >= FXT_WORTH_A_CALLER_NS)
			fxt_most_by_print(&f->by_stack, f->list[shown].id, who, FXT_FOR_CALL,
					  f->list[shown].total_ns, top == FXT_TOP_WHOLE, out);
		unsaid = unsaid || f->list[shown].unsaid;
	}
	for (size_t i = shown; i < f->count; i++) {
		more_ns += f->list[i].total_ns;
		more_bytes += f->list[i].in_bytes + f->list[i].out_bytes;
	}
	if (f->count > shown)
		fprintf(out, "  and %zu more: %s, %s\n", f->count - shown, fxt_duration(more_ns).text,
			fxt_bytes(more_bytes).text);
	if (unsaid)
		fputs("  + and more: of some calls (fputs, fgets, ...) it is not known how much they moved\n",
		      out);
}

void fxt_files_free(struct fxt_files *f)
{
	free_names(f);
	for (size_t i = 0; i < f->count; i++) {
		for (int how = 0; how < FXT_FILE_USES; how++) {
			if (f->list[i].uses[how])
				fxt_transfers_free(f->list[i].uses[how]);
			free(f->list[i].uses[how]);
		}
		free(f->list[i].label);
	}
	free(f->list);
	fxt_stack_sums_free(&f->by_stack);
	fxt_fd_images_free(&f->images);
	fxt_fd_lives_free(&f->lives);
	fxt_map_free(&f->open);
	fxt_map_free(&f->gaps);
	fxt_map_free(&f->lifetimes);
	fxt_map_free(&f->last_lifetime);
	fxt_map_free(&f->fifos);
}
