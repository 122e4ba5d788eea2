/* Symbols: small numbers for strings such as categories and names, by which analyses index. The reader's
 * callers use them through fxt_symbol() (reader.h). A trace has as many as it has different names. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <uthash.h>

#include "reader_internal.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

struct symbol {
	struct fxt_text text;
	uint32_t number;
	UT_hash_handle hh;
};

struct fxt_symbols {
	struct symbol *by_text;
	struct symbol **by_number;
	size_t count, capacity;
};

struct fxt_symbols *fxt_symbols_new(void)
{
	return fxt_alloc(1, sizeof(struct fxt_symbols));
}

void fxt_symbols_free(struct fxt_symbols *s)
{
	HASH_CLEAR(hh, s->by_text);
	for (size_t i = 0; i < s->count; i++)
		free(s->by_number[i]);
	free(s->by_number);
	free(s);
}

uint32_t fxt_symbol_found(struct fxt_reader *r, const struct fxt_text *t)
{
	struct fxt_symbols *s = r->symbols;
	struct symbol *found;

	HASH_FIND(hh, s->by_text, t->text, t->bytes, found);
	if (!found) {
		found = fxt_alloc(1, sizeof(*found));
		found->text = fxt_lasting_text(r, &(struct fxt_text){.text = t->text, .bytes = t->bytes});
		found->number = (uint32_t)++s->count;
		s->by_number = fxt_grow(s->by_number, &s->capacity, s->count, sizeof(struct symbol *));
		s->by_number[s->count - 1] = found;
		HASH_ADD_KEYPTR(hh, s->by_text, found->text.text, found->text.bytes, found);
	}
	if (t->symbol)
		*t->symbol = found->number;
	return found->number;
}

struct fxt_text fxt_symbol_text(const struct fxt_reader *r, uint32_t symbol)
{
	return r->symbols->by_number[symbol - 1]->text;
}

uint32_t fxt_symbol_count(const struct fxt_reader *r)
{
	return (uint32_t)r->symbols->count;
}
