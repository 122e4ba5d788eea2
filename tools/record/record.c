/* fxt record: the command. It runs a command and its children traced, and joins what they left into one
 * file. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "record.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "saver.h"
#include "shared_memory.h"
#include "tools/common/command.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/common/pack.h"
#include "tools/join/join.h"
#include "tools/manager/budget.h"
#include "tools/programs/agent_path.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/option_values.h"
#include "tools/programs/program.h"
#include "tools/witness/witness.h"

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
	KEY_SAMPLE,
	KEY_NO_KERNEL,
	KEY_NO_PERFETTO,
	KEY_BUDGET,
	KEY_KEEP_PID
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

/* Returns NULL, or which options do not go together. */
static char *check_together(const struct fxt_record_options *o)
{
	if (o->is_toggled && o->delay_ns)
		return fxt_strdup("--toggle and --start-delay both say when recording begins; give one of "
				  "them");
	if (o->compresses && o->out && !fxt_parts_is_for_file(o->out))
		return fxt_format("%s is a device, a pipe or a link: --compress needs a file", o->out);
	if (o->keep == FXT_KEEP_ALWAYS && o->is_toggled)
		return fxt_strdup("with --keep-pid all signals are COMMAND's: --toggle would get none");
	if (o->keep == FXT_KEEP_ALWAYS && fxt_init_adopts())
		return fxt_strdup("--keep-pid is not for the first process of a container, nor for one that "
				  "adopts orphans: what records would be a child of COMMAND");
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
	case 'b': o->buffer_mb = arg; bad = fxt_option_bad_megabytes(arg); break;
	case KEY_MAX_SIZE: o->max_mb = arg; bad = fxt_option_bad_megabytes(arg); break;
	case KEY_MEMORY: bad = fxt_option_set_memory(&o->memory_bytes, arg); break;
	case 't': bad = fxt_option_set_thresholds(&o->threshold_ns, arg); break;
	case KEY_CALLERS: o->callers = arg; break;
	case KEY_FILTER: o->filter = arg; break;
	case KEY_PATCH: o->patch = arg; break;
	case KEY_PLT: o->plt = arg ? arg : "*"; break;
	case KEY_DEPTH: o->depth = arg; bad = fxt_option_bad_depth(arg); break;
	case KEY_EXPLAIN: bad = fxt_option_set_duration(&o->explain_ns, arg); break;
	case KEY_STACKS: o->stacks = arg; break;
	case KEY_DURATION: bad = fxt_option_set_duration(&o->duration_ns, arg); break;
	case KEY_START_DELAY: bad = fxt_option_set_duration(&o->delay_ns, arg); break;
	case KEY_TOGGLE:
		o->is_toggled = true;
		if (!fxt_run_keep(arg))
			bad = fxt_format("'%s' is not accepted; give a signal that can be caught: USR1, "
					 "SIGUSR1 or 10",
					 arg);
		break;
	case KEY_FOLLOW: o->follow = arg; break;
	case KEY_ON_FULL: o->on_full = arg; break;
	case KEY_SIGNAL: o->signal = arg; break;
	case KEY_DORMANT: o->start = "0"; break;
	case KEY_TRIGGER: o->trigger = arg; break;
	case KEY_TRIGGER_KEEP: o->trigger_keep = arg; break;
	case KEY_BUDGET: bad = fxt_budget_read(arg, &o->budget); break;
	case KEY_COMPRESS:
		o->compresses = true;
		bad = FXT_CAN_PACK ? NULL : fxt_strdup("--compress needs zstd, and fxt was built without it");
		break;
	case 'p': bad = set_pid(o, arg); break;
	case KEY_KEEP_PID: bad = set_keep(o, arg); break;
	case KEY_SAMPLE: bad = fxt_option_set_hz(&o->hz, arg); break;
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
		bad = check_together(o);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (!bad)
		return 0;
	fxt_error(NULL, "%s", bad);
	free(bad);
	exit(FXT_STATUS_FAILED);
}

/* Returns PROGRAM.PID.fxt, which is the agent's own default too, or PROGRAM.PID.fxt.zst. */
static char *default_output(const struct fxt_record_options *o, pid_t pid)
{
	const char *slash = strrchr(o->command[0], '/');

	return fxt_format("%s.%d.fxt%s", slash ? slash + 1 : o->command[0], (int)pid,
			  o->compresses ? ".zst" : "");
}

