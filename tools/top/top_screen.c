/* See top_screen.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "top_screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/manager/trace_session.h"

/* What a terminal does when it is told so (ECMA-48). */
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"

static void measure(struct fxt_top_screen *s)
{
	struct winsize size = {0};

	/* A terminal that does not know its size says that it is 0. */
	if (!s->is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	s->lines = size.ws_row;
	s->columns = size.ws_col;
}

void fxt_top_screen_begin(struct fxt_top_screen *s, bool is_batch)
{
	sigset_t set;

	*s = (struct fxt_top_screen){.is_terminal = !is_batch && isatty(STDOUT_FILENO)};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	measure(s);
}

/* Reads the signals that have come. Returns FXT_TOP_TIME if there are none. */
static enum fxt_top_event next_signal(struct fxt_top_screen *s)
{
	enum fxt_top_event event = FXT_TOP_TIME;
	struct signalfd_siginfo signal;

	while (event != FXT_TOP_QUIT && read(s->signals, &signal, sizeof(signal)) == sizeof(signal))
		event = signal.ssi_signo == SIGWINCH ? FXT_TOP_RESIZED : FXT_TOP_QUIT;
	if (event == FXT_TOP_RESIZED)
		measure(s);
	return event;
}

bool fxt_top_screen_is_ended(struct fxt_top_screen *s)
{
	return next_signal(s) == FXT_TOP_QUIT;
}

enum fxt_top_event fxt_top_screen_wait(struct fxt_top_screen *s, int fd, uint64_t until_ns)
{
	struct pollfd both[] = {{s->signals, POLLIN, 0}, {fd, POLLIN, 0}};
	uint64_t now_ns = fxt_now_ns();
	int wait_ms = !until_ns ? -1 : until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000 + 1) : 0;

	if (poll(both, 2, wait_ms) <= 0)
		return FXT_TOP_TIME;
	return both[0].revents ? next_signal(s) : FXT_TOP_MESSAGE;
}

/* Draws a text over the one before. The last line has no end, which would make the terminal scroll. */
static void redraw(const char *text)
{
	fputs(HIDE_CURSOR HOME, stdout);
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		fwrite(text, 1, (size_t)(end - text), stdout);
		fputs(end[1] ? CLEAR_LINE "\r\n" : CLEAR_LINE, stdout);
	}
	fputs(CLEAR_BELOW, stdout);
}

void fxt_top_screen_show(struct fxt_top_screen *s, const char *text)
{
	if (s->is_terminal)
		redraw(text);
	else
		printf("%s%s", s->is_begun ? "\n" : "", text);
	s->is_begun = true;
	fflush(stdout);
}

void fxt_top_screen_end(struct fxt_top_screen *s)
{
	if (s->is_terminal && s->is_begun)
		fputs("\r\n" SHOW_CURSOR, stdout);
	fflush(stdout);
	close(s->signals);
}
