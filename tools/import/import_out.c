/* See import_out.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "import_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "import_modules.h"
#include "import_open.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"

/* A name without an index stands in the record itself, and is cut to this length. */
enum { INLINE_BYTES = 160, TEMPORARY = FXT_MAX_ARGS + 4 };

struct fxt_import_text {
	uint16_t index;
	size_t bytes;
	char *text;
	UT_hash_handle hh;
};

static uint64_t words[FXT_RECORD_MAX_WORDS];

static void put(struct fxt_import_out *o, size_t count)
{
	if (count && fwrite_unlocked(words, FXT_WORD_BYTES, count, o->file) == count)
		return;
	o->error = o->has_failed ? o->error : count ? errno : 0;
	o->has_failed = true;
}

/* Has the records that follow belong to the program. */
static void turn_to(struct fxt_import_out *o, struct fxt_import_program *p)
{
	if (o->current == p)
		return;
	o->current = p;
	put(o, fxt_encode_provider_section(words, FXT_RECORD_MAX_WORDS, p->id));
}

/* -- Names ----------------------------------------------------------------------------------------- */

static struct fxt_import_text *text_of(struct fxt_import_out *o, const char *text, size_t bytes)
{
	static char clean[FXT_STRING_MAX_BYTES];
	struct fxt_import_text *found;

	HASH_FIND(hh, o->texts, text, bytes, found);
	if (found)
		return found;
	bytes = fxt_utf8_clean(clean, text, bytes, sizeof(clean));
	HASH_FIND(hh, o->texts, clean, bytes, found);
	if (found || o->text_count == FXT_STRING_MAX_INDEX)
		return found;
	found = fxt_alloc(1, sizeof(*found));
	found->index = (uint16_t)++o->text_count;
	found->bytes = bytes;
	found->text = fxt_alloc(bytes, 1);
	memcpy(found->text, clean, bytes);
	HASH_ADD_KEYPTR(hh, o->texts, found->text, bytes, found);
	return found;
}

/* Returns a reference to the name, which the present program gets if it does not have it. */
static struct fxt_string name_ref(struct fxt_import_out *o, const char *text)
{
	size_t bytes = strnlen(text, FXT_STRING_MAX_BYTES);
	struct fxt_import_text *found = bytes ? text_of(o, text, bytes) : NULL;
	struct fxt_import_program *p = o->current;
	uint64_t bit;

	if (!bytes)
		return FXT_INLINE(NULL, 0);
	if (!found || !p) {
		static char inlined[TEMPORARY][INLINE_BYTES];
		static unsigned turn;
		char *clean = inlined[turn++ % TEMPORARY];

		return FXT_INLINE(clean, fxt_utf8_clean(clean, text, bytes, INLINE_BYTES));
	}
	p->has = fxt_reach(p->has, &p->has_capacity, &p->has_words, found->index / 64, sizeof(*p->has));
	bit = UINT64_C(1) << found->index % 64;
	if (!(p->has[found->index / 64] & bit)) {
		p->has[found->index / 64] |= bit;
		put(o,
		    fxt_encode_string(words, FXT_RECORD_MAX_WORDS, found->index, found->text, found->bytes));
	}
	return FXT_INDEXED(found->index);
}

/* -- Programs and threads -------------------------------------------------------------------------- */

void fxt_import_out_begin(struct fxt_import_out *o, FILE *file, uint64_t ns, uint64_t utc_ns)
{
	const struct fxt_arg list[] = {{FXT_ARG_UINT64, FXT_INLINE("boottime_ns", 11), .u64 = ns},
				       {FXT_ARG_UINT64, FXT_INLINE("utc_ns", 6), .u64 = utc_ns},
				       {FXT_ARG_INT32, FXT_INLINE("zone_s", 6), .i32 = 0}};

	*o = (struct fxt_import_out){.file = file};
	put(o, fxt_encode_magic(words, FXT_RECORD_MAX_WORDS));
	if (utc_ns)
		put(o, fxt_encode_kernel_object(words, FXT_RECORD_MAX_WORDS, FXT_OBJECT_CLOCK, FXT_CLOCK_KOID,
						FXT_INLINE("clock", 5), (struct fxt_args){3, list}));
}

