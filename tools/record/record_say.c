/* Prints how fxt record or fxt merge went. It prints to standard error, because standard output is the
 * command's. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "record.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

/* A trace of this size is slow to open, and usually most of it is one category that nobody looked for. */
static const uint64_t LARGE_BYTES = 100 << 20;
/* A trace of this size is read in half a second, and who recorded it has waited enough. */
static const uint64_t MOST_READ_BYTES = 32 << 20;

static char *with(char *text, char *more)
{
	char *both = fxt_format("%s%s%s", text, *text ? ", " : "", more);

	free(text);
	free(more);
	return both;
}

/* Returns " in app 1234", or words for the process that lost most if there are several. The caller frees
 * it. */
static char *who_lost(const struct fxt_merge *m)
{
	char *worst, *who;

	if (!m->losers)
		return fxt_strdup("");
	worst = m->worst.pid == FXT_OTHERS_ID ? fxt_strdup(m->worst_name)
					      : fxt_format("%s %" PRIu64, m->worst_name, m->worst.pid);
	if (m->losers == 1)
		who = fxt_format(" in %s", worst);
	else
		who = fxt_format(" in %zu processes, most in %s", m->losers, worst);
	free(worst);
	return who;
}

/* Returns "nothing lost", or what was lost. What a ring overwrote is no loss, but is said too. The
 * caller frees it. */
static char *losses(const struct fxt_merge *m)
{
	uint64_t dropped = fxt_lost_dropped(m->lost), filtered = m->lost[FXT_LOSS_FILTERED];
	uint64_t overwritten = m->lost[FXT_LOSS_OVERWRITTEN];
	char *text = fxt_strdup("");

	if (dropped) {
		char *who = who_lost(m);

		text = with(text, fxt_format("%s record%s LOST%s%s%s%s", fxt_count(dropped).text,
					     dropped == 1 ? "" : "s", who, m->reason ? " (" : "",
					     m->reason ? m->reason : "", m->reason ? ")" : ""));
		free(who);
	} else if (m->buffer_full) {
		text = with(text, fxt_strdup("records LOST (a buffer was full)"));
	}
	if (m->kernel_lost)
		text = with(text, fxt_format("%s of the kernel's records LOST",
					     fxt_count(m->kernel_lost).text));
	if (m->lost[FXT_LOSS_BLOCKS])
		text = with(text, fxt_format("%s heap blocks and samples LOST",
					     fxt_count(m->lost[FXT_LOSS_BLOCKS]).text));
	if (m->lost[FXT_LOSS_STACKS])
		text = with(text, fxt_format("%s call stacks LOST",
					     fxt_count(m->lost[FXT_LOSS_STACKS]).text));
	if (overwritten)
		text = with(text, fxt_format("%s overwritten by the ring", fxt_count(overwritten).text));
	if (!*text)
		text = with(text, fxt_strdup("nothing lost"));
	if (m->room_waits)
		text = with(text, fxt_format("kept threads waiting for %s in %s",
					     fxt_duration(m->room_ns).text,
					     fxt_count(m->room_waits).text));
	if (filtered)
		text = with(text,
			   fxt_format("%s calls left out", fxt_count(filtered).text));
	if (m->given_up)
		text = with(text, fxt_format("for the budget %s categor%s given up",
					     fxt_count(m->given_up).text,
					     m->given_up == 1 ? "y was" : "ies were"));
	return text;
}

/* Returns the list of categories that were asked for, without the one that fills the trace. */
static char *thinner(const struct fxt_record_options *o, const char *category)
{
	const char *asked = o->categories ? o->categories : getenv("FXT_CATEGORIES");

	return fxt_format("%s,-%s", asked && *asked ? asked : "#default", category);
}

