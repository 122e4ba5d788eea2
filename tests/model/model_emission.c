/* Drives the real emission path at random and compares what it wrote with a model, record by record. `make
 * check` runs it for a minute.
 *
 *   model_emission [--seconds N] [--seed SEED]
 *         runs rounds for so many seconds (60); the first round has this seed (default: by the time)
 *   model_emission --round SEED
 *         runs that round alone
 *
 * A round is a process of its own. Some threads write records of random kinds and lengths, into a storage
 * between guard pages or into the trace file, in one of the three modes. Handlers interrupt them, at random
 * times by timers and at random instructions by the processor's trap flag. Handlers write as well, are
 * interrupted themselves, leave by longjmp or fork. A child goes on where its parent was, writes, and
 * compares its own trace.
 *
 * Where something is wrong the seed is printed. Threads are scheduled as ever, so a seed repeats a round's
 * choices but not its every step. With MODEL_CORE in the environment the process that finds something wrong
 * leaves a core file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "model.h"

#include "agent/emit/thread.h"
#include "agent/emit/threads.h"
#include "agent/emit/trace_file.h"
#include "agent/process/fork.h"
#include "agent/process/lifecycle.h"

/* A round takes seconds, and more on a machine that is busy with other things. */
enum { ROUND_MS = 120 * 1000, WORK_MS = 500 };

enum { TRAP_FLAG = 0x100, SYSCALL_INSTRUCTION = 0x050f };

struct model model;
__thread struct model_worker *volatile model_self;

struct model_shared *model_shared;

static unsigned operations;
static uint64_t until_ms;               /* when a round ends, even if fewer operations were done */
static atomic_bool over;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* -- What interrupts ---------------------------------------------------------------------------- */

static void step_from_here(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
#endif
}

static void operate(struct model_worker *worker);

static void interrupt(struct model_worker *worker)
{
	unsigned process = model.process;
	/* The first handler of a worker often comes while the agent gives the thread its state. */
	uint64_t choice = model_below(worker, 256), forks = worker->was_interrupted ? 4 : 64;
	struct fxt_in_progress *before = fxt_self ? fxt_self->open : NULL;

	if (worker->depth >= MODEL_DEPTH)
		return;
	atomic_fetch_add(&model_shared->interruptions, 1);
	worker->depth++;
	worker->was_interrupted = true;
	while (model_below(worker, 3))
		operate(worker);
	if (choice < 12 && model.has_jumps && worker->may_jump && !worker->is_forking &&
	    model.process == process) {
		atomic_fetch_add(&model_shared->jumps, 1);
		model_abandon(worker);
		worker->depth = 0;
		siglongjmp(worker->loop, 1);
	}
	/* Children have children, but grandchildren have none. */
	if (choice >= 12 && choice < 12 + forks && model.has_forks && (process == 1 || choice == 12))
		model_fork(worker);
	if (before)
		model_balanced(fxt_self, before);
	worker->depth--;
}

static void by_timer(int number)
{
	struct model_worker *worker = model_self;
	int error = errno;

	(void)number;
	if (worker)
		interrupt(worker);
	errno = error;
}

/* Checks what a SIGKILL at this instruction would leave. At each lane's place there is a filler for the
 * rest of its chunk, or fillers for the rest of its line and then of its chunk; or there is a record that
 * was committed just now, and a filler behind it. Only the lanes in which an emission is going on are
 * checked, because other threads take chunks away from the others. One that was about to do so may have the
 * chunk now. A handler that interrupts this function may have forked, or written to a lane whose emission was
 * left. Then the lane no longer holds the chunk, or has another place. This function does not need the
 * agent. */
static void check_instant(const struct fxt_thread *thread)
{
	const struct fxt_lane *lane;

	for (lane = thread->lanes; lane < thread->lanes + FXT_LANES; lane++) {
		uint64_t word = 0, hold = lane->raised_at
			? atomic_load_explicit(&lane->hold, memory_order_acquire) : 0;
		const uint64_t *place = *(uint64_t *const volatile *)&lane->at, *at = place, *end = lane->end;
		unsigned records = 0;
		bool is_well = true;

		for (; hold && is_well && at < end; at += fxt_get_record_words(word)) {
			word = atomic_load_explicit((const _Atomic uint64_t *)at, memory_order_relaxed);
			records += !fxt_is_filler(word);
			is_well = fxt_get_record_words(word) && records <= 1 &&
				  at + fxt_get_record_words(word) <= end;
		}
		atomic_thread_fence(memory_order_acquire);
		if (!is_well && atomic_load_explicit(&lane->hold, memory_order_relaxed) == hold &&
		    *(uint64_t *const volatile *)&lane->at == place)
			model_fail("at an instruction, lane %ld, whose place is %ld words before the chunk's "
				   "end: %#lx",
				   (long)(lane - thread->lanes), (long)(end - place), (unsigned long)word);
	}
}

