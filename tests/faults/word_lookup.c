/* Looks words up in a dictionary. The fault: the page with a word is mapped for each look-up. */
#include "beside.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { PAGES = 2048, PAGE = 4096, LOOK_UPS = 3000 };

int dictionary;

/* Checks the whole dictionary once. */
int check_dictionary(void)
{
	char *all = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE, dictionary, 0);
	int bad = 0;

	must(all != MAP_FAILED, "mmap");
	for (int page = 0; page < PAGES; page++)
		bad += all[page * PAGE] != 'a' + page % 26;
	work(20000);
	munmap(all, PAGES * PAGE);
	return bad;
}

char look_up(int word)
{
	long at = word % PAGES * (long)PAGE;
	const char *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dictionary, at); /* FAULT */
	char letter;

	must(page != MAP_FAILED, "mmap");
	letter = page[0];
	munmap((void *)page, PAGE); /* FAULT */
	return letter;
}

int main(void)
{
	int vowels = 0;

	dictionary = open("words.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(dictionary >= 0 && ftruncate(dictionary, PAGES * (long)PAGE) == 0, "words.data");
	for (int page = 0; page < PAGES; page++)
		must(pwrite(dictionary, &(char){'a' + page % 26}, 1, page * (long)PAGE) == 1, "words.data");
	must(check_dictionary() == 0, "words.data");
	for (int i = 0; i < LOOK_UPS; i++)
		vowels += strchr("aeiou", look_up(i * 7)) != NULL;
	printf("%d vowels\n", vowels);
	return 0;
}
