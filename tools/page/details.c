/* The arguments of a page's slices. See details.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "details.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

static uint32_t text_of(struct fxt_details *d, const struct fxt_text *text)
{
	bool fresh;
	uint32_t symbol = fxt_symbol(d->report->r, text);
	struct fxt_slot *s = fxt_map_put(&d->by_text, symbol, 0, &fresh);

	if (fresh) {
		d->texts = fxt_grow(d->texts, &d->text_capacity, d->text_count + 1, sizeof(*d->texts));
		s->value[0] = d->text_count;
		d->texts[d->text_count++] = symbol;
	}
	return (uint32_t)s->value[0];
}

void fxt_details_begin(struct fxt_details *d, const struct fxt_report *report)
{
	*d = (struct fxt_details){.report = report};
	d->nodes = fxt_grow(NULL, &d->node_capacity, 1, sizeof(*d->nodes));
	d->nodes[0] = (struct fxt_detail_node){0};
	d->node_count = 1;
}

/* Returns the place of a stack's innermost node in `frames`, after those of all its callers. */
static uint32_t frame_of(struct fxt_details *d, uint32_t innermost)
{
	const struct fxt_call_frame *frames = d->report->who->stacks.frames;
	uint32_t at = innermost, next = FXT_NO_FRAME;
	bool fresh;

	/* Up to what is there already, and back down: there may be any number of callers. Until a node is
	 * placed its slot has the node that it calls. */
	while (at != FXT_NO_FRAME) {
		struct fxt_slot *s = fxt_map_put(&d->by_frame, at, 0, &fresh);

		if (!fresh)
			break;
		s->value[1] = next;
		next = at;
		at = frames[at].parent;
	}
	while (next != FXT_NO_FRAME) {
		struct fxt_slot *s = fxt_map_find(&d->by_frame, next, 0);

		d->frames = fxt_grow(d->frames, &d->frame_capacity, d->frame_count + 1, sizeof(*d->frames));
		s->value[0] = d->frame_count;
		d->frames[d->frame_count++] = next;
		next = (uint32_t)s->value[1];
	}
	return (uint32_t)fxt_map_find(&d->by_frame, innermost, 0)->value[0];
}

static uint32_t object_of(struct fxt_details *d, const struct fxt_object *object, uint64_t pointer)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&d->by_object, (uint64_t)(uintptr_t)object, pointer, &fresh);

	if (fresh) {
		d->objects = fxt_grow(d->objects, &d->object_capacity, d->object_count + 1,
				      sizeof(*d->objects));
		d->pointers = fxt_grow(d->pointers, &d->pointer_capacity, d->object_count + 1,
				       sizeof(*d->pointers));
		d->objects[d->object_count] = object;
		d->pointers[d->object_count] = pointer;
		s->value[0] = d->object_count++;
	}
	return (uint32_t)s->value[0];
}

static void note_moment(struct fxt_details *d, uint32_t track, const struct fxt_slice *slice, uint32_t stack)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&d->by_stack, stack, 0, &fresh);
	struct fxt_detail_moment *m;

	if (fresh) {
		d->moments = fxt_grow(d->moments, &d->moment_capacity, d->moment_count + 1,
				      sizeof(*d->moments));
		s->value[0] = d->moment_count++;
	}
	m = &d->moments[s->value[0]];
	if (fresh || slice->end_ns - slice->start_ns > m->end_ns - m->start_ns)
		*m = (struct fxt_detail_moment){track, slice->start_ns, slice->end_ns};
}

const struct fxt_detail_moment *fxt_details_moment(const struct fxt_details *d, uint32_t innermost)
{
	const struct fxt_slot *s = fxt_map_find(&d->by_stack, innermost, 0);

	return innermost != FXT_NO_FRAME && s ? &d->moments[s->value[0]] : NULL;
}