/* Announces the program as a provider, or tells its name. What follows belongs to it. */
static void put_provider(struct fxt_import_out *o, struct fxt_import_program *p)
{
	char clean[FXT_PROVIDER_NAME_MAX_BYTES];
	size_t bytes = fxt_utf8_clean(clean, p->name, strlen(p->name), sizeof(clean));

	put(o, fxt_encode_provider_info(words, FXT_RECORD_MAX_WORDS, p->id, clean, bytes));
	o->current = p;
}

static struct fxt_import_program *make_program(struct fxt_import_out *o, uint32_t id, uint64_t pid,
					       uint64_t ns)
{
	struct fxt_import_program *p = fxt_alloc(1, sizeof(*p));
	bool fresh;

	*p = (struct fxt_import_program){.id = id, .pid = pid, .first_ns = ns, .name = fxt_strdup("")};
	fxt_map_put(&o->by_pid, pid, 0, &fresh)->value[0] = o->program_count;
	fxt_map_put(&o->by_id, id, 0, &fresh)->value[0] = o->program_count;
	o->programs = fxt_grow(o->programs, &o->program_capacity, o->program_count + 1,
			       sizeof(struct fxt_import_program *));
	o->programs[o->program_count++] = p;
	put_provider(o, p);
	put(o, fxt_encode_initialization(words, FXT_RECORD_MAX_WORDS, 1000000000));
	return p;
}

/* A provider has the number of the process as its id, if no other program had it. */
struct fxt_import_program *fxt_import_program_new(struct fxt_import_out *o, uint64_t pid, uint64_t ns)
{
	enum { FIRST_OTHER = 0x40000000 };
	bool is_high = pid >= FIRST_OTHER && pid != FXT_OTHERS_ID && pid != FXT_KERNEL_PROVIDER_ID;

	return make_program(o,
			    is_high || fxt_map_find(&o->by_id, pid, 0)
				    ? FIRST_OTHER + (uint32_t)o->program_count
				    : (uint32_t)pid,
			    pid, ns);
}

struct fxt_import_program *fxt_import_provider(struct fxt_import_out *o, uint32_t id, uint64_t pid,
					       uint64_t ns)
{
	const struct fxt_slot *s = fxt_map_find(&o->by_id, id, 0);

	return s ? o->programs[s->value[0]] : make_program(o, id, pid, ns);
}

struct fxt_import_program *fxt_import_program(struct fxt_import_out *o, uint64_t pid, uint64_t ns)
{
	const struct fxt_slot *s;

	if (o->current && o->current->pid == pid)
		return o->current;
	s = fxt_map_find(&o->by_pid, pid, 0);
	return s ? o->programs[s->value[0]] : fxt_import_program_new(o, pid, ns);
}

bool fxt_import_provider_name(struct fxt_import_out *o, struct fxt_import_program *p, const char *name)
{
	if (!*name || strcmp(p->name, name) == 0)
		return false;
	free(p->name);
	p->name = fxt_strdup(name);
	put_provider(o, p);
	return true;
}

void fxt_import_program_name(struct fxt_import_out *o, struct fxt_import_program *p, const char *name)
{
	if (fxt_import_provider_name(o, p, name))
		fxt_import_kernel_object(o, p, FXT_OBJECT_PROCESS, p->pid, name, NULL, 0);
}

struct fxt_import_thread *fxt_import_thread(struct fxt_import_out *o, struct fxt_import_program *p,
					    uint64_t tid)
{
	return fxt_import_thread_of(o, p, p->pid, tid);
}

struct fxt_import_thread *fxt_import_thread_of(struct fxt_import_out *o, struct fxt_import_program *p,
					       uint64_t pid, uint64_t tid)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&o->by_tid, (uint64_t)p->id << 32 | (uint32_t)pid, tid, &fresh);
	struct fxt_import_thread *t;

	if (!fresh)
		return p->threads[s->value[0]];
	s->value[0] = p->all_threads;
	t = fxt_alloc(1, sizeof(*t));
	*t = (struct fxt_import_thread){.program = p, .pid = pid, .tid = tid};
	p->threads = fxt_grow(p->threads, &p->thread_capacity, p->all_threads + 1,
			      sizeof(struct fxt_import_thread *));
	p->threads[p->all_threads++] = t;
	if (p->all_threads <= FXT_THREAD_MAX_INDEX) {
		t->index = (uint8_t)p->all_threads;
		turn_to(o, p);
		put(o, fxt_encode_thread(words, FXT_RECORD_MAX_WORDS, t->index, pid, tid));
	}
	return t;
}