static void advise(const struct fxt_record_options *o, const struct fxt_merge *m)
{
	const struct fxt_merged_category *c = fxt_merge_largest(m);
	char *thin;

	if (m->bytes < LARGE_BYTES || !c)
		return;
	thin = thinner(o, c->name);
	fxt_error(NULL, "%.0f%% of it is category %s: FXT_CATEGORIES='%s' leaves it out, --threshold 10us "
		  "its short calls", 100.0 * (double)c->bytes / (double)m->bytes, c->name, thin);
	free(thin);
}

/* `run` is NULL for what fxt merge has joined. */
static void summary_json(const struct fxt_merge *m, const struct fxt_run *run, const char *path)
{
	struct fxt_json j = {.out = stderr, .one_line = true};

	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "schema", FXT_JSON_SCHEMA);
	fxt_json_string(&j, "file", path);
	if (run) {
		fxt_json_i64(&j, "status", run->status);
		fxt_json_u64(&j, "wall_ns", run->wall_ns);
	}
	fxt_json_u64(&j, "processes", m->processes);
	fxt_json_u64(&j, "recorded_nothing", m->silent);
	fxt_json_u64(&j, "threads", m->threads);
	fxt_json_u64(&j, "events", m->events);
	fxt_json_u64(&j, "bytes", m->bytes);
	if (m->packed_bytes)
		fxt_json_u64(&j, "compressed_bytes", m->packed_bytes);
	fxt_json_u64(&j, "dropped", fxt_lost_dropped(m->lost));
	fxt_json_u64(&j, "kernel_lost", m->kernel_lost);
	fxt_json_u64(&j, "room_waits", m->room_waits);
	fxt_json_u64(&j, "room_wait_ns", m->room_ns);
	fxt_json_u64(&j, "filtered", m->lost[FXT_LOSS_FILTERED]);
	fxt_json_u64(&j, "overwritten", m->lost[FXT_LOSS_OVERWRITTEN]);
	fxt_json_u64(&j, "blocks_not_kept", m->lost[FXT_LOSS_BLOCKS]);
	fxt_json_u64(&j, "stacks_not_kept", m->lost[FXT_LOSS_STACKS]);
	fxt_json_u64(&j, "unnamed", m->lost[FXT_LOSS_UNNAMED]);
	fxt_json_u64(&j, "given_up", m->given_up);
	fxt_json_array(&j, "untraced");
	for (size_t i = 0; i < m->untraced.count && m->follows == FXT_FOLLOWS_ALL; i++) {
		const struct fxt_execution *e = &m->untraced.list[i];

		fxt_json_object(&j, NULL);
		fxt_json_string(&j, "program", e->program);
		fxt_json_u64(&j, "processes", e->count);
		fxt_json_string(&j, "reason", fxt_untraced_reason(e));
		fxt_json_end(&j);
	}
	fxt_json_end(&j);
	fxt_json_array(&j, "not_seen");
	for (size_t i = 0; i < m->not_seen.count; i++) {
		const struct fxt_not_seen_thing *thing = &m->not_seen.list[i];

		fxt_json_object(&j, NULL);
		fxt_json_string(&j, "what", thing->what);
		fxt_json_u64(&j, "processes", thing->processes);
		fxt_json_u64(&j, "times", thing->times);
		fxt_json_end(&j);
	}
	fxt_json_end(&j);
	if (run)
		fxt_json_array(&j, "still_running");
	for (size_t i = 0; run && i < run->left_count; i++) {
		fxt_json_object(&j, NULL);
		fxt_json_i64(&j, "pid", run->left[i].pid);
		fxt_json_string(&j, "name", run->left[i].name);
		fxt_json_bool(&j, "was_recorded", run->left[i].has_agent);
		fxt_json_end(&j);
	}
	if (run)
		fxt_json_end(&j);
	fxt_json_object(&j, "categories");
	for (size_t i = 0; i < m->category_count; i++) {
		fxt_json_object(&j, m->categories[i].name);
		fxt_json_u64(&j, "events", m->categories[i].events);
		fxt_json_u64(&j, "bytes", m->categories[i].bytes);
		fxt_json_end(&j);
	}
	fxt_json_end(&j);
	fxt_json_end(&j);
}

