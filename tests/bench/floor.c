/* The floor is what a tracer of this kind costs at least. This library is preloaded and stands in for the
 * measured calls as the agent does. It does nothing but read the counter twice and store a record of the same
 * size. The environment says where:
 *
 *	FLOOR_FILE unset        into 4 MiB of memory that is used again and again
 *	FLOOR_FILE=DIRECTORY    into a file in that directory, which grows by freshly mapped windows of 1 MiB:
 *	                        each is reserved with fallocate, mapped, and populated for writing in one call
 *	FLOOR_GROW=write        into that file, which grows by large writes of zeros instead, and whose pages
 *	                        fault in one by one: the cheapest way we know, and the agent's own
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RING_WORDS = 4 << 17, STEP_BYTES = 1 << 20, WRITE_PAGES = 16 };

struct ring {
	uint64_t *at, *end, *base;
	int fd;
	off_t offset;
};

static __thread struct ring ring __attribute__((tls_model("initial-exec")));
static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static int (*real_lock)(pthread_mutex_t *);
static int (*real_unlock)(pthread_mutex_t *);
static ssize_t (*real_write)(int, const void *, size_t);

__attribute__((constructor)) static void find(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	real_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
}

static inline uint64_t tick(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

static void *map(int fd, off_t offset, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, offset);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

static void write_pages(void)
{
	static const char page[4096];
	struct iovec vector[WRITE_PAGES];
	unsigned i;

	for (i = 0; i < WRITE_PAGES; i++)
		vector[i] = (struct iovec){(void *)page, sizeof(page)};
	for (i = 0; i < STEP_BYTES / sizeof(page) / WRITE_PAGES; i++)
		if (pwritev(ring.fd, vector, WRITE_PAGES,
			    ring.offset + (off_t)(i * WRITE_PAGES * sizeof(page))) < 0)
			abort();
}

static void next_step(void)
{
	bool by_writing = getenv("FLOOR_GROW");

	if (ring.base)
		munmap(ring.base, STEP_BYTES);
	if (by_writing)
		write_pages();
	else if (fallocate(ring.fd, 0, ring.offset, STEP_BYTES))
		abort();
	ring.base = map(ring.fd, ring.offset, STEP_BYTES);
	if (!by_writing && madvise(ring.base, STEP_BYTES, MADV_POPULATE_WRITE))
		abort();
	ring.offset += STEP_BYTES;
	ring.at = ring.base;
	ring.end = ring.base + STEP_BYTES / 8;
}

static __attribute__((noinline, cold)) void turn(void)
{
	const char *path = getenv("FLOOR_FILE");

	if (path) {
		if (!ring.fd) {
			ring.fd = open(path, O_TMPFILE | O_RDWR, 0600);
		}
		next_step();
		return;
	}
	if (!ring.base) {
		ring.base = map(-1, 0, (size_t)RING_WORDS * 8);
		memset(ring.base, 1, (size_t)RING_WORDS * 8);
	}
	ring.at = ring.base;
	ring.end = ring.base + RING_WORDS;
}

/* Stores a record of so many words: a header, the start, `words` - 3 words of arguments, and the end. */
static inline void record(int words, uint64_t start, uint64_t end, uint64_t first, uint64_t second)
{
	uint64_t *at;

	if (__builtin_expect(ring.end - ring.at <= words, 0))
		turn();
	at = ring.at;
	at[0] = (uint64_t)words;
	at[1] = start;
	if (words > 3)
		at[2] = first;
	if (words > 4)
		at[3] = second;
	if (words > 5)
		at[4] = second;
	at[words - 1] = end;
	ring.at = at + words;
}

void *malloc(size_t size)
{
	uint64_t start, end;
	void *result;

	if (!real_malloc)
		find();
	start = tick();
	result = real_malloc(size);
	end = tick();
	record(6, start, end, size, (uintptr_t)result);
	return result;
}

void free(void *block)
{
	uint64_t start;

	if (!real_free)
		find();
	start = tick();
	real_free(block);
	record(5, start, tick(), 0, (uintptr_t)block);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	uint64_t start = tick();
	int result = real_lock(mutex);

	record(5, start, tick(), 0, (uintptr_t)mutex);
	return result;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	uint64_t start = tick();
	int result = real_unlock(mutex);

	record(5, start, tick(), 0, (uintptr_t)mutex);
	return result;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	uint64_t start = tick();
	ssize_t result = real_write(fd, data, bytes);

	record(6, start, tick(), (uint64_t)fd, (uint64_t)result);
	return result;
}

static __thread uint64_t entered __attribute__((tls_model("initial-exec")));

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)function;
	(void)call_site;
	entered = tick();
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)function;
	(void)call_site;
	record(3, entered, tick(), 0, 0);
}
