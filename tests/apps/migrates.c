/* migrates SEED HOW: threads that run coroutines, each of which goes on in whichever thread takes it next.
 * HOW says by what a coroutine is switched away: `handler` (a timer's, at any instruction of this program and
 * of the agent), `callback` (a function that a call of the C library calls), `walk` (the same, and calls that
 * list directories, which allocate on their own account), or `both` of the first two. What SEED says is how
 * many threads and coroutines there are, how often the timers come, and what each coroutine calls. Prints how
 * often each call was begun; all have returned then.
 *
 * The C library does not expect to be moved to another thread in the middle of most functions. So the handler
 * switches away from them only in a system call that the coroutine says it waits in. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
/* The compiler must not keep the address of a thread's variable over a switch. */
#define APART __attribute__((noipa, no_instrument_function))

enum { MOST_THREADS = 4, MOST_COROUTINES = 24, STACK_BYTES = 128 * 1024, MOST_RANGES = 64 };

enum {
	REALLOC, FREE, READ, WRITE, LSEEK, SLEEP, TRYLOCK, UNLOCK, LOCK, ONCE, FFLUSH, FWRITE, OUTER, INNER,
	NFTW, GLOB, CALLS
};
static const char *const names[CALLS] = {
	"realloc", "free", "read", "write", "lseek", "nanosleep", "pthread_mutex_trylock",
	"pthread_mutex_unlock", "pthread_mutex_lock", "pthread_once", "fflush", "fwrite", "outer", "inner",
	"nftw", "glob"};
static _Atomic unsigned long begun[CALLS];

static struct coroutine {
	ucontext_t context;
	unsigned random;
	volatile unsigned held;         /* it is not switched away while this is not 0 */
	volatile bool waits;            /* it is in a system call that may be left */
	volatile bool is_over;
	pthread_mutex_t mutex;
	pthread_once_t once;
	FILE *file;
	char text[64];
	void *block;
} coroutines[MOST_COROUTINES];

struct worker {
	ucontext_t context;
	struct coroutine *volatile current;
	pthread_t thread;
	unsigned random;
};
static struct worker workers[MOST_THREADS];
static __thread struct worker *self;

static struct coroutine *ready[MOST_COROUTINES];
static unsigned ready_count;
static atomic_flag ready_lock = ATOMIC_FLAG_INIT;
static atomic_uint left;

static unsigned count, threads, rounds, period_ns, callback_one_in;
static bool by_handler, by_callback, by_walk;
static int zero, file, queue[2];
static char tree[] = "migrates.XXXXXX";         /* a directory with a file */
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static struct range {
	uintptr_t low, high;
} ranges[MOST_RANGES];
static unsigned range_count;

PLAIN static unsigned below(unsigned *state, unsigned limit)
{
	*state = *state * 1103515245u + 12345;
	return (*state >> 16) % limit;
}

PLAIN static void need(bool holds, const char *what)
{
	if (!holds) {
		dprintf(2, "migrates: %s: %s\n", what, strerror(errno));
		_exit(1);
	}
}

/* -- Switching ------------------------------------------------------------------------------------- */

APART static struct worker *me(void)
{
	return self;
}

APART static int get_errno(void)
{
	return errno;
}

APART static void set_errno(int error)
{
	errno = error;
}

PLAIN static void put(struct coroutine *coroutine)
{
	while (atomic_flag_test_and_set_explicit(&ready_lock, memory_order_acquire))
		;
	ready[ready_count++] = coroutine;
	atomic_flag_clear_explicit(&ready_lock, memory_order_release);
}

PLAIN static struct coroutine *take(unsigned *random)
{
	struct coroutine *taken = NULL;
	unsigned which;

	while (atomic_flag_test_and_set_explicit(&ready_lock, memory_order_acquire))
		;
	if (ready_count) {
		which = below(random, ready_count);
		taken = ready[which];
		ready[which] = ready[--ready_count];
	}
	atomic_flag_clear_explicit(&ready_lock, memory_order_release);
	return taken;
}

