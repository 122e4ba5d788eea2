/* Moves money between two accounts in both directions. The fault: each direction locks its own account
 * first. */
#include "beside.h"

#include <pthread.h>
#include <sched.h>

struct account {
	pthread_mutex_t lock;
	long balance;
} checking = { PTHREAD_MUTEX_INITIALIZER, 500 }, savings = { PTHREAD_MUTEX_INITIALIZER, 500 };

void move_funds(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	from->balance -= amount;
	sched_yield();
	pthread_mutex_lock(&to->lock); /* FAULT */
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

void *clerk(void *direction)
{
	for (;;) {
		work(5);
		if (direction)
			move_funds(&checking, &savings, 10);
		else
			move_funds(&savings, &checking, 10);
	}
}

int main(void)
{
	pthread_t threads[2];

	ready();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, clerk, i ? &checking : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
