/* Makes what the wrappers of <stdio.h> have in common. Their calls return -1 or NULL at the end of a file as
 * well as for a failure, and errno says something only in the second case: the stream knows which of them it
 * was.
 */
#ifndef FXT_STDIO_RESULTS_H
#define FXT_STDIO_RESULTS_H

#include "interpose.h"

/* More kinds of results:
 *	EOF_INT         an int or wint_t
 *	EOF_PTR         a pointer
 *	EOF_LONG        a ssize_t, where a failure need not mark the stream
 *	SHORT_UINT      a size_t; less than nmemb is an end or a failure
 *	WIDE_INT        a wint_t; WEOF is failure and nothing else
 * and the first two for functions that read stdin: STDIN_INT, STDIN_PTR. */


/* A call that refuses another argument, or has nothing to do, has not looked at the stream. So these look
 * whether there is one. (They are macros because stdio_scan.c has its own declarations.) */
#define CAN_BE_ASKED(stream) \
	(fxt_file_is_standard(stream) || fxt_readable(thread_, &(stream)->_flags, sizeof((stream)->_flags)))
#define HAS_FAILED(stream) (CAN_BE_ASKED(stream) && ferror_unlocked(stream))
#define IS_AT_END(stream) (CAN_BE_ASKED(stream) && feof_unlocked(stream))

#define FAILURE_EOF_INT ((int)result_ == -1 && HAS_FAILED(stream) ? errno : 0)
#define FAILURE_EOF_PTR (!result_ && HAS_FAILED(stream) ? errno : 0)
#define FAILURE_EOF_LONG (result_ == -1 && !IS_AT_END(stream) ? errno : 0)
#define FAILURE_STDIN_INT ((int)result_ == -1 && ferror_unlocked(stdin) ? errno : 0)
#define FAILURE_STDIN_PTR (!result_ && ferror_unlocked(stdin) ? errno : 0)
#define FAILURE_SHORT_UINT (result_ < nmemb && HAS_FAILED(stream) ? errno : 0)
#define FAILURE_WIDE_INT ((int)result_ == -1 ? errno : 0)

#define RESULT_EOF_INT RESULT_INT
#define RESULT_EOF_PTR RESULT_PTR
#define RESULT_EOF_LONG RESULT_LONG
#define RESULT_STDIN_INT RESULT_INT
#define RESULT_STDIN_PTR RESULT_PTR
#define RESULT_SHORT_UINT RESULT_PLAIN_UINT
#define RESULT_WIDE_INT RESULT_INT

/* BLOCKS(stdin) and BLOCKS(stdout) show a stream like any other. */
#define FXT_STR_stdin FXT_STR_stream
#define FXT_STR_stdout FXT_STR_stream

/* EMPTIES(stream) is BLOCKS(stream) of a call that writes the buffer out, and moves bytes only if there is
 * something in it. */
#define EMPTIES(stream) (empties(thread_, stream), SHOWS(stream))
static inline __attribute__((unused)) void empties(struct fxt_thread *thread, const FILE *stream)
{
	if (stream)
		fxt_name_file_flushes(thread, stream);
	if (!stream || stream->_IO_write_ptr > stream->_IO_write_base || stream->_mode > 0)
		fxt_file_moves(stream);
}

/* ALL_MOVE is QUICK of a call that writes out the buffers of all streams. */
#define ALL_MOVE (fxt_file_moves(NULL), NULL)

/* REFILLS(stream) and FLUSHES(stream) are BLOCKS(stream) of a call with a single character: it waits only if
 * the buffer does not serve it. */
#define REFILLS(stream) ((stream)->_IO_read_ptr < (stream)->_IO_read_end ? NULL : BLOCKS(stream))
#define FLUSHES(stream) ((stream)->_IO_write_ptr < (stream)->_IO_write_end ? NULL : BLOCKS(stream))

#endif