/* Leaves the coroutine that runs, which says that it is not to be switched away. */
APART static void leave(struct coroutine *coroutine)
{
	swapcontext(&coroutine->context, &me()->context);
}

PLAIN static void yield(struct coroutine *coroutine)
{
	coroutine->held++;
	atomic_signal_fence(memory_order_seq_cst);
	leave(coroutine);
	atomic_signal_fence(memory_order_seq_cst);
	coroutine->held--;
}

/* Returns the address of the instruction that the handler came before; 0: it is not known here. */
PLAIN static uintptr_t interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
	(void)context;
	return 0;
#endif
}

/* The coroutine goes on with its own errno: a program has it so, wherever it goes on. */
PLAIN static void tick(int number, siginfo_t *info, void *where)
{
	uintptr_t at = interrupted_at(where);
	struct worker *worker = me();
	struct coroutine *coroutine = worker ? worker->current : NULL;
	bool may_leave = true;
	unsigned i;
	int error;

	(void)number;
	(void)info;
	if (!coroutine || coroutine->held || !at)
		return;
	for (i = 0; i < range_count; i++)
		if (at >= ranges[i].low && at < ranges[i].high)
			may_leave = coroutine->waits && !memcmp((char *)at - 2, "\x0f\x05", 2);
	if (!may_leave)
		return;
	error = get_errno();
	yield(coroutine);
	set_errno(error);
}

/* Notes where code is that the handler does not leave: libraries, but for the agent. */
PLAIN static int note_ranges(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	unsigned i;

	(void)bytes;
	(void)unused;
	if (strstr(info->dlpi_name, "libfxtagent") || info->dlpi_phdr == NULL || !range_count++)
		return 0;
	range_count--;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		need(range_count < MOST_RANGES, "too many libraries");
		ranges[range_count].low = info->dlpi_addr + header->p_vaddr;
		ranges[range_count++].high = info->dlpi_addr + header->p_vaddr + header->p_memsz;
	}
	return 0;
}

/* -- What coroutines do ---------------------------------------------------------------------------- */

/* Counts a call before it is made. */
PLAIN static void made(unsigned call)
{
	atomic_fetch_add_explicit(&begun[call], 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Returns the coroutine that runs, for callbacks that get no argument. */
PLAIN static struct coroutine *called_back(void)
{
	return me()->current;
}

PLAIN static void may_yield(struct coroutine *coroutine)
{
	if (by_callback && !below(&coroutine->random, callback_one_in))
		yield(coroutine);
}

PLAIN static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
	(void)bytes;
	may_yield(cookie);
	return (ssize_t)size;
}

PLAIN static void once(void)
{
	may_yield(called_back());
}

PLAIN static int visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)path;
	(void)status;
	(void)type;
	(void)where;
	may_yield(called_back());
	return 0;
}

/* A directory of two files, which glob() lists by these functions. */
struct listing {
	unsigned next;
	struct dirent entry;
};

PLAIN static void *open_listing(const char *path)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	(void)path;
	need(listing != NULL, "calloc");
	may_yield(called_back());
	return listing;
}

PLAIN static struct dirent *next_of(void *argument)
{
	struct listing *listing = argument;

	may_yield(called_back());
	if (listing->next == 2)
		return NULL;
	listing->entry.d_ino = ++listing->next;
	listing->entry.d_name[0] = (char)('a' + listing->next);
	return &listing->entry;
}

PLAIN static void close_listing(void *listing)
{
	may_yield(called_back());
	free(listing);
}

PLAIN static int status_of(const char *path, struct stat *status)
{
	(void)path;
	memset(status, 0, sizeof(*status));
	status->st_mode = S_IFDIR;
	may_yield(called_back());
	return 0;
}

