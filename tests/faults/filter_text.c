/* Passes a text through another program. The fault: it writes all of the text before it reads any of the
 * answer, and both pipes become full. */
#include "beside.h"

#include <sys/wait.h>

size_t run_filter(const char *text, size_t bytes, char *answer)
{
	int in[2], out[2];
	size_t got = 0;
	ssize_t n;

	must(pipe(in) == 0 && pipe(out) == 0, "pipe");
	if (fork() == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[0]), close(in[1]), close(out[0]), close(out[1]);
		execlp("cat", "cat", (char *)NULL);
		_exit(98);
	}
	close(in[0]), close(out[1]);
	for (size_t done = 0; done < bytes; done += (size_t)n) {
		n = write(in[1], text + done, bytes - done < 4096 ? bytes - done : 4096); /* FAULT */
		must(n > 0, "write");
	}
	close(in[1]);
	while ((n = read(out[0], answer + got, bytes - got)) > 0)
		got += (size_t)n;
	wait(NULL);
	return got;
}

int main(void)
{
	size_t bytes = 1 << 20;
	char *text = calloc(1, bytes), *answer = malloc(bytes);

	memset(text, 'a', bytes);
	work(1000);
	run_filter(text, 20000, answer);
	ready();
	return run_filter(text, bytes, answer) != bytes;
}
