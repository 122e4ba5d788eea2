/* The sockets of a manager: where they are, and how they are bound and removed. See manager.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "manager.h"
#include "tools/common/message.h"

enum { BACKLOG = 4096 };

char *fxt_manager_path(const char *given)
{
	const char *manager = getenv("FXT_MANAGER"), *runtime = getenv("XDG_RUNTIME_DIR");
	char *directory, *path;

	/* A '-' says to programs that nobody need serve there. */
	if (!given && manager && *manager)
		given = manager + (*manager == '-');
	if (!given && runtime && *runtime)
		return fxt_format("%s/fxt-manager", runtime);
	if (!given) {
		fxt_error(NULL, "where is the socket to be? Give --socket=PATH, or set FXT_MANAGER or "
				"XDG_RUNTIME_DIR");
		return NULL;
	}
	if (*given == '/')
		return fxt_strdup(given);
	directory = getcwd(NULL, 0);
	if (!directory) {
		fxt_error(NULL, "the current directory has no path: %s", strerror(errno));
		return NULL;
	}
	path = fxt_format("%s/%s", directory, given);
	free(directory);
	return path;
}

/* Returns whether there is a socket at the address that a dead manager has left. Otherwise errno says what
 * there is. */
static bool is_left(const struct sockaddr_un *address)
{
	struct stat status;
	int fd, error;

	/* A connection to a file that is no socket is refused, too. */
	if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
		errno = EEXIST;
		return false;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? EADDRINUSE : errno;
	close(fd);
	/* The queue of a manager that lives may be full. */
	errno = error == EAGAIN ? EADDRINUSE : error;
	return error == ECONNREFUSED;
}

/* Binds the socket, readable and writable by its owner alone. */
static int bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0177);
	int status = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	umask(mask);
	return status;
}

/* Binds the socket, and takes the place of one that was left. Returns false with errno. */
static bool bind_anew(int fd, const struct sockaddr_un *address)
{
	if (bind_private(fd, address) == 0)
		return true;
	if (errno != EADDRINUSE || !is_left(address) || unlink(address->sun_path) != 0)
		return false;
	return bind_private(fd, address) == 0;
}

bool fxt_manager_listen(struct fxt_manager *m, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;

	if (strlen(path) >= sizeof(address.sun_path)) {
		fxt_error(path, "the path of a socket has at most %zu bytes", sizeof(address.sun_path) - 1);
		return false;
	}
	memcpy(address.sun_path, path, strlen(path));
	m->path = path;
	m->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->listener >= 0 && bind_anew(m->listener, &address) && listen(m->listener, BACKLOG) == 0 &&
	    lstat(path, &status) == 0) {
		m->device = status.st_dev;
		m->inode = status.st_ino;
		m->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return true;
	}
	if (errno == EADDRINUSE)
		fxt_error(path, "another fxt serve is there already; give --socket another path");
	else
		fxt_error(path, "%s", strerror(errno));
	if (m->listener >= 0)
		close(m->listener);
	return false;
}

char *fxt_manager_listen_to_all(struct fxt_manager *m, int shared)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const socklen_t bytes = offsetof(struct sockaddr_un, sun_path) + 1 + FXT_RUN_NAME_BYTES;
	uint64_t random[3];
	char name[FXT_RUN_NAME_BYTES + 1];
	int fd;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return NULL;
	snprintf(name, sizeof(name), "%016" PRIx64, random[0]);
	memcpy(address.sun_path + 1, name, FXT_RUN_NAME_BYTES);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return NULL;
	if (bind(fd, (const struct sockaddr *)&address, bytes) != 0 || listen(fd, BACKLOG) != 0) {
		close(fd);
		return NULL;
	}
	m->second = fd;
	m->session.shared = shared;
	snprintf(m->session.secret, sizeof(m->session.secret), "%016" PRIx64 "%016" PRIx64, random[1],
		 random[2]);
	return fxt_format("%s%s", name, m->session.secret);
}

void fxt_manager_unlisten(struct fxt_manager *m)
{
	struct stat status;

	if (m->second > 0)
		close(m->second);
	m->second = 0;

	if (m->listener < 0)
		return;
	/* Somebody may have removed our socket, and another manager have its own there. */
	if (lstat(m->path, &status) == 0 && status.st_dev == m->device && status.st_ino == m->inode)
		unlink(m->path);
	close(m->listener);
	close(m->spare);
	m->listener = -1;
}
