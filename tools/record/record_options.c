/* The options of fxt record. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "record.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/common/pack.h"
#include "tools/archive/archive_keep.h"
#include "tools/manager/budget.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/option_values.h"
#include "tools/programs/program.h"

enum {
	KEY_MAX_SIZE = 0x100,
	KEY_MEMORY,
	KEY_FOLLOW,
	KEY_ON_FULL,
	KEY_SIGNAL,
	KEY_DORMANT,
	KEY_TRIGGER,
	KEY_TRIGGER_KEEP,
	KEY_EXPLAIN,
	KEY_FILTER,
	KEY_PATCH,
	KEY_PLT,
	KEY_DEPTH,
	KEY_CALLERS,
	KEY_STACKS,
	KEY_DURATION,
	KEY_START_DELAY,
	KEY_TOGGLE,
	KEY_COMPRESS,
	KEY_CTF,
	KEY_SAMPLE,
	KEY_NO_KERNEL,
	KEY_NO_PERFETTO,
	KEY_BUDGET,
	KEY_KEEP_PID,
	KEY_DETACH,
	KEY_ROTATE,
	KEY_KEEP
};

/* Takes the number of a process. Returns NULL, or what is wrong with it. */
static char *set_pid(struct fxt_record_options *o, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*text < '1' || *text > '9' || *end || pid > INT_MAX)
		return fxt_format("'%s' is no number of a process", text);
	o->pid = (pid_t)pid;
	return NULL;
}

/* Takes what --keep-pid says. Returns NULL, or what is wrong with it. */
static char *set_keep(struct fxt_record_options *o, const char *text)
{
	if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return fxt_format("--keep-pid is yes or no, and not '%s'", text);
	o->keep = text && strcmp(text, "no") == 0 ? FXT_KEEP_NEVER : FXT_KEEP_ALWAYS;
	return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct fxt_record_options *o = state->input;
	char *bad = NULL;

	switch (key) {
	case 'o': o->out = arg; break;
	case 'a': o->agent = arg; break;
	case 'c': o->categories = arg; bad = fxt_option_bad_categories(arg); break;
	case 'm': o->mode = arg; bad = fxt_option_bad_mode(arg); break;
	case 'b':
		o->buffer_mb = arg;
		bad = fxt_option_bad_megabytes(arg, FXT_OPTION_MOST_BUFFER_MB);
		break;
	case KEY_MAX_SIZE:
		o->max_mb = arg;
		bad = fxt_option_bad_megabytes(arg, FXT_OPTION_MOST_MAX_MB);
		break;
	case KEY_MEMORY: bad = fxt_option_set_memory(&o->memory_bytes, arg); break;
	case 't': bad = fxt_option_set_thresholds(&o->threshold_ns, arg); break;
	case KEY_CALLERS: o->callers = arg; break;
	case KEY_FILTER: o->filter = arg; break;
	case KEY_PATCH: o->patch = arg; break;
	case KEY_PLT: o->plt = arg ? arg : "*"; break;
	case KEY_DEPTH: o->depth = arg; bad = fxt_option_bad_depth(arg); break;
	case KEY_EXPLAIN: bad = fxt_option_set_duration(&o->explain_ns, arg); break;
	case KEY_STACKS: o->stacks = arg; break;
	case KEY_DURATION: bad = fxt_option_set_period(&o->duration_ns, arg); break;
	case KEY_START_DELAY: bad = fxt_option_set_duration(&o->delay_ns, arg); break;
	case KEY_TOGGLE:
		o->is_toggled = true;
		if (!fxt_run_keep(arg))
			bad = fxt_format("'%s' is not accepted; give a signal that can be caught: USR1, "
					 "SIGUSR1 or 10",
					 arg);
		break;
	case KEY_FOLLOW: o->follow = arg; break;
	case KEY_ON_FULL: o->on_full = arg; bad = fxt_option_bad_on_full(arg); break;
	case KEY_SIGNAL: o->signal = arg; break;
	case KEY_DORMANT: o->start = "0"; break;
	case KEY_TRIGGER: o->trigger = arg; break;
	case KEY_TRIGGER_KEEP: o->trigger_keep = arg; break;
	case KEY_BUDGET: bad = fxt_budget_read(arg, &o->budget); break;
	case KEY_COMPRESS:
		o->compresses = true;
		bad = FXT_CAN_PACK ? NULL : fxt_strdup("--compress needs zstd, and fxt was built without it");
		break;
	case KEY_CTF: o->is_ctf = true; break;
	case 'p': bad = set_pid(o, arg); break;
	case KEY_KEEP_PID: bad = set_keep(o, arg); break;
	case KEY_ROTATE:
		bad = fxt_option_set_rotation(&o->rotate_bytes, &o->rotate_count, arg);
		if (!bad && o->rotate_count >= FXT_ARCHIVE_MOST_KEPT)
			bad = fxt_format("'%s' keeps too many: %d at most", arg,
					 FXT_ARCHIVE_MOST_KEPT - 1);
		o->rotate_bytes <<= 20;
		break;
	case KEY_KEEP: bad = fxt_option_set_age(&o->keep_ns, arg); break;
	case KEY_DETACH: o->is_detached = true; break;
	case KEY_SAMPLE:
		o->is_sampled = true;
		bad = fxt_option_set_hz(&o->hz, arg);
		break;
	case KEY_NO_KERNEL: o->lacks_kernel = true; break;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); break;
	case KEY_NO_PERFETTO: o->lacks_perfetto = true; break;
	case 'q': o->quiet = true; break;
	case 'j': o->json = true; break;
	case ARGP_KEY_ARGS:
		if (o->pid) {
			bad = fxt_strdup("--pid watches a process that runs already, and a command was given "
					 "too: give one of them");
			break;
		}
		o->command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (o->pid)
			return 0;
		bad = fxt_strdup("which command? fxt record [OPTION...] -- COMMAND [ARG...]");
		break;
	case ARGP_KEY_SUCCESS:
		if (!o->budget)
			bad = fxt_budget_of_environment(&o->budget);
		if (bad)
			break;
		bad = fxt_record_check_together(o);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (!bad)
		return 0;
	fxt_error(NULL, "%s%s", strncmp(bad, "--", 2) == 0 ? "" : fxt_option_prefix(key), bad);
	free(bad);
	exit(FXT_STATUS_FAILED);
}

