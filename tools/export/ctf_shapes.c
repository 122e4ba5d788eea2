/* Finds the classes of a record. All records of one form (kind, category, name, names and types of arguments)
 * have the same classes, so the fields are described once for each form. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <uthash.h>

#include "ctf.h"
#include "tools/common/hash.h"

/* The key: kind, directory, category, name, and two words for each argument. */
enum { MOST_WORDS = 4 + 2 * FXT_MAX_ARGS, NAME_WORD = 3 };

/* Readers search all classes for each one that they read: babeltrace2 takes half a minute for 80 000. So a
 * directory has no more of them than these, as far as names go: records of further names share a class for
 * each form, and have their names in a field. */
enum { MOST_CLASSES_BY_NAME = 8192, MANY_NAMES = UINT32_MAX };

struct entry {
	struct fxt_ctf_shape shape;
	UT_hash_handle hh;
	uint32_t key[];
};

struct fxt_ctf_shapes {
	struct entry *table;
};

static const char *const kind_names[FXT_CTF_KIND_COUNT] = {
	"instant",	 "counter",	   "begin",	     "end",	  "complete", "async_begin",
	"async_instant", "async_end",	   "flow_begin",     "flow_step", "flow_end", "log",
	"blob",		 "large_blob",	   "object",	     "process",	  "thread",   "kernel_object",
	"provider",	 "initialization", "provider_event", "switch",	  "wakeup",
};

struct fxt_ctf_shapes *fxt_ctf_shapes_new(void)
{
	return fxt_alloc(1, sizeof(struct fxt_ctf_shapes));
}

void fxt_ctf_shapes_free(struct fxt_ctf_shapes *shapes)
{
	struct entry *e, *next;

	HASH_ITER(hh, shapes->table, e, next)
	{
		HASH_DEL(shapes->table, e);
		free(e);
	}
	free(shapes);
}

/* -- Describing -------------------------------------------------------------------------------------- */

static bool is_event(enum fxt_ctf_kind kind)
{
	return (unsigned)kind <= FXT_EVENT_FLOW_END;
}

static bool has_id(enum fxt_ctf_kind kind)
{
	return is_event(kind) && kind != FXT_CTF_CALL && fxt_event_has_extra((enum fxt_event_type)kind);
}

/* Adds an enumeration of one name, which takes a byte: a reader shows the name, and can compare with it. */
static void add_constant(struct fxt_ctf_fields *f, const char *name, unsigned value,
			 const struct fxt_text *label)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	fputs("enum : uint8_t { \"", out);
	fxt_ctf_put_quoted(out, label);
	fprintf(out, "\" = %u }", value);
	fclose(out);
	fxt_ctf_field(f, text, name);
	free(text);
}

/* Adds what a record has beside its arguments. fxt_ctf_put_part() puts the same. */
static void add_head(struct fxt_ctf_fields *f, enum fxt_ctf_kind kind, bool has_name,
		     const struct fxt_record *rec)
{
	struct fxt_text label = fxt_text_of(kind_names[kind]);

	add_constant(f, "fxt_kind", kind, &label);
	fxt_ctf_field(f, "uint32_t", "fxt_provider");
	switch (kind) {
	case FXT_CTF_LOG:
		fxt_ctf_field_string(f, "fxt_message", !rec->name.bytes);
		return;
	case FXT_CTF_BLOB:
		fxt_ctf_field(f, "uint32_t", "fxt_type");
		fxt_ctf_field_string(f, "fxt_name", !rec->name.bytes);
		return;
	case FXT_CTF_LARGE_BLOB:
		fxt_ctf_field_string(f, "fxt_category", !rec->category.bytes);
		fxt_ctf_field_string(f, "fxt_name", !rec->name.bytes);
		return;
	case FXT_CTF_OBJECT:
		fxt_ctf_field(f, "pointer_t", "fxt_id");
		fxt_ctf_field_string(f, "fxt_name", !rec->name.bytes);
		return;
	case FXT_CTF_OTHER_OBJECT:
		fxt_ctf_field(f, "uint32_t", "fxt_type"); /* fallthrough */
	case FXT_CTF_PROCESS:
	case FXT_CTF_THREAD:
	case FXT_CTF_PROVIDER:
		fxt_ctf_field(f, "koid_t", "fxt_id");
		fxt_ctf_field_string(f, "fxt_name", !rec->name.bytes);
		return;
	case FXT_CTF_INITIALIZATION:
		fxt_ctf_field(f, "uint64_t", "fxt_ticks_per_second");
		return;
	case FXT_CTF_PROVIDER_EVENT:
		fxt_ctf_field(f, "koid_t", "fxt_id");
		fxt_ctf_field(f, "uint32_t", "fxt_event");
		return;
	default:
		break;
	}
	add_constant(f, "fxt_category", 0, &rec->category);
	if (has_id(kind))
		fxt_ctf_field(f, "uint64_t", "fxt_id");
	if (has_name)
		fxt_ctf_field(f, "string", "fxt_name");
}

