/* What strerror() and psignal() say in the C locale; translations are behind the locale's lock. Any
 * context. */
#ifndef FXT_ERROR_TEXT_H
#define FXT_ERROR_TEXT_H

enum { FXT_NUMBERED_BYTES = 64 };

/* In `room`, of FXT_NUMBERED_BYTES, where there is no text of that number. */
const char *fxt_error_text(int error, char *room);
const char *fxt_signal_text(int signum, char *room);

#endif
