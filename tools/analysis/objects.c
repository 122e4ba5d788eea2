/* Finds the objects that the pointers of a trace stand for. See objects.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "call_stacks.h"
#include "demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* -- Names ----------------------------------------------------------------------------------------- */

/* Returns the label for a name. Its last word may be a symbol, as in "mutex of _ZN4pool6createEv" or
 * "_ZL4lock+0x28". */
static char *label_of(const struct fxt_text *name)
{
	struct fxt_text symbol = *name, before = *name, rest;
	char *demangled, *head, *tail, *label;

	for (before.bytes = name->bytes; before.bytes && name->text[before.bytes - 1] != ' '; before.bytes--)
		;
	symbol.text += before.bytes;
	symbol.bytes -= before.bytes;
	for (uint32_t i = 0; i + 2 < symbol.bytes; i++) {
		if (memcmp(symbol.text + i, "+0x", 3) == 0)
			symbol.bytes = i;
	}
	demangled = fxt_demangle_short(&symbol, 40);
	if (!demangled)
		return fxt_printable(name, SIZE_MAX, false);
	rest = (struct fxt_text){.text = symbol.text + symbol.bytes,
				 .bytes = name->bytes - before.bytes - symbol.bytes};
	head = fxt_printable(&before, SIZE_MAX, false);
	tail = fxt_printable(&rest, SIZE_MAX, false);
	label = fxt_format("%s%s%s", head, demangled, tail);
	free(tail);
	free(head);
	free(demangled);
	return label;
}

/* Returns the label for a name. Objects share one label for each name, because names may be long and
 * objects many. */
static char *shared_label(struct fxt_objects *o, struct fxt_reader *r, const struct fxt_text *name)
{
	uint32_t symbol = fxt_symbol(r, name);

	o->labels = fxt_reach(o->labels, &o->label_capacity, &o->label_count, symbol, sizeof(char *));
	if (!o->labels[symbol])
		o->labels[symbol] = label_of(name);
	return o->labels[symbol];
}

/* -- Reading --------------------------------------------------------------------------------------- */

static struct fxt_text text_argument(const struct fxt_record *rec, const char *name)
{
	const struct fxt_text *text = fxt_argument_text(rec, name);

	return text ? *text : (struct fxt_text){.text = ""};
}

static void take(struct fxt_objects *o, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_text type = text_argument(rec, "type");
	uint64_t since = 0;
	bool has_since;

	/* Nodes of call stacks and the files that they are in (call_stacks.h) are no objects that a program
	 * has. */
	if (rec->name.bytes == 0 || fxt_text_is(&type, FXT_FRAME_RECORD) ||
	    fxt_text_is(&type, FXT_MODULE_RECORD))
		return;
	has_since = fxt_argument_u64(fxt_argument(rec, "since"), &since);
	o->list = fxt_grow(o->list, &o->capacity, o->count + 1, sizeof(*o->list));
	o->list[o->count++] = (struct fxt_object){
		.at = {rec->provider->index, r->threads[rec->thread].pid, rec->id},
		.since_ns = fxt_ns(rec->provider, since),
		.offset = rec->offset,
		.has_since = has_since,
		.type = type,
		.name = rec->name,
		.path = text_argument(rec, "path"),
		.label = shared_label(o, r, &rec->name),
	};
}

static int by_pointer_and_time(const void *a, const void *b)
{
	const struct fxt_object *x = a, *y = b;
	int order = fxt_where_compare(&x->at, &y->at);

	if (order)
		return order;
	if (x->since_ns != y->since_ns)
		return x->since_ns < y->since_ns ? -1 : 1;
	return x->offset < y->offset ? -1 : 1;
}

/* Returns the first half of the key in `by_pointer`; the second half is the pointer. */
static uint64_t process_key(uint32_t provider, uint64_t pid)
{
	return (uint64_t)provider << 32 ^ pid;
}

static struct fxt_slot *slot_of(struct fxt_map *m, const struct fxt_where *at)
{
	bool fresh;

	return fxt_map_put(m, process_key(at->provider, at->pid), at->pointer, &fresh);
}

/* Returns whether the record is needed. Most events are not, and a large trace has hardly anything else. */
static bool is_wanted(uint64_t header)
{
	return fxt_get_record_type(header) != FXT_RECORD_EVENT || fxt_block_lives_want(header);
}

