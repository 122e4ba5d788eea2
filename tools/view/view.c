/* fxt view: the command. See view.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve_once.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/findings/finding.h"
#include "tools/reading/mapped_trace.h"

enum { OPTION_PERFETTO = 256, OPTION_PORT };

struct input {
	const char *path;
	bool is_perfetto;
	unsigned port;
};

/* Has the desktop open a page. What cannot be opened is told by its address alone, which is printed. */
static void open_in_browser(const char *address)
{
	const char *const displays[] = {"DISPLAY", "WAYLAND_DISPLAY"};
	bool has_display = false;
	pid_t pid;
	int status;

	for (size_t i = 0; i < sizeof(displays) / sizeof(displays[0]); i++) {
		const char *value = getenv(displays[i]);

		has_display = has_display || (value && *value);
	}
	printf("%s\n", address);
	fxt_flush_stdout();
	/* Without a display xdg-open would begin a browser in this terminal. */
	if (!has_display)
		return;
	pid = fork();
	if (pid == 0) {
		execlp("xdg-open", "xdg-open", address, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fxt_error(NULL, "xdg-open could not open it: open the address above in a browser");
}

/* Returns the name of a page of the trace, in a directory of its own, whose name nobody knows before. The
 * caller frees it. Returns NULL after a message. */
static char *page_name(const char *trace)
{
	const char *place = getenv("TMPDIR"), *slash;
	char *directory = fxt_format("%s/fxt-view-XXXXXX", place && *place ? place : "/tmp"), *path, *name;
	size_t bytes = strlen(trace);

	while (bytes > 1 && trace[bytes - 1] == '/')
		bytes--;
	name = fxt_format("%.*s", (int)bytes, trace);
	slash = strrchr(name, '/');
	if (!mkdtemp(directory)) {
		fxt_error(directory, "%s", strerror(errno));
		path = NULL;
	} else {
		path = fxt_format("%s/%s.html", directory, slash && slash[1] ? slash + 1 : name);
	}
	free(name);
	free(directory);
	return path;
}

static int view_page(const char *trace)
{
	char *path = page_name(trace);
	int status;

	if (!path)
		return 1;
	/* A trace may have a name that begins like an option. */
	status = fxt_command_report(5, (char *[]){(char[]){"report"}, (char[]){"--html"}, path,
						  (char[]){"--"}, (char *)(uintptr_t)trace, NULL});
	if (access(path, R_OK) == 0)
		open_in_browser(path);
	free(path);
	return status;
}

static int view_in_perfetto(const struct input *in)
{
	struct fxt_trace_file file;
	struct fxt_serve serve;
	char *address;
	bool ok;

	if (!fxt_trace_open(&file, in->path))
		return 1;
	if (!fxt_serve_begin(&serve, in->port)) {
		fxt_error(NULL, "127.0.0.1:%u, where Perfetto's page looks: %s", in->port, strerror(errno));
		fxt_trace_close(&file);
		return 1;
	}
	address = fxt_format(FXT_PERFETTO_UI "/#!/?url=http://127.0.0.1:%u%s", serve.port, serve.path);
	open_in_browser(address);
	free(address);
	ok = fxt_serve_until_fetched(&serve, file.data, file.size);
	if (!ok)
		fxt_error(in->path, "it was not fetched: %s", strerror(errno));
	fxt_trace_close(&file);
	return ok ? 0 : 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	char *end;
	unsigned long port;

	switch (key) {
	case OPTION_PERFETTO: in->is_perfetto = true; return 0;
	case OPTION_PORT:
		port = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || port > UINT16_MAX)
			argp_error(state, "--port: '%s' is no port: give a whole number up to 65535", arg);
		in->port = (unsigned)port;
		return 0;
	default: return fxt_parse_file(key, arg, state, &in->path);
	}
}

int fxt_command_view(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"perfetto", OPTION_PERFETTO, NULL, 0,
		 "Hand the trace to ui.perfetto.dev, by this machine alone, and end when it has it", 0},
		{"port", OPTION_PORT, "N", 0,
		 "Do that on another port than 9001, for a viewer that may ask there; 0: any", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Shows a trace in a browser: findings, a timeline, flame graphs. Prints where the "
		       "page is.",
	};
	struct input in = {.port = FXT_SERVE_PORT};

	fxt_parse(&argp, argc, argv, 0, &in);
	return in.is_perfetto ? view_in_perfetto(&in) : view_page(in.path);
}
