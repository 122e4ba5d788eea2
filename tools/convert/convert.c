/* fxt convert: the command. It writes a trace in another form. See convert.h.
 *
 * A process of its own writes; the one that the user has started waits for it, and removes what there is if
 * that ends in any other way than well: with a message, by a signal, or for lack of memory. A form that is a
 * file is written into a directory too, and gets its name from there. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convert.h"
#include "output_directory.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/programs/debug_dirs.h"
#include "tools/programs/option_values.h"
#include "tools/reading/mapped_trace.h"

enum { KEY_TO = 0x100, KEY_FORCE, KEY_WEIGHT };

static const int handled[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
enum { HANDLED = sizeof(handled) / sizeof(handled[0]) };

static volatile sig_atomic_t writer;    /* the process; 0: there is none, or it has been waited for */
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	int error = errno;

	caught = number;
	if (writer > 0)
		kill(writer, SIGKILL);
	errno = error;
}

/* Says what is wrong with the trace, in one line. */
static void say_fault(const struct fxt_trace_file *f, const struct fxt_reader *r)
{
	if (r->damaged_records)
		fxt_error(f->path, "is damaged at byte %" PRIu64 " and is not converted: %s",
			  r->first_fault_offset, fxt_fault_text[r->first_fault]);
	else if (r->stop == FXT_STOP_SIZE_ZERO)
		fxt_error(f->path, "is damaged at byte %" PRIu64 " and is not converted: record of size 0",
			  r->at);
	else
		fxt_error(f->path,
			  "is cut short and is not converted: the record at byte %" PRIu64
			  " goes past the end of the file",
			  r->at);
}

/* What is converted to. */
struct conversion {
	const char *trace;              /* the name of what is converted */
	const char *out;                /* the name that the directory or the file gets */
	char *directory;                /* the name that it has until then; NULL: standard output */
	char *path;                     /* of the file in it, for forms that are files; else NULL */
	enum fxt_weight weight;
	bool is_forced, is_quiet;
	char note[256];                 /* what a user has to know of it; or empty */
};

/* Has the form write, into a stream if it is text. Returns NULL, or what went wrong. */
static char *write_form(struct fxt_export *export, const struct fxt_export_form *form)
{
	char *wrong;

	if (form->kind == FXT_EXPORT_TEXT) {
		export->out = export->path ? fopen(export->path, "wxe") : stdout;
		if (!export->out)
			return fxt_strdup(strerror(errno));
	}
	wrong = form->write(export);
	if (!export->is_quiet)
		fprintf(stderr, "\r%20s\r", "");
	/* What standard output could not take is told at the exit. */
	if (export->path && export->out) {
		bool ok = fflush(export->out) == 0 && !ferror(export->out);

		if ((fclose(export->out) != 0 || !ok) && !wrong)
			wrong = fxt_strdup(strerror(errno));
	}
	return wrong;
}

/* Writes the trace into the directory, and a note about it to a pipe. Returns the exit status, after a
 * message if it is not 0. */
static int write_trace(const struct fxt_trace_file *file, const struct fxt_export_form *form,
		       const struct conversion *to, int note)
{
	struct fxt_reader r;
	struct fxt_export export = {
		.reader = &r,
		.trace = to->trace,
		.directory = to->directory,
		.path = to->path,
		.weight = to->weight,
		.is_quiet = to->is_quiet || !isatty(STDERR_FILENO),
	};
	char *wrong;

	fxt_reader_init(&r, file->data, file->size);
	wrong = write_form(&export, form);
	if (wrong && (r.damaged_records || r.tail_bytes))
		say_fault(file, &r);
	else if (wrong)
		fxt_error(to->out, "%s", wrong);
	fxt_reader_free(&r);
	if (export.note)
		dprintf(note, "%s", export.note);
	free(export.note);
	if (!wrong)
		return EXIT_SUCCESS;
	free(wrong);
	return EXIT_FAILURE;
}

