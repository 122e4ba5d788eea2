/* See top_session.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "top_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/archive/archive_keep.h"
#include "tools/common/message.h"
#include "tools/join/run_directory.h"
#include "tools/manager/manager.h"

enum { TRIES = 20 };

/* -- Messages ---------------------------------------------------------------------------------- */

/* If the manager is gone, the end of the connection will be received, behind what the manager has said. */
void fxt_top_session_ask(struct fxt_top_session *s)
{
	json_t *call = fxt_controlling_call(&s->manager, "save_trace");

	/* All files of a long run are read. */
	json_object_set_new(call, "params", json_pack("{s:b}", "parts", 1));
	s->is_asked = fxt_controlling_send(&s->manager, call, -1);
}

/* Notes how long the trace has become, and whether the file that is read is the newest still. When the
 * session is over its files are made one, so nothing of them is looked for any more. */
static void note_bytes(struct fxt_top_session *s)
{
	struct stat here, newest;

	if (s->fd < 0 || fstat(s->fd, &here) != 0)
		return;
	s->bytes = s->earlier_bytes + (uint64_t)here.st_size;
	if (s->is_divided && !s->is_over && stat(s->trace, &newest) == 0)
		s->is_followed = newest.st_ino != here.st_ino || newest.st_dev != here.st_dev;
}

/* Takes the answer of save_trace. */
static void take_answer(struct fxt_top_session *s, const json_t *answer)
{
	const json_t *result = json_object_get(answer, "result");
	const char *path = json_string_value(json_object_get(result, "path"));
	const char *state = json_string_value(json_object_get(result, "state"));
	const char *message = json_string_value(json_object_get(answer, "message"));

	s->is_asked = false;
	free(s->refusal);
	s->refusal = path ? NULL : fxt_strdup(message ? message : "it does not say why");
	if (!path)
		return;
	if (!s->trace)
		s->trace = fxt_strdup(path);
	snprintf(s->state, sizeof(s->state), "%s", state ? state : "");
	s->dropped = (uint64_t)json_integer_value(json_object_get(result, "records_dropped"));
	note_bytes(s);
}

void fxt_top_session_hear(struct fxt_top_session *s)
{
	json_t *object = fxt_controlling_receive(&s->manager, NULL, NULL);
	const char *state = json_string_value(json_object_get(object, "state"));

	if (!object) {
		s->is_over = true;
		note_bytes(s);
	} else if (!json_object_get(object, "event")) {
		if (json_integer_value(json_object_get(object, "id")) == s->manager.calls)
			take_answer(s, object);
	} else if (state && strcmp(state, "READY") == 0 && !s->is_over) {
		s->is_over = true;
		note_bytes(s);
	}
	json_decref(object);
}

/* -- Finding it -------------------------------------------------------------------------------- */

/* Connects to the manager at the socket, which belongs to `s` then, and has the trace saved. Returns false if
 * nobody answers there who can do that. */
static bool reach(struct fxt_top_session *s, char *socket)
{
	/* A manager answers at once. */
	struct timeval patience = {.tv_sec = 10}, any = {0};

	fxt_top_session_free(s);
	*s = (struct fxt_top_session){.socket = socket, .fd = -1, .manager.fd = -1};
	if (!fxt_controlling_connect(&s->manager, socket)) {
		s->refusal = fxt_strdup(strerror(errno));
		return false;
	}
	setsockopt(s->manager.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	/* Nobody else's answer is awaited, so that of watch_state is passed over. */
	fxt_controlling_send(&s->manager, fxt_controlling_call(&s->manager, "watch_state"), -1);
	fxt_top_session_ask(s);
	while (s->is_asked && !s->is_over)
		fxt_top_session_hear(s);
	setsockopt(s->manager.fd, SOL_SOCKET, SO_RCVTIMEO, &any, sizeof(any));
	if (!s->trace && !s->refusal)
		s->refusal = fxt_strdup("whoever is there does not answer as a manager does");
	return s->trace;
}

/* Looks in the directory for directories of parts, and in these for a manager that answers. */
static bool reach_in(struct fxt_top_session *s, const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries)))
		if (fxt_parts_made_by_record(entry->d_name))
			found = reach(s, fxt_format("%s/%s/" FXT_PARTS_SOCKET, directory, entry->d_name));
	if (entries)
		closedir(entries);
	return found;
}

/* Returns the socket at which fxt serve is by default, or NULL if no variable names one. */
static char *usual_socket(void)
{
	const char *manager = getenv("FXT_MANAGER"), *runtime = getenv("XDG_RUNTIME_DIR");

	return (manager && *manager) || (runtime && *runtime) ? fxt_manager_path(NULL) : NULL;
}

/* Finds whatever session there is. */
static bool find_any(struct fxt_top_session *s)
{
	char *path = usual_socket();
	bool found = path && reach(s, fxt_strdup(path));

	/* If somebody is there who cannot be watched, that says more than that nobody is elsewhere. */
	if (!found && s->manager.fd >= 0) {
		fxt_error(path, "this session cannot be watched: %s", s->refusal);
	} else if (!found) {
		found = reach_in(s, ".");
		if (!found)
			fxt_error(NULL,
				  "nobody records: no fxt serve is %s%s, and no fxt record has its "
				  "directory (.fxt-parts.*) here; give the socket of one, or the directory "
				  "of the other",
				  path ? "at " : "known (neither FXT_MANAGER nor XDG_RUNTIME_DIR is set)",
				  path ? path : "");
	}
	free(path);
	return found;
}

