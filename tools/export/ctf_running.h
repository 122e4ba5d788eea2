/* Which thread was on which processor, as the switches of the kernel's part say. ctf_streams.c tells of each
 * switch and asks at each event, in the order of time.
 *
 * A processor is known from a thread's switch to it until the thread's switch away. It is not known before
 * the first switch, nor of a trace whose kernel's part lacks switches at unknown times, nor from the time on
 * from which switches are missing until the next one.
 */
#ifndef FXT_TOOLS_CTF_RUNNING_H
#define FXT_TOOLS_CTF_RUNNING_H

#include "ctf.h"

struct fxt_ctf_running_thread {
	uint32_t same;                  /* the thread by which the number is found */
	int32_t cpu;                    /* -1: not known */
	uint64_t asked_ns;              /* events of a thread at one time are in one stream */
	int32_t answer;
	bool was_asked;
};

struct fxt_ctf_running {
	struct fxt_ctf_running_thread *threads;
	size_t count;
	uint32_t on[FXT_CTF_MOST_PROCESSORS];   /* processor -> thread, plus 1 */
	bool is_unknown;
};

/* c->thread_by_tid is complete. */
void fxt_ctf_running_begin(struct fxt_ctf_running *r, const struct fxt_ctf *c);
/* Takes a switch; 0 is no thread. */
void fxt_ctf_running_switch(struct fxt_ctf_running *r, const struct fxt_ctf *c, uint32_t cpu, uint64_t out,
			    uint64_t in);
/* From now on nothing is known. */
void fxt_ctf_running_forget(struct fxt_ctf_running *r);
/* Returns the thread's processor; -1: it is not known. */
int32_t fxt_ctf_running_cpu(struct fxt_ctf_running *r, uint32_t thread, uint64_t at_ns);
void fxt_ctf_running_free(struct fxt_ctf_running *r);

#endif
