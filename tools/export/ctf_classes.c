/* The classes of events of a CTF trace. See ctf_classes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf_classes.h"

#include <ctype.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "writer/fxt_encode.h"

const char *fxt_ctf_type_of(unsigned type)
{
	static const char *const types[] = {
		[FXT_ARG_INT32] = "int32_t",	 [FXT_ARG_UINT32] = "uint32_t", [FXT_ARG_INT64] = "int64_t",
		[FXT_ARG_UINT64] = "uint64_t",	 [FXT_ARG_DOUBLE] = "double_t", [FXT_ARG_STRING] = "string",
		[FXT_ARG_POINTER] = "pointer_t", [FXT_ARG_KOID] = "koid_t",	[FXT_ARG_BOOL] = "bool_t",
		[FXT_CTF_EMPTY] = "char_t",
	};

	return type <= FXT_CTF_EMPTY ? types[type] : NULL;
}

/* -- Names ------------------------------------------------------------------------------------------- */

static bool is_taken(const struct fxt_ctf_fields *f, const char *name)
{
	for (unsigned i = 0; i < f->count; i++) {
		if (strcmp(f->names[i], name) == 0)
			return true;
	}
	return false;
}

/* Sets *name to an identifier that no other field has. */
static void set_name(struct fxt_ctf_fields *f, const struct fxt_text *wanted, char name[FXT_CTF_NAME_BYTES])
{
	char plain[FXT_CTF_NAME_BYTES - 8];
	size_t n = 0;

	for (; n < wanted->bytes && n + 1 < sizeof(plain); n++)
		plain[n] = isascii((unsigned char)wanted->text[n]) && isalnum((unsigned char)wanted->text[n])
				   ? wanted->text[n]
				   : '_';
	plain[n] = '\0';
	snprintf(name, FXT_CTF_NAME_BYTES, "%s", n ? plain : "unnamed");
	for (unsigned number = 2; is_taken(f, name); number++)
		snprintf(name, FXT_CTF_NAME_BYTES, "%s_%u", n ? plain : "unnamed", number);
}

void fxt_ctf_field_text(struct fxt_ctf_fields *f, const char *type, const struct fxt_text *wanted)
{
	char *name = f->names[f->count];

	if (!f->out)
		f->out = fxt_text_stream(&f->text, &f->bytes);
	set_name(f, wanted, name);
	f->count++;
	/* An array of characters is a string. Trace Compass has none of length 0. */
	fprintf(f->out, "\t\t%s _%s%s;\n", type, name, strcmp(type, "char_t") == 0 ? "[1]" : "");
}

void fxt_ctf_field(struct fxt_ctf_fields *f, const char *type, const char *name)
{
	struct fxt_text text = fxt_text_of(name);

	fxt_ctf_field_text(f, type, &text);
}

void fxt_ctf_field_string(struct fxt_ctf_fields *f, const char *name, bool is_empty)
{
	fxt_ctf_field(f, fxt_ctf_type_of(is_empty ? FXT_CTF_EMPTY : FXT_ARG_STRING), name);
}

void fxt_ctf_field_sequence(struct fxt_ctf_fields *f, const char *type, const char *name)
{
	struct fxt_text text = fxt_text_of(name);
	char *own = f->names[f->count];

	if (!f->out)
		f->out = fxt_text_stream(&f->text, &f->bytes);
	set_name(f, &text, own);
	f->count++;
	fprintf(f->out, "\t\tuint32_t __%s_length;\n\t\t%s _%s[__%s_length];\n", own, type, own, own);
}

/* -- Classes ----------------------------------------------------------------------------------------- */

void fxt_ctf_put_quoted(FILE *out, const struct fxt_text *text)
{
	char *clean = fxt_alloc(text->bytes + 1, 1);
	size_t bytes = fxt_utf8_clean(clean, text->text, text->bytes, text->bytes);

	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)clean[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\0')
			fputc('?', out);
		else if (c < ' ' || c == 0x7f)
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	free(clean);
}

static void put_fields(FILE *out, const char *what, struct fxt_ctf_fields *f)
{
	fprintf(out, "\t%s := struct {\n", what);
	if (f->out) {
		fclose(f->out);
		fwrite(f->text, 1, f->bytes, out);
		free(f->text);
	}
	fputs("\t};\n", out);
	*f = (struct fxt_ctf_fields){0};
}

uint32_t fxt_ctf_class_add(struct fxt_ctf_classes *classes, const struct fxt_text *name, const char *suffix,
			   struct fxt_ctf_fields *context, struct fxt_ctf_fields *f)
{
	FILE *out = classes->spool;

	classes->list = fxt_grow(classes->list, &classes->capacity, classes->count + 1,
				 sizeof(*classes->list));
	classes->list[classes->count] = (struct fxt_ctf_class){.at = ftell(out)};
	fputs("\tname = \"", out);
	fxt_ctf_put_quoted(out, name);
	fprintf(out, "%s\";\n\tid = %u;\n", suffix, classes->count);
	if (context)
		put_fields(out, "context", context);
	put_fields(out, "fields", f);
	return classes->count++;
}

bool fxt_ctf_classes_put(const struct fxt_ctf_classes *classes, FILE *out)
{
	long end = ftell(classes->spool);
	char *text = NULL;
	size_t capacity = 0;
	bool ok = end >= 0 && fseek(classes->spool, 0, SEEK_SET) == 0;

	for (uint32_t i = 0; ok && i < classes->count; i++) {
		const struct fxt_ctf_class *class = &classes->list[i];
		size_t bytes = (size_t)((i + 1 < classes->count ? class[1].at : end) - class->at);

		text = fxt_grow(text, &capacity, bytes, 1);
		ok = fread(text, 1, bytes, classes->spool) == bytes;
		for (int of_cpu = 0; ok && of_cpu < 2; of_cpu++) {
			if (!class->is_used[of_cpu] && (of_cpu || class->is_used[1]))
				continue;
			fprintf(out, "event {\n\tstream_id = %d;\n", of_cpu);
			fwrite(text, 1, bytes, out);
			fputs("};\n", out);
		}
	}
	free(text);
	return ok;
}

void fxt_ctf_classes_free(struct fxt_ctf_classes *classes)
{
	if (classes->spool)
		fclose(classes->spool);
	free(classes->list);
}
