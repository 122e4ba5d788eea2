// Throws and catches through instrumented frames, in threads and across those of a library: unwinding has to
// survive that.
// Prints what it caught, and exits with 7.
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static int destroyed;

struct counted {
	~counted() { destroyed++; }
};

static void dig(int depth)
{
	counted one;
	std::vector<int> memory(static_cast<size_t>(depth) + 1);

	if (depth == 0)
		throw std::runtime_error("the bottom");
	dig(depth - 1);
}

static int dig_locked(int depth)
{
	std::lock_guard<std::mutex> guard(mutex);

	try {
		dig(depth);
	} catch (const std::logic_error &) {
		return 1;
	}
	return 2;
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 200; i++) {
		try {
			dig_locked(i % 20);
		} catch (const std::exception &e) {
			caught += std::string(e.what()) == "the bottom";
		}
	}
	try {
		std::make_unique<std::vector<char>>(static_cast<size_t>(-1) / 4);
	} catch (const std::bad_alloc &) {
		caught++;
	}
	auto answer = std::async(std::launch::async, [] { dig(3); return 1; });
	try {
		answer.get();
	} catch (const std::runtime_error &) {
		caught++;
	}
	std::thread([] {
		try {
			dig(5);
		} catch (...) {
			std::puts("caught in a thread");
		}
	}).join();
	std::printf("caught %d, destroyed %d\n", caught, destroyed);
	return 7;
}
