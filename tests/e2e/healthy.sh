#!/bin/bash
# The report finds no fault in programs that work: those of the system that are there, each with ordinary
# work. HEALTHY_ROUNDS runs each of them more often than once; HEALTHY names some of them.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

rounds=${HEALTHY_ROUNDS:-1}

# What the programs work on.
mkdir work
seq 1 $((20000 + $(random_below 20000))) >work/numbers
printf 'int main(void)\n{\n\treturn 0;\n}\n' >work/empty.c
printf 'all: empty\nempty: empty.c\n\tgcc -o empty empty.c\n' >work/Makefile
printf 'class Sum {\n\tpublic static void main(String[] a) {\n\t\tlong s = 0;\n%s\n\t}\n}\n' \
	'		for (int i = 0; i < 1000; i++) s += i; System.out.println(s);' >work/Sum.java
git -C work init -q 2>/dev/null

# healthy NAME COMMAND...: fails if a fault is found in one of the runs.
healthy()
{
	local name=$1 i status faults
	shift
	(cd work && command -v "$1") >/dev/null || return 0
	case " ${HEALTHY:-$name} " in *" $name "*) ;; *) return 0 ;; esac
	for ((i = 0; i < rounds; i++)); do
		if test -e "work/${name}_client"; then
			(cd work && bash "${name}_client" >client.log 2>&1 </dev/null) &
		fi
		(cd work && "$FXT" record -q -o ../healthy.fxt -- "$@") >out 2>&1 </dev/null
		status=$?
		wait
		# A program that does not work here is not healthy.
		test $status = 0 || { echo "$name ended with status $status and is left out"; return 0; }
		"$FXT" report --json healthy.fxt >report.json || fail "$name: there is no report"
		faults=$(python3 -c 'import json
print("\n".join("%s: %s, by %s" % (f["rule"], f["what"], f["culprit"])
                for f in json.load(open("report.json"))["findings"] if f["gravity"] != "note"))')
		is "$name: faults" "" "$faults"
		"$FXT" report healthy.fxt >text
		is "$name: the line that says so" 1 "$(grep -c '^no fault found by' text)"
		count trace
	done
	echo "no fault in $rounds runs of $name"
}

