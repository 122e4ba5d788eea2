#!/bin/bash
# `make ctf-proof`: CTF directories of many traces against what the traces have, by babeltrace2 and, with
# FXT_ORACLE, by a second reader of FXT. It takes some twenty minutes, and is no part of `make check`. What
# is not installed is left out, and the last lines say what was done. PROOF names some of the parts.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
# shellcheck source=ctf_lib.sh
. "$abs_top_srcdir/tests/e2e/ctf_lib.sh"
need python3 babeltrace2
parts=${PROOF:-applications programs special packets reading lttng fuzz large}
traces=0 absent= ready=

say()
{
	printf '%s\n' "$*"
}

# compared NAME: converts NAME.fxt, and compares all.
compared()
{
	traces=$((traces + 1))
	converted "$1.fxt" "$1"
}

# recorded NAME COMMAND...: records a command, whatever it ends with, and compares. It is read as it is by
# the parts that follow.
recorded()
{
	local name=$1
	shift

	timeout -k 5 "${limit:-120}" "$FXT" record -q ${how-} -o "$name.fxt" -- "$@" >out 2>err </dev/null
	test -s "$name.fxt" || {
		fail "$name: no trace: $(tail -n 2 err)"
		return
	}
	compared "$name"
	ready="$ready $name"
}

have()
{
	command -v "$1" >/dev/null 2>&1 && return
	absent="$absent $1"
	return 1
}

# -- Every application of the tree ---------------------------------------------------------------------

applications()
{
	local before=$traces program arguments last=

	# The runs that hosts_same.sh makes, the first of each program.
	sed -n "/^runs='/,/^'/p" "$abs_top_srcdir/tests/e2e/hosts_same.sh" | grep '^[a-z]' |
		grep -v '^runs=' | sort -s -u -k 1,1 >runs
	while read -r program arguments <&3; do
		test "$program" != "$last" && test -x "$apps/$program" || continue
		last=$program
		rm -rf "app.$program"*
		# shellcheck disable=SC2086	# these are words
		limit=60 recorded "app.$program" "$apps/$program" $arguments
		rm -rf "app.$program.ctf"
	done 3<runs
	say "applications of the tree: $((traces - before)) traces"
}

# -- Programs that others wrote ------------------------------------------------------------------------

programs()
{
	local before=$traces

	cat >hello.c <<'END'
#include <stdio.h>
int main(void) { return puts("hello") < 0; }
END
	printf 'all: hello\nhello: hello.c\n\tgcc -O1 -o hello hello.c\n' >hello.mk
	have python3 && recorded python3 python3 -c 'import json, threading
for i in range(3):
    threading.Thread(target=json.dumps, args=([i] * 1000,)).start()'
	have sqlite3 && recorded sqlite3 sqlite3 :memory: 'create table t (a, b);
		with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
		insert into t select i, hex (i) from n; create index x on t (b); select count (*) from t'
	if have redis-server && have redis-cli; then
		recorded redis sh -c 'redis-server --port 0 --unixsocket ./redis.sock --save "" &
			until redis-cli -s ./redis.sock ping >/dev/null 2>&1; do :; done
			for i in 1 2 3 4 5; do redis-cli -s ./redis.sock set key$i value$i >/dev/null; done
			redis-cli -s ./redis.sock shutdown nosave; wait'
	fi
	have java && how="-c process,io,net" recorded java java -Xint -XX:TieredStopAtLevel=1 -version
	have node && how="-c process,io,net" recorded node node -e 'setTimeout(() => console.log(1 + 1), 5)'
	if test -x /usr/sbin/nginx; then
		mkdir -p www/logs
		echo page >www/index.html
		printf 'worker_processes 2; daemon off; pid %s/www/pid; error_log %s/www/error;
			events {} http { access_log off; client_body_temp_path %s/www/a;
			proxy_temp_path %s/www/b;
			fastcgi_temp_path %s/www/c; uwsgi_temp_path %s/www/d; scgi_temp_path %s/www/e;
			server { listen unix:%s/www/sock; root %s/www; } }' "$scratch" "$scratch" "$scratch" \
			"$scratch" "$scratch" "$scratch" "$scratch" "$scratch" "$scratch" >www/conf
		recorded nginx sh -c '/usr/sbin/nginx -c "$PWD/www/conf" & server=$!
			until test -S www/sock; do :; done
			for i in 1 2 3; do curl -s --unix-socket www/sock http://localhost/index.html; done
			kill -QUIT $server; wait $server'
	else
		absent="$absent nginx"
	fi
	have curl && recorded curl curl -s "file://$scratch/hello.c"
	have git && recorded git sh -c 'rm -rf repo && git init -q repo && cd repo && cp ../hello.c . &&
		git add . && git -c user.name=n -c user.email=e commit -q -m m && git log --stat'
	have make && have gcc && recorded make make -f hello.mk
	have perl && recorded perl perl -e 'my %h; $h{$_ % 97} .= $_ for 1..5000; print scalar keys %h'
	have bash && recorded bash bash -c 'for i in 1 2 3; do echo $i | tr 1 2; done | sort
		(exit 3) & wait $!'
	have tar && have gzip && recorded tar sh -c 'tar cz -C /usr/include linux | tar tz | wc -l'
	have xz && recorded xz sh -c 'xz -T 2 -c /bin/sh | xz -dc | cksum'
	have awk && recorded awk awk 'BEGIN { for (i = 0; i < 20000; i++) s[i % 101] = s[i % 101] i
		print length (s[1]) }'
	say "programs: $((traces - before)) traces"
}

