/* What a descriptor leads to: stat.def. Programs find out with fstat() which descriptors are open; the trace's is not, for them. */
#include <sys/stat.h>

#include "agent/descriptor.h"
#include "interpose.h"

static FXT_COLD int no_such_descriptor(void)
{
	errno = EBADF;
	return -1;
}

#define FSTAT(symbol, status)											\
	FXT_REAL(int, symbol, (int fd, struct status *statbuf), (fd, statbuf))					\
	static inline int guarded_##symbol(int fd, struct status *statbuf)					\
	{													\
		return fxt_descriptor_is_ours(fd) ? no_such_descriptor() : real_##symbol(fd, statbuf);		\
	}													\
	FXT_WRAP_AROUND(io, int, symbol, fstat, guarded_##symbol, BLOCKS(fd), INT, (int, fd, INT),		\
			(struct status *, statbuf, SKIP))

FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

/* What it is for programs linked with a C library before 2.33. */
#define FXSTAT(symbol, status)											\
	FXT_REAL(int, symbol, (int ver, int fd, struct status *statbuf), (ver, fd, statbuf))			\
	static inline int guarded_##symbol(int ver, int fd, struct status *statbuf)				\
	{													\
		return fxt_descriptor_is_ours(fd) ? no_such_descriptor() : real_##symbol(ver, fd, statbuf);	\
	}													\
	FXT_WRAP_AROUND(io, int, symbol, fstat, guarded_##symbol, BLOCKS(fd), INT, (int, ver, SKIP),		\
			(int, fd, INT), (struct status *, statbuf, SKIP))

FXSTAT(__fxstat, stat)
FXSTAT(__fxstat64, stat64)

#define FXT_NUMBER_fstat , FSTAT_BY_NUMBER
#define FSTAT_BY_NUMBER(...) FXT_APPLY(STATUS_BY_NUMBER, __VA_ARGS__)
#define STATUS_BY_NUMBER(fd) (fxt_descriptor_is_ours(fd) ? fxt_by_number_refuse(call_) : real_by_number())

#define FXT_TABLE "stat.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_stat
#include "reals.inc"
