/* This program does what its arguments say, one after another, and then prints "done":
 *
 *	calls N		calloc(K, 0) and free, K counting on from 1 all through the program
 *	raise NAME	raise(SIGNAME); RTMIN+K counts from SIGRTMIN
 *	get NAME	another process sends SIGNAME
 *	within NAME	the same within a function of this name
 *	default NAME	from now on the program leaves the signal its default action, and says what was set
 *			before
 *	timer NAME	a timer of the program sends SIGNAME, and the program waits for it
 *	handle NAME	from now on the program counts the signal itself, and says how often it came and what
 *			was set before
 *	ignore NAME	or ignores it
 *	wait MS		usleep()
 *	open PATH	open() and close()
 *	fork ARGUMENTS	a child does these, separated by blanks
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static size_t calls;

static void follow(char **arguments);

static int signal_of(const char *name)
{
	int i;

	if (!strncmp(name, "RTMIN+", 6))
		return SIGRTMIN + atoi(name + 6);
	for (i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name))
			return i;
	abort();
}

static void make_calls(size_t count)
{
	void *volatile block;

	for (; count--;) {
		block = calloc(++calls, 0);
		free(block);
	}
}

/* Sends the signal from a child of vfork(): it has come when this returns, and no other process begins to
 * record. */
static void get(int number)
{
	pid_t child = vfork();

	if (child < 0)
		abort();
	if (!child) {
		kill(getppid(), number);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static __attribute__((noinline, noclone)) void within(int number)
{
	get(number);
}

static void wait_for_timer(int number)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
	struct itimerspec soon = {.it_value = {0, 1000000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
		abort();
	pause();
}

static void count(int number)
{
	(void)number;
	handled++;
}

static void set_handler(int number, void (*handler)(int))
{
	struct sigaction was, now = {.sa_handler = handler, .sa_flags = SA_RESTART};

	if (sigaction(number, &now, &was))
		abort();
	printf("before: %s, flags %x\n",
	       was.sa_handler == SIG_DFL   ? "default"
	       : was.sa_handler == SIG_IGN ? "ignored"
					   : "handled",
	       (unsigned)was.sa_flags);
	if (sigaction(number, NULL, &was) || was.sa_handler != handler)
		abort();
}

static void open_and_close(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		close(fd);
}

static void follow_in_child(char *text)
{
	char *arguments[20] = {0};
	int i = 0;
	pid_t child;

	for (text = strtok(text, " "); text && i < 19; text = strtok(NULL, " "))
		arguments[i++] = text;
	child = fork();
	if (child < 0)
		abort();
	if (!child) {
		follow(arguments);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void follow(char **arguments)
{
	for (; *arguments; arguments += 2) {
		const char *what = arguments[0];
		char *with = arguments[1];

		if (!with)
			abort();
		if (!strcmp(what, "calls"))
			make_calls(strtoul(with, NULL, 10));
		else if (!strcmp(what, "raise"))
			raise(signal_of(with));
		else if (!strcmp(what, "get"))
			get(signal_of(with));
		else if (!strcmp(what, "timer"))
			wait_for_timer(signal_of(with));
		else if (!strcmp(what, "within"))
			within(signal_of(with));
		else if (!strcmp(what, "handle"))
			set_handler(signal_of(with), count);
		else if (!strcmp(what, "default"))
			set_handler(signal_of(with), SIG_DFL);
		else if (!strcmp(what, "ignore"))
			set_handler(signal_of(with), SIG_IGN);
		else if (!strcmp(what, "wait"))
			usleep((useconds_t)atoi(with) * 1000);
		else if (!strcmp(what, "open"))
			open_and_close(with);
		else if (!strcmp(what, "fork"))
			follow_in_child(with);
		else
			abort();
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	follow(argv + 1);
	if (handled)
		printf("handled %d times\n", (int)handled);
	puts("done");
	return 0;
}
