/* The subcommands of fxt, each in a file of its name. Called by fxt.c with argv[0] the subcommand.
 * Each returns the exit status. Usage errors end the program with status 2 (argp).
 *
 * The analyses behind them take bytes and not files, so that the fuzz target can walk them.
 */
#ifndef FXT_TOOLS_COMMAND_H
#define FXT_TOOLS_COMMAND_H

#include <argp.h>
#include <stdbool.h>

int fxt_command_categories(int argc, char **argv);
int fxt_command_check(int argc, char **argv);
int fxt_command_dump(int argc, char **argv);
int fxt_command_merge(int argc, char **argv);
int fxt_command_record(int argc, char **argv);
int fxt_command_report(int argc, char **argv);

/* Parses one subcommand's options; its usage then reads "fxt SUBCOMMAND [OPTION...] ...". Usage errors end
 * the program with argp_err_exit_status. */
void fxt_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* What the only argument of a subcommand that takes one FILE is parsed with: for the keys that are none of its options. */
error_t fxt_parse_file(int key, char *arg, struct argp_state *state, const char **path);

#define FXT_JSON_OPTION {"json", 'j', 0, 0, "Print JSON", 0}

#endif
