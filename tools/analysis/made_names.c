/* Splits the names of functions that were made at run time. See made_names.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "made_names.h"

#include <string.h>

static struct fxt_text part(const char *from, const char *end)
{
	return (struct fxt_text){.text = from, .bytes = (uint32_t)(end - from)};
}

static bool begins_with(const struct fxt_text *t, const char *text)
{
	size_t bytes = strlen(text);

	return t->bytes >= bytes && memcmp(t->text, text, bytes) == 0;
}

static struct fxt_text without_folders(struct fxt_text path)
{
	const char *slash = memrchr(path.text, '/', path.bytes);

	if (begins_with(&path, "node:") || !slash || slash + 1 == path.text + path.bytes)
		return path;
	return part(slash + 1, path.text + path.bytes);
}

/* Returns where ":" and a number begin that the text ends with, or NULL. */
static const char *number_at_end(const char *from, const char *end)
{
	const char *at = end;

	while (at > from && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at < end && at > from && at[-1] == ':' ? at - 1 : NULL;
}

/* Returns the space between function and file. Both may have spaces, so the file begins where a path does, or
 * else behind the last space. */
static const char *find_file(const char *from, const char *end)
{
	static const char *const beginnings[] = {" /", " file:", " node:"};
	const char *found;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		found = memmem(from, (size_t)(end - from), beginnings[i], strlen(beginnings[i]));
		if (found)
			return found;
	}
	return memrchr(from, ' ', (size_t)(end - from));
}

static bool split_v8(const struct fxt_text *name, struct fxt_made_name *parts)
{
	static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	const char *from = NULL, *end = name->text + name->bytes, *column, *file;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !from; i++)
		if (begins_with(name, kinds[i]))
			from = name->text + strlen(kinds[i]);
	column = from ? number_at_end(from, end) : NULL;
	file = column && number_at_end(from, column) ? find_file(from, column) : NULL;
	if (!file)
		return false;
	if (strchr("~^*+", *from))
		from++;
	parts->function = file > from ? part(from, file) : fxt_text_of("(anonymous)");
	parts->place = without_folders(part(file + 1, end));
	return true;
}

static bool split_python(const struct fxt_text *name, struct fxt_made_name *parts)
{
	static const char kind[] = "py::";
	const char *from, *end = name->text + name->bytes, *colon;

	if (!begins_with(name, kind))
		return false;
	from = name->text + strlen(kind);
	colon = memchr(from, ':', (size_t)(end - from));
	if (!colon || colon == from || colon + 1 == end)
		return false;
	parts->function = part(from, colon);
	parts->place = without_folders(part(colon + 1, end));
	return true;
}

bool fxt_split_made_name(const struct fxt_text *name, struct fxt_made_name *parts)
{
	return split_v8(name, parts) || split_python(name, parts);
}
