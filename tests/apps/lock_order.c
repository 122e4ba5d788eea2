/* In this program threads take locks in both orders, or do what only looks like it. Nothing hangs, because
 * each thread ends before the next one begins. It prints each order that may end in a deadlock with another
 * one: the two locks, the thread, and how often. No other may be reported.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

typedef void step(void);

struct work {
	const char *name;
	step *steps;
};

static void *run(void *argument)
{
	const struct work *work = argument;

	pthread_setname_np(pthread_self(), work->name);
	work->steps();
	return NULL;
}

/* Runs it in a thread of this name. */
static void in_thread(const char *name, step *steps)
{
	struct work work = {name, steps};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &work))
		abort();
	pthread_join(thread, NULL);
}

static void takes(pthread_mutex_t *first, pthread_mutex_t *then)
{
	pthread_mutex_lock(first);
	pthread_mutex_lock(then);
	pthread_mutex_unlock(then);
	pthread_mutex_unlock(first);
}

#define MUTEX(name) static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER
/* Defines a thread that takes two locks in this order. */
#define TAKES(name, first, then)            \
	static void name(void)              \
	{                                   \
		takes(&first, &then);       \
	}

/* -- Two locks, and three ----------------------------------------------------------------------------- */

MUTEX(accounts_lock);
MUTEX(audit_lock);

TAKES(pays, accounts_lock, audit_lock)
static void audits(void)
{
	takes(&audit_lock, &accounts_lock);
	takes(&audit_lock, &accounts_lock);
}

static void both_orders(void)
{
	in_thread("payer", pays);
	in_thread("auditor", audits);
	puts("accounts_lock audit_lock payer 1\n"
	     "audit_lock accounts_lock auditor 2");
}

MUTEX(red);
MUTEX(green);
MUTEX(blue);

TAKES(red_green, red, green)
TAKES(green_blue, green, blue)
TAKES(blue_red, blue, red)

static void three(void)
{
	in_thread("one", red_green);
	in_thread("two", green_blue);
	in_thread("three", blue_red);
	puts("red green one 1\n"
	     "green blue two 1\n"
	     "blue red three 1");
}

/* -- What cannot hang --------------------------------------------------------------------------------- */

MUTEX(gate);
MUTEX(left);
MUTEX(right);

static void left_first(void)
{
	pthread_mutex_lock(&gate);
	takes(&left, &right);
	pthread_mutex_unlock(&gate);
}

static void right_first(void)
{
	pthread_mutex_lock(&gate);
	takes(&right, &left);
	pthread_mutex_unlock(&gate);
}

static void behind_a_gate(void)
{
	in_thread("left", left_first);
	in_thread("right", right_first);
}

MUTEX(tried);
MUTEX(held);

TAKES(tried_first, tried, held)
static void tries(void)
{
	pthread_mutex_lock(&held);
	if (pthread_mutex_trylock(&tried))
		abort();
	pthread_mutex_unlock(&tried);
	pthread_mutex_unlock(&held);
}

static void by_trying(void)
{
	in_thread("waiter", tried_first);
	in_thread("trier", tries);
}

MUTEX(own_first);
MUTEX(own_second);

static void turns_round(void)
{
	takes(&own_first, &own_second);
	takes(&own_second, &own_first);
}

