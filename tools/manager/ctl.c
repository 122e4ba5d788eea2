/* fxt ctl: the command. It controls the session of fxt serve: controller.h has the interface. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "controlling.h"
#include "ctl_save.h"
#include "manager.h"
#include "manager_commands.h"
#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/join/run_directory.h"
#include "tools/programs/option_values.h"

enum { KEY_SOCKET = 0x100 };

/* Exit statuses: 1 if fxt serve cannot be reached, and these for its errors. */
enum { STATUS_START = 10, STATUS_STOP = 20, STATUS_BAD_REQUEST = 30 };

static const struct method {
	const char *command;            /* on the command line */
	const char *method;
	bool takes_params;              /* COMMAND=JSON */
} methods[] = {
	{"categories", "get_known_categories", false},
	{"providers", "get_providers", false},
	{"state", "get_state", false},
	{"initialize", "initialize_tracing", true},
	{"start", "start_tracing", true},
	{"stop", "stop_tracing", true},
	{"terminate", "terminate", false},
	{"watch-alert", "watch_alert", false},
	{"save", "save_trace", false},
};

enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

struct options {
	char *out;                      /* NULL: there is no file for the trace */
	char *socket;                   /* NULL: the default */
	char **commands;
	int count;
};

/* Makes a connection. Returns false after a message. */
static bool connect_to(struct fxt_controlling *c, const char *path)
{
	if (fxt_controlling_connect(c, path))
		return true;
	fxt_error(path, "no fxt serve: %s", strerror(errno));
	return false;
}

/* Sends a call, which this releases, with a descriptor unless that is -1. Returns false after a message. */
static bool send_call(struct fxt_controlling *c, json_t *call, int fd)
{
	bool sent = fxt_controlling_send(c, call, fd);

	if (!sent)
		fxt_error(NULL, "fxt serve is gone: %s", strerror(errno));
	return sent;
}

/* Receives an object and prints it on a line of its own. Returns NULL at the end of the connection. */
static json_t *receive(struct fxt_controlling *c)
{
	const char *text;
	size_t bytes;
	json_t *object = fxt_controlling_receive(c, &text, &bytes);

	if (object) {
		fwrite(text, 1, bytes, stdout);
		putchar('\n');
		fflush(stdout);
	}
	return object;
}

/* Returns the exit status for an error of a method. */
static int status_of(const char *method, const char *error)
{
	static const char *const start[] = {"NOT_INITIALIZED", "ALREADY_STARTED", "STOPPING", "TERMINATING"};
	static const char *const stop[] = {"NOT_INITIALIZED", "NOT_STARTED", "ABORTED"};

	if (strcmp(method, "start_tracing") == 0)
		for (int i = 0; i < 4; i++)
			if (strcmp(error, start[i]) == 0)
				return STATUS_START + 1 + i;
	for (int i = 0; i < 3; i++)
		if (strcmp(error, stop[i]) == 0)
			return STATUS_STOP + 1 + i;
	return STATUS_BAD_REQUEST;
}

/* Waits for the answer to the last call, and prints it and the events that come before. Returns NULL after
 * a message if the connection ends. */
static json_t *next_answer(struct fxt_controlling *c)
{
	json_t *object;

	while ((object = receive(c))) {
		if (json_integer_value(json_object_get(object, "id")) == c->calls)
			return object;
		json_decref(object);
	}
	fxt_error(NULL, "fxt serve has ended the connection");
	return NULL;
}

/* Does the same. Returns an exit status. */
static int await_answer(struct fxt_controlling *c, const char *method)
{
	json_t *answer = next_answer(c);
	const char *error = json_string_value(json_object_get(answer, "error"));
	int status = !answer ? EXIT_FAILURE : error ? status_of(method, error) : EXIT_SUCCESS;

	json_decref(answer);
	return status;
}

