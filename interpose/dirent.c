/* Directories and trees of them: dirent.def, and the kind of result that only readdir has. */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>

#include "interpose.h"
#include "object.h"

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

/* ENTRY: a pointer; NULL is the end, or a failure. What errno was before tells one from the other only if it was 0: so it is, for
 * the time of the call, and has its value again afterwards unless the call failed. */
#define KEEP_ENTRY(type)        \
	int errno_before_ = errno; \
	type result_;           \
                                \
	errno = 0;              \
	result_ =
#define GIVE_ENTRY GIVE_PTR
#define FAILURE_ENTRY (!result_ && errno ? errno : (errno = errno_before_, 0))
#define RESULT_ENTRY RESULT_PTR

/* DIRECTORY: a DIR, with a descriptor of its own. */
#define KEEP_DIRECTORY(of) KEEP_PTR
#define FAILURE_DIRECTORY(of) FAILURE_PTR
#define RESULT_DIRECTORY(of) RESULT_PTR
#define GIVE_DIRECTORY(of)                                      \
	if (result_) {                                          \
		FXT_OPENED(dirfd(result_), directory, of);      \
		fxt_fd_buffered(thread_, dirfd(result_));       \
	}                                                       \
	return result_

#define CLOSES(type, symbol, ...) FXT_CLOSING(dirfd(dirp), type, symbol, __VA_ARGS__)

#define FXT_TABLE "dirent.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_dirent
#include "reals.inc"