/* Returns the child of a node for this argument. */
static uint32_t child_of(struct fxt_details *d, uint32_t node, uint32_t name, enum fxt_detail_type type)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&d->children, node, (uint64_t)name << 8 | type, &fresh);

	if (fresh) {
		d->nodes = fxt_grow(d->nodes, &d->node_capacity, d->node_count + 1, sizeof(*d->nodes));
		d->nodes[d->node_count] = (struct fxt_detail_node){
			.parent = node,
			.name = name,
			.type = type,
		};
		s->value[0] = d->node_count++;
	}
	return (uint32_t)s->value[0];
}

static enum fxt_detail_type type_of(const struct fxt_argument *a)
{
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64: return FXT_DETAIL_SIGNED;
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
	case FXT_ARG_KOID: return FXT_DETAIL_UNSIGNED;
	case FXT_ARG_DOUBLE: return FXT_DETAIL_REAL;
	case FXT_ARG_STRING: return FXT_DETAIL_TEXT;
	case FXT_ARG_POINTER: return FXT_DETAIL_POINTER;
	case FXT_ARG_BOOL: return FXT_DETAIL_BOOL;
	default: return FXT_DETAIL_NONE;
	}
}

/* Returns whether the argument names a stack, as `stack` and `held_stack` do. */
static bool is_stack(const struct fxt_argument *a)
{
	return a->type == FXT_ARG_POINTER && a->name.bytes >= 5 &&
	       memcmp(a->name.text + a->name.bytes - 5, "stack", 5) == 0;
}

/* Takes one argument, and returns its node below `node`. */
static uint32_t take_one(struct fxt_details *d, uint32_t node, const struct fxt_record *rec,
			 const struct fxt_argument *a, uint32_t track, const struct fxt_slice *slice)
{
	enum fxt_detail_type type = type_of(a);
	uint32_t name = text_of(d, &a->name), innermost = FXT_NO_FRAME;
	const struct fxt_object *object = NULL;
	struct fxt_detail_node *n;

	if (is_stack(a)) {
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)a->name.bytes, a->name.text);
		innermost = fxt_stack_in(&d->report->who->stacks, rec, word);
		if (innermost < d->report->who->stacks.count)
			type = FXT_DETAIL_STACK;
	} else if (type == FXT_DETAIL_POINTER) {
		object = fxt_object_of(&d->report->objects, d->report->r, rec, a);
		type = object ? FXT_DETAIL_OBJECT : type;
	}
	node = child_of(d, node, name, type);
	if (type == FXT_DETAIL_STACK && slice->end_ns > slice->start_ns)
		note_moment(d, track, slice, innermost);
	n = &d->nodes[node];
	switch (type) {
	case FXT_DETAIL_NONE: break;
	case FXT_DETAIL_SIGNED:
	case FXT_DETAIL_UNSIGNED:
	case FXT_DETAIL_POINTER:
		fxt_column_signed(&n->values, (int64_t)(a->u - n->last));
		n->last = a->u;
		break;
	case FXT_DETAIL_REAL: fxt_column_bytes(&n->values, &a->f, sizeof(a->f)); break;
	case FXT_DETAIL_TEXT: fxt_column_unsigned(&n->values, text_of(d, &a->string)); break;
	case FXT_DETAIL_BOOL: fxt_column_unsigned(&n->values, a->u != 0); break;
	case FXT_DETAIL_STACK: fxt_column_unsigned(&n->values, (uint64_t)frame_of(d, innermost) + 1); break;
	case FXT_DETAIL_OBJECT: fxt_column_unsigned(&n->values, object_of(d, object, a->u)); break;
	}
	return node;
}

uint32_t fxt_details_take(struct fxt_details *d, uint32_t track, const struct fxt_slice *slice)
{
	struct fxt_reader *r = d->report->r;
	struct fxt_record rec;
	uint32_t node = 0;

	if (!slice->has_arguments ||
	    !fxt_reader_event_at(r, slice->offset, r->providers[slice->provider], &rec))
		return 0;
	for (unsigned i = 0; i < rec.arg_count; i++)
		node = take_one(d, node, &rec, &rec.args[i], track, slice);
	return node;
}

