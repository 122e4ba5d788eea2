/* Maps files whose paths are longer than open() takes, and longer still where the kernel lists mappings,
 * because there it writes four letters for a newline. Then the program makes calls on a variable that has a
 * name, and removes the files.
 *
 *	host_paths LENGTH...    the length of each path in what the kernel lists, about
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "host.h"

enum { NAME_BYTES = 250, ESCAPED = 4, DEEPEST = 64, FILES = 8, PAGE = 4096 };

pthread_mutex_t lock_with_a_name = PTHREAD_MUTEX_INITIALIZER;
static char name[NAME_BYTES + 1];

/* Maps a file `levels` folders below the present one, and removes the file and the folders. */
static void *map_below(int levels)
{
	int folder[DEEPEST + 1] = {open(".", O_RDONLY | O_DIRECTORY)}, file, i;
	void *at;

	for (i = 0; i < levels; i++) {
		need(!mkdirat(folder[i], name, 0700));
		folder[i + 1] = openat(folder[i], name, O_RDONLY | O_DIRECTORY);
		need(folder[i + 1] >= 0);
	}
	file = openat(folder[levels], name, O_RDWR | O_CREAT, 0600);
	need(file >= 0 && !ftruncate(file, PAGE));
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	need(at != MAP_FAILED);
	close(file);
	need(!unlinkat(folder[levels], name, 0));
	for (i = levels; i--;) {
		close(folder[i + 1]);
		need(!unlinkat(folder[i], name, AT_REMOVEDIR));
	}
	close(folder[0]);
	return at;
}

int main(int argc, char **argv)
{
	int i;

	memset(name, '\n', NAME_BYTES);
	need(argc <= FILES);
	for (i = 1; i < argc; i++) {
		int levels = atoi(argv[i]) / (ESCAPED * NAME_BYTES);

		need(levels <= DEEPEST);
		map_below(levels);
		mark();
		/* This makes the agent look for names of files and variables after each mapping. */
		need(!pthread_mutex_lock(&lock_with_a_name) && !pthread_mutex_unlock(&lock_with_a_name));
	}
	need(!pthread_mutex_lock(&lock_with_a_name) && !pthread_mutex_unlock(&lock_with_a_name));
	printf("%d files\n", argc - 1);
	fflush(stdout);
	print_marks();
	return 0;
}
