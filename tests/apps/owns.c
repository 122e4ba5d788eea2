/* Gets and gives back memory in every way, and knows what it has. Prints a line for each block and mapping
 * of at least 64 KiB, and one for the size of the heap at some moments, which it marks in its trace:
 *
 *	PID block|mapping kept|gone SIZE FUNCTION
 *	PID heap MARK BYTES             more than at the first mark; a mark is access("MARK")
 *
 * `owns forever` gets memory and gives it back again and again, after it has printed a line.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST = 65536, PAGE = 4096, KIB = 1024, NOTES = 4000, THREADS = 4, HANDED = 25 };

#define APART __attribute__((noinline, noclone))

/* -- What there is to be seen ------------------------------------------------------------------- */

static struct note {
	const char *kind, *function;
	size_t bytes;
	const void *at;
	bool gone;
} notes[NOTES];
static int note_count;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

static void came(const char *kind, const void *at, size_t bytes, const char *function)
{
	if (bytes < LEAST)
		return;
	pthread_mutex_lock(&notes_lock);
	if (note_count == NOTES)
		abort();
	notes[note_count++] = (struct note){kind, function, bytes, at, false};
	pthread_mutex_unlock(&notes_lock);
}

static void goes(const char *kind, const void *at)
{
	int i;

	pthread_mutex_lock(&notes_lock);
	for (i = 0; i < note_count; i++)
		if (notes[i].at == at && !notes[i].gone && !strcmp(notes[i].kind, kind))
			notes[i].gone = true;
	pthread_mutex_unlock(&notes_lock);
}

static void print_notes(void)
{
	int i;

	for (i = 0; i < note_count; i++)
		printf("%d %s %s %zu %s\n", (int)getpid(), notes[i].kind, notes[i].gone ? "gone" : "kept",
		       notes[i].bytes, notes[i].function);
	fflush(stdout);
}

/* -- Blocks ------------------------------------------------------------------------------------ */

static void *got(void *block, const char *function)
{
	if (!block)
		abort();
	came("block", block, malloc_usable_size(block), function);
	return block;
}

static APART void *take(size_t bytes)
{
	void *volatile block = malloc(bytes);

	return got(block, __func__);
}

static APART void *take_cleared(size_t bytes)
{
	void *volatile block = calloc(2, bytes / 2);

	return got(block, __func__);
}

static APART void *take_aligned(size_t bytes)
{
	void *volatile block = aligned_alloc(PAGE, bytes);

	return got(block, __func__);
}

static APART void *take_by_number(size_t bytes)
{
	void *block = NULL;

	if (posix_memalign(&block, PAGE, bytes))
		abort();
	return got(block, __func__);
}

static APART void give(void *block)
{
	goes("block", block);
	free(block);
}

/* A size that is impossible leaves the block as it is. */
static APART void *resize(void *block, size_t bytes)
{
	void *volatile result;

	goes("block", bytes < SIZE_MAX / 4 ? block : NULL);
	result = realloc(block, bytes);
	if (bytes > SIZE_MAX / 4) {
		if (result)
			abort();
		return block;
	}
	return bytes ? got(result, __func__) : NULL;
}

static APART void *resize_array(void *block, size_t count, size_t bytes)
{
	void *volatile result;

	goes("block", count < SIZE_MAX / 4 ? block : NULL);
	result = reallocarray(block, count, bytes);
	if (count > SIZE_MAX / 4) {
		if (result)
			abort();
		return block;
	}
	return got(result, __func__);
}

static void all_blocks(void)
{
	void *block;

	take(LEAST);
	take(300 * KIB);
	give(take(LEAST));
	give(take(LEAST - 100));
	give(take_cleared(LEAST));
	take_cleared(70 * KIB);
	give(take_aligned(LEAST));
	take_aligned(128 * KIB);
	give(take_by_number(LEAST));
	take_by_number(200 * KIB);
	/* A block becomes large, larger, and small again; sizes that are impossible are between. */
	block = resize(take(100), 80 * KIB);
	block = resize(block, 500 * KIB);
	block = resize(block, SIZE_MAX / 2);
	block = resize_array(block, 100, 2 * KIB);
	block = resize_array(block, SIZE_MAX / 2, 2 * KIB);
	give(resize(block, 100));
	resize(resize(NULL, 90 * KIB), 0);
	resize(take(100 * KIB), 110 * KIB);
}

/* Each thread frees what another got; and all get and free the same few addresses as fast as they can. */
static void *handed[THREADS][HANDED];
static pthread_barrier_t barrier;

static void *hand_on(void *argument)
{
	int self = (int)(intptr_t)argument, i;

	for (i = 0; i < HANDED; i++)
		handed[self][i] = take(LEAST + (size_t)self * KIB);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < HANDED - self; i++)
		give(handed[(self + 1) % THREADS][i]);
	for (i = 0; i < 200; i++)
		give(take(LEAST));
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hand_on, (void *)(intptr_t)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* -- Mappings ---------------------------------------------------------------------------------- */

static APART char *map(void *at, size_t bytes, int flags)
{
	char *volatile mapping =
		mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (mapping != MAP_FAILED)
		came("mapping", mapping, bytes, __func__);
	return mapping;
}

static APART char *map_file(size_t bytes)
{
	FILE *file = tmpfile();
	char *volatile mapping;

	if (!file || ftruncate(fileno(file), (off_t)bytes))
		abort();
	mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(file), 0);
	fclose(file);
	came("mapping", mapping, bytes, __func__);
	return mapping;
}

static void unmap(char *at, size_t bytes)
{
	if (munmap(at, bytes))
		abort();
}

