/* The directory in which the traced processes leave their files until they are joined. See
 * run_directory.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/host_clock.h"
#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader.h"
#include "writer/run/process_stat.h"

/* Background processes often end right after the command does, so they are given half a second in all. */
enum { LAST_WAITS = 25, LAST_WAIT_NS = 20000000 };

#define PARTS_NAME ".fxt-parts."

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool fxt_parts_made_by_record(const char *directory)
{
	return strncmp(last_name(directory), PARTS_NAME, strlen(PARTS_NAME)) == 0;
}

static int locked = -1;         /* the directory that this process has locked; -1: none */

/* The lock is on the directory itself, so it goes with the process however that ends. The descriptor
 * stays open for it. */
bool fxt_parts_lock(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		locked = fd;
		return true;
	}
	/* On a file system without locks nobody can hold one. */
	if (fd < 0 || errno != EWOULDBLOCK)
		return true;
	close(fd);
	return false;
}

bool fxt_parts_are_gone(const char *directory, char **now)
{
	char link[64], path[PATH_MAX] = "";
	struct stat there, own;

	*now = NULL;
	if (locked < 0 || fstat(locked, &own) != 0)
		return access(directory, F_OK) != 0;
	if (stat(directory, &there) == 0 && there.st_dev == own.st_dev && there.st_ino == own.st_ino)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", locked);
	if (own.st_nlink && readlink(link, path, sizeof(path) - 1) > 0)
		*now = fxt_strdup(path);
	return true;
}

/* Says that a killed fxt record has left its parts in `parent`, because nobody would look for them. */
static void tell_of_others(const char *parent, bool quiet)
{
	DIR *d = quiet ? NULL : opendir(parent);
	struct dirent *e;
	char *one = NULL;
	size_t left = 0;

	while (d && (e = readdir(d))) {
		char *path;
		int fd;

		if (!fxt_parts_made_by_record(e->d_name))
			continue;
		path = fxt_format("%s/%s", parent, e->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0) {
			left++;
			free(one);
			one = fxt_strdup(path);
		}
		if (fd >= 0)
			close(fd);
		free(path);
	}
	if (d)
		closedir(d);
	if (left)
		fxt_error(NULL, "%zu recording%s begun here earlier did not end: 'fxt merge %s' joins %s",
			  left, left == 1 ? "" : "s", one,
			  left == 1 ? "its parts" : "the parts of one of them");
	free(one);
}

bool fxt_parts_is_for_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) != 0 || S_ISREG(st.st_mode);
}

char *fxt_parts_directory(const char *out, bool quiet)
{
	const char *slash = strrchr(out, '/');
	char *parent =
		slash ? fxt_format("%.*s", slash == out ? 1 : (int)(slash - out), out) : fxt_strdup(".");
	char *real, *directory;

	if (!fxt_parts_is_for_file(out)) {
		const char *temporary = getenv("TMPDIR");

		free(parent);
		parent = fxt_strdup(temporary && *temporary ? temporary : "/tmp");
	}
	real = realpath(parent, NULL);
	if (!real) {
		fxt_error(parent, "%s", strerror(errno));
		free(parent);
		return NULL;
	}
	free(parent);
	directory = fxt_format("%s%s" PARTS_NAME "XXXXXX", real, strcmp(real, "/") == 0 ? "" : "/");
	tell_of_others(real, quiet);
	if (!mkdtemp(directory)) {
		fxt_error(real, "nothing can be written there: %s", strerror(errno));
		free(directory);
		directory = NULL;
	} else {
		fxt_parts_lock(directory);
	}
	free(real);
	return directory;
}

/* Returns when the process began, on the clock of traces; 0 if there is no such process, or it is a
 * zombie. */
static uint64_t process_start_ns(pid_t pid)
{
	char path[64], text[1024];
	struct fxt_process_stat process;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	process = fxt_parse_process_stat(text);
	if (process.state == 'Z' || process.state == 'X' || !process.start_ticks)
		return 0;
	return process.start_ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)) + 1 -
	       (uint64_t)fxt_host_offset_ns();
}

/* Returns whether a process of this number has not ended. */
static bool is_there(pid_t pid)
{
	struct pollfd one = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
	bool has_ended = one.fd < 0 || poll(&one, 1, 0) != 0;

	if (one.fd >= 0)
		close(one.fd);
	return !has_ended;
}

/* Returns whether the part's process still runs. One with its id that began after the trace did is
 * another one; where there is no /proc, nobody knows when it began. */
static bool still_runs(const struct fxt_run_part *part)
{
	const uint64_t tick_ns = 20000000;
	uint64_t start_ns = process_start_ns(part->pid);

	if (part->pid > 0 && !start_ns && access("/proc/self", F_OK) != 0)
		return is_there(part->pid);
	return part->pid > 0 && start_ns &&
	       (part->first_ns == UINT64_MAX || start_ns <= part->first_ns + tick_ns);
}

