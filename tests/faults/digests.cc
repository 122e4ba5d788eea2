// Computes digests of files. The fault: all of them at once, and a thread for each.
#include "beside.h"

#include <future>
#include <vector>

int digest_of(int file)
{
	work(12000);
	return file;
}

int main()
{
	std::vector<std::future<int>> digests;
	int sum = 0;

	for (int file = 0; file < 40; file++)
		digests.push_back(std::async(std::launch::async, digest_of, file)); // FAULT
	for (auto &digest : digests)
		sum += digest.get();
	printf("%d\n", sum);
}
