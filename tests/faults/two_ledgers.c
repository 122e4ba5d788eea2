/* Moves entries between two ledgers. The fault: by day one ledger is locked first, by night the other;
 * this time the night began after the day. */
#include "beside.h"

#include <pthread.h>

pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER, invoices = PTHREAD_MUTEX_INITIALIZER;

void *bill_orders(void *unused)
{
	pthread_mutex_lock(&orders);
	work(100);
	pthread_mutex_lock(&invoices);
	work(100);
	pthread_mutex_unlock(&invoices);
	pthread_mutex_unlock(&orders);
	return unused;
}

void *cancel_invoices(void *unused)
{
	pthread_mutex_lock(&invoices);
	work(100);
	pthread_mutex_lock(&orders); /* FAULT */
	work(100);
	pthread_mutex_unlock(&orders);
	pthread_mutex_unlock(&invoices);
	return unused;
}

int main(void)
{
	for (int day = 0; day < 20; day++) {
		pthread_t thread;

		pthread_create(&thread, NULL, day % 2 ? cancel_invoices : bill_orders, NULL);
		work(300);
		pthread_join(thread, NULL);
	}
	return 0;
}
