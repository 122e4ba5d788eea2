/* Owns the descriptor and the names of the trace file, and appends pages to it. The other files of the
 * buffer call this, in any context. */
#include "buffer.h"

#include <errno.h>
#include <string.h>

#include "apart.h"
#include "decimal.h"

/* This holds a path that is being put together. It is not on the stack, because a signal handler may have
 * to make a file, and its stack may have 3632 bytes. Only one thread at a time makes and renames files: see
 * fxt_buffer_create(). */
static FXT_LARGE char scratch[FXT_PATH_BYTES];

enum {
	/* Programs close descriptors 3 to 255, or to 1023, in loops, and select() takes those below 1024. */
	HIGH_DESCRIPTOR = 1000,
	USUAL_LIMIT = 1024,             /* the program may raise a lower limit to this */
	/* A limit above this is not exceeded, because the kernel's table reaches to the highest descriptor,
	 * and a fork copies the table. */
	HIGHEST_DESCRIPTOR = 4096,
	/* the distance from a number that the program wants, because it may want the next ones too */
	HIGH_STEP = 1024,
	LOW_STEP = 16,                  /* a number that is no further below is wanted soon, too */
	LARGEST_RETRY = 999,
	WRITE_BYTES = 128 << 10,
};

/* Duplicates `fd` to a number that the program cannot have: above its limit, which is raised for that
 * moment. So a program that opens as many files as it may gets as many as without us. Returns a negative
 * errno if that is not possible. The thread must be alone: another thread could see the raised limit, and a
 * child that it forks would have it for good. */
static int dup_above_limit(int fd, const struct rlimit *limit)
{
	rlim_t least = limit->rlim_cur < USUAL_LIMIT ? USUAL_LIMIT : limit->rlim_cur;
	struct rlimit raised = {least + HIGH_STEP, limit->rlim_max};
	int copy;

	/* Only root may raise the hard limit. */
	if (raised.rlim_max < raised.rlim_cur)
		raised.rlim_max = raised.rlim_cur;
	if (fxt_sys_setrlimit(RLIMIT_NOFILE, &raised))
		return -EMFILE;
	copy = fxt_sys_dup_above(fd, (int)least);
	fxt_sys_setrlimit(RLIMIT_NOFILE, limit);
	return copy;
}

/* Duplicates `fd` to about the highest number that is free below `limit`, above `above`. The program gets
 * that number last. */
static int dup_below_limit(int fd, const struct rlimit *limit, int above)
{
	int64_t most = limit->rlim_cur < INT32_MAX ? (int64_t)limit->rlim_cur : INT32_MAX, distance;
	int copy = -EMFILE;

	for (distance = 1; copy < 0; distance *= 2) {
		if (most - distance <= above || most - distance < HIGH_DESCRIPTOR)
			break;
		copy = fxt_sys_dup_above(fd, (int)(most - distance));
	}
	return copy;
}

int fxt_file_dup_high(int fd, int above)
{
	int least = above < HIGH_DESCRIPTOR - LOW_STEP ? HIGH_DESCRIPTOR : above + HIGH_STEP, copy = -EMFILE;
	struct rlimit limit;

	if (fxt_sys_getrlimit(RLIMIT_NOFILE, &limit))
		return fxt_sys_dup_above(fd, least);
	if (limit.rlim_cur > HIGHEST_DESCRIPTOR)
		copy = fxt_sys_dup_above(fd, least);
	else if (fxt_is_alone())
		copy = dup_above_limit(fd, &limit);
	return copy < 0 ? dup_below_limit(fd, &limit, above) : copy;
}

int fxt_file_move_high(int fd)
{
	int high = fxt_file_dup_high(fd, fd);

	if (high < 0)
		return fd;
	fxt_sys_close(fd);
	return high;
}

void fxt_file_take(struct fxt_buffer *buffer, int fd)
{
	buffer->fd = fxt_file_move_high(fd);
	buffer->is_in_the_way = buffer->fd == fd || buffer->fd < HIGH_DESCRIPTOR;
}

void fxt_file_settle(struct fxt_buffer *buffer)
{
	if (buffer->fd < 0 || !buffer->is_in_the_way || buffer->managed)
		return;
	fxt_sys_close(buffer->fd);
	buffer->fd = -1;
	buffer->is_in_the_way = false;
}

bool fxt_file_is_ours(struct fxt_buffer *buffer, int fd)
{
	uint64_t least = fxt_buffer_file_bytes(buffer);
	struct stat status;

	/* We may not ask the kernel. Then only the program itself can have closed the descriptor, and it
	 * has not done so by way of a wrapper. */
	if (fxt_is_forbidden(FXT_NO_FILE))
		return fd >= 0 && fd == buffer->fd;
	if (fd < 0 || fxt_sys_fstat(fd, &status) || status.st_dev != buffer->device ||
	    status.st_ino != buffer->inode)
		return false;
	/* The size is compared once more, because room that is not needed may have been given up meanwhile.
	 */
	if ((uint64_t)status.st_size < least && (uint64_t)status.st_size < fxt_buffer_file_bytes(buffer))
		fxt_buffer_cut(buffer, (uint64_t)status.st_size);
	return true;
}

