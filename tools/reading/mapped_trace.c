/* Maps trace files read-only, and ends fxt with a message if one is cut meanwhile. See mapped_trace.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "mapped_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "tools/common/message.h"
#include "tools/common/pack.h"

enum { MAX_OPEN = 2 };  /* one more than needed: all commands map one file at a time */

/* The files that are mapped, for the handler of SIGBUS, each with the message that it prints. */
static struct {
	const unsigned char *from;
	uint64_t size;
	char *message;
} mapped[MAX_OPEN];

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	const unsigned char *at = info->si_addr;

	(void)context;
	for (int i = 0; i < MAX_OPEN; i++) {
		if (mapped[i].from && at >= mapped[i].from && at < mapped[i].from + mapped[i].size) {
			ssize_t n = write(STDERR_FILENO, mapped[i].message, strlen(mapped[i].message));

			(void)n;
			_exit(1);
		}
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void watch(const struct fxt_trace_file *f)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	for (int i = 0; i < MAX_OPEN; i++) {
		if (mapped[i].from)
			continue;
		mapped[i].message =
			fxt_format("fxt: %s: cut short or unreadable while it was read\n", f->path);
		mapped[i].size = f->size;
		mapped[i].from = f->data;
		break;
	}
	sigaction(SIGBUS, &action, NULL);
}

static void unwatch(const struct fxt_trace_file *f)
{
	for (int i = 0; i < MAX_OPEN; i++) {
		if (mapped[i].from != f->data)
			continue;
		mapped[i].from = NULL;
		free(mapped[i].message);
	}
}

const char *fxt_trace_refusal(const unsigned char *data, uint64_t size)
{
	static const unsigned char little[] = {0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00};
	static const unsigned char big[] = {0x00, 0x16, 0x54, 0x78, 0x46, 0x04, 0x00, 0x10};

	if (size == 0)
		return "empty, not an FXT trace";
	if (size < sizeof(little))
		return "too short for an FXT trace";
	if (memcmp(data, big, sizeof(big)) == 0)
		return "an FXT trace of a big-endian machine, which is not supported";
	if (memcmp(data, little, sizeof(little)) != 0)
		return "not an FXT trace (no magic number)";
	return NULL;
}

void fxt_trace_drop(const unsigned char *from, const unsigned char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t low = (uintptr_t)from & ~(page - 1), high = (uintptr_t)to & ~(page - 1);

	for (int i = 0; i < MAX_OPEN; i++) {
		if (mapped[i].from && from >= mapped[i].from && to <= mapped[i].from + mapped[i].size &&
		    low < high)
			madvise((void *)low, high - low, MADV_DONTNEED);
	}
}

static bool map_descriptor(struct fxt_trace_file *f, int fd)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) != 0) {
		fxt_error(f->path, "%s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		fxt_error(f->path, "%s", S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
		return false;
	}
	if (st.st_size == 0) {
		fxt_error(f->path, "%s", fxt_trace_refusal(NULL, 0));
		return false;
	}
	f->size = (uint64_t)st.st_size;
	at = mmap(NULL, f->size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		fxt_error(f->path, "cannot be mapped: %s", strerror(errno));
		return false;
	}
	madvise(at, f->size, MADV_SEQUENTIAL);
	f->data = at;
	return true;
}

/* Replaces the descriptor of a compressed file by that of a file with its contents. Returns false after a
 * message if it cannot be unpacked; then *fd is -1. */
static bool unpack_if_packed(int *fd, const char *path)
{
	unsigned char begin[4];
	int unpacked;

	if (pread(*fd, begin, sizeof(begin), 0) != sizeof(begin) || !fxt_is_packed(begin, sizeof(begin)))
		return true;
	unpacked = fxt_unpack(*fd, path);
	close(*fd);
	*fd = unpacked;
	return unpacked >= 0;
}

int (*fxt_trace_of_directory)(const char *path);
int (*fxt_trace_told_apart)(const char *path);

/* Replaces the descriptor of a directory by that of the trace that is made of it. Returns false after a
 * message; then *fd is -1. */
static bool join_if_directory(int *fd, const char *path)
{
	struct stat st;

	if (!fxt_trace_of_directory || fstat(*fd, &st) != 0 || !S_ISDIR(st.st_mode))
		return true;
	close(*fd);
	*fd = fxt_trace_of_directory(path);
	return *fd >= 0;
}

bool fxt_trace_open(struct fxt_trace_file *f, const char *path)
{
	/* O_NONBLOCK is for a FIFO without a writer, which would otherwise block this call for ever. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *refusal;
	bool ok;

	*f = (struct fxt_trace_file){.path = path};
	if (fd < 0) {
		fxt_error(path, "%s", strerror(errno));
		return false;
	}
	ok = join_if_directory(&fd, path) && unpack_if_packed(&fd, path) && map_descriptor(f, fd);
	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	watch(f);
	refusal = fxt_trace_refusal(f->data, f->size);
	if (!refusal)
		return true;
	fxt_error(path, "%s", refusal);
	fxt_trace_close(f);
	return false;
}

bool fxt_trace_follow(struct fxt_trace_file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	uint64_t bytes = UINT64_C(1) << 40;
	void *at = MAP_FAILED;

	*f = (struct fxt_trace_file){.path = path};
	/* Less space is enough for most, and a limit may allow no more. */
	for (; fd >= 0 && at == MAP_FAILED && bytes >= UINT64_C(1) << 30; bytes >>= 2) {
		at = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
		f->size = bytes;
	}
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	if (at == MAP_FAILED)
		return false;
	f->data = at;
	watch(f);
	return true;
}

void fxt_trace_close(struct fxt_trace_file *f)
{
	unwatch(f);
	munmap((void *)(uintptr_t)f->data, f->size);
	f->data = NULL;
}

int fxt_trace_verdict(const struct fxt_trace_file *f, const struct fxt_reader *r)
{
	if (r->damaged_records)
		fxt_error(f->path, "%" PRIu64 " damaged record%s, the first at byte %" PRIu64 ": %s%s%s",
			  r->damaged_records, r->damaged_records == 1 ? "" : "s", r->first_fault_offset,
			  fxt_fault_text[r->first_fault], *r->first_fault_detail ? ": " : "",
			  r->first_fault_detail);
	if (r->stop == FXT_STOP_SIZE_ZERO)
		fxt_error(f->path,
			  "record of size 0 at byte %" PRIu64 ": nothing after it can be read (%" PRIu64
			  " bytes)",
			  r->at, r->tail_bytes);
	else if (r->tail_bytes)
		fxt_error(f->path, "cut short: the record at byte %" PRIu64 " goes past the end of the file",
			  r->at);
	return r->damaged_records || r->tail_bytes;
}

int fxt_trace_show(const char *path, fxt_trace_print *print, void *context)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	int status;

	if (!fxt_trace_open(&file, path))
		return 1;
	fxt_reader_init(&r, file.data, file.size);
	print(&r, context);
	fxt_flush_stdout();
	status = ferror(stdout) ? 1 : fxt_trace_verdict(&file, &r);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return status;
}