/* Returns the exit status after a failure of fxt record itself, once the command has run. If the command
 * failed, its own status counts. */
static int failed(const struct fxt_run *run)
{
	return run->status ? run->status : FXT_STATUS_FAILED;
}

/* A run: the saver is there if it has a socket. */
struct recording {
	struct fxt_record_options *options;
	struct fxt_saver saver;
	struct fxt_witness witness;
	int refusal;                    /* the errno with which the kernel refused to be a witness; or 0 */
	struct fxt_merge merge;
	struct fxt_run run;
	struct fxt_kept kept;           /* the command is executed in fxt record's own place */
	pid_t stands_for;               /* the number of the process that fxt record began as */
	char *directory;
	uint64_t start_ns;              /* CLOCK_MONOTONIC: when it began */
	uint64_t started_ns;            /* CLOCK_REALTIME_COARSE: the same */
	bool is_followed;               /* the saver's archive can have parts appended */
	bool is_over;                   /* the command has ended */
	bool is_collected, has_failed;  /* the trace was made, or could not be made */
};

/* Joins what there is into one trace. Returns false after a message. */
static bool join(struct recording *r, struct fxt_parts *parts, const char *path)
{
	const struct fxt_ended ended = {r->run.pid, r->run.end_ns, r->run.status, r->run.signal};
	const struct fxt_ended *end = r->is_over && !r->run.is_untold ? &ended : NULL;
	const char *archive = r->saver.archive;
	bool joined;

	r->merge.frames.wish.made_since_ns = r->started_ns;
	if (r->is_followed) {
		if (fxt_join_archive(&r->merge, &r->saver.reader, archive, parts, path, end, &joined))
			return joined;
		fxt_merge_free(&r->merge);
		fxt_parts_add(parts, archive);
	}
	return fxt_join(&r->merge, parts, path, end, false);
}

/* Says what the trace lacks if the kernel has refused. */
static void say_refusal(const struct recording *r)
{
	char *why;

	if (!r->refusal || r->options->quiet)
		return;
	why = fxt_witness_refusal(r->refusal);
	fxt_error(NULL, "the trace has no samples and no context switches: %s", why);
	free(why);
}

/* Makes the trace. Returns false after a message. */
static bool collect(struct recording *r)
{
	struct fxt_record_options *o = r->options;
	struct fxt_parts parts;
	char *path = o->out ? fxt_strdup(o->out) : default_output(o, r->run.pid);
	const char *archive;            /* it is no part if the others are appended to it */
	bool ok = false;

	fxt_witness_end(&r->witness);
	say_refusal(r);
	/* An archive without programs is no trace. */
	if (r->saver.socket && !r->saver.manager.session.providers) {
		unlink(r->saver.archive);
		fxt_merge_free(&r->merge);
		r->is_followed = false;
	}
	archive = r->is_followed ? r->saver.archive : NULL;
	fxt_parts_find(&parts, r->directory, archive);
	if (parts.count == (r->witness.path != NULL) && !archive)
		fxt_record_nothing(o, &r->run, r->directory, r->witness.path);
	if (!parts.count && !archive) {
		ok = false;
	} else if (!join(r, &parts, path)) {
		fxt_record_not_joined(o, &r->merge, &r->run, r->directory);
	} else {
		fxt_untraced_finish(&r->merge.untraced);
		if (o->compresses)
			fxt_join_pack(path, &r->merge.packed_bytes);
		fxt_record_summary(o, &r->merge, &r->run, path);
		fxt_parts_move_snapshots(&parts, path);
		fxt_parts_remove(&parts, r->directory);
		ok = true;
	}
	fxt_merge_free(&r->merge);
	fxt_parts_free(&parts);
	free(path);
	return ok;
}

/* Saves while the command runs. If recording is over before, the trace is made at once, and the command
 * goes on untraced. */
static void save_meanwhile(void *context, pid_t pid)
{
	struct recording *r = context;

	if (fxt_saver_serve(&r->saver, pid))
		return;
	r->run.pid = pid;
	r->run.wall_ns = fxt_now_ns() - r->start_ns;
	r->is_followed = fxt_saver_finish(&r->saver, true);
	r->has_failed = !collect(r);
	r->is_collected = true;
	fxt_saver_serve(&r->saver, pid);
}

/* Asks the kernel to be a second witness. It is, if a manager saves what programs record: a ring has no room
 * for all that the kernel tells. */