/* Returns whether look_at() needs the record: it needs those of the provider and of the clock, and the
 * first event. Others are skipped by their length, because a process has a thousand strings before its
 * first event. */
static bool tells_of_part(uint64_t header)
{
	switch (fxt_get_record_type(header)) {
	case FXT_RECORD_METADATA:
	case FXT_RECORD_INITIALIZATION:
	case FXT_RECORD_EVENT: return true;
	default: return false;
	}
}

/* Finds the part's process, whose id is that of the provider, and the time of its first event. It reads
 * nothing after that event. */
static void look_at(struct fxt_run_part *part, struct fxt_reader *r)
{
	struct fxt_record rec;

	while (part->first_ns == UINT64_MAX) {
		fxt_reader_skip_to(r, tells_of_part);
		if (!fxt_reader_next(r, &rec))
			return;
		if (rec.type == FXT_RECORD_METADATA && rec.known &&
		    rec.subtype == FXT_METADATA_PROVIDER_INFO && rec.id <= INT_MAX)
			part->pid = (pid_t)rec.id;
		if (rec.type == FXT_RECORD_EVENT && rec.timed)
			part->first_ns = fxt_ns(rec.provider, rec.ticks);
	}
}

static bool look_into(struct fxt_run_part *part)
{
	struct fxt_trace_file file;
	struct fxt_reader r;

	part->first_ns = UINT64_MAX;
	if (!fxt_trace_open(&file, part->path))
		return false;
	fxt_reader_init(&r, file.data, file.size);
	look_at(part, &r);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return true;
}

bool fxt_parts_is_of_kernel(const struct fxt_run_part *part)
{
	const char *name = strrchr(part->path, '/');

	return strcmp(name ? name + 1 : part->path, FXT_PARTS_WITNESS) == 0;
}

/* The kernel's part is the last, because who woke whom is found in it when the programs are known. */
static int by_start(const void *a, const void *b)
{
	const struct fxt_run_part *x = a, *y = b;
	bool is_last = fxt_parts_is_of_kernel(x);

	if (is_last != fxt_parts_is_of_kernel(y))
		return is_last ? 1 : -1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Returns whether it is the name of a snapshot: PROGRAM.PID.snapshot.fxt, or with a number before the end. */
static bool is_snapshot(const char *name)
{
	const char *at = NULL, *next = name;

	while ((next = strstr(next, ".snapshot.")))
		at = next++;
	if (!at)
		return false;
	at += strlen(".snapshot");
	if (at[1] >= '0' && at[1] <= '9')
		at += 1 + strspn(at + 1, "0123456789");
	return strcmp(at, ".fxt") == 0;
}

bool fxt_parts_add(struct fxt_parts *parts, const char *path)
{
	struct fxt_run_part part = {.path = fxt_strdup(path)};

	if (!look_into(&part)) {
		free(part.path);
		return false;
	}
	part.alive = still_runs(&part);
	parts->list = fxt_grow(parts->list, &parts->capacity, parts->count + 1, sizeof(part));
	parts->list[parts->count++] = part;
	return true;
}

#define GROWS ".joining"

char *fxt_parts_grow(const struct fxt_run_part *part, uint64_t bytes)
{
	char *path = fxt_format("%s.%" PRIu64 GROWS, part->path, bytes);

	if (rename(part->path, path) == 0)
		return path;
	free(path);
	return NULL;
}

bool fxt_parts_as_it_was(const char *path)
{
	size_t stem = strlen(path) - strlen(GROWS);
	char *part;
	bool ok;

	while (stem && path[stem - 1] != '.')
		stem--;
	part = fxt_format("%.*s", (int)stem - 1, path);
	ok = truncate(path, (off_t)strtoull(path + stem, NULL, 10)) == 0 && rename(path, part) == 0;
	if (!ok)
		fxt_error(path, "%s", strerror(errno));
	free(part);
	return ok;
}

static bool ends_with(const char *name, const char *end)
{
	return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Undoes a join that was killed: it has left the part that it began with, longer by what it had
 * appended, and all other parts. */
static void undo_join(const char *directory)
{
	DIR *d = fxt_parts_made_by_record(directory) ? opendir(directory) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (ends_with(e->d_name, GROWS)) {
			char *path = fxt_format("%s/%s", directory, e->d_name);

			fxt_parts_as_it_was(path);
			free(path);
		}
	}
	if (d)
		closedir(d);
}

static void scan(struct fxt_parts *parts, const char *directory, const char *except)
{
	DIR *d = opendir(directory);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *path;

		/* A file that the agent is still preparing has another ending. */
		if (!ends_with(e->d_name, ".fxt"))
			continue;
		path = fxt_format("%s/%s", directory, e->d_name);
		if (!is_snapshot(e->d_name)) {
			if (!except || strcmp(path, except) != 0)
				fxt_parts_add(parts, path);
			free(path);
			continue;
		}
		parts->snapshots = fxt_grow(parts->snapshots, &parts->snapshot_capacity,
					    parts->snapshot_count + 1, sizeof(*parts->snapshots));
		parts->snapshots[parts->snapshot_count++] = path;
	}
	if (d)
		closedir(d);
}

