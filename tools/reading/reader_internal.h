/* The functions and types that the reader's own files (reader*.c) share. The files that decode parts of a
 * record by themselves include this header too: merge_part.c, merge_copy.c, cut_calls.c,
 * open_lifetimes.c, order.c, block_lifetimes.c, check_windows.c, lock_scan.c, lock_replay.c and
 * report_meanwhile.c. */
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

/* Returns the word at `offset`, which need not be aligned in memory; 0 past the end of the file. */
static inline uint64_t fxt_word(const struct fxt_reader *r, uint64_t offset)
{
	uint64_t word;

	if (offset > r->size || r->size - offset < FXT_WORD_BYTES)
		return 0;
	memcpy(&word, r->data + offset, sizeof(word));
	return le64toh(word);
}

/* Returns the word at d->at and moves behind it. */
static inline uint64_t fxt_next_word(struct fxt_decoder *d)
{
	uint64_t word = fxt_word(d->r, d->at);

	d->at += FXT_WORD_BYTES;
	return word;
}

/* reader.c: reports a fault to on_fault, and marks the record as damaged if the fault is structural. */
void fxt_fault(struct fxt_decoder *d, enum fxt_fault fault, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* reader_atoms.c: each function decodes one part of a record and moves d->at behind it. */
struct fxt_text fxt_read_stream(struct fxt_decoder *d, uint64_t bytes, bool is_text);
struct fxt_text fxt_read_string(struct fxt_decoder *d, uint64_t ref);
uint32_t fxt_read_thread(struct fxt_decoder *d, uint64_t ref);
void fxt_read_arguments(struct fxt_decoder *d, unsigned count);

/* reader_records.c: decodes a record of any type but an event. */
void fxt_read_record(struct fxt_decoder *d);
/* Decodes an event. */
void fxt_read_event(struct fxt_decoder *d);

/* reader_forms.c: decodes an event if its form is known and it is sound. Returns false, and may have changed
 * `rec`, for any other record. */
bool fxt_read_known_event(const struct fxt_reader *r, uint64_t offset, uint64_t header,
			  struct fxt_provider *p, struct fxt_record *rec);
/* Remembers the form of an event that was found to have no fault, if it has one. */
void fxt_learn_form(struct fxt_reader *r, const struct fxt_record *rec);
void fxt_free_forms(struct fxt_reader *r);

/* Returns whether an argument with this header is as long as its string says and has that string in it. */
static inline bool fxt_arg_has_text(uint64_t arg)
{
	uint64_t ref = fxt_get_arg_string(arg), bytes = fxt_get_string_ref_value(ref);

	return fxt_get_string_ref_inline(ref) && bytes <= FXT_STRING_MAX_BYTES &&
	       fxt_words_of(bytes) + 1 == fxt_get_arg_words(arg);
}

/* reader_tables.c: returns the provider with this id, and makes it if it is new. */
struct fxt_provider *fxt_provider_of(struct fxt_reader *r, uint32_t id);
/* Makes a provider, also if there is one with this id. */
struct fxt_provider *fxt_provider_new(struct fxt_reader *r, uint32_t id);
void fxt_name_thread(struct fxt_reader *r, uint64_t tid, struct fxt_text name);
void fxt_name_process(struct fxt_reader *r, uint64_t pid, struct fxt_text name);
/* Takes the name of a process or thread, which may say that its number was used before. */
void fxt_note_again(struct fxt_reader *r, const struct fxt_record *rec);
/* Adds a meaning that an index had, to those before it (NULL: there are none). */
struct fxt_meanings *fxt_with_older(struct fxt_meanings *older, struct fxt_older meaning);
/* Returns the last meaning that was registered at or before `offset`, or NULL. */
const struct fxt_older *fxt_meaning_at(const struct fxt_meanings *older, uint64_t offset);
void fxt_free_older(struct fxt_meanings *older);
void fxt_register_thread(struct fxt_provider *p, unsigned index, uint32_t thread, uint64_t offset);
/* Sets *thread to the thread that the index stands for now, and *since to the offset of its registration.
 * Returns false if it stands for none. */
bool fxt_latest_thread(const struct fxt_provider *p, unsigned index, uint32_t *thread, uint64_t *since);
/* Sets *thread to the thread that the index stood for at `offset`. Returns false if it stood for none. */
bool fxt_registered_thread(const struct fxt_provider *p, unsigned index, uint64_t offset, uint32_t *thread);
void fxt_tables_free(struct fxt_reader *r);

/* Returns the text, as a copy that stays until the reader is freed if its texts are copies. */
struct fxt_text fxt_lasting_text(struct fxt_reader *r, const struct fxt_text *text);

/* reader_strings.c */
void fxt_register_string(struct fxt_reader *r, struct fxt_provider *p, unsigned index, struct fxt_text text,
			 uint64_t offset);
/* Returns the string that the index stands for now, and sets *since to the offset of its registration. Its
 * text is NULL if it stands for none. */
struct fxt_text fxt_latest_string(const struct fxt_provider *p, unsigned index, uint64_t *since);
/* Returns the string that the index stood for at `offset`; its text is NULL if it stood for none. */
struct fxt_text fxt_registered_string(const struct fxt_provider *p, unsigned index, uint64_t offset);
/* Returns the index by which an event at the end of the file can name the string that an event has as
 * `ref`. It returns 0 if the string stands in the event itself, or if the index stands for another
 * string by then. The agent always refers to strings by index. */
uint16_t fxt_lasting_index(const struct fxt_provider *p, uint64_t ref, const struct fxt_text *text);
/* Marks the indices that stand for a string in an array that has all indices. */
void fxt_mark_strings(const struct fxt_provider *p, unsigned char *is_used);
/* Frees what a provider has, and what all have. */
void fxt_forget_strings(struct fxt_reader *r, struct fxt_provider *p);
void fxt_free_strings(struct fxt_reader *r);

/* reader_symbols.c */
struct fxt_symbols *fxt_symbols_new(void);
void fxt_symbols_free(struct fxt_symbols *s);

#endif
