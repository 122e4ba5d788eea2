/* See name_file.h. */
#include "name_file.h"

#include "agent/base/stack.h"
#include "agent/emit/thread.h"
#include "agent/emit/threads.h"
#include "writer/decimal.h"

enum {
	PATH_BYTES = 80,        /* of /proc/PID/task/TID/comm */
	NAME_BYTES = 16,        /* of a name, with its end */
};

/* Reads the number at *at, and moves *at behind it and the `behind` that has to follow. Returns 0 if the text
 * is another one. */
static uint32_t number_at(const char **at, const char *behind)
{
	size_t bytes = strlen(behind);
	uint32_t number = 0;

	for (; **at >= '0' && **at <= '9' && number < 1000000000; (*at)++)
		number = number * 10 + (uint32_t)(**at - '0');
	if (strncmp(*at, behind, bytes) != 0)
		return 0;
	*at += bytes;
	return number;
}

uint32_t fxt_name_file_tid(int fd)
{
	static const char folder[] = "/proc/self/fd/", proc[] = "/proc/";
	char link[sizeof(folder) + FXT_DECIMAL_BYTES], path[PATH_BYTES];
	const char *at = path + sizeof(proc) - 1;
	uint32_t process, thread;
	int bytes;

	if (fd < 0 || fxt_stack_is_short())
		return 0;
	memcpy(link, folder, sizeof(folder));
	link[sizeof(folder) - 1 + fxt_decimal(link + sizeof(folder) - 1, (uint64_t)fd)] = '\0';
	bytes = fxt_sys_readlink(link, path, sizeof(path) - 1);
	if (bytes <= 0)
		return 0;
	path[bytes] = '\0';
	if (strncmp(path, proc, sizeof(proc) - 1) != 0)
		return 0;
	process = number_at(&at, "/");
	if (process != (uint32_t)fxt_sys_getpid())
		return 0;
	if (!strcmp(at, "comm"))
		return process;
	if (strncmp(at, "task/", 5) != 0)
		return 0;
	at += 5;
	thread = number_at(&at, "/comm");
	return *at ? 0 : thread;
}

void fxt_name_file_opened(struct fxt_thread *thread, int fd)
{
	if (!fxt_is_filtered() && fxt_fds_are_ours(thread) && fxt_name_file_tid(fd))
		fxt_endpoint_names(fd);
}

void fxt_name_file_tell(struct fxt_thread *thread, uint32_t tid, const char *text, size_t count)
{
	const struct fxt_thread *of = fxt_threads_find(tid);
	char name[NAME_BYTES] = "";

	if (!of || !thread->ready || (!text && of != thread))
		return;
	if (text) {
		count = count < sizeof(name) - 1 ? count : sizeof(name) - 1;
		memcpy(name, text, count);
		/* The shell's echo adds it. */
		if (count && name[count - 1] == '\n')
			name[count - 1] = '\0';
	}
	fxt_thread_tell_name(thread, of, text ? name : NULL);
}

void fxt_name_file_flushed(struct fxt_thread *thread, const struct _IO_FILE *file)
{
	const size_t bytes = (size_t)(file->_IO_write_ptr - file->_IO_write_base);
	uint32_t tid = bytes ? fxt_name_file_tid(file->_fileno) : 0;

	if (tid)
		fxt_name_file_tell(thread, tid, file->_IO_write_base, bytes);
}
