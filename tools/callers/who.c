/* Says who did something. See who.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "who.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/analysis/made_names.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

void fxt_who_finish(struct fxt_who *w, struct fxt_reader *r, const char *wrappers,
		    struct fxt_frame_names *source)
{
	fxt_call_stacks_finish(&w->stacks);
	/* Nobody has joined the file of a program that was run without fxt record, or of fxt serve. */
	fxt_frame_names_complete(source, &w->stacks, r);
	fxt_culprits_begin(&w->culprits, &w->stacks, r, wrappers);
	w->r = r;
	w->source = source;
}

void fxt_who_free(struct fxt_who *w)
{
	fxt_culprits_free(&w->culprits);
	fxt_call_stacks_free(&w->stacks);
}

uint32_t fxt_stack_in(struct fxt_call_stacks *s, const struct fxt_record *rec, const char *argument)
{
	const struct fxt_argument *a = fxt_argument(rec, argument);
	struct fxt_record renamed = {.provider = rec->provider, .arg_count = 1};

	if (!a)
		return FXT_NO_FRAME;
	renamed.args[0] = *a;
	renamed.args[0].name = fxt_text_of("stack");
	return fxt_call_stack_of(s, &renamed);
}

/* -- Functions of a node --------------------------------------------------------------------------- */

enum { NAME = 64, LOOKED_UP = 20000 };

/* Returns the functions and lines of a node, or NULL if they are not known. This is the only function here
 * that looks lines up. */
static const struct fxt_frame_place *lines_of(struct fxt_who *w, const struct fxt_call_frame *f)
{
	struct fxt_frame_at at;

	/* Looking up takes a while, and nobody reads so many lines. */
	if (!w->source || !f->module || w->looked_up++ >= LOOKED_UP)
		return NULL;
	at = fxt_frame_at(w->r, f);
	return fxt_frame_place(w->source, &at);
}

/* Returns the name of the file with the node's code, without folders. */
static char *file_of(const struct fxt_who *w, const struct fxt_call_frame *f)
{
	struct fxt_text path = fxt_symbol_text(w->r, f->module);
	const char *slash = memrchr(path.text, '/', path.bytes);

	if (slash && slash + 1 < path.text + path.bytes) {
		path.bytes -= (uint32_t)(slash + 1 - path.text);
		path.text = slash + 1;
	}
	return fxt_printable(&path, 32, true);
}

/* Returns a function's name without parameters. */
static char *shorten(const struct fxt_text *full)
{
	char *name = fxt_demangle_short(full, NAME), *shown;
	struct fxt_text text;

	if (!name)
		name = fxt_shorten_demangled(full, NAME);
	text = fxt_text_of(name);
	shown = fxt_printable(&text, NAME, true);
	free(name);
	return shown;
}

static char *name_of(const struct fxt_who *w, const struct fxt_call_frame *f)
{
	struct fxt_text text;
	char *name, *file;

	if (f->name) {
		text = fxt_symbol_text(w->r, f->name);
		return shorten(&text);
	}
	if (!f->module)
		return fxt_strdup("[code in no file]");
	file = file_of(w, f);
	name = fxt_format("%s+0x%" PRIx64, file, f->offset);
	free(file);
	return name;
}

/* Fills in a function that was made at run time, by its parts. Returns false if its name has no parts. */
static bool set_made(struct fxt_who_function *to, const struct fxt_who *w, const struct fxt_call_frame *f)
{
	struct fxt_text name = f->name ? fxt_symbol_text(w->r, f->name) : fxt_text_of("");
	struct fxt_made_name parts;

	if (f->module || !fxt_split_made_name(&name, &parts))
		return false;
	to->name = fxt_printable(&parts.function, NAME, true);
	to->place = fxt_printable(&parts.place, 40, true);
	return true;
}

