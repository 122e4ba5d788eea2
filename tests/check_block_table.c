/* This tests the table of heap blocks, agent/objects/block_table.c. Threads take and free blocks of random
 * sizes, in heaps of their own, until there are more than the table has places. Each block is either found
 * again with its own data, or was refused because its bucket was full; and the two add up to all that were
 * made. FXT_SEED=N draws the same ones again. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/objects/block_table.h"
#include "apps/random.h"
#include "suite.h"

struct fxt_agent fxt_agent;

enum { ROUNDS = 12, THREADS_MOST = 8, LIMITED = FXT_BLOCK_WAYS << FXT_BLOCK_BUCKET_BITS_LIMITED };

struct heap {
	pthread_t thread;
	uint64_t number;
	size_t count, most_bytes;       /* of blocks to be made, and of a block */
	unsigned freed_of_8;            /* so many of eight blocks are freed at once */
	uintptr_t *kept;                /* blocks that have a place, and are not freed */
	uintptr_t *refused;             /* blocks that were refused */
	size_t made, kept_count, refused_count, freed_count;
};

static struct heap heaps[THREADS_MOST];
static int round_number;

static uint64_t data_of(uintptr_t block)
{
	return block * UINT64_C(0x9e3779b97f4a7c15);
}

/* Puts a block into the table. Returns whether it found a place. */
static bool put(uintptr_t block)
{
	struct fxt_block_bucket *bucket = fxt_block_bucket(block, true);
	int way;

	fxt_block_touch(bucket);
	way = fxt_block_claim_for(bucket, block);
	if (way < 0)
		return false;
	bucket->details[way].bytes = data_of(block);
	fxt_block_show(bucket, way, block);
	return true;
}

/* Takes a block out of the table. Returns whether it was there, with its own data. */
static bool take(uintptr_t block)
{
	struct fxt_block_bucket *bucket = fxt_block_bucket(block, false);
	int way = fxt_block_claim(bucket, block);
	bool is_right = way >= 0 && bucket->details[way].bytes == data_of(block);

	if (way >= 0)
		fxt_block_show(bucket, way, block | FXT_BLOCK_IS_GONE);
	return is_right;
}

/* Makes blocks one behind the other, as an allocator does in a new heap. */
static void *use(void *argument)
{
	struct heap *heap = argument;
	uintptr_t at = UINT64_C(0x550000000000) + heap->number * (UINT64_C(1) << 36);

	random_seed((uint64_t)round_number * THREADS_MOST + heap->number);
	at += random_below(1 << 20) << 16;
	for (heap->made = 0; heap->made < heap->count; heap->made++) {
		uintptr_t block = at + 16;

		at += 16 + (16 + random_below(heap->most_bytes)) / 16 * 16;
		if (!put(block))
			heap->refused[heap->refused_count++] = block;
		else if (random_below(8) >= heap->freed_of_8)
			heap->kept[heap->kept_count++] = block;
		else if (take(block))
			heap->freed_count++;
	}
	return NULL;
}

/* Returns how many entries of a bucket are those of blocks that are there. */
static unsigned used_ways(const struct fxt_block_bucket *bucket)
{
	unsigned used = 0;

	for (int way = 0; way < FXT_BLOCK_WAYS; way++) {
		uintptr_t block = atomic_load(&bucket->blocks[way]);

		used += block && !(block & FXT_BLOCK_IS_GONE);
	}
	return used;
}

/* Makes `blocks` blocks in all, by several threads at once, and adds up what became of them. */
static void fill(unsigned threads, size_t blocks, unsigned freed_of_8, struct heap *sum)
{
	*sum = (struct heap){.count = 0};
	for (unsigned i = 0; i < threads; i++) {
		size_t count = blocks / threads;

		heaps[i] = (struct heap){.number = i + 1, .count = count, .freed_of_8 = freed_of_8,
					 .most_bytes = 16 + random_below(300)};
		heaps[i].kept = calloc(count, sizeof(uintptr_t));
		heaps[i].refused = calloc(count, sizeof(uintptr_t));
		ck_assert(heaps[i].kept && heaps[i].refused);
		ck_assert(!pthread_create(&heaps[i].thread, NULL, use, &heaps[i]));
	}
	for (unsigned i = 0; i < threads; i++) {
		ck_assert(!pthread_join(heaps[i].thread, NULL));
		sum->made += heaps[i].made;
		sum->kept_count += heaps[i].kept_count;
		sum->refused_count += heaps[i].refused_count;
		sum->freed_count += heaps[i].freed_count;
	}
	ck_assert_uint_eq(sum->kept_count + sum->refused_count + sum->freed_count, sum->made);
}

