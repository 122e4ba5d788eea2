/* The subcommands fxt serve and fxt ctl: see tools/common/command.h. fxt.c calls them. */
#ifndef FXT_TOOLS_MANAGER_COMMANDS_H
#define FXT_TOOLS_MANAGER_COMMANDS_H

int fxt_command_serve(int argc, char **argv);
int fxt_command_ctl(int argc, char **argv);

#endif
