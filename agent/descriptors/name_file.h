/* The files of /proc by which threads are named: /proc/self/comm, /proc/self/task/TID/comm and the like. What
 * is written there is the name of a thread of this process, as if pthread_setname_np() had set it. The
 * descriptor of such a file is an endpoint of its own kind (endpoint.h), so other descriptors cost nothing
 * more.
 *
 * Wrappers call these functions in any context; errno stays as it is.
 */
#ifndef FXT_NAME_FILE_H
#define FXT_NAME_FILE_H

#include <string.h>

#include <bits/types/struct_FILE.h>

#include "endpoint.h"

/* Notes what descriptor a call has opened by this path, if the path can be that of such a file. */
FXT_COLD void fxt_name_file_opened(struct fxt_thread *thread, int fd);
static inline void fxt_name_file_looks(struct fxt_thread *thread, int fd, const struct fxt_fd_detail *opened)
{
	if (FXT_UNLIKELY(opened->text && opened->bytes >= 4 &&
			 !memcmp(opened->text + opened->bytes - 4, "comm", 4)))
		fxt_name_file_opened(thread, fd);
}

/* Returns the thread that the file names, or 0 if it is none of this process. */
FXT_COLD uint32_t fxt_name_file_tid(int fd);

/* Tells the name of the thread: the first of `count` bytes, or what the kernel has if `text` is NULL. */
FXT_COLD void fxt_name_file_tell(struct fxt_thread *thread, uint32_t tid, const char *text, size_t count);

/* Tells the name that the buffer of a FILE holds, which is about to be written. */
FXT_COLD void fxt_name_file_flushed(struct fxt_thread *thread, const struct _IO_FILE *file);
static inline void fxt_name_file_flushes(struct fxt_thread *thread, const struct _IO_FILE *file)
{
	if (FXT_UNLIKELY(fxt_endpoint(file->_fileno) == FXT_ENDPOINT_NAME))
		fxt_name_file_flushed(thread, file);
}

#endif
