/* The end of the process. */
#ifndef FXT_EXIT_H
#define FXT_EXIT_H

/* Once, at start: before the program has anything to be called at the end. */
void fxt_exit_start(void);

/* By quick_exit(), with what its handlers are not told. */
void fxt_exit_quick(int status);

#endif