# -- What is special in a trace ------------------------------------------------------------------------

special()
{
	local before=$traces mode

	for mode in circular oneshot; do
		rm -rf lossy
		FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1 traced lossy "$apps/count_calls" locks 4 \
			$((30000 + $(random_below 30000))) >/dev/null 2>&1
		cp "$(only lossy/*.fxt)" $mode.fxt
		oracle_options=--ring compared $mode
		test "$(dropped_by $mode.fxt)" -gt 0 || fail "$mode: nothing was lost"
	done
	# By nobody but itself: fxt record would tidy up.
	rm -rf killed
	traced killed sh -c 'ls / | sort >list; kill -9 $$' >/dev/null 2>&1
	for file in killed/sh.*.fxt; do
		cp "$file" killed.fxt
		oracle_options=--allow-tail compared killed
	done
	cat >children.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 300; i++) {
		if (fork() == 0) {
			for (int k = 0; k < i % 7; k++)
				free(malloc(1000 + i));
			_exit(i % 5);
		}
		if (i % 20 == 19)
			while (wait(NULL) > 0)
				;
	}
	return 0;
}
END
	cat >threads.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void *work(void *n)
{
	pthread_barrier_wait(&all);
	free(calloc(1 + (size_t)n % 9, 16));
	return n;
}
int main(void)
{
	static pthread_t t[1000];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all, NULL, 1000);
	for (size_t i = 0; i < 1000; i++)
		if (pthread_create(&t[i], &small, work, (void *)i))
			return 1;
	for (int i = 0; i < 1000; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
	cat >strings.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
int main(void)
{
	static const char *const names[] = {
		"\xff\xfe.bin", "say \"x\"\\n", "tab\there\nline", "\x01\x7f\x1b[0m",
		"caf\xc3\xa9 \xf0\x9f\x98\x80", "\xc3", "", "/* */ }; event {", "%s%n"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pthread_setname_np(pthread_self(), names[i]);
		access(names[i], R_OK);
		unlink(names[i]);
		lseek(i, 1L << 62, SEEK_SET);
	}
	return 0;
}
END
	for name in children threads strings; do
		${CC:-cc} -O0 -o "$name" "$name.c" -lpthread || continue
		recorded "$name" "./$name"
	done
	python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import hostile
sys.stdout.buffer.write(hostile.HEAD)' "$abs_top_srcdir/tests/e2e" >none.fxt
	oracle_options=--foreign compared none
	# 2^63, empty names, names of all bytes: by hand, so the second reader has more to say of them.
	for i in 1 2 3 4; do
		python3 "$abs_top_srcdir/tests/e2e/odd.py" $((seed + i)) >odd$i.fxt
		FXT_ORACLE='' compared odd$i
		python3 "$abs_top_srcdir/tests/e2e/odd.py" $((seed + i)) losses >windows$i.fxt
		FXT_ORACLE='' compared windows$i
	done
	"$FXT" merge -q -o merged.fxt children.fxt strings.fxt threads.fxt 2>err || fail "merge: $(cat err)"
	compared merged
	say "special traces: $((traces - before))"
}

# -- Packets that are gone, and read backs -------------------------------------------------------------

some()
{
	local name

	test -n "$ready" || {
		for name in count_threads causes call_trees workers sequence allocates count_io count_net \
			chain parents; do
			recorded $name "$apps/$name" >/dev/null
		done
	}
	# shellcheck disable=SC2086	# these are words
	for name in $ready; do
		test -f "$name.fxt" && echo "$name"
	done | grep -v '^app' | tail -n 10
}

