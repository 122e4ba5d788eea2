/* See descriptor.h. The number itself is fxt_agent.buffer.fd, which extend_lock guards while it changes. */
#include "descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "writer/apart.h"

/* No process can have this number open, because the kernel's limit is lower. It is not -1, because some calls
 * give that a meaning of its own. */
enum { NEVER_OPEN = INT32_MAX };

int fxt_descriptor_hidden(int fd)
{
	return fxt_descriptor_is_ours(fd) || fxt_sample_has(fd) ? NEVER_OPEN : fd;
}

/* Moves the trace's descriptor from `fd` to a number above `above`, or else, if a lower one `is_as_good`, to
 * another high one; `fd` stays open. */
static void move(int fd, int above, bool is_as_good)
{
	uint64_t mask;
	int moved;

	/* Where no lock may be taken the file does not grow, and the number is not used again. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		fxt_agent.buffer.fd = -1;
		return;
	}
	/* The lock is held while the file grows, which uses the number. */
	mask = fxt_lock(&fxt_agent.buffer.extend_lock);
	moved = fxt_file_dup_high(fd, above);
	if (moved < 0 && is_as_good)
		moved = fxt_file_dup_high(fd, 0);
	/* If no number is free, the file is opened again by its path when it has to grow. */
	fxt_agent.buffer.fd = moved < 0 ? -1 : moved;
	fxt_agent.buffer.is_in_the_way = false;
	fxt_unlock(&fxt_agent.buffer.extend_lock, mask);
}

bool fxt_descriptor_yield(int fd)
{
	if (!fxt_descriptor_is_ours(fd) || (uint32_t)fxt_sys_getpid() != fxt_agent.pid)
		return false;
	/* The program chooses this number, and does not take numbers in turn. */
	move(fd, fd, true);
	return true;
}

void fxt_descriptor_clear(int fd)
{
	if (fxt_file_is_ours(&fxt_agent.buffer, fd))
		fxt_sys_close(fd);
}

void fxt_descriptor_vacate(int fd)
{
	fxt_sample_drop(fd);
	/* A process that is not allowed to close keeps the number. */
	if (!fxt_is_forbidden(FXT_NO_LOCKS) && fxt_descriptor_yield(fd))
		fxt_descriptor_clear(fd);
}

/* Closes the trace's descriptor. The file is opened again by its path when it has to grow, and a connection
 * is not needed for memory that is shared already. A file whose memory is private is written to all the time,
 * and keeps its descriptor. */
static bool give_up_trace(rlim_t limit)
{
	struct fxt_buffer *buffer = &fxt_agent.buffer;
	uint64_t mask = fxt_lock(&buffer->extend_lock);
	int fd = buffer->fd;
	bool given = fd >= 0 && (rlim_t)fd < limit && (buffer->managed || !buffer->in_memory) &&
		     fxt_file_is_ours(buffer, fd);

	if (given) {
		buffer->fd = -1;
		fxt_sys_close(fd);
	}
	fxt_unlock(&buffer->extend_lock, mask);
	return given;
}

/* Closes the descriptor of the counters, if it lies below the limit. */
static bool give_up_counters(rlim_t limit)
{
	int fd = atomic_load(&fxt_agent.statm_fd);

	if (fd < 0 || (rlim_t)fd >= limit || !fxt_sample_has(fd))
		return false;
	fxt_sample_drop(fd);
	return true;
}

/* Returns whether descriptors may be moved and given up here, and stores the program's limit. A process that
 * records nothing may share its parent's table, where it closes nothing. */
static bool may_move(rlim_t *limit)
{
	struct rlimit limits;

	if (atomic_load(&fxt_agent.state) != FXT_ON || fxt_is_forbidden(FXT_NO_LOCKS) ||
	    (uint32_t)fxt_sys_getpid() != fxt_agent.pid || fxt_sys_getrlimit(RLIMIT_NOFILE, &limits))
		return false;
	*limit = limits.rlim_cur;
	return true;
}

bool fxt_descriptor_give_up(void)
{
	rlim_t limit;

	if (errno != EMFILE || !may_move(&limit))
		return false;
	/* The program gets the lower number first. */
	if (fxt_agent.buffer.fd >= 0 && fxt_agent.buffer.fd < atomic_load(&fxt_agent.statm_fd) &&
	    give_up_trace(limit))
		return true;
	return give_up_counters(limit) || give_up_trace(limit);
}

