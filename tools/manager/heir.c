/* See heir.h. What the heir does with what it finds is in heir_saves.c. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "heir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "heir_parts.h"
#include "tools/common/message.h"

struct fxt_heir {
	pid_t pid;
	int manager;                    /* a pidfd */
	struct fxt_will *will;
	uint32_t next;                  /* where a free entry is looked for first */
};

/* Manager and heir share a lock of the archive, and an heir that writes has it alone. So one that is shared
 * belongs to a manager that lives, or to one that was killed so shortly ago that the heir has not noticed. */
enum { LOOK_MS = 10, MOST_SHARED_MS = 100, MOST_WAIT_MS = 5000 };

static pid_t process;

pid_t fxt_heir_process(void)
{
	return process;
}

/* Sleeps until the manager is gone, and takes its place then. Descriptors are shared until then. */
static void __attribute__((noreturn)) wait_and_inherit(const struct fxt_heir *heir, const char *socket,
						       const char *secret)
{
	struct pollfd manager = {heir->manager, POLLIN, 0};
	sigset_t all;

	/* Who ends the manager's group or terminal does not mean the heir. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "fxt heir");
	while (poll(&manager, 1, -1) != 1)
		;
	if (!atomic_load(&heir->will->is_over))
		fxt_heir_inherit(heir->will, socket, secret);
	_exit(0);
}

struct fxt_heir *fxt_heir_make(const struct fxt_session *session, const char *socket)
{
	struct fxt_heir *heir = fxt_alloc(1, sizeof(*heir));

	heir->manager = (int)syscall(SYS_pidfd_open, getpid(), 0);
	heir->will = mmap(NULL, sizeof(*heir->will), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (heir->manager >= 0 && heir->will != MAP_FAILED) {
		fcntl(heir->manager, F_SETFD, FD_CLOEXEC);
		fxt_heir_session(heir, session);
		fflush(NULL);
		/* No signal tells of its end, so nobody who waits for children meets it. */
		heir->pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
		if (heir->pid == 0)
			wait_and_inherit(heir, socket, session->secret);
	}
	if (heir->pid > 0) {
		process = heir->pid;
		return heir;
	}
	if (heir->will != MAP_FAILED)
		munmap(heir->will, sizeof(*heir->will));
	if (heir->manager >= 0)
		close(heir->manager);
	free(heir);
	return NULL;
}

void fxt_heir_end(struct fxt_heir *heir)
{
	if (!heir)
		return;
	atomic_store(&heir->will->is_over, 1);
	kill(heir->pid, SIGKILL);
	waitpid(heir->pid, NULL, __WALL);
	process = 0;
	munmap(heir->will, sizeof(*heir->will));
	close(heir->manager);
	free(heir);
}

void fxt_heir_session(struct fxt_heir *heir, const struct fxt_session *session)
{
	const struct fxt_archive *a = &session->archive;
	bool is_on = session->state != FXT_SESSION_READY;
	struct fxt_will *will = heir ? heir->will : NULL;
	struct stat status;

	if (!will)
		return;
	atomic_store(&will->fd, -1);
	atomic_store(&will->session, is_on ? session->number : 0);
	if (!is_on || fstat(a->fd, &status) != 0)
		return;
	will->device = status.st_dev;
	will->inode = status.st_ino;
	atomic_store(&will->bytes, a->bytes);
	if (!a->is_given)
		flock(a->fd, LOCK_SH | LOCK_NB);
	snprintf(will->path, sizeof(will->path), "%s", a->is_given ? "" : a->path);
	atomic_store(&will->final_fd, a->final_fd);
	atomic_store(&will->fd, a->fd);
}

/* Returns a copy of the descriptor, or -1 where descriptors become scarce: connections need them more. */
static int copy_of(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct rlimit limit;

	if (copy >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)copy > limit.rlim_cur / 3 * 2) {
		close(copy);
		return -1;
	}
	return copy;
}

void fxt_heir_gets(struct fxt_heir *heir, struct fxt_client *p, int fd, bool is_wanted)
{
	struct fxt_bequest *bequest;
	uint32_t i;
	int copy = heir ? copy_of(fd) : -1;

	if (copy < 0)
		return;
	for (i = 0; i < FXT_BEQUESTS; i++) {
		bequest = &heir->will->list[(heir->next + i) % FXT_BEQUESTS];
		if (!atomic_load_explicit(&bequest->memory, memory_order_relaxed))
			break;
	}
	if (i == FXT_BEQUESTS) {
		close(copy);
		return;
	}
	heir->next = (heir->next + i + 1) % FXT_BEQUESTS;
	atomic_store(&bequest->connection, p->fd);
	atomic_store(&bequest->is_wanted, is_wanted);
	bequest->process = p->process;
	bequest->pid = p->pid;
	bequest->koid = (uint32_t)p->koid;
	memcpy(bequest->name, p->name, sizeof(bequest->name));
	p->bequest = bequest;
	/* The heir looks at this first. */
	atomic_store_explicit(&bequest->memory, copy + 1, memory_order_release);
}

void fxt_heir_wants(struct fxt_client *p)
{
	if (p->bequest)
		atomic_store(&p->bequest->is_wanted, true);
}

void fxt_heir_saved(const struct fxt_session *session, struct fxt_client *p, bool is_end)
{
	_Atomic uint32_t *saved_pass = &((struct fxt_managed_header *)p->memory)->saved_pass;
	struct fxt_will *will = session->heir ? session->heir->will : NULL;
	uint32_t number = atomic_load(saved_pass) + 1;

	if (will && p->bequest) {
		will->ending.number = number;
		will->ending.is_end = is_end;
		will->ending.bytes = session->archive.bytes;
		atomic_store(&will->ending.whose, (uint32_t)(p->bequest - will->list) + 1);
	}
	atomic_store(saved_pass, number);
	if (will)
		atomic_store(&will->bytes, session->archive.bytes);
	if (is_end && p->bequest)
		atomic_store(&p->bequest->is_wanted, false);
	if (will)
		atomic_store(&will->ending.whose, 0);
}

void fxt_heir_loses_connection(struct fxt_client *p)
{
	if (p->bequest)
		atomic_store(&p->bequest->connection, -1);
}

void fxt_heir_forgets(struct fxt_client *p)
{
	int memory = p->bequest ? atomic_exchange(&p->bequest->memory, 0) - 1 : -1;

	p->bequest = NULL;
	if (memory >= 0)
		close(memory);
}

static void await_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	for (int ms = 0; fd >= 0 && ms < MOST_WAIT_MS; ms += LOOK_MS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		if (ms >= MOST_SHARED_MS && flock(fd, LOCK_SH | LOCK_NB) == 0)
			break;
		poll(NULL, 0, LOOK_MS);
	}
	if (fd >= 0)
		close(fd);
}

void fxt_heir_await(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		/* The kernel's witness locks its file too, and is no heir. */
		bool may_be = strstr(e->d_name, ".fxt") && strncmp(e->d_name, "kernel.", 7) != 0;
		char *path = may_be ? fxt_format("%s/%s", directory, e->d_name) : NULL;

		if (path)
			await_file(path);
		free(path);
	}
	if (d)
		closedir(d);
}