packets()
{
	local i

	# Of many packets, so that most of each stream is left.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf gone gone.fxt
		"$FXT" record -q -o gone.fxt -- "$apps/count_calls" locks $((1 + i % 4)) \
			$((2000 + $(random_below 4000))) >out 2>&1 || fail "packets: exit status $?"
		"$FXT" convert -q --to=ctf -o gone gone.fxt 2>err || fail "gone.fxt: $(cat err)"
		# What has too few packets keeps them: ctf.py takes none of a stream's first and last.
		without_packets gone
	done
	say "packets: of 10 traces one packet of each stream was taken out"
}

reading()
{
	local name done=0

	for name in $(some); do
		rm -rf back
		"$FXT" convert -q --to=ctf -o back "$name.fxt" 2>err || fail "$name: $(cat err)"
		"$FXT" report --json --all "$name.fxt" >before 2>err
		"$FXT" report --json --all back >after 2>err || fail "report of $name.ctf: $(cat err)"
		count comparison
		python3 "$abs_top_srcdir/tests/e2e/ctf_compare.py" same before after >difference ||
			fail "$name read back: $(cut -c 1-300 difference)"
		done=$((done + 1))
	done
	say "reading: $done traces were read back"
}

# -- Traces of LTTng-UST itself ------------------------------------------------------------------------

# lttng_counts DIRECTORY: what babeltrace2 counts, beside what fxt report says.
lttng_counts()
{
	babeltrace2 "$1" >printed 2>err
	"$FXT" report --json --all "$1" >report 2>err || fail "report of $1: $(cat err)"
	python3 - printed report <<'END'
import collections, json, re, sys
event = re.compile(r" (lttng_ust_(?:libc|pthread|cyg_profile\w*):\w+): ")
seen = collections.Counter(event.findall(open(sys.argv[1]).read()))
report = json.load(open(sys.argv[2]))
calls, functions = {}, 0
for c in report["calls"]:
    if c["category"] == "function":
        functions += c["count"]
    else:
        calls[c["category"] + ":" + c["name"]] = c["count"]
wanted = {"malloc:" + n.split(":")[1]: c for n, c in seen.items() if "_libc:" in n}
# The first locks of a process were asked for before it was recorded.
for name in "lock_acq", "trylock", "unlock":
    count = seen["lttng_ust_pthread:pthread_mutex_" + name]
    if count:
        wanted["pthread:pthread_mutex_" + name.replace("_acq", "")] = count
entries = sum(c for n, c in seen.items() if n.endswith(":func_entry"))
found = {n: calls.get(n, 0) for n in wanted}
print(sum(seen.values()), "events;", sum(wanted.values()), "calls,", entries, "functions")
if found != wanted or entries != functions or not seen:
    print("babeltrace2 counts", wanted, entries, "and fxt", found, functions)
    sys.exit(1)
END
}

# bytes DIRECTORY: prints how large its files are together.
bytes()
{
	find "$1" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d", n }'
}

# Starts LTTng's daemon, if there is one, and finds the helpers that record. Its process is in lttng/pid.
start_lttng()
{
	export LTTNG_HOME=$scratch/lttng LTTNG_UST_REGISTER_TIMEOUT=-1

	have lttng && have lttng-sessiond || return 1
	wrappers=$(find /usr/lib -name 'liblttng-ust-libc-wrapper.so*' \
		-o -name 'liblttng-ust-pthread-wrapper.so*' -o -name 'liblttng-ust-cyg-profile.so*' |
		sort | paste -sd :)
	mkdir -p lttng
	lttng-sessiond --daemonize --no-kernel --pidfile="$scratch/lttng/pid" >out 2>&1 ||
		{ say "lttng: its daemon does not start: $(tail -n 1 out)"; return 1; }
}

# session NAME OPTION COMMAND...: records a command with the helpers into lttng/NAME.
session()
{
	local name=$1 option=$2
	shift 2

	command lttng create "$name" --output="$scratch/lttng/$name" >out 2>&1
	# shellcheck disable=SC2086	# this is an option or none
	command lttng enable-channel -u --subbuf-size=4M --num-subbuf=8 $option c >>out 2>&1
	command lttng enable-event -u -c c -a >>out 2>&1
	command lttng add-context -u -c c -t vpid -t vtid -t procname >>out 2>&1
	command lttng start >>out 2>&1
	LD_PRELOAD=$wrappers "$@" >/dev/null 2>&1
	command lttng stop >>out 2>&1
	command lttng destroy >>out 2>&1
}

