/* fxt serve: the command. It traces whoever connects, into one file. manager.h has the loop. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manager.h"
#include "manager_commands.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/programs/agent_path.h"
#include "tools/programs/option_values.h"

enum {
	KEY_SOCKET = 0x100,
	KEY_DURATION,
	KEY_COMPRESS,
	KEY_ROTATE,
	KEY_WAIT,
	KEY_MAX_SIZE,
	KEY_MEMORY,
	KEY_ON_FULL,
	KEY_BUDGET,
};

struct options {
	char *out, *socket;             /* NULL: the default */
	const char *agent, *categories, *mode;
	char *duration_ns;              /* digits; NULL: until a signal comes */
	uint64_t buffer_mb, max_mb, rotate_mb, memory_bytes;
	unsigned rotate_count, budget;
	/* `waits`: for a controller; `programs_wait`: until there is room for what they record */
	bool quiet, compresses, waits, programs_wait;
};

static char *bad_categories(const char *list)
{
	if (strlen(list) > FXT_PROVIDER_MESSAGE_BYTES - sizeof(struct fxt_packet))
		return fxt_strdup("the list of categories is too long");
	return fxt_option_bad_categories(list);
}

static char *set_buffer(struct options *o, const char *text)
{
	/* A buffer that is shared has at most so much. */
	char *bad = fxt_option_bad_megabytes(text, 4096);

	o->buffer_mb = bad ? 0 : strtoull(text, NULL, 10);
	return bad;
}

static char *set_max(struct options *o, const char *text)
{
	char *bad = fxt_option_bad_megabytes(text, FXT_OPTION_MOST_MAX_MB);

	o->max_mb = bad ? 0 : strtoull(text, NULL, 10);
	return bad;
}

static char *set_on_full(struct options *o, const char *text)
{
	o->programs_wait = strcmp(text, "wait") == 0;
	return fxt_option_bad_on_full(text);
}

static enum fxt_buffering_mode mode_of(const char *name)
{
	if (name && strcmp(name, "oneshot") == 0)
		return FXT_BUFFERING_ONESHOT;
	return name && strcmp(name, "circular") == 0 ? FXT_BUFFERING_CIRCULAR : FXT_BUFFERING_STREAMING;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *bad = NULL;

