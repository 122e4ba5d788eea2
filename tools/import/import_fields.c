/* See import_fields.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* Fields of fields are followed so deep. */
enum { MAX_DEPTH = 16 };

const bt_field *fxt_import_member(const bt_field *structure, const char *name)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return bt_field_structure_borrow_member_field_by_name_const(structure, name);
}

static bool is(const bt_field *field, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_get_class_type(field), type);
}

bool fxt_import_u64(const bt_field *structure, const char *name, uint64_t *value)
{
	const bt_field *field = fxt_import_member(structure, name);

	if (field && is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*value = bt_field_integer_unsigned_get_value(field);
	else if (field && is(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*value = (uint64_t)bt_field_integer_signed_get_value(field);
	else
		return false;
	return true;
}

bool fxt_import_i64(const bt_field *structure, const char *name, int64_t *value)
{
	return fxt_import_u64(structure, name, (uint64_t *)value);
}

/* The library leaves the bytes of another string in one that is empty. */
static const char *text_of(const bt_field *field)
{
	return bt_field_string_get_length(field) ? bt_field_string_get_value(field) : "";
}

const char *fxt_import_string(const bt_field *structure, const char *name)
{
	const bt_field *field = fxt_import_member(structure, name);

	return field && is(field, BT_FIELD_CLASS_TYPE_STRING) ? text_of(field) : NULL;
}

/* Returns the label of an enumeration's value; NULL: it has none, or several. */
static const char *label_of(const bt_field *field)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t count = 0;

	if (is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)) {
		if (bt_field_enumeration_unsigned_get_mapping_labels(field, &labels, &count) !=
		    BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK)
			return NULL;
	} else if (is(field, BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION)) {
		if (bt_field_enumeration_signed_get_mapping_labels(field, &labels, &count) !=
		    BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK)
			return NULL;
	}
	return count == 1 ? labels[0] : NULL;
}

const char *fxt_import_label(const bt_field *structure, const char *name)
{
	const bt_field *field = fxt_import_member(structure, name);

	return field ? label_of(field) : NULL;
}

/* -- Arguments ------------------------------------------------------------------------------------- */

/* Keeps a text as long as the arguments. */
static const char *keep(struct fxt_import_fields *f, char *text)
{
	f->texts = fxt_grow(f->texts, &f->text_capacity, f->text_count + 1, sizeof(char *));
	f->texts[f->text_count++] = text;
	return text;
}

static bool is_there(const struct fxt_import_fields *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->list[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Adds an argument without a value. */
static struct fxt_import_arg *add(struct fxt_import_fields *f, const char *name)
{
	const char *own = name;

	for (unsigned i = 2; is_there(f, own); i++)
		own = keep(f, fxt_format("%s %u", name, i));
	f->list = fxt_grow(f->list, &f->capacity, f->count + 1, sizeof(*f->list));
	f->list[f->count] = (struct fxt_import_arg){.type = FXT_ARG_NULL, .name = own};
	return &f->list[f->count++];
}

static void set_integer(struct fxt_import_arg *a, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	bool is_short = bt_field_class_integer_get_field_value_range(class) <= 32;

	if (is(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
		a->type = is_short ? FXT_ARG_INT32 : FXT_ARG_INT64;
		a->i = bt_field_integer_signed_get_value(field);
		return;
	}
	a->type = is_short ? FXT_ARG_UINT32 : FXT_ARG_UINT64;
	a->u = bt_field_integer_unsigned_get_value(field);
	if (bt_field_class_integer_get_preferred_display_base(class) ==
		    BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL &&
	    !is_short)
		a->type = FXT_ARG_POINTER;
}

/* Prints an element of an array. */
/* NOLINTNEXTLINE(misc-no-recursion): MAX_DEPTH bounds its depth. */
static void print(FILE *out, const bt_field *field, unsigned depth)
{
	if (depth > MAX_DEPTH) {
		fputs("...", out);
	} else if (is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
		fprintf(out, "%" PRIu64, bt_field_integer_unsigned_get_value(field));
	} else if (is(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
		fprintf(out, "%" PRId64, bt_field_integer_signed_get_value(field));
	} else if (is(field, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)) {
		fprintf(out, "%.17g", bt_field_real_double_precision_get_value(field));
	} else if (is(field, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)) {
		fprintf(out, "%.9g", (double)bt_field_real_single_precision_get_value(field));
	} else if (is(field, BT_FIELD_CLASS_TYPE_BOOL)) {
		fputs(bt_field_bool_get_value(field) ? "true" : "false", out);
	} else if (is(field, BT_FIELD_CLASS_TYPE_STRING)) {
		fprintf(out, "\"%s\"", text_of(field));
	} else if (is(field, BT_FIELD_CLASS_TYPE_ARRAY)) {
		uint64_t count = bt_field_array_get_length(field);

		fputc('[', out);
		for (uint64_t i = 0; i < count && ftell(out) < FXT_IMPORT_VALUE_BYTES; i++) {
			fputs(i ? ", " : "", out);
			print(out, bt_field_array_borrow_element_field_by_index_const(field, i), depth + 1);
		}
		fputc(']', out);
	} else if (is(field, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
		const bt_field_class *class = bt_field_borrow_class_const(field);
		uint64_t count = bt_field_class_structure_get_member_count(class);

		fputc('{', out);
		for (uint64_t i = 0; i < count; i++) {
			fprintf(out, "%s%s=", i ? ", " : "",
				bt_field_class_structure_member_get_name(
					bt_field_class_structure_borrow_member_by_index_const(class, i)));
			print(out, bt_field_structure_borrow_member_field_by_index_const(field, i),
			      depth + 1);
		}
		fputc('}', out);
	} else if (is(field, BT_FIELD_CLASS_TYPE_VARIANT)) {
		print(out, bt_field_variant_borrow_selected_option_field_const(field), depth + 1);
	} else {
		fputs("?", out);
	}
}

static const char *array_text(struct fxt_import_fields *f, const bt_field *field)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	print(out, field, 0);
	fclose(out);
	return keep(f, text);
}

static void add_members(struct fxt_import_fields *f, const bt_field *structure, const char *outer,
			unsigned depth, const char *const *except, size_t except_count);

/* NOLINTNEXTLINE(misc-no-recursion): MAX_DEPTH bounds its depth. */
static void add_field(struct fxt_import_fields *f, const bt_field *field, const char *name, unsigned depth)
{
	const char *label = label_of(field);

	if (is(field, BT_FIELD_CLASS_TYPE_STRUCTURE) && depth < MAX_DEPTH) {
		add_members(f, field, name, depth + 1, NULL, 0);
	} else if (is(field, BT_FIELD_CLASS_TYPE_VARIANT) && depth < MAX_DEPTH) {
		add_field(f, bt_field_variant_borrow_selected_option_field_const(field), name, depth + 1);
	} else if (is(field, BT_FIELD_CLASS_TYPE_OPTION) && depth < MAX_DEPTH) {
		const bt_field *inner = bt_field_option_borrow_field_const(field);

		if (inner)
			add_field(f, inner, name, depth + 1);
	} else {
		struct fxt_import_arg *a = add(f, name);

		if (label && (strcmp(label, "true") == 0 || strcmp(label, "false") == 0)) {
			a->type = FXT_ARG_BOOL;
			a->u = strcmp(label, "true") == 0;
		} else if (is(field, BT_FIELD_CLASS_TYPE_INTEGER) && !label) {
			set_integer(a, field);
		} else if (is(field, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)) {
			a->type = FXT_ARG_DOUBLE;
			a->f = bt_field_real_double_precision_get_value(field);
		} else if (is(field, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)) {
			a->type = FXT_ARG_DOUBLE;
			a->f = (double)bt_field_real_single_precision_get_value(field);
		} else if (is(field, BT_FIELD_CLASS_TYPE_BOOL)) {
			a->type = FXT_ARG_BOOL;
			a->u = bt_field_bool_get_value(field);
		} else {
			a->type = FXT_ARG_STRING;
			a->string = label				    ? label
				    : is(field, BT_FIELD_CLASS_TYPE_STRING) ? text_of(field)
									    : array_text(f, field);
		}
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): MAX_DEPTH bounds its depth. */
static void add_members(struct fxt_import_fields *f, const bt_field *structure, const char *outer,
			unsigned depth, const char *const *except, size_t except_count)
{
	const bt_field_class *class = bt_field_borrow_class_const(structure);
	uint64_t count = bt_field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < count; i++) {
		const char *name = bt_field_class_structure_member_get_name(
			bt_field_class_structure_borrow_member_by_index_const(class, i));
		size_t k = 0;

		while (k < except_count && strcmp(except[k], name) != 0)
			k++;
		if (k < except_count)
			continue;
		if (outer)
			name = keep(f, fxt_format("%s.%s", outer, name));
		add_field(f, bt_field_structure_borrow_member_field_by_index_const(structure, i), name,
			  depth);
	}
}

void fxt_import_fields_add(struct fxt_import_fields *f, const bt_field *structure, const char *const *except,
			   size_t except_count)
{
	if (structure && is(structure, BT_FIELD_CLASS_TYPE_STRUCTURE))
		add_members(f, structure, NULL, 0, except, except_count);
}

void fxt_import_fields_clear(struct fxt_import_fields *f)
{
	for (size_t i = 0; i < f->text_count; i++)
		free(f->texts[i]);
	f->count = f->text_count = 0;
}

void fxt_import_fields_free(struct fxt_import_fields *f)
{
	fxt_import_fields_clear(f);
	free(f->texts);
	free(f->list);
}

#endif
