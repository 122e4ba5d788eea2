/* Processes add letters to one mailbox. The fault: who has locked the mailbox pauses before it tries a busy
 * index again, and keeps the mailbox locked meanwhile. */
#include "beside.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

void update_index(void)
{
	const struct timespec pause = { .tv_nsec = 12000000 };

	nanosleep(&pause, NULL); /* FAULT */
	work(50);
}

void add_letter(int box)
{
	must(lockf(box, F_LOCK, 0) == 0, "lockf");
	must(write(box, "letter\n", 7) == 7, "write");
	update_index();
	must(lockf(box, F_ULOCK, 0) == 0, "lockf");
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			int box = open("mailbox", O_RDWR | O_CREAT | O_APPEND, 0600);

			must(box >= 0, "mailbox");
			for (int letter = 0; letter < 12; letter++) {
				work(2000);
				lseek(box, 0, SEEK_SET);
				add_letter(box);
			}
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
