/* Makes every call that the agent stands in for, and every system call that it knows by its number, with
 * arguments that are bad or unusual: no pointer, one that leads nowhere or to the end of memory, numbers out
 * of range. Each call is made in a child of its own, which may crash, exit or wait.
 *
 *	bad_arguments ROUNDS [KNOWN]
 *
 * The program prints a line for each call: its name and arguments, how the child ended, what the call
 * returned, and errno. Arguments are random from the third round on (random.h). A call that waits for longer
 * than a moment is given up; with KNOWN, which is the output of another run with the same seed, only what has
 * waited there is left out, and nothing else is given up. Lines that two bare runs agree on have to be the
 * same in a traced run.
 *
 * A child has no privileges and its own process group, its descriptors are of nothing that others use, and no
 * number of a process that it gives to a call is that of another one. The program makes files in its working
 * directory.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "interpose/engine/syscall_numbers.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	WAITS_MS = 100,
	KNOWN_WAITS_MS = 60000,                 /* for a call that did not wait in the other run */
	LINE_BYTES = 400,
	ARGUMENTS = 7,                          /* getnameinfo() has so many */
	PAGE = 4096,
};

struct call {
	const char *name, *type, *parameters;   /* type and parameters are NULL where they are not known */
	long number;                            /* of a system call; otherwise -1 */
};

