/* Shows its figures to others in shared memory. The fault: the memory's name is made anew in each run, and
 * never removed. */
#include "beside.h"

#include <fcntl.h>
#include <sys/mman.h>

long *publish_stats(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof name, "/fxt-faults-stats.%d", (int)getpid());
	fd = shm_open(name, O_CREAT | O_RDWR, 0600); /* FAULT */
	must(fd >= 0 && ftruncate(fd, 65536) == 0, name);
	return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(void)
{
	long *stats = publish_stats();

	for (int i = 0; i < 100; i++) {
		work(200);
		stats[i]++;
	}
	munmap(stats, 65536);
	return 0;
}
