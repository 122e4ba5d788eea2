/* See saver.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "saver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/common/message.h"

enum {
	BUFFER_MB = 32,                 /* of each program */
	USUAL_MAX_MB = 1024,            /* FXT_MAX_SIZE_MB has this default too */
	FEW_PARTS = 4,                  /* where PARTS would be small */
	MANY_PARTS_MB = 64,
	PARTS = 8,                      /* each of the newest files has such a part of what is kept */
	KERNEL_SHARE = 8,               /* such a part of --max-size is for what the kernel tells */
	DESCRIPTORS = 13,               /* its own, and some for a program and the kernel */
};

static const uint64_t STEP_NS = 1000000000;

/* -- Whether there is a manager ----------------------------------------------------------------- */

/* Returns what an option says, or else its variable; empty if neither does. */
static const char *wanted(const char *option, const char *variable)
{
	const char *value = option ? option : getenv(variable);

	return value ? value : "";
}

/* Returns whether a manager can do what the run wants. Only files have a snapshot for each process, wait
 * for a signal, and wait for room on a full file system. */
static bool is_for_manager(const struct fxt_record_options *o)
{
	const char *mode = wanted(o->mode, "FXT_BUFFERING_MODE");

	return (!*mode || strcmp(mode, "streaming") == 0) && !*wanted(o->trigger, "FXT_TRIGGER") &&
	       !*wanted(o->start, "FXT_START") && strcmp(wanted(o->on_full, "FXT_ON_FULL"), "wait") != 0;
}

static uint64_t most_bytes(const struct fxt_record_options *o)
{
	uint64_t mb = strtoull(wanted(o->max_mb, "FXT_MAX_SIZE_MB"), NULL, 10);

	return (mb ? mb : USUAL_MAX_MB) << 20;
}

/* Returns whether the archive has room: for what one program may record, or a good deal. What one file may
 * not hold, several may. */
static bool has_room(const char *directory, uint64_t most)
{
	const uint64_t good_deal = UINT64_C(1) << 32;
	struct rlimit limit;
	struct statvfs system;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY &&
	       statvfs(directory, &system) == 0 &&
	       (uint64_t)system.f_bavail * system.f_frsize > (most < good_deal ? most : good_deal);
}

/* -- Following the archive ---------------------------------------------------------------------- */

/* Begins to follow the archive, if it can be mapped. */
static void begin_following(struct fxt_saver *s)
{
	if (!fxt_trace_follow(&s->mapped, s->archive))
		return;
	fxt_reader_init(&s->reader, s->mapped.data, 0);
	fxt_merge_follow_begin(s->merge, &s->reader);
}

static void stop_following(struct fxt_saver *s)
{
	fxt_merge_free(s->merge);
	fxt_reader_free(&s->reader);
	fxt_trace_close(&s->mapped);
}

/* Reads what the archive has in addition by now. */
static void follow(struct fxt_saver *s)
{
	uint64_t bytes = s->manager.session.archive.bytes;

	/* The file that was followed is the first of several then, which are joined in the end. */
	if (s->mapped.data && s->manager.session.archive.has_turned)
		stop_following(s);
	if (!s->mapped.data || bytes == s->reader.size)
		return;
	s->reader.size = bytes;
	if (bytes > s->mapped.size || !fxt_merge_follow(s->merge, &s->reader))
		stop_following(s);
}

/* -- The manager ------------------------------------------------------------------------------- */

/* Returns the path of the socket. One in a directory with a long name is found by way of this process,
 * which has the directory open. */
static char *socket_path(const char *directory)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	char *path = fxt_format("%s/" FXT_PARTS_SOCKET, directory);
	int fd;

	if (strlen(path) <= most)
		return path;
	free(path);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? NULL : fxt_format("/proc/%d/fd/%d/" FXT_PARTS_SOCKET, (int)getpid(), fd);
}

/* Begins the session, and starts it. */
static void start(struct fxt_saver *s)
{
	struct fxt_trace_config config = {
		.mode = FXT_BUFFERING_STREAMING,
		.buffer_bytes = (uint64_t)BUFFER_MB << 20,
		.memory_bytes = s->memory_bytes,
		.waits = true,
		.budget = s->budget,
		/* Each program knows what FXT_CATEGORIES says. */
		.categories = fxt_strdup(""),
	};

	fxt_archive_keep_begin(&s->manager.session.archive, &s->keep);
	fxt_session_initialize(&s->manager.session, &config);
	fxt_session_start(&s->manager.session, FXT_CLEAR_ENTIRE, NULL);
	s->start_ns = 0;
	if (s->witness)
		fxt_witness_go(s->witness);
	if (s->duration_ns)
		s->stop_ns = fxt_now_ns() + s->duration_ns;
	if (s->signals)
		s->signals++;
}

