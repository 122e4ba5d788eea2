/* The end of the process by exit(), for the destructor. */
#ifndef FXT_EXIT_H
#define FXT_EXIT_H

/* The exit() in progress is over as far as it can be seen. */
void fxt_exit_done(void);

#endif
