/* Makes children of every kind, which read what they have inherited, by number. The program prints how many
 * reads of each file there are: "FILE READS". A child reads its descriptor, also by another number, and
 * then, behind the old number, a file of its own.
 *
 *	inherits                                makes them all
 *	inherits read NUMBER READS FILE READS   is one of them, executed
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

extern char **environ;

enum { MOST = 20, COMMAND_BYTES = 4352 };

static char self[4096];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_file(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | flags, 0600);

	if (fd < 0)
		fail(name);
	return fd;
}

static void read_often(int fd, int times)
{
	char byte;

	while (times--)
		if (read(fd, &byte, 1) < 0)
			fail("read");
}

/* Every child reads its descriptor, a duplicate, and another file behind the old number. */
static void use(int fd, int times, const char *other, int other_times)
{
	int copy = dup(fd);

	read_often(fd, times - 1);
	close(fd);
	read_often(copy, 1);
	if (open_file(other, 0) != fd)
		fail("the number was not free");
	read_often(fd, other_times);
}

static void reap(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("child");
}

struct child {
	char file[32], other[32];
	int fd, times, other_times;
	char number[16], reads[16], other_reads[16];
	char *arguments[7];
};

/* Opens a file for a child, draws how often the child reads each of its two files, and fills in the arguments
 * that say so to a child that is executed. */
static struct child *child_for(const char *kind)
{
	static struct child child;

	snprintf(child.file, sizeof(child.file), "file-%s", kind);
	snprintf(child.other, sizeof(child.other), "other-%s", kind);
	child.fd = open_file(child.file, 0);
	child.times = 2 + (int)random_below(MOST);
	child.other_times = 1 + (int)random_below(MOST);
	snprintf(child.number, sizeof(child.number), "%d", child.fd);
	snprintf(child.reads, sizeof(child.reads), "%d", child.times);
	snprintf(child.other_reads, sizeof(child.other_reads), "%d", child.other_times);
	memcpy(child.arguments,
	       (char *[]){self, "read", child.number, child.reads, child.other, child.other_reads, NULL},
	       sizeof(child.arguments));
	return &child;
}

static void tell(const char *file, int reads)
{
	printf("%s %d\n", file, reads);
	fflush(stdout);
}

static void tell_both(const struct child *child)
{
	tell(child->file, child->times);
	tell(child->other, child->other_times);
}

static const char *command_of(const struct child *child)
{
	static char command[COMMAND_BYTES];

	snprintf(command, sizeof(command), "exec '%s' read %s %s %s %s", self, child->number, child->reads,
		 child->other, child->other_reads);
	return command;
}

static void forked(void)
{
	struct child *child = child_for("fork");
	pid_t pid = fork();

	if (!pid) {
		use(child->fd, child->times, child->other, child->other_times);
		_exit(0);
	}
	/* The child keeps its descriptor, whatever becomes of the parent's. */
	close(child->fd);
	reap(pid);
	tell_both(child);
}

static void executed(void)
{
	struct child *child = child_for("exec");
	pid_t pid = fork();

	if (!pid) {
		execv(self, child->arguments);
		_exit(1);
	}
	reap(pid);
	tell_both(child);
	close(child->fd);
}

static void vforked(void)
{
	struct child *child = child_for("vfork");
	int spare = open_file("spare", O_CLOEXEC), number = dup(spare), mine = child->fd;
	pid_t pid;

	/* The child puts its file behind this number. In the parent the number stays the file `spare`. */
	snprintf(child->number, sizeof(child->number), "%d", number);
	pid = vfork();
	if (!pid) {
		dup2(mine, number);
		execv(self, child->arguments);
		_exit(1);
	}
	reap(pid);
	read_often(number, 3);
	tell("spare", 3);
	tell_both(child);
	close(number);
	close(spare);
	close(mine);
}

/* With file actions nothing is known of the child's descriptors, so reads of its file have no name. */
static void spawned(bool has_actions)
{
	struct child *child = child_for(has_actions ? "spawn" : "plain");
	posix_spawn_file_actions_t actions;
	int wrong = open_file("wrong", 0);
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, child->fd, wrong);
	if (has_actions)
		snprintf(child->number, sizeof(child->number), "%d", wrong);
	if (posix_spawn(&pid, self, has_actions ? &actions : NULL, NULL, child->arguments, environ))
		fail("posix_spawn");
	reap(pid);
	posix_spawn_file_actions_destroy(&actions);
	if (has_actions)
		tell(child->other, child->other_times);
	else
		tell_both(child);
	close(wrong);
	close(child->fd);
}

static void by_shell(void)
{
	struct child *child = child_for("system");
	FILE *stream;

	if (system(command_of(child)))
		fail("system");
	tell_both(child);
	close(child->fd);
	child = child_for("popen");
	stream = popen(command_of(child), "r");
	if (!stream || pclose(stream))
		fail("popen");
	tell_both(child);
	close(child->fd);
}

int main(int argc, char **argv)
{
	if (argc == 6) {
		use(atoi(argv[2]), atoi(argv[3]), argv[4], atoi(argv[5]));
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		fail("/proc/self/exe");
	random_seed(0);
	forked();
	executed();
	vforked();
	spawned(false);
	spawned(true);
	by_shell();
	return 0;
}