/* Counts each process once, because it has a part for each program that it was. */
size_t fxt_parts_alive(const struct fxt_parts *parts, pid_t *pid)
{
	struct fxt_map pids = {0};
	size_t n = 0;

	for (size_t i = 0; i < parts->count; i++) {
		bool fresh = false;

		if (parts->list[i].alive)
			fxt_map_put(&pids, (uint64_t)parts->list[i].pid, 0, &fresh);
		if (fresh)
			*pid = parts->list[i].pid;
		n += fresh;
	}
	fxt_map_free(&pids);
	return n;
}

void fxt_parts_find(struct fxt_parts *parts, const char *directory, const char *except)
{
	const struct timespec wait = {.tv_nsec = LAST_WAIT_NS};
	pid_t pid;

	*parts = (struct fxt_parts){0};
	undo_join(directory);
	scan(parts, directory, except);
	for (int i = 0; i < LAST_WAITS && fxt_parts_alive(parts, &pid) > 0; i++) {
		nanosleep(&wait, NULL);
		for (size_t k = 0; k < parts->count; k++)
			parts->list[k].alive = parts->list[k].alive && still_runs(&parts->list[k]);
		/* Processes that ended meanwhile may have put a smaller file in place, and children may
		 * have begun new parts. */
		if (fxt_parts_alive(parts, &pid) == 0 || i == LAST_WAITS - 1) {
			struct fxt_parts again = {0};

			scan(&again, directory, except);
			fxt_parts_free(parts);
			*parts = again;
		}
	}
	fxt_parts_sort(parts);
}

void fxt_parts_sort(struct fxt_parts *parts)
{
	if (parts->count)
		qsort(parts->list, parts->count, sizeof(*parts->list), by_start);
}

void fxt_parts_remove(const struct fxt_parts *parts, const char *directory)
{
	pid_t pid = 0;
	size_t alive = fxt_parts_alive(parts, &pid);

	for (size_t i = 0; i < parts->count; i++) {
		if (!parts->list[i].alive)
			unlink(parts->list[i].path);
	}
	if (!alive && fxt_parts_made_by_record(directory)) {
		char *socket = fxt_format("%s/" FXT_PARTS_SOCKET, directory);

		/* A manager that was killed has left it. */
		unlink(socket);
		free(socket);
	}
	if (alive)
		fxt_error(NULL, "%zu process%s of it still run%s (%d): what there was is in the trace, "
			  "the rest goes to %s",
			  alive, alive == 1 ? "" : "es", alive == 1 ? "s" : "", (int)pid, directory);
	else
		rmdir(directory);
}

void fxt_parts_free(struct fxt_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->list[i].path);
	for (size_t i = 0; i < parts->snapshot_count; i++)
		free(parts->snapshots[i]);
	free(parts->list);
	free(parts->snapshots);
	*parts = (struct fxt_parts){0};
}

/* Renames the file. Returns false if there is a file already, which is never overwritten, or it failed. */
static bool move_to(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return true;
	/* Some file systems do not support the flag. */
	if ((errno != EINVAL && errno != ENOSYS) || link(from, to) != 0)
		return false;
	unlink(from);
	return true;
}

bool fxt_parts_move_snapshots(const struct fxt_parts *parts, const char *out)
{
	const char *slash = strrchr(out, '/');
	bool beside = slash && fxt_parts_is_for_file(out), all = true;

	for (size_t i = 0; i < parts->snapshot_count; i++) {
		const char *from = parts->snapshots[i], *name = strrchr(from, '/') + 1;
		int stem = (int)strlen(name) - (int)strlen(".fxt");
		char *to = NULL;
		bool moved = false;

		for (unsigned n = 0; !moved && n < 1000; n++) {
			char *number = n ? fxt_format(".%u", n) : fxt_strdup("");

			free(to);
			to = fxt_format("%.*s%.*s%s.fxt", beside ? (int)(slash - out) + 1 : 0, out, stem,
					name, number);
			free(number);
			moved = move_to(from, to);
			if (!moved && errno != EEXIST)
				break;
		}
		if (moved)
			fxt_error(NULL, "a snapshot -> %s", to);
		else
			fxt_error(to, "%s; the snapshot is left as %s", strerror(errno), from);
		all = all && moved;
		free(to);
	}
	return all;
}