static bool is_stack(const struct fxt_argument *a)
{
	return a->type == FXT_ARG_POINTER && fxt_text_is(&a->name, "stack");
}

/* Whether Trace Compass shows the argument of a counter: it takes whole numbers alone. */
static bool is_counted(enum fxt_ctf_kind kind, const struct fxt_argument *a)
{
	return kind == FXT_CTF_COUNTER &&
	       (a->type == FXT_ARG_INT32 || a->type == FXT_ARG_UINT32 || a->type == FXT_ARG_INT64 ||
		a->type == FXT_ARG_UINT64 || a->type == FXT_ARG_KOID);
}

/* Adds what Trace Compass takes for the values of a counter: contexts of such names. */
static void add_counted(struct fxt_ctf_fields *f, enum fxt_ctf_kind kind, bool has_name,
			const struct fxt_record *rec)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];
		struct fxt_text text;
		char *name;

		if (!is_counted(kind, a))
			continue;
		name = has_name ? fxt_format("perf_thread_%.*s", (int)a->name.bytes, a->name.text)
				: fxt_format("perf_thread_%.*s_%.*s", (int)rec->name.bytes, rec->name.text,
					     (int)a->name.bytes, a->name.text);
		text = fxt_text_of(name);
		fxt_ctf_field_text(f, fxt_ctf_type_of(a->type), &text);
		free(name);
	}
}

static void add_part(struct fxt_ctf_directory *d, enum fxt_ctf_kind kind,
		     const struct fxt_record *rec, const char *suffix, struct fxt_ctf_part *part)
{
	struct fxt_ctf_fields f = {0}, context = {0};
	struct fxt_text name = rec->name;
	char *own = NULL;

	add_head(&f, kind, part->has_name, rec);
	add_counted(&context, kind, part->has_name, rec);
	for (unsigned i = part->from; i < part->to; i++) {
		const char *type = fxt_ctf_type_of(fxt_ctf_type(&rec->args[i]));

		if (type)
			fxt_ctf_field_text(&f, type, &rec->args[i].name);
		part->has_stack |= is_event(kind) && is_stack(&rec->args[i]);
	}
	if (part->has_stack)
		fxt_ctf_field_sequence(&f, "pointer_t", "fxt_stack");
	if (kind == FXT_CTF_BLOB || kind == FXT_CTF_LARGE_BLOB)
		fxt_ctf_field_sequence(&f, "uint8_t", "fxt_data");
	if (!is_event(kind) || part->has_name) {
		own = part->has_name
			      ? fxt_format("fxt:%.*s", (int)rec->category.bytes, rec->category.text)
			      : fxt_format("fxt:%s", kind_names[kind]);
		name = fxt_text_of(own);
	}
	part->class = fxt_ctf_class_add(&d->classes, &name, suffix, context.count ? &context : NULL, &f);
	free(own);
}

