// A thread counts what happens, under a lock, and the program forks to mail a report. The fault: the child
// takes the lock as well, to write what was counted, and whoever held it is not in the child.
#include "beside.h"

#include <atomic>
#include <mutex>
#include <sys/wait.h>
#include <thread>

std::mutex counts_lock;
std::atomic<bool> is_counting, may_go_on;
long counts;

void write_counts()
{
	std::lock_guard<std::mutex> guard(counts_lock);
	work(50);
	counts = 0;
}

pid_t mail_report()
{
	pid_t child = fork(); // FAULT

	if (child == 0) {
		write_counts();
		_exit(0);
	}
	return child;
}

int main()
{
	write_counts();
	std::thread counter([] {
		std::lock_guard<std::mutex> guard(counts_lock);
		is_counting = true;
		while (!may_go_on)
			work(1);
		counts++;
	});
	while (!is_counting)
		work(1);
	pid_t child = mail_report();
	may_go_on = true;
	counter.join();
	ready();
	waitpid(child, nullptr, 0);
	return 0;
}
