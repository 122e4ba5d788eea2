/* Turns symbols into names as their source has them. See demangle.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "writer/fxt_encode.h"

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#include <setjmp.h>

/* Longer names are cut. A mangled name can refer back to its own parts, so a hundred bytes of a damaged
 * trace may stand for more than would ever be printed. */
enum { MAX_BYTES = 4096 };

struct output {
	char text[MAX_BYTES + 1];       /* it fits in FXT_DEMANGLED_WORDS */
	size_t bytes;
	jmp_buf full;
};

/* Takes a piece of a name. It may leave the demangler by a jump, because the demanglers that call back
 * hold no memory while they call. */
static void take(const char *text, size_t bytes, void *context)
{
	struct output *out = context;
	size_t room = MAX_BYTES - out->bytes;

	memcpy(out->text + out->bytes, text, bytes < room ? bytes : room);
	out->bytes += bytes < room ? bytes : room;
	if (bytes >= room)
		longjmp(out->full, 1);
}

/* Demangles the name. Rust is tried first, because its older names are well-formed C++ names too. */
static bool demangle_into(struct output *out, const char *mangled, int options)
{
	if (setjmp(out->full))
		return true;
	return rust_demangle_callback(mangled, options, take, out) ||
	       (out->bytes = 0, cplus_demangle_v3_callback(mangled, options, take, out));
}

static char *demangle(const struct fxt_text *name, int options)
{
	/* Join names frames in a thread of its own (frame_namer.h). */
	static _Thread_local struct output out;
	bool mangled =
		name->bytes > 2 && name->text[0] == '_' && (name->text[1] == 'Z' || name->text[1] == 'R');
	char *copy;
	bool ok;

	if (!mangled || memchr(name->text, '\0', name->bytes))
		return NULL;
	copy = fxt_format("%.*s", (int)name->bytes, name->text);
	out.bytes = 0;
	ok = demangle_into(&out, copy, options);
	free(copy);
	if (!ok)
		return NULL;
	out.text[out.bytes] = '\0';
	return fxt_strdup(out.text);
}
#else
enum { DMGL_NO_OPTS, DMGL_PARAMS, DMGL_ANSI };

static char *demangle(const struct fxt_text *name, int options)
{
	(void)name;
	(void)options;
	return NULL;
}
#endif

char *fxt_demangle(const struct fxt_text *name)
{
	return demangle(name, DMGL_PARAMS | DMGL_ANSI);
}

size_t fxt_demangled_string(uint64_t words[FXT_DEMANGLED_WORDS], uint16_t index, const struct fxt_text *text)
{
	char *name = fxt_demangle(text);
	size_t count = 0;

	if (name)
		count = fxt_encode_string(words, FXT_DEMANGLED_WORDS, index, name, strlen(name));
	free(name);
	return count;
}

/* Removes template arguments, in place. "operator<<" has none, and in Rust's "<T as Trait>::name" the
 * outermost brackets stay, because they hold what the name is about. */
static void leave_out_arguments(char *name)
{
	static const char keyword[] = "operator";
	size_t kept = *name == '<' ? 1 : 0, depth = 0;
	const char *from = name;
	char *to = name;

	while (*from) {
		size_t punctuation = 0;

		if (strncmp(from, keyword, strlen(keyword)) == 0)
			punctuation = strspn(from + strlen(keyword), "<=>-");
		if (punctuation) {
			punctuation += strlen(keyword);
			if (depth <= kept) {
				memmove(to, from, punctuation);
				to += punctuation;
			}
			from += punctuation;
			continue;
		}
		/* The '>' of an arrow in a function type closes no bracket. */
		if (*from == '>' && depth && from[-1] != '-' && --depth == 0)
			kept = 0;
		if (depth <= kept)
			*to++ = *from;
		if (*from == '<')
			depth++;
		from++;
	}
	*to = '\0';
}

/* Returns the character behind the bracket that closes the one at `at`, or the end. The '>' of an arrow
 * closes nothing. */
static char *skip_bracket(char *at)
{
	char opening = *at, closing = opening == '(' ? ')' : opening == '{' ? '}' : '>';
	size_t depth = 0;

	for (; *at; at++) {
		if (*at == opening)
			depth++;
		else if (*at == closing && at[-1] != '-' && --depth == 0)
			return at + 1;
	}
	return at;
}

/* The function that a std::thread runs calls the program's own, and an optimising compiler puts the whole of
 * that one into it. Then the name becomes that of the program's function, if the thread was made of a
 * function object, whose type says it. */