/* Finds the session whose trace is this file: by the socket beside it, or the usual one. */
static bool find_by_trace(struct fxt_top_session *s, const char *given)
{
	const char *name = strrchr(given, '/');
	char *whole = realpath(given, NULL), *usual = usual_socket();
	char *beside = name ? fxt_format("%.*s/" FXT_PARTS_SOCKET, (int)(name - given), given)
			    : fxt_strdup(FXT_PARTS_SOCKET);
	bool found = reach(s, beside) && whole && strcmp(s->trace, whole) == 0;

	if (!found && usual)
		found = reach(s, usual) && whole && strcmp(s->trace, whole) == 0;
	if (!found)
		fxt_error(given, "no session that is going on writes this file; fxt top takes the socket of "
				 "fxt serve, or the directory of fxt record (.fxt-parts.*), and fxt report "
				 "a trace");
	free(whole);
	return found;
}

/* Finds the session that was named. */
static bool find_given(struct fxt_top_session *s, const char *given)
{
	struct stat status;
	bool found;

	if (stat(given, &status) != 0) {
		fxt_error(given, "%s", strerror(errno));
		return false;
	}
	if (S_ISREG(status.st_mode))
		return find_by_trace(s, given);
	if (!S_ISDIR(status.st_mode))
		found = reach(s, fxt_strdup(given));
	else
		found = reach(s, fxt_format("%s/" FXT_PARTS_SOCKET, given)) || reach_in(s, given);
	if (!found)
		fxt_error(given, "no session can be watched here (%s); give the socket of fxt serve, or the "
				 "directory of fxt record (.fxt-parts.*)",
			  s->refusal);
	return found;
}

/* Returns whether the trace is that of an fxt record, which divides it if the run is long. */
static bool is_divided(const char *trace)
{
	char *directory = fxt_strdup(trace), *slash = strrchr(directory, '/');
	bool is;

	if (slash)
		*slash = '\0';
	is = slash && fxt_parts_made_by_record(directory);
	free(directory);
	return is;
}

/* Opens the file that comes next. Its manager may begin another one, and remove some, meanwhile. Returns
 * false with errno if there is none. */
static bool open_next(struct fxt_top_session *s)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t number = 0, again = 0;
		char *path = s->is_divided ? fxt_archive_keep_next(s->trace, s->number, &number)
					   : fxt_strdup(s->trace);
		int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		char *name = fxt_format("/proc/self/fd/%d", fd);
		struct fxt_trace_file file;
		bool ok = fd >= 0;

		free(path);
		path = ok && s->is_divided ? fxt_archive_keep_next(s->trace, s->number, &again) : NULL;
		free(path);
		ok = ok && number == again && fxt_trace_follow(&file, name);
		free(name);
		if (ok) {
			file.path = s->trace;
			s->file = file;
			s->fd = fd;
			s->number = number;
			return true;
		}
		if (fd >= 0)
			close(fd);
	}
	return false;
}

bool fxt_top_session_find(struct fxt_top_session *s, const char *given)
{
	*s = (struct fxt_top_session){.fd = -1, .manager.fd = -1};
	if (!(given ? find_given(s, given) : find_any(s)))
		return false;
	s->is_divided = is_divided(s->trace);
	if (!open_next(s)) {
		fxt_error(s->trace, "the trace cannot be read: %s", strerror(errno));
		return false;
	}
	fxt_reader_init(&s->reader, s->file.data, 0);
	s->reader.copies = true;
	note_bytes(s);
	return true;
}

/* -- Reading it -------------------------------------------------------------------------------- */

/* Goes on with the next file of the trace. Returns false if there is none now. */
static bool go_on(struct fxt_top_session *s)
{
	struct fxt_trace_file before = s->file;
	uint64_t bytes = s->bytes;
	int fd = s->fd;

	/* The file may have become longer before the other one was begun. */
	note_bytes(s);
	if (s->bytes != bytes)
		return true;
	if (!open_next(s))
		return false;
	s->earlier_bytes = bytes;
	s->is_followed = false;
	s->begin = s->reader.at;
	fxt_reader_go_on(&s->reader, s->file.data, 0);
	fxt_trace_close(&before);
	close(fd);
	note_bytes(s);
	return true;
}

bool fxt_top_session_next(struct fxt_top_session *s, struct fxt_record *rec)
{
	do {
		uint64_t bytes = s->bytes - s->earlier_bytes;

		s->reader.size = s->begin + (bytes < s->file.size ? bytes : s->file.size);
		s->reader.stop = FXT_STOP_NONE;
		if (fxt_reader_next(&s->reader, rec))
			return true;
	} while (s->is_followed && go_on(s));
	return false;
}

void fxt_top_session_drop(const struct fxt_top_session *s)
{
	fxt_trace_drop(s->file.data, s->reader.data + s->reader.at);
}

void fxt_top_session_free(struct fxt_top_session *s)
{
	fxt_controlling_end(&s->manager);
	if (s->file.data) {
		fxt_reader_free(&s->reader);
		fxt_trace_close(&s->file);
		close(s->fd);
	}
	free(s->socket);
	free(s->trace);
	free(s->refusal);
}
