/* Says what is done at the end of the process: exit.c. */
#ifndef FXT_EXIT_H
#define FXT_EXIT_H

/* Registers what is called at the end. Called once, at start, before the program can register anything. */
void fxt_exit_start(void);

/* Notes the status of quick_exit(), which tells its handlers nothing. Called by the wrapper of
 * quick_exit(). */
void fxt_exit_quick(int status);

#endif