# A server of C++ whose threads answer programs, a pool whose workers have little to do, and a program that
# computes.
cat >work/server.cc <<'END'
#include <arpa/inet.h>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>
std::mutex lock;
std::map<std::string, int> seen;
static void serve(int fd)
{
	char line[64];
	for (ssize_t n; (n = read(fd, line, sizeof line)) > 0;) {
		{
			std::lock_guard<std::mutex> guard(lock);
			seen[std::string(line, n)]++;
		}
		if (write(fd, line, n) != n)
			break;
	}
	close(fd);
}
int main()
{
	sockaddr_in address = {};
	socklen_t bytes = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (sockaddr *)&address, bytes) || listen(fd, 64) ||
	    getsockname(fd, (sockaddr *)&address, &bytes))
		return 2;
	FILE *port = fopen("server.new", "w");
	if (!port || fprintf(port, "%d\n", ntohs(address.sin_port)) < 0 || fclose(port) ||
	    rename("server.new", "server.port"))
		return 3;
	std::vector<std::thread> servers;
	for (int i = 0; i < 8; i++)
		servers.emplace_back(serve, accept(fd, nullptr, nullptr));
	for (auto &t : servers)
		t.join();
	unlink("server.port");
	close(fd);
}
END
cat >work/pool.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int jobs, finished, over;
static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!over) {
		if (!jobs) {
			pthread_cond_wait(&work, &lock);
			continue;
		}
		jobs--;
		finished++;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(void)
{
	pthread_t threads[6];
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 1; i <= 5; i++) {
		usleep(50000);
		pthread_mutex_lock(&lock);
		jobs++;
		pthread_cond_signal(&work);
		while (finished < i)
			pthread_cond_wait(&done, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
cat >work/primes.c <<'END'
#include <stdio.h>
static int is_prime(unsigned n)
{
	for (unsigned i = 2; i * i <= n; i++)
		if (n % i == 0)
			return 0;
	return 1;
}
int main(void)
{
	unsigned count = 0;
	for (unsigned n = 2; n < 400000; n++)
		count += is_prime(n);
	printf("%u\n", count);
	return 0;
}
END
for program in server.cc pool.c primes.c; do
	case $program in *.cc) compiler=${CXX:-c++} ;; *) compiler=${CC:-cc} ;; esac
	$compiler -g -O1 -pthread -o "work/${program%.c*}" "work/$program" || fail "$program is not built"
done

# Servers end by themselves with status 0 when they are told to. A script NAME_client runs while the server
# does, untraced, and tells it to.
cat >work/server_client <<'END'
for i in $(seq 200); do test -s server.port && break; sleep 0.05; done
python3 -c '
import socket, threading, time
port = int(open("server.port").read())
def ask(client):
    s = socket.create_connection(("127.0.0.1", port))
    for i in range(20):
        s.sendall(b"client %d asks %d" % (client, i % 5))
        s.recv(64)
        time.sleep(0.01)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()'
END
cat >work/redis_client <<'END'
for i in $(seq 100); do redis-cli -s ./redis.socket ping >/dev/null 2>&1 && break; sleep 0.05; done
redis-cli -s ./redis.socket set name value
for i in $(seq 5); do redis-cli -s ./redis.socket get name; done
redis-cli -s ./redis.socket shutdown nosave
END
cat >work/nginx.conf <<END
daemon off;
worker_processes 2;
pid $PWD/work/nginx.pid;
error_log $PWD/work/nginx.log;
events { worker_connections 64; }
http {
	access_log off;
	server { listen unix:$PWD/work/nginx.socket; root $PWD/work; }
}
END
cat >work/nginx_client <<'END'
for i in $(seq 100); do test -S nginx.socket && break; sleep 0.05; done
for i in $(seq 5); do curl -s --unix-socket ./nginx.socket http://server/numbers | wc -c; done
kill -QUIT "$(cat nginx.pid)"
END
cat >work/postgres_client <<'END'
for i in $(seq 100); do
	psql -h "$PWD/run" -U "$(stat -c %U data)" -d postgres -c 'select 1' >/dev/null 2>&1 && break
	sleep 0.1
done
psql -h "$PWD/run" -U "$(stat -c %U data)" -d postgres -c 'create table if not exists t(a int); insert into t
	select generate_series(1, 1000); select sum(a) from t'
kill -INT "$(head -n 1 data/postmaster.pid)"
END

healthy ls ls -lR /usr/include/linux
healthy gcc gcc -O1 -o empty empty.c
healthy make make -B
healthy git git status
healthy sqlite3 sqlite3 base.db 'drop table if exists t; create table t(a, b); begin;
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
	insert into t select x, x * x from c; commit; select sum(b) from t;'
healthy python3 python3 -c 'import json, re; print(len(json.dumps([str(i) for i in range(20000)])))'
healthy xz xz -kf numbers
healthy bash bash -c 'for i in 1 2 3 4 5; do wc -l <numbers | sort; done; sleep 0.1'
healthy find find /usr/include/linux -name '*.h' -size +8k
healthy tar tar czf tarred.tar.gz numbers empty.c
healthy perl perl -ne '$s += $_; END { print "$s\n" }' numbers
healthy node node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; console.log(s)'
healthy java java Sum.java
healthy curl curl -s -o copied "file://$PWD/work/numbers"
healthy server ./server
healthy pool ./pool
healthy primes ./primes
healthy ffmpeg ffmpeg -nostdin -v error -y -f lavfi -i testsrc=duration=1:size=160x120:rate=10 film.mkv
healthy zstd zstd -kfT2 numbers
healthy redis redis-server --port 0 --unixsocket redis.socket --save ''
healthy nginx nginx -p . -c nginx.conf
# It does not run as root.
as_somebody=
test "$(id -u)" != 0 || as_somebody='setpriv --reuid=65534 --regid=65534 --clear-groups'
mkdir -p work/run work/data && chmod 755 "$scratch"
if command -v initdb psql >/dev/null; then
	test -z "$as_somebody" || chown 65534:65534 work work/run work/data
	(cd work && $as_somebody initdb -D data -A trust -N >initdb.log 2>&1) || tail -n 3 work/initdb.log
	healthy postgres $as_somebody postgres -D data -k "$PWD/work/run" -h ''
fi
