/* See client_texts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "client_parts.h"
#include "tools/common/message.h"
#include "writer/buffer.h"
#include "writer/fxt_encode.h"

enum { PAGE_BYTES = 4096, MOST_BYTES = 4096 };

/* -- The records -------------------------------------------------------------------------------- */

/* Arguments of these names are texts wherever a call in progress is shown with one. */
static bool is_name_of_text(const char *name, size_t bytes)
{
	static const char *const names[] = {
		"pathname", "path", "filename", "dirpath", "oldpath", "target", "name", "node", "hostname",
		"file", "linkpath",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == bytes && memcmp(names[i], name, bytes) == 0)
			return true;
	return false;
}

static void note_name(void *context, uint16_t index, const char *name, size_t bytes)
{
	struct fxt_client_texts *texts = context;

	if (is_name_of_text(name, bytes) &&
	    texts->name_count < sizeof(texts->names) / sizeof(texts->names[0]))
		texts->names[texts->name_count++] = index;
}

/* Returns the argument of a record that shows a call in progress with the address of a text; NULL: it is
 * none. */
static const uint64_t *text_argument(const struct fxt_client_texts *texts, const uint64_t *record)
{
	size_t at = fxt_get_event_thread(record[0]) ? 2 : 4;

	if (fxt_get_record_type(record[0]) != FXT_RECORD_EVENT ||
	    fxt_get_event_type(record[0]) != FXT_EVENT_DURATION_BEGIN ||
	    fxt_get_event_args(record[0]) != 1 || fxt_get_record_words(record[0]) < at + 2 ||
	    fxt_get_arg_type(record[at]) != FXT_ARG_POINTER)
		return NULL;
	for (unsigned i = 0; i < texts->name_count; i++)
		if (texts->names[i] == fxt_get_arg_name(record[at]))
			return record + at;
	return NULL;
}

/* -- Reading ------------------------------------------------------------------------------------ */

/* Reads the text at an address of the program, whose page may be followed by one that is not there. Returns
 * NULL if it does not end within MOST_BYTES, or cannot be read. */
static char *read_text(pid_t pid, uint64_t address)
{
	char text[MOST_BYTES];
	size_t bytes = 0;

	while (bytes < sizeof(text)) {
		size_t left = PAGE_BYTES - (size_t)((address + bytes) % PAGE_BYTES);
		struct iovec to = {text + bytes, left < sizeof(text) - bytes ? left : sizeof(text) - bytes};
		struct iovec from = {(void *)(uintptr_t)(address + bytes), to.iov_len};
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (got <= 0)
			return NULL;
		if (memchr(text + bytes, '\0', (size_t)got))
			return *text ? fxt_strdup(text) : NULL;
		bytes += (size_t)got;
	}
	return NULL;
}

static struct fxt_client_text *find(const struct fxt_client_texts *texts, uint64_t start, uint64_t address)
{
	for (size_t i = 0; i < texts->count; i++)
		if (texts->list[i].start == start && texts->list[i].address == address)
			return &texts->list[i];
	return NULL;
}

static void look_at(struct fxt_client *p, struct fxt_client_texts *now, const uint64_t *record,
		    const uint64_t *slot)
{
	const uint64_t *argument = text_argument(&p->texts, record);
	struct fxt_client_text call, *before;

	if (!argument)
		return;
	call = (struct fxt_client_text){record[1], argument[1], NULL};
	before = find(&p->texts, call.start, call.address);
	if (before) {
		call.text = before->text ? before->text : read_text(p->pid, call.address);
		before->text = NULL;
		/* The program may have used the memory for something else as soon as the call was over. */
		if (atomic_load((const _Atomic uint64_t *)slot) != record[0] ||
		    atomic_load((const _Atomic uint64_t *)(slot + 1)) != record[1]) {
			free(call.text);
			return;
		}
	}
	now->list = fxt_grow(now->list, &now->capacity, now->count + 1, sizeof(*now->list));
	now->list[now->count++] = call;
}

static void forget(struct fxt_client_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->list[i].text);
	free(texts->list);
	texts->list = NULL;
	texts->count = texts->capacity = 0;
}

void fxt_client_texts_look(struct fxt_client *p)
{
	static uint64_t copy[FXT_CHUNK_WORDS];
	struct fxt_client_texts now = {0};
	const uint64_t *pages;
	size_t words;

	if (!p->memory || !p->id)
		return;
	if (!p->texts.is_read)
		fxt_client_each_name(p, note_name, &p->texts);
	p->texts.is_read = true;
	for (uint32_t i = 0; p->texts.name_count && i < p->chunks; i++) {
		pages = fxt_client_pages(p, i);
		for (size_t at = 0; pages && at < FXT_CHUNK_WORDS;
		     at += words ? words : FXT_SMALL_PAGE_WORDS) {
			words = fxt_client_copy_pages(copy, pages + at, FXT_CHUNK_WORDS - at);
			for (size_t in = 0; in < words; in += fxt_get_record_words(copy[in]))
				look_at(p, &now, copy + in, pages + at + in);
		}
	}
	forget(&p->texts);
	p->texts.list = now.list;
	p->texts.count = now.count;
	p->texts.capacity = now.capacity;
}

void fxt_client_texts_free(struct fxt_client *p)
{
	forget(&p->texts);
}

/* -- Saving ------------------------------------------------------------------------------------- */

size_t fxt_client_texts_put(const struct fxt_client *p, uint64_t *to, const uint64_t *record)
{
	const uint64_t *argument = text_argument(&p->texts, record);
	const struct fxt_client_text *call = argument ? find(&p->texts, record[1], argument[1]) : NULL;
	size_t before, bytes, words;

	if (!call || !call->text)
		return 0;
	before = (size_t)(argument - record);
	bytes = strlen(call->text);
	words = fxt_words_of(bytes);
	memcpy(to, record, before * FXT_WORD_BYTES);
	to[before + words] = 0;
	bytes = fxt_utf8_clean((char *)(to + before + 1), call->text, bytes, bytes);
	to[0] = (record[0] & ~fxt_record_words(UINT64_MAX)) | fxt_record_words(before + 1 + words);
	to[before] = fxt_arg_type(FXT_ARG_STRING) | fxt_arg_words(1 + words) |
		     fxt_arg_name(fxt_get_arg_name(*argument)) | fxt_arg_string(fxt_inline_ref(bytes));
	return before + 1 + words;
}
