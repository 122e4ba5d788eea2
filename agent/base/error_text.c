/* See error_text.h. The wrappers of perror(), psignal() and their kind, and printf's %m, use these texts. */
#include "error_text.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "writer/decimal.h"

/* Makes a text of `what` and a number in `room`. */
static const char *numbered(char *room, const char *what, int number)
{
	char *at = stpcpy(stpcpy(room, what), number < 0 ? "-" : "");

	at[fxt_decimal(at, number < 0 ? -(uint64_t)number : (uint64_t)number)] = '\0';
	return room;
}

const char *fxt_error_text(int error, char *room)
{
	const char *text = strerrordesc_np(error);

	return text ? text : numbered(room, "Unknown error ", error);
}

const char *fxt_signal_text(int signum, char *room)
{
	const char *text = sigdescr_np(signum);

	return text ? text : numbered(room, "Unknown signal ", signum);
}
