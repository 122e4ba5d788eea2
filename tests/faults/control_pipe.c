/* Tells another program through a FIFO that it has begun. The fault: nobody reads there, so opening it
 * never returns. */
#include "beside.h"

#include <fcntl.h>
#include <sys/stat.h>

int open_control(void)
{
	return open("control.fifo", O_WRONLY); /* FAULT */
}

int main(void)
{
	int control;

	must(mkfifo("control.fifo", 0600) == 0, "control.fifo");
	work(3000);
	ready();
	control = open_control();
	must(write(control, "begun\n", 6) == 6, "control.fifo");
	work(3000);
	return 0;
}