/* Runs after each instruction. The agent blocks signals for its slow paths, where a trap would end the
 * process. So at a system call, the last instruction before that, it acts at once. */
static void by_step(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
	ucontext_t *at = context;
	struct model_worker *worker = model_self;
	uint16_t instruction;
	int error = errno;

	(void)number, (void)info;
	if (fxt_self)
		check_instant(fxt_self);
	memcpy(&instruction, (const void *)at->uc_mcontext.gregs[REG_RIP], sizeof(instruction));
	if (worker->steps_left && --worker->steps_left && instruction != SYSCALL_INSTRUCTION)
		return;
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (!worker->steps_left || instruction == SYSCALL_INSTRUCTION) {
		worker->steps_left = 0;
		interrupt(worker);
	}
	errno = error;
#else
	(void)number, (void)info, (void)context;
#endif
}

static void catch(void)
{
	struct sigaction action = {.sa_handler = by_timer, .sa_flags = SA_RESTART};

	/* The wrappers of sigaction() and its like do this too. Nothing interrupts the other rounds. */
	if (model.has_handlers || model.has_steps)
		fxt_handlers_begin();
	sigaction(SIGUSR1, &action, NULL);
	action = (struct sigaction){.sa_sigaction = by_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
	sigaction(SIGTRAP, &action, NULL);
}

static void start_timer(struct model_worker *worker)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec times = {.it_interval.tv_nsec = 100000 + (long)model_below(worker, 400000)};

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	times.it_value = times.it_interval;
	if (timer_create(CLOCK_MONOTONIC, &event, &worker->timer) ||
	    timer_settime(worker->timer, 0, &times, NULL))
		model_fail("no timer: %s", strerror(errno));
}

/* -- Workers ------------------------------------------------------------------------------------ */

static void inside(struct model_worker *worker)
{
	if (model_below(worker, 2))
		operate(worker);
}

/* Writes one or more records, perhaps with a handler between any two instructions. */
static void operate(struct model_worker *worker)
{
	bool steps = model.has_steps && !worker->steps_left &&
		     (!worker->was_interrupted || model_below(worker, worker->depth ? 4 : 8) == 0);
	void (*within)(struct model_worker *) = worker->depth < 3 ? inside : NULL;

	if (!steps) {
		model_write(worker, within);
		return;
	}
	worker->steps_left = 1 + model_below(worker, model_below(worker, 4) ? 250 : 2000);
	step_from_here();
	model_write(worker, NULL);
	/* The next trap comes at once, and then has nothing to do. */
	worker->steps_left = 0;
}

static void end_child(void)
{
	bool well = model_check();

	if (!well && getenv("MODEL_CORE"))
		abort();
	_exit(!well);
}

static void *work(void *argument)
{
	struct model_worker *worker = argument;
	volatile unsigned i = 0;

	if (model.has_handlers)
		start_timer(worker);
	model_self = worker;
	if (sigsetjmp(worker->loop, 1))
		worker->steps_left = 0;
	worker->may_jump = true;
	while (i < operations && worker->life->next < MODEL_SEQUENCE &&
	       (model.process != 1 || now_ms() < until_ms)) {
		i++;
		operate(worker);
		if (model.process != 1) {
			/* A child writes only a few records of its own. */
			if (i < operations - 20)
				i = operations - (unsigned)model_below(worker, 20);
			if (i >= operations - 1)
				end_child();
		} else if (model.has_forks && model_below(worker, 1000) == 0) {
			model_fork_unseen(worker);
		}
	}
	if (model.process != 1)
		end_child();
	worker->may_jump = false;
	if (model.has_handlers)
		timer_delete(worker->timer);
	/* A timer's signal that was sent before is handled now, and does nothing. */
	model_self = NULL;
	atomic_fetch_add(&model_shared->records, worker->life->next);
	/* The wrapper of a thread's routine does the same. */
	fxt_thread_ends();
	return NULL;
}

