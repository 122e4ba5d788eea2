/* Takes events of a trace that fxt convert has written: they say which record each was, and become that
 * again. What stands beside them for viewers of LTTng's traces is passed over. */
#ifndef FXT_TOOLS_IMPORT_OWN_H
#define FXT_TOOLS_IMPORT_OWN_H

#include "import_events.h"

/* Returns whether fxt convert has written the trace. */
bool fxt_import_is_own(struct fxt_import_events *e, const bt_trace *trace);

void fxt_import_own_take(struct fxt_import_events *e, const bt_event *event, uint64_t ns);
/* Writes calls whose end is not in the trace, and what waits for more. */
void fxt_import_own_end(struct fxt_import_events *e);
void fxt_import_own_free(struct fxt_import_events *e);

#endif
