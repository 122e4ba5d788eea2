// Threads ask a list for prices. The fault: the list is put in order at each question, under its lock.
#include "beside.h"

#include <mutex>
#include <thread>
#include <vector>

std::recursive_mutex list_lock;

void order_prices()
{
	work(1500);
}

void ask_price(int item)
{
	std::lock_guard<std::recursive_mutex> guard(list_lock);

	if (item >= 0)
		order_prices(); // FAULT
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([] {
			for (int item = 0; item < 50; item++) {
				work(100);
				ask_price(item);
			}
		});
	for (auto &thread : threads)
		thread.join();
	return 0;
}