static char directory[] = "/tmp/model_emission.XXXXXX";

/* Takes snapshots as long as the workers run. */
static void *take_snapshots(void *argument)
{
	char path[FXT_PATH_BYTES] = "";
	uint64_t mask;
	int error;

	(void)argument;
	while (!atomic_load(&over)) {
		struct timespec pause = {0, 200000};

		nanosleep(&pause, NULL);
		if (!atomic_load(&fxt_agent.file_made) || !fxt_trylock(&fxt_agent.file_lock, &mask))
			continue;
		snprintf(path, sizeof(path), "%s/snapshot", directory);
		error = fxt_buffer_snapshot(&fxt_agent.buffer, path);
		fxt_unlock(&fxt_agent.file_lock, mask);
		if (error)
			model_fail("no snapshot: %s", strerror(-error));
		if (!model_check_snapshot(path))
			_exit(1);
		unlink(path);
		atomic_fetch_add(&model_shared->snapshots, 1);
	}
	return NULL;
}

/* -- Rounds ------------------------------------------------------------------------------------- */

static void configure(struct model_worker *dice)
{
	static const char *const modes[] = {"streaming", "oneshot", "circular", "circular"};
	static const char *const stacks[] = {NULL, NULL, "none", "io>1us:8", "io:3", "function:2,io>2us"};
	const char *mode = modes[model_below(dice, 4)];
	unsigned which = (unsigned)model_below(dice, sizeof(stacks) / sizeof(*stacks));
	char text[64];

	model.is_starved = model_below(dice, 4) == 0;
	setenv("FXT_BUFFERING_MODE", model.is_starved ? "circular" : mode, 1);
	setenv("FXT_BUFFER_SIZE_MB", model_below(dice, 2) ? "1" : "2", 1);
	setenv("FXT_MAX_SIZE_MB", model_below(dice, 4) ? "64" : "2", 1);
	setenv("FXT_CATEGORIES", "io,function", 1);
	setenv("FXT_QUIET", "1", 1);
	if (model_below(dice, 6) == 0)
		setenv("FXT_THRESHOLD_NS", "400", 1);
	if (model_below(dice, 2))
		setenv("FXT_EXPLAIN_NS", "5000", 1);
	if (stacks[which])
		setenv("FXT_STACKS", stacks[which], 1);
	snprintf(text, sizeof(text), "%s/%%p.fxt", directory);
	setenv("FXT_OUTPUT", text, 1);
	model.is_guarded = model.is_starved || model_below(dice, 5) < 3;
	model.threads = model.is_starved ? MODEL_THREADS : 1 + (unsigned)model_below(dice, MODEL_THREADS);
	model.has_handlers = model_below(dice, 4) != 0;
	model.has_steps = model_below(dice, 4) != 0;
	model.has_jumps = model_below(dice, 2);
	model.has_forks = model_below(dice, 3) != 0;
	operations = 300 + (unsigned)model_below(dice, model.has_steps ? 1500 : 15000);
}

static int round_of(uint64_t seed)
{
	struct model_worker dice = {.random = seed};
	pthread_t thread[MODEL_THREADS + 1];
	bool snaps, done;
	unsigned i;

	model.seed = seed;
	model.process = 1;
	atomic_store(&model_shared->processes, 2);
	configure(&dice);
	if (!fxt_agent_start(&model_names) || !fxt_agent_file())
		model_fail("the agent does not start");
	model_forks_start();
	fxt_fork_start();
	if (model.is_guarded)
		model_storage_start(fxt_agent.storage,
				    3 + (uint32_t)model_below(&dice, model.is_starved ? 8 : 300),
				    fxt_agent.config.mode == FXT_CIRCULAR, model_below(&dice, 4) != 0);
	snaps = !model.is_guarded && fxt_agent.config.mode != FXT_STREAMING;
#if defined(__x86_64__)
	if (model_below(&dice, 2))
		model_stacks_start();
#endif
	catch();
	for (i = 0; i < MODEL_THREADS; i++) {
		model.worker[i] = (struct model_worker){.number = i, .random = model_random(&dice.random)};
		model.worker[i].life = model_new_life();
	}
	/* The state of a thread that is about to begin, for as long as the round lasts: it is in the list of
	 * all, and has nothing else yet. */
	if (!fxt_thread_claim_state(fxt_agent.pid))
		model_fail("no state");
	until_ms = now_ms() + WORK_MS;
	for (i = 0; i < model.threads; i++)
		if (pthread_create(&thread[i], NULL, work, &model.worker[i]))
			model_fail("no thread");
	if (snaps && pthread_create(&thread[MODEL_THREADS], NULL, take_snapshots, NULL))
		model_fail("no thread");
	for (i = 0; i < model.threads; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&over, true);
	if (snaps)
		pthread_join(thread[MODEL_THREADS], NULL);
	(void)fxt_threads_lost(FXT_LOSS_ROOM);
	done = model_check();
	/* The file that is rewritten at a normal exit holds the same records. */
	if (done && !model.is_guarded && model_below(&dice, 2)) {
		fxt_agent_exit();
		done = model_check();
	}
	return !done;
}