void fxt_descriptor_part(void)
{
	rlim_t limit;

	if (!may_move(&limit) || fxt_is_filtered() || fxt_is_alone())
		return;
	give_up_counters(RLIM_INFINITY);
	give_up_trace(RLIM_INFINITY);
}

void fxt_descriptor_make_room(int number)
{
	const struct fxt_buffer *buffer = &fxt_agent.buffer;
	int counters = atomic_load(&fxt_agent.statm_fd), trace = buffer->fd;
	rlim_t limit;

	if (number < 0 || !may_move(&limit))
		return;
	/* What lies above the limit is in nobody's way. */
	if (fxt_descriptor_is_near(number, counters) && (rlim_t)counters < limit)
		fxt_sample_move(counters, number + FXT_DESCRIPTOR_ROOM);
	if (!fxt_descriptor_is_near(number, trace) || (rlim_t)trace >= limit ||
	    !fxt_descriptor_is_ours(trace))
		return;
	/* A file whose memory is private is written to all the time, and keeps its descriptor. */
	if (buffer->managed || !buffer->in_memory || (rlim_t)trace + 1 < limit) {
		move(trace, number + FXT_DESCRIPTOR_ROOM, false);
		fxt_descriptor_clear(trace);
	}
}

void fxt_descriptor_expect(size_t count)
{
	enum { MOST = 253 };            /* a message has so many: the kernel's SCM_MAX_FD */
	const int ours[] = {fxt_agent.statm_fd, fxt_agent.buffer.fd};
	struct stat status;
	unsigned i;

	if (count > MOST)
		count = MOST;
	if (fxt_is_forbidden(FXT_NO_FILE))
		return;
	/* The kernel gives the lowest numbers that are free. If the program has taken numbers in turn, it may
	 * get to ours only if the number that lies so far below ours is open. */
	for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (ours[i] > (int)count && !fxt_sys_fstat(ours[i] - (int)count - 1, &status))
			fxt_descriptor_make_room(ours[i] - 1);
}

static bool is_one_of_ours(const struct stat *status)
{
	return (status->st_dev == fxt_agent.buffer.device && status->st_ino == fxt_agent.buffer.inode) ||
	       fxt_sample_is_file(status);
}

/* Returns whether `name`, a number, is a link to one of our files, or a file of fdinfo whose number leads
 * to it in fd, the directory beside. This is a function of its own because its frame is larger than a short
 * stack has room for. */
static __attribute__((noinline)) bool leads_to_ours(int directory, const char *name)
{
	char beside[] = "../fd/2147483647";
	struct stat status;

	if (FXT_SYSCALL4(SYS_newfstatat, directory, name, &status, 0) ||
	    (!S_ISREG(status.st_mode) && !S_ISSOCK(status.st_mode)))
		return false;
	if (is_one_of_ours(&status))
		return true;
	if (strlen(name) >= sizeof("2147483647"))
		return false;
	memcpy(beside + strlen("../fd/"), name, strlen(name) + 1);
	return !FXT_SYSCALL4(SYS_newfstatat, directory, beside, &status, 0) && is_one_of_ours(&status);
}

bool fxt_descriptor_is_listed(int directory, const char *name)
{
	const char *digit;
	uint64_t number = 0;

	for (digit = name; *digit >= '0' && *digit <= '9' && number <= INT32_MAX; digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	return !*digit && digit > name && number <= INT32_MAX && fxt_descriptor_may_be_ours((int)number) &&
	       leads_to_ours(directory, name);
}

ssize_t fxt_descriptor_unlist(int directory, void *entries, ssize_t bytes)
{
	char *at = entries;
	ssize_t left = bytes, size;

	while (at < (char *)entries + left) {
		const struct dirent64 *entry = (const struct dirent64 *)at;

		size = entry->d_reclen;
		if (fxt_descriptor_is_listed(directory, entry->d_name)) {
			left -= size;
			memmove(at, at + size, (size_t)((char *)entries + left - at));
		} else {
			at += size;
		}
	}
	return left;
}
