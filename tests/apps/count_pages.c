/* This program makes a known number of calls on memory by pages, and prints how many (counts.h).
 *
 *	count_pages ROUNDS
 */
#define CALLS(X)                                                                                        \
	X(malloc, mmap) X(malloc, munmap) X(malloc, mremap) X(malloc, mprotect)                         \
	X(malloc, pkey_mprotect) X(malloc, madvise) X(malloc, posix_madvise)                            \
	X(malloc, process_madvise) X(malloc, msync) X(malloc, mlock) X(malloc, mlock2)                  \
	X(malloc, munlock) X(malloc, mlockall) X(malloc, munlockall) X(malloc, remap_file_pages)        \
	X(malloc, brk) X(malloc, sbrk) X(malloc, malloc_trim) X(malloc, shmget) X(malloc, shmat)        \
	X(malloc, shmdt) X(malloc, shmctl)

#include <malloc.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include "counts.h"

enum { PAGE = 4096 };

/* Makes the calls on ordinary pages. Whether pages may be locked, and keys be used, differs from system to
 * system, so those calls are only counted. */
static void use_pages(void)
{
	size_t left = (4 + random_below(100)) * PAGE, bytes = left + (4 + random_below(100)) * PAGE;
	char *pages = CALL(mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec vector = {NULL, 0};

	NEED(pages != MAP_FAILED);
	NEED(CALL(mmap, NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  (off_t)random_number(40) * PAGE) == MAP_FAILED && errno == EINVAL);
	pages[0] = 1;
	NEED(CALL(mprotect, pages, PAGE, PROT_READ) == 0);
	CALL(pkey_mprotect, pages, PAGE, PROT_READ, -1);
	NEED(CALL(madvise, pages + PAGE, bytes - PAGE, MADV_DONTNEED) == 0);
	NEED(CALL(madvise, pages, PAGE, 999) == -1 && errno == EINVAL);
	NEED(CALL(posix_madvise, pages, bytes, POSIX_MADV_NORMAL) == 0);
	NEED(CALL(process_madvise, -1, &vector, 1, MADV_COLD, 0) == -1);
	NEED(CALL(msync, pages, bytes, MS_ASYNC) == 0);
	CALL(mlock, pages, PAGE);
	CALL(mlock2, pages, PAGE, 0);
	CALL(munlock, pages, PAGE);
	NEED(CALL(mlockall, 0) == -1);
	CALL(munlockall);
	NEED(CALL(remap_file_pages, pages, PAGE, 1, random_number(60), 0) == -1);
	pages = CALL(mremap, pages, bytes, left, MREMAP_MAYMOVE);
	NEED(pages != MAP_FAILED && pages[0] == 1);
	NEED(CALL(munmap, pages, left) == 0);
	NEED(CALL(munmap, pages + 1, random_number(40)) == -1 && errno == EINVAL);
}

/* Maps up to 64 GiB without memory, so that sizes take one word of a record or two. */
static void use_addresses(void)
{
	size_t bytes = (1 + random_number(24)) * PAGE;
	char *pages = CALL(mmap, NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(pages != MAP_FAILED);
	NEED(CALL(madvise, pages, bytes, MADV_DONTNEED) == 0);
	NEED(CALL(munmap, pages, bytes) == 0);
}

static void use_heap_end(void)
{
	char *end = CALL(sbrk, 0);

	NEED(end != (char *)-1 && CALL(brk, end) == 0);
	CALL(malloc_trim, random_number(60));
}

static void use_shared_memory(void)
{
	int id = CALL(shmget, IPC_PRIVATE, 1 + random_below(100 * PAGE), 0600);
	void *memory;

	NEED(id >= 0);
	memory = CALL(shmat, id, NULL, 0);
	NEED(memory != (void *)-1 && CALL(shmdt, memory) == 0);
	NEED(CALL(shmctl, id, IPC_RMID, NULL) == 0);
}

static void use_all(void)
{
	use_pages();
	use_addresses();
	use_heap_end();
	use_shared_memory();
}

int main(int argc, char **argv)
{
	random_seed(0);
	run_rounds(argc > 1 ? atol(argv[1]) : 1, use_all);
	return 0;
}
