/* fxt top: the command. It shows every second what the programs of a running session do. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "top.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "tools/common/host_clock.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/manager/manager.h"
#include "tools/printing/print.h"
#include "tools/programs/option_values.h"
#include "top_print.h"
#include "top_screen.h"
#include "top_session.h"
#include "top_sums.h"

static const uint64_t SECOND_NS = 1000000000, LEAST_INTERVAL_NS = 100000000;

struct options {
	const char *session;            /* NULL: whatever there is */
	char *interval_ns;              /* digits; NULL: a second */
	uint64_t iterations;            /* 0: until the session ends */
	uint64_t lines;                 /* 0: as many as fit, or USUAL_LINES */
	bool is_batch, is_utc;
};

/* So many lines are printed where no terminal has a height. */
enum { USUAL_LINES = 20 };

struct top {
	const struct options *options;
	struct fxt_top_session session;
	struct fxt_top_screen screen;
	struct fxt_top_sums sums;
	uint64_t interval_ns;
	/* when this interval began, by CLOCK_MONOTONIC and in the time of the trace */
	uint64_t begin_ns, begin_trace_ns;
	uint64_t begin_bytes;           /* how long the trace was then */
	struct fxt_top_view view;       /* the last one, but for its room */
	char time[16];
};

/* Returns whether there is no process of this number. The trace has numbers as the process itself sees them,
 * and the provider's id is the number as the manager sees it, unless another program had that first. */
static bool is_gone(uint64_t pid, const struct fxt_provider *program)
{
	enum { MOST_PID = 1 << 22 };

	return pid && pid <= MOST_PID && kill((pid_t)pid, 0) != 0 && errno == ESRCH &&
	       (program->id > MOST_PID || (kill((pid_t)program->id, 0) != 0 && errno == ESRCH));
}

/* -- An interval ------------------------------------------------------------------------------- */

/* Reads what was saved. Returns false if a signal ends that. */
static bool read_on(struct top *t)
{
	enum { BETWEEN_LOOKS = 1 << 16 };       /* some ten milliseconds */
	struct fxt_record rec;

	for (unsigned i = 1; fxt_top_session_next(&t->session, &rec); i++) {
		fxt_top_take(&t->sums, &rec);
		if (i % BETWEEN_LOOKS)
			continue;
		fxt_top_session_drop(&t->session);
		if (fxt_top_screen_is_ended(&t->screen))
			return false;
	}
	fxt_top_session_drop(&t->session);
	return true;
}

/* Has the manager save the trace, and reads it. Returns false if a signal ends that. */
static bool catch_up(struct top *t)
{
	fxt_top_session_ask(&t->session);
	while (t->session.is_asked && !t->session.is_over) {
		enum fxt_top_event event = fxt_top_screen_wait(&t->screen, t->session.manager.fd, 0);

		if (event == FXT_TOP_QUIT)
			return false;
		if (event == FXT_TOP_MESSAGE)
			fxt_top_session_hear(&t->session);
	}
	return read_on(t);
}

static void show(struct top *t)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	t->view.lines = t->screen.lines;
	t->view.columns = t->screen.columns;
	t->view.processes = t->options->lines ? t->options->lines : t->screen.lines ? SIZE_MAX : USUAL_LINES;
	fxt_top_print(&t->sums, &t->view, out);
	fclose(out);
	fxt_top_screen_show(&t->screen, text);
	free(text);
}

/* Ends the interval at that time, and shows it. */
static void end_interval(struct top *t, uint64_t now_ns)
{
	time_t now = time(NULL);
	struct tm local;

	if (t->options->is_utc)
		strftime(t->time, sizeof(t->time), "%H:%M:%SZ", gmtime_r(&now, &local));
	else
		strftime(t->time, sizeof(t->time), "%H:%M:%S", localtime_r(&now, &local));
	t->view = (struct fxt_top_view){
		.time = t->time,
		.state = t->session.is_over ? "ENDED" : t->session.state,
		.elapsed_ns = now_ns - t->begin_ns,
		.bytes = t->session.bytes - t->begin_bytes,
		.dropped = t->session.dropped,
	};
	fxt_top_sort(&t->sums, is_gone);
	show(t);
}

/* Waits until the interval is over, or the session. Returns false if a signal ends that. */
static bool await_end(struct top *t)
{
	while (!t->session.is_over) {
		switch (fxt_top_screen_wait(&t->screen, t->session.manager.fd,
					    t->begin_ns + t->interval_ns)) {
		case FXT_TOP_TIME: return true;
		case FXT_TOP_QUIT: return false;
		case FXT_TOP_RESIZED:
			if (t->screen.is_begun)
				show(t);
			break;
		case FXT_TOP_MESSAGE: fxt_top_session_hear(&t->session); break;
		}
	}
	return true;
}