static void begin_witness(struct recording *r)
{
	const struct fxt_record_options *o = r->options;
	const char *follow = o->follow ? o->follow : getenv("FXT_FOLLOW");
	char *path = fxt_format("%s/" FXT_PARTS_WITNESS, r->directory);
	struct fxt_witness_wish wish = {
		.hz = o->hz,
		.most_bytes = r->saver.most_bytes,
		.waits = r->saver.start_ns,
		.executor = r->kept.pid,
		.is_for_traced = follow && *follow && strcmp(follow, "all") != 0,
		.path = path,
	};

	r->refusal = fxt_witness_begin(&r->witness, &wish);
	r->saver.witness = &r->witness;
	free(path);
}

static int run(struct recording *r)
{
	bool is_saved = r->saver.socket;
	fxt_run_meanwhile *meanwhile = is_saved ? save_meanwhile : NULL;
	int status;

	if (is_saved && !r->options->lacks_kernel)
		begin_witness(r);
	r->start_ns = fxt_now_ns();
	r->started_ns = fxt_clock_ns(CLOCK_REALTIME_COARSE);
	if (r->kept.pid)
		status = fxt_keep_run(&r->kept, &r->run, meanwhile, r);
	else
		status = fxt_run(r->options->command, &r->run, r->stands_for, meanwhile, r);
	r->is_over = true;
	if (is_saved && !r->is_collected)
		r->is_followed = fxt_saver_finish(&r->saver, r->options->quiet);
	if (is_saved)
		fxt_saver_end(&r->saver);
	if (!status) {
		if (!r->is_collected)
			r->has_failed = !collect(r);
		status = r->has_failed ? failed(&r->run) : r->run.status;
	} else if (is_saved) {
		unlink(r->saver.archive);
		fxt_witness_end(&r->witness);
		if (r->witness.path)
			unlink(r->witness.path);
	}
	/* It stays if it has parts. */
	rmdir(r->directory);
	fxt_saver_free(&r->saver);
	free(r->witness.path);
	return status;
}

/* Says that there is no manager, which is what begins and ends recording, and keeps a budget. */
static void cannot_be_timed(const struct recording *r)
{
	fxt_error(NULL, "--duration, --start-delay, --toggle and --budget need streaming mode without "
			"--trigger, --dormant and --on-full=wait, no limit of the size of files, and room on "
			"the file system");
	rmdir(r->directory);
}

static int record(struct fxt_record_options *o)
{
	struct recording *r = fxt_alloc(1, sizeof(*r));
	char *agent = NULL, *sanitizer;
	int status = fxt_program_check(o->command, &sanitizer);

	if (status) {
		free(r);
		return status;
	}
	r->options = o;
	r->saver.merge = &r->merge;
	r->merge.lacks_perfetto = o->lacks_perfetto;
	agent = fxt_agent_path(o->agent);
	r->stands_for = getpid();
	if (agent && fxt_keep_wanted(o))
		fxt_keep_begin(&r->kept, o);
	else
		fxt_init();
	if (agent)
		r->directory = fxt_parts_directory(o->out ? o->out : "./x", o->quiet);
	if (r->directory) {
		fxt_shared_make(&o->shared);
		status = fxt_saver_begin(&r->saver, o, r->directory) ||
					 !(o->duration_ns || o->delay_ns || o->is_toggled || o->budget)
				 ? EXIT_SUCCESS
				 : FXT_STATUS_FAILED;
		fxt_record_environment(o, agent, r->directory, sanitizer, r->saver.socket);
		if (status)
			cannot_be_timed(r);
		else
			status = run(r);
	} else {
		status = FXT_STATUS_FAILED;
	}
	free(r->directory);
	free(agent);
	free(sanitizer);
	free(r);
	return status;
}

int fxt_command_record(int argc, char **argv)
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
		{"max-size", KEY_MAX_SIZE, "MB", 0,
		 "How much is recorded of each process in streaming mode (default 1024)", 0},
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
	struct fxt_record_options o = {.hz = FXT_WITNESS_USUAL_HZ};
	int status;

	/* Options are parsed in order, because all that follows COMMAND belongs to COMMAND. */
	argp_err_exit_status = FXT_STATUS_FAILED;
	fxt_parse(&argp, argc, argv, ARGP_IN_ORDER, &o);
	status = o.pid ? fxt_record_watch(&o) : record(&o);
	free(o.threshold_ns);
	free(o.explain_ns);
	free(o.delay_ns);
	free(o.duration_ns);
	free(o.shared);
	return status;
}
