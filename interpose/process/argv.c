/* Owns the walk over the arguments of a program, which may lie in memory that cannot be read: each byte is
 * looked at only where reach.h says that it can be. departure.c and spawn.c call this: argv.h. */
#include "argv.h"

#include <string.h>

#include "agent/base/reach.h"
#include "agent/emit/emit.h"
#include "writer/fxt_encode.h"

/* A walk over the text, byte by byte. */
struct walk {
	struct fxt_reach array, texts;
	char *const *argument;          /* NULL: there are no more */
	const char *at;                 /* the next byte of the argument */
};

static void to_argument(struct walk *walk, char *const *argument)
{
	bool readable = argument && fxt_reaches_all(&walk->array, argument, sizeof(*argument));

	walk->argument = readable && *argument ? argument : NULL;
	walk->at = walk->argument ? *argument : NULL;
}

/* Returns the next byte; 0 behind the last one. */
static char next(struct walk *walk)
{
	if (!walk->argument || !fxt_reaches(&walk->texts, walk->at))
		return '\0';
	if (*walk->at)
		return *walk->at++;
	to_argument(walk, walk->argument + 1);
	return walk->argument ? ' ' : '\0';
}

size_t fxt_argv_bytes(char *const *argv)
{
	struct walk walk = {0};
	size_t bytes = 0;

	to_argument(&walk, argv);
	while (bytes < FXT_ARGV_MAX_BYTES && next(&walk))
		bytes++;
	return bytes;
}

/* Another thread may have changed the text since it was measured: blanks take the place of what is
 * missing. */
uint64_t *fxt_put_argv(uint64_t *at, char *const *argv, size_t bytes)
{
	char *text = (char *)(at + 1);
	struct walk walk = {0};
	size_t i;

	to_argument(&walk, argv);
	for (i = 0; i < bytes; i++) {
		char byte = next(&walk);

		text[i] = (char)(byte ? byte : ' ');
	}
	bytes = fxt_utf8_clean(text, text, bytes, bytes);
	memset(text + bytes, 0, fxt_words_of(bytes) * FXT_WORD_BYTES - bytes);
	at[0] = fxt_arg_header(FXT_ARG_STRING, (unsigned)(1 + fxt_words_of(bytes)), FXT_STR_argv) |
		fxt_arg_string(bytes ? fxt_inline_ref(bytes) : 0);
	return at + 1 + fxt_words_of(bytes);
}
