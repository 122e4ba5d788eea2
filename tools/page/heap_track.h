/* How much of the heap a process had in use, over time, as a track of points. */
#ifndef FXT_TOOLS_HEAP_TRACK_H
#define FXT_TOOLS_HEAP_TRACK_H

#include "timeline.h"
#include "tools/report/report.h"

/* Replays the calls of the heap, and adds a track for each process whose heap is known throughout. Of each
 * 2048th of the time it keeps the highest point and the last. */
void fxt_heap_tracks(struct fxt_timeline *t, const struct fxt_report *report);

#endif
