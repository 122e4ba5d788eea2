/* Makes threads in many ways, or ends the process in one of many ways while threads go on. It is linked with
 * libhost_early.so, whose destructor comes last.
 *
 *	host_threads unseen | keys | raw
 *	host_threads alive | turn COUNT		makes so many threads, at the same time or in turn
 *	host_threads tight COUNT		makes so many threads, each of which has used up nearly all of
 *						its small stack
 *	host_threads exits-alone | outlived | other-exits | exits | quick_exits | _exits | aborts
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

void early_join(void);

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_barrier_t all_there;
static pthread_attr_t small;

static void *mark_once(void *argument)
{
	mark();
	return argument;
}

/* -- Threads whose making the wrapper does not see ------------------------------------------------- */

static void not_seen(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	create_fn *ways[3];
	pthread_t thread;
	size_t i;
	int round;

	ways[0] = (create_fn *)dlsym(RTLD_DEFAULT, "pthread_create");
	ways[1] = (create_fn *)dlsym(libc, "pthread_create");
	ways[2] = (create_fn *)dlvsym(libc, "pthread_create",
				      sizeof(void *) == 8 && dlvsym(libc, "pthread_create", "GLIBC_2.2.5")
					      ? "GLIBC_2.2.5"
					      : "GLIBC_2.17");
	for (i = 0; i < 3; i++) {
		need(ways[i]);
		for (round = 0; round < 10; round++)
			need(!ways[i](&thread, NULL, mark_once, NULL) && !pthread_join(thread, NULL));
	}
}

/* -- A thread that the C library does not know ----------------------------------------------------- */

#if defined(__x86_64__)

/* The dynamic loader makes the storage of threads with this function. Where it does not export the function
 * any more, no such thread is made. */
extern void *_dl_allocate_tls(void *memory) __attribute__((weak));

static atomic_int raw_done;

static int run_raw(void *argument)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)argument;
	for (int i = 0; i < 100; i++) {
		mark();
		need(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
		need(write(-1, "", 1) == -1 && errno == EBADF);
	}
	atomic_store(&raw_done, 1);
	/* The C library can end its own threads only, so this one makes the system call. */
	syscall(SYS_exit, 0);
	return 0;
}

static void raw(void)
{
	static char stack[64 << 10] __attribute__((aligned(64)));
	char *memory = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* The C library's structure of a thread begins at the thread pointer, and its storage lies below. */
	void **control = (void **)(memory + (48 << 10));

	if (!_dl_allocate_tls) {
		mark_times(100);
		return;
	}
	need(memory != MAP_FAILED);
	control = _dl_allocate_tls(control);
	need(control);
	control[0] = control[2] = control;      /* tcb and self */
	need(clone(run_raw, stack + sizeof(stack),
		   CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			   CLONE_SETTLS,
		   NULL, NULL, control, NULL) > 0);
	while (!atomic_load(&raw_done))
		sched_yield();
}

#else

static void raw(void)
{
	mark_times(100);
}

#endif

/* -- Keys: all of them are the program's, the first number and the last too ------------------------ */

static pthread_key_t never_made, keys[PTHREAD_KEYS_MAX + 1];

static void say_value(void *value)
{
	printf("a destructor: %s\n", (char *)value);
}

/* The key `never_made` is number 0. No key has that number in the first round; one has in the second. */
static void say_not_made(void)
{
	const char *value = pthread_getspecific(never_made);

	printf("not made: %s, set %d\n", value ? value : "no value",
	       pthread_setspecific(never_made, "a value"));
}

static void *use_keys(void *way)
{
	say_not_made();
	mark();
	allocate(100);
	say_not_made();
	if (keys[1])
		need(!pthread_setspecific(keys[0], "first") &&
		     !pthread_setspecific(keys[PTHREAD_KEYS_MAX - 1], "last"));
	if (way && *(char *)way == 'e')
		pthread_exit(way);
	if (way && *(char *)way == 'c') {
		need(!pthread_cancel(pthread_self()));
		pthread_testcancel();
	}
	return way;
}

static void all_keys(void)
{
	static const char *const ways[] = {"returns", "exits", "cancelled"};
	unsigned made = 0, way, round;
	pthread_t thread;

	for (round = 0; round < 2; round++) {
		for (way = 0; way < 3; way++) {
			need(!pthread_create(&thread, NULL, use_keys, (void *)ways[way]) &&
			     !pthread_join(thread, NULL));
			mark();
		}
		use_keys(NULL);
		while (!round && made <= PTHREAD_KEYS_MAX && !pthread_key_create(&keys[made], say_value))
			made++;
		printf("keys: %u, from %u to %u\n", made, keys[0], keys[made - 1]);
	}
	while (made)
		need(!pthread_key_delete(keys[--made]));
	printf("not made: delete %d\n", pthread_key_delete(never_made));
	fflush(stdout);
}

/* -- Many threads ---------------------------------------------------------------------------------- */

static void *wait_for_all(void *argument)
{
	mark();
	pthread_barrier_wait(&all_there);
	mark();
	return argument;
}

static void alive(unsigned count)
{
	pthread_t *list = calloc(count, sizeof(*list));
	unsigned i;

	need(!pthread_barrier_init(&all_there, NULL, count));
	atomic_fetch_add(marks, 1);
	for (i = 0; i < count; i++)
		need(!pthread_create(&list[i], &small, wait_for_all, NULL));
	for (i = 0; i < count; i++)
		need(!pthread_join(list[i], NULL));
	free(list);
}