/* Fills in a function of a node, of which `level` may be known. The node's own name is that of the trace. */
static void set(struct fxt_who_function *to, const struct fxt_who *w, uint32_t frame,
		const struct fxt_code_level *level, bool is_inlined, bool whole)
{
	const struct fxt_call_frame *f = &w->stacks.frames[frame];
	struct fxt_text text = fxt_text_of(is_inlined ? level->function : "");
	const char *slash;
	char *file;

	*to = (struct fxt_who_function){.frame = frame};
	if (!is_inlined && !whole && set_made(to, w, f))
		return;
	to->name = is_inlined ? shorten(&text) : name_of(w, f);
	if (level && level->file && level->line > 0) {
		slash = strrchr(level->file, '/');
		text = fxt_text_of(slash && slash[1] ? slash + 1 : level->file);
		file = fxt_printable(&text, 40, true);
		snprintf(to->file, sizeof(to->file), "%.63s", file);
		free(file);
		to->line = level->line;
		to->place = fxt_format("%s:%d", to->file, level->line);
	} else if (f->module && f->name) {
		/* The name of code without a symbol has the file's. */
		file = file_of(w, f);
		if (strncmp(to->name, file, strlen(file)) == 0 && to->name[strlen(file)] == '+')
			free(file);
		else
			to->place = file;
	}
}

/* -- Functions of a stack -------------------------------------------------------------------------- */

/* Returns whether code is in a header of the C++ library, where functions that were inlined have names
 * without `std::`. */
static bool is_of_library(const struct fxt_code_level *level)
{
	return level->file && strstr(level->file, "/include/c++/");
}

/* Adds the functions of one node. Of what was inlined, wrappers are left out. */
static size_t add_frame(struct fxt_who *w, enum fxt_purpose purpose, uint32_t frame, bool whole,
			struct fxt_who_function *list, size_t count, size_t room)
{
	const struct fxt_frame_place *place = lines_of(w, &w->stacks.frames[frame]);
	size_t known = place ? place->count : 0;

	for (size_t i = 0; i + 1 < known && count < room; i++) {
		const char *function = place->levels[i].function;

		if (function && (whole || !(is_of_library(&place->levels[i]) ||
					    fxt_is_wrapper_name(&w->culprits, purpose, frame, function))))
			set(&list[count++], w, frame, &place->levels[i], true, whole);
	}
	if (count < room)
		set(&list[count++], w, frame, known ? &place->levels[known - 1] : NULL, false, whole);
	return count;
}

static bool is_same_function(const struct fxt_who *w, uint32_t a, uint32_t b)
{
	const struct fxt_call_frame *x = &w->stacks.frames[a], *y = &w->stacks.frames[b];

	return x->name == y->name && x->module == y->module && (x->name || !x->module);
}

size_t fxt_who_functions(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, bool whole,
			 struct fxt_who_function *list, size_t room)
{
	enum { EXAMINED = 4096 };       /* of a stack that is deeper, the outer part is left out */
	uint32_t culprit = fxt_culprit_of(&w->culprits, purpose, innermost), last = FXT_NO_FRAME;
	uint32_t at = whole ? innermost : culprit;
	size_t count = 0;

	for (unsigned i = 0; i < EXAMINED && at < w->culprits.count && count < room;
	     i++, at = w->stacks.frames[at].parent) {
		const struct fxt_call_frame *f = &w->stacks.frames[at];

		if (!f->name && !f->module && !f->offset)
			break;
		if (!whole && at != culprit &&
		    (fxt_is_wrapper(&w->culprits, purpose, at) || is_same_function(w, at, last)))
			continue;
		count = add_frame(w, purpose, at, whole, list, count, room);
		last = at;
	}
	return count;
}

void fxt_who_free_functions(struct fxt_who_function *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].name);
		free(list[i].place);
	}
}

/* -- Text ------------------------------------------------------------------------------------------ */

/* Returns "name (place)", or the name alone if there is no room for both. */
static char *label_of(const struct fxt_who_function *f, size_t columns)
{
	struct fxt_text text = fxt_text_of(f->name);
	size_t place = f->place ? fxt_columns(f->place) + 3 : 0;
	size_t room = columns >= place + 12 ? columns - place : columns;
	char *name = fxt_printable(&text, room, true), *label;

	if (f->place && fxt_columns(name) + place <= columns)
		label = fxt_format("%s (%s)", name, f->place);
	else
		label = fxt_strdup(name);
	free(name);
	return label;
}