/* Waits for the process that writes, and reads its note. Returns its exit status. */
static int await(pid_t pid, int note, struct conversion *to)
{
	size_t used = 0;
	ssize_t n;
	int status;

	while ((n = read(note, to->note + used, sizeof(to->note) - 1 - used)) > 0 ||
	       (n < 0 && errno == EINTR))
		used += n > 0 ? (size_t)n : 0;

	/* Its number is its own as long as it has not been waited for. */
	while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	writer = 0;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return EXIT_FAILURE;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* Whoever reads standard output has enough. */
	if (WTERMSIG(status) == SIGPIPE)
		caught = SIGPIPE;
	if (!caught)
		fxt_error(NULL, "the conversion was ended by signal %d (%s)", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	return EXIT_FAILURE;
}

/* Has a process of its own write. Signals that would end this one end that one first. */
static int write_apart(const struct fxt_trace_file *file, const struct fxt_export_form *form,
		       struct conversion *to)
{
	struct sigaction action = {.sa_handler = on_signal}, before[HANDLED];
	sigset_t signals, old;
	int status = EXIT_FAILURE, note[2];
	pid_t pid;

	if (pipe2(note, O_CLOEXEC) != 0) {
		fxt_error(NULL, "no pipe can be made: %s", strerror(errno));
		return status;
	}
	sigemptyset(&signals);
	for (int i = 0; i < HANDLED; i++)
		sigaddset(&signals, handled[i]);
	sigprocmask(SIG_BLOCK, &signals, &old);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* Nobody would remove the directory if this went on alone. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A limit of files is an error that can be told. */
		signal(SIGXFSZ, SIG_IGN);
		sigprocmask(SIG_SETMASK, &old, NULL);
		close(note[0]);
		/* A trace is for its user alone, and so is what is made of it. */
		umask(077);
		exit(write_trace(file, form, to, note[1]));
	}
	close(note[1]);
	writer = pid > 0 ? pid : 0;
	for (int i = 0; i < HANDLED; i++) {
		sigaction(handled[i], NULL, &before[i]);
		/* What is ignored stays so: somebody has started this with nohup. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(handled[i], &action, NULL);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		fxt_error(NULL, "no process can be made: %s", strerror(errno));
	else
		status = await(pid, note[0], to);
	close(note[0]);
	for (int i = 0; i < HANDLED; i++)
		sigaction(handled[i], &before[i], NULL);
	return status;
}

char *fxt_export_name(const char *trace, const struct fxt_export_form *form)
{
	static const char *const suffixes[] = {".zst", ".gz", ".fxt"};
	size_t bytes = strlen(trace);

	while (bytes > 1 && trace[bytes - 1] == '/')
		bytes--;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t suffix = strlen(suffixes[i]);

		if (bytes > suffix && memcmp(trace + bytes - suffix, suffixes[i], suffix) == 0)
			bytes -= suffix;
	}
	return fxt_format("%.*s%s", (int)bytes, trace, form->suffix);
}

/* Gives what was written its name. Returns false with errno. */
static bool give_name(const struct conversion *to)
{
	if (!to->path)
		return fxt_output_rename(to->directory, to->out, to->is_forced);
	return fxt_output_rename_file(to->path, to->out, to->is_forced);
}

/* Converts a trace that is open. `out` ends in no slash. */
static int convert(const struct fxt_trace_file *file, const struct fxt_export_form *form,
		   struct conversion *to)
{
	int status;

	if (strcmp(to->out, "-") != 0) {
		to->directory = fxt_output_make(to->out);
		if (!to->directory) {
			fxt_error(to->out, "%s", strerror(errno));
			return EXIT_FAILURE;
		}
		if (form->kind != FXT_EXPORT_DIRECTORY)
			to->path = fxt_format("%s/%s", to->directory, form->name);
	}
	status = write_apart(file, form, to);
	if (!status && !caught && to->directory && !give_name(to)) {
		fxt_error(to->out, "%s", strerror(errno));
		status = EXIT_FAILURE;
	}
	if (to->directory && (status || caught || to->path))
		fxt_output_remove(to->directory);
	free(to->path);
	free(to->directory);
	if (caught)
		raise(caught);
	return status;
}

/* Returns whether the conversion may get this name, after a message if not. */
static bool is_free(const char *path, const char *trace, const struct fxt_export_form *form, bool is_forced)
{
	if (strcmp(path, "-") == 0 && form->kind == FXT_EXPORT_TEXT)
		return true;
	return form->kind == FXT_EXPORT_DIRECTORY ? fxt_output_is_free(path, form->contents, is_forced)
						  : fxt_output_file_is_free(path, trace, is_forced);
}

int fxt_convert(const char *trace, const struct fxt_export_form *form, const struct fxt_conversion *how)
{
	char *path = how->out ? fxt_strdup(how->out) : fxt_export_name(trace, form);
	struct conversion to = {.trace = trace,
				.out = path,
				.weight = how->weight,
				.is_forced = how->is_forced,
				.is_quiet = how->is_quiet};
	struct fxt_trace_file file;
	int status = EXIT_FAILURE;

	for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
		path[end - 1] = '\0';
	if (is_free(path, trace, form, how->is_forced) && fxt_trace_open(&file, trace)) {
		status = convert(&file, form, &to);
		fxt_trace_close(&file);
		if (!status && !how->is_quiet && strcmp(path, "-") != 0)
			fxt_error(NULL, "%s -> %s%s%s", trace, path, *to.note ? "; " : "", to.note);
	}
	free(path);
	return status;
}

/* -- The command ------------------------------------------------------------------------------------- */

struct input {
	const struct fxt_export_form *form;
	const char *path;
	bool has_weight;
	struct fxt_conversion how;
};

static void parse_weight(struct input *in, const char *arg, struct argp_state *state)
{
	char *bad = fxt_option_bad_word(arg, fxt_weight_names, FXT_WEIGHTS);

	if (bad)
		argp_error(state, "--weight: %s", bad);
	free(bad);
	in->has_weight = true;
	for (int i = 0; i < FXT_WEIGHTS; i++) {
		if (strcmp(arg, fxt_weight_names[i]) == 0)
			in->how.weight = (enum fxt_weight)i;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case KEY_TO:
		in->form = fxt_export_form(arg);
		if (!in->form)
			argp_error(state, "there is no form '%s': --help lists all", arg);
		return 0;
	case KEY_WEIGHT:
		parse_weight(in, arg, state);
		return 0;
	case FXT_KEY_DEBUG_DIR:
		fxt_debug_dirs_add(arg);
		return 0;
	case 'o':
		in->how.out = arg;
		return 0;
	case KEY_FORCE:
		in->how.is_forced = true;
		return 0;
	case 'q':
		in->how.is_quiet = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!in->form)
			argp_error(state, "no form was given: --to=FORM, and --help lists all");
		if (in->how.out && !*in->how.out)
			argp_error(state, "-o needs a name");
		if (in->has_weight && in->form->write != fxt_form_folded)
			argp_error(state, "--weight is for --to=folded: other forms have all or none");
		if (in->how.out && strcmp(in->how.out, "-") == 0 && in->form->kind != FXT_EXPORT_TEXT)
			argp_error(state, "--to=%s cannot go to standard output: it is no text",
				   in->form->name);
		return 0;
	default:
		return fxt_parse_file(key, arg, state, &in->path);
	}
}

/* Lists the forms behind the options. */
static char *put_forms(int key, const char *text, void *input)
{
	char *list;
	size_t bytes;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	out = fxt_text_stream(&list, &bytes);
	fputs("Forms:", out);
	for (int i = 0; i < fxt_export_form_count; i++)
		fprintf(out, "\n  %-10s %s", fxt_export_forms[i].name, fxt_export_forms[i].what);
	fclose(out);
	return list;
}

int fxt_command_convert(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"to", KEY_TO, "FORM", 0, "The form; see below", 0},
		{"output", 'o', "NAME", 0, "Write to NAME, not beside the trace; - is standard output", 0},
		{"weight", KEY_WEIGHT, "WHAT", 0,
		 "What folded stacks are weighed by: processor (the default), heap, peak, allocated or waits",
		 0},
		FXT_DEBUG_DIR_OPTION,
		{"force", KEY_FORCE, 0, 0, "Replace NAME, if it is an earlier conversion", 0},
		{"quiet", 'q', 0, 0, "Print neither progress nor the name of what was written", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Writes a trace in another form.\v",
		.help_filter = put_forms,
	};
	struct input in = {0};

	fxt_parse(&argp, argc, argv, 0, &in);
	return fxt_convert(in.path, in.form, &in.how);
}
