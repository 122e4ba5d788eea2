/* This tests tools/reading/reader_strings.c against a model that keeps every meaning of every index:
 * providers that are alike and share their pages, indices that get other meanings, and providers that are
 * forgotten. */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/reading/reader_internal.h"
#include "trace_words.h"

enum {
	PROVIDERS = 40,
	USUAL = 700,                    /* strings that all providers have */
	ROUNDS = 20000,
	TEXTS = 3000,
	MOST_WORDS = PROVIDERS * (USUAL * 2 + 2) + ROUNDS * 4,
};

struct meaning {
	uint64_t offset;
	unsigned provider, index, text;
};

static uint64_t words[MOST_WORDS];
static size_t word_count;
static struct meaning meanings[PROVIDERS * USUAL + ROUNDS];
static size_t meaning_count;
/* the last meaning of each index plus 1, and the one before each; so a look goes backwards */
static size_t last[PROVIDERS][FXT_STRING_MAX_INDEX + 1], before[PROVIDERS * USUAL + ROUNDS];

static void begin_provider(unsigned provider)
{
	words[word_count++] = HEAD(0, 1, 2 | (provider + 1) << 4);
}

/* Registers a text of eight bytes. */
static void put_string(unsigned provider, unsigned index, unsigned text)
{
	meanings[meaning_count] = (struct meaning){word_count * FXT_WORD_BYTES, provider, index, text};
	before[meaning_count] = last[provider][index];
	last[provider][index] = ++meaning_count;
	words[word_count++] = STRING(index, 8);
	words[word_count++] = UINT64_C(0x6161616161616161) + text % 26 + AT(8, text / 26 % 26) +
			      AT(16, text / 676);
}

static void expect(struct fxt_reader *r, unsigned provider, unsigned index, uint64_t offset)
{
	const struct fxt_text text = fxt_registered_string(fxt_provider_of(r, provider + 1), index, offset);
	size_t at = last[provider][index];

	while (at && meanings[at - 1].offset > offset)
		at = before[at - 1];
	if (!at) {
		ck_assert_ptr_null(text.text);
		return;
	}
	ck_assert_msg(text.text && text.bytes == 8 &&
			      memcmp(text.text, &words[meanings[at - 1].offset / FXT_WORD_BYTES + 1], 8) == 0,
		      "FXT_SEED=%lu: provider %u, index %u at %lu", (unsigned long)random_seed_value,
		      provider, index, (unsigned long)offset);
}

/* Most indices are low, as the agent's are; some are anywhere. */
static unsigned random_index(void)
{
	return 1 + (unsigned)(random_below(4) ? random_below(USUAL + 100)
					      : random_below(FXT_STRING_MAX_INDEX));
}

START_TEST(keeps_every_meaning)
{
	struct fxt_reader r;
	struct fxt_record rec;
	unsigned provider = 0;

	random_seed(1);
	for (unsigned p = 0; p < PROVIDERS; p++) {
		begin_provider(p);
		for (unsigned i = 1; i <= USUAL; i++)
			put_string(p, i, random_below(2000) ? i : (unsigned)random_below(TEXTS));
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!random_below(3))
			begin_provider(provider = (unsigned)random_below(PROVIDERS));
		else if (!i)
			begin_provider(provider);
		put_string(provider, random_index(), (unsigned)random_below(TEXTS));
	}
	ck_assert_uint_le(word_count, MOST_WORDS);
	fxt_reader_init(&r, words, word_count * FXT_WORD_BYTES);
	while (fxt_reader_next(&r, &rec))
		;
	ck_assert_uint_eq(r.tail_bytes, 0);
	for (unsigned i = 0; i < 10 * ROUNDS; i++)
		expect(&r, (unsigned)random_below(PROVIDERS), random_index(),
		       random_below(word_count * FXT_WORD_BYTES + 100));
	/* What is forgotten of one provider stays with the others. */
	for (unsigned p = 0; p < PROVIDERS; p++) {
		fxt_reader_forget(&r, fxt_provider_of(&r, p + 1));
		ck_assert_ptr_null(fxt_registered_string(fxt_provider_of(&r, p + 1), 1, UINT64_MAX).text);
		for (unsigned i = 0; i < ROUNDS / 10 && p + 1 < PROVIDERS; i++)
			expect(&r, p + 1 + (unsigned)random_below(PROVIDERS - p - 1), random_index(),
			       random_below(word_count * FXT_WORD_BYTES + 100));
	}
	fxt_reader_free(&r);
}
END_TEST