/* Fails unless the table has what it should have. */
static void compare(unsigned threads, bool is_never_freed)
{
	for (unsigned i = 0; i < threads; i++) {
		for (size_t k = 0; k < heaps[i].refused_count; k++) {
			const struct fxt_block_bucket *bucket = fxt_block_bucket(heaps[i].refused[k], false);

			ck_assert(!take(heaps[i].refused[k]));
			/* Other blocks may have been freed since. */
			ck_assert(!is_never_freed || used_ways(bucket) == FXT_BLOCK_WAYS);
		}
	}
	for (unsigned i = 0; i < threads; i++) {
		for (size_t k = 0; k < heaps[i].kept_count; k++)
			ck_assert(take(heaps[i].kept[k]));
		free(heaps[i].kept);
		free(heaps[i].refused);
	}
}

/* A program with a filter of its own has the smaller table, as one whose addresses are limited. */
START_TEST(what_finds_no_place_is_refused)
{
	struct heap sum;
	unsigned threads, freed_of_8;
	size_t blocks;

	round_number = _i + 1;
	random_seed(0);
	random_seed((uint64_t)round_number * THREADS_MOST);
	threads = 1 + (unsigned)random_below(THREADS_MOST);
	freed_of_8 = _i % 2 ? 0 : (unsigned)random_below(8);
	blocks = random_below(3 * LIMITED);
	fxt_agent.filtered = true;
	fxt_agent.config.heap_track_bytes = random_below(200);
	fxt_agent.config.heap_sample_bytes = random_below(200);
	fill(threads, blocks, freed_of_8, &sum);
	ck_assert_uint_le(sum.kept_count, LIMITED);
	compare(threads, !freed_of_8);
}
END_TEST

START_TEST(there_are_a_million_places)
{
	struct heap sum;
	const size_t places = (size_t)FXT_BLOCK_WAYS << FXT_BLOCK_BUCKET_BITS;

	random_seed(0);
	fxt_agent.config.heap_track_bytes = 64;
	fill(2, places / 4, 0, &sum);
	ck_assert_uint_le(sum.refused_count, places / 400);
	compare(2, true);
	fxt_block_table_empty();
	fill(2, places + places / 4, 0, &sum);
	ck_assert_uint_ge(sum.refused_count, places / 4);
	ck_assert_uint_ge(sum.kept_count, places / 2);
	compare(2, true);
}
END_TEST

/* Makes the kernel refuse to empty memory in children, as one does that is too old. */
static void refuse_to_wipe(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	ck_assert(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ck_assert(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

/* Returns how many of these blocks a child of a fork finds, before or after its handler has run. */
static unsigned found_in_child(const uintptr_t *blocks, unsigned count, bool has_handler)
{
	pid_t child = fork();
	unsigned found = 0;
	int status;

	ck_assert_int_ge(child, 0);
	if (!child) {
		if (has_handler)
			fxt_block_table_after_fork();
		while (count-- > 0)
			found += take(blocks[count]);
		_exit((int)found);
	}
	ck_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return (unsigned)WEXITSTATUS(status);
}

/* The child of a fork has none of its parent's blocks. The kernel empties the table, or the fork handler does
 * if the kernel refuses that. The parent has them all. */
START_TEST(a_child_has_none)
{
	uintptr_t blocks[100];
	unsigned count = 0, i;

	random_seed(0);
	if (_i)
		refuse_to_wipe();
	for (i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		blocks[count] = (random_below(1 << 20) << 10) + 16 * i + 16;
		count += put(blocks[count]);
	}
	ck_assert_uint_ge(count, 1);
	ck_assert_uint_eq(found_in_child(blocks, count, false), _i ? count : 0);
	ck_assert_uint_eq(found_in_child(blocks, count, true), 0);
	for (i = 0; i < count; i++)
		ck_assert(take(blocks[i]));
}
END_TEST

START_TEST(an_emptied_table_has_nothing)
{
	ck_assert(put(0x1000));
	ck_assert(put(0x2000));
	ck_assert(take(0x2000));
	fxt_block_table_empty();
	ck_assert(!take(0x1000));
	ck_assert(put(0x1000));
	ck_assert(take(0x1000));
}
END_TEST

int main(void)
{
	TCase *places = tcase_create("places"), *emptied = tcase_create("emptied");

	tcase_set_timeout(places, 60);
	tcase_add_loop_test(places, what_finds_no_place_is_refused, 0, ROUNDS);
	tcase_add_test(places, there_are_a_million_places);
	tcase_set_timeout(emptied, 60);
	tcase_add_test(emptied, an_emptied_table_has_nothing);
	tcase_add_loop_test(emptied, a_child_has_none, 0, 2);
	return RUN_SUITE("block table", emptied, places);
}
