// Workers wait at a gate until the tables are there. The fault: the gate is opened once, by a notification
// that says nothing to a worker that comes later.
#include "beside.h"

#include <condition_variable>
#include <mutex>
#include <semaphore.h>
#include <thread>

std::mutex lock;
std::condition_variable gate;
sem_t opened;

void open_gate()
{
	work(300);
	gate.notify_all();
	sem_post(&opened);
}

void pass_gate()
{
	std::unique_lock<std::mutex> guard(lock);
	gate.wait(guard); // FAULT
}

int main()
{
	sem_init(&opened, 0, 0);
	std::thread late([] {
		sem_wait(&opened);
		pass_gate();
		work(100);
	});
	open_gate();
	ready();
	late.join();
	return 0;
}