/* Returns the place of the first argument that came out of a call. The result and the error are written
 * behind what went in, and behind them what is known at the end alone. */
static unsigned first_result(const struct fxt_record *rec)
{
	unsigned i = 0;

	while (i < rec->arg_count && !fxt_text_is(&rec->args[i].name, "ret") &&
	       !fxt_text_is(&rec->args[i].name, "errno"))
		i++;
	return i;
}

/* Gives a function an address, by which LTTng's events name it. The names are in a file that Trace Compass
 * takes, as nm(1) would write it. */
static uint64_t address_of(struct fxt_ctf *c, const struct fxt_record *rec)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&c->functions_by_name, fxt_symbol(c->reader, &rec->name), 0, &fresh);
	char *name;

	if (!fresh)
		return s->value[0];
	s->value[0] = 0x1000 + c->function_count++ * 16;
	name = fxt_alloc(rec->name.bytes + 1, 1);
	fxt_utf8_clean(name, rec->name.text, rec->name.bytes, rec->name.bytes);
	for (char *at = name; *at; at++)
		*at = *at < ' ' && *at > 0 ? '?' : *at;
	if (c->functions)
		fprintf(c->functions, "%016" PRIx64 " T %s\n", s->value[0], name);
	free(name);
	return s->value[0];
}

static bool is_call(enum fxt_ctf_kind kind)
{
	return kind == FXT_CTF_CALL || kind == FXT_CTF_CALL_BEGIN || kind == FXT_CTF_CALL_END;
}

static void describe(struct fxt_ctf *c, enum fxt_ctf_kind kind, bool has_name, const struct fxt_visit *v,
		     struct fxt_ctf_shape *shape)
{
	struct fxt_ctf_directory *d = v->is_kernels ? &c->kernel : &c->ust;

	shape->whole.has_name = shape->exit.has_name = has_name;
	shape->whole.to = v->rec->arg_count;
	if (kind == FXT_CTF_CALL) {
		shape->whole.to = shape->exit.from = first_result(v->rec);
		shape->exit.to = v->rec->arg_count;
		add_part(d, kind, v->rec, "_exit", &shape->exit);
	}
	add_part(d, kind, v->rec,
		 !is_call(kind)		    ? ""
		 : kind == FXT_CTF_CALL_END ? "_exit"
					    : "_entry",
		 &shape->whole);
}

static struct entry *find(const struct fxt_ctf_shapes *shapes, const uint32_t *key, uint32_t words)
{
	struct entry *e;

	HASH_FIND(hh, shapes->table, key, words * sizeof(*key), e);
	return e;
}

static struct entry *make(struct fxt_ctf_shapes *shapes, const uint32_t *key, uint32_t words)
{
	struct entry *e = fxt_alloc(1, sizeof(*e) + words * sizeof(*key));

	memcpy(e->key, key, words * sizeof(*key));
	HASH_ADD_KEYPTR(hh, shapes->table, e->key, words * sizeof(*key), e);
	return e;
}

