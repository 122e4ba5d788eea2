/* A table of what the first descriptors of a process stand for, which is shared until somebody changes it.
 * fd_table.c and fd_images.c use it.
 *
 * A child begins with the table of its parent, which costs a reference. A number that is set afterwards
 * costs a copy of one page. So the memory that a trace of many forks takes is bounded by its length.
 * Numbers from FXT_FD_PAGES_MAX on are not in such a table.
 */
#ifndef FXT_TOOLS_FD_PAGES_H
#define FXT_TOOLS_FD_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FXT_FD_STANDARD = 3,            /* descriptors below this are standard input, output and error */
	FXT_FD_PAGE = 32,               /* numbers in a page */
	FXT_FD_PAGE_COUNT = 32,
	FXT_FD_PAGES_MAX = FXT_FD_PAGE * FXT_FD_PAGE_COUNT,
};

/* The meaning of a number: what it stands for. If nothing is known of it, all members are zero. */
struct fxt_fd_meaning {
	uint32_t file_and_1;            /* place among the report's files, plus 1 */
	/* the open file description it refers to (fd_modes.h); 0: not known */
	uint32_t description;
	bool closes_on_exec;
};

struct fxt_fd_pages;

/* Returns a new table in which nothing is known. */
struct fxt_fd_pages *fxt_fd_pages_make(void);

/* Returns another reference to the table. A change through one reference is not seen through the other. */
struct fxt_fd_pages *fxt_fd_pages_share(struct fxt_fd_pages *pages);

struct fxt_fd_meaning fxt_fd_pages_get(const struct fxt_fd_pages *pages, uint64_t number);

/* Changes the table behind the reference, which may be another one afterwards. */
void fxt_fd_pages_set(struct fxt_fd_pages **pages, uint64_t number, struct fxt_fd_meaning meaning);

/* Forgets the numbers from `first` to `last`, or makes them close when a program is executed. */
void fxt_fd_pages_close(struct fxt_fd_pages **pages, uint64_t first, uint64_t last, bool on_exec);

/* Forgets the numbers that close when a program is executed. */
void fxt_fd_pages_execute(struct fxt_fd_pages **pages);

/* Gives the reference up, and frees the table if it was the last. NULL is allowed. */
void fxt_fd_pages_release(struct fxt_fd_pages *pages);

#endif