PLAIN static void list(struct coroutine *coroutine)
{
	glob_t found = {.gl_opendir = open_listing, .gl_readdir = next_of, .gl_closedir = close_listing,
			.gl_stat = status_of, .gl_lstat = status_of};

	coroutine->held++;
	if (below(&coroutine->random, 2)) {
		made(NFTW);
		need(!nftw(tree, visit, 4, FTW_PHYS), "nftw");
	} else {
		made(GLOB);
		need(!glob("directory/*", GLOB_ALTDIRFUNC | GLOB_NOSORT, NULL, &found), "glob");
		need(found.gl_pathc == 2, "what glob found");
		globfree(&found);
	}
	coroutine->held--;
}

PLAIN static int compare(const void *a, const void *b, void *coroutine)
{
	may_yield(coroutine);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void inner(struct coroutine *coroutine)
{
	volatile unsigned spin = below(&coroutine->random, 50);

	while (spin)
		spin--;
	may_yield(coroutine);
}

__attribute__((noinline)) static void outer(struct coroutine *coroutine)
{
	unsigned calls = below(&coroutine->random, 4);

	while (calls--) {
		made(INNER);
		inner(coroutine);
	}
}

PLAIN static void call_something(struct coroutine *coroutine)
{
	static const struct timespec pause = {0, 1000};
	char bytes[64];
	int numbers[20];
	unsigned i;
	void *block;

	switch (below(&coroutine->random, by_walk ? 14 : 12)) {
	case 0:
	case 1:
		made(REALLOC);
		block = realloc(coroutine->block, 1 + below(&coroutine->random, 500));
		need(block != NULL, "realloc");
		coroutine->block = block;
		break;
	case 2:
		coroutine->waits = true;
		made(READ);
		need(read(zero, bytes, 1 + below(&coroutine->random, sizeof(bytes))) >= 1, "read");
		coroutine->waits = false;
		break;
	case 3:
		coroutine->waits = true;
		made(WRITE);
		need(write(queue[1], bytes, 1) == 1 || get_errno() == EAGAIN, "write");
		made(READ);
		need(read(queue[0], bytes, 1) == 1 || get_errno() == EAGAIN, "read of a pipe");
		coroutine->waits = false;
		break;
	case 4:
		made(LSEEK);
		need(lseek(file, (off_t)below(&coroutine->random, 1000), SEEK_SET) >= 0, "lseek");
		break;
	case 5:
		if (below(&coroutine->random, 16))
			break;
		coroutine->waits = true;
		made(SLEEP);
		nanosleep(&pause, NULL);
		coroutine->waits = false;
		break;
	case 6:
		made(TRYLOCK);
		if (pthread_mutex_trylock(&shared))
			break;
		made(UNLOCK);
		need(!pthread_mutex_unlock(&shared), "unlock");
		break;
	case 7:
		made(LOCK);
		need(!pthread_mutex_lock(&coroutine->mutex), "lock");
		made(UNLOCK);
		need(!pthread_mutex_unlock(&coroutine->mutex), "unlock");
		break;
	case 8:
		coroutine->held++;
		coroutine->once = PTHREAD_ONCE_INIT;
		made(ONCE);
		need(!pthread_once(&coroutine->once, once), "pthread_once");
		coroutine->held--;
		break;
	case 9:
		made(FWRITE);
		need(fwrite("text", 1, 4, coroutine->file) == 4, "fwrite");
		made(FFLUSH);
		need(!fflush(coroutine->file), "fflush");
		break;
	case 10:
		for (i = 0; i < 20; i++)
			numbers[i] = (int)below(&coroutine->random, 1000);
		made(FREE);             /* of nothing: so the C library ends a sort that needs no block */
		qsort_r(numbers, 20, sizeof(*numbers), compare, coroutine);
		break;
	case 11:
		made(OUTER);
		outer(coroutine);
		break;
	default:
		list(coroutine);
	}
}

PLAIN static void work(int which)
{
	struct coroutine *coroutine = &coroutines[which];
	unsigned round;

	atomic_signal_fence(memory_order_seq_cst);
	coroutine->held = 0;
	for (round = 0; round < rounds; round++)
		call_something(coroutine);
	coroutine->held++;
	coroutine->is_over = true;
	leave(coroutine);
	abort();
}

/* -- Threads --------------------------------------------------------------------------------------- */

PLAIN static void *run(void *argument)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec often = {{0, period_ns}, {0, period_ns}}, never = {0};
	struct worker *worker = argument;
	struct coroutine *coroutine;
	timer_t timer;

	self = worker;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	need(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
	if (by_handler)
		need(!timer_settime(timer, 0, &often, NULL), "timer_settime");
	while (atomic_load(&left)) {
		coroutine = take(&worker->random);
		if (!coroutine)
			continue;
		worker->current = coroutine;
		swapcontext(&worker->context, &coroutine->context);
		worker->current = NULL;
		if (coroutine->is_over)
			atomic_fetch_sub(&left, 1);
		else
			put(coroutine);
	}
	timer_settime(timer, 0, &never, NULL);
	return NULL;
}

PLAIN static void make(unsigned which, unsigned random)
{
	static const cookie_io_functions_t functions = {.write = cookie_write};
	struct coroutine *coroutine = &coroutines[which];
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(stack != MAP_FAILED, "mmap");
	coroutine->random = random + which;
	coroutine->held = 1;
	coroutine->file = fopencookie(coroutine, "w", functions);
	need(coroutine->file != NULL, "fopencookie");
	setvbuf(coroutine->file, coroutine->text, _IOFBF, sizeof(coroutine->text));
	pthread_mutex_init(&coroutine->mutex, NULL);
	getcontext(&coroutine->context);
	sigdelset(&coroutine->context.uc_sigmask, SIGALRM);
	coroutine->context.uc_stack.ss_sp = stack;
	coroutine->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine->context, (void (*)(void))work, 1, (int)which);
	put(coroutine);
}

