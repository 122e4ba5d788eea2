/* Takes events as LTTng-UST and its helpers write them. All others become instants. */
#ifndef FXT_TOOLS_IMPORT_LTTNG_H
#define FXT_TOOLS_IMPORT_LTTNG_H

#include "import_events.h"

void fxt_import_lttng_take(struct fxt_import_events *e, const bt_event *event, uint64_t ns);
/* Frees what is known of classes of events. */
void fxt_import_lttng_free(struct fxt_import_events *e);

#endif