static void in_turn(unsigned count)
{
	pthread_t thread;

	while (count--)
		need(!pthread_create(&thread, &small, mark_once, NULL) && !pthread_join(thread, NULL));
}

/* -- Threads whose stacks are nearly used up --------------------------------------------------------- */

/* The C library takes 250 bytes for any of these. */
static __attribute__((noinline)) void call_one(unsigned which)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const struct timespec short_time = {0, 1000};
	char byte = 'x';
	void *pages;
	int ends[2];

	switch (which) {
	case 0:
		ends[0] = open("/dev/null", O_RDONLY);
		need(ends[0] >= 0 && !close(ends[0]));
		break;
	case 1:
		need(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
		break;
	case 2:
		need(!pipe(ends) && write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
		need(!close(ends[0]) && !close(ends[1]));
		break;
	case 3:
		need(open("/nowhere/at/all", O_RDONLY) < 0);
		break;
	case 4:
		need(!nanosleep(&short_time, NULL));
		break;
	case 5:
		pages = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(pages != MAP_FAILED && !munmap(pages, 1 << 20));
		break;
	case 6:
		ends[0] = dup(1);
		need(ends[0] >= 0 && !close(ends[0]));
		break;
	default:
		need(access("/", F_OK) == 0 && raise(SIGURG) == 0);
	}
}

static void *use_up(void *argument)
{
	enum { LEAST = 590 };
	pthread_attr_t attributes;
	volatile char *used;
	size_t bytes, left;
	void *low;
	int i;

	random_seed((uintptr_t)argument);
	mark();
	need(!pthread_getattr_np(pthread_self(), &attributes) &&
	     !pthread_attr_getstack(&attributes, &low, &bytes) && !pthread_attr_destroy(&attributes));
	/* A number that the next descriptor gets may be known for one that was closed unseen. */
	if (random_below(2))
		unseen(SYS_close, open("/dev/null", O_RDONLY));
	left = LEAST + random_below(random_below(2) ? 300 : 5000);
	used = alloca((size_t)((char *)__builtin_frame_address(0) - (char *)low) - left);
	used[0] = 1;
	for (i = 0; i < 3; i++)
		call_one(random_below(8));
	return NULL;
}

static void tight(unsigned count)
{
	static char own[64 << 10] __attribute__((aligned(4096)));
	pthread_attr_t attributes;
	pthread_t thread;
	unsigned i;

	for (i = 0; i < count; i++) {
		need(!pthread_attr_init(&attributes));
		if (random_below(4))
			need(!pthread_attr_setstacksize(&attributes, (16 + 4 * random_below(10)) << 10));
		else
			need(!pthread_attr_setstack(&attributes, own, sizeof(own)));
		need(!pthread_create(&thread, &attributes, use_up, (void *)(uintptr_t)(i + 1)));
		need(!pthread_join(thread, NULL) && !pthread_attr_destroy(&attributes));
	}
}

/* -- Ends of the process, most with threads that go on --------------------------------------------- */

static void *run_on(void *argument)
{
	pthread_barrier_wait(&all_there);
	for (;;)
		allocate(1000);
	return argument;
}

static void start_runners(void)
{
	pthread_t thread;
	int i;

	need(!pthread_barrier_init(&all_there, NULL, 3));
	atomic_fetch_add(marks, 1);
	for (i = 0; i < 2; i++)
		need(!pthread_create(&thread, &small, run_on, NULL));
	pthread_barrier_wait(&all_there);
}

static void at_exit(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	allocate(3000);
	say("atexit\n");
	pthread_mutex_unlock(&mutex);
}

static void at_quick(void)
{
	allocate(3000);
	say("at_quick_exit\n");
}

static void *end_process(void *argument)
{
	mark();
	print_marks();
	exit(argument ? 31 : 30);
}

static pthread_t main_thread;

static void *outlive_main(void *argument)
{
	need(!pthread_join(main_thread, NULL));
	mark_times(1000);
	print_marks();
	exit(32);
	return argument;
}

static int end(const char *what)
{
	pthread_t thread;

	atexit(at_exit);
	at_quick_exit(at_quick);
	if (!strcmp(what, "exits-alone")) {
		print_marks();
		return 29;
	}
	if (!strcmp(what, "outlived")) {
		main_thread = pthread_self();
		need(!pthread_create(&thread, NULL, outlive_main, NULL));
		mark_times(10);
		pthread_exit(NULL);
	}
	start_runners();
	if (!strcmp(what, "other-exits")) {
		need(!pthread_create(&thread, NULL, end_process, NULL));
		pause();
	}
	print_marks();
	if (!strcmp(what, "exits"))
		exit(33);
	if (!strcmp(what, "quick_exits"))
		quick_exit(34);
	if (!strcmp(what, "_exits"))
		_exit(35);
	if (!strcmp(what, "aborts"))
		abort();
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	early_join();
	random_seed(0);
	need(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 32 << 10));
	if (!strcmp(what, "unseen"))
		not_seen();
	else if (!strcmp(what, "keys"))
		all_keys();
	else if (!strcmp(what, "raw"))
		raw();
	else if (!strcmp(what, "alive"))
		alive(count);
	else if (!strcmp(what, "turn"))
		in_turn(count);
	else if (!strcmp(what, "tight"))
		tight(count);
	else
		return end(what);
	print_marks();
	return 0;
}
