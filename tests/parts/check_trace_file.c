/* This tests how a process gets its trace file (agent/emit/trace_file.h): whether it makes a file or has
 * the memory of a manager, what it says where it has neither, and what the trace begins with. The text of
 * the file is included, with functions of ours in the place of the buffer's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/connection.h"
#include "agent/base/koid.h"
#include "agent/base/log.h"
#include "agent/base/output.h"
#include "agent/clock/wall_clock.h"
#include "part.h"
#include "suite.h"
#include "writer/fxt_encode.h"

static int create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config);
static void forget(struct fxt_buffer *buffer);

#define fxt_buffer_create create
#define fxt_buffer_forget forget
#include "agent/emit/trace_file.c"

enum { PROLOGUE_WORDS = 4096 };

static char asked[1000], logged[1000];
static uint64_t prologue[PROLOGUE_WORDS];
static size_t prologue_words;
static int create_error, manager_error, open_error, fork_error, go_on_error;
static bool is_managed, path_fits, is_run, has_parents, waits_as_child, can_wait, differs;
static struct fxt_buffer_config made;

static void ask(const char *what)
{
	ck_assert_int_lt(strlen(asked), 900);
	sprintf(asked + strlen(asked), "%s;", what);
}

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0
#define LOGGED(text)                       \
	ck_assert_str_eq(logged, text);    \
	*logged = 0

/* -- What stands for the rest of the agent ------------------------------------------------------- */

/* Makes a buffer as the writer does: it has a prologue unless making it failed. */
static int make_one(struct fxt_buffer *buffer, const struct fxt_buffer_config *config, int error)
{
	made = *config;
	buffer->managed = is_managed;
	if (error && !is_managed)
		return error;
	memset(prologue, 0, sizeof(prologue));
	prologue_words = config->write_prologue(prologue);
	buffer->storage.prologue = prologue;
	buffer->prologue_words = (uint32_t)prologue_words;
	return error;
}

static int create(struct fxt_buffer *buffer, const struct fxt_buffer_config *config)
{
	ask("file");
	ck_assert_str_eq(config->path, "/tmp/OUT");
	return make_one(buffer, config, create_error);
}

static void forget(struct fxt_buffer *buffer)
{
	EXPECT(buffer == &fxt_agent.buffer);
	ask("forget");
}

int fxt_connection_make_buffer(struct fxt_buffer *buffer, struct fxt_buffer_config *config)
{
	ask("managed");
	return make_one(buffer, config, manager_error);
}

int fxt_connection_fork(struct fxt_buffer *buffer, struct fxt_buffer_config *config)
{
	ask("forked");
	return make_one(buffer, config, fork_error);
}

int fxt_connection_open(struct fxt_buffer *buffer)
{
	(void)buffer;
	ask("open");
	return open_error;
}

bool fxt_connection_has_parents(void)
{
	return has_parents;
}

int fxt_connection_wait_as_child(struct fxt_buffer *buffer)
{
	(void)buffer;
	ask("wait as child");
	return waits_as_child ? 0 : -EPIPE;
}

void fxt_connection_started(struct fxt_buffer *buffer)
{
	(void)buffer;
	ask("started");
}

int fxt_connection_go_on(struct fxt_buffer *buffer)
{
	(void)buffer;
	ask("go on");
	return go_on_error;
}

size_t fxt_wall_clock_put(uint64_t *out, size_t capacity, uint64_t now_ns)
{
	EXPECT(out && capacity > 3 && now_ns);
	return 0;
}

void fxt_clock_compare(int64_t host_real_ns)
{
	EXPECT(host_real_ns == 55);
	ask("compare");
}

int64_t fxt_gate_host_real_ns(void)
{
	return 55;
}

bool fxt_gate_prepare(void)
{
	ask("prepare");
	return can_wait;
}

void fxt_gate_lend(void)
{
	ask("lend");
}

void fxt_gate_set(uint32_t categories)
{
	ask(categories ? "gate opens" : "gate shut");
}

