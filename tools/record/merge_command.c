/* fxt merge: the command. It joins traces that fxt record could not join, or that were made without it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "joined_directory.h"
#include "record.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/common/pack.h"
#include "tools/import/import.h"
#include "tools/join/join.h"
#include "tools/manager/heir.h"
#include "tools/programs/debug_dirs.h"

enum { KEY_COMPRESS = 0x100, KEY_NO_PERFETTO };

struct merge_options {
	char *out;
	bool compresses, lacks_perfetto, quiet, json;
	char **from;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge_options *o = state->input;

	switch (key) {
	case 'o': o->out = arg; break;
	case KEY_COMPRESS:
		if (!FXT_CAN_PACK)
			argp_error(state, "--compress needs zstd, and fxt was built without it");
		o->compresses = true;
		break;
	case FXT_KEY_DEBUG_DIR: fxt_debug_dirs_add(arg); break;
	case KEY_NO_PERFETTO: o->lacks_perfetto = true; break;
	case 'q': o->quiet = true; break;
	case 'j': o->json = true; break;
	case ARGP_KEY_ARGS:
		o->from = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "nothing to join was given: name a DIRECTORY of traces, or FILEs");
		return EINVAL;
	case ARGP_KEY_SUCCESS:
		if (o->compresses && o->out && !fxt_parts_is_for_file(o->out))
			argp_error(state, "%s is a device, a pipe or a link: --compress needs a file",
				   o->out);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Finds the parts: the files that were given, and all traces in directories that were given. *made_here
 * becomes the directory if fxt record has made it. */
static bool find(struct merge_options *o, struct fxt_parts *parts, const char **made_here)
{
	for (char **from = o->from; *from; from++) {
		struct stat st;

		if (stat(*from, &st) != 0) {
			fxt_error(*from, "%s", strerror(errno));
			return false;
		}
		if (!S_ISDIR(st.st_mode)) {
			if (!fxt_parts_add(parts, *from))
				return false;
			continue;
		}
		if (parts->count || from[1]) {
			fxt_error(*from, "is a directory: give one directory alone, or only files");
			return false;
		}
		if (fxt_import_is(*from)) {
			fxt_error(*from,
				  "is a CTF trace, which is not merged: give FXT files, or one directory "
				  "that fxt record has left; fxt report and dump read CTF");
			return false;
		}
		fxt_heir_await(*from);
		if (fxt_parts_made_by_record(*from)) {
			if (!fxt_parts_lock(*from)) {
				fxt_error(*from, "its fxt record still runs, and will join it");
				return false;
			}
			*made_here = *from;
		}
		if (!fxt_parts_put_together(*from))
			return false;
		fxt_parts_find(parts, *from, NULL);
	}
	fxt_parts_sort(parts);
	if (parts->count == 0)
		fxt_error(*o->from, "there is no trace in this directory");
	return parts->count != 0;
}

/* Returns the name of the first part of a program; or that of the kernel's, if there is no other. */
static const char *first_name(const struct fxt_parts *parts)
{
	const char *name = NULL;

	for (size_t i = 0; i < parts->count && (!name || strcmp(name, FXT_PARTS_WITNESS) == 0); i++) {
		name = strrchr(parts->list[i].path, '/');
		name = name ? name + 1 : parts->list[i].path;
	}
	return name;
}

/* Returns the name that fxt record would use: that of the first process, beside the directory. Returns
 * NULL after a message if there is such a file, because it must not be overwritten. */
static char *default_output(const struct fxt_parts *parts, const char *made_here, bool compresses)
{
	const char *name = first_name(parts);
	size_t bytes = made_here ? strlen(made_here) : 0;
	char *path;

	if (!made_here) {
		fxt_error(NULL, "the joined trace needs a name: give one with -o FILE");
		return NULL;
	}
	while (bytes && made_here[bytes - 1] != '/')
		bytes--;
	path = fxt_format("%.*s%s%s", (int)bytes, made_here, name, compresses ? ".zst" : "");
	if (access(path, F_OK) != 0)
		return path;
	fxt_error(path, "exists already and is not overwritten: give another name with -o FILE");
	free(path);
	return NULL;
}

static bool merge(struct merge_options *o, struct fxt_parts *parts, const char *made_here)
{
	char *path = o->out ? fxt_strdup(o->out) : default_output(parts, made_here, o->compresses);
	struct fxt_merge m = {.lacks_perfetto = o->lacks_perfetto};
	bool ok = path && fxt_join(&m, parts, path, NULL, !made_here || o->out);

	if (ok && o->compresses)
		fxt_join_pack(path, &m.packed_bytes);
	if (ok && !o->quiet)
		fxt_merge_summary(&m, path, o->json);
	/* Only a directory that fxt record has made is removed, with its parts. */
	if (ok && made_here) {
		fxt_parts_move_snapshots(parts, path);
		fxt_parts_remove(parts, made_here);
	}
	fxt_merge_free(&m);
	free(path);
	return ok;
}

int fxt_command_merge(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"output", 'o', "FILE", 0,
		 "Where the trace goes (default for a directory of fxt record: PROGRAM.PID.fxt beside it)",
		 0},
		{"compress", KEY_COMPRESS, 0, 0, "Compress the trace with zstd; fxt reads it as it is", 0},
		FXT_DEBUG_DIR_OPTION,
		{"no-perfetto", KEY_NO_PERFETTO, 0, 0,
		 "Leave out the copy of samples and of the heap that Perfetto draws flame graphs of", 0},
		{"quiet", 'q', 0, 0, "No summary", 0},
		{"json", 'j', 0, 0, "The summary as JSON, on standard error", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "DIRECTORY|FILE...",
		.doc = "Join the parts that a killed fxt record has left, or traces that were made without "
		       "it, to one trace. The directory of fxt record is removed then; other files stay.",
	};
	struct merge_options o = {0};
	struct fxt_parts parts = {0};
	const char *made_here = NULL;
	bool ok;

	fxt_parse(&argp, argc, argv, 0, &o);
	for (char **from = o.from; *from; from++) {
		size_t bytes = strlen(*from);

		while (bytes > 1 && (*from)[bytes - 1] == '/')
			(*from)[--bytes] = '\0';
	}
	ok = find(&o, &parts, &made_here) && merge(&o, &parts, made_here);
	fxt_parts_free(&parts);
	return !ok;
}