void fxt_import_thread_name(struct fxt_import_out *o, struct fxt_import_thread *t, const char *name,
			    bool is_track)
{
	struct fxt_arg list[2];
	struct fxt_string ref;

	if (!*name || (t->name && strcmp(t->name, name) == 0))
		return;
	free(t->name);
	t->name = fxt_strdup(name);
	turn_to(o, t->program);
	list[0] = (struct fxt_arg){FXT_ARG_KOID, name_ref(o, "process"), .u64 = t->pid};
	list[1] = (struct fxt_arg){FXT_ARG_KOID, name_ref(o, "thread"), .u64 = t->pid};
	ref = name_ref(o, name);
	put(o, fxt_encode_kernel_object(words, FXT_RECORD_MAX_WORDS, FXT_OBJECT_THREAD, t->tid, ref,
					(struct fxt_args){is_track ? 2 : 1, list}));
}

/* -- Events ---------------------------------------------------------------------------------------- */

/* The strings among the values of an event, which have to fit in one record. */
struct values {
	char bytes[FXT_IMPORT_VALUE_BYTES];
	size_t used;
};

static struct fxt_string value_ref(struct values *v, const char *text, size_t bytes)
{
	char *to = v->bytes + v->used;
	size_t kept = fxt_utf8_clean(to, text, bytes, sizeof(v->bytes) - v->used);

	v->used += kept;
	return FXT_INLINE(to, kept);
}

static void print_arg(FILE *out, const struct fxt_import_arg *a)
{
	fprintf(out, "%s=", a->name);
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64:
		fprintf(out, "%" PRId64, a->i);
		break;
	case FXT_ARG_POINTER:
		fprintf(out, "0x%" PRIx64, a->u);
		break;
	case FXT_ARG_DOUBLE:
		fprintf(out, "%.17g", a->f);
		break;
	case FXT_ARG_STRING:
		fprintf(out, "\"%s\"", a->string);
		break;
	case FXT_ARG_NULL:
		fputs("null", out);
		break;
	default:
		fprintf(out, "%" PRIu64, a->u);
	}
}

/* Returns the arguments that have no place of their own as text, which the caller frees. */
static char *print_rest(const struct fxt_import_arg *args, size_t count)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	for (size_t i = 0; i < count; i++) {
		if (i)
			fputc(' ', out);
		print_arg(out, &args[i]);
	}
	fclose(out);
	return text;
}

static void set_value(struct fxt_arg *to, const struct fxt_import_arg *a, struct values *v)
{
	to->type = a->type;
	switch (a->type) {
	case FXT_ARG_INT32:
		to->i32 = (int32_t)a->i;
		break;
	case FXT_ARG_UINT32:
		to->u32 = (uint32_t)a->u;
		break;
	case FXT_ARG_INT64:
		to->i64 = a->i;
		break;
	case FXT_ARG_DOUBLE:
		to->f64 = a->f;
		break;
	case FXT_ARG_STRING:
		to->string = value_ref(v, a->string, strlen(a->string));
		break;
	case FXT_ARG_BOOL:
		to->boolean = a->u;
		break;
	default:
		to->u64 = a->u;
	}
}

/* Turns the arguments of a record of the program into those of the format. Those that have no place of their
 * own are gathered in the last one. */
static struct fxt_args make_args(struct fxt_import_out *o, struct fxt_import_program *p,
				 const struct fxt_import_arg *args, size_t count)
{
	static struct fxt_arg list[FXT_MAX_ARGS];
	static struct values v;
	size_t own = count > FXT_MAX_ARGS ? FXT_MAX_ARGS - 1 : count;

	v.used = 0;
	turn_to(o, p);
	for (size_t i = 0; i < own; i++) {
		list[i].name = name_ref(o, args[i].name);
		set_value(&list[i], &args[i], &v);
	}
	if (own < count) {
		char *rest = print_rest(args + own, count - own);

		list[own].name = name_ref(o, "more fields");
		list[own].type = FXT_ARG_STRING;
		list[own].string = value_ref(&v, rest, strlen(rest));
		own++;
		free(rest);
	}
	return (struct fxt_args){own, list};
}

static struct fxt_thread_ref ref_of(const struct fxt_import_thread *t)
{
	return (struct fxt_thread_ref){t->index, t->pid, t->tid};
}