/* Returns nanoseconds that an option gives in digits; 0 if it is not given. */
static uint64_t nanoseconds(const char *digits)
{
	return digits ? strtoull(digits, NULL, 10) : 0;
}

/* Divides what is kept, `most` bytes, into files. The first has half of it, so that a run of that size is
 * followed, and can be looked at while it goes on. A file is full when it has reached its size, so it may be
 * larger by what is saved at once. With --rotate, `rotated` is the size of a file. */
static struct fxt_archive_keep_wish divide(uint64_t most, uint64_t rotated,
					   const struct fxt_record_options *o)
{
	const uint64_t pass = 1 << 20;
	uint64_t parts = most < MANY_PARTS_MB << 20 ? FEW_PARTS : PARTS;
	uint64_t part = most / parts, over = pass < part / 2 ? pass : part / 2;
	struct fxt_archive_keep_wish keep = {.has_first = true,
					     .first_bytes = most / 2 - over,
					     .bytes = part - over,
					     .count = (unsigned)parts / 2 - 1};

	if (o->keep_ns) {
		keep.has_first = false;
		keep.first_bytes = keep.bytes;
		keep.count = (unsigned)parts - 1;
		keep.age_ns = nanoseconds(o->keep_ns);
	}
	if (o->rotate_bytes) {
		keep.first_bytes = keep.bytes = rotated;
		keep.count = o->rotate_count;
	}
	return keep;
}

struct fxt_archive_keep_wish fxt_saver_kernel_alone(const struct fxt_record_options *o)
{
	return divide(most_bytes(o), o->rotate_bytes, o);
}

/* Divides what is kept of the run between the programs and the kernel. */
static void divide_run(struct fxt_saver *s, const struct fxt_record_options *o)
{
	const uint64_t least = 256 << 10;
	uint64_t most = most_bytes(o), kernel = most / KERNEL_SHARE, rotated = o->rotate_bytes / KERNEL_SHARE;

	s->kernel_keep = divide(kernel > least ? kernel : least, rotated > least ? rotated : least, o);
	s->keep = divide(o->lacks_kernel ? most : most - kernel, o->rotate_bytes, o);
}

static void begin(struct fxt_saver *s, const struct fxt_record_options *o)
{
	divide_run(s, o);
	s->budget = o->budget;
	s->memory_bytes = o->memory_bytes;
	s->duration_ns = nanoseconds(o->duration_ns);
	if (o->delay_ns)
		s->start_ns = fxt_now_ns() + nanoseconds(o->delay_ns);
	if (o->is_toggled) {
		s->signals = 1;
		s->start_ns = UINT64_MAX;
	}
	if (!s->start_ns)
		start(s);
}

bool fxt_saver_begin(struct fxt_saver *s, const struct fxt_record_options *o, const char *directory,
		     int shared)
{
	struct fxt_merge *merge = s->merge;
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);

	*s = (struct fxt_saver){.merge = merge, .manager.session.state = FXT_SESSION_READY};
	if (process >= 0)
		close(process);
	/* A kernel without pidfd_open() is one that the loop cannot wait with. */
	if (process < 0 || fxt_run_descriptors(DESCRIPTORS) < DESCRIPTORS || !is_for_manager(o) ||
	    !has_room(directory, most_bytes(o)) || !fxt_gates_make(&s->manager.session.gates))
		return false;
	s->socket = socket_path(directory);
	s->archive = fxt_format("%s/" FXT_PARTS_ARCHIVE, directory);
	if (s->socket && fxt_manager_listen(&s->manager, s->socket)) {
		if (fxt_archive_open(&s->manager.session.archive, s->archive, false)) {
			s->key = fxt_manager_listen_to_all(&s->manager, shared);
			fxt_manager_begin(&s->manager);
			begin_following(s);
			begin(s, o);
			return true;
		}
		fxt_manager_unlisten(&s->manager);
	}
	fxt_gates_free(&s->manager.session.gates);
	free(s->socket);
	s->socket = NULL;
	return false;
}

