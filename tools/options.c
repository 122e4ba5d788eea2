/* What the subcommands' option parsing shares. See command.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <argp.h>
#include <stdlib.h>

#include "command.h"
#include "message.h"

void fxt_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	char *command = argv[0];

	/* argp takes the name it prints from here; main() ends with the program, so it is never freed. */
	argv[0] = fxt_format("fxt %s", command);
	if (argp_parse(argp, argc, argv, flags, NULL, input) != 0)
		exit(2);
	argv[0] = command;
}

void fxt_want_json(void)
{
#ifndef HAVE_JANSSON
	fxt_error(NULL, "--json needs jansson, and fxt was built without it (Debian: libjansson-dev, then configure)");
	exit(2);
#endif
}