void fxt_import_event(struct fxt_import_out *o, struct fxt_import_thread *t, enum fxt_event_type type,
		      uint64_t ns, const char *category, const char *name, const struct fxt_import_arg *args,
		      size_t count, uint64_t extra)
{
	struct fxt_args made = make_args(o, t->program, args, count);
	struct fxt_string category_ref = name_ref(o, category), called = name_ref(o, name);

	put(o, fxt_encode_event(words, FXT_RECORD_MAX_WORDS, type, ns, ref_of(t), category_ref, called, made,
				extra));
}

void fxt_import_object(struct fxt_import_out *o, struct fxt_import_program *p, uint64_t pid, uint64_t pointer,
		       const char *name, const struct fxt_import_arg *args, size_t count)
{
	struct fxt_args made = make_args(o, p, args, count);
	struct fxt_string called = name_ref(o, name);

	put(o, fxt_encode_userspace_object(words, FXT_RECORD_MAX_WORDS, pointer,
					   (struct fxt_thread_ref){0, pid, pid}, called, made));
}

void fxt_import_kernel_object(struct fxt_import_out *o, struct fxt_import_program *p,
			      enum fxt_kernel_object_type type, uint64_t koid, const char *name,
			      const struct fxt_import_arg *args, size_t count)
{
	struct fxt_args made = make_args(o, p, args, count);
	struct fxt_string called = name_ref(o, name);

	put(o, fxt_encode_kernel_object(words, FXT_RECORD_MAX_WORDS, type, koid, called, made));
}

void fxt_import_log(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, const char *text)
{
	static char clean[FXT_LOG_MAX_BYTES];
	size_t bytes = fxt_utf8_clean(clean, text, strlen(text), FXT_IMPORT_VALUE_BYTES);

	turn_to(o, t->program);
	put(o, fxt_encode_log(words, FXT_RECORD_MAX_WORDS, ns, ref_of(t), clean, bytes));
}

void fxt_import_blob(struct fxt_import_out *o, struct fxt_import_program *p, enum fxt_blob_type type,
		     const char *name, const void *data, size_t bytes)
{
	struct fxt_string called;

	if (p)
		turn_to(o, p);
	called = name_ref(o, name);
	put(o, fxt_encode_blob(words, FXT_RECORD_MAX_WORDS, type, called, data, bytes));
}

void fxt_import_scheduling(struct fxt_import_out *o, struct fxt_import_program *p,
			   const struct fxt_import_scheduling *s, const struct fxt_import_arg *args,
			   size_t count)
{
	struct fxt_args made = make_args(o, p, args, count);

	if (s->is_wakeup)
		put(o, fxt_encode_thread_wakeup(words, FXT_RECORD_MAX_WORDS, s->ns, s->cpu, s->thread, made));
	else
		put(o, fxt_encode_context_switch(words, FXT_RECORD_MAX_WORDS, s->ns, s->cpu, s->state,
						 s->thread, s->incoming, made));
}

void fxt_import_buffer_full(struct fxt_import_out *o, struct fxt_import_program *p)
{
	put(o, fxt_encode_provider_event(words, FXT_RECORD_MAX_WORDS, p->id, FXT_PROVIDER_EVENT_BUFFER_FULL));
}

char *fxt_import_out_wrong(const struct fxt_import_out *o)
{
	if (!o->has_failed)
		return NULL;
	return o->error ? fxt_format("no room for its records in TMPDIR: %s", strerror(o->error))
			: fxt_strdup("an event of it is larger than a record may be");
}

char *fxt_import_out_flush(struct fxt_import_out *o)
{
	if (fflush(o->file) != 0 && !o->has_failed) {
		o->has_failed = true;
		o->error = errno;
	}
	return fxt_import_out_wrong(o);
}

/* -- The end --------------------------------------------------------------------------------------- */

static void free_program(struct fxt_import_program *p)
{
	for (size_t i = 0; i < p->all_threads; i++) {
		free(p->threads[i]->name);
		free(p->threads[i]->open);
		free(p->threads[i]);
	}
	fxt_import_modules_forget(p);
	free(p->modules);
	free(p->threads);
	free(p->has);
	free(p->name);
	free(p);
}

void fxt_import_out_end(struct fxt_import_out *o)
{
	struct fxt_import_text *one = o->texts, *next;

	HASH_CLEAR(hh, o->texts);
	for (; one; one = next) {
		next = one->hh.next;
		free(one->text);
		free(one);
	}
	for (size_t i = 0; i < o->program_count; i++)
		free_program(o->programs[i]);
	free(o->programs);
	fxt_map_free(&o->by_pid);
	fxt_map_free(&o->by_id);
	fxt_map_free(&o->by_tid);
}
