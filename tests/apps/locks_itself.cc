// This program locks itself: insert() holds the cache's lock when it calls evict(), which wants it too. Three
// layers of wrappers are between them and the mutex. It says its process id first.
#include <cstdio>
#include <mutex>
#include <unistd.h>

#define APART __attribute__((noinline))

struct Lock {
	std::mutex mutex;

	void lock() { mutex.lock(); }
	void unlock() { mutex.unlock(); }
};

struct Guard {
	Lock &held;

	explicit Guard(Lock &lock) : held(lock) { held.lock(); }
	~Guard() { held.unlock(); }
};

struct Cache {
	Lock lock;
	int size = 0;

	APART void evict()
	{
		Guard guard(lock);

		size--;
	}

	APART void insert(int more)
	{
		Guard guard(lock);

		size += more;
		if (size > 100)
			evict();
	}
};

static Cache cache;
static volatile int handled;

APART static void handle_request(int number)
{
	cache.insert(number);
	// What comes behind the call keeps this function on the stack.
	handled++;
}

int main()
{
	printf("%d\n", static_cast<int>(getpid()));
	fflush(stdout);
	for (int i = 0; i < 50; i++)
		handle_request(i);
	return 0;
}
