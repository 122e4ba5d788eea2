/* What the reader's files share. Private to reader*.c. */
#ifndef FXT_TOOLS_READER_INTERNAL_H
#define FXT_TOOLS_READER_INTERNAL_H

#include <endian.h>
#include <string.h>

#include "reader.h"

/* A record being decoded: what is left of it lies between `at` and `end`. */
struct fxt_decoder {
	struct fxt_reader *r;
	struct fxt_record *rec;
	uint64_t at, end;
};

/* A word of the file, wherever it lies; 0 past its end. Files need not be aligned in memory. */
static inline uint64_t fxt_word(const struct fxt_reader *r, uint64_t offset)
{
	uint64_t word;

	if (offset > r->size || r->size - offset < FXT_WORD_BYTES)
		return 0;
	memcpy(&word, r->data + offset, sizeof(word));
	return le64toh(word);
}

static inline uint64_t fxt_next_word(struct fxt_decoder *d)
{
	uint64_t word = fxt_word(d->r, d->at);

	d->at += FXT_WORD_BYTES;
	return word;
}

/* reader.c */
void fxt_fault(struct fxt_decoder *d, enum fxt_fault fault, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* reader_atoms.c: each moves d->at past what it read. */
struct fxt_text fxt_read_stream(struct fxt_decoder *d, uint64_t bytes, bool is_text);
struct fxt_text fxt_read_string(struct fxt_decoder *d, uint64_t ref);
uint32_t fxt_read_thread(struct fxt_decoder *d, uint64_t ref);
void fxt_read_arguments(struct fxt_decoder *d, unsigned count);

/* reader_records.c */
void fxt_read_record(struct fxt_decoder *d);
void fxt_read_event(struct fxt_decoder *d);

/* reader_tables.c */
struct fxt_provider *fxt_provider_of(struct fxt_reader *r, uint32_t id);
struct fxt_provider *fxt_provider_new(struct fxt_reader *r, uint32_t id);
uint32_t fxt_thread_of(struct fxt_reader *r, uint64_t pid, uint64_t tid);
void fxt_name_process(struct fxt_reader *r, uint64_t pid, struct fxt_text name);
void fxt_register_string(struct fxt_provider *p, unsigned index, struct fxt_text text, uint64_t offset);
/* What the index meant at `offset`; the text is NULL where that is nothing. */
struct fxt_text fxt_registered_string(const struct fxt_provider *p, unsigned index, uint64_t offset);
/* The index of an event's string by which an event at the end of the file can name the same; 0: it stands in the event, or another string has
 * the index by then. The agent's strings are always by index. */
uint16_t fxt_lasting_index(const struct fxt_provider *p, uint64_t ref, const struct fxt_text *text);
void fxt_register_thread(struct fxt_provider *p, unsigned index, uint32_t thread, uint64_t offset);
/* The same of a thread; false: nothing. */
bool fxt_registered_thread(const struct fxt_provider *p, unsigned index, uint64_t offset, uint32_t *thread);
void fxt_tables_free(struct fxt_reader *r);

/* reader_symbols.c */
struct fxt_symbols *fxt_symbols_new(void);
void fxt_symbols_free(struct fxt_symbols *s);

/* text_utf8.c: as the format requires it: no overlong forms, surrogates or code points past U+10FFFF. */
bool fxt_utf8_valid(const char *text, size_t bytes);

#endif
