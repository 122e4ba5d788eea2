/* Goes through time namespaces, which shift CLOCK_BOOTTIME and CLOCK_MONOTONIC, as its arguments say:
 *
 *	shift SECONDS NS        makes one for its children, in which the clocks are so far ahead
 *	enter                   enters it by setns(); numbered: by syscall(); raw: by an instruction
 *	hide                    mounts something over /proc
 *	fork                    goes on in a child, for which it waits
 *	exec                    goes on in a new image of this program
 *	run PROGRAM ...         executes another program
 *	work N                  opens and closes /dev/null N times, and sleeps for 2 ms each time
 *
 * Prints how often it has opened /dev/null. Exits with 77 where it may not do these things. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { CANNOT = 77 };

static void may(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(CANNOT);
}

static void shift(const char *seconds, const char *ns)
{
	char text[128];
	int fd, n = snprintf(text, sizeof(text), "monotonic %s %s\nboottime %s %s\n", seconds, ns, seconds,
			     ns);

	may(unshare(CLONE_NEWTIME), "unshare");
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	may(fd, "timens_offsets");
	may(write(fd, text, (size_t)n) == n ? 0 : -1, "timens_offsets");
	close(fd);
}

static int raw_setns(int fd)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(SYS_setns), "D"((long)fd), "S"(0L) : "rcx", "r11", "memory");
	return result ? -1 : 0;
#else
	return (int)syscall(SYS_setns, fd, 0);
#endif
}

static void enter(const char *how)
{
	int fd = open("/proc/self/ns/time_for_children", O_RDONLY);

	may(fd, "time_for_children");
	may(!strcmp(how, "enter")      ? setns(fd, CLONE_NEWTIME)
	    : !strcmp(how, "numbered") ? (int)syscall(SYS_setns, fd, 0)
				       : raw_setns(fd),
	    "setns");
	close(fd);
}

static void hide(void)
{
	may(unshare(CLONE_NEWNS), "unshare");
	may(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount /");
	may(mount("none", "/proc", "tmpfs", 0, NULL), "mount /proc");
}

static void work(int times)
{
	int i, fd;

	for (i = 0; i < times; i++) {
		fd = open("/dev/null", O_RDONLY);
		usleep(2000);
		close(fd);
	}
	printf("%d\n", times);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	for (argv++; argc > 1 && *argv; argv++) {
		if (!strcmp(*argv, "shift")) {
			shift(argv[1], argv[2]);
			argv += 2;
		} else if (!strcmp(*argv, "enter") || !strcmp(*argv, "numbered") || !strcmp(*argv, "raw")) {
			enter(*argv);
		} else if (!strcmp(*argv, "hide")) {
			hide();
		} else if (!strcmp(*argv, "fork")) {
			child = fork();
			if (child > 0) {
				waitpid(child, &status, 0);
				return WEXITSTATUS(status);
			}
		} else if (!strcmp(*argv, "exec")) {
			*argv = getenv("SELF");
			execv(*argv, argv);
			return 1;
		} else if (!strcmp(*argv, "run")) {
			execvp(argv[1], argv + 1);
			return 1;
		} else if (!strcmp(*argv, "work")) {
			work(atoi(*++argv));
		} else {
			return 2;
		}
	}
	return 0;
}