static void name_what_thread_runs(char *text)
{
	static const char head[] = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<",
			  call[] = "::operator()";
	char *object = text + strlen(head);
	size_t bytes = 0;

	if (strncmp(text, head, strlen(head)) != 0)
		return;
	/* Its arguments follow, if it has some. */
	while (object[bytes] && !strchr(",> ", object[bytes]))
		bytes = strchr("<({", object[bytes]) ? (size_t)(skip_bracket(object + bytes) - object)
						     : bytes + 1;
	if (!bytes || memmem(object, bytes, "(*)", 3))
		return;
	memmove(text, object, bytes);
	memcpy(text + bytes, call, sizeof(call));
}

static void shorten(char *text)
{
	name_what_thread_runs(text);
	leave_out_arguments(text);
}

char *fxt_demangle_short(const struct fxt_text *name, size_t columns)
{
	char *text = demangle(name, DMGL_NO_OPTS);

	if (text && strlen(text) > columns)
		shorten(text);
	return text;
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether the word "operator" stands at `at`, in a name that begins at `name`. */
static bool is_operator(const char *name, const char *at)
{
	static const char keyword[] = "operator";

	return strncmp(at, keyword, strlen(keyword)) == 0 && !is_of_word(at[strlen(keyword)]) &&
	       (at == name || !is_of_word(at[-1]));
}

/* Returns the bracket at which the parameters begin, or the end if there are none. *name is where the name of
 * the function begins: behind the type of its result, which the names of template functions have. Functions
 * within functions have the parameters of the outer one in their names, so a bracket that "::" follows is
 * part of the name. */
static char *find_parameters(char *text, char **name)
{
	char *at = text, *behind;

	*name = text;
	while (*at) {
		if (is_operator(text, at)) {
			at += strlen("operator");
			at += strncmp(at, "()", 2) == 0 ? 2 : strcspn(at, "(");
		} else if (*at == '(' && at > *name) {
			behind = skip_bracket(at);
			if (strncmp(behind, " const::", 8) == 0)
				behind += strlen(" const");
			else if (strncmp(behind, "::", 2) != 0)
				return at;
			at = behind;
		} else if (*at == '(' || *at == '{' || *at == '<') {
			at = skip_bracket(at);
		} else if (*at++ == ' ') {
			*name = at;
		}
	}
	return at;
}

char *fxt_shorten_demangled(const struct fxt_text *name, size_t columns)
{
	char *text = fxt_format("%.*s", (int)name->bytes, name->text), *start, *end;

	end = find_parameters(text, &start);
	if (*end) {
		*end = '\0';
		memmove(text, start, strlen(start) + 1);
	}
	if (strlen(text) > columns)
		shorten(text);
	return text;
}

/* In by_symbol, NULL means that nobody asked for the symbol yet, and an empty name that it is not mangled. */
const char *fxt_demangled_name(struct fxt_demangled *d, struct fxt_reader *r, const struct fxt_text *category,
			       const struct fxt_text *name)
{
	uint32_t symbol;

	if (!fxt_text_is(category, "function"))
		return NULL;
	symbol = fxt_symbol(r, name);
	d->by_symbol = fxt_reach(d->by_symbol, &d->capacity, &d->count, symbol, sizeof(char *));
	if (!d->by_symbol[symbol]) {
		char *found = fxt_demangle(name);

		d->by_symbol[symbol] = found ? found : fxt_strdup("");
	}
	return *d->by_symbol[symbol] ? d->by_symbol[symbol] : NULL;
}

void fxt_demangled_free(struct fxt_demangled *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->by_symbol[i]);
	free(d->by_symbol);
	*d = (struct fxt_demangled){0};
}

char *fxt_function_label(const struct fxt_text *symbol, size_t columns)
{
	char *demangled = fxt_demangle_short(symbol, columns), *label;
	struct fxt_text text = *symbol;

	if (demangled)
		text = fxt_text_of(demangled);
	label = fxt_printable(&text, columns, true);
	free(demangled);
	return label;
}

struct fxt_handle fxt_handle_of_function(const struct fxt_text *name)
{
	char *demangled = fxt_demangle_short(name, 0), *shortest, *shown;
	struct fxt_text text = demangled ? fxt_text_of(demangled) : *name;
	struct fxt_handle handle;

	shortest = fxt_shorten_demangled(&text, 0);
	text = fxt_text_of(shortest);
	shown = fxt_printable(&text, SIZE_MAX, true);
	handle = fxt_handle_of_name(FXT_HANDLE_FUNCTION, shown);
	free(shown);
	free(shortest);
	free(demangled);
	return handle;
}
