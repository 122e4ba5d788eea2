/* Uses locks, streams and the like of every origin. Prints for each call on one the name that the object
 * has, "call name", in the order of the calls, which one thread makes. The functions are visible, because a
 * stripped program has no other names.
 *
 *	objects names [stripped]        variables, small blocks and stacks; streams and directories
 *	objects fork                    the same lock in parent and child; the process id comes first
 *	objects library ONE TWO         a library, and another at its addresses when it is gone
 *	objects many COUNT              so many at once; prints nothing
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "objects.h"

struct pool {
	long used;
	pthread_mutex_t lock;
	pthread_cond_t more;
};

pthread_mutex_t app_lock = PTHREAD_MUTEX_INITIALIZER;
struct pool pool = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t meeting;
pthread_spinlock_t spin;
pthread_mutex_t shards[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
			     PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static int stripped;

void APART use_variables(void);
void APART use_variables(void)
{
	static pthread_mutex_t local_lock = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = {0, 0};

	USE(&app_lock, "app_lock");
	USE(&shards[2], "shards+0x%zx", 2 * sizeof(pthread_mutex_t));
	USE(&shards[0], "shards");
	if (stripped) {
		USE(&own_lock, "mutex first used by use_variables");
		USE(&local_lock, "mutex first used by use_variables");
	} else {
		USE(&own_lock, "own_lock");
		USE(&local_lock, "local_lock");
	}
	pthread_cond_signal(&pool.more);
	SAY("pthread_cond_signal", "pool+0x%zx", offsetof(struct pool, more));
	pthread_mutex_lock(&pool.lock);
	SAY("pthread_mutex_lock", "pool+0x%zx", offsetof(struct pool, lock));
	pthread_cond_timedwait(&pool.more, &pool.lock, &past);
	SAY("pthread_cond_timedwait", "pool+0x%zx pool+0x%zx", offsetof(struct pool, more),
	    offsetof(struct pool, lock));
	pthread_mutex_unlock(&pool.lock);
	SAY("pthread_mutex_unlock", "pool+0x%zx", offsetof(struct pool, lock));
	pthread_rwlock_rdlock(&table_lock);
	SAY("pthread_rwlock_rdlock", "table_lock");
	pthread_rwlock_unlock(&table_lock);
	SAY("pthread_rwlock_unlock", "table_lock");
	pthread_spin_init(&spin, 0);
	SAY("pthread_spin_init", "spin");
	pthread_spin_lock(&spin);
	SAY("pthread_spin_lock", "spin");
	pthread_spin_unlock(&spin);
	SAY("pthread_spin_unlock", "spin");
	pthread_barrier_init(&meeting, NULL, 1);
	SAY("pthread_barrier_init", "meeting");
	pthread_barrier_wait(&meeting);
	SAY("pthread_barrier_wait", "meeting");
	pthread_barrier_destroy(&meeting);
	SAY("pthread_barrier_destroy", "meeting");
}

/* -- The heap ---------------------------------------------------------------------------------- */

/* All these objects are in one block, so that an address is used for one after another. */
static union {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	mtx_t mtx;
	cnd_t cnd;
	sem_t sem;
} *block;

void APART pool_create(void);
void APART pool_create(void)
{
	pthread_mutex_init(&block->mutex, NULL);
	SAY("pthread_mutex_init", "mutex of pool_create");
}

void APART cache_create(void);
void APART cache_create(void)
{
	pthread_mutex_init(&block->mutex, NULL);
	SAY("pthread_mutex_init", "mutex of cache_create");
}

void APART c11_create(void);
void APART c11_create(void)
{
	mtx_init(&block->mtx, mtx_plain);
	SAY("mtx_init", "mutex of c11_create");
	mtx_lock(&block->mtx);
	SAY("mtx_lock", "mutex of c11_create");
	mtx_unlock(&block->mtx);
	SAY("mtx_unlock", "mutex of c11_create");
	mtx_destroy(&block->mtx);
	SAY("mtx_destroy", "mutex of c11_create");
	cnd_init(&block->cnd);
	SAY("cnd_init", "cond of c11_create");
	cnd_signal(&block->cnd);
	SAY("cnd_signal", "cond of c11_create");
	cnd_destroy(&block->cnd);
	SAY("cnd_destroy", "cond of c11_create");
}

void APART worker(void);
void APART worker(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memcpy(&block->mutex, &fresh, sizeof(fresh));
	USE(&block->mutex, "mutex first used by worker");
	pthread_mutex_destroy(&block->mutex);
	SAY("pthread_mutex_destroy", "mutex first used by worker");
}

static void use_heap(void)
{
	int i;

	block = malloc(sizeof(*block));
	need(block != NULL);
	worker();
	/* The same object made again is told once. */
	for (i = 0; i < 3; i++) {
		pool_create();
		USE(&block->mutex, "mutex of pool_create");
		pthread_mutex_destroy(&block->mutex);
		SAY("pthread_mutex_destroy", "mutex of pool_create");
	}
	cache_create();
	USE(&block->mutex, "mutex of cache_create");
	/* The mutex was not destroyed, but another one is made in its memory. */
	pool_create();
	USE(&block->mutex, "mutex of pool_create");
	pthread_mutex_destroy(&block->mutex);
	SAY("pthread_mutex_destroy", "mutex of pool_create");
	c11_create();
	worker();
	free(block);
}

