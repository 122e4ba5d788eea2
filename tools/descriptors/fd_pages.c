/* Keeps tables of descriptors that are shared until somebody changes them. See fd_pages.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fd_pages.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

struct page {
	size_t references;
	struct fxt_fd_meaning numbers[FXT_FD_PAGE];
};

struct fxt_fd_pages {
	size_t references;
	struct page *pages[FXT_FD_PAGE_COUNT];  /* NULL: nothing is known of its numbers */
};

struct fxt_fd_pages *fxt_fd_pages_make(void)
{
	struct fxt_fd_pages *pages = fxt_alloc(1, sizeof(*pages));

	pages->references = 1;
	return pages;
}

struct fxt_fd_pages *fxt_fd_pages_share(struct fxt_fd_pages *pages)
{
	pages->references++;
	return pages;
}

static void release_page(struct page *page)
{
	if (page && --page->references == 0)
		free(page);
}

void fxt_fd_pages_release(struct fxt_fd_pages *pages)
{
	if (!pages || --pages->references)
		return;
	for (size_t i = 0; i < FXT_FD_PAGE_COUNT; i++)
		release_page(pages->pages[i]);
	free(pages);
}

struct fxt_fd_meaning fxt_fd_pages_get(const struct fxt_fd_pages *pages, uint64_t number)
{
	static const struct fxt_fd_meaning nothing;
	const struct page *page = number < FXT_FD_PAGES_MAX ? pages->pages[number / FXT_FD_PAGE] : NULL;

	return page ? page->numbers[number % FXT_FD_PAGE] : nothing;
}

/* Copies the table behind the reference if others refer to it too. */
static void own_table(struct fxt_fd_pages **pages)
{
	struct fxt_fd_pages *shared = *pages;

	if (shared->references == 1)
		return;
	*pages = fxt_fd_pages_make();
	memcpy((*pages)->pages, shared->pages, sizeof(shared->pages));
	for (size_t i = 0; i < FXT_FD_PAGE_COUNT; i++)
		if (shared->pages[i])
			shared->pages[i]->references++;
	shared->references--;
}

/* Copies a page if other tables refer to it too, and makes it if there is none. Returns the page. */
static struct page *own_page(struct page **place)
{
	struct page *shared = *place;

	if (shared && shared->references == 1)
		return shared;
	*place = fxt_alloc(1, sizeof(**place));
	if (shared)
		memcpy((*place)->numbers, shared->numbers, sizeof(shared->numbers));
	(*place)->references = 1;
	release_page(shared);
	return *place;
}

void fxt_fd_pages_set(struct fxt_fd_pages **pages, uint64_t number, struct fxt_fd_meaning meaning)
{
	struct fxt_fd_meaning is = fxt_fd_pages_get(*pages, number);

	if (number >= FXT_FD_PAGES_MAX ||
	    (is.file_and_1 == meaning.file_and_1 && is.description == meaning.description &&
	     is.closes_on_exec == meaning.closes_on_exec))
		return;
	own_table(pages);
	own_page(&(*pages)->pages[number / FXT_FD_PAGE])->numbers[number % FXT_FD_PAGE] = meaning;
}

void fxt_fd_pages_close(struct fxt_fd_pages **pages, uint64_t first, uint64_t last, bool on_exec)
{
	for (uint64_t number = first; number <= last && number < FXT_FD_PAGES_MAX; number++) {
		struct fxt_fd_meaning meaning = {0};

		/* A page in which nothing is known is skipped. */
		if (!(*pages)->pages[number / FXT_FD_PAGE]) {
			number |= FXT_FD_PAGE - 1;
			continue;
		}
		if (on_exec) {
			meaning = fxt_fd_pages_get(*pages, number);
			meaning.closes_on_exec = true;
		}
		fxt_fd_pages_set(pages, number, meaning);
	}
}

void fxt_fd_pages_execute(struct fxt_fd_pages **pages)
{
	for (uint64_t number = 0; number < FXT_FD_PAGES_MAX; number++) {
		if (!(*pages)->pages[number / FXT_FD_PAGE])
			number |= FXT_FD_PAGE - 1;
		else if (fxt_fd_pages_get(*pages, number).closes_on_exec)
			fxt_fd_pages_set(pages, number, (struct fxt_fd_meaning){0});
	}
}
