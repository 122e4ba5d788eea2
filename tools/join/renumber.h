/* Tells processes and threads apart that had one number in turn, in a joined trace that is complete but for
 * what comes behind its parts. The kernel gives numbers again: after 32768 processes on many machines. Each
 * process and thread gets a koid of its own, as reader.h says. merge.c calls this, from one thread, if the
 * parts have a number that may have been used again.
 *
 * It reads the trace twice: first for what is known of the lives of processes (bearers.h), and then to
 * replace koids, in place, because all have one size. A program's records are about its own process, and what
 * another process or the kernel tells belongs to whoever had the number at that time. Arguments of calls stay
 * as they were: a pid that fork() has returned is what the program saw.
 */
#ifndef FXT_TOOLS_RENUMBER_H
#define FXT_TOOLS_RENUMBER_H

#include "bearers.h"

struct fxt_renumber_program; /* what is known of a provider, in renumber.c */

/* At first all members are zero. */
struct fxt_renumber {
	struct fxt_reader reader;
	struct fxt_bearers bearers;
	struct fxt_renumber_program *programs; /* by the providers' indices */
	size_t program_count, program_capacity;
	struct fxt_map threads; /* program and number of a thread -> when its first event was */
	struct fxt_map told; /* process and thread of the kernel -> place in `tasks` plus 1, its end */
	struct fxt_map children; /* id of a child's lifetime -> when it began */
	struct fxt_renumber_task *tasks;
	size_t task_count, task_capacity;
	unsigned char *data; /* the trace */
	uint64_t bytes;
	bool differs; /* some koids were replaced */
};

/* A thread that the kernel tells of. */
struct fxt_renumber_task {
	uint64_t pid, tid, at_ns;
};

/* Reads the trace in the file `fd`, which has so many bytes, and replaces koids in it. Returns false if the
 * file cannot be changed, as a pipe cannot be: then it stays as it is. The mapping lives until
 * fxt_renumber_free().
 */
bool fxt_renumber(struct fxt_renumber *n, int fd, uint64_t bytes);

/* Returns the koid of the process that had the number at that time, and of one of its threads. */
uint64_t fxt_renumber_process(const struct fxt_renumber *n, uint64_t pid, uint64_t at_ns);
uint64_t fxt_renumber_thread(const struct fxt_renumber *n, uint64_t pid, uint64_t tid, uint64_t at_ns);

/* Writes the records that say which number each of these koids stands for. */
typedef bool fxt_renumber_put(void *context, uint64_t *words, size_t count);
bool fxt_renumber_names(struct fxt_renumber *n, fxt_renumber_put *put, void *context);

/* Returns how many processes there are more than numbers, and how many more of those that have recorded
 * nothing there are than numbers of which no process has recorded anything. `silent` may be NULL. */
uint64_t fxt_renumber_more(const struct fxt_renumber *n, uint64_t *silent);

void fxt_renumber_free(struct fxt_renumber *n);

#endif
