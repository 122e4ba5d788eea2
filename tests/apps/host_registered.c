/* This program asks the kernel for barriers by membarrier(), registers itself for kinds of them in random
 * order, and asks again, also in a thread and in children that inherit what is registered. It prints every
 * answer. The agent registers the process too, which the program may not notice.
 *
 *	host_registered		the seed of the order is FXT_SEED
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

/* Headers older than Linux 6.3 do not have this. */
enum { GET_REGISTRATIONS = 1 << 9 };

static void ask(int command, unsigned flags)
{
	long result = syscall(SYS_membarrier, command, flags, 0);

	mark();
	printf(" %d/%u: %ld", command, flags, result < 0 ? -(long)errno : result);
}

/* Asks for everything that a program may ask for, and does not register for anything. */
static void *ask_all(void *who)
{
	static const int commands[] = {
		MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
		MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_GLOBAL_EXPEDITED, GET_REGISTRATIONS};
	unsigned i;

	printf("%s:", (const char *)who);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		ask(commands[i], 0);
		ask(commands[i], 2);
	}
	printf("\n");
	fflush(stdout);
	return NULL;
}

static void ask_everybody(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	ask_all("first thread");
	need(!pthread_create(&thread, NULL, ask_all, "another thread") && !pthread_join(thread, NULL));
	child = fork();
	need(child >= 0);
	if (!child) {
		ask_all("child");
		/* What a child registers is not its parent's. */
		ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
		ask_all("registered child");
		exit(0);
	}
	need(waitpid(child, &status, 0) == child && !status);
}

int main(void)
{
	int commands[] = {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
			  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ,
			  MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED};
	int left = sizeof(commands) / sizeof(*commands);

	random_seed(0);
	/* Children may not print again what was printed. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	allocate(100);
	ask_everybody();
	while (left) {
		int chosen = (int)random_below((uint64_t)left);

		ask(commands[chosen], 1);
		ask(commands[chosen], 0);
		printf("\n");
		commands[chosen] = commands[--left];
		ask_everybody();
	}
	print_marks();
	return 0;
}