	switch (key) {
	case 'o': o->out = arg; break;
	case 'a': o->agent = arg; break;
	case 'c': o->categories = arg; bad = bad_categories(arg); break;
	case 'm': o->mode = arg; bad = fxt_option_bad_mode(arg); break;
	case 'b': bad = set_buffer(o, arg); break;
	case KEY_SOCKET: o->socket = arg; break;
	case KEY_DURATION: bad = fxt_option_set_period(&o->duration_ns, arg); break;
	case KEY_COMPRESS:
		o->compresses = true;
		bad = FXT_CAN_PACK ? NULL : fxt_strdup("--compress needs zstd, and fxt was built without it");
		break;
	case KEY_WAIT: o->waits = true; break;
	case KEY_MAX_SIZE: bad = set_max(o, arg); break;
	case KEY_MEMORY: bad = fxt_option_set_memory(&o->memory_bytes, arg); break;
	case KEY_ON_FULL: bad = set_on_full(o, arg); break;
	case KEY_ROTATE: bad = fxt_option_set_rotation(&o->rotate_mb, &o->rotate_count, arg); break;
	case KEY_BUDGET: bad = fxt_budget_read(arg, &o->budget); break;
	case 'q': o->quiet = true; break;
	case ARGP_KEY_ARG:
		argp_error(state, "fxt serve takes no arguments; it traces whoever connects");
		break;
	case ARGP_KEY_END:
		if (!o->budget && !o->waits)
			bad = fxt_budget_of_environment(&o->budget);
		if (o->waits &&
		    (o->out || o->categories || o->mode || o->buffer_mb || o->max_mb || o->memory_bytes ||
		     o->programs_wait || o->compresses || o->rotate_mb || o->budget))
			argp_error(state, "with --wait, fxt ctl says what is recorded, how, and where to");
		if ((o->max_mb || o->programs_wait) && mode_of(o->mode) != FXT_BUFFERING_STREAMING)
			argp_error(state, "--max-size and --on-full are of streaming mode; in the others "
					  "--buffer-size is all that is kept");
		if (o->budget && mode_of(o->mode) != FXT_BUFFERING_STREAMING)
			argp_error(state, "--budget is of streaming mode, where the manager sees what is "
					  "recorded");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (bad)
		argp_error(state, "%s%s", fxt_option_prefix(key), bad);
	return 0;
}

static void say_how(const char *path, const char *agent)
{
	fprintf(stderr, "fxt: serving; trace a program with\n  FXT_MANAGER=%s LD_PRELOAD=%s PROGRAM\n", path,
		agent);
}

static void summarise(const struct fxt_manager *m)
{
	const struct fxt_archive *a = &m->session.archive;
	uint64_t lost = m->session.dropped + a->unwritten;
	uint32_t cut_off = m->session.cut_off;

	fprintf(stderr, "fxt: %" PRIu32 " program%s, %s events, %s, ", m->session.providers,
		m->session.providers == 1 ? "" : "s", fxt_count(a->events).text,
		fxt_bytes(a->earlier_bytes + a->bytes).text);
	if (lost)
		fprintf(stderr, "%s records LOST", fxt_count(lost).text);
	else if (!cut_off)
		fputs("nothing lost", stderr);
	if (cut_off)
		fprintf(stderr,
			"%sunknown what %" PRIu32 " program%s lost that broke the protocol, or ended before "
			"recording had begun",
			lost ? ", " : "", cut_off, cut_off == 1 ? "" : "s");
	if (m->session.overwritten)
		fprintf(stderr, ", %s overwritten by newer ones", fxt_count(m->session.overwritten).text);
	if (m->session.given_up)
		fprintf(stderr, ", for the budget %s categor%s given up", fxt_count(m->session.given_up).text,
			m->session.given_up == 1 ? "y was" : "ies were");
	if (a->damaged)
		fprintf(stderr, ", %s damaged pieces left out", fxt_count(a->damaged).text);
	if (m->refused)
		fprintf(stderr, ", %s connections refused", fxt_count(m->refused).text);
	fprintf(stderr, " -> %s\n", a->path);
}

/* Begins the session that the options describe, and starts it. Returns false after a message. */
static bool begin(struct fxt_session *session, const struct options *o, const char *out)
{
	struct fxt_trace_config config = {
		.mode = mode_of(o->mode),
		.buffer_bytes = (o->buffer_mb ? o->buffer_mb : 64) << 20,
		.memory_bytes = o->memory_bytes,
		.most_bytes = o->max_mb << 20,
		.waits = o->programs_wait,
		.budget = o->budget,
		.categories = fxt_strdup(o->categories ? o->categories : ""),
	};

	if (!fxt_archive_open(&session->archive, out, o->compresses)) {
		fxt_trace_config_free(&config);
		return false;
	}
	fxt_session_initialize(session, &config);
	fxt_session_start(session, FXT_CLEAR_ENTIRE, NULL);
	return true;
}

static int serve(const struct options *o, const char *agent, const char *socket, const char *out)
{
	struct fxt_manager m = {
		.session = {
			.state = FXT_SESSION_READY,
			.rotate_bytes = o->rotate_mb << 20,
			.rotate_count = o->rotate_count,
		},
	};

	/* A file that may not grow any more is one that cannot be written, and no reason to be killed. */
	signal(SIGXFSZ, SIG_IGN);
	if (!fxt_gates_make(&m.session.gates)) {
		fxt_error(NULL, "no memory to wake programs by: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	if (!fxt_manager_listen(&m, socket))
		return EXIT_FAILURE;
	if (!o->waits && !begin(&m.session, o, out)) {
		fxt_manager_unlisten(&m);
		return EXIT_FAILURE;
	}
	if (!o->quiet)
		say_how(socket, agent);
	fxt_manager_run(&m, o->duration_ns ? strtoull(o->duration_ns, NULL, 10) : 0);
	fxt_gates_free(&m.session.gates);
	if (!o->quiet && !o->waits)
		summarise(&m);
	return m.session.archive.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int fxt_command_serve(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"output", 'o', "FILE", 0, "Where the trace goes; it may not exist (default: serve.PID.fxt)",
		 0},
		{"categories", 'c', "LIST", 0,
		 "What is recorded: names, PREFIX*, #default, -NAME (default: what each program's "
		 "FXT_CATEGORIES says)",
		 0},
		{"mode", 'm', "MODE", 0,
		 "oneshot (until full), circular (the newest is kept) or streaming (all; default)", 0},
		{"buffer-size", 'b', "MB", 0, "Size of each program's buffer (default 64)", 0},
		{"memory", KEY_MEMORY, "SIZE", 0,
		 "How much memory the buffers of all programs take together (default: in streaming mode a "
		 "sixteenth of what there is, 64M at most; in the others a quarter)", 0},
		{"max-size", KEY_MAX_SIZE, "MB", 0,
		 "How much is saved of each program in streaming mode (default: all)", 0},
		{"on-full", KEY_ON_FULL, "WHAT", 0,
		 "What a program does when its buffer is not saved as fast as it records: drop (default), or "
		 "wait",
		 0},
		{"socket", KEY_SOCKET, "PATH", 0,
		 "Where programs connect (default: FXT_MANAGER, or fxt-manager in XDG_RUNTIME_DIR)", 0},
		{"duration", KEY_DURATION, "TIME", 0,
		 "End after this time: 10s, 500ms (default: at a signal)", 0},
		{"compress", KEY_COMPRESS, 0, 0, "Compress the trace with zstd; fxt reads it as it is", 0},
		{"rotate", KEY_ROTATE, "SIZE,COUNT", 0,
		 "Begin a new file after SIZE megabytes, and keep COUNT older ones (FILE with a number)", 0},
		{"budget", KEY_BUDGET, "PERCENT", 0,
		 "Give up categories of a program whose recording takes more than this of the rest of its "
		 "processor time: 2% (default: FXT_BUDGET, or none)",
		 0},
		{"wait", KEY_WAIT, 0, 0,
		 "Record nothing until fxt ctl begins a session, with options of its own", 0},
		{"agent", 'a', "FILE", 0, "The agent's library, when it is not beside fxt", 0},
		{"quiet", 'q', 0, 0, "No messages but errors", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Trace the programs that are started with FXT_MANAGER set to the socket of fxt serve "
		       "and the agent preloaded. Their records are saved into one file while they run, until "
		       "SIGINT, SIGTERM or SIGHUP ends the trace; the programs go on.",
	};
	struct options o = {0};
	char *agent, *socket, *out;
	int status = EXIT_FAILURE;

	fxt_parse(&argp, argc, argv, 0, &o);
	agent = fxt_agent_path(o.agent);
	socket = agent ? fxt_manager_path(o.socket) : NULL;
	out = o.out ? fxt_strdup(o.out)
		    : fxt_format("serve.%d.fxt%s", (int)getpid(), o.compresses ? ".zst" : "");
	if (socket)
		status = serve(&o, agent, socket, out);
	free(o.duration_ns);
	free(out);
	free(socket);
	free(agent);
	return status;
}
