/* The text that the program has written: lines on standard error, and messages to syslog. Each becomes a
 * log record, and an instant with the text as argument `message`, because most viewers show no log records.
 *
 *	text = fxt_program_text_begin(thread);                  NULL: the text is dropped, and counted
 *	fxt_program_text_put(thread, text, bytes, count);       as often as there are bytes
 *	fxt_program_text_end(thread, text);
 *
 * A line is recorded when its end has come. The thread keeps a line that has no end yet: if two threads
 * write on one line of the terminal, that is two lines here, each of its own thread. Wrappers call this
 * after the real call, in any context. It leaves errno as it is.
 */
#ifndef FXT_PROGRAM_TEXT_H
#define FXT_PROGRAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/thread_parts.h"

struct fxt_thread;

/* Takes the thread's unfinished line, or in a handler that interrupts the work on it an empty text. */
struct fxt_program_text *fxt_program_text_begin(struct fxt_thread *thread);
/* Begins a message to syslog; `names` is as in an event's header. Returns an empty text, or NULL. */
struct fxt_program_text *fxt_program_text_begin_message(struct fxt_thread *thread, uint64_t names,
							int priority);
/* Adds bytes to the text. Lines that end among them are recorded. */
void fxt_program_text_put(struct fxt_thread *thread, struct fxt_program_text *text, const char *bytes,
			  size_t count);
/* Gives the text back. If it is a message or the text of a handler, it is recorded. */
void fxt_program_text_end(struct fxt_thread *thread, struct fxt_program_text *text);

/* Records the thread's unfinished line, because the thread or the process ends. */
void fxt_program_text_rest(struct fxt_thread *thread);
/* Drops the unfinished text, because the state now belongs to another thread. */
void fxt_program_text_forget(struct fxt_thread *thread);

#endif
