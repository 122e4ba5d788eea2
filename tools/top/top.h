/* The subcommand fxt top: see tools/common/command.h. fxt.c calls it. */
#ifndef FXT_TOOLS_TOP_H
#define FXT_TOOLS_TOP_H

int fxt_command_top(int argc, char **argv);

#endif
