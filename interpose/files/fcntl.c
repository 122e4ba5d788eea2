/* Makes the wrappers of calls that make descriptors from paths, ask about them or change them: fcntl.def. The
 * variadic functions are written by hand. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "interpose/engine/interpose.h"
#include "interpose/engine/stderr_text.h"

FXT_EXPORT int __open(const char *pathname, int flags, ...);
FXT_EXPORT int __open64(const char *pathname, int flags, ...);
FXT_EXPORT int __fcntl(int fd, int cmd, ...);

typedef char *char_pointer;


/* -- open -------------------------------------------------------------------------------------- */

/* Returns whether a mode was given: only these flags need one. */
static inline bool takes_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

/* MODE: a mode, which is recorded only if it was given. */
#define COUNT_MODE takes_mode(flags)
#define WORDS_MODE(name) 2
#define BEFORE_MODE(name)
#define MEASURE_MODE(name)
#define PUT_MODE(name)			\
	if (takes_mode(flags)) {	\
		PUT_UINT(name)		\
	}

#define COLLECT_MODE(mode)				\
	do {						\
		if (takes_mode(flags)) {		\
			va_list list;			\
							\
			va_start(list, flags);		\
			(mode) = va_arg(list, mode_t);	\
			va_end(list);			\
		}					\
	} while (0)

#define OPEN(symbol)											\
	FXT_REAL(int, symbol, (const char *pathname, int flags, mode_t mode), (pathname, flags, mode))	\
	FXT_OPENS_NUMBER(int, symbol, (const char *, pathname, TEXT), (int, flags, INT),		\
			 (mode_t, mode, MODE))								\
	FXT_TRACED(io, int, symbol, open, opening_##symbol, BLOCKS(pathname), FD(file, PATH(pathname)),	\
		   (const char *, pathname, TEXT), (int, flags, INT), (mode_t, mode, MODE))		\
	FXT_EXPORT int symbol(const char *pathname, int flags, ...)					\
	{												\
		mode_t mode = 0;									\
													\
		COLLECT_MODE(mode);									\
		return traced_##symbol(pathname, flags, mode);						\
	}

#define OPENAT(symbol)											\
	FXT_REAL(int, symbol, (int dirfd, const char *pathname, int flags, mode_t mode),		\
		 (dirfd, pathname, flags, mode))							\
	FXT_OPENS_NUMBER(int, symbol, (int, dirfd, INT), (const char *, pathname, TEXT),		\
			 (int, flags, INT), (mode_t, mode, MODE))					\
	FXT_TRACED(io, int, symbol, openat, opening_##symbol, BLOCKS(pathname), FD(file, PATH(pathname)),\
		   (int, dirfd, INT), (const char *, pathname, TEXT), (int, flags, INT),		\
		   (mode_t, mode, MODE))								\
	FXT_EXPORT int symbol(int dirfd, const char *pathname, int flags, ...)				\
	{												\
		mode_t mode = 0;									\
													\
		COLLECT_MODE(mode);									\
		return traced_##symbol(dirfd, pathname, flags, mode);					\
	}

OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)
OPENAT(openat)
OPENAT(openat64)

/* -- fcntl and ioctl: whatever follows is passed on as one pointer, as the C library does ----------- */

/* Returns whether the command's argument is a number. For other commands it is a pointer, or whatever the
 * register held. */
static inline bool takes_number(int cmd)
{
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETFD:
	case F_SETFL:
	case F_SETOWN:
	case F_SETSIG:
	case F_SETLEASE:
	case F_NOTIFY:
	case F_SETPIPE_SZ:
	case F_ADD_SEALS:
		return true;
	default:
		return false;
	}
}

#define COUNT_NUMBER takes_number(cmd)
#define WORDS_NUMBER(name) 2
#define BEFORE_NUMBER(name)
#define MEASURE_NUMBER(name)
#define PUT_NUMBER(name)	\
	if (takes_number(cmd))	\
		at_ = fxt_put_long(at_, FXT_STR_##name, (int)(uintptr_t)(name));

/* Gives up the stream of a pipe that gets O_DIRECT: it is a pipe of packets then, and bytes of a packet that
 * do not fit a read are lost. */
static inline void sets_flags(int fd, int flags)
{
	if (FXT_UNLIKELY(flags & O_DIRECT) && fxt_endpoint(fd))
		fxt_endpoint_unseen(fd);
}

/* Makes `call`, with what is done around it, and declares its result as `result`. */
#define FOLLOWED_FCNTL(call)									\
	int result;										\
												\
	if (cmd == F_SETFL)									\
		sets_flags(fd, (int)(uintptr_t)arg);						\
	/* The first number that may be given has to be free for the program. */		\
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)						\
		fxt_descriptor_came((int)(uintptr_t)arg - 1);					\
	result = call;										\
	if (result >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)) {			\
		fxt_descriptor_came(result);							\
		fxt_stderr_moves(fd, result);							\
		fxt_fd_duplicated(fd, result, FXT_NAMES(io, fcntl));				\
	}

#define FCNTL(symbol)										\
	FXT_REAL(int, symbol, (int fd, int cmd, void *arg), (fd, cmd, arg))			\
	static int followed_##symbol(int fd, int cmd, void *arg)				\
	{											\
		FOLLOWED_FCNTL(FXT_OPENING(-1, real_##symbol(fd, cmd, arg)))		\
		return result;									\
	}											\
	FXT_TRACED(io, int, symbol, fcntl, followed_##symbol, BLOCKS(fd), INT, (int, fd, INT),	\
		   (int, cmd, INT), (void *, arg, NUMBER))					\
	FXT_EXPORT int symbol(int fd, int cmd, ...)						\
	{											\
		va_list list;									\
		void *arg;									\
												\
		va_start(list, cmd);								\
		arg = va_arg(list, void *);							\
		va_end(list);									\
		return traced_##symbol(fd, cmd, arg);						\
	}

FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)

/* FIONBIO says by a number behind a pointer whether the descriptor may block. A call that succeeded has read
 * that number, so it can be read. The arguments of other requests are not recorded. */
#define COUNT_SWITCH 0
#define WORDS_SWITCH(name) 1
#define MEASURE_SWITCH(name)
#define PUT_SWITCH(name)                                                                \
	if (request == FIONBIO && !result_) {                                           \
		at_ = fxt_put_int(at_, FXT_STR_##name, *(const int *)(name));           \
		arguments_++;                                                           \
	}

FXT_REAL(int, ioctl, (int fd, unsigned long request, void *arg), (fd, request, arg))
FXT_TRACED(io, int, ioctl, ioctl, real_ioctl, BLOCKS(fd), INT, (int, fd, INT),
	   (unsigned long, request, UINT), (void *, arg, SWITCH))

FXT_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return traced_ioctl(fd, request, arg);
}

/* -- The table, and what is done by number -------------------------------------------------------- */

static int followed_by_number(struct fxt_by_number *call, int fd, int cmd, void *arg)
{
	FOLLOWED_FCNTL((int)fxt_by_number_make(call))
	return result;
}

#define FXT_NUMBER_fcntl , FCNTL_BY_NUMBER
#define FCNTL_BY_NUMBER(...) followed_by_number(call_, __VA_ARGS__)

#define FXT_TABLE "interpose/tables/fcntl.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_fcntl
#include "interpose/engine/reals.inc"