static void say_damaged(const struct fxt_merge *m)
{
	if (m->damaged)
		fxt_error(NULL, "%" PRIu64 " damaged records were left out", m->damaged);
}

/* Says which descendants of the command go on. */
static void say_left(const struct fxt_run *run)
{
	enum { SHOWN = 5 };
	char *names = fxt_strdup("");

	for (size_t i = 0; i < run->left_count && i < SHOWN; i++)
		names = with(names, fxt_format("%s %d%s", run->left[i].name, (int)run->left[i].pid,
					       run->left[i].has_agent ? "" : " (untraced)"));
	if (run->left_count)
		fxt_error(NULL, "%zu process%s still run%s, and what %s from here on is not recorded: %s%s",
			  run->left_count, run->left_count == 1 ? "" : "es", run->left_count == 1 ? "s" : "",
			  run->left_count == 1 ? "it does" : "they do", names,
			  run->left_count > SHOWN ? ", ..." : "");
	free(names);
}

static void say(const struct fxt_merge *m, const char *duration, const char *path)
{
	char *lost = losses(m), *who = fxt_processes_in_words(m->processes, m->silent);

	fxt_error(NULL, "%s, %s thread%s, %s events%s%s, %s%s%s, %s -> %s", who, fxt_count(m->threads).text,
		  m->threads == 1 ? "" : "s", fxt_count(m->events).text, duration ? " in " : "",
		  duration ? duration : "", fxt_bytes(m->bytes).text,
		  m->packed_bytes ? " compressed to " : "",
		  m->packed_bytes ? fxt_bytes(m->packed_bytes).text : "", lost, path);
	free(who);
	free(lost);
}

bool fxt_record_wants_all(const struct fxt_record_options *o)
{
	const char *follow = o->follow ? o->follow : getenv("FXT_FOLLOW"),
		   *start = o->start ? o->start : getenv("FXT_START");

	return (!follow || !*follow || strcmp(follow, "all") == 0) && (!start || strcmp(start, "0") != 0);
}

/* Prints a line for each program that ran untraced, with the reason if it is known. */
static void say_untraced(const struct fxt_untraced *u)
{
	enum { SHOWN = 5 };

	for (size_t i = 0; i < u->count && i < SHOWN; i++) {
		const struct fxt_execution *e = &u->list[i];
		struct fxt_text text = fxt_text_of(e->program);
		char *program = fxt_printable(&text, 200, true), *who;

		who = e->count == 1 ? fxt_format("process %" PRIu64, e->pid)
				    : fxt_format("%" PRIu64 " processes", e->count);
		fxt_error(program, "%s ran it untraced: %s", who, fxt_untraced_reason(e));
		free(who);
		free(program);
	}
	if (u->count > SHOWN)
		fxt_error(NULL, "%zu more programs ran untraced", u->count - SHOWN);
}

/* Prints a line for each thing that agents say they did not see. */
static void say_not_seen(const struct fxt_not_seen *n)
{
	enum { SHOWN = 5 };

	for (size_t i = 0; i < n->count && i < SHOWN; i++) {
		char *where = fxt_not_seen_where(&n->list[i]);

		fxt_error(NULL, "not seen: %s%s", n->list[i].what, where);
		free(where);
	}
	if (n->count > SHOWN)
		fxt_error(NULL, "not seen: %zu more things", n->count - SHOWN);
}

char *(*fxt_record_first_finding)(const char *path, bool also_note);

/* Says what is wrong first of all. To find it, the trace is read by a child: if that takes more memory than
 * there is, or the trace is one that no reader expects, the recording has succeeded even so. */