char *fxt_who_culprit(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns)
{
	struct fxt_who_function f;
	char *label;

	if (!fxt_who_functions(w, purpose, innermost, false, &f, 1))
		return NULL;
	label = label_of(&f, columns);
	fxt_who_free_functions(&f, 1);
	return label;
}

struct fxt_handle fxt_who_handle(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost)
{
	struct fxt_handle handle = {""};
	struct fxt_who_function f;
	struct fxt_text name;

	if (fxt_who_functions(w, purpose, innermost, false, &f, 1)) {
		name = fxt_text_of(f.name);
		handle = fxt_handle_of_function(&name);
		fxt_who_free_functions(&f, 1);
	}
	return handle;
}

/* Returns functions of a stack from `first` on, in one line. */
static char *join(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t first,
		  size_t columns)
{
	struct fxt_who_function list[1 + FXT_SHOWN_CALLERS];
	size_t count = fxt_who_functions(w, purpose, innermost, false, list, 1 + FXT_SHOWN_CALLERS), used = 0;
	char *line = NULL;

	for (size_t i = first; i < count; i++) {
		size_t room = columns > used + 2 ? columns - used - 2 : 0;
		char *label = label_of(&list[i], room), *longer;

		/* A name that is cut says less than none. */
		if (line && (room < fxt_columns(list[i].name) || room == 0)) {
			free(label);
			break;
		}
		longer = line ? fxt_format("%s < %s", line, label)
			      : fxt_format("%s%s", first ? "< " : "", label);
		free(label);
		free(line);
		line = longer;
		used = fxt_columns(line) + 1;
	}
	fxt_who_free_functions(list, count);
	return line;
}

char *fxt_who_callers(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns)
{
	return join(w, purpose, innermost, 1, columns);
}

char *fxt_who_line(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns)
{
	return join(w, purpose, innermost, 0, columns);
}

void fxt_who_print(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t top, FILE *out)
{
	enum { SHOWN = 64, INDENT = 6 };
	struct fxt_who_function list[SHOWN];
	size_t count = fxt_who_functions(w, purpose, innermost, false, list, SHOWN);

	for (size_t i = 0; i < count && i < top; i++) {
		char *label = label_of(&list[i], fxt_width() - INDENT - 3);

		fxt_put_line(out, fxt_format("      %s %s", i ? "<" : "in", label));
		free(label);
	}
	if (count > top)
		fprintf(out, "      < %zu%s more\n", count - top, count == SHOWN ? " or" : "");
	fxt_who_free_functions(list, count);
}

/* -- JSON ------------------------------------------------------------------------------------------ */

void fxt_who_json(struct fxt_who *w, struct fxt_json *j, const char *key, enum fxt_purpose purpose,
		  uint32_t innermost)
{
	enum { SHOWN = 200, IN_ALL = 300000 };
	struct fxt_who_function list[SHOWN];
	size_t count = w->put < IN_ALL ? fxt_who_functions(w, purpose, innermost, true, list, SHOWN) : 0;

	if (!count) {
		fxt_json_null(j, key);
		return;
	}
	w->put += count;
	fxt_json_array(j, key);
	for (size_t i = 0; i < count; i++) {
		const struct fxt_call_frame *f = &w->stacks.frames[list[i].frame];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "function", list[i].name);
		fxt_json_symbol(j, "module", w->r, f->module);
		fxt_json_u64(j, "offset", f->offset);
		fxt_json_string(j, "file", list[i].line ? list[i].file : NULL);
		if (list[i].line)
			fxt_json_i64(j, "line", list[i].line);
		else
			fxt_json_null(j, "line");
		fxt_json_bool(j, "wrapper",
			      fxt_is_wrapper(&w->culprits, purpose, list[i].frame) ||
				      fxt_is_wrapper_name(&w->culprits, purpose, list[i].frame,
							  list[i].name));
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_who_free_functions(list, count);
}