/* The same texts at the same indices take memory once, and a text has one symbol for all providers. */
START_TEST(costs_little_for_providers_that_are_alike)
{
	enum { ALIKE = 1000, MOST_BYTES = 4096 };
	size_t bytes = (size_t)ALIKE * (USUAL * 2 + 1) * FXT_WORD_BYTES, i, at = 0, used;
	uint64_t *many = malloc(bytes);
	struct fxt_reader r;
	struct fxt_record rec;
	struct fxt_text one, other;

	for (unsigned p = 0; p < ALIKE; p++) {
		many[at++] = HEAD(0, 1, 2 | (p + 1) << 4);
		for (i = 1; i <= USUAL; i++) {
			many[at++] = STRING(i, 8);
			many[at++] = i;
		}
	}
	used = mallinfo2().uordblks + mallinfo2().hblkhd;
	fxt_reader_init(&r, many, bytes);
	while (fxt_reader_next(&r, &rec))
		;
	used = mallinfo2().uordblks + mallinfo2().hblkhd - used;
	ck_assert_msg(used < (size_t)ALIKE * MOST_BYTES, "%zu bytes for each provider", used / ALIKE);
	one = fxt_registered_string(fxt_provider_of(&r, 1), 5, UINT64_MAX);
	other = fxt_registered_string(fxt_provider_of(&r, ALIKE), 5, UINT64_MAX);
	ck_assert_uint_eq(fxt_symbol(&r, &one), fxt_symbol(&r, &other));
	ck_assert_ptr_eq(one.symbol, other.symbol);
	fxt_reader_free(&r);
	free(many);
}
END_TEST

/* Index 1 gets its meanings at the begin, and behind 36 and 72 GiB of blobs, which are in no memory. */
START_TEST(keeps_what_is_far_apart)
{
	const uint64_t blob_words = UINT64_C(9) << 28, bytes = (4 * blob_words + 9) * FXT_WORD_BYTES;
	uint64_t *far = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			     -1, 0);
	const char *const texts[] = {"a", "b", "c"};
	struct fxt_reader r;
	struct fxt_record rec;
	uint64_t at = 0, offsets[3];

	if (far == MAP_FAILED)
		return;
	far[at++] = HEAD(0, 1, 2 | 1 << 4);
	for (unsigned i = 0; i < 3; i++) {
		offsets[i] = at * FXT_WORD_BYTES;
		far[at++] = STRING(1, 1);
		far[at++] = (uint64_t)texts[i][0];
		for (unsigned k = 0; k < 2 && i < 2; k++, at += blob_words)
			far[at] = 0xf | blob_words << 4 | UINT64_C(1) << 36;
	}
	fxt_reader_init(&r, far, at * FXT_WORD_BYTES);
	while (fxt_reader_next(&r, &rec))
		;
	ck_assert_uint_eq(r.tail_bytes, 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct fxt_provider *p = fxt_provider_of(&r, 1);
		struct fxt_text first = fxt_registered_string(p, 1, offsets[i]),
				end = fxt_registered_string(p, 1, i < 2 ? offsets[i + 1] - 1 : UINT64_MAX);

		ck_assert_msg(first.text && fxt_text_is(&first, texts[i]), "meaning %u", i);
		ck_assert_msg(end.text && fxt_text_is(&end, texts[i]), "end of meaning %u", i);
	}
	fxt_reader_free(&r);
	munmap(far, bytes);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("strings");

	random_begin();
	tcase_set_timeout(c, 120);
	tcase_add_test(c, keeps_every_meaning);
	tcase_add_test(c, costs_little_for_providers_that_are_alike);
	tcase_add_test(c, keeps_what_is_far_apart);
	return RUN_SUITE("strings", c);
}