bool fxt_output_path(char *path, const struct fxt_config *config, const char *program, uint32_t pid,
		     uint64_t start_seconds)
{
	EXPECT(config == &fxt_agent.config && program == fxt_agent.program);
	EXPECT(pid == PART_KOID && !start_seconds);
	strcpy(path, "/tmp/OUT");
	return path_fits;
}

bool fxt_run_is_run(void)
{
	return is_run;
}

bool fxt_koid_differs(void)
{
	return differs;
}

const char *fxt_error_name(int error)
{
	return strerror(-error);
}

void fxt_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsprintf(logged + strlen(logged), format, arguments);
	strcat(logged, "\n");
	va_end(arguments);
}

static void setup(void)
{
	static const uint64_t call[] = {FXT_RECORD_STRING | 2 << 4 | (uint64_t)FXT_STR_CALLS << 16 |
						(uint64_t)5 << 32, 0x7473726966};

	part_setup();
	fxt_agent.calls.records = (struct fxt_string_records){call, 2};
	fxt_agent.calls.count = 1;
	fxt_agent.config.max_bytes = 700;
	fxt_agent.config.buffer_bytes = 500;
	fxt_agent.config.categories = 9;
	fxt_agent.state = FXT_ON;
	strcpy(fxt_agent.program, "prog");
	*asked = *logged = 0;
	create_error = manager_error = open_error = fork_error = go_on_error = 0;
	is_managed = is_run = has_parents = waits_as_child = differs = false;
	path_fits = can_wait = true;
	fxt_lender = 0;
}

/* -- A file -------------------------------------------------------------------------------------- */

START_TEST(a_file_is_made_once)
{
	EXPECT(fxt_agent_file() && fxt_agent.file_made);
	ASKED("forget;file;gate opens;started;");
	EXPECT(fxt_agent_file());
	ASKED("");
	EXPECT(made.bytes == 500 && !made.file_bytes && !made.waits && !made.in_memory);
	EXPECT(made.mode == FXT_ONESHOT);
	EXPECT(!fxt_agent.file_lock.taken && fxt_agent.state == FXT_ON);
	/* The child of a vfork makes none. */
	fxt_agent.file_made = false;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	EXPECT(!fxt_agent_file());
	fxt_lender = 0;
	/* Nor does who waits for a manager, or has failed before. */
	fxt_agent.recording = FXT_WAITING;
	EXPECT(!fxt_agent_file());
	fxt_agent.recording = FXT_RECORDING;
	fxt_agent.file_failed = true;
	EXPECT(!fxt_agent_file());
	ASKED("");
	fxt_agent.file_failed = false;
	fxt_agent.config.mode = FXT_STREAMING;
	fxt_agent.config.wait_on_full = fxt_agent.config.in_memory = true;
	EXPECT(fxt_agent_file() && made.bytes == 700 && made.waits && made.in_memory &&
	       made.mode == FXT_STREAMING);
	/* Where recording was stopped the gate stays shut. */
	setup();
	fxt_agent.recording = FXT_STOPPED;
	EXPECT(fxt_agent_file());
	ASKED("forget;file;gate shut;started;");
}
END_TEST

START_TEST(why_there_is_no_file)
{
	create_error = -EACCES;
	EXPECT(!fxt_agent_file() && fxt_agent.file_failed && fxt_agent.state == FXT_OFF);
	EXPECT(!fxt_agent.file_made);
	ASKED("forget;file;gate shut;");
	LOGGED("FXT_OUTPUT: cannot write /tmp/OUT: Permission denied; the program runs untraced\n");
	EXPECT(!fxt_agent.losses[0] && !fxt_agent.file_lock.taken);
	/* Under fxt record that tells of it. */
	setup();
	create_error = -EACCES;
	is_run = true;
	EXPECT(!fxt_agent_file());
	LOGGED("");
	setup();
	path_fits = false;
	EXPECT(!fxt_agent_file());
	ASKED("forget;gate shut;");
	LOGGED("FXT_OUTPUT: cannot write /tmp/OUT: File name too long; the program runs untraced\n");
}
END_TEST

