/* A child is killed, and its parent goes on for 300 ms without having reaped it:
 *
 *	unreaped left|ignored|late|leaderless
 *
 * `left`: the child stays a zombie. `ignored`: SIGCHLD is ignored, so that it does not even become one.
 * `late`: it is reaped after that time. `leaderless`: its first thread had ended 50 ms before, and another
 * one was the process. The child has a file open and is in pause() when it is killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int say[2];

static void be_killed(void)
{
	if (open("/dev/null", O_RDONLY) < 0 || write(say[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Returns whether the first thread of this process has ended. */
static int leader_has_ended(void)
{
	char text[512] = "", *state;
	FILE *file = fopen("/proc/self/stat", "re");

	if (file && fgets(text, sizeof(text), file) && (state = strrchr(text, ')'))) {
		fclose(file);
		return state[2] == 'Z';
	}
	_exit(1);
}

static void *be_the_process(void *unused)
{
	const struct timespec while_alone = {0, 50000000};

	while (!leader_has_ended())
		;
	nanosleep(&while_alone, NULL);
	be_killed();
	return unused;
}

int main(int count, char **args)
{
	const struct timespec time = {0, 300000000};
	const char *how = count > 1 ? args[1] : "left";
	pthread_t thread;
	siginfo_t info;
	pid_t child;
	char byte;

	if (!strcmp(how, "ignored"))
		signal(SIGCHLD, SIG_IGN);
	if (pipe(say) || (child = fork()) < 0)
		return 1;
	if (!child) {
		close(say[0]);
		if (strcmp(how, "leaderless"))
			be_killed();
		if (pthread_create(&thread, NULL, be_the_process, NULL))
			return 1;
		pthread_exit(NULL);
	}
	close(say[1]);
	if (read(say[0], &byte, 1) != 1 || kill(child, SIGKILL))
		return 1;
	/* Its end of the pipe is closed when it has ended. */
	if (!strcmp(how, "ignored") ? read(say[0], &byte, 1) != 0
				    : waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT))
		return 1;
	nanosleep(&time, NULL);
	if (!strcmp(how, "late"))
		waitpid(child, NULL, 0);
	return 0;
}
