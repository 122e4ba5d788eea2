/* What locks and the like are called: global variables by their symbol. */
#ifndef FXT_LABEL_H
#define FXT_LABEL_H

#include "agent.h"

/* The name of `object`, which the code at `place` uses: its length, and where it is; 0: it has none that is known. The first time the
 * trace is told, by a userspace object record ("Userspace object record"). Any context; slow the first time. */
size_t fxt_label(uintptr_t object, uintptr_t place, const char **name);

/* In the child of a fork: its trace has to be told again. */
void fxt_labels_after_fork(void);

#endif
