/* A window of losses lasts from where a thread finds no room for its records to where it does again. The
 * trace has an instant for each, agent:lost: how many records the thread has dropped, and how long that took.
 * The header of a memory that a manager saves has the sum meanwhile. Called where a record is dropped, and
 * where a thread turns to a chunk; any context.
 */
#ifndef FXT_LOSS_WINDOWS_H
#define FXT_LOSS_WINDOWS_H

#include "agent.h"

enum { FXT_LOSS_WINDOW_WORDS = 16 };

/* Notes that the calling thread has dropped a record. If it `may_pass`, the thread drops many in a row, and
 * the header need not be exact. */
void fxt_loss_note(const struct fxt_thread *thread, bool may_pass);

/* Writes the instant about what the calling thread has dropped since this function was last called, if
 * anything. Returns its size in words; 0: there is none. `record` has FXT_LOSS_WINDOW_WORDS. */
size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record);

#endif