static bool can_be_read(int fd)
{
	struct pollfd one = {fd, POLLIN, 0};

	return poll(&one, 1, 0) == 1;
}

/* Handles what happens until a time by CLOCK_MONOTONIC (0: however late), or until the signal that is kept
 * has come often enough, or until `process` can be read. Returns true if the process can be read. */
static bool serve_until(struct fxt_saver *s, uint64_t end_ns, int process)
{
	while (!can_be_read(process)) {
		uint64_t now_ns = fxt_now_ns();

		if ((end_ns && now_ns >= end_ns) || (s->signals && fxt_run_kept() >= s->signals))
			return false;
		fxt_manager_step(&s->manager, end_ns && end_ns - now_ns < STEP_NS
						      ? (int)((end_ns - now_ns) / 1000000 + 1)
						      : (int)(STEP_NS / 1000000));
		/* A full disk may have room again while no program has anything to say. */
		fxt_session_rotate(&s->manager.session);
		follow(s);
	}
	return true;
}

/* Serves while the process runs. Returns false if it still does when recording is to stop. */
static bool serve_process(struct fxt_saver *s, int process)
{
	if (s->start_ns) {
		if (serve_until(s, s->start_ns, process))
			return true;
		start(s);
	}
	return serve_until(s, s->stop_ns, process);
}

bool fxt_saver_serve(struct fxt_saver *s, pid_t pid)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	bool has_ended;

	/* The programs of the run have started, so they have the limit that they would have. */
	fxt_manager_raise_limit();
	if (process < 0)
		return true;
	fxt_manager_watch(&s->manager, process);
	has_ended = serve_process(s, process);
	close(process);
	fxt_manager_catch_up(&s->manager);
	return has_ended;
}

bool fxt_saver_step(struct fxt_saver *s, unsigned most_ms)
{
	if (s->manager.session.state == FXT_SESSION_READY)
		return false;
	if ((s->stop_ns && fxt_now_ns() >= s->stop_ns) || (s->signals && fxt_run_kept() >= s->signals))
		return false;
	fxt_manager_step(&s->manager, (int)most_ms);
	fxt_session_rotate(&s->manager.session);
	follow(s);
	return true;
}

bool fxt_saver_has_programs(struct fxt_saver *s)
{
	if (!s->manager.session.count)
		fxt_manager_catch_up(&s->manager);
	return s->manager.session.count;
}

/* Notes which programs still run. */
static void note_running(struct fxt_saver *s)
{
	const struct fxt_session *session = &s->manager.session;
	uint64_t now_ns = fxt_now_ns();
	bool fresh;

	for (size_t i = 0; i < session->count; i++) {
		const struct fxt_client *p = session->clients[i];

		if (p->id && s->mapped.data) {
			struct fxt_slot *slot = fxt_map_put(&s->merge->running, p->id, 0, &fresh);

			slot->value[0] = now_ns;
			slot->value[1] = (uint64_t)p->pid;
		}
	}
}

bool fxt_saver_finish(struct fxt_saver *s)
{
	/* A child may have come, handed its memory over, and ended since anybody looked. */
	if (s->manager.session.state != FXT_SESSION_READY)
		fxt_manager_catch_up(&s->manager);
	note_running(s);
	s->stop_ns = 0;
	s->signals = 0;
	/* If recording has not begun, there is no session that would close the archive. */
	if (s->manager.session.state == FXT_SESSION_READY)
		fxt_archive_close(&s->manager.session.archive);
	fxt_session_terminate(&s->manager.session);
	while (s->manager.session.state != FXT_SESSION_READY)
		fxt_manager_step(&s->manager, (int)(STEP_NS / 1000000));
	follow(s);
	fxt_archive_keep_put_together(s->archive);
	s->merge->given_up = s->manager.session.given_up;
	return s->mapped.data;
}

void fxt_saver_end(struct fxt_saver *s)
{
	fxt_manager_end(&s->manager);
	fxt_gates_free(&s->manager.session.gates);
}

void fxt_saver_free(struct fxt_saver *s)
{
	if (s->mapped.data) {
		fxt_reader_free(&s->reader);
		fxt_trace_close(&s->mapped);
	}
	free(s->socket);
	free(s->archive);
	free(s->key);
}
