/* Adds up the pages of a file. The fault: each page is mapped and unmapped alone. */
#include "beside.h"

#include <fcntl.h>
#include <sys/mman.h>

int file;

unsigned sum_page(int page)
{
	unsigned char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, page * 4096L); /* FAULT */
	unsigned sum = 0;

	must(bytes != MAP_FAILED, "mmap");
	for (int i = 0; i < 4096; i++)
		sum += bytes[i];
	munmap(bytes, 4096); /* FAULT */
	return sum;
}

int main(void)
{
	unsigned sum = 0;

	file = open("pages.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file >= 0 && ftruncate(file, 4096L * 4096) == 0, "pages.data");
	work(2000);
	for (int page = 0; page < 4096; page++)
		sum += sum_page(page);
	printf("%u\n", sum);
	return 0;
}