/* Removes what a round has left, because hours of rounds would fill the disk. */
static void remove_files(void)
{
	DIR *open = opendir(directory);
	struct dirent *entry;

	while (open && (entry = readdir(open)))
		if (*entry->d_name != '.')
			unlinkat(dirfd(open), entry->d_name, 0);
	if (open)
		closedir(open);
}

/* Runs one round. Returns true if nothing was wrong. */
static bool run_round(uint64_t seed)
{
	static const struct timespec pause = {0, 10 * 1000 * 1000};
	unsigned left_ms;
	int status = 0;
	pid_t child = fork();

	if (!child) {
		setpgid(0, 0);
		_exit(round_of(seed));
	}
	for (left_ms = ROUND_MS; !waitpid(child, &status, WNOHANG) && left_ms; left_ms -= 10)
		nanosleep(&pause, NULL);
	if (left_ms && WIFEXITED(status) && !WEXITSTATUS(status)) {
		/* A child whose parent was left by a longjmp may still be looking at its file. */
		for (; !kill(-child, 0) && left_ms; left_ms -= 10)
			nanosleep(&pause, NULL);
		return true;
	}
	if (!left_ms) {
		fprintf(stderr, "model_emission: round %lu hangs\n", (unsigned long)seed);
		kill(child, SIGABRT);
		waitpid(child, &status, 0);
	}
	/* There may be children left that wait for the round's process. */
	kill(-child, SIGKILL);
	if (WIFSIGNALED(status))
		fprintf(stderr, "model_emission: round %lu died of signal %d\n", (unsigned long)seed,
			WTERMSIG(status));
	fprintf(stderr, "model_emission: again: %s --round %lu\n", "tests/model_emission",
		(unsigned long)seed);
	return false;
}

int main(int count, char **argument)
{
	uint64_t seed = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	double seconds = 60;
	time_t until;
	unsigned rounds = 0;
	bool one = false, well = true;
	int i;

	for (i = 1; i + 1 < count; i += 2) {
		if (!strcmp(argument[i], "--seconds"))
			seconds = strtod(argument[i + 1], NULL);
		else if (!strcmp(argument[i], "--seed") || !strcmp(argument[i], "--round"))
			seed = strtoull(argument[i + 1], NULL, 0), one = argument[i][2] == 'r';
		else
			break;
	}
	if (i < count) {
		fprintf(stderr, "usage: model_emission [--seconds N] [--seed SEED] [--round SEED]\n");
		return 2;
	}
	model_shared = model_share(sizeof(*model_shared), MAP_SHARED);
	if (!mkdtemp(directory)) {
		perror("model_emission: mkdtemp");
		return 2;
	}
	printf("model_emission: seed %lu\n", (unsigned long)seed);
	fflush(stdout);
	until = time(NULL) + (time_t)seconds;
	do {
		well = run_round(one ? seed : model_random(&seed));
		rounds++;
		remove_files();
	} while (well && !one && time(NULL) < until);
	rmdir(directory);
	printf("model_emission: %u rounds, %lu records, %lu interruptions, %lu of them left by longjmp, "
	       "%lu forks, %lu snapshots: %s\n",
	       rounds, (unsigned long)model_shared->records, (unsigned long)model_shared->interruptions,
	       (unsigned long)model_shared->jumps, (unsigned long)model_shared->forks,
	       (unsigned long)model_shared->snapshots, well ? "all as the model has it" : "WRONG");
	return !well;
}
