/* A thread that names frames while a run goes on, so that little is left to be named when the command has
 * ended. Opening a file with debug information takes from a millisecond to a second, and the thread that
 * saves what programs record must not wait that long. frame_records.c calls this, from that thread.
 */
#ifndef FXT_TOOLS_FRAME_NAMER_H
#define FXT_TOOLS_FRAME_NAMER_H

#include "tools/programs/frame_names.h"

struct fxt_frame_namer;

/* Starts the thread. Until it ends, nobody else may use `names`. Returns NULL if there is no such thread. */
struct fxt_frame_namer *fxt_frame_namer_begin(struct fxt_frame_names *names);

/* Adds a frame to those that the thread is to name. Its texts have to last until the end. The thread begins
 * when it is woken; to wake it for each frame takes longer than to name a frame that it has met before. */
void fxt_frame_namer_add(struct fxt_frame_namer *n, const struct fxt_frame_at *at);
void fxt_frame_namer_wake(struct fxt_frame_namer *n);

/* Ends the thread, at the latest when it has looked up one more frame. `n` may be NULL. */
void fxt_frame_namer_end(struct fxt_frame_namer *n);

#endif
