/* Calls through procedure linkage tables: see plt.c. */
#ifndef FXT_PLT_H
#define FXT_PLT_H

/* Makes the calls that FXT_PLT chooses, of all modules that the program begins with, go through stubs. Does
 * nothing if the category plt is off. Called once, when the program starts, by its only thread. */
void fxt_plt_start(void);

#endif
