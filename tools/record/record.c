/* fxt record: the command. It runs a command and its children traced, and joins what they left into one
 * file. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "afterwards.h"
#include "init.h"
#include "saver.h"
#include "shared_memory.h"
#include "signals.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/convert/convert.h"
#include "tools/join/join.h"
#include "tools/programs/agent_path.h"
#include "tools/programs/program.h"
#include "tools/witness/witness.h"

/* A run without a manager makes a pipe, and joins one file after another. */
enum { DESCRIPTORS = 6 };

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
	char *directory, *agent;
	char *path;                     /* of the trace, when it was made */
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
	char *now;
	bool ok = false;

	fxt_witness_end(&r->witness);
	say_refusal(r);
	if (fxt_parts_are_gone(r->directory, &now)) {
		fxt_error(r->directory, "it was renamed or removed while the command ran");
		fxt_record_not_joined(o, &r->merge, &r->run, now);
		fxt_merge_free(&r->merge);
		free(now);
		free(path);
		return false;
	}
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
		free(r->path);
		r->path = path;
		path = NULL;
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
	r->is_followed = fxt_saver_finish(&r->saver);
	r->has_failed = !collect(r);
	r->is_collected = true;
	fxt_saver_serve(&r->saver, pid);
}

/* Records what descendants of the command do after it; `descendants` may be NULL. */
static void record_rest(void *context, struct fxt_descendants *descendants)
{
	struct recording *r = context;
	const struct fxt_afterwards afterwards = {r->options, r->agent, &r->saver, descendants};

	if (!r->is_collected)
		fxt_record_afterwards(&afterwards, &r->run);
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
		.keep = r->saver.kernel_keep,
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
	r->run.other = r->witness.pid;
	r->start_ns = fxt_now_ns();
	r->started_ns = fxt_clock_ns(CLOCK_REALTIME_COARSE);
	if (r->kept.pid)
		status = fxt_keep_run(&r->kept, &r->run, meanwhile, r);
	else
		status = fxt_run(r->options->command, &r->run, r->stands_for, meanwhile, record_rest, r);
	/* Without the descendants, programs that are about to end are waited for. */
	if (r->kept.pid && is_saved)
		record_rest(r, NULL);
	r->is_over = true;
	fxt_out_of_memory_status = failed(&r->run);
	if (is_saved && !r->is_collected)
		r->is_followed = fxt_saver_finish(&r->saver);
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
	fxt_error(NULL, "--duration, --start-delay, --toggle, --rotate, --keep and --budget need "
			"streaming mode without --trigger, --dormant and --on-full=wait, no limit of the "
			"size of files, a dozen descriptors (ulimit -n), and room on the file system");
	rmdir(r->directory);
}

/* Executes the command in this process, because no trace can be made. */
static int run_untraced(const struct fxt_record_options *o)
{
	fxt_error(NULL, "there is no trace, and the command runs untraced: %d more files may be open, and "
			"recording takes %d (ulimit -n)", fxt_run_descriptors(DESCRIPTORS), DESCRIPTORS);
	execvp(o->command[0], o->command);
	return fxt_run_refused(o->command[0], errno);
}

static int record(struct fxt_record_options *o)
{
	const struct fxt_conversion how = {.is_forced = true, .is_quiet = o->quiet || o->json};
	struct recording *r = fxt_alloc(1, sizeof(*r));
	char *sanitizer;
	int shared, status = fxt_program_check(o->command, &sanitizer);

	if (status) {
		free(r);
		return status;
	}
	r->options = o;
	r->saver.merge = &r->merge;
	r->merge.follows = fxt_record_wants_all(o) ? FXT_FOLLOWS_ALL : FXT_FOLLOWS_SOME;
	r->merge.lacks_perfetto = o->lacks_perfetto;
	r->agent = fxt_agent_path(o->agent);
	if (r->agent && !fxt_record_accepted(o, r->agent)) {
		free(r->agent);
		free(sanitizer);
		free(r);
		return FXT_STATUS_FAILED;
	}
	if (fxt_run_descriptors(DESCRIPTORS) < DESCRIPTORS)
		return run_untraced(o);
	r->stands_for = getpid();
	if (r->agent && fxt_keep_wanted(o))
		fxt_keep_begin(&r->kept, o);
	else
		fxt_init();
	fxt_signals_spare();
	if (r->agent)
		r->directory = fxt_parts_directory(o->out ? o->out : "./x", o->quiet);
	if (r->directory) {
		shared = fxt_shared_make(&o->shared);
		if (shared >= 0)
			fxt_shared_adopts(shared);
		status = fxt_saver_begin(&r->saver, o, r->directory, shared) ||
					 !(o->duration_ns || o->delay_ns || o->is_toggled || o->budget ||
					   o->rotate_bytes || o->keep_ns)
				 ? EXIT_SUCCESS
				 : FXT_STATUS_FAILED;
		fxt_record_environment(o, r->agent, r->directory, sanitizer, r->saver.socket,
				       r->saver.key);
		if (status)
			cannot_be_timed(r);
		else
			status = run(r);
	} else {
		status = FXT_STATUS_FAILED;
	}
	if (r->path && o->is_ctf && fxt_convert(r->path, fxt_export_form("ctf"), &how) != 0)
		status = failed(&r->run);
	free(r->path);
	free(r->directory);
	free(r->agent);
	free(r->run.left);
	free(sanitizer);
	free(r);
	return status;
}

int fxt_command_record(int argc, char **argv)
{
	struct fxt_record_options o = {.hz = FXT_WITNESS_USUAL_HZ};
	int status;

	fxt_out_of_memory_status = FXT_STATUS_FAILED;
	fxt_record_parse(&o, argc, argv);
	status = o.pid ? fxt_record_watch(&o) : record(&o);
	fxt_record_options_free(&o);
	return status;
}
