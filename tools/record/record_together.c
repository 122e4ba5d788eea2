/* Refuses options of fxt record that contradict each other, would have no effect beside each other, or cannot
 * be carried out, before anything runs. See record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"
#include "record.h"
#include "tools/common/message.h"
#include "tools/programs/triggered.h"

static const char *or_variable(const char *option, const char *variable)
{
	return option ? option : getenv(variable);
}

static bool is_streaming(const struct fxt_record_options *o)
{
	const char *mode = or_variable(o->mode, "FXT_BUFFERING_MODE");

	return !mode || !*mode || strcmp(mode, "streaming") == 0;
}

/* An option, and whether it was given. */
struct given {
	bool is_given;
	const char *option;
};

/* Returns the first option that was given, or NULL. */
static const char *first_given(const struct given *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].is_given)
			return list[i].option;
	}
	return NULL;
}

#define FIRST_GIVEN(list) first_given(list, sizeof(list) / sizeof(*(list)))

/* Returns what makes programs write files of their own, or NULL. Then nobody says when they record, and the
 * kernel is not asked. */
static const char *files_because(const struct fxt_record_options *o)
{
	const char *mode = or_variable(o->mode, "FXT_BUFFERING_MODE");
	const char *on_full = or_variable(o->on_full, "FXT_ON_FULL"), *start = getenv("FXT_START");
	const char *trigger = or_variable(o->trigger, "FXT_TRIGGER");
	const struct given list[] = {
		{mode && strcmp(mode, "circular") == 0, "--mode=circular"},
		{mode && strcmp(mode, "oneshot") == 0, "--mode=oneshot"},
		{trigger && *trigger, "--trigger"},
		{o->start || (start && strcmp(start, "0") == 0), "--dormant"},
		{on_full && strcmp(on_full, "wait") == 0, "--on-full=wait"},
	};

	return FIRST_GIVEN(list);
}

/* Returns the option that needs somebody beside the programs, who saves what they record; or NULL. */
static const char *needs_saver(const struct fxt_record_options *o)
{
	const struct given list[] = {
		{o->duration_ns, "--duration"},
		{o->delay_ns && strtoull(o->delay_ns, NULL, 10), "--start-delay"},
		{o->is_toggled, "--toggle"},
		{o->budget, "--budget"},
		{o->rotate_bytes, "--rotate"},
		{o->keep_ns, "--keep"},
		{o->memory_bytes, "--memory"},
		{o->is_sampled && o->hz, "--sample"},
	};

	return FIRST_GIVEN(list);
}

/* Returns the option that is about calls, which --pid does not see; or NULL. */
static const char *about_calls(const struct fxt_record_options *o)
{
	const struct given list[] = {
		{o->categories, "--categories"},
		{o->mode, "--mode"},
		{o->buffer_mb, "--buffer-size"},
		{o->threshold_ns, "--threshold"},
		{o->filter, "--filter"},
		{o->patch, "--patch"},
		{o->plt, "--plt"},
		{o->depth, "--depth"},
		{o->callers, "--callers"},
		{o->explain_ns, "--explain"},
		{o->stacks, "--stacks"},
		{o->budget, "--budget"},
		{o->follow, "--follow"},
		{o->on_full, "--on-full"},
		{o->signal, "--signal"},
		{o->start, "--dormant"},
		{o->trigger, "--trigger"},
		{o->trigger_keep, "--trigger-keep"},
		{o->lacks_kernel, "--no-kernel"},
		{o->is_detached, "--detach"},
		{o->keep == FXT_KEEP_ALWAYS, "--keep-pid"},
	};

	return FIRST_GIVEN(list);
}

/* Returns NULL, or why the trace cannot get the name that it is to have. */
static char *bad_output(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? fxt_format("%.*s", (int)(slash - path + 1), path) : fxt_strdup(".");
	struct stat st;
	char *bad = NULL;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		bad = fxt_format("%s is a directory: --output needs the name of a file", path);
	else if (slash && !slash[1])
		bad = fxt_format("%s ends in a slash: --output needs the name of a file", path);
	else if (stat(directory, &st) != 0)
		bad = fxt_format("--output=%s: %s: %s", path, directory, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		bad = fxt_format("--output=%s: %s: %s", path, directory, strerror(ENOTDIR));
	free(directory);
	return bad;
}

static char *check_modes(const struct fxt_record_options *o)
{
	const char *files = files_because(o), *saver = needs_saver(o);
	const char *trigger = or_variable(o->trigger, "FXT_TRIGGER");

	if (o->trigger && is_streaming(o) && fxt_triggered_saves(o->trigger))
		return fxt_format("--trigger=%s saves what a ring or a full buffer holds, and streaming mode "
				  "keeps everything: give -m circular too, or end the trigger with :stop",
				  o->trigger);
	if (o->trigger_keep && !(trigger && *trigger))
		return fxt_strdup("--trigger-keep says how many snapshots --trigger leaves: give that too");
	if (saver && files)
		return fxt_format("%s does not go with %s: every program writes a file of its own then",
				  saver, files);
	if (o->buffer_mb && is_streaming(o))
		return fxt_strdup(
			"--buffer-size is of circular and oneshot mode: give -m circular, or --memory "
			"or --max-size, which are of streaming mode");
	if (o->max_mb && !is_streaming(o))
		return fxt_format("--max-size is of streaming mode: give --buffer-size with --mode=%s",
				  or_variable(o->mode, "FXT_BUFFERING_MODE"));
	if (o->rotate_bytes && o->max_mb)
		return fxt_strdup("--rotate and --max-size both say how much is kept; give one of them");
	if (o->lacks_kernel && o->is_sampled && o->hz)
		return fxt_strdup("--no-kernel takes no samples, and --sample says how often; give one of "
				  "them");
	return NULL;
}

char *fxt_record_check_together(const struct fxt_record_options *o)
{
	const char *calls = o->pid ? about_calls(o) : NULL;
	char *bad = o->out ? bad_output(o->out) : NULL;

	if (bad)
		return bad;
	if (calls)
		return fxt_format("%s is about what fxt record runs, and --pid watches a process that runs "
				  "already",
				  calls);
	if (o->is_toggled && o->delay_ns)
		return fxt_strdup("--toggle and --start-delay both say when recording begins; give one of "
				  "them");
	if (o->compresses && o->out && !fxt_parts_is_for_file(o->out))
		return fxt_format("%s is a device, a pipe or a link: --compress needs a file", o->out);
	if (o->is_ctf && o->out && !fxt_parts_is_for_file(o->out))
		return fxt_format("%s is a device, a pipe or a link: --ctf needs a file", o->out);
	if (o->is_ctf && (o->rotate_bytes || o->pid))
		return fxt_strdup("--ctf goes with neither --rotate nor --pid: fxt convert --to=ctf makes a "
				  "directory of each trace");
	if (o->keep == FXT_KEEP_ALWAYS && o->is_toggled)
		return fxt_strdup("with --keep-pid all signals are COMMAND's: --toggle would get none");
	if (o->keep == FXT_KEEP_ALWAYS && fxt_init_adopts())
		return fxt_strdup("--keep-pid is not for the first process of a container, nor for one that "
				  "adopts orphans: what records would be a child of COMMAND");
	bad = o->trigger ? fxt_triggered_bad_names(o->trigger, o->command ? o->command[0] : NULL) : NULL;
	return bad ? bad : check_modes(o);
}