void fxt_objects_read(struct fxt_objects *o, const void *data, uint64_t size)
{
	struct fxt_reader r;
	struct fxt_record rec;

	fxt_reader_init(&r, data, size);
	for (;;) {
		fxt_reader_skip_to(&r, is_wanted);
		if (!fxt_reader_next(&r, &rec))
			break;
		if (!rec.known || rec.damaged)
			continue;
		if (rec.type == FXT_RECORD_USERSPACE_OBJECT)
			take(o, &r, &rec);
		else if (rec.type == FXT_RECORD_EVENT)
			fxt_block_lives_take(&o->lives, &r, &rec);
	}
	fxt_reader_free(&r);
	fxt_block_lives_finish(&o->lives);
	if (o->count)
		qsort(o->list, o->count, sizeof(*o->list), by_pointer_and_time);
	for (size_t i = 0, n; i < o->count; i += n) {
		struct fxt_slot *s = slot_of(&o->by_pointer, &o->list[i].at);

		for (n = 1; i + n < o->count && fxt_where_compare(&o->list[i].at, &o->list[i + n].at) == 0;
		     n++)
			;
		s->value[0] = i;
		s->value[1] = n;
	}
}

void fxt_objects_free(struct fxt_objects *o)
{
	for (size_t i = 0; i < o->label_count; i++)
		free(o->labels[i]);
	free(o->labels);
	free(o->list);
	fxt_map_free(&o->by_pointer);
	fxt_block_lives_free(&o->lives);
	*o = (struct fxt_objects){0};
}

/* -- Looking up ------------------------------------------------------------------------------------ */

/* Returns whether the argument may point to an object of that type. */
static bool may_be(const struct fxt_record *rec, const struct fxt_argument *a, const struct fxt_text *type)
{
	static const struct {
		const char *argument, *type;
	} pairs[] = {
		{"mutex", "mutex"}, {"cond", "cond"},	    {"rwlock", "rwlock"}, {"lock", "spinlock"},
		{"sem", "sem"},	    {"barrier", "barrier"}, {"stream", "FILE"},	  {"filehandle", "FILE"},
		{"dirp", "DIR"},    {"ret", "FILE"},	    {"ret", "DIR"},	  {"ret", "sem"},
	};

	if (type->bytes == 0)
		return true;
	if (fxt_text_is(&rec->category, "malloc"))
		return fxt_text_is(type, "block");
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (fxt_text_is(&a->name, pairs[i].argument) && fxt_text_is(type, pairs[i].type))
			return true;
	}
	return false;
}

const struct fxt_object *fxt_object_of(const struct fxt_objects *o, const struct fxt_reader *r,
				       const struct fxt_record *rec, const struct fxt_argument *a)
{
	const struct fxt_slot *s;
	size_t low, high;
	uint64_t ns;

	if (!o->count || !a || a->type != FXT_ARG_POINTER || rec->type != FXT_RECORD_EVENT)
		return NULL;
	s = fxt_map_find(&o->by_pointer, process_key(rec->provider->index, r->threads[rec->thread].pid),
			 a->u);
	if (!s)
		return NULL;
	/* An object that a call returns is there when the call ends. */
	ns = fxt_ns(rec->provider, fxt_text_is(&a->name, "ret") ? fxt_commit_ticks(rec) : rec->ticks);
	low = s->value[0];
	high = s->value[0] + s->value[1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->list[middle].since_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > s->value[0]; low--) {
		const struct fxt_object *object = &o->list[low - 1];

		/* Records of the agent have a type, and may come late. */
		if (!object->has_since && !object->type.bytes && object->offset > rec->offset)
			continue;
		if (may_be(rec, a, &object->type))
			return !fxt_text_is(&object->type, "block") ||
					       fxt_block_lived(&o->lives, &object->at, ns)
				       ? object
				       : NULL;
	}
	return NULL;
}

uint64_t fxt_object_key(const struct fxt_objects *o, const struct fxt_object *known, uint64_t otherwise)
{
	return known ? UINT64_MAX - (uint64_t)(known - o->list) : otherwise;
}

void fxt_objects_put_arguments(const struct fxt_objects *o, const struct fxt_reader *r,
			       const struct fxt_record *rec, FILE *out)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_object *object = fxt_object_of(o, r, rec, &rec->args[i]);

		fputc(' ', out);
		fxt_put_argument(out, &rec->args[i]);
		if (object)
			fprintf(out, " <%s>", object->label);
	}
}
