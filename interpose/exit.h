/* The end of the process by exit(), for the destructor. */
#ifndef FXT_EXIT_H
#define FXT_EXIT_H

/* Once, at start: before the program has anything to be called at the end by quick_exit(). */
void fxt_exit_start(void);

/* The process ends in a way that is not recorded: by a system call made by way of syscall(), within the C library. */
void fxt_exit_unseen(void);

/* The exit() in progress is over as far as it can be seen. */
void fxt_exit_done(void);

#endif
