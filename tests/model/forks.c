/* Makes the processes of the model: children that are forked in handlers and go on where their parent was,
 * and children that no fork handler sees. Workers call this, and so do handlers that interrupt them
 * anywhere.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/emit/threads.h"
#include "model.h"

enum { CHILDREN_MAX = 4000 };

void *model_share(size_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		model_fail("no memory");
	return at;
}

struct model_life *model_new_life(void)
{
	struct model_life *life = model_share(sizeof(*life), MAP_PRIVATE);

	life->process = model.process;
	return life;
}

/* Returns how many entries of calls in progress belong to calls that a longjmp has left. The agent closes
 * them when a call begins in a frame further up. */
static unsigned left_entries(const struct model_worker *worker)
{
	struct fxt_thread *thread = fxt_self;
	unsigned entries = thread ? (unsigned)(thread->open - fxt_in_progress_entries(thread)) : 0,
		 calls = worker->functions_entered - worker->functions_left;
	int i;

	for (i = 0; i < worker->active_count; i++)
		calls += model_kind_of(worker->active[i]) == MODEL_BLOCKING;
	return entries > calls ? entries - calls : 0;
}

/* Makes a process of the model of the child of a fork. Records that its parent had begun are not its own. */
static void become_child(struct model_worker *worker, unsigned process)
{
	unsigned i;

	model.ancestor[model.ancestors++] = model.process;
	model.process = process;
	/* At each depth there may also be a call that has just begun or ended. */
	model.inherited = (unsigned)(worker->active_count + worker->depth) + worker->functions_entered -
			  worker->functions_left;
	model.abandoned_calls = left_entries(worker);
	for (i = 0; i < MODEL_THREADS; i++) {
		struct model_worker *it = &model.worker[i];

		it->life = model_new_life();
		if (it != worker)
			it->functions_entered = 0;
		it->functions_left = 0;
	}
	worker->functions_entered = 0;
}

void model_fork(struct model_worker *worker)
{
	unsigned process = atomic_fetch_add(&model_shared->processes, 1), self = model.process;
	int status = 0;
	unsigned functions;
	pid_t child;

	/* The C library's fork() holds a lock, and a handler that interrupts it in the same thread would
	 * wait for it for ever. */
	if (worker->is_forking || process >= CHILDREN_MAX || model.ancestors == MODEL_ANCESTORS)
		return;
	/* Functions that are in progress end in the child, too. */
	functions = worker->functions_entered - worker->functions_left;
	worker->is_forking = true;
	child = fork();
	worker->is_forking = false;
	if (child < 0)
		return;
	if (!child) {
		become_child(worker, process);
		worker->functions_entered = functions;
		return;
	}
	atomic_fetch_add(&model_shared->forks, 1);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	/* A handler may have forked while we waited, and this may be the child of that fork. */
	if (model.process != self)
		return;
	if (WIFSIGNALED(status))
		model_fail("child %u died of signal %d", process, WTERMSIG(status));
	if (WEXITSTATUS(status))
		model_fail("child %u found something wrong", process);
}

/* Does in half of the children, before the agent learns of the fork, what another thread of the parent may
 * have done at that moment: it was about to enter its state in the list of states, and has counted it
 * already. */
static void half_enter(void)
{
	if (getpid() % 2 && fxt_threads.list && fxt_threads.count && !fxt_threads.list[fxt_threads.count])
		fxt_threads.count++;
}

void model_forks_start(void)
{
	pthread_atfork(NULL, NULL, half_enter);
}

void model_fork_unseen(struct model_worker *worker)
{
	long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	int status;

	if (!child) {
		/* If this is recorded, it is a record of a process that the parent does not know. */
		model.process = CHILDREN_MAX + 1;
		worker->life = model_new_life();
		model_write(worker, NULL);
		_exit(0);
	}
	while (child > 0 && waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
		;
}
