/* Exports pages to a device. The fault: there is no room, and nobody looks at what write() returns; the
 * program says that it is done and ends with 0. */
#include "beside.h"

#include <fcntl.h>

int device;

void save_page(int page)
{
	char bytes[4096];

	memset(bytes, page, sizeof bytes);
	(void)!write(device, bytes, sizeof bytes); /* FAULT */
}

int main(void)
{
	device = open("/dev/full", O_WRONLY);
	must(device >= 0, "/dev/full");
	for (int page = 0; page < 200; page++) {
		work(100);
		save_page(page);
	}
	close(device);
	puts("exported 200 pages");
	return 0;
}
