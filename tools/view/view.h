/* fxt view: a trace in a browser, as a page of ours or in Perfetto's own viewer. */
#ifndef FXT_TOOLS_VIEW_H
#define FXT_TOOLS_VIEW_H

/* The subcommand: see tools/common/command.h. */
int fxt_command_view(int argc, char **argv);

#endif
