/* The end of the process by exit(), for the destructor. */
#ifndef FXT_EXIT_H
#define FXT_EXIT_H

/* Once, at start: before the program has anything to be called at the end by quick_exit(). */
void fxt_exit_start(void);

/* The exit() in progress is over as far as it can be seen. */
void fxt_exit_done(void);

#endif
