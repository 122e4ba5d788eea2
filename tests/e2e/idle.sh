#!/bin/bash
# The report finds nothing stuck in programs that are idle: servers that wait for somebody, their workers, and
# parents that wait for children who do so. Each is left alone until nothing runs, and ended from outside.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

cat >idle.c <<'END_OF_PROGRAM'
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t stop;
static int listener;

static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&work, &lock);
	return unused;
}

static void accept_all(void)
{
	while (accept(listener, NULL, NULL) >= 0)
		;
}

static void *acceptor(void *unused)
{
	accept_all();
	return unused;
}

static void on_signal(int number)
{
	(void)number;
	sem_post(&stop);
}

static void begin_threads(unsigned count, void *(*run)(void *unused))
{
	pthread_t thread;

	while (count--)
		pthread_create(&thread, NULL, run, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN };
	sem_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *how = argc > 1 ? argv[1] : "";
	int ends[2], epoll = epoll_create1(0);
	char byte;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&any, sizeof any);
	listen(listener, 8);
	sem_init(&stop, 0, 0);
	sem_init(shared, 1, 0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	if (pipe(ends) != 0 || write(1, "ready\n", 6) != 6)
		return 1;
	if (!strcmp(how, "pool")) {
		/* workers for a thread that waits for clients */
		begin_threads(4, worker);
		accept_all();
	} else if (!strcmp(how, "epoll")) {
		begin_threads(2, worker);
		epoll_wait(epoll, &event, 1, -1);
	} else if (!strcmp(how, "joined")) {
		pthread_t thread;

		begin_threads(2, worker);
		pthread_create(&thread, NULL, acceptor, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(how, "stop")) {
		/* the main thread waits for a handler to post, and a thread for clients */
		signal(SIGUSR1, on_signal);
		begin_threads(1, acceptor);
		sem_wait(&stop);
	} else if (!strcmp(how, "handler")) {
		signal(SIGUSR1, on_signal);
		sem_wait(&stop);
	} else if (!strcmp(how, "pause")) {
		begin_threads(3, worker);
		pause();
	} else if (!strcmp(how, "sigwait")) {
		sigset_t set;
		int number;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		begin_threads(3, worker);
		sigwait(&set, &number);
	} else if (!strcmp(how, "pipe")) {
		/* a parent waits for bytes of a child, and the child for a client */
		if (fork() == 0)
			accept_all();
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
	} else if (!strcmp(how, "child")) {
		if (fork() == 0)
			accept_all();
		wait(NULL);
	} else if (!strcmp(how, "commands")) {
		/* a worker process waits for commands of its parent, which waits for a client */
		if (fork() == 0) {
			close(ends[1]);
			(void)!read(ends[0], &byte, 1);
			return 0;
		}
		close(ends[0]);
		accept_all();
	} else if (!strcmp(how, "shared")) {
		/* processes that wait for each other in memory that they share, and for a client */
		if (fork() == 0)
			sem_wait(shared);
		accept_all();
	} else if (!strcmp(how, "input")) {
		/* what comes from outside comes through a pipe of the shell's */
		begin_threads(2, worker);
		(void)!read(0, &byte, 1);
	}
	return 0;
}
END_OF_PROGRAM
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -g -O1 -pthread -o idle idle.c 2>build.log ||
	{ fail "the program"; cat build.log >&2; }

# idle NAME COMMAND...: fails if a finding says more than that the program was ended.
idle()
{
	local name=$1 found
	shift
	python3 "$abs_top_srcdir/tests/e2e/stuck.py" "$FXT" "$FXT" record -q -o "$name.fxt" -- "$@" \
		>"$name.log" 2>&1 || { fail "$name"; tail -n 3 "$name.log" >&2; return; }
	"$FXT" report --json "$name.fxt" >"$name.json" || fail "$name: there is no report"
	found=$(python3 -c 'import json, sys
print("\n".join("%s: %s, by %s" % (f["rule"], f["what"], f["culprit"])
                for f in json.load(open(sys.argv[1]))["findings"]
                if f["gravity"] != "note" and f["rule"] != "ends"))' "$name.json")
	is "$name: faults" "" "$found"
	valid "$name.fxt"
	count trace
}

for how in pool epoll joined stop handler pause sigwait pipe child commands shared; do
	idle "$how" ./idle "$how" </dev/null
done
coproc sleep 1000
idle input ./idle input <&"${COPROC[0]}"
kill "$COPROC_PID"
idle sleep bash -c 'echo ready; sleep 1000' </dev/null
touch growing
idle tail bash -c 'echo ready; tail -f growing | cat' </dev/null
idle python python3 -c 'import socket, threading
print("ready", flush=True)
s = socket.create_server(("127.0.0.1", 0))
e = threading.Event()
for i in range(3): threading.Thread(target=e.wait, daemon=True).start()
s.accept()' </dev/null
