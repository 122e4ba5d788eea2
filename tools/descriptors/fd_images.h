/* Knows which descriptors each program of a run began with: a forked child has those that its parent had
 * then, and an executed program those that its process had then. Report calls it with events in the order
 * of time.
 *
 * What the child of a vfork does with its descriptors is in the trace of its parent, as calls of the
 * parent's thread. It is kept apart from the parent's own until the child has executed a program or
 * ended.
 */
#ifndef FXT_TOOLS_FD_IMAGES_H
#define FXT_TOOLS_FD_IMAGES_H

#include "fd_modes.h"
#include "fd_pages.h"
#include "tools/reading/reader.h"

struct fxt_fd_image {
	struct fxt_fd_pages *pages;     /* NULL: nothing was seen of the program yet */
	/* offset of the first arrow that leads to it, plus 1; 0: there is none */
	uint64_t arrow;
};

/* The tables of all programs. At the beginning all members are zero. */
struct fxt_fd_images {
	struct fxt_fd_image *list;      /* by provider */
	size_t count, capacity;
	struct fxt_map last;            /* pid -> its newest provider */
	/* The table that a child begins with, by its pid, or by the thread that made it and the time of
	 * that. */
	struct fxt_map born;
	struct fxt_map vforked;         /* thread -> the table of the child that runs in its place */
	/* Thread -> when its posix_spawn() or system() is over, and the table that the child begins with. */
	struct fxt_map makers;
	struct fxt_fd_modes modes;      /* the modes of the open file descriptions of all programs */
};

/* Returns whether the event says how a process came to be, and sets *key_ns to the time at which it
 * counts. It is asked for every event in the order of the file first. */
bool fxt_fd_images_want(struct fxt_fd_images *images, const struct fxt_record *rec, uint64_t *key_ns);
/* Takes an event for which fxt_fd_images_want() returned true, in the order of time. */
void fxt_fd_images_take(struct fxt_fd_images *images, const struct fxt_reader *r,
			const struct fxt_record *rec);

/* Returns the table of the program that did what the event tells. The pointer holds until the next call
 * of any of these functions. */
struct fxt_fd_pages **fxt_fd_images_of(struct fxt_fd_images *images, const struct fxt_reader *r,
				       const struct fxt_record *rec);

void fxt_fd_images_free(struct fxt_fd_images *images);

#endif
