/* Three processes deliver letters from one spool. The fault: who delivers holds the spool's lock until the
 * child that delivers has ended. */
#include "beside.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

void run_delivery(void)
{
	pid_t child = fork();

	if (child == 0) {
		work(15000);
		_exit(0);
	}
	waitpid(child, NULL, 0); /* FAULT */
}

void deliver(int spool)
{
	must(flock(spool, LOCK_EX) == 0, "flock");
	run_delivery();
	must(flock(spool, LOCK_UN) == 0, "flock");
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			int spool = open("spool.lock", O_RDWR | O_CREAT, 0600);

			for (int letter = 0; letter < 8; letter++) {
				work(100);
				deliver(spool);
			}
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