const struct fxt_ctf_shape *fxt_ctf_shape_of(struct fxt_ctf *c, enum fxt_ctf_kind kind,
					     const struct fxt_visit *v)
{
	const struct fxt_ctf_directory *d = v->is_kernels ? &c->kernel : &c->ust;
	const struct fxt_record *rec = v->rec;
	uint32_t key[MOST_WORDS], words = 0;
	struct entry *e, *many = NULL;

	key[words++] = kind;
	key[words++] = v->is_kernels;
	if (is_event(kind)) {
		key[words++] = fxt_symbol(c->reader, &rec->category);
		key[words++] = fxt_symbol(c->reader, &rec->name);
	} else {
		key[words++] = !rec->category.bytes;
		key[words++] = !rec->name.bytes;
	}
	for (unsigned i = 0; i < rec->arg_count; i++) {
		key[words++] = fxt_symbol(c->reader, &rec->args[i].name);
		key[words++] = fxt_ctf_type(&rec->args[i]);
	}
	e = find(c->shapes, key, words);
	if (!e && is_event(kind) && rec->name.bytes && d->classes.count >= MOST_CLASSES_BY_NAME) {
		uint32_t name = key[NAME_WORD];

		/* Its classes are those of all further names; its function is its own. */
		key[NAME_WORD] = MANY_NAMES;
		many = find(c->shapes, key, words);
		if (!many) {
			many = make(c->shapes, key, words);
			describe(c, kind, true, v, &many->shape);
		}
		key[NAME_WORD] = name;
	}
	if (e)
		return &e->shape;
	e = make(c->shapes, key, words);
	if (many)
		e->shape = many->shape;
	else
		describe(c, kind, false, v, &e->shape);
	if (is_call(kind) && !v->is_kernels) {
		e->shape.lttng = fxt_ctf_lttng_of(rec);
		if (e->shape.lttng == FXT_CTF_FUNC_ENTRY)
			e->shape.address = address_of(c, rec);
	}
	return &e->shape;
}

/* -- Putting ----------------------------------------------------------------------------------------- */

static void put_head(struct fxt_ctf_bytes *out, enum fxt_ctf_kind kind, bool has_name,
		     const struct fxt_record *rec)
{
	fxt_ctf_put_u8(out, kind);
	fxt_ctf_put_u32(out, rec->provider->id);
	switch (kind) {
	case FXT_CTF_LOG:
		fxt_ctf_put_string(out, &rec->name);
		return;
	case FXT_CTF_BLOB:
		fxt_ctf_put_u32(out, rec->subtype);
		fxt_ctf_put_string(out, &rec->name);
		return;
	case FXT_CTF_LARGE_BLOB:
		fxt_ctf_put_string(out, &rec->category);
		fxt_ctf_put_string(out, &rec->name);
		return;
	case FXT_CTF_OTHER_OBJECT:
		fxt_ctf_put_u32(out, rec->subtype); /* fallthrough */
	case FXT_CTF_OBJECT:
	case FXT_CTF_PROCESS:
	case FXT_CTF_THREAD:
	case FXT_CTF_PROVIDER:
		fxt_ctf_put_u64(out, rec->id);
		fxt_ctf_put_string(out, &rec->name);
		return;
	case FXT_CTF_INITIALIZATION:
		fxt_ctf_put_u64(out, rec->id);
		return;
	case FXT_CTF_PROVIDER_EVENT:
		fxt_ctf_put_u64(out, rec->id);
		fxt_ctf_put_u32(out, (uint32_t)rec->extra);
		return;
	default:
		break;
	}
	fxt_ctf_put_u8(out, 0);
	if (has_id(kind))
		fxt_ctf_put_u64(out, rec->has_extra ? rec->extra : 0);
	if (has_name)
		fxt_ctf_put_string(out, &rec->name);
}

void fxt_ctf_put_part(struct fxt_ctf *c, enum fxt_ctf_kind kind, const struct fxt_visit *v,
		      const struct fxt_ctf_part *part)
{
	const struct fxt_record *rec = v->rec;

	/* An event's own context stands before its fields. */
	for (unsigned i = 0; i < rec->arg_count && kind == FXT_CTF_COUNTER; i++) {
		if (is_counted(kind, &rec->args[i]))
			fxt_ctf_put_argument(&c->item, &rec->args[i]);
	}
	put_head(&c->item, kind, part->has_name, rec);
	for (unsigned i = part->from; i < part->to; i++)
		fxt_ctf_put_argument(&c->item, &rec->args[i]);
	if (kind == FXT_CTF_BLOB || kind == FXT_CTF_LARGE_BLOB) {
		fxt_ctf_put_u32(&c->item, (uint32_t)rec->blob_bytes);
		fxt_ctf_put(&c->item, rec->blob, rec->blob_bytes);
	}
}
