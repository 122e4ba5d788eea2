/* Handles: short words for what rows of tables stand for, as "T4k2e". fxt report prints them before its rows,
 * and --explain and --around take them.
 *
 * A handle is made of what the thing is, and of nothing else: of a thread's numbers, of a lock's process and
 * address, of a file's or a function's name. So it is the same in every table and in JSON, whatever options
 * narrow the trace or sort and cut the tables. Two things may have one handle by chance: of 100 of a kind in
 * one trace of 200, of 1000 in two of five. Whoever asks for it is shown both.
 */
#ifndef FXT_TOOLS_HANDLE_H
#define FXT_TOOLS_HANDLE_H

#include "tools/reading/reader.h"

/* What a handle is of: its first letter. F is that of findings, which are numbered. */
enum fxt_handle_kind {
	FXT_HANDLE_THREAD = 'T',
	FXT_HANDLE_PROCESS = 'P',       /* or all processes that ran one program */
	FXT_HANDLE_LOCK = 'L',          /* or anything else that threads wait for, as a condition */
	FXT_HANDLE_FILE = 'D',          /* or a pipe, a socket, a peer: what descriptors stand for */
	FXT_HANDLE_FUNCTION = 'C',      /* of the program, or a call */
};

enum { FXT_HANDLE_COLUMNS = 5 };

struct fxt_handle {
	char text[FXT_HANDLE_COLUMNS + 1];
};

/* Returns the handle of a file or a function with this name; and "" where
 * there is no name (NULL). */
struct fxt_handle fxt_handle_of_name(enum fxt_handle_kind kind, const char *name);
struct fxt_handle fxt_handle_of_thread(const struct fxt_reader *r, uint32_t thread);
struct fxt_handle fxt_handle_of_process(const struct fxt_reader *r, uint64_t pid);
struct fxt_handle fxt_handle_of_lock(const struct fxt_reader *r, uint64_t pid, uint64_t object);
/* Returns the handle of all processes that ran a program of this name. */
struct fxt_handle fxt_handle_of_program(const struct fxt_text *name);
/* Returns the handle of all locks of a process that have one name. */
struct fxt_handle fxt_handle_of_locks(const struct fxt_reader *r, uint64_t pid, const char *name);

/* Returns whether somebody may have meant this as a handle: a letter of a kind, small or large, and other
 * letters or digits. */
bool fxt_may_be_handle(const char *text);
/* Returns whether a line begins with a handle and a space. */
bool fxt_is_handle(const char *line);

#endif