void APART on_stack(void);
void APART on_stack(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	sem_t done;

	USE(&lock, "mutex first used by on_stack");
	pthread_mutex_destroy(&lock);
	SAY("pthread_mutex_destroy", "mutex first used by on_stack");
	sem_init(&done, 0, 0);
	SAY("sem_init", "sem of on_stack");
	sem_post(&done);
	SAY("sem_post", "sem of on_stack");
	sem_wait(&done);
	SAY("sem_wait", "sem of on_stack");
	sem_destroy(&done);
	SAY("sem_destroy", "sem of on_stack");
}

/* -- Streams and directories ------------------------------------------------------------------- */

static void use_stream(const char *path)
{
	FILE *stream = fopen(path, "r+e");

	need(stream != NULL);
	SAY("fopen", "FILE %s", path);
	need(fwrite(path, 1, 2, stream) == 2);
	SAY("fwrite", "FILE %s", path);
	fclose(stream);
	SAY("fclose", "FILE %s", path);
}

static void use_streams(void)
{
	char path[400];
	size_t bytes;
	FILE *stream;
	DIR *directory;
	int fd;

	use_stream("/dev/null");
	use_stream("/dev/zero");
	use_stream("/dev/null");
	/* Of a long path, the name has the end. */
	memcpy(path, "/dev", 4);
	for (bytes = 4; bytes < 300; bytes += 4)
		memcpy(path + bytes, "/./.", 4);
	memcpy(path + bytes, "/null", sizeof("/null"));
	stream = fopen(path, "re");
	need(stream != NULL);
	SAY("fopen", "FILE ..%s", path + strlen(path) - 94);
	fclose(stream);
	SAY("fclose", "FILE ..%s", path + strlen(path) - 94);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	stream = fdopen(fd, "r");
	need(stream != NULL);
	SAY("fdopen", "FILE of descriptor %d", fd);
	fclose(stream);
	SAY("fclose", "FILE of descriptor %d", fd);
	directory = opendir("/dev");
	need(directory != NULL);
	SAY("opendir", "DIR /dev");
	need(readdir(directory) != NULL);
	SAY("readdir", "DIR /dev");
	closedir(directory);
	SAY("closedir", "DIR /dev");
	need(!setvbuf(stdin, NULL, _IONBF, 0));
	SAY("setvbuf", "stdin");
}

/* -- Processes, libraries, many ---------------------------------------------------------------- */

void APART in_child(void);
void APART in_child(void)
{
	dprintf(1, "%d pthread_mutex_lock app_lock\n", (int)getpid());
	pthread_mutex_lock(&app_lock);
	dprintf(1, "%d pthread_mutex_unlock app_lock\n", (int)getpid());
	pthread_mutex_unlock(&app_lock);
	dprintf(1, "%d pthread_mutex_lock mutex first used by in_child\n", (int)getpid());
	pthread_mutex_lock(&block->mutex);
	dprintf(1, "%d pthread_mutex_unlock mutex first used by in_child\n", (int)getpid());
	pthread_mutex_unlock(&block->mutex);
}

void APART make_block(void);
void APART make_block(void)
{
	block = malloc(sizeof(*block));
	need(block != NULL);
	need(!pthread_mutex_init(&block->mutex, NULL));
}

static void fork_once(void)
{
	pid_t child;

	dprintf(1, "%d pthread_mutex_init mutex of make_block\n", (int)getpid());
	make_block();
	dprintf(1, "%d pthread_mutex_lock app_lock\n", (int)getpid());
	pthread_mutex_lock(&app_lock);
	dprintf(1, "%d pthread_mutex_unlock app_lock\n", (int)getpid());
	pthread_mutex_unlock(&app_lock);
	child = fork();
	if (!child) {
		in_child();
		_exit(0);
	}
	need(waitpid(child, NULL, 0) == child);
	free(block);
}

static void use_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*use)(void);

	need(library != NULL);
	use = (void (*)(void))dlsym(library, "use_library");
	need(use != NULL);
	use();
	dlclose(library);
}

void APART make_many(long count);
void APART make_many(long count)
{
	pthread_mutex_t *locks = calloc((size_t)count, sizeof(pthread_mutex_t));
	long i;

	need(locks != NULL);
	for (i = 0; i < count; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&locks[i]);
		pthread_mutex_unlock(&locks[i]);
	}
	free(locks);
}

int main(int argc, char **argv)
{
	need(argc > 1);
	if (!strcmp(argv[1], "names")) {
		stripped = argc > 2;
		use_variables();
		use_heap();
		on_stack();
		use_streams();
	} else if (!strcmp(argv[1], "fork")) {
		fork_once();
	} else if (!strcmp(argv[1], "library")) {
		need(argc == 4);
		use_library(argv[2]);
		use_library(argv[3]);
		use_library(argv[2]);
	} else {
		make_many(argc > 2 ? atol(argv[2]) : 1);
	}
	return 0;
}
