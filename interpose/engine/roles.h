/* Gives each call its role, which is what the reports of fxt know about it. The role follows from the words
 * of its row. tools/waits/call_roles.c makes its table by these macros from every table.
 *
 * A role is one of
 *
 *	NONE                    the call runs as the program does
 *	IDLE                    the call waits for something outside, and is none of those below
 *	WAIT(argument)          the call waits until another thread lets it go on; the argument names for what
 *	HEAP(effect)            the call takes or gives memory
 *	FD(effect, argument)    the call does something to the descriptor or stream that the argument names:
 *	                        enum fxt_effect of tools/waits/call_roles.h
 *
 * A row that is written by hand says its role: BY_HAND(io, open, FD(OPEN, ret)). The role of any other row is
 * the first of these that there is:
 *
 *	ROLE(call, role)        a line beside the row, where the role does not follow from the row
 *	ROLE_FORM_x             for the word x in the place of BLOCKS(), where that word says all
 *	ROLE_OF_x               for the kind of result x
 *	ROLE_AT_x               for the word x in the place of BLOCKS(); IDLE for a word that has none
 */
#ifndef FXT_ROLES_H
#define FXT_ROLES_H

#define ROLE_FORM_REFILLS(stream) , FD(GET, stream)
#define ROLE_FORM_FLUSHES(stream) , FD(PUT, stream)
#define ROLE_FORM_LOCKS(try) , WAIT_FOR_FIRST
#define ROLE_FORM_LOCKS_UNTIL(taken) , WAIT_FOR_FIRST
#define ROLE_FORM_COND_WAITS , WAIT_FOR_FIRST
#define ROLE_FORM_SEM_WAITS , WAIT_FOR_FIRST
#define ROLE_FORM_SEM_WAITS_UNTIL , WAIT_FOR_FIRST
#define ROLE_FORM_SEM_WAITS_BY , WAIT_FOR_FIRST
#define ROLE_FORM_JOINS , WAIT_FOR_FIRST
#define ROLE_FORM_ARRIVES , WAIT_FOR_FIRST

/* Bytes */
#define ROLE_OF_READ(fd) , FD(READ, fd)
#define ROLE_OF_READ_INTO(fd, buf, count) , FD(READ, fd)
#define ROLE_OF_RECEIVED(fd) , FD(READ, fd)
#define ROLE_OF_RECEIVED_MESSAGE(fd, msg) , FD(READ, fd)
#define ROLE_OF_WRITTEN(fd) , FD(WRITE, fd)
#define ROLE_OF_WRITTEN_FROM(fd, buf) , FD(WRITE, fd)
#define ROLE_OF_SENT(fd) , FD(WRITE, fd)
#define ROLE_OF_SENT_TO(fd, address) , FD(WRITE, fd)
#define ROLE_OF_SENT_MESSAGE(fd, msg) , FD(WRITE, fd)
#define ROLE_OF_PRINTED(fd) , FD(WRITE, fd)
#define ROLE_OF_MOVED(from, to) , FD(COPY, from)
#define ROLE_OF_EVENTS_READ(fd, value) , FD(MOVE, fd)
#define ROLE_OF_EVENTS_WRITTEN(fd, value) , FD(MOVE, fd)

/* Streams */
#define ROLE_OF_EOF_INT , FD(READ_SOME, stream)
#define ROLE_OF_EOF_PTR , FD(READ_SOME, stream)
#define ROLE_OF_EOF_LONG , FD(READ, stream)
#define ROLE_OF_STDIN_INT , FD(READ_SOME, stdin)
#define ROLE_OF_STDIN_PTR , FD(READ_SOME, stdin)
#define ROLE_OF_SHORT_UINT , FD(READ_THINGS, stream)
#define ROLE_OF_WIDE_INT , FD(WRITE_SOME, stdout)

