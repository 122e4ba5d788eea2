/* Fills the trace, so that the agent has something to say, while standard error is not what it seems:
 *
 *	host_stderr data MARKS		it was closed, and a file has its number; prints the file's contents
 *	host_stderr pipe MARKS		the program was started with a pipe that nobody reads
 */
#include <errno.h>
#include <fcntl.h>

#include "host.h"

static void data(unsigned long times)
{
	char record[64], found[1024];
	int kept = fcntl(1, F_DUPFD_CLOEXEC, 10), fd;
	ssize_t bytes;

	memset(record, 'A', sizeof(record));
	for (fd = 0; fd < 3; fd++)
		close(fd);
	for (fd = 0; fd < 2; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			_exit(3);
	if (open("/tmp", O_TMPFILE | O_RDWR, 0600) != 2)
		_exit(4);
	for (fd = 0; fd < 2; fd++) {
		if (write(2, record, sizeof(record)) != sizeof(record))
			_exit(5);
		mark_times(times);
	}
	bytes = pread(2, found, sizeof(found), 0);
	if (dup2(kept, 1) != 1)
		_exit(6);
	printf("%zd bytes, %zu of them ours\n", bytes, strspn(found, "A"));
	fflush(stdout);
}

static void become(char **argv)
{
	int ends[2];

	need(!pipe(ends) && dup2(ends[1], 2) == 2);
	close(ends[0]);
	close(ends[1]);
	argv[1] = "piped";
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	if (!strcmp(what, "pipe"))
		become(argv);
	else if (!strcmp(what, "piped"))
		mark_times(times);
	else
		data(times);
	print_marks();
	return 0;
}