lttng()
{
	local done=0 i

	start_lttng || return 0
	cat >traced.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;
static int work(int n)
{
	void *volatile p = n % 3 ? malloc((size_t)n + 1) : calloc(2, (size_t)n + 1);
	pthread_mutex_lock(&m);
	sum += n;
	pthread_mutex_unlock(&m);
	p = realloc(p, 100);
	free(p);
	return n < 2 ? n : work(n - 1) + work(n - 2);
}
static void *thread(void *n) { work((int)(long)n); return NULL; }
int main(int argc, char **argv)
{
	pthread_t t[4];
	int n = argc > 1 ? atoi(argv[1]) : 4;
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)(n + i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
	gcc -finstrument-functions -o traced traced.c -lpthread
	for i in 1 2 3 4 5; do
		case $i in
		4) session $i '' ls -lR /usr/include/linux ;;
		5) session $i '' python3 -c 'import json; json.dumps([1] * 1000)' ;;
		*) session $i '' ./traced $((5 + i * 2 + $(random_below 2))) ;;
		esac
		count comparison
		if sums=$(lttng_counts "lttng/$i"); then
			say "lttng $i: $sums"
			done=$((done + 1))
		else
			fail "lttng $i: $sums; $(tail -n 2 out)"
		fi
	done
	kill "$(cat lttng/pid)"
	say "lttng: $done sessions of LTTng-UST's own"
}

# -- Damaged traces ------------------------------------------------------------------------------------

fuzz()
{
	local i bad=0

	"$FXT" record -q -o fuzzed.fxt -- sh -c 'ls / | sort' >/dev/null 2>&1
	for i in $(seq "${PROOF_FUZZ:-500}"); do
		fuzzed fuzzed.fxt $((seed + i))
		test "$status" != 1 || bad=$((bad + 1))
	done
	say "fuzz: ${PROOF_FUZZ:-500} damaged traces, $bad of them refused"
}

# -- A large one ---------------------------------------------------------------------------------------

large()
{
	cat >large.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static long calls;
static void *work(void *n)
{
	void *volatile p;
	for (long i = 0; i < calls; i++)
		free(p = malloc(1 + (size_t)i % 100));
	return n;
}
int main(int argc, char **argv)
{
	pthread_t t[2];
	calls = argc > 1 ? atol(argv[1]) : 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
	gcc -O1 -o large large.c -lpthread
	"$FXT" record -q --no-kernel --max-size=2048 -o large.fxt -- ./large "${PROOF_LARGE:-6250000}" ||
		fail "large: exit status $?"
	say "large: $(python3 - "$FXT" large.fxt <<'END'
import json, os, resource, subprocess, sys, time
fxt, trace = sys.argv[1:]
began = time.monotonic()
subprocess.run([fxt, "convert", "-q", "--to=ctf", "-o", "large.ctf", trace], check=True)
clock, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk("large.ctf") for f in files)
report = subprocess.run([fxt, "report", "--json", "--all", trace], stdout=subprocess.PIPE).stdout
overview = json.loads(report)["trace"]
events = overview["events"]
print(f"{events} events, {overview['dropped']} lost, {clock:.1f} s by the clock,"
      f" {used.ru_utime:.1f} s + {used.ru_stime:.1f} s of processor,"
      f" {(used.ru_utime + used.ru_stime) * 1e9 / events:.0f} ns an event, peak {used.ru_maxrss // 1024} MiB,"
      f" FXT {os.path.getsize(trace)} bytes, CTF {size} bytes")
END
	)"
	rm -rf large.ctf large.fxt
	count comparison
	start_lttng || return 0
	tenth=$((${PROOF_LARGE:-6250000} / 10))
	"$FXT" record -q --no-kernel -o tenth.fxt -- ./large $tenth
	"$FXT" convert -q --to=ctf tenth.fxt
	LTTNG_UST_ALLOW_BLOCKING=1 session tenth --blocking-timeout=inf ./large $tenth
	kill "$(cat lttng/pid)"
	say "a tenth of it: $(stat -c %s tenth.fxt) bytes by fxt record, $(bytes tenth.ctf) converted," \
		"$(bytes lttng/tenth) by LTTng"
}

for part in $parts; do
	$part
done
say "compared: $traces traces$(test -z "$absent" || echo "; not installed:$absent")"
