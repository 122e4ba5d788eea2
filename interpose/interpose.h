/* How an interposed call is declared, and what becomes of the declaration.
 *
 * The tables are interpose/NAME.def. A line reads like the prototype:
 *
 *	CALL(io, ssize_t, read, BLOCKS(fd), LONG, (int, fd, INT), (void *, buf, SKIP), (size_t, count, UINT))
 *	ALIAS(io, ssize_t, __read_chk, read, BLOCKS(fd), LONG, ...)
 *	BY_HAND(io, open)       BY_HAND_ALIAS(io, open64, open)
 *	SYSTEM_CALL(io, int, rmdir, BLOCKS(pathname), INT, (const char *, pathname, TEXT))
 *	BY_NUMBER(io, ssize_t, pread64, pread, BLOCKS(fd), READ(fd), ...)
 *
 * category, type returned, function, whether it can block (in_progress.h), what its result is, parameters: type, name as in the
 * manual page, how it is recorded. An ALIAS appears in the trace under the plain name given after its own. BY_HAND lines
 * declare what is written out in NAME.c: variadic functions, those that do not return, the allocator.
 *
 * What is made by way of syscall() is recorded as well: by_number.h. A SYSTEM_CALL is a CALL, and the system call of that name has the
 * same parameters in the same order, perhaps with more behind them. BY_NUMBER is a system call that appears under the name of a
 * function with other parameters, given after its own, and BY_NUMBER_ALONE one that the C library has no function for.
 * BY_HAND_NUMBER(number) is one whose fxt_numbered_NUMBER() is written out, and EVENT(category, name) a name that only such have.
 *
 * Every table is included several times: for the call numbers (calls.h), their names (start.c), the wrappers and real pointers (NAME.c, by
 * wrappers.inc and reals.inc) and the list of exported symbols (tests/list_calls.c). How a row becomes a wrapper is told in engine.h.
 *
 * How a parameter is recorded:
 *	INT     int                             UINT    size_t, unsigned, mode_t, flags
 *	LONG    off_t, ssize_t                  PTR     a pointer's value
 *	TEXT    a C string, such as a path      SKIP    not at all
 *	LATER   a C string that the call may not have looked at though it found nothing wrong with it: another one failed before
 *	TIME    struct timespec, as nanoseconds         NONE    no parameters: (void, , NONE)
 *	ABSENT  not there, of a system call: 0
 *	TIMEVAL struct timeval, as nanoseconds          ADDR    a socket address: address.h
 *	MADE    a pointer to a number that the call puts there, unless it returns anything but 0
 *	USED NEW OLD WAITED     a pointer to an object that has a name; OPENS OPENS_FD OPENS_IT: object.h
 * What the result is:
 *	INT     an int; -1 is failure, with errno       PLAIN_INT       an int; never failure
 *	LONG    ssize_t, off_t; the same                PLAIN_UINT      size_t; never failure
 *	READ(fd)        LONG, bytes that were read through fd   READ_INTO(fd, buf, count)       as many as that at most, to buf
 *	WRITTEN(fd)     bytes that were written                 WRITTEN_FROM(fd, buf)           from buf
 *	MOVED(from, to) both
 *	UNSEEN_LONG(fd), UNSEEN_INT(fd) LONG and INT, of what moves bytes through fd and does not say how many
 *	FD(what, of)    INT, a new descriptor                   STREAM(what, of) PTR, a FILE of one: agent/fds.h
 *	PTR     a pointer; NULL is failure, with errno  PLAIN_PTR       a pointer; NULL says nothing of errno
 *	ERROR   an error number, 0 is success           VOID
 *	CLOSED  INT, of what closes a descriptor
 *	SAID(how, kind)         `kind`, of what may write to standard error: said.h
 * What a new descriptor is of: PATH(x), a parameter that is TEXT; NUMBER(x), one that is a number; PEER(x), an address: address.h; NOTHING.
 */
#ifndef FXT_INTERPOSE_H
#define FXT_INTERPOSE_H

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "agent/fds.h"
#include "agent/transfer.h"
#include "engine.h"
#include "fd_results.h"
#include "given.h"
#include "in_progress.h"
#include "parameters.h"
#include "quick.h"
#include "readable.h"
#include "results.h"

#include "by_number.h"

#endif
