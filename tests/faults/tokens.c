/* Splits a text into words. The fault: each word is copied into a block that is freed a moment later. */
#include "beside.h"

long letters;

void scan_word(const char *word)
{
	char *copy = malloc(64); /* FAULT */

	must(copy != NULL, "malloc");
	strcpy(copy, word);
	letters += (long)strlen(copy);
	free(copy);
}

int main(void)
{
	char word[24];

	for (int i = 0; i < 300000; i++) {
		snprintf(word, sizeof word, "word%d", i);
		scan_word(word);
	}
	work(1000);
	printf("%ld letters\n", letters);
	return 0;
}
