/* The filters that the program puts on its own system calls. The wrappers of prctl() and syscall() call
 * this, in any context. */
#ifndef FXT_SECCOMP_H
#define FXT_SECCOMP_H

struct sock_fprog;

/* This was so before a filter was expected. */
struct fxt_before_filter {
	unsigned forbidden;
	unsigned suspended;             /* enum fxt_suspension: what this filter alone suspends */
	unsigned number;                /* of this filter among those that were expected */
};

/* Finds out which of our system calls the filter will not allow, by running the filter on them, and stops
 * making those. NULL for `filter` stands for strict mode, which allows none of them and no reading of the
 * clock, so nothing is recorded any more. Called before the filter is in force. */
struct fxt_before_filter fxt_seccomp_expect(const struct sock_fprog *filter);

/* Restores what was forbidden before, because the kernel refused the filter. If another thread has expected
 * one since, what both would forbid stays forbidden. */
void fxt_seccomp_restore(struct fxt_before_filter before);

#endif
