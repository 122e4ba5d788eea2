/* Rings of io_uring. What goes through a ring is seen by nobody but the program and the kernel. So the trace
 * says how many operations were submitted and completed: an instant agent:io_uring, with the kernel's own
 * counts, when the ring's descriptor is closed, and when the process ends or executes another program.
 * Counts are totals of the ring, whose number is `ring`; the last ones of a ring count.
 *
 * Rings that are made by a system call instruction, as by liburing, are not known. Neither are more than 16
 * that are open at once. Any context may call this.
 */
#ifndef FXT_RINGS_H
#define FXT_RINGS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/emit/emit.h"

extern atomic_bool fxt_rings_any __attribute__((visibility("hidden")));

/* Notes that the calling thread has made a ring. */
void fxt_ring_opened(struct fxt_thread *thread, int fd);

/* Tells of the ring whose descriptor is about to be closed. Does nothing for other descriptors. */
void fxt_ring_closes(struct fxt_thread *thread, int fd);

/* Tells of all rings. */
void fxt_rings_tell(struct fxt_thread *thread);

/* Forgets all rings, in the child of a fork: they are those of its parent. */
void fxt_rings_forget(void);

#endif
