/* The language of the tables, interpose/tables/NAME.def. A row reads like the prototype:
 *
 *	CALL(io, ssize_t, read, BLOCKS(fd), LONG, (int, fd, INT), (void *, buf, SKIP), (size_t, count, UINT))
 *	ALIAS(io, ssize_t, __read_chk, read, BLOCKS(fd), LONG, ...)
 *	SYSTEM_CALL(io, int, rmdir, BLOCKS(pathname), INT, (const char *, pathname, TEXT))
 *	BY_NUMBER(io, ssize_t, pread64, pread, BLOCKS(fd), READ(fd), ...)
 *	BY_HAND(io, open, FD(OPEN, ret))        BY_HAND_ALIAS(io, open64, open)
 *
 * Its words are the category, the type that is returned, the function, whether the call can block
 * (blocking.h), the kind of its result, and the parameters: each has a type, a name as in the manual page,
 * and the kind that says how it is recorded.
 *
 * A CALL is recorded under its own name; an ALIAS is recorded under the plain name that stands after its
 * own. BY_HAND says that the function is written out in NAME.c: variadic functions, those that do not
 * return, the allocator. What the call is for the reports follows from the row; a BY_HAND row says it, and
 * so does a line ROLE(call, role) beside a row from which it does not follow: roles.h.
 *
 * Calls that are made by way of syscall() are recorded as well: syscall.h. A SYSTEM_CALL is a CALL, and
 * the system call of that name has the same parameters in the same order, perhaps with more behind them.
 * BY_NUMBER is a system call that appears under the name of a function with other parameters, which stands
 * after its own, and BY_NUMBER_ALONE is one that the C library has no function for. BY_HAND_NUMBER(number)
 * says that fxt_numbered_NUMBER() is written out, and EVENT(category, name, role) declares a name that only
 * such have.
 *
 * Every table is included several times: for the call numbers (calls.h), their names (start.c), the wrappers
 * and real pointers (NAME.c, by wrappers.inc and reals.inc), the strings of the arguments
 * (argument_names.sh), the roles (tools/waits/call_roles.c), and the list of exported symbols
 * (tests/list_calls.c). engine.h tells how a row becomes a wrapper.
 *
 * The kind of a parameter says how it is recorded:
 *	INT     int                             UINT    size_t, unsigned, mode_t, flags
 *	LONG    off_t, ssize_t                  PTR     the value of a pointer
 *	TEXT    a C string, such as a path      SKIP    not at all
 *	LATER   a C string that a failed call may not have looked at, because it looks at another one first
 *	TIME    struct timespec, as nanoseconds         NONE    there are no parameters: (void, , NONE)
 *	TIMEVAL struct timeval, as nanoseconds          ADDR    a socket address: address.h
 *	MADE    a pointer to a number that the call stores if it returns 0
 *	ABSENT  the system call does not have this parameter of the function: 0
 *	USED NEW OLD WAITED OPENS OPENS_FD OPENS_IT     an object that has a name: object.h
 * The kind of a result says what the result is, and how a failure is known from it:
 *	INT     an int; -1 is failure, with errno       PLAIN_INT       an int; the call cannot fail
 *	LONG    ssize_t, off_t; -1 is failure           PLAIN_UINT      size_t; the call cannot fail
 *	PTR     a pointer; NULL is failure, with errno  PLAIN_PTR       a pointer; NULL says nothing of errno
 *	ERROR   an error number; 0 is success           VOID            nothing
 *	READ(fd)                a LONG: bytes that were read through fd
 *	READ_INTO(fd, buf, count)       the same: at most `count` bytes, to `buf`
 *	WRITTEN(fd)             a LONG: bytes that were written through fd
 *	WRITTEN_FROM(fd, buf)   the same, from `buf`
 *	MOVED(from, to)         a LONG: bytes that were read through one and written through the other
 *	UNSEEN_LONG(fd), UNSEEN_INT(fd)         the call moves bytes through fd and does not say how many
 *	FD(what, of)            an INT: a new descriptor, of the kind `what`
 *	STREAM(what, of)        a PTR: a FILE with a new descriptor
 *	CLOSED                  an INT, of a call that closes a descriptor
 *	TO_STDERR(how, kind)    `kind`, of a call that may write to standard error: stderr_text.h
 * A new descriptor is `of` PATH(x), a parameter that is TEXT; NUMBER(x), one that is a number; PEER(x), an
 * address; or NOTHING.
 */
#ifndef FXT_INTERPOSE_H
#define FXT_INTERPOSE_H

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "agent/descriptors/fds.h"
#include "agent/descriptors/name_file.h"
#include "agent/descriptors/transfer.h"
#include "blocking.h"
#include "engine.h"
#include "fd_results.h"
#include "given.h"
#include "parameters.h"
#include "quick.h"
#include "readable.h"
#include "results.h"

#include "syscall.h"

#endif
