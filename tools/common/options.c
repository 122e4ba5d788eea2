/* The parts of option parsing that the subcommands share. See command.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "message.h"

void fxt_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	static char name[32];
	char *command = argv[0];

	/* argp takes the name that it prints from argv[0], and keeps the pointer. */
	snprintf(name, sizeof(name), "fxt %s", command);
	argv[0] = name;
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