/* Calls that may write to standard error: the role follows from `how`, or else from `kind`. */
#define ROLE_OF_TO_STDERR(how, kind) , FXT_SECOND(ROLE_STDERR_##how, FXT_SECOND(ROLE_OF_##kind, IDLE, ), )
#define ROLE_STDERR_THINGS , FD(WRITE_THINGS, stream)
#define ROLE_STDERR_STRING , FD(WRITE_SOME, stream)
/* POSIX lets puts() return any number that is not negative; glibc returns the number of bytes. */
#define ROLE_STDERR_LINE , FD(WRITE, stdout)
#define ROLE_STDERR_OVERFLOW , FD(WRITE_SOME, stream)
#define ROLE_STDERR_FORMAT , FD(WRITE, stream)
#define ROLE_STDERR_FORMAT_OUT , FD(WRITE, stdout)
/* These return the number of wide characters, and not that of bytes. */
#define ROLE_STDERR_WIDE , FD(WRITE_SOME, stream)
#define ROLE_STDERR_WIDE_STRING , FD(WRITE_SOME, stream)
#define ROLE_STDERR_WIDE_OUT , FD(WRITE_SOME, stdout)
#define ROLE_STDERR_WARNING , FD(WRITE_SOME, stderr)
#define ROLE_STDERR_WARNING_ALONE , FD(WRITE_SOME, stderr)
#define ROLE_STDERR_OWN , FD(WRITE_SOME, stderr)

/* Descriptors and streams that are made or closed, or get another name */
#define ROLE_OF_FD(what, of) , FXT_SECOND(ROLE_FD_##what, FXT_SECOND(ROLE_FD_OF_##of, FD(SPECIAL, ret), ), )
#define ROLE_FD_socket , FD(SOCKET, ret)
#define ROLE_FD_connection , FD(ACCEPT, sockfd)
#define ROLE_FD_OF_PATH(path) , FD(OPEN, ret)
#define ROLE_OF_FD_UNLESS(fd, what, of) , FD(SPECIAL, ret)
#define ROLE_OF_FD_PAIR(pair, what, of) , FD(PAIR, fd1)
#define ROLE_OF_STREAM(what, of) , FD(OPEN_STREAM, ret)
#define ROLE_OF_REOPENED(what, of) , FD(OPEN_STREAM, ret)
#define ROLE_OF_STREAM_ON(fd) , FD(STREAM_OF, fd)
#define ROLE_OF_CONNECTS(fd) , FD(CONNECT, fd)
#define ROLE_OF_BINDS(fd, given) , FD(ADDRESS, fd)
#define ROLE_OF_LISTENS(fd) , FD(ADDRESS, fd)
#define ROLE_OF_CLOSED , CLOSES_FIRST

#define ROLE_OF_BLOCK(symbol) , HEAP(ALLOC)

#define ROLE_AT_QUICK , NONE
#define ROLE_AT_BLOCKS(x) , FXT_SECOND(ROLE_SHOWN_##x, IDLE, )
#define ROLE_AT_EMPTIES(stream) , FD(MOVE, stream)
#define ROLE_SHOWN_fd , FD(USE, fd)
#define ROLE_SHOWN_stream , FD(USE, stream)
#define ROLE_SHOWN_semid , WAIT(semid)
#define ROLE_AT_FORGETS , NONE
#define ROLE_AT_POSTS , NONE
#define ROLE_AT_SEM_TRIES , NONE
#define ROLE_AT_SENDS(to, process, thread) , NONE
#define ROLE_AT_SETS_PARTIES , NONE
#define ROLE_AT_TRIES , NONE
#define ROLE_AT_UNLOCKS , NONE
#define ROLE_AT_WAKES_ALL , NONE

/* The kind of object that a call waits for, by the name of the argument. */
#define WAITS_FOR_mutex mutex
#define WAITS_FOR_rwlock rwlock
#define WAITS_FOR_lock spinlock
#define WAITS_FOR_cond cond
#define WAITS_FOR_sem sem
#define WAITS_FOR_semid sem
#define WAITS_FOR_barrier barrier
#define WAITS_FOR_thread join
#define WAITS_FOR_thr join
#define WAITS_FOR_uaddr futex

#endif