/* Opens the file for the trace, which may not exist. */
static int open_output(const struct options *o)
{
	int fd;

	if (!o->out) {
		fxt_error(NULL, "where is the trace to go? Give --output=FILE");
		return -1;
	}
	fd = open(o->out, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		fxt_error(o->out, "%s", strerror(errno));
	return fd;
}

/* Makes a call with these parameters, which may be NULL and are released, and prints what comes back. Returns
 * an exit status. */
static int call(struct fxt_controlling *c, const struct options *o, const char *method, json_t *params)
{
	json_t *object = fxt_controlling_call(c, method);
	bool is_begin = strcmp(method, "initialize_tracing") == 0;
	int fd = is_begin ? open_output(o) : -1, status = EXIT_FAILURE;

	if (params)
		json_object_set_new(object, "params", params);
	if (is_begin && fd < 0)
		json_decref(object);
	else if (send_call(c, object, fd))
		status = await_answer(c, method);
	if (is_begin && fd >= 0 && status && unlink(o->out) != 0)
		fxt_error(o->out, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return status;
}

/* Prints the session's states as they change, until fxt serve ends. */
static int watch(struct fxt_controlling *c, const struct options *o)
{
	json_t *object;
	int status = call(c, o, "watch_state", NULL);

	while (!status && (object = receive(c)))
		json_decref(object);
	return status;
}

/* Waits for a time such as 10s. */
static int wait_for(const char *time)
{
	char *ns = NULL;
	struct timespec left;

	/* check() has found nothing wrong with it. */
	free(fxt_option_set_duration(&ns, time));
	left.tv_sec = (time_t)(strtoull(ns, NULL, 10) / 1000000000);
	left.tv_nsec = (long)(strtoull(ns, NULL, 10) % 1000000000);
	free(ns);
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	return EXIT_SUCCESS;
}

/* Writes a trace of the last time to the output. */
static int save_last(struct fxt_controlling *c, const struct options *o, const char *time)
{
	json_t *object = fxt_controlling_call(c, "save_trace"), *answer;
	const char *archive;
	int status = STATUS_BAD_REQUEST;

	json_object_set_new(object, "params", json_pack("{s:b}", "parts", 1));
	if (!send_call(c, object, -1))
		return EXIT_FAILURE;
	answer = next_answer(c);
	if (!answer)
		return EXIT_FAILURE;
	archive = json_string_value(json_object_get(json_object_get(answer, "result"), "path"));
	if (archive)
		status = !fxt_ctl_save(archive, time, o->out);
	json_decref(answer);
	return status;
}

static json_t *parse_json(const char *text, const char *what)
{
	json_error_t error;
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(object))
		return object;
	fxt_error(NULL, "%s: this is no JSON object: %s", what, object ? text : error.text);
	json_decref(object);
	return NULL;
}

/* Executes one command of the command line. */
static int execute(struct fxt_controlling *c, const struct options *o, const char *command)
{
	const char *value = strchr(command, '=');
	size_t length = value ? (size_t)(value - command) : strlen(command);
	json_t *params = NULL;

	if (strncmp(command, "wait=", 5) == 0)
		return wait_for(value + 1);
	if (strcmp(command, "watch") == 0)
		return watch(c, o);
	if (strncmp(command, "save=", 5) == 0)
		return save_last(c, o, value + 1);
	if (strncmp(command, "alert=", 6) == 0)
		return call(c, o, "raise_alert", json_pack("{s:s}", "alert_name", value + 1));
	for (int i = 0; i < METHODS; i++) {
		if (strlen(methods[i].command) != length ||
		    strncmp(command, methods[i].command, length) != 0 || (value && !methods[i].takes_params))
			continue;
		if (value) {
			params = parse_json(value + 1, methods[i].command);
			if (!params)
				return STATUS_BAD_REQUEST;
		}
		return call(c, o, methods[i].method, params);
	}
	return STATUS_BAD_REQUEST;
}

/* Says that there is no such command. */
static int no_command(const char *command, size_t length)
{
	const char *names[METHODS + 2] = {"watch", "wait"};
	char *word = fxt_format("%.*s", (int)length, command), *hint;

	for (int i = 0; i < METHODS; i++)
		names[i + 2] = methods[i].command;
	hint = fxt_did_you_mean(word, names, METHODS + 2);
	fxt_error(NULL, "there is no command '%s'%s", command,
		  *hint ? hint : ": fxt ctl --help lists them");
	free(hint);
	free(word);
	return STATUS_BAD_REQUEST;
}

/* Checks one command before any is executed. Returns 0, or STATUS_BAD_REQUEST after a message. */
static int check(const struct options *o, const char *command)
{
	const char *value = strchr(command, '=');
	size_t length = value ? (size_t)(value - command) : strlen(command);
	char *ns = NULL, *bad = NULL;
	json_t *params;

	if (strncmp(command, "wait=", 5) == 0) {
		bad = fxt_option_set_duration(&ns, value + 1);
		free(ns);
	} else if (strncmp(command, "save=", 5) == 0) {
		bad = fxt_ctl_save_bad(value + 1);
		if (!bad && !o->out)
			bad = fxt_strdup("where is the trace to go? Give --output=FILE");
	} else if (strncmp(command, "alert=", 6) == 0) {
		bad = value[1] ? NULL : fxt_strdup("the alert needs a name");
	} else if (strcmp(command, "watch") != 0) {
		int i = 0;

		while (i < METHODS && (strlen(methods[i].command) != length ||
				       strncmp(command, methods[i].command, length) != 0 ||
				       (value && !methods[i].takes_params)))
			i++;
		if (i == METHODS)
			return no_command(command, length);
		params = value ? parse_json(value + 1, methods[i].command) : NULL;
		json_decref(params);
		return value && !params ? STATUS_BAD_REQUEST : EXIT_SUCCESS;
	}
	if (bad)
		fxt_error(NULL, "%.*s: %s", (int)length, command, bad);
	free(bad);
	return bad ? STATUS_BAD_REQUEST : EXIT_SUCCESS;
}

/* Executes the calls that come on standard input, one on each line, until one fails. */
static int execute_lines(struct fxt_controlling *c, const struct options *o)
{
	char *line = NULL;
	size_t room = 0;
	int status = EXIT_SUCCESS;

	while (!status && getline(&line, &room, stdin) >= 0) {
		json_t *object, *params;
		const char *method;

		if (!line[strspn(line, " \t\r\n")])
			continue;
		object = parse_json(line, "standard input");
		method = json_string_value(json_object_get(object, "method"));
		params = json_object_get(object, "params");
		if (method)
			status = call(c, o, method, params ? json_incref(params) : NULL);
		else
			status = STATUS_BAD_REQUEST;
		if (object && !method)
			fxt_error(NULL, "standard input: a call is an object with \"method\"");
		json_decref(object);
	}
	free(line);
	return status;
}

/* Returns the socket that stands for a path, which this releases: the one in a directory of fxt record, or
 * in the only such directory that lies in the directory. */
static char *socket_of(char *path)
{
	char *own = fxt_format("%s/" FXT_PARTS_SOCKET, path), *pattern;
	struct stat status;
	glob_t found;

	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
		free(own);
		return path;
	}
	pattern = fxt_format("%s/.fxt-parts.*/" FXT_PARTS_SOCKET, path);
	free(path);
	if (access(own, F_OK) != 0 && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		if (found.gl_pathc == 1) {
			free(own);
			own = fxt_strdup(found.gl_pathv[0]);
		}
		globfree(&found);
	}
	free(pattern);
	return own;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o': o->out = arg; break;
	case KEY_SOCKET: o->socket = arg; break;
	case ARGP_KEY_ARGS:
		o->commands = state->argv + state->next;
		o->count = state->argc - state->next;
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int fxt_command_ctl(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"output", 'o', "FILE", 0,
		 "Where the trace goes; it may not exist (initialize and save=TIME need it)", 0},
		{"socket", KEY_SOCKET, "PATH", 0,
		 "Where fxt serve is (default: FXT_MANAGER, or fxt-manager in XDG_RUNTIME_DIR)", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[COMMAND...]",
		.doc = "Control the session of fxt serve --wait. The commands are executed in turn, and "
		       "their answers printed as JSON. When fxt ctl ends, its session is terminated. Without "
		       "commands, calls are read from standard input: "
		       "{\"method\": \"start_tracing\", \"params\": {}}.\v"
		       "Commands:\n"
		       "  categories         the categories that exist\n"
		       "  providers          the programs that are connected\n"
		       "  state              the state of the session\n"
		       "  initialize[=JSON]  begin a session, with a TraceConfig\n"
		       "  start[=JSON]       start recording, with StartOptions\n"
		       "  stop[=JSON]        stop recording, with StopOptions\n"
		       "  terminate          save the rest, and end the session\n"
		       "  alert=NAME         raise an alert\n"
		       "  watch-alert        wait for the next alert\n"
		       "  save               save what was recorded so far; says where\n"
		       "  save=TIME          write a trace of the last TIME (10s, 5m, all) to the\n"
		       "                     output, while the programs go on; also of fxt record, for\n"
		       "                     which --socket=DIR is where its trace is to be\n"
		       "  watch              print each state until fxt serve ends\n"
		       "  wait=TIME          wait: 10s, 500ms\n\n"
		       "Exit status: 0; 1 if fxt serve cannot be reached; 11 to 14 for StartError 1 to 4, "
		       "21 to 23 for StopError 1 to 3, and 30 for a bad request.",
	};
	struct fxt_controlling c = {-1, 0};
	struct options o = {0};
	char *path;
	int status = EXIT_FAILURE;

	fxt_parse(&argp, argc, argv, 0, &o);
	for (int i = 0; i < o.count; i++) {
		if (check(&o, o.commands[i]) != EXIT_SUCCESS)
			return STATUS_BAD_REQUEST;
	}
	path = fxt_manager_path(o.socket);
	path = path ? socket_of(path) : NULL;
	if (path && connect_to(&c, path)) {
		status = o.count ? EXIT_SUCCESS : execute_lines(&c, &o);
		for (int i = 0; i < o.count && !status; i++)
			status = execute(&c, &o, o.commands[i]);
	}
	fxt_controlling_end(&c);
	free(path);
	return status;
}