/* The child has locks of its own. */
static void in_two_processes(void)
{
	pid_t child;

	takes(&own_first, &left);
	child = fork();
	if (child == 0) {
		takes(&left, &own_first);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* -- Other locks -------------------------------------------------------------------------------------- */

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER, index_lock = PTHREAD_RWLOCK_INITIALIZER;

static void reads(void)
{
	pthread_rwlock_rdlock(&table_lock);
	pthread_rwlock_rdlock(&index_lock);
	pthread_rwlock_unlock(&index_lock);
	pthread_rwlock_unlock(&table_lock);
}

static void reads_index_first(void)
{
	pthread_rwlock_rdlock(&index_lock);
	pthread_rwlock_rdlock(&table_lock);
	pthread_rwlock_unlock(&table_lock);
	pthread_rwlock_unlock(&index_lock);
}

static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;
MUTEX(file_lock);

static void looks_up(void)
{
	pthread_rwlock_rdlock(&cache_lock);
	pthread_mutex_lock(&file_lock);
	pthread_mutex_unlock(&file_lock);
	pthread_rwlock_unlock(&cache_lock);
}

static void fills(void)
{
	pthread_mutex_lock(&file_lock);
	pthread_rwlock_wrlock(&cache_lock);
	pthread_rwlock_unlock(&cache_lock);
	pthread_mutex_unlock(&file_lock);
}

static void readers(void)
{
	in_thread("reader", reads);
	in_thread("reader", reads_index_first);
	in_thread("finder", looks_up);
	in_thread("filler", fills);
	puts("cache_lock file_lock finder 1\n"
	     "file_lock cache_lock filler 1");
}

static mtx_t sent_lock, received_lock;

static void sends(void)
{
	mtx_lock(&sent_lock);
	mtx_lock(&received_lock);
	mtx_unlock(&received_lock);
	mtx_unlock(&sent_lock);
}

static void receives(void)
{
	mtx_lock(&received_lock);
	mtx_lock(&sent_lock);
	mtx_unlock(&sent_lock);
	mtx_unlock(&received_lock);
}

static void c11(void)
{
	if (mtx_init(&sent_lock, mtx_plain) || mtx_init(&received_lock, mtx_plain))
		abort();
	in_thread("sender", sends);
	in_thread("receiver", receives);
	puts("sent_lock received_lock sender 1\n"
	     "received_lock sent_lock receiver 1");
}

/* Waiting for a condition takes the queue's lock again while the log's is held. */
MUTEX(queue_lock);
MUTEX(log_lock);
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void waits(void)
{
	const struct timespec past = {0};

	pthread_mutex_lock(&queue_lock);
	pthread_mutex_lock(&log_lock);
	pthread_cond_timedwait(&filled, &queue_lock, &past);
	pthread_mutex_unlock(&log_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void conditions(void)
{
	in_thread("logger", waits);
	in_thread("worker", waits);
	puts("queue_lock log_lock logger 1\n"
	     "log_lock queue_lock worker 1");
}

/* -- Locks in memory ---------------------------------------------------------------------------------- */

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account *accounts[2];

/* It is not inlined, because the locks are called after it. */
static __attribute__((noinline, noclone)) void make_account(struct account **account)
{
	*account = malloc(sizeof(**account));
	if (!*account || pthread_mutex_init(&(*account)->lock, NULL))
		abort();
	(*account)->balance = 0;
}

static void first_to_second(void)
{
	takes(&accounts[0]->lock, &accounts[1]->lock);
}

static void second_to_first(void)
{
	takes(&accounts[1]->lock, &accounts[0]->lock);
}

/* Frees the accounts, and makes them again: most allocators give them the same addresses. */
static void renew(void)
{
	for (int i = 1; i >= 0; i--) {
		pthread_mutex_destroy(&accounts[i]->lock);
		free(accounts[i]);
	}
	for (int i = 0; i < 2; i++)
		make_account(&accounts[i]);
}

static void in_memory(void)
{
	make_account(&accounts[0]);
	make_account(&accounts[1]);
	in_thread("there", first_to_second);
	renew();
	in_thread("back", second_to_first);
	renew();
	in_thread("there", first_to_second);
	in_thread("back", second_to_first);
	puts("mutex of make_account mutex of make_account there 1\n"
	     "mutex of make_account mutex of make_account back 1");
}

int main(void)
{
	both_orders();
	three();
	behind_a_gate();
	by_trying();
	in_thread("alone", turns_round);
	in_two_processes();
	readers();
	c11();
	conditions();
	in_memory();
	return 0;
}
