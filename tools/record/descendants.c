/* See descendants.h. Who descends from whom is read from /proc, and only when the command has ended and no
 * program is connected.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/map.h"
#include "tools/common/message.h"
#include "tools/manager/heir.h"

enum { READ_TRIES = 20 };

struct fxt_descendants {
	int fd;
	volatile pid_t command;         /* 0: it was reaped */
	pid_t other;                    /* 0: there is none */
	sem_t reaped;
	atomic_bool are_left;
};

struct fxt_descendants *fxt_descendants_adopt(void)
{
	struct fxt_descendants *d = fxt_alloc(1, sizeof(*d));

	d->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sem_init(&d->reaped, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return d;
}

static void tell(const struct fxt_descendants *d)
{
	const uint64_t one = 1;

	if (write(d->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		fxt_error(NULL, "eventfd: %s", strerror(errno));
}

/* Reaps all children but the command. Those that were cloned without a signal are none of these: the heir and
 * the other one. */
static void *reap(void *context)
{
	struct fxt_descendants *d = context;
	siginfo_t info = {0};

	for (;;) {
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (info.si_pid == d->command) {
			while (sem_wait(&d->reaped) != 0)
				;
			d->command = 0;
		} else {
			waitpid(info.si_pid, NULL, 0);
		}
		tell(d);
	}
	return NULL;
}

void fxt_descendants_begin(struct fxt_descendants *d, pid_t command, pid_t other)
{
	pthread_t thread;

	d->command = command;
	d->other = other;
	if (pthread_create(&thread, NULL, reap, d) == 0)
		pthread_detach(thread);
}

void fxt_descendants_reaped(struct fxt_descendants *d)
{
	sem_post(&d->reaped);
}

void fxt_descendants_leave(struct fxt_descendants *d)
{
	if (!atomic_exchange(&d->are_left, true))
		tell(d);
}

bool fxt_descendants_are_left(const struct fxt_descendants *d)
{
	return atomic_load(&d->are_left);
}

int fxt_descendants_fd(const struct fxt_descendants *d)
{
	return d->fd;
}

/* -- Who lives ------------------------------------------------------------------------------------ */

struct process {
	pid_t pid, parent;              /* the parent is 0 while the kernel takes the process away */
	bool is_dead;
	char name[sizeof(((struct fxt_descendant *)NULL)->name)];
};

/* Reads what the kernel says of a process. Returns false if it is over. */
static bool read_process(pid_t pid, struct process *p)
{
	char *path = fxt_format("/proc/%d/stat", (int)pid), line[512] = "", *from, *to;
	FILE *file = fopen(path, "re");
	size_t length;
	int parent, threads;
	char state;

	free(path);
	if (!file)
		return false;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	fclose(file);
	/* A name may have any bytes, parentheses too. */
	from = strchr(line, '(');
	to = strrchr(line, ')');
	if (!from || !to ||
	    sscanf(to + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state,
		   &parent, &threads) != 3)
		return false;
	length = (size_t)(to - from - 1);
	*p = (struct process){.pid = pid, .parent = (pid_t)parent};
	/* The first thread of a process may have ended before the others, and has this state as well. */
	p->is_dead = (state == 'Z' || state == 'X') && threads <= 1;
	memcpy(p->name, from + 1, length < sizeof(p->name) ? length : sizeof(p->name) - 1);
	return true;
}

/* Returns whether this process has a child but the heir and the other one. Without a child it has no
 * descendant, because orphans are its children. */
static bool has_children(void)
{
	siginfo_t info;
	int result;

	do
		result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
	while (result != 0 && errno == EINTR);
	return result == 0 || errno != ECHILD;
}

/* Reads all processes but the dead. The directory is read before its entries: a process may end meanwhile
 * that has made another one after the directory was read. *is_whole says that there may be no descendant
 * of that kind. */
static struct process *all_processes(size_t *count, bool *is_whole)
{
	const pid_t own = getpid();
	DIR *directory = opendir("/proc");
	struct process *list = NULL, one;
	size_t capacity = 0;
	struct dirent *e;

	*count = 0;
	*is_whole = true;
	while (directory && (e = readdir(directory))) {
		bool is_over;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		is_over = !read_process((pid_t)strtol(e->d_name, NULL, 10), &one);
		if (is_over || (one.is_dead && (one.parent == own || !one.parent)))
			*is_whole = false;
		if (is_over || one.is_dead)
			continue;
		list = fxt_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = one;
	}
	if (directory)
		closedir(directory);
	return list;
}

/* Reads all processes and who is whose parent, again where something may be missing. *is_whole says that
 * nothing is: where other processes of the machine come and go all the time, something may be after all. */
static struct process *read_all(size_t *count, struct fxt_map *parents, bool *is_whole)
{
	struct process *all = NULL;
	bool fresh;
	size_t i;

	*is_whole = false;
	for (unsigned tries = 0; tries < READ_TRIES && !*is_whole; tries++) {
		free(all);
		fxt_map_free(parents);
		*parents = (struct fxt_map){0};
		all = all_processes(count, is_whole);
		for (i = 0; i < *count; i++)
			fxt_map_put(parents, (uint64_t)all[i].pid, 0, &fresh)->value[0] =
				(uint64_t)all[i].parent;
		for (i = 0; i < *count; i++)
			*is_whole &= !all[i].parent || fxt_map_find(parents, (uint64_t)all[i].parent, 0);
	}
	return all;
}

/* Returns whether this process is an ancestor of `pid`. */
static bool descends(const struct fxt_map *parents, pid_t pid, pid_t other)
{
	const pid_t own = getpid();
	const struct fxt_slot *s;
	size_t steps;

	/* The list was not made at one moment, so it might have a circle. */
	for (steps = 0; steps < 1000 && pid != other && pid != fxt_heir_process(); steps++) {
		s = fxt_map_find(parents, (uint64_t)pid, 0);
		if (!s)
			break;
		pid = (pid_t)s->value[0];
		if (pid == own)
			return true;
	}
	return false;
}

/* Returns whether the file of mappings has the agent. *is_empty says that it has none at all, as that of a
 * thread that has ended. */
static bool maps_agent(const char *path, const char *agent, bool *is_empty)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	*is_empty = true;
	while (file && !found && getline(&line, &room, file) >= 0) {
		*is_empty = false;
		found = strstr(line, agent);
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

/* Threads share their mappings, so this looks at the first thread that goes on. */
static bool has_agent(pid_t pid, const char *agent)
{
	char *path = fxt_format("/proc/%d/task", (int)pid);
	DIR *directory = opendir(path);
	bool found = false, is_empty = true;
	struct dirent *e;

	free(path);
	while (is_empty && directory && (e = readdir(directory))) {
		path = fxt_format("/proc/%d/task/%s/maps", (int)pid, e->d_name);
		if (isdigit((unsigned char)e->d_name[0]))
			found = maps_agent(path, agent, &is_empty);
		free(path);
	}
	if (directory)
		closedir(directory);
	return found;
}

size_t fxt_descendants_list(const struct fxt_descendants *d, struct fxt_descendant **list, const char *agent,
			    bool *is_whole)
{
	struct fxt_map parents = {0};
	size_t count, found = 0, capacity = 0, i;
	struct fxt_descendant *one;
	struct process *all;

	*list = NULL;
	*is_whole = true;
	if (!has_children())
		return 0;
	all = read_all(&count, &parents, is_whole);
	/* Where there is no /proc, not even this process is found. */
	*is_whole &= count > 0;
	for (i = 0; i < count; i++) {
		if (!descends(&parents, all[i].pid, d->other))
			continue;
		*list = fxt_grow(*list, &capacity, found + 1, sizeof(**list));
		one = &(*list)[found++];
		*one = (struct fxt_descendant){.pid = all[i].pid, .has_agent = has_agent(all[i].pid, agent)};
		memcpy(one->name, all[i].name, sizeof(one->name));
	}
	fxt_map_free(&parents);
	free(all);
	return found;
}
