/* FXT_CALLERS: whose calls are recorded, by the file that the code lies in which made the call. Looked at
 * where a call that is not usual ends (watched.c), and with FXT_CALLERS no call is usual. Any context. */
#ifndef FXT_CALLERS_H
#define FXT_CALLERS_H

#include <stdbool.h>

/* Returns whether the call that is being recorded is one of those callers'. It walks the frames of this
 * library, each of which has a frame pointer, to the code that has called it. */
bool fxt_callers_want_this(void);

/* Forgets which callers are wanted, because a library is gone and another may take its place. */
void fxt_callers_unloaded(void);

#endif
