/* Renders pages in a pool of two workers. The fault: a page asks the pool for its pictures and waits for
 * them in the worker, and both workers do so. */
#include "beside.h"

#include <pthread.h>

struct task {
	void (*run)(struct task *task);
	struct task *next;
	bool is_done;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
struct task *queue;
pthread_barrier_t both;

void submit(struct task *task)
{
	pthread_mutex_lock(&lock);
	task->next = queue;
	queue = task;
	pthread_cond_signal(&arrived);
	pthread_mutex_unlock(&lock);
}

void await_task(struct task *task)
{
	pthread_mutex_lock(&lock);
	while (!task->is_done)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

void draw_picture(struct task *task)
{
	(void)task;
	work(200);
}

void render_page(struct task *task)
{
	struct task picture = { .run = draw_picture };

	(void)task;
	work(500);
	pthread_barrier_wait(&both);
	submit(&picture);
	await_task(&picture); /* FAULT */
}

void *worker(void *unused)
{
	for (;;) {
		struct task *task;

		pthread_mutex_lock(&lock);
		while (!queue)
			pthread_cond_wait(&arrived, &lock);
		task = queue;
		queue = task->next;
		pthread_mutex_unlock(&lock);
		task->run(task);
		pthread_mutex_lock(&lock);
		task->is_done = true;
		pthread_cond_broadcast(&finished);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	struct task pictures[4], pages[2];
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 4; i++)
		pictures[i] = (struct task){ .run = draw_picture }, submit(&pictures[i]);
	for (int i = 0; i < 4; i++)
		await_task(&pictures[i]);
	ready();
	for (int i = 0; i < 2; i++)
		pages[i] = (struct task){ .run = render_page }, submit(&pages[i]);
	for (int i = 0; i < 2; i++)
		await_task(&pages[i]);
	return 0;
}