static void say_first_finding(const struct fxt_record_options *o, const struct fxt_merge *m, const char *path)
{
	char text[512], *line;
	size_t bytes = 0;
	ssize_t got;
	int ends[2], nowhere;
	pid_t child;

	if (!fxt_record_first_finding || m->bytes > MOST_READ_BYTES || pipe2(ends, O_CLOEXEC) != 0)
		return;
	child = fork();
	if (child == 0) {
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
			/* Who watches a program wants to know what it does, also if that is no fault. */
			line = fxt_record_first_finding(path, o->pid);
		else
			line = NULL;
		got = line ? write(ends[1], line, strlen(line)) : 0;
		_exit(got < 0);
	}
	close(ends[1]);
	while (bytes < sizeof(text) - 1 &&
	       (got = read(ends[0], text + bytes, sizeof(text) - 1 - bytes)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		bytes += got > 0 ? (size_t)got : 0;
	}
	text[bytes] = '\0';
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (bytes)
		fxt_error(NULL, "%s", text);
}

void fxt_record_summary(const struct fxt_record_options *o, const struct fxt_merge *m,
			const struct fxt_run *run, const char *path)
{
	if (o->json) {
		summary_json(m, run, path);
		return;
	}
	say_damaged(m);
	if (o->quiet)
		return;
	if (fxt_record_wants_all(o))
		say_untraced(&m->untraced);
	say_not_seen(&m->not_seen);
	say_left(run);
	say(m, fxt_duration(run->wall_ns).text, path);
	advise(o, m);
	say_first_finding(o, m, path);
}

void fxt_record_not_joined(const struct fxt_record_options *o, const struct fxt_merge *m,
			   const struct fxt_run *run, const char *directory)
{
	struct fxt_json j = {.out = stderr, .one_line = true};
	uint64_t dropped = fxt_lost_dropped(m->lost);

	if (directory)
		fxt_error(NULL, "the parts of the trace are left in %s", directory);
	else
		fxt_error(NULL, "there is no trace");
	if (!o->json) {
		if (dropped && !o->quiet)
			fxt_error(NULL, "%s records LOST%s%s%s, at least", fxt_count(dropped).text,
				  m->reason ? " (" : "", m->reason ? m->reason : "", m->reason ? ")" : "");
		return;
	}
	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "schema", FXT_JSON_SCHEMA);
	fxt_json_null(&j, "file");
	fxt_json_string(&j, "parts", directory);
	fxt_json_i64(&j, "status", run->status);
	fxt_json_u64(&j, "wall_ns", run->wall_ns);
	/* The parts have not all been read, so there may be more. */
	fxt_json_u64(&j, "dropped_at_least", dropped);
	fxt_json_end(&j);
}

void fxt_merge_summary(const struct fxt_merge *m, const char *path, bool json)
{
	if (json) {
		summary_json(m, NULL, path);
		return;
	}
	say_damaged(m);
	say_not_seen(&m->not_seen);
	say(m, NULL, path);
}

/* Returns whether the directory has no file but `except`, which may be NULL. */
static bool is_empty(const char *directory, const char *except)
{
	const char *slash = except ? strrchr(except, '/') : NULL;
	DIR *d = opendir(directory);
	struct dirent *e;
	bool empty = true;

	while (d && (e = readdir(d)))
		empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
				  (slash && strcmp(e->d_name, slash + 1) == 0));
	if (d)
		closedir(d);
	return empty;
}

void fxt_record_nothing(const struct fxt_record_options *o, const struct fxt_run *run,
			const char *parts_directory, const char *witness)
{
	const char *why =
		"it made no traced call, took LD_PRELOAD out of its environment, or the agent said why above";
	struct statvfs fs;

	if (statvfs(parts_directory, &fs) == 0 && fs.f_bavail < (1 << 20) / fs.f_frsize)
		why = "the file system is full";
	else if (!is_empty(parts_directory, witness))
		why = "it left files that are no traces";
	else if (run->signal)
		why = "it was killed before it made a traced call";
	fxt_error(o->command[0], "left no trace%s: %s", witness ? " of its calls" : "", why);
}