/* Reads what the trace has already, which tells names and what is held, and is no part of the first interval.
 * Returns false if a signal ends that. */
static bool begin(struct top *t)
{
	/* While a long trace is read it grows, and what it grows by would make the first interval long. */
	enum { ROUNDS = 4 };
	unsigned round = 0;

	do {
		t->begin_ns = fxt_now_ns();
		t->begin_trace_ns = fxt_host_now_ns();
		if (!catch_up(t))
			return false;
	} while (++round < ROUNDS && fxt_now_ns() - t->begin_ns > t->interval_ns / 2);
	t->begin_bytes = t->session.bytes;
	fxt_top_sort(&t->sums, is_gone);
	return true;
}

/* Watches until the session ends, or there were as many intervals as are wanted. */
static int watch(struct top *t)
{
	bool goes_on = begin(t);
	uint64_t shown = 0;

	while (goes_on && await_end(t)) {
		uint64_t now_ns = fxt_now_ns(), trace_ns = fxt_host_now_ns();

		fxt_top_next(&t->sums, t->begin_trace_ns);
		if (!catch_up(t))
			break;
		if (t->session.refusal) {
			fxt_error(t->session.socket, "the session cannot be watched any more: %s",
				  t->session.refusal);
			return EXIT_FAILURE;
		}
		end_interval(t, now_ns);
		t->begin_ns = now_ns;
		t->begin_trace_ns = trace_ns;
		t->begin_bytes = t->session.bytes;
		goes_on = !t->session.is_over && ++shown != t->options->iterations;
	}
	return EXIT_SUCCESS;
}

static int top(const struct options *o)
{
	struct top t = {.options = o};
	int status = EXIT_FAILURE;

	t.interval_ns = o->interval_ns ? strtoull(o->interval_ns, NULL, 10) : SECOND_NS;
	if (fxt_top_session_find(&t.session, o->session)) {
		fxt_top_begin(&t.sums, &t.session.reader);
		fxt_top_screen_begin(&t.screen, o->is_batch);
		status = watch(&t);
		fxt_top_screen_end(&t.screen);
		fxt_top_free(&t.sums);
	}
	fxt_top_session_free(&t.session);
	return status;
}

/* -- The command ------------------------------------------------------------------------------- */

static char *set_interval(struct options *o, const char *text)
{
	char *bad = fxt_option_set_duration(&o->interval_ns, text);

	if (bad || strtoull(o->interval_ns, NULL, 10) >= LEAST_INTERVAL_NS)
		return bad;
	return fxt_format("'%s' is too short: programs are looked at ten times a second at most, so give "
			  "100ms or more", text);
}

static char *set_count(uint64_t *count, const char *text)
{
	size_t digits = strspn(text, "0123456789");

	*count = digits && digits < 10 && !text[digits] ? strtoull(text, NULL, 10) : 0;
	return *count ? NULL : fxt_format("'%s' is no number: give a whole number from 1 to 999999999", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *bad = NULL;

	switch (key) {
	case 'd': bad = set_interval(o, arg); break;
	case 'n': bad = set_count(&o->iterations, arg); break;
	case 'l': bad = set_count(&o->lines, arg); break;
	case 'b': o->is_batch = true; break;
	case 'u': o->is_utc = true; break;
	case ARGP_KEY_ARG:
		if (o->session)
			argp_error(state, "more than one session was named, and fxt top watches one");
		o->session = arg;
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (bad)
		argp_error(state, "%s%s", fxt_option_prefix(key), bad);
	return 0;
}

int fxt_command_top(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"interval", 'd', "TIME", 0, "Show another state after this time: 2s, 500ms (default 1s)", 0},
		{"iterations", 'n', "COUNT", 0, "End after so many states (default: with the session)", 0},
		{"batch", 'b', 0, 0, "Print one state after the other, on a terminal too", 0},
		{"utc", 'u', 0, 0, "Times of day in UTC, with a Z behind them", 0},
		{"lines", 'l', "COUNT", 0,
		 "How many processes are shown (default: as many as fit on the terminal, or 20)", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE|DIRECTORY|SOCKET]",
		.doc = "Show what the programs of a running fxt record or fxt serve do, until that ends. "
		       "SOCKET is that of fxt serve, DIRECTORY the one in which fxt record has what it makes "
		       "a trace of (.fxt-parts.*), FILE a trace that one of them writes. Without an argument "
		       "the session of the usual socket is shown, or of the fxt record that was started in "
		       "this directory.",
	};
	struct options o = {0};
	int status;

	fxt_parse(&argp, argc, argv, 0, &o);
	status = top(&o);
	free(o.interval_ns);
	return status;
}