static APART char *move(char *from, size_t from_bytes, size_t to_bytes, int flags, char *to)
{
	char *volatile result = mremap(from, from_bytes, to_bytes, flags, to);

	if (result != MAP_FAILED)
		came("mapping", result, to_bytes, __func__);
	return result;
}

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void all_mappings(void)
{
	char *a, *b, *c;

	/* One mapping is kept whole, one in part, and one is too small to count. */
	map(NULL, 1024 * KIB, 0);
	a = map(NULL, 100 * PAGE, 0);
	unmap(a, PAGE);
	unmap(a + 99 * PAGE, PAGE);
	unmap(a + 50 * PAGE, PAGE);
	map(NULL, 2 * PAGE, 0);
	map_file(80 * KIB);
	b = map_file(200 * KIB);
	goes("mapping", b);
	unmap(b, 200 * KIB);
	/* A mapping goes piece by piece. */
	a = map(NULL, 30 * PAGE, 0);
	unmap(a + 10 * PAGE, 10 * PAGE);
	must(munmap(a + 1, PAGE) == -1);
	unmap(a, 10 * PAGE);
	unmap(a, 20 * PAGE);
	goes("mapping", a);
	unmap(a + 20 * PAGE, 10 * PAGE);
	/* MAP_FIXED replaces one mapping, and the end of another with the beginning of the next. One munmap()
	 * ends several. */
	a = map(NULL, 400 * PAGE, 0);
	goes("mapping", a);
	unmap(a, 400 * PAGE);
	must(map(a, 100 * PAGE, MAP_FIXED) == a);
	must(map(a + 100 * PAGE, 100 * PAGE, MAP_FIXED) == a + 100 * PAGE);
	must(map(a + 200 * PAGE, 100 * PAGE, MAP_FIXED) == a + 200 * PAGE);
	goes("mapping", a + 100 * PAGE);
	must(map(a + 100 * PAGE, 100 * PAGE, MAP_FIXED) == a + 100 * PAGE);
	must(map(a + 150 * PAGE, 100 * PAGE, MAP_FIXED) == a + 150 * PAGE);
	must(map(a + 1, 100 * PAGE, MAP_FIXED) == MAP_FAILED);
	must(map(a, 100 * PAGE, MAP_FIXED | MAP_FIXED_NOREPLACE) == MAP_FAILED);
	goes("mapping", a + 200 * PAGE);
	goes("mapping", a + 150 * PAGE);
	unmap(a + 150 * PAGE, 150 * PAGE);
	goes("mapping", a + 100 * PAGE);
	unmap(a + 100 * PAGE, 200 * PAGE);
	/* Mappings are moved onto another, and grow from too small to count; some calls are refused. */
	b = map(NULL, 50 * PAGE, 0);
	c = map(NULL, 60 * PAGE, 0);
	goes("mapping", b);
	goes("mapping", c);
	must(move(b, 50 * PAGE, 60 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, c) == c);
	must(move(c + 1, PAGE, PAGE, MREMAP_MAYMOVE, NULL) == MAP_FAILED);
	goes("mapping", c);
	must(move(c, 60 * PAGE, 20 * PAGE, 0, NULL) == c);
	move(map(NULL, PAGE, 0), PAGE, 40 * PAGE, MREMAP_MAYMOVE, NULL);
}

/* -- The heap as a whole ----------------------------------------------------------------------- */

static long heap_bytes;

static void *sized(void *block)
{
	heap_bytes += (long)malloc_usable_size(block);
	return block;
}

static void unsized(void *block)
{
	heap_bytes -= (long)malloc_usable_size(block);
	free(block);
}

/* Leaves time for samples, and then notes what they should say. */
static void mark(const char *name)
{
	int i;

	for (i = 0; i < 50; i++)
		usleep(1000);
	access(name, F_OK);
	printf("%d heap %s %ld\n", (int)getpid(), name, heap_bytes);
	fflush(stdout);
}

static void *blocks[100];

static void *free_half(void *argument)
{
	int i;

	/* The first wait ends before the first mark, the second after the mark "large". */
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < 50; i++)
		unsized(blocks[i]);
	blocks[0] = sized(realloc(NULL, 1000));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

static APART void all_of_the_heap(void)
{
	pthread_t thread;
	pid_t child;
	size_t i;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, free_half, NULL);
	pthread_barrier_wait(&barrier);
	mark("first");
	for (i = 0; i < 100; i++)
		blocks[i] = sized(malloc(i * i));
	mark("small");
	blocks[99] =
		(heap_bytes -= (long)malloc_usable_size(blocks[99]), sized(realloc(blocks[99], 3000000)));
	mark("large");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	mark("half");
	/* A child has what all threads of its parent had. */
	child = fork();
	if (!child) {
		mark("child");
		unsized(blocks[60]);
		blocks[61] = (unsized(blocks[61]), sized(calloc(1000, 1000)));
		mark("changed");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static char output[BUFSIZ];
	void *inherited;
	char *mapping;
	pid_t child;

	/* Without this, stdio would allocate the buffer between two marks. */
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (argc > 1 && !strcmp(argv[1], "forever")) {
		puts("ready");
		fflush(stdout);
		for (;; note_count = 0) {
			all_blocks();
			in_threads();
			all_mappings();
		}
	}
	all_of_the_heap();
	all_blocks();
	in_threads();
	all_mappings();
	inherited = take(LEAST);
	mapping = map(NULL, LEAST, 0);
	print_notes();
	child = fork();
	if (!child) {
		/* Memory from the parent began in the parent's trace, so the child prints nothing of it. */
		note_count = 0;
		free(inherited);
		unmap(mapping, LEAST);
		all_blocks();
		in_threads();
		all_mappings();
		print_notes();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
