/* Which descriptors each program of a run began with: those that its parent had when it forked, and those that the process had when it
 * executed the program. Called by report with events in the order of time.
 *
 * What the child of a vfork does with its descriptors is in the trace of its parent, as calls of the parent's thread; it is kept apart from
 * the parent's own until the child has executed a program or ended.
 *
 * tools/descriptors/ follows descriptors in the order of time: what programs began with, when a number's lifetimes began,
 * in which mode the open files are. It uses tools/printing/ and what that uses; only tools/report/ uses it.
 */
#ifndef FXT_TOOLS_FD_IMAGES_H
#define FXT_TOOLS_FD_IMAGES_H

#include "fd_modes.h"
#include "fd_pages.h"
#include "tools/reading/reader.h"

struct fxt_fd_image {
	struct fxt_fd_pages *pages;     /* NULL: nothing was seen of it yet */
	uint64_t arrow;                 /* offset of the first arrow that ends in it, plus 1; 0: there is none */
};

/* All zero is the beginning. */
struct fxt_fd_images {
	struct fxt_fd_image *list;      /* by provider */
	size_t count, capacity;
	struct fxt_map last;            /* pid -> its newest provider */
	struct fxt_map born;            /* pid of a child, or thread and time of its making -> the table it begins with */
	struct fxt_map vforked;         /* thread -> the table of the child that runs in its place */
	struct fxt_map makers;          /* thread -> when its posix_spawn() or system() is over, and what its child begins with */
	struct fxt_fd_modes modes;      /* of what all of their descriptors refer to */
};

/* Whether the event says anything of how a process came to be, and when. The first time in the order of the file. */
bool fxt_fd_images_want(struct fxt_fd_images *images, const struct fxt_record *rec, uint64_t *key_ns);
void fxt_fd_images_take(struct fxt_fd_images *images, const struct fxt_reader *r, const struct fxt_record *rec);

/* The table of whoever did what the event tells. Holds until the next call of any of these. */
struct fxt_fd_pages **fxt_fd_images_of(struct fxt_fd_images *images, const struct fxt_reader *r, const struct fxt_record *rec);

void fxt_fd_images_free(struct fxt_fd_images *images);

#endif
