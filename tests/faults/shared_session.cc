// Threads send requests over one session, which a lock protects. The fault: who asks keeps the lock until the
// slow peer has answered, in place of noting who waits for which answer.
#include "beside.h"

#include <mutex>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

std::mutex session_lock;

void send_request(int peer, int number)
{
	must(send(peer, &number, sizeof number, 0) == sizeof number, "send");
}

int receive_answer(int peer)
{
	int answer;

	must(recv(peer, &answer, sizeof answer, 0) == sizeof answer, "recv"); // FAULT
	return answer;
}

int ask(int peer, int number)
{
	std::lock_guard<std::mutex> guard(session_lock);

	send_request(peer, number);
	return receive_answer(peer);
}

void answer_all(int peer)
{
	for (int number; recv(peer, &number, sizeof number, 0) > 0;) {
		usleep(8000);
		must(send(peer, &number, sizeof number, 0) == sizeof number, "answer");
	}
}

int main()
{
	std::vector<std::thread> threads;
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	if (fork() == 0) {
		close(ends[0]);
		answer_all(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	for (int i = 0; i < 4; i++)
		threads.emplace_back([ends] {
			for (int number = 0; number < 20; number++) {
				work(100);
				ask(ends[0], number);
			}
		});
	for (auto &thread : threads)
		thread.join();
	close(ends[0]);
	wait(nullptr);
	return 0;
}