/* -- A manager ----------------------------------------------------------------------------------- */

START_TEST(a_manager_has_the_buffer)
{
	strcpy(fxt_agent.config.manager, "socket");
	is_managed = true;
	fxt_agent.config.waits_for_manager = true;
	EXPECT(fxt_agent_file());
	ASKED("forget;open;compare;managed;gate opens;started;");
	EXPECT(made.file_bytes == 700 && made.waits);
	ck_assert_str_eq(made.path, "the memory that the manager saves");
	/* None answers: the trace goes to a file. */
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	open_error = -ECONNREFUSED;
	EXPECT(fxt_agent_file());
	ASKED("forget;open;compare;file;gate opens;started;");
	LOGGED("FXT_MANAGER: no answer at socket: Connection refused; the trace goes to /tmp/OUT\n");
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	open_error = -ECONNREFUSED;
	fxt_agent.config.may_lack_manager = true;
	EXPECT(fxt_agent_file());
	LOGGED("");
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	manager_error = -ENOMEM;
	EXPECT(fxt_agent_file());
	ASKED("forget;open;compare;managed;file;gate opens;started;");
	/* It wants nothing yet: the process waits, with its buffer or without. */
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	open_error = -EINPROGRESS;
	EXPECT(!fxt_agent_file() && !fxt_agent.file_made && fxt_agent.recording == FXT_WAITING);
	ASKED("forget;open;compare;prepare;lend;");
	EXPECT(!fxt_agent.file_failed && fxt_agent.state == FXT_ON);
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	is_managed = true;
	manager_error = -EAGAIN;
	EXPECT(!fxt_agent_file() && fxt_agent.file_made && fxt_agent.recording == FXT_WAITING);
	EXPECT(fxt_agent.losses[0] && fxt_agent.lost_before);
	ASKED("forget;open;compare;managed;prepare;lend;");
	/* It cannot wait, or has been stopped for good. */
	setup();
	strcpy(fxt_agent.config.manager, "socket");
	open_error = -EINPROGRESS;
	can_wait = false;
	EXPECT(!fxt_agent_file() && fxt_agent.recording == FXT_STOPPED);
	ASKED("forget;open;compare;prepare;gate shut;");
	fxt_agent.recording = FXT_STOPPED;
	can_wait = true;
	EXPECT(!fxt_agent_file() && fxt_agent.recording == FXT_STOPPED);
	ASKED("forget;open;compare;prepare;gate shut;");
}
END_TEST

START_TEST(a_child_is_in_its_parents_session)
{
	has_parents = is_managed = true;
	EXPECT(fxt_agent_file());
	ASKED("forget;forked;gate opens;started;");
	setup();
	has_parents = true;
	fork_error = -EPIPE;
	EXPECT(fxt_agent_file());
	ASKED("forget;forked;file;gate opens;started;");
	LOGGED("FXT_MANAGER: no answer at : Broken pipe; the trace goes to /tmp/OUT\n");
	/* The child of one that waits, waits too, if there is a manager. */
	setup();
	has_parents = waits_as_child = true;
	fxt_agent_join();
	ASKED("forget;wait as child;prepare;lend;");
	EXPECT(fxt_agent.recording == FXT_WAITING && !fxt_agent.file_lock.taken);
	setup();
	has_parents = true;
	fxt_agent_join();
	ASKED("forget;wait as child;gate shut;");
	EXPECT(fxt_agent.recording == FXT_STOPPED);
	setup();
	fxt_agent_join();
	ASKED("forget;gate shut;");
	EXPECT(fxt_agent.recording == FXT_STOPPED);
}
END_TEST

