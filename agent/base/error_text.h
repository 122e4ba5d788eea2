/* The texts of strerror() and psignal() in the C locale. Translated texts are not used, because finding them
 * takes a lock of the locale. Both functions may be called in any context. */
#ifndef FXT_ERROR_TEXT_H
#define FXT_ERROR_TEXT_H

enum { FXT_NUMBERED_BYTES = 64 };       /* the size of `room` */

/* These two return the text of an error or signal. If the C library has none, they make one with the number
 * in `room`. */
const char *fxt_error_text(int error, char *room);
const char *fxt_signal_text(int signum, char *room);

#endif