/* The words of the tables: interpose/engine/interpose.h. */
static const struct call calls[] = {
#define CALL(category, type, name, blocks, result, ...) {#name, #type, #__VA_ARGS__, -1},
#define ALIAS(category, type, symbol, name, blocks, result, ...) {#symbol, #type, #__VA_ARGS__, -1},
#define BY_HAND(category, name, role) {#name, NULL, NULL, -1},
#define BY_HAND_ALIAS(category, symbol, name) {#symbol, NULL, NULL, -1},
#define SYSTEM_CALL(category, type, name, blocks, result, ...) \
	{#name, #type, #__VA_ARGS__, -1}, {#name, #type, #__VA_ARGS__, SYS_##name},
#define BY_NUMBER(category, type, number, name, blocks, result, ...) \
	{#number, #type, #__VA_ARGS__, SYS_##number},
#define BY_NUMBER_ALONE(category, type, number, blocks, result, ...) \
	{#number, #type, #__VA_ARGS__, SYS_##number},
#define BY_HAND_NUMBER(number) {#number, NULL, NULL, SYS_##number},
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

/* These are not called: the child of vfork() and clone() may share its parent's stack, a new thread may crash
 * before or after its creator reports, a name to look up is asked of servers, an alarm may come in time, and
 * lio_listio() makes room on the stack for as many requests as it is told, even for fewer than none. */
static const char *const left_out[] = {
	"vfork", "__vfork", "clone", "__clone", "pthread_create", "thrd_create", "getaddrinfo",
	"getaddrinfo_a", "ualarm", "lio_listio", "lio_listio64",
};

/* Functions without a row that says so. */
static const char *const returns_nothing[] = {
	"free", "cfree", "__libc_free", "closefrom", "syslog", "__syslog_chk", "warn", "warnx",
};

/* These return another value each time. */
static const char *const returns_chance[] = {"arc4random", "arc4random_uniform"};

/* Memory of a call's arguments, at an address that is the same in each run. */
static char *const memory = (char *)0x100000000000;
enum { ZEROS, ONES, CONSTANT, EDGE, NOTHING, PAGES };

/* The lines of the other run that are still to come, or NULL. */
static const char *known;

/* This is what a child tells. */
static struct report {
	long value;
	int error, returned;
} *report;

/* Descriptors that a call may be given, whatever else the process has open. */
enum { NOWHERE_FD = 20, FOLDER_FD, CONTENTS_FD, SOCKET_FD, PEER_FD, TABLE = 1024 };

/* -- Arguments ------------------------------------------------------------------------------------- */

static void make_memory(void)
{
	char *made = mmap(memory, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (made != memory) {
		perror("memory for the arguments");
		exit(77);
	}
	memset(memory + ONES * PAGE, 0xff, PAGE);
	strcpy(memory + CONSTANT * PAGE, "/nonexistent/x");
	memset(memory + EDGE * PAGE, 'e', PAGE);
	mprotect(memory + CONSTANT * PAGE, PAGE, PROT_READ);
	mprotect(memory + NOTHING * PAGE, PAGE, PROT_NONE);
}

/* `streams` says whether it may be one of the C library, whose address is another one in each run. At least
 * `whole` bytes can be read where any can. */
static long random_pointer(bool streams, long whole)
{
	static const long few[] = {0, 0, 0, 1, -1, (long)0x8000000000000000};
	size_t k = random_below(COUNT(few) + PAGES + 2);

	if (k < COUNT(few))
		return few[k];
	k -= COUNT(few);
	if (k == EDGE)
		return (long)memory + (EDGE + 1) * PAGE - whole - (long)random_below(40);
	if (k < NOTHING)
		return (long)memory + (long)k * PAGE;
	if (k == NOTHING)
		return (long)memory + NOTHING * PAGE;
	return streams ? (long)(random_below(2) ? stdin : stdout) : 0;
}

static long random_integer(void)
{
	const long few[] = {0, 0, 1, 2, -1, -1, 987, INT_MAX, INT_MIN, PAGE, FOLDER_FD, CONTENTS_FD,
			    SOCKET_FD};
	size_t k = random_below(COUNT(few) + 2);

	if (k < COUNT(few))
		return few[k];
	return k == COUNT(few) ? (long)random_number(64) : random_negative();
}

/* Returns whether the text has the word, not within another one. */
static bool has_word(const char *text, size_t bytes, const char *word)
{
	size_t length = strlen(word), i;

	for (i = 0; i + length <= bytes; i++)
		if (!memcmp(text + i, word, length))
			return true;
	return false;
}

/* Returns how much of what a parameter points to is there, if anything is. A lock is whole, because it is
 * tried before it is waited for, and the two functions of the C library do not look at the same members. */
static long whole_bytes(const char *parameter, size_t bytes)
{
	bool is_lock = parameter && has_word(parameter, bytes, "pthread_rwlock_t");

	return is_lock ? (long)sizeof(pthread_rwlock_t) : 1;
}

/* Sets the arguments of the call in its round. */
static void choose(const struct call *call, unsigned round, long arguments[ARGUMENTS])
{
	const char *at = call->parameters;
	unsigned i;

	for (i = 0; i < ARGUMENTS; i++) {
		const char *end = at ? strchr(at, ')') : NULL;
		size_t bytes = end ? (size_t)(end - at) : 0;
		bool pointer = at ? has_word(at, bytes, "*") || has_word(at, bytes, "va_list")
				  : random_below(2);

		if (round == 0)
			arguments[i] = 0;
		else if (round == 1)
			arguments[i] = pointer && at ? 1 : -1;
		else
			arguments[i] = !pointer ? random_integer()
						: random_pointer(at && has_word(at, bytes, "FILE"),
								 whole_bytes(at, bytes));
		if (has_word(at ? at : "", bytes, "pid_t") || has_word(at ? at : "", bytes, "pgrp"))
			arguments[i] = round > 1 && random_below(2) ? INT_MAX : 0;
		at = end && end[1] == ',' ? end + 1 : NULL;
		if (!at && call->parameters)
			break;
	}
	for (i++; i < ARGUMENTS; i++)
		arguments[i] = 0;
}

static void make_descriptors(void)
{
	int sockets[2], contents = memfd_create("contents", MFD_CLOEXEC);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
	    ftruncate(contents, (off_t)PAGES * PAGE))
		exit(99);
	/* This is no file of the system, because fchmod() and its like get it as well. */
	dup2(memfd_create("nowhere", MFD_CLOEXEC), NOWHERE_FD);
	mkdir("folder", 0755);
	dup2(open("folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC), FOLDER_FD);
	dup2(contents, CONTENTS_FD);
	dup2(sockets[0], SOCKET_FD);
	dup2(sockets[1], PEER_FD);
	/* The kernel's table has one size with the agent's descriptors and without. select() looks at no
	 * others. */
	if (fcntl(contents, F_DUPFD_CLOEXEC, TABLE - 10) < 0)
		exit(99);
}

/* -- A call ------------------------------------------------------------------------------------------ */

/* A process of root becomes nobody, who owns neither files nor devices. */
static void give_up_privileges(void)
{
	const long nobody = 65534;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (!unseen(SYS_getuid) && (unseen(SYS_setgroups, 0, NULL) || unseen(SYS_setgid, nobody) ||
				    unseen(SYS_setuid, nobody)))
		_exit(99);
	if (unseen(SYS_capset, &header, none))
		_exit(99);
}

/* Removes the queue, semaphores or memory that the call may have made: they would outlive the program, and be
 * there when the next run asks for the same key. */
static void remove_made(const char *name, long id)
{
	if (strstr(name, "msgget"))
		unseen(SYS_msgctl, id, IPC_RMID, 0);
	else if (strstr(name, "semget"))
		unseen(SYS_semctl, id, 0, IPC_RMID, 0);
	else if (strstr(name, "shmget"))
		unseen(SYS_shmctl, id, IPC_RMID, 0);
}

static void make(const struct call *call, const long a[ARGUMENTS])
{
	long (*function)(long, long, long, long, long, long, long) = NULL;
	long self = unseen(SYS_getpid), value;

	setpgid(0, 0);
	give_up_privileges();
	dup2(NOWHERE_FD, 0);
	dup2(NOWHERE_FD, 1);
	dup2(NOWHERE_FD, 2);
	if (call->number < 0) {
		*(void **)&function = dlsym(RTLD_DEFAULT, call->name);
		if (!function)
			_exit(98);
	}
	errno = 0;
	value = function ? function(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
			 : syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (unseen(SYS_getpid) == self) {
		report->error = errno;
		report->value = value;
		report->returned = 1;
		if (value >= 0)
			remove_made(call->name, value);
	}
	unseen(SYS_exit_group, 0);
}

/* Waits for the child's end. Returns its status, or -1 if it was given up after so many milliseconds. */
static int await(pid_t child, int limit_ms)
{
	struct timespec nap = {0, 200000}, start, now;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!waitpid(child, &status, WNOHANG | WUNTRACED)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 > limit_ms) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return status;
}

static bool is_among(const char *name, const char *const list[], size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static bool is_pointer(const struct call *call, long value)
{
	if (call->type)
		return strchr(call->type, '*') || !strcmp(call->type, "pointer");
	return value > 0xffffffff && value < (1L << 47);
}

/* Writes what the call returned; a pointer is nothing that two runs agree on. */
static void show_value(const struct call *call, char *text, size_t room)
{
	static const char *const longs[] = {"long", "ssize_t", "size_t", "off_t", "unsigned long", "time_t"};
	long value = report->value;
	bool is_void = call->type ? !strcmp(call->type, "void")
				  : is_among(call->name, returns_nothing, COUNT(returns_nothing));

	if (!report->returned || is_void || is_among(call->name, returns_chance, COUNT(returns_chance))) {
		snprintf(text, room, "-");
		return;
	}
	if (is_pointer(call, value)) {
		snprintf(text, room, "%s", !value ? "NULL" : value == -1 ? "failed" : "pointer");
		return;
	}
	if (!call->type || !is_among(call->type, longs, COUNT(longs)))
		value = (int)value;
	snprintf(text, room, "%ld", value);
}

static void show(const struct call *call, const char *name, int status)
{
	char value[40], end[40];

	show_value(call, value, sizeof(value));
	if (status == -1)
		snprintf(end, sizeof(end), "waits");
	else if (WIFSTOPPED(status))
		snprintf(end, sizeof(end), "stopped %d", WSTOPSIG(status));
	else if (WIFSIGNALED(status))
		snprintf(end, sizeof(end), "signal %d", WTERMSIG(status));
	else
		snprintf(end, sizeof(end), "%s %d", report->returned ? "returned" : "exit",
			 WEXITSTATUS(status));
	printf("%s|%s|%s|%d\n", name, end, status == -1 ? "-" : value, status == -1 ? 0 : report->error);
}

/* Returns what another run has said, to which a 0 is added. A child that exits moves the offset of files that
 * it has from its parent, so the file is read at once. */
static char *read_known(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;
	long bytes;

	if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) <= 0)
		exit(99);
	rewind(file);
	text = malloc((size_t)bytes + 1);
	if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
		exit(99);
	text[bytes] = 0;
	fclose(file);
	return text;
}

/* Returns for how long the call may wait, from the next line of the other run; 0: it waited there, and is not
 * made. A function that was absent there may wait, and says nothing. */
static int known_limit_ms(const char *name)
{
	size_t bytes = strlen(name);
	const char *line = known;

	known = strchr(known, '\n');
	if (!known++ || strncmp(line, name, bytes) || line[bytes] != '|') {
		fprintf(stderr, "the other run is of another seed: %s\n", name);
		exit(99);
	}
	line += bytes;
	return !strncmp(line, "|waits|", 7) ? 0 : !strncmp(line, "|exit 98|", 9) ? WAITS_MS : KNOWN_WAITS_MS;
}

/* Writes the call as C would have it. The addresses of streams differ between runs. */
static void describe(const struct call *call, const long a[ARGUMENTS], char *text, size_t room)
{
	size_t used, i;

	used = (size_t)snprintf(text, room, "%s%s", call->number < 0 ? "" : "SYS_", call->name);
	for (i = 0; i < ARGUMENTS; i++) {
		const char *comma = i ? ", " : "(";

		if (a[i] == (long)stdin || a[i] == (long)stdout)
			used += (size_t)snprintf(text + used, room - used, "%s%s", comma,
						 a[i] == (long)stdin ? "stdin" : "stdout");
		else
			used += (size_t)snprintf(text + used, room - used, "%s%#lx", comma,
						 (unsigned long)a[i]);
	}
	snprintf(text + used, room - used, ")");
}

static void try(const struct call *call, unsigned round)
{
	char name[LINE_BYTES / 2];
	long a[ARGUMENTS];
	int limit_ms = WAITS_MS;
	pid_t child;

	choose(call, round, a);
	if (is_among(call->name, left_out, COUNT(left_out)))
		return;
	describe(call, a, name, sizeof(name));
	memset(report, 0, sizeof(*report));
	if (known)
		limit_ms = known_limit_ms(name);
	if (!limit_ms) {
		show(call, name, -1);
		return;
	}
	/* No call finds what another one has written, or where it has read to. */
	if (ftruncate(NOWHERE_FD, 0) || lseek(NOWHERE_FD, 0, SEEK_SET) || lseek(FOLDER_FD, 0, SEEK_SET) ||
	    lseek(CONTENTS_FD, 0, SEEK_SET))
		exit(99);
	fflush(stdout);
	child = fork();
	if (!child)
		make(call, a);
	show(call, name, await(child, limit_ms));
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2, round;
	struct rlimit none = {0, 0};
	size_t i;

	known = argc > 2 ? read_known(argv[2]) : NULL;
	random_seed(0);
	make_memory();
	make_descriptors();
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setrlimit(RLIMIT_CORE, &none);
	for (i = 0; i < COUNT(calls); i++)
		for (round = 0; round < rounds; round++)
			try(&calls[i], round);
	return 0;
}
