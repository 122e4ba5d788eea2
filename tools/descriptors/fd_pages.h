/* What the first descriptors of a process are, as a table that is shared until somebody changes it.
 *
 * A child begins with the table of its parent, which costs a reference; a number that is set afterwards costs a copy of one page. So
 * what a trace of many forks takes is bounded by its length. Numbers from FXT_FD_PAGES_MAX on are not in such a table.
 */
#ifndef FXT_TOOLS_FD_PAGES_H
#define FXT_TOOLS_FD_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FXT_FD_STANDARD = 3,            /* numbers that programs begin with: input, output and error */
	FXT_FD_PAGE = 32,               /* numbers */
	FXT_FD_PAGE_COUNT = 32,
	FXT_FD_PAGES_MAX = FXT_FD_PAGE * FXT_FD_PAGE_COUNT,
};

/* What a number stands for. All zero: nothing is known of it. */
struct fxt_fd_meaning {
	uint32_t file_and_1;            /* place among the report's files, plus 1 */
	uint32_t description;           /* the open file description it refers to (fd_modes.h); 0: not known */
	bool closes_on_exec;
};

struct fxt_fd_pages;

/* A table in which nothing is known. */
struct fxt_fd_pages *fxt_fd_pages_make(void);

/* Another reference to the table: what is changed by way of one of them is not seen by way of the other. */
struct fxt_fd_pages *fxt_fd_pages_share(struct fxt_fd_pages *pages);

struct fxt_fd_meaning fxt_fd_pages_get(const struct fxt_fd_pages *pages, uint64_t number);

/* Changes the table behind the reference, which may be another one afterwards. */
void fxt_fd_pages_set(struct fxt_fd_pages **pages, uint64_t number, struct fxt_fd_meaning meaning);

/* Forgets the numbers from `first` to `last`, or makes them close when a program is executed. */
void fxt_fd_pages_close(struct fxt_fd_pages **pages, uint64_t first, uint64_t last, bool on_exec);

/* Forgets what closes when a program is executed. */
void fxt_fd_pages_execute(struct fxt_fd_pages **pages);

/* Gives the reference up; NULL is none. */
void fxt_fd_pages_release(struct fxt_fd_pages *pages);

#endif
