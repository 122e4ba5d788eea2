/* fxt: the tool that makes and reads traces. This file finds the subcommand; each is in files of its own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unconfigured"
#endif

#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "tools/analysis/categories.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/diff/diff.h"
#include "tools/import/import.h"
#include "tools/limits/limit.h"
#include "tools/dump/dump.h"
#include "tools/convert/convert.h"
#include "tools/manager/manager_commands.h"
#include "tools/narrow/cut.h"
#include "tools/reading/mapped_trace.h"
#include "tools/record/joined_directory.h"
#include "tools/record/record.h"
#include "tools/findings/finding.h"
#include "tools/things/things.h"
#include "tools/top/top.h"
#include "tools/view/view.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{"record", fxt_command_record, "run a program traced, its children too, and leave one file"},
	{"serve", fxt_command_serve, "save the traces of the programs that connect, while they run"},
	{"top", fxt_command_top, "what the programs that are being recorded do, every second"},
	{"ctl", fxt_command_ctl, "start and stop the recording of fxt serve, and ask what it knows"},
	{"report", fxt_command_report, "where the time, the waiting, the memory and the bytes went"},
	{"view", fxt_command_view, "the trace in a browser: findings, a timeline, flame graphs"},
	{"dump", fxt_command_dump, "a line for every record"},
	{"check", fxt_command_check, "whether a trace is what the format requires, and keeps to limits"},
	{"diff", fxt_command_diff, "what differs between two runs, or versions, and whether by chance"},
	{"merge", fxt_command_merge, "join what a killed fxt record left, or traces of several processes"},
	{"cut", fxt_command_cut, "a part of a trace, by process, thread, time, call or path, as a trace"},
	{"convert", fxt_command_convert, "a trace in another form: SQLite, JSON, CSV, CTF and others"},
	{"query", fxt_command_query, "a question about a trace, in SQL"},
	{"categories", fxt_command_categories, "the categories that exist, or those of a trace"},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *out)
{
	fputs("Usage: fxt COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].what);
	fputs("\n'fxt help COMMAND' says more of each; so does fxt(1).\n", out);
}

static int no_command(const char *name)
{
	const char *names[COMMANDS];
	char *hint;

	for (int i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	hint = fxt_did_you_mean(name, names, COMMANDS);
	fxt_error(NULL, "there is no command '%s'%s", name, *hint ? hint : ": fxt --help lists all");
	free(hint);
	return 2;
}

static int run(const char *name, int argc, char **argv)
{
	for (int i = 0; i < COMMANDS; i++) {
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc, argv);
	}
	return no_command(name);
}

static int trace_of_directory(const char *path)
{
	return fxt_import_is(path) ? fxt_import_trace(path) : fxt_joined_directory(path);
}

/* A thread's stack is as large as RLIMIT_STACK says, where nobody says otherwise. That may be too little, and
 * the usual 8 MiB are too much for a user whose data is limited (ulimit -d). */
static void limit_stacks(void)
{
	const size_t bytes = 512 << 10;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, bytes);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

static int begin(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	/* Usage errors exit with 2, as those of grep and diff do, so that 1 means that something is
	 * wrong with a file. */
	argp_err_exit_status = 2;
	limit_stacks();
	atexit(fxt_stdout_at_exit);
	fxt_trace_of_directory = trace_of_directory;
	fxt_trace_told_apart = fxt_joined_file;
	fxt_narrow_moment_of = fxt_things_moment_of;
	fxt_record_first_finding = fxt_findings_first;
	if (!name) {
		usage(stderr);
		return 2;
	}
	if (strcmp(name, "help") == 0 && argc > 2)
		return run(argv[2], 2, (char *[]){argv[2], (char[]){"--help"}, NULL});
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		usage(stdout);
		return 0;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		printf("fxt %s\n", PACKAGE_VERSION);
		return 0;
	}
	return run(name, argc - 1, argv + 1);
}

/* What begin() is called with, and what it returned, where it has a stack of its own. */
static struct {
	int argc;
	char **argv;
	int status;
	ucontext_t caller, own;
} call;

static void call_begin(void)
{
	call.status = begin(call.argc, call.argv);
}

/* The stack of main() is as large as RLIMIT_STACK says, and commands have frames of up to 70 KiB. So they get
 * another stack where the limit is small. The limit stays as it is, for the programs that are traced. */
int main(int argc, char **argv)
{
	const size_t bytes = 2 << 20;
	struct rlimit limit;
	void *stack;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= bytes)
		return begin(argc, argv);
	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || getcontext(&call.own) != 0)
		return begin(argc, argv);
	call.argc = argc;
	call.argv = argv;
	call.own.uc_stack.ss_sp = stack;
	call.own.uc_stack.ss_size = bytes;
	call.own.uc_link = &call.caller;
	makecontext(&call.own, call_begin, 0);
	return swapcontext(&call.caller, &call.own) == 0 ? call.status : begin(argc, argv);
}
