/* This program frees and resizes what is no block. Each case runs in a child of its own, once in its first
 * thread and once in another one, and the program prints how the child ended. The C library finds most of
 * these and aborts with a message, some crash, and some go well. Nobody in front of it may change which of
 * these it is. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/resource.h>

#include "host.h"

enum { PAGE = 4096, TCACHE_COUNT = 7, ARENA_BYTES = 64 << 20 };

/* Returns the pointer, so that the compiler does not know where it comes from. The compiler would warn of
 * these calls, and drop what is stored in a block before free(), which does not look at it. */
static void *hidden(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	return pointer;
}

static void free_wrong(void *pointer)
{
	free(hidden(pointer));
}

static char *block_of(size_t bytes)
{
	void *volatile block = malloc(bytes);

	need(block != NULL);
	memset(block, 0, bytes);
	return block;
}

/* Writes the word that stands in front of a block, and returns the block. The word says how large the block
 * is. Of its last three bits 1 says that the block before is in use, 2 that the block is a mapping of its
 * own, and 4 that it belongs to another arena than the first. */
static void *with_size(void *memory, size_t word)
{
	memcpy((char *)memory + 8, &word, sizeof(word));
	return (char *)memory + 16;
}

/* -- Addresses of nothing ---------------------------------------------------------------------- */

static void null_page(void)
{
	free_wrong((void *)16);
}

static void null_page_unaligned(void)
{
	free_wrong((void *)21);
}

static void no_address(void)
{
	free_wrong((void *)0x4141414141414140);
}

static char *two_pages(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(pages != MAP_FAILED);
	return pages;
}

static void behind_no_page(void)
{
	char *pages = two_pages();

	need(!mprotect(pages, PAGE, PROT_NONE));
	free_wrong(pages + PAGE);
}

/* -- Addresses within a block ------------------------------------------------------------------ */

static void unaligned(void)
{
	free_wrong(block_of(100) + 1);
}

static void unaligned_by_half(void)
{
	free_wrong(block_of(100) + 8);
}

static void unaligned_garbage(void)
{
	char *block = block_of(100);

	memset(block, 'A', 100);
	free_wrong(block + 24);
}

static void middle(void)
{
	free_wrong(block_of(100) + 16);
}

static void middle_garbage(void)
{
	char *block = block_of(1000);

	memset(block, 'A', 1000);
	free_wrong(block + 160);
}

static void middle_of_large(void)
{
	char *block = block_of(200000);

	memset(block, 0x11, 200000);
	free_wrong(block + 65536);
}

static void middle_of_mapping(void)
{
	char *block = block_of(3000000);

	memset(block, 0x12, 3000000);
	free_wrong(block + 65536);
}

/* -- Stacks, variables ------------------------------------------------------------------------- */

static __attribute__((aligned(16))) char variable[4096];

static void zeros(void)
{
	free_wrong(variable + 64);
}

static void free_on_stack(size_t word)
{
	__attribute__((aligned(PAGE))) char memory[512] = "";

	free_wrong(with_size(memory + 64, word));
}

static void stack_zero(void)
{
	free_on_stack(0);
}

static void stack_text(void)
{
	free_on_stack(0x4848484848484848);
}

static void stack_small_text(void)
{
	free_on_stack(0x0000686868686868);
}

static void stack_negative(void)
{
	free_on_stack((size_t)-64);
}

static void stack_pointer(void)
{
	free_on_stack((size_t)(uintptr_t)variable);
}

static void stack_large(void)
{
	free_on_stack(0x40000000000 | 1);
}

static void stack_mapped(void)
{
	free_on_stack(0x20000 | 2);
}

static void stack_page(void)
{
	free_on_stack(PAGE | 2);
}

