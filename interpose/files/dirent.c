/* Makes the wrappers of calls that read directories and trees of them: dirent.def. readdir(), getdents64()
 * and their kind are written by hand: if the program lists /proc/self/fd, they leave out the trace's
 * descriptor, which is not the program's. */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>

#include "agent/process/descriptor.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/object.h"

typedef DIR *directory;
typedef struct dirent *found;
typedef struct dirent64 *found64;
typedef int (*filter_fn)(const struct dirent *);
typedef int (*filter64_fn)(const struct dirent64 *);
typedef int (*compare_fn)(const struct dirent **, const struct dirent **);
typedef int (*compare64_fn)(const struct dirent64 **, const struct dirent64 **);
typedef FTS *tree;
typedef FTS64 *tree64;
typedef FTSENT *tree_entry;
typedef FTSENT64 *tree64_entry;
typedef char *const *argument_list;
typedef int (*fts_compare_fn)(const FTSENT **, const FTSENT **);
typedef int (*fts64_compare_fn)(const FTSENT64 **, const FTSENT64 **);

/* ENTRY: a pointer, of readdir() alone; NULL is the end, or a failure. errno tells one from the other only if
 * it was 0 before the call. So it is 0 for the time of the call, and gets its value back unless the call
 * failed. */
#define ENTER_ENTRY , int errno_before_ = errno; errno = 0;
#define FAILURE_ENTRY (!result_ && errno ? errno : (errno = errno_before_, 0))
#define RESULT_ENTRY RESULT_PTR

/* DIRECTORY: a pointer to a DIR, which has a descriptor of its own. */
#define FAILURE_DIRECTORY(of) FAILURE_PTR
#define RESULT_DIRECTORY(of) RESULT_PTR
#define CALLEE_DIRECTORY(of) , opening_
#define AROUND_DIRECTORY(of) , FXT_OPENS_POINTER
#define AFTER_DIRECTORY(of)					\
	, if (result_) {					\
		FXT_OPENED(dirfd(result_), directory, of);	\
		fxt_fd_buffered(thread_, dirfd(result_));	\
	}

#define CLOSES(type, symbol, ...) FXT_CLOSING(dirp ? dirfd(dirp) : -1, type, symbol, __VA_ARGS__)

/* Takes the trace's descriptor out of what was read. If nothing was, there may be no memory either. */
static ssize_t unlist(int fd, void *entries, ssize_t bytes)
{
	return bytes > 0 ? fxt_descriptor_unlist(fd, entries, bytes) : bytes;
}

/* Does for getdents64 by number what listing_getdents64() does: Python lists /proc/self/fd that way, and
 * closes what it finds there. */
static ssize_t list_by_number(struct fxt_by_number *call, int fd, void *entries)
{
	ssize_t bytes;

	do {
		bytes = fxt_by_number_make(call);
		call->result = unlist(fd, entries, bytes);
	} while (bytes > 0 && !call->result);
	return call->result;
}

#define FXT_NUMBER_getdents64 , LIST_BY_NUMBER
#define LIST_BY_NUMBER(...) FXT_APPLY(LIST_OF, __VA_ARGS__)
#define LIST_OF(fd, dirp, count) list_by_number(call_, fd, dirp)

#define FXT_TABLE "interpose/tables/dirent.def"
#include "interpose/engine/wrappers.inc"

#define READDIR(symbol, type)                                                                           \
	FXT_REAL(type, symbol, (DIR *dirp), (dirp))                                                     \
	static type listing_##symbol(DIR *dirp)                                                         \
	{                                                                                               \
		type entry;                                                                             \
													\
		do {                                                                                    \
			entry = real_##symbol(dirp);                                                    \
		} while (entry && fxt_descriptor_is_listed(dirfd(dirp), entry->d_name));                \
		return entry;                                                                           \
	}                                                                                               \
	FXT_WRAP_AROUND(io, type, symbol, readdir, listing_##symbol, BLOCKS(dirp), ENTRY, (DIR *, dirp, PTR))

READDIR(readdir, found)
READDIR(readdir64, found64)

#define READDIR_R(symbol, type)										\
	FXT_REAL(int, symbol, (DIR *dirp, type *entry, type **result), (dirp, entry, result))		\
	static int listing_##symbol(DIR *dirp, type *entry, type **result)				\
	{												\
		int error;										\
													\
		do {											\
			error = real_##symbol(dirp, entry, result);					\
		} while (!error && *result && fxt_descriptor_is_listed(dirfd(dirp), (*result)->d_name)); \
		return error;										\
	}												\
	FXT_WRAP_AROUND(io, int, symbol, readdir_r, listing_##symbol, BLOCKS(dirp), ERROR,		\
			(DIR *, dirp, PTR), (type *, entry, SKIP), (type **, result, SKIP))

READDIR_R(readdir_r, struct dirent)
READDIR_R(readdir64_r, struct dirent64)

FXT_REAL(ssize_t, getdents64, (int fd, void *dirp, size_t count), (fd, dirp, count))

/* Reads again if all that was read is left out, because 0 would say that the directory ends here. */
static ssize_t listing_getdents64(int fd, void *dirp, size_t count)
{
	ssize_t bytes, left;

	do {
		bytes = real_getdents64(fd, dirp, count);
		left = unlist(fd, dirp, bytes);
	} while (bytes > 0 && !left);
	return left;
}

FXT_WRAP_AROUND(io, ssize_t, getdents64, getdents64, listing_getdents64, BLOCKS(fd), LONG, (int, fd, INT),
		(void *, dirp, SKIP), (size_t, count, UINT))

#define GETDIRENTRIES(symbol, type)									\
	FXT_REAL(ssize_t, symbol, (int fd, char *buf, size_t nbytes, type *basep), (fd, buf, nbytes, basep)) \
	static ssize_t listing_##symbol(int fd, char *buf, size_t nbytes, type *basep)			\
	{												\
		ssize_t bytes, left;									\
													\
		do {											\
			bytes = real_##symbol(fd, buf, nbytes, basep);					\
			left = unlist(fd, buf, bytes);					\
		} while (bytes > 0 && !left);								\
		return left;										\
	}												\
	FXT_WRAP_AROUND(io, ssize_t, symbol, getdirentries, listing_##symbol, BLOCKS(fd), LONG,		\
			(int, fd, INT), (char *, buf, SKIP), (size_t, nbytes, UINT), (type *, basep, SKIP))

GETDIRENTRIES(getdirentries, off_t)
GETDIRENTRIES(getdirentries64, off64_t)

#define FXT_REALS fxt_reals_dirent
#include "interpose/engine/reals.inc"
