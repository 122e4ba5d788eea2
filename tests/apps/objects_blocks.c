/* Uses heap blocks, and locks that lie in them. Prints for each call on one the name that the object has,
 * "call name", in the order of the calls, which one thread makes.
 *
 *	objects_blocks large            blocks that are large enough to have a name
 *	objects_blocks small            small blocks, where all have one
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "objects.h"

enum { TABLE_BYTES = 100000, SMALL_BYTES = 5000, LARGE_BYTES = 3000000, TIMES = 500, IN_BLOCK = 5008 };

static void *made(const char *call, void *at, const char *name)
{
	need(at != NULL);
	SAY(call, "block of %s", name);
	return at;
}

static void drop(void *at, const char *name)
{
	SAY("free", "block of %s", name);
	free(at);
}

APART void *make_table(size_t bytes);
APART void *make_table(size_t bytes)
{
	return made("malloc", malloc(bytes), __func__);
}

APART void *make_index(void);
APART void *make_index(void)
{
	return made("calloc", calloc(10, TABLE_BYTES / 10), __func__);
}

APART void *make_aligned(void);
APART void *make_aligned(void)
{
	return made("aligned_alloc", aligned_alloc(4096, 81920), __func__);
}

APART void *make_by_number(void);
APART void *make_by_number(void)
{
	void *at;

	need(!posix_memalign(&at, 64, TABLE_BYTES));
	return made("posix_memalign", at, __func__);
}

APART void *grow(void *at, const char *name);
APART void *grow(void *at, const char *name)
{
	void *volatile same;

	at = realloc(at, TABLE_BYTES + 8000);
	need(at != NULL);
	SAY("realloc", "block of %s block of grow", name);
	/* A size that is impossible leaves the block as it is. */
	SAY("realloc", "block of grow");
	same = at;
	at = realloc(same, SIZE_MAX / 3);
	need(at == NULL);
	at = same;
	SAY("reallocarray", "block of grow block of grow");
	at = reallocarray(at, 2, TABLE_BYTES);
	need(at != NULL);
	return at;
}

/* Makes a lock as C++ does: no call makes or destroys it. */
static pthread_mutex_t *lay(void *memory, size_t at)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	return memcpy((char *)memory + at, &fresh, sizeof(fresh));
}

void APART one_user(void *memory, size_t at);
void APART one_user(void *memory, size_t at)
{
	USE(lay(memory, at), "mutex first used by one_user");
}

void APART another_user(void *memory, size_t at);
void APART another_user(void *memory, size_t at)
{
	USE(lay(memory, at), "mutex first used by another_user");
}

/* Uses locks that lie at the same address, one after the other. */
static void reuse_locks(void)
{
	void *volatile first = make_table(TABLE_BYTES), *at, *small;

	one_user(first, IN_BLOCK);
	one_user(first, IN_BLOCK);
	drop(first, "make_table");
	at = make_table(TABLE_BYTES);
	need(at == first);
	another_user(at, IN_BLOCK);
	drop(at, "make_table");
	at = make_table(TABLE_BYTES);
	need(at == first);
	one_user(at, IN_BLOCK);
	SAY("realloc", "block of make_table");
	small = realloc(at, 2000);
	need(small == first);
	another_user(first, IN_BLOCK);
	free(small);
	/* Mappings. */
	first = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(first != MAP_FAILED);
	one_user(first, IN_BLOCK);
	munmap(first, 8192);
	at = mmap(first, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		  0);
	need(at == first);
	another_user(at, IN_BLOCK);
	at = mmap(first, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	need(at == first);
	one_user(at, IN_BLOCK);
	/* A lock behind the pages that are unmapped is known as before. */
	one_user(at, 3 * 4096 + IN_BLOCK);
	munmap(at, 8192);
	USE((pthread_mutex_t *)((char *)at + 3 * 4096 + IN_BLOCK), "mutex first used by one_user");
}

static void reuse_small(void)
{
	void *volatile first = make_table(300), *at;

	one_user(first, 64);
	drop(first, "make_table");
	at = make_table(300);
	need(at == first);
	another_user(at, 64);
	drop(at, "make_table");
}

void APART pool_create(pthread_mutex_t *mutex);
void APART pool_create(pthread_mutex_t *mutex)
{
	pthread_mutex_init(mutex, NULL);
	SAY("pthread_mutex_init", "mutex of pool_create");
}

static void use_blocks(void)
{
	void *first, *at, *small;
	int i;

	/* The blocks are mostly at one address, and told once while nothing changes. */
	for (i = 0; i < TIMES; i++)
		drop(make_table(TABLE_BYTES), "make_table");
	drop(make_table(TABLE_BYTES + 1000), "make_table");
	first = make_index();
	drop(first, "make_index");
	/* A small block has no name, least of all that of the block before it. */
	small = malloc(SMALL_BYTES);
	need(small == first);
	free(small);
	drop(make_table(TABLE_BYTES), "make_table");
	drop(make_table(LARGE_BYTES), "make_table");
	drop(make_aligned(), "make_aligned");
	drop(make_by_number(), "make_by_number");
	at = grow(make_table(TABLE_BYTES), "make_table");
	SAY("realloc", "block of grow");
	small = realloc(at, 100);
	need(small != NULL);
	free(small);
	/* A lock that begins where the block does is another object. */
	at = make_table(TABLE_BYTES);
	pool_create(at);
	USE((pthread_mutex_t *)at, "mutex of pool_create");
	drop(at, "make_table");
	reuse_locks();
	/* This block is not freed. */
	make_index();
}

int main(int argc, char **argv)
{
	need(argc > 1);
	if (!strcmp(argv[1], "small"))
		reuse_small();
	else
		use_blocks();
	return 0;
}