void fxt_record_parse(struct fxt_record_options *o, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"output", 'o', "FILE", 0, "Where the trace goes (default: PROGRAM.PID.fxt)", 0},
		{"categories", 'c', "LIST", 0,
		 "What is recorded: names, PREFIX*, #default, -NAME; see fxt categories", 0},
		{"mode", 'm', "MODE", 0,
		 "oneshot (until full), circular (the newest is kept) or streaming (all; default)", 0},
		{"buffer-size", 'b', "MB", 0,
		 "Size of each process's buffer in oneshot and circular mode (default 64)", 0},
		{"compress", KEY_COMPRESS, 0, 0,
		 "Compress the trace with zstd when the command has ended; fxt reads it as it is", 0},
		{"ctf", KEY_CTF, 0, 0,
		 "Write the trace as a CTF directory, too, for babeltrace2 and Trace Compass: fxt convert",
		 0},
		{"max-size", KEY_MAX_SIZE, "MB", 0,
		 "How much is kept in streaming mode (default 1024): of a run that outgrows it, the "
		 "beginning (half) and the newest",
		 0},
		{"rotate", KEY_ROTATE, "SIZE,COUNT", 0,
		 "Keep the first SIZE megabytes of the run, and the newest COUNT times SIZE", 0},
		{"keep", KEY_KEEP, "TIME", 0,
		 "Keep the last TIME of the run, such as 10m, and what is in progress then", 0},
		{"memory", KEY_MEMORY, "SIZE", 0,
		 "How much memory the records of all processes take together until they are saved "
		 "(default: a sixteenth of what there is, 64M at most)", 0},
		{"threshold", 't', "TIME", 0,
		 "Leave out calls shorter than this: 500ns, 10us, 1ms; or by category: "
		 "io=1ms,function=10us", 0},
		{"filter", KEY_FILTER, "LIST", 0,
		 "Which instrumented functions are recorded: work*, !log_*, @lib.so*, main/ (with all that "
		 "it calls)", 0},
		{"patch", KEY_PATCH, "LIST", 0,
		 "Record functions compiled with -fpatchable-function-entry=5: work*, !log_*, @lib.so*", 0},
		{"plt", KEY_PLT, "LIST", OPTION_ARG_OPTIONAL,
		 "Record calls of library functions, too: all, or str*, @libz.so*; see --callers", 0},
		{"callers", KEY_CALLERS, "LIST", 0,
		 "Record only calls that code of these files makes: main (the program itself), lib.so*", 0},
		{"depth", KEY_DEPTH, "LEVELS", 0,
		 "Leave out instrumented functions that nest deeper than this", 0},
		{"explain", KEY_EXPLAIN, "TIME", 0,
		 "Calls that take this long say what they did with it (default 100us); 0: none does", 0},
		{"stacks", KEY_STACKS, "LIST", 0,
		 "Calls that have a call stack besides the rare ones: malloc,pthread>100us:16; or none", 0},
		{"follow", KEY_FOLLOW, "WHICH", 0,
		 "Which children are recorded: all (default), none, or names of programs with * ? [...]", 0},
		{"on-full", KEY_ON_FULL, "WHAT", 0,
		 "When the file system is full: drop (default), or wait for room", 0},
		{"signal", KEY_SIGNAL, "NAME", 0,
		 "The signal that saves a ring or oneshot buffer (default SIGUSR2), or none", 0},
		{"duration", KEY_DURATION, "TIME", 0,
		 "Record for this time only, and leave the trace then: 10s, 500ms. COMMAND goes on untraced",
		 0},
		{"start-delay", KEY_START_DELAY, "TIME", 0, "Record nothing before this time is over", 0},
		{"toggle", KEY_TOGGLE, "SIGNAL", 0,
		 "Record nothing before fxt record gets this signal, and leave the trace when it comes again",
		 0},
		{"budget", KEY_BUDGET, "PERCENT", 0,
		 "Give up categories of a program whose recording takes more than this of the rest of its "
		 "processor time: 2% (default: none)",
		 0},
		{"pid", 'p', "PID", 0,
		 "Watch a process that runs already, by samples and context switches alone, until it ends, "
		 "the --duration is over or a signal such as that of Ctrl-C comes",
		 0},
		{"sample", KEY_SAMPLE, "HZ", 0,
		 "How often the kernel takes samples of what programs run, in a second of processor time "
		 "(default 199); 0: none",
		 0},
		{"keep-pid", KEY_KEEP_PID, "no", OPTION_ARG_OPTIONAL,
		 "Execute COMMAND in the place of fxt record, with its process id, and record beside it; "
		 "services of systemd that need it have it by itself. no: never",
		 0},
		{"detach", KEY_DETACH, 0, 0,
		 "Leave the trace when COMMAND has ended, and let descendants that go on, such as a daemon, "
		 "go on untraced (default: they are recorded until they end, or until Ctrl-C)",
		 0},
		{"no-kernel", KEY_NO_KERNEL, 0, 0, "Take no samples, and no context switches either", 0},
		{"no-perfetto", KEY_NO_PERFETTO, 0, 0,
		 "Leave out the copy of samples and of the heap that Perfetto draws flame graphs of", 0},
		{"dormant", KEY_DORMANT, 0, 0, "Nothing is recorded before the signal comes", 0},
		{"trigger", KEY_TRIGGER, "LIST", 0,
		 "Saves the buffer when a call is slow or fails: 'read>10ms,open=ENOENT', "
		 "CALL:stop to end recording",
		 0},
		{"trigger-keep", KEY_TRIGGER_KEEP, "N", 0,
		 "How many snapshots by triggers are kept, the worst (default 4)", 0},
		{"agent", 'a', "FILE", 0, "The agent's library, when it is not beside fxt", 0},
		FXT_DEBUG_DIR_OPTION,
		{"quiet", 'q', 0, 0, "No summary, no messages of the agent", 0},
		{"json", 'j', 0, 0, "The summary as JSON, on standard error", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[--] COMMAND [ARG...]\n-p PID",
		.doc = "Run COMMAND with the agent preloaded, its children too, and leave one trace. The "
		       "exit status is COMMAND's; 125 when fxt itself failed, 126 when it cannot be run, "
		       "127 when there is none.",
	};

	/* Options are parsed in order, because all that follows COMMAND belongs to COMMAND. */
	argp_err_exit_status = FXT_STATUS_FAILED;
	fxt_parse(&argp, argc, argv, ARGP_IN_ORDER, o);
}

void fxt_record_options_free(struct fxt_record_options *o)
{
	free(o->threshold_ns);
	free(o->explain_ns);
	free(o->delay_ns);
	free(o->duration_ns);
	free(o->keep_ns);
	free(o->shared);
}
