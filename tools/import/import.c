/* See import.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import_metadata.h"
#include "tools/common/message.h"

#ifdef HAVE_BABELTRACE2
#include "import_events.h"
#include "import_graph.h"
#include "import_modules.h"
#endif

/* -- Finding traces -------------------------------------------------------------------------------- */

/* Directories are looked into so deep. LTTng's are five deep, and snapshots and rotated ones seven. */
enum { MAX_DEPTH = 10 };

/* Who names a directory that is no trace, such as that of a whole system, does not wait for a walk through
 * all of it. */
enum { MAX_ENTRIES = 200000 };

/* nftw() has no argument for its caller's data. */
static struct found {
	struct fxt_import_directory *list;
	size_t count, capacity, looked_at;
	bool one_is_enough;
	time_t changed;
} found;

static int look(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (++found.looked_at > MAX_ENTRIES)
		return FTW_STOP;
	if (where->level > MAX_DEPTH)
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F || !S_ISREG(st->st_mode) || strcmp(path + where->base, "metadata") != 0)
		return FTW_CONTINUE;
	found.list = fxt_grow(found.list, &found.capacity, found.count + 1, sizeof(*found.list));
	found.list[found.count++] = (struct fxt_import_directory){
		.path = fxt_format("%.*s", where->base > 1 ? where->base - 1 : 1, path)};
	if (st->st_mtime > found.changed)
		found.changed = st->st_mtime;
	return found.one_is_enough ? FTW_STOP : FTW_CONTINUE;
}

static int by_name(const void *a, const void *b)
{
	const struct fxt_import_directory *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void find(const char *directory, bool one_is_enough)
{
	char *path = realpath(directory, NULL);

	found = (struct found){.one_is_enough = one_is_enough};
	if (path)
		nftw(path, look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
	free(path);
	if (found.count)
		qsort(found.list, found.count, sizeof(*found.list), by_name);
}

static void forget(void)
{
	for (size_t i = 0; i < found.count; i++)
		free(found.list[i].path);
	free(found.list);
	found = (struct found){0};
}

/* Returns whether the directory has a trace of ours: then it is one of parts, and what lies deeper, such as
 * one of them in another form, is none of it. */
static bool has_ours(const char *directory)
{
	static const char suffix[] = ".fxt";
	const size_t suffix_bytes = sizeof(suffix) - 1;
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	bool has = false;

	while (!has && entries && (entry = readdir(entries))) {
		size_t bytes = strlen(entry->d_name);

		has = bytes > suffix_bytes && strcmp(entry->d_name + bytes - suffix_bytes, suffix) == 0;
	}
	if (entries)
		closedir(entries);
	return has;
}

bool fxt_import_is(const char *directory)
{
	bool is;

	if (has_ours(directory))
		return false;
	find(directory, true);
	is = found.count != 0;
	forget();
	return is;
}

#ifdef HAVE_BABELTRACE2

/* -- The child ------------------------------------------------------------------------------------- */

static void say(int to, const char *text)
{
	ssize_t n = write(to, text, strlen(text));

	(void)n;
}

/* The library has a descriptor for each stream. */
static void want_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Makes the trace in `out`, says what is wrong or worth a note to `to`, and ends the process: with status 0
 * if there is a trace. */
static _Noreturn void make(int out, int to)
{
	struct fxt_import_events e = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *wrong;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	want_descriptors();
	fxt_import_modules_begin(found.changed);
	e.file = fdopen(dup(out), "w");
	if (!e.file)
		_exit(1);
	wrong = fxt_import_graph_run(found.list, found.count, fxt_import_events_take, &e);
	if (!wrong) {
		fxt_import_events_end(&e);
		wrong = fxt_import_out_flush(&e.out);
	}
	if (wrong)
		say(to, wrong);
	else if (e.without_process)
		say(to, "some of its events do not say which process they are of, and are only counted");
	_exit(wrong != NULL);
}

/* -- The parent ------------------------------------------------------------------------------------ */

/* Reads what the child says until it ends. */
static void hear(int from, char *text, size_t capacity)
{
	char rest[512];
	size_t used = 0;
	ssize_t n;

	while ((n = read(from, rest, sizeof(rest))) > 0 || (n < 0 && errno == EINTR)) {
		size_t kept = n < 0 ? 0 : (size_t)n < capacity - 1 - used ? (size_t)n : capacity - 1 - used;

		memcpy(text + used, rest, kept);
		used += kept;
	}
	text[used] = '\0';
}

/* Has a child make the trace in `out`. Returns false after a message. */
static bool have_made(const char *directory, int out)
{
	char text[512];
	int pipe_ends[2], status = 0;
	pid_t child;

	if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
		fxt_error(directory, "%s", strerror(errno));
		return false;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		make(out, pipe_ends[1]);
	close(pipe_ends[1]);
	hear(pipe_ends[0], text, sizeof(text));
	close(pipe_ends[0]);
	if (child < 0 || (waitpid(child, &status, 0) != child && errno != EINTR)) {
		fxt_error(directory, "no process to read it: %s", strerror(errno));
		return false;
	}
	if (WIFSIGNALED(status))
		fxt_error(directory, "not readable as CTF: libbabeltrace2 was ended by signal %d (%s)",
			  WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		fxt_error(directory, "not readable as CTF: %s", *text ? text : "there is no memory for it");
	else if (*text)
		fxt_error(directory, "%s", text);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int fxt_import_trace(const char *directory)
{
	int fd;

	if (!fxt_late_open(&fxt_import_library)) {
		fxt_error(directory, "is a CTF trace, and there is no %s, which reads these",
			  fxt_import_library.name);
		return -1;
	}
	fd = fxt_nameless_file();
	if (fd < 0) {
		fxt_error(directory, "no file to make its trace in: %s", strerror(errno));
		return -1;
	}
	find(directory, false);
	for (size_t i = 0; i < found.count; i++) {
		if (fxt_import_metadata_look(&found.list[i]))
			continue;
		fxt_error(directory, "not readable as CTF: its metadata is cut short or damaged");
		close(fd);
		forget();
		return -1;
	}
	if (!have_made(directory, fd)) {
		close(fd);
		fd = -1;
	}
	forget();
	return fd;
}

#else

int fxt_import_trace(const char *directory)
{
	fxt_error(directory, "is a CTF trace, and fxt was built without libbabeltrace2, which reads these");
	return -1;
}

#endif