START_TEST(a_session_goes_on)
{
	fxt_agent.file_made = true;
	EXPECT(!fxt_agent_go_on());
	ASKED("go on;");
	go_on_error = -EAGAIN;
	EXPECT(fxt_agent_go_on() == -EAGAIN);
	/* The first session of a process that had no buffer yet. No file is made in its place. */
	setup();
	EXPECT(!fxt_agent_go_on() && fxt_agent.file_made);
	ASKED("managed;");
	setup();
	manager_error = -EPIPE;
	EXPECT(fxt_agent_go_on() == -EPIPE && !fxt_agent.file_made);
	ASKED("managed;");
	is_managed = true;
	manager_error = -EAGAIN;
	EXPECT(fxt_agent_go_on() == -EAGAIN && fxt_agent.file_made);
}
END_TEST

/* -- What a trace begins with -------------------------------------------------------------------- */

START_TEST(a_trace_begins_with_its_names)
{
	const uint64_t *at, *end;
	char line[2000];
	size_t string_words = 0;
	unsigned strings = 0, fillers = 0, streams = 0, i;

	differs = true;
	EXPECT(fxt_agent_file());
	end = prologue + prologue_words;
	EXPECT(prologue[0] == FXT_MAGIC_RECORD);
	for (at = prologue; at < end; at += fxt_get_record_words(*at)) {
		EXPECT(fxt_get_record_words(*at));
		switch (fxt_get_record_type(*at)) {
		case FXT_RECORD_METADATA:
			fillers += fxt_is_filler(*at);
			break;
		case FXT_RECORD_INITIALIZATION:
			EXPECT(at[1] == 1000000000);
			break;
		case FXT_RECORD_STRING:
			strings++;
			string_words += fxt_get_record_words(*at);
			EXPECT(fxt_get_string_index(*at) == strings);
			break;
		case FXT_RECORD_USERSPACE_OBJECT:
			part_describe(line, at);
			EXPECT(strstr(line, streams == 0   ? "\"stdin\" type=FILE\n"
					    : streams == 1 ? "\"stdout\" type=FILE\n"
							   : "\"stderr\" type=FILE\n"));
			streams++;
			break;
		default:
			part_describe(line, at);
			snprintf(line + 500, 500, "kernel object 70 \"prog\" pid=%uu\n", fxt_agent.pid);
			ck_assert_str_eq(line, line + 500);
		}
	}
	EXPECT(at == end && streams == 3 && strings == FXT_STR_CALLS);
	EXPECT(fillers == 1 + COUNTERS);
	/* The counters come last, behind what was lost before. */
	for (i = 0; i < FXT_LOSS_COUNT; i++)
		EXPECT(fxt_agent.losses[i] == end - (COUNTERS - i) * FXT_COUNTER_WORDS &&
		       *fxt_agent.losses[i] == fxt_filler(FXT_COUNTER_WORDS));
	EXPECT(fxt_agent.lost_before == fxt_agent.losses[0] - FXT_LOST_BEFORE_WORDS &&
	       *fxt_agent.lost_before == fxt_filler(FXT_LOST_BEFORE_WORDS));
	EXPECT(made.counters_words == COUNTERS * FXT_COUNTER_WORDS);
	EXPECT(made.prologue_bytes == string_words * FXT_WORD_BYTES);
	/* A process that others know by its own id has no other one. */
	setup();
	EXPECT(fxt_agent_file());
	for (at = prologue; fxt_get_record_type(*at) != FXT_RECORD_KERNEL_OBJECT;)
		at += fxt_get_record_words(*at);
	part_describe(line, at);
	ck_assert_str_eq(line, "kernel object 70 \"prog\"\n");
}
END_TEST

int main(void)
{
	TCase *file = tcase_create("trace file");

	tcase_add_checked_fixture(file, setup, NULL);
	tcase_add_test(file, a_file_is_made_once);
	tcase_add_test(file, why_there_is_no_file);
	tcase_add_test(file, a_manager_has_the_buffer);
	tcase_add_test(file, a_child_is_in_its_parents_session);
	tcase_add_test(file, a_session_goes_on);
	tcase_add_test(file, a_trace_begins_with_its_names);
	return RUN_SUITE("trace file", file);
}