/* -- Writing --------------------------------------------------------------------------------------- */

/* Returns the function of a frame, or the place in its file. The caller frees it. */
static char *frame_label(const struct fxt_details *d, uint32_t frame)
{
	enum { COLUMNS = 120 };
	const struct fxt_call_frame *f = &d->report->who->stacks.frames[frame];
	struct fxt_text name = fxt_symbol_text(d->report->r, f->name), path;
	const char *slash;

	if (f->name && name.bytes)
		return fxt_function_label(&name, COLUMNS);
	path = fxt_symbol_text(d->report->r, f->module);
	if (!f->module || !path.bytes)
		return fxt_format("0x%" PRIx64, f->offset);
	slash = memrchr(path.text, '/', path.bytes);
	if (slash)
		path = (struct fxt_text){.text = slash + 1,
					 .bytes = (uint32_t)(path.text + path.bytes - slash - 1)};
	return fxt_format("%.*s+0x%" PRIx64, (int)path.bytes, path.text, f->offset);
}

static void write_frames(const struct fxt_details *d, struct fxt_json *j)
{
	fxt_json_array(j, "frames");
	for (size_t i = 0; i < d->frame_count; i++) {
		uint32_t parent = d->report->who->stacks.frames[d->frames[i]].parent;
		const struct fxt_slot *s = parent == FXT_NO_FRAME ? NULL
								  : fxt_map_find(&d->by_frame, parent, 0);
		char *label = frame_label(d, d->frames[i]);

		fxt_json_array(j, NULL);
		fxt_json_i64(j, NULL, s ? (int64_t)s->value[0] : -1);
		fxt_json_string(j, NULL, label);
		fxt_json_end(j);
		free(label);
	}
	fxt_json_end(j);
}

void fxt_details_write(struct fxt_details *d, struct fxt_json *j, struct fxt_column *all)
{
	/* Per node: parent, name, type, and where its values are. */
	fxt_json_array(j, "arguments");
	for (size_t i = 0; i < d->node_count; i++) {
		struct fxt_detail_node *n = &d->nodes[i];

		fxt_json_array(j, NULL);
		fxt_json_u64(j, NULL, n->parent);
		fxt_json_u64(j, NULL, n->name);
		fxt_json_u64(j, NULL, n->type);
		fxt_json_u64(j, NULL, all->count);
		fxt_json_u64(j, NULL, n->values.count);
		fxt_json_end(j);
		fxt_column_bytes(all, n->values.bytes, n->values.count);
		fxt_column_free(&n->values);
	}
	fxt_json_end(j);
	write_frames(d, j);
	fxt_json_array(j, "objects");
	for (size_t i = 0; i < d->object_count; i++) {
		char *pointer = fxt_format("0x%" PRIx64, d->pointers[i]);

		fxt_json_array(j, NULL);
		fxt_json_string(j, NULL, pointer);
		fxt_json_string(j, NULL, d->objects[i]->label);
		fxt_json_end(j);
		free(pointer);
	}
	fxt_json_end(j);
	fxt_json_array(j, "texts");
	for (size_t i = 0; i < d->text_count; i++) {
		struct fxt_text text = fxt_symbol_text(d->report->r, d->texts[i]);

		fxt_json_text(j, NULL, &text);
	}
	fxt_json_end(j);
}

void fxt_details_free(struct fxt_details *d)
{
	for (size_t i = 0; i < d->node_count; i++)
		fxt_column_free(&d->nodes[i].values);
	free(d->nodes);
	free(d->texts);
	free(d->frames);
	free(d->objects);
	free(d->pointers);
	free(d->moments);
	fxt_map_free(&d->children);
	fxt_map_free(&d->by_text);
	fxt_map_free(&d->by_frame);
	fxt_map_free(&d->by_object);
	fxt_map_free(&d->by_stack);
}
