/* See archive_walk.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive_walk.h"

#include <sys/mman.h>
#include <sys/stat.h>

size_t fxt_archive_words(uint64_t header)
{
	uint64_t words = fxt_get_record_type(header) == FXT_RECORD_LARGE ? fxt_get_large_words(header)
									 : fxt_get_record_words(header);

	return words <= FXT_RECORD_MAX_WORDS ? words : 0;
}

/* Gives back the pages that lie behind the walk, those included that strings were looked up in. Else a whole
 * file counts as this process's memory. */
static void drop_read(struct fxt_archive_walk *w)
{
	madvise((void *)(uintptr_t)w->words, w->at * FXT_WORD_BYTES, MADV_DONTNEED);
	w->drops_at = w->at + FXT_ARCHIVE_WALK_WORDS;
}

bool fxt_archive_next(struct fxt_archive_walk *w)
{
	uint64_t header;

	w->at += w->size;
	w->size = 0;
	if (w->at >= w->count)
		return false;
	if (w->drops_at && w->at >= w->drops_at)
		drop_read(w);
	header = w->words[w->at];
	w->size = fxt_archive_words(header);
	if (!w->size || w->size > w->count - w->at) {
		w->size = 0;
		w->count = w->at;
		return false;
	}
	if (fxt_get_record_type(header) == FXT_RECORD_METADATA &&
	    (fxt_get_metadata_type(header) == FXT_METADATA_PROVIDER_INFO ||
	     fxt_get_metadata_type(header) == FXT_METADATA_PROVIDER_SECTION))
		w->provider = (uint32_t)fxt_get_provider_id(header);
	return true;
}

uint64_t fxt_archive_event_ns(const uint64_t *record, size_t size)
{
	bool has_end = fxt_get_event_type(record[0]) == FXT_EVENT_DURATION_COMPLETE;

	return has_end && size > 2 ? record[size - 1] : size > 1 ? record[1] : 0;
}

/* Notes a reference to a string. Returns how many words of the record the string itself takes. */
static size_t note(struct fxt_archive_refs *refs, uint64_t ref)
{
	if (fxt_get_string_ref_inline(ref))
		return fxt_words_of(fxt_get_string_ref_value(ref));
	if (ref && refs->count < sizeof(refs->strings) / sizeof(refs->strings[0]))
		refs->strings[refs->count++] = (uint16_t)ref;
	return 0;
}

static void note_arguments(struct fxt_archive_refs *refs, const uint64_t *record, size_t size, size_t at,
			   size_t arguments)
{
	while (arguments-- && at < size) {
		uint64_t header = record[at];
		size_t words = fxt_get_arg_words(header);

		note(refs, fxt_get_arg_name(header));
		if (fxt_get_arg_type(header) == FXT_ARG_STRING)
			note(refs, fxt_get_arg_string(header));
		if (!words)
			return;
		at += words;
	}
}

void fxt_archive_refs(struct fxt_archive_refs *refs, const uint64_t *record, size_t size)
{
	uint64_t header = record[0];
	size_t at = 2;

	*refs = (struct fxt_archive_refs){0};
	switch (fxt_get_record_type(header)) {
	case FXT_RECORD_EVENT:
		refs->thread = (uint8_t)fxt_get_event_thread(header);
		at += refs->thread ? 0 : 2;
		at += note(refs, fxt_get_event_category(header));
		at += note(refs, fxt_get_event_name(header));
		note_arguments(refs, record, size, at, fxt_get_event_args(header));
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
		refs->thread = (uint8_t)fxt_get_object_process(header);
		at += refs->thread ? 0 : 1;
		at += note(refs, fxt_get_object_name(header));
		note_arguments(refs, record, size, at, fxt_get_object_args(header));
		break;
	case FXT_RECORD_KERNEL_OBJECT:
		at += note(refs, fxt_get_object_name(header));
		note_arguments(refs, record, size, at, fxt_get_object_args(header));
		break;
	default: break;
	}
}

bool fxt_archive_map(struct fxt_archive_file *f, int fd, uint64_t bytes)
{
	struct stat st;
	void *data;

	*f = (struct fxt_archive_file){0};
	if (fstat(fd, &st) != 0)
		return false;
	if (bytes > (uint64_t)st.st_size)
		bytes = (uint64_t)st.st_size;
	if (bytes < FXT_WORD_BYTES)
		return true;
	data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return false;
	*f = (struct fxt_archive_file){data, bytes / FXT_WORD_BYTES, true};
	return true;
}

void fxt_archive_unmap(struct fxt_archive_file *f)
{
	if (f->words)
		munmap((void *)(uintptr_t)f->words, f->count * FXT_WORD_BYTES);
	*f = (struct fxt_archive_file){0};
}