/* The C library looks for the arena at the multiple of an arena's size in front of it, where nothing is. */
static void other_arena(void)
{
	char *all = mmap(NULL, 3 * (size_t)ARENA_BYTES, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *inside;

	need(all != MAP_FAILED);
	inside = (char *)((uintptr_t)all + ARENA_BYTES - (uintptr_t)all % ARENA_BYTES + 100 * PAGE);
	need(!mprotect(inside, PAGE, PROT_READ | PROT_WRITE));
	free_wrong(with_size(inside, 0x100 | 5));
}

static void stack_least(void)
{
	free_on_stack(16 | 1);
}

static void stack_odd(void)
{
	free_on_stack(0x48 | 1);
}

/* This case and the next go well: the C library keeps the block for the next malloc(). */
static void stack_small(void)
{
	free_on_stack(0x40 | 1);
}

static void variable_small(void)
{
	free_wrong(with_size(variable, 0x40 | 1));
}

static void at_the_end(void)
{
	char *pages = two_pages();

	need(!mprotect(pages + PAGE, PAGE, PROT_NONE));
	free_wrong(with_size(pages + PAGE - 32, 0x100 | 1));
}

/* -- Blocks of which the size is overwritten --------------------------------------------------- */

static void overwritten(void)
{
	char *block = block_of(40);

	memset(block - 8, 'A', 40);
	free_wrong(block);
}

static void overwritten_large(void)
{
	char *block = block_of(100000);

	memset(block - 8, 'B', 40);
	free_wrong(block);
}

static void overwritten_next(void)
{
	char *block = block_of(5000), *next = block_of(5000);

	memset(next - 16, 'A', 16);
	free_wrong(block);
}

static void overwritten_mapping(void)
{
	char *block = block_of(3000000);

	with_size(block - 16, 0x123452);
	free_wrong(block);
}

/* -- Blocks that are freed twice --------------------------------------------------------------- */

static void twice(size_t bytes)
{
	char *block = block_of(bytes);

	free_wrong(block);
	free_wrong(block);
}

static void twice_small(void)
{
	twice(40);
}

static void twice_small_full(void)
{
	char *blocks[TCACHE_COUNT], *block;
	int i;

	for (i = 0; i < TCACHE_COUNT; i++)
		blocks[i] = block_of(40);
	block = block_of(40);
	for (i = 0; i < TCACHE_COUNT; i++)
		free(blocks[i]);
	free_wrong(block);
	free_wrong(block);
}

static void twice_middle(void)
{
	twice(5000);
}

static void twice_before_another(void)
{
	char *block = block_of(5000);

	hidden(block_of(100));
	free_wrong(block);
	free_wrong(block);
}

static void twice_large(void)
{
	twice(100000);
}

static void twice_mapping(void)
{
	twice(3000000);
}

/* -- Resizing ---------------------------------------------------------------------------------- */

static void resize(void *pointer, size_t bytes)
{
	hidden(realloc(hidden(pointer), bytes));
}

static void resize_unaligned(void)
{
	resize(block_of(100) + 8, 200);
}

static void resize_text(void)
{
	__attribute__((aligned(16))) char memory[256] = "";

	resize(with_size(memory, 0x4848484848484840), 1000);
}

static void resize_large(void)
{
	__attribute__((aligned(16))) char memory[256] = "";

	resize(with_size(memory, 0x40000000000 | 1), 1000);
}

static void resize_null_page(void)
{
	resize((void *)32, 1000);
}

static void resize_to_nothing(void)
{
	__attribute__((aligned(16))) char memory[256] = "";

	resize(with_size(memory, 0x40000000000 | 1), 0);
}

static void resize_freed(void)
{
	char *block = block_of(5000);

	hidden(block_of(100));
	free_wrong(block);
	resize(block, 10000);
}

/* The size is refused before the pointer is looked at. */
static void resize_impossible(void)
{
	volatile size_t half = SIZE_MAX / 2;

	errno = 0;
	need(!hidden(reallocarray(hidden((void *)24), half, 3)) && errno == ENOMEM);
}

static const struct {
	const char *name;
	void (*call)(void);
} cases[] = {
#define CASE(name) {#name, name}
	CASE(null_page), CASE(null_page_unaligned), CASE(no_address), CASE(behind_no_page), CASE(unaligned),
	CASE(unaligned_by_half), CASE(unaligned_garbage), CASE(middle), CASE(middle_garbage),
	CASE(middle_of_large), CASE(middle_of_mapping), CASE(zeros), CASE(stack_zero), CASE(stack_text),
	CASE(stack_small_text), CASE(stack_negative), CASE(stack_pointer), CASE(stack_large),
	CASE(stack_mapped), CASE(stack_page), CASE(other_arena), CASE(stack_least), CASE(stack_odd),
	CASE(stack_small), CASE(variable_small), CASE(at_the_end), CASE(overwritten),
	CASE(overwritten_large), CASE(overwritten_next), CASE(overwritten_mapping), CASE(twice_small),
	CASE(twice_small_full), CASE(twice_middle), CASE(twice_before_another), CASE(twice_large),
	CASE(twice_mapping), CASE(resize_unaligned), CASE(resize_text), CASE(resize_large),
	CASE(resize_null_page), CASE(resize_to_nothing), CASE(resize_freed), CASE(resize_impossible),
#undef CASE
};

static void *run(void *argument)
{
	/* A thread that is not the first gets an arena of its own here. */
	hidden(block_of(100));
	mark();
	cases[(size_t)argument].call();
	return NULL;
}

static void run_in_thread(void *argument)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, run, argument) && !pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};
	size_t i;
	int thread;
	pid_t child;

	need(!setrlimit(RLIMIT_CORE, &none));
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
			continue;
		for (thread = 0; thread < 2; thread++) {
			say(cases[i].name);
			say(thread ? " in a thread, " : ", ");
			child = fork();
			if (!child) {
				if (thread)
					run_in_thread((void *)i);
				else
					run((void *)i);
				_exit(0);
			}
			wait_for(child);
		}
	}
	print_marks();
	return 0;
}
