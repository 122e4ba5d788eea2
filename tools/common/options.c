/* The parts of option parsing that the subcommands share. See command.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "nearest.h"

/* What the command line is parsed by. */
static const struct argp *parsed;

/* Ends the program after a message about the command line. */
static void __attribute__((noreturn)) refuse(char *what)
{
	fxt_error(NULL, "%s", what);
	free(what);
	exit(argp_err_exit_status);
}

static bool is_last(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc;
}

/* Returns the option of this name, which may be cut as far as it stays clear. Returns NULL if that is argp's
 * to judge: --help is one of its own, and it tells what a name that fits several may mean. */
static const struct argp_option *option_named(const struct argp *argp, const char *name, size_t bytes)
{
	static const char *const own[] = {"help", "usage"};
	const char *names[64];
	const struct argp_option *found = NULL;
	size_t count = 0, fitting = 0;
	char *word, *hint;

	for (const struct argp_option *at = argp->options; !is_last(at); at++) {
		if (!at->name || count + 2 >= sizeof(names) / sizeof(*names))
			continue;
		names[count++] = at->name;
		if (strncmp(at->name, name, bytes) != 0)
			continue;
		found = at;
		if (!at->name[bytes])
			return at;
		fitting++;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		names[count++] = own[i];
		fitting += strncmp(own[i], name, bytes) == 0;
	}
	if (fitting)
		return fitting == 1 ? found : NULL;
	word = fxt_format("%.*s", (int)bytes, name);
	hint = fxt_nearest(word, names, count) ? fxt_format("--%s", fxt_nearest(word, names, count)) : NULL;
	refuse(hint ? fxt_format("there is no option '--%s': did you mean %s?", word, hint)
		    : fxt_format("there is no option '--%s': --help lists all", word));
}

static const struct argp_option *option_lettered(const struct argp *argp, char letter)
{
	for (const struct argp_option *at = argp->options; !is_last(at); at++) {
		if (at->name && at->key == letter)
			return at;
	}
	return NULL;
}

/* Refuses an option that does not exist, and a value that is empty, before any option has an effect. An
 * empty value is that of a variable which is not set, as in -o "$OUT". */
static void check_words(const struct argp *argp, int argc, char **argv, unsigned flags)
{
	for (int i = 1; i < argc; i++) {
		const struct argp_option *option = NULL;
		const char *value = NULL, *word = argv[i];

		if (strcmp(word, "--") == 0 || ((flags & ARGP_IN_ORDER) && (*word != '-' || !word[1])))
			return;
		if (*word != '-' || !word[1])
			continue;
		if (word[1] == '-') {
			value = strchr(word, '=');
			option = option_named(argp, word + 2,
					      value ? (size_t)(value - word - 2) : strlen(word + 2));
			value += value != NULL;
		}
		for (size_t k = 1; word[1] != '-' && word[k] && !value; k++) {
			option = option_lettered(argp, word[k]);
			if (option && option->arg && (word[k + 1] || (option->flags & OPTION_ARG_OPTIONAL)))
				value = word + k + 1;
		}
		if (!option || !option->arg)
			continue;
		if (!value && !(option->flags & OPTION_ARG_OPTIONAL) && i + 1 < argc)
			value = argv[++i];
		if (value && !*value && !(word[1] != '-' && (option->flags & OPTION_ARG_OPTIONAL)))
			refuse(fxt_format("the value of --%s is empty: give %s", option->name, option->arg));
	}
}

void fxt_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	static char name[32];
	char *command = argv[0];

	/* argp takes the name that it prints from argv[0], and keeps the pointer. */
	snprintf(name, sizeof(name), "fxt %s", command);
	argv[0] = name;
	parsed = argp;
	check_words(argp, argc, argv, flags);
	if (argp_parse(argp, argc, argv, flags, NULL, input) != 0)
		exit(2);
	argv[0] = command;
}

error_t fxt_parse_file(int key, char *arg, struct argp_state *state, const char **path)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*path)
			argp_error(state, "more than one FILE was given, and this command takes one");
		*path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no FILE was given: name a trace"); return EINVAL;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const char *fxt_option_prefix(int key)
{
	static char prefix[40];

	prefix[0] = '\0';
	for (const struct argp_option *at = parsed ? parsed->options : NULL; at && !is_last(at); at++) {
		if (at->key == key && at->name && at->arg)
			snprintf(prefix, sizeof(prefix), "--%s: ", at->name);
	}
	return prefix;
}
