/* These functions serve all subcommands of fxt. A subcommand is a function fxt_command_NAME(), declared in a
 * header of its own folder. fxt.c calls it with the subcommand's name as argv[0]. It returns the exit status
 * of fxt; a usage error ends the program (argp).
 *
 * The analyses behind the subcommands take bytes and not files, so that the fuzz target can call them.
 */
#ifndef FXT_TOOLS_COMMAND_H
#define FXT_TOOLS_COMMAND_H

#include <argp.h>
#include <stdbool.h>

/* Parses one subcommand's options; its usage then reads "fxt SUBCOMMAND [OPTION...] ...". Usage errors end
 * the program with argp_err_exit_status. */
void fxt_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Parses the only argument of a subcommand that takes one FILE, and sets *path. The subcommand's parser
 * calls it for each key that is none of its options. */
error_t fxt_parse_file(int key, char *arg, struct argp_state *state, const char **path);

/* Returns what a message about this option's value begins with: "--NAME: ", or an empty text if the key is
 * that of no option with a value. It is valid until the next call. */
const char *fxt_option_prefix(int key);

#define FXT_JSON_OPTION {"json", 'j', 0, 0, "Print JSON", 0}

#endif
