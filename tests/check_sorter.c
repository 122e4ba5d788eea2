/* Items come out of the sorter in their order and with their bytes, whether they fitted into its buffer or
 * went through its file, and whether they are as short as events or longer than what is read at once. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/export/sorter.h"

enum { STREAMS = 5, MOST_BYTES = 3 << 20 };

/* How many items, and how long they are at most; one in so many is a long one. */
static const struct {
	size_t items, bytes, long_one_in;
	bool has_file;
} cases[] = {
	{0, 1, 1000, false},      {1, 40, 1000, false},     {5000, 200, 100000, false},
	{400000, 80, 1 << 30, true}, {60000, 900, 3000, true}, {12, MOST_BYTES, 1, true},
};

/* The bytes of an item follow from its key. */
static void make_bytes(unsigned char *out, const struct fxt_sorter_key *key)
{
	for (uint32_t i = 0; i < key->bytes; i++)
		out[i] = (unsigned char)(key->time * 7 + key->tie * 31 + key->stream + i);
}

static int by_key(const void *a, const void *b)
{
	const struct fxt_sorter_key *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->tie != y->tie ? (x->tie < y->tie ? -1 : 1) : 0;
}

/* Draws keys that rise for a while, as those of a thread do, and then begin somewhere else. */
static void draw(struct fxt_sorter_key *keys, size_t count, size_t bytes, size_t long_one_in)
{
	uint64_t time = 0;

	for (size_t i = 0; i < count; i++) {
		time = random_below(500) ? time + random_below(3) : random_below(1 << 20);
		keys[i] = (struct fxt_sorter_key){
			.time = time,
			.tie = i,
			.stream = random_below(40) ? (uint32_t)(i >> 8) % STREAMS : random_below(STREAMS),
			.bytes = random_below(bytes + 1),
		};
		if (!random_below(long_one_in))
			keys[i].bytes = random_below(MOST_BYTES);
	}
}

START_TEST(in_order)
{
	size_t count = cases[_i].items;
	struct fxt_sorter_key *keys = fxt_alloc(count, sizeof(*keys));
	unsigned char *bytes = fxt_alloc(MOST_BYTES, 1);
	struct fxt_sorter s = {.directory = "."};
	struct fxt_sorter_item item;

	random_seed((uint64_t)_i);
	draw(keys, count, cases[_i].bytes, cases[_i].long_one_in);
	for (size_t i = 0; i < count; i++) {
		make_bytes(bytes, &keys[i]);
		fxt_sorter_add(&s, &keys[i], bytes);
	}
	ck_assert(fxt_sorter_turn(&s));
	ck_assert_int_eq(s.part_count > 1, cases[_i].has_file);
	if (count)
		qsort(keys, count, sizeof(*keys), by_key);
	for (size_t i = 0; i < count; i++) {
		ck_assert(fxt_sorter_next(&s, &item));
		ck_assert_mem_eq(&item.key, &keys[i], sizeof(item.key));
		make_bytes(bytes, &keys[i]);
		ck_assert_mem_eq(item.data, bytes, item.key.bytes);
	}
	ck_assert(!fxt_sorter_next(&s, &item));
	ck_assert_int_eq(s.error, 0);
	fxt_sorter_free(&s);
	free(keys);
	free(bytes);
}
END_TEST

/* A file system without room is told, and not taken for the end. */
START_TEST(no_room)
{
	const struct rlimit limit = {1 << 20, 1 << 20};
	struct fxt_sorter s = {.directory = "."};
	struct fxt_sorter_key key = {.bytes = 1000};
	unsigned char bytes[1000] = {0};

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (key.tie = 0; key.tie < 20000; key.tie++)
		fxt_sorter_add(&s, &key, bytes);
	ck_assert(!fxt_sorter_turn(&s));
	ck_assert_int_eq(s.error, EFBIG);
	fxt_sorter_free(&s);
}
END_TEST

int main(void)
{
	TCase *sorter = tcase_create("sorter");

	tcase_set_timeout(sorter, 60);
	tcase_add_loop_test(sorter, in_order, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(sorter, no_room);
	return RUN_SUITE("sorter", sorter);
}
