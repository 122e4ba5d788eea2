// Threads of a pool build an index, and each part asks the pool for its words and waits for them. The fault:
// with as many parts as threads, nobody is left to fetch the words.
#include "beside.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

struct Pool {
	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::function<void()>> tasks;
	int done = 0, begun = 0;

	void submit(std::function<void()> task)
	{
		std::lock_guard<std::mutex> guard(lock);
		tasks.push_back(std::move(task));
		changed.notify_all();
	}

	void run()
	{
		std::unique_lock<std::mutex> guard(lock);
		for (;;) {
			changed.wait(guard, [this] { return !tasks.empty(); });
			auto task = std::move(tasks.front());
			tasks.pop_front();
			guard.unlock();
			task();
			guard.lock();
			done++;
			changed.notify_all();
		}
	}
};

void build_part(Pool &pool)
{
	std::unique_lock<std::mutex> guard(pool.lock);
	bool has_words = false;

	pool.begun++;
	pool.changed.notify_all();
	pool.changed.wait(guard, [&] { return pool.begun == 3; });
	pool.tasks.push_back([&] {
		work(100);
		has_words = true;
	});
	pool.changed.notify_all();
	pool.changed.wait(guard, [&] { return has_words; }); // FAULT
}

int main()
{
	Pool pool;
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] { pool.run(); });
	for (int i = 0; i < 20; i++)
		pool.submit([] { work(50); });
	ready();
	for (int i = 0; i < 3; i++)
		pool.submit([&] { build_part(pool); });
	for (auto &thread : threads)
		thread.join();
	return 0;
}