PLAIN int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_RESTART | SA_SIGINFO};
	unsigned random, i;
	sigset_t set;
	char path[] = "migrates.XXXXXX", inside[64], text[1000];
	size_t used = 0;

	if (argc != 3)
		return 2;
	random = (unsigned)strtoul(argv[1], NULL, 10) * 2654435761u;
	by_walk = !strcmp(argv[2], "walk");
	by_handler = !by_walk && strcmp(argv[2], "callback") != 0;
	by_callback = strcmp(argv[2], "handler") != 0;
	threads = 2 + below(&random, MOST_THREADS - 1);
	count = threads + 1 + below(&random, MOST_COROUTINES - threads);
	rounds = (10000 + below(&random, 30000)) / count;
	period_ns = 20000 + below(&random, 100000);
	callback_one_in = 1 + below(&random, 30);
	dl_iterate_phdr(note_ranges, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* The agent knows of no handler then. */
	if (by_handler)
		sigaction(SIGALRM, &action, NULL);
	zero = open("/dev/zero", O_RDONLY);
	file = mkstemp(path);
	need(zero >= 0 && file >= 0 && mkdtemp(tree) && !pipe2(queue, O_NONBLOCK), "files");
	sprintf(inside, "%s/file", tree);
	need(!rename(path, inside), "rename");
	for (i = 0; i < count; i++)
		make(i, random);
	atomic_store(&left, count);
	for (i = 0; i < threads; i++) {
		workers[i].random = random + i;
		need(!pthread_create(&workers[i].thread, NULL, run, &workers[i]), "pthread_create");
	}
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	need(!unlink(inside) && !rmdir(tree), "unlink");
	made(WRITE);
	for (i = 0; i < CALLS; i++)
		used += (size_t)sprintf(text + used, "%s %lu\n", names[i], atomic_load(&begun[i]));
	need(write(1, text, used) == (ssize_t)used, "write");
	_exit(0);               /* the C library would free what the streams have */
}