bool fxt_file_ready(struct fxt_buffer *buffer)
{
	int fd;

	if (fxt_file_is_ours(buffer, buffer->fd))
		return !fxt_buffer_is_cut(buffer);
	/* Another thread would see the file opened. */
	if (!buffer->is_apart && !fxt_opens_here())
		return false;
	fd = fxt_sys_open(buffer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (!fxt_file_is_ours(buffer, fd)) {
		if (fd >= 0)
			fxt_sys_close(fd);
		return false;
	}
	if (buffer->is_apart)
		buffer->fd = fd;
	else
		fxt_file_take(buffer, fd);
	return !fxt_buffer_is_cut(buffer);
}

struct growth {
	struct fxt_buffer *buffer;
	uint32_t to;
};

static long grow(void *argument)
{
	const struct growth *growth = argument;

	return fxt_buffer_grow(growth->buffer, growth->to);
}

int fxt_file_grow(struct fxt_buffer *buffer, uint32_t to)
{
	struct growth growth = {buffer, to};
	int error = fxt_buffer_grow(buffer, to);

	/* The file cannot be opened here, or the program has no number left; a task of its own has. */
	if (error != -EBADF)
		return error;
	buffer->is_apart = true;
	error = (int)fxt_apart_always(grow, &growth);
	buffer->is_apart = false;
	/* The descriptor was closed with the task's table. */
	buffer->fd = -1;
	return error;
}

/* Writes the name for an attempt: `path` itself, then name.1.fxt, name.2.fxt and so on. The caller has
 * checked the length. */
static void numbered_name(char *name, const char *path, unsigned attempt)
{
	size_t length = strlen(path), stem = length, at;

	if (length >= 4 && !memcmp(path + length - 4, ".fxt", 4))
		stem = length - 4;
	memcpy(name, path, stem);
	at = stem;
	if (attempt) {
		name[at++] = '.';
		at += fxt_decimal(name + at, attempt);
	}
	memcpy(name + at, path + stem, length - stem + 1);
}

/* Gives a file without a name one: by way of /proc, or where a chroot has none, by its descriptor, which
 * before Linux 6.10 takes a privilege. */
static int name_file(int fd, const char *name)
{
	char from[40] = "/proc/thread-self/fd/";
	size_t length = strlen(from);
	int error;

	from[length + fxt_decimal(from + length, (unsigned)fd)] = '\0';
	error = fxt_sys_link(from, name, AT_SYMLINK_FOLLOW);
	return error == -ENOENT ? fxt_sys_link_open(fd, name) : error;
}

/* Returns a descriptor of a new file without a name in the directory of `path`, or -EOPNOTSUPP if it could
 * not be given one later. */
static int open_nameless(const char *path)
{
	size_t length = strlen(path);
	int fd;

	while (length > 1 && path[length - 1] != '/')
		length--;
	memcpy(scratch, path, length);
	scratch[length] = '\0';
	fd = fxt_sys_open(scratch, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd == -EISDIR || fd == -EINVAL)
		return -EOPNOTSUPP;
	/* Only who could name the file is told that there is one of this name. */
	if (fd >= 0 && name_file(fd, "/") != -EEXIST) {
		fxt_sys_close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

int fxt_file_open(char *path, bool *nameless)
{
	char *const name = scratch;
	unsigned attempt;
	int fd;

	if (strlen(path) + 6 > sizeof(scratch))
		return -ENAMETOOLONG;
	*nameless = true;
	fd = open_nameless(path);
	if (fd != -EOPNOTSUPP)
		return fd;
	*nameless = false;
	for (attempt = 0; attempt <= LARGEST_RETRY; attempt++) {
		numbered_name(name, path, attempt);
		fd = fxt_sys_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd != -EEXIST)
			break;
	}
	if (fd >= 0)
		memcpy(path, name, strlen(name) + 1);
	return fd;
}

int fxt_file_publish(int fd, char *path)
{
	char *const name = scratch;
	unsigned attempt;
	int error = -EEXIST;

	for (attempt = 0; error == -EEXIST && attempt <= LARGEST_RETRY; attempt++) {
		numbered_name(name, path, attempt);
		error = name_file(fd, name);
	}
	if (!error)
		memcpy(path, name, strlen(name) + 1);
	return error;
}

static const char hidden_suffix[] = ".tmp";

static const char *hidden_name(const char *path)
{
	size_t length = strlen(path);

	memcpy(scratch, path, length);
	memcpy(scratch + length, hidden_suffix, sizeof(hidden_suffix));
	return scratch;
}

int fxt_file_open_hidden(const char *path, bool *nameless)
{
	int fd;

	if (strlen(path) + sizeof(hidden_suffix) > sizeof(scratch))
		return -ENAMETOOLONG;
	*nameless = true;
	fd = open_nameless(path);
	if (fd != -EOPNOTSUPP)
		return fd;
	*nameless = false;
	return fxt_sys_open(hidden_name(path), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int fxt_file_reveal(int fd, char *path, bool nameless)
{
	static FXT_LARGE char name[FXT_PATH_BYTES];
	unsigned attempt;
	int error = -EEXIST;

	if (nameless)
		return fxt_file_publish(fd, path);
	for (attempt = 0; error == -EEXIST && attempt <= LARGEST_RETRY; attempt++) {
		numbered_name(name, path, attempt);
		error = fxt_sys_link(hidden_name(path), name, 0);
	}
	if (error)
		return error;
	fxt_sys_unlink(hidden_name(path));
	memcpy(path, name, strlen(name) + 1);
	return 0;
}

int fxt_file_hide(int fd, const char *path, bool nameless, char *hidden)
{
	memcpy(hidden, hidden_name(path), strlen(path) + sizeof(hidden_suffix));
	return nameless ? name_file(fd, hidden) : 0;
}

void fxt_file_discard(const char *path, bool nameless)
{
	if (!nameless)
		fxt_sys_unlink(hidden_name(path));
}

/* These are the contents that the file grows by. Every page begins with a filler that spans it, so the file
 * is valid if it ends behind any page. Every other cache line begins with a filler for the rest of its
 * chunk (lane.h says why). */
#define HEAD(at) [(at)] = FXT_RECORD_METADATA | (FXT_CHUNK_WORDS - 1 - (at)) << 4 | FXT_METADATA_FILLER << 16
#define HEADS_8(at) HEAD((at) + 8), HEAD((at) + 16), HEAD((at) + 24), HEAD((at) + 32), HEAD((at) + 40), \
	HEAD((at) + 48), HEAD((at) + 56)
#define HEADS_64(at)                                                                             \
	HEADS_8(at), HEAD((at) + 64), HEADS_8((at) + 64), HEAD((at) + 128), HEADS_8((at) + 128), \
		HEAD((at) + 192), HEADS_8((at) + 192), HEAD((at) + 256), HEADS_8((at) + 256),    \
		HEAD((at) + 320), HEADS_8((at) + 320), HEAD((at) + 384), HEADS_8((at) + 384),    \
		HEAD((at) + 448), HEADS_8((at) + 448)
#define PAGE(number) \
	[(number) * FXT_PAGE_WORDS] = FXT_RECORD_METADATA | FXT_PAGE_WORDS << 4 | FXT_METADATA_FILLER << 16, \
	HEADS_64((number) * FXT_PAGE_WORDS)

const uint64_t fxt_file_fresh_chunk[FXT_CHUNK_WORDS] = {
	PAGE(0), PAGE(1), PAGE(2), PAGE(3), PAGE(4), PAGE(5), PAGE(6), PAGE(7),
	/* This filler of one word is the last one when the first filler spans the rest. */
	[FXT_CHUNK_WORDS - 1] = FXT_RECORD_METADATA | 1 << 4 | FXT_METADATA_FILLER << 16,
};

static_assert(sizeof(fxt_file_fresh_chunk) == 8 * sizeof(uint64_t) * FXT_PAGE_WORDS, "eight pages");

int fxt_file_append_pages(int fd, uint64_t offset, unsigned pages)
{
	struct iovec vector[WRITE_BYTES / FXT_CHUNK_BYTES];
	unsigned done = 0;

	while (done < pages) {
		unsigned n = 0, pieces = 0;
		uint64_t place = offset + (uint64_t)done * FXT_PAGE_BYTES;
		ssize_t written;

		for (; n < pages - done && pieces < sizeof(vector) / sizeof(*vector); pieces++) {
			unsigned piece =
				pages - done - n < FXT_CHUNK_PAGES ? pages - done - n : FXT_CHUNK_PAGES;

			vector[pieces] = (struct iovec){(void *)(uintptr_t)fxt_file_fresh_chunk,
							(size_t)piece * FXT_PAGE_BYTES};
			n += piece;
		}
		written = fxt_sys_pwritev(fd, vector, (int)pieces, (off_t)place);

		if (written == -EINTR)
			continue;
		if (written != (ssize_t)n * FXT_PAGE_BYTES) {
			/* Whole pages of fillers may stay in the file, but part of a page may not. */
			fxt_sys_ftruncate(fd, (off_t)offset);
			return written < 0 ? (int)written : -ENOSPC;
		}
		done += n;
	}
	return 0;
}
