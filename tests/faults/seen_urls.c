/* Fetches pages and remembers which it has seen. The fault: what it remembers only grows; it is freed at
 * the end, so nothing is lost. */
#include "beside.h"

struct seen {
	struct seen *next;
	char url[1000];
} *table[1024];

void remember_url(int page)
{
	struct seen *seen = malloc(sizeof *seen); /* FAULT */

	must(seen != NULL, "malloc");
	memset(seen->url, 0, sizeof seen->url);
	snprintf(seen->url, sizeof seen->url, "http://host/page/%d", page);
	seen->next = table[page % 1024];
	table[page % 1024] = seen;
}

void fetch_page(int page)
{
	char *body = malloc(16384);

	memset(body, page, 16384);
	work(10);
	free(body);
}

int main(void)
{
	for (int page = 0; page < 48000; page++) {
		fetch_page(page);
		remember_url(page);
	}
	for (int i = 0; i < 1024; i++)
		while (table[i]) {
			struct seen *seen = table[i];

			table[i] = seen->next;
			free(seen);
		}
	return 0;
}
