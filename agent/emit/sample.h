/* These functions sample the counters of the process (category counter): the memory, threads and descriptors
 * that it has and the bytes that it has moved. A sample is taken every 10 ms while there are records.
 *
 * The agent has no thread that samples. Sampling is deferred work (deferred.h), and each thread that records
 * does such work after 10 ms at the latest, when its clock's line expires. Of all threads, one samples in
 * each 10 ms. A sample has at most one event, with one argument, for each of these counters: rss, threads,
 * descriptors, read bytes, written bytes and heap bytes (heap.h).
 */
#ifndef FXT_SAMPLE_H
#define FXT_SAMPLE_H

#include "agent/base/agent.h"

/* Asks for sampling as deferred work of the thread if 10 ms have passed. Called when a chunk is full, and
 * when the clock has no line that could expire. Any context. */
void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns);

/* Samples if 10 ms have passed and no other thread samples. Called as deferred work. */
void fxt_sample(struct fxt_thread *thread, uint64_t now_ns);

/* Makes a sample due at once, when recording begins again. */
void fxt_sample_again(void);

/* Makes a sample due after 10 ms, in the child of a fork. Many children end or execute a program before, and
 * a sample opens a file. */
void fxt_sample_after_fork(void);

/* Opens the file that the resident memory is read from, if this has not been tried in this process: the
 * caller is about to make a thread, and beside other threads the file cannot be opened. Any context. */
void fxt_sample_before_thread(void);

/* The file that the resident memory is read from stays open (docs/own-files.md). Returns whether it has the
 * number `fd`, and the program has not put another file there unseen; and whether a file is this one. */
bool fxt_sample_has(int fd);
bool fxt_sample_is_file(const struct stat *status);

/* Closes the file if it has the number `fd`, because the program is about to use the number. The counter of
 * the resident memory ends. Nothing is done in the child of a vfork. Any context. */
void fxt_sample_drop(int fd);

/* Says that this process has its parent's table of descriptors, in which it closes nothing: the file is the
 * parent's. */
void fxt_sample_is_shared(void);

/* Moves the file away from its number `fd` to one above `above`, or closes it if there is none. Nothing is
 * done in the child of a vfork. Any context. */
void fxt_sample_move(int fd, int above);

/* The bytes that the calls of all threads, living and ended, have read and written, and those of the heap
 * that they have not freed. */
struct fxt_moved {
	uint64_t read, written;
	int64_t heap;
};

/* Returns the sums over all threads. */
struct fxt_moved fxt_threads_moved(void);

/* Returns how many states of threads fxt_threads_moved() looks at. */
uint32_t fxt_threads_known(void);

#endif
