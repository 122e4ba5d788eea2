#!/bin/bash
# Real programs do the same bare and traced: their output and exit status are equal, and their traces are
# valid. Programs that are not installed are left out, and named. FXT_FULL=1 tries the sizes that users have.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

export FXT_MAX_SIZE_MB=64 FXT_QUIET=1
left_out=

has()
{
	local program

	for program; do
		command -v "$program" >/dev/null 2>&1 && continue
		left_out="$left_out $program"
		return 1
	done
}

# valid_all NAME: checks the traces of one program and its children. A second checker in Python gets only what
# it can read in a minute.
valid_all()
{
	local file
	local -a files=()

	for file in "$1"/*.fxt; do
		files+=("$file")
	done
	test -e "${files[0]}" || fail "$1: there is no trace"
	"$FXT" check "${files[@]}" >check.log 2>&1 || {
		fail "$1: not valid"
		head -n 20 check.log >&2
	}
	grep -q '[1-9][0-9 ]* events of' check.log || fail "$1: its traces are empty"
	test -z "${FXT_ORACLE-}" || python3 "$FXT_ORACLE" "${files[@]}" >check.log 2>&1 || {
		fail "$1: not valid for the second checker"
		grep -v ' 0 violations' check.log | head -n 20 >&2
	}
	rm -rf "${scratch:?}/$1"
}

# alike NAME CMD...: compares output and exit status of a bare run with those of a traced one.
alike()
{
	local name=$1 expected status
	shift

	bare "$@" </dev/null >"$name.bare" 2>"$name.bare.err"
	expected=$?
	traced "$name" "$@" </dev/null >"$name.traced" 2>"$name.traced.err"
	status=$?
	is "$name: exit status" $expected $status
	same "$name: output" "$name.bare" "$name.traced"
	same "$name: stderr" "$name.bare.err" "$name.traced.err"
	valid_all "$name"
	rm -f "$name".*
}

has ls && alike ls ls -lR /usr/include

mib=${FXT_FULL:+50}
seq 1 $((${mib:-8} * 130000)) | od -An -v -tx4 -w8 | head -c $((${mib:-8} << 20)) >lines
has sort && alike sort sort --parallel=2 -k2 lines
rm -f lines

mib=${FXT_FULL:+64}
has xz && {
	seq 1 20000000 | head -c $((${mib:-8} << 20)) >numbers
	alike xz xz -T2 -0 --block-size=2MiB -c numbers
	rm -f numbers
}

# This is the interpreter itself, and not the shim of a version manager, which is a shell script.
has python3 && alike python3 "$(python3 -c 'import sys; print(sys.executable)')" -c '
import json, queue, subprocess, sys, threading
work, results = queue.Queue(), []
lock = threading.Lock()
def run():
    while (n := work.get()) is not None:
        text = json.dumps({"n": n, "list": list(range(n % 50)), "text": "\u00e9" * n})
        with lock:
            results.append(json.loads(text)["n"])
threads = [threading.Thread(target=run) for _ in range(4)]
for t in threads: t.start()
for n in range(2000): work.put(n)
for t in threads: work.put(None)
for t in threads: t.join()
print(sum(results))
for n in range(3):
    print(subprocess.run(["echo", str(n)], capture_output=True, text=True).stdout, end="")
sys.exit(subprocess.run(["sh", "-c", "exit 11"]).returncode)
'

rows=${FXT_FULL:+200000}
rows=${rows:-20000}
has sqlite3 && {
	alike sqlite3 sqlite3 :memory: "create table t(a integer primary key, b text); begin;
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
		insert into t select i, 'row ' || i from n; commit; select count(*), sum(length(b)) from t;"
	alike sqlite3_file sh -c "sqlite3 rows.db 'create table t(a integer primary key, b text); begin;
		with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
		insert into t select i, 1000000 + i from n; commit;
		select count(*), sum(b) from t;'; rm rows.db"
}

has git && {
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null \
		GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	git init -q repository
	for n in 1 2 3 4 5 6 7 8; do
		seq "$n" 300 >"repository/file.$((n % 3))"
		git -C repository add . && git -C repository commit -q -m "change $n"
	done
	alike git git --no-pager -C repository log -p --stat
}

# Without a C++ compiler there is no such program.
test ! -x "$apps/throws" || alike throws "$apps/throws"

alike shell sh -c '
	(echo a; (echo b; echo c) | sort -r) | while read -r word; do echo "<$word>"; done
	n=0; for i in 1 2 3; do n=$((n + $(echo $i | tr 3 4))); done; echo $n
	{ echo error >&2; } 2>&1 | cat; cat <<END
$(printf %s here)
END
	(exit 5); echo $?; exec sh -c "exit 13"'

requests=${FXT_FULL:+100000}
has redis-server redis-benchmark && {
	mkdir redis
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/redis/%e.%p.fxt" redis-server --port 0 \
		--unixsocket "$scratch/redis.sock" --save '' --appendonly no --daemonize no --dir "$scratch" \
		>redis.out 2>&1 &
	background=$!
	# The server refuses a client that is early.
	until redis-cli -s "$scratch/redis.sock" ping 2>/dev/null | grep -q PONG; do
		kill -0 $background 2>/dev/null || break
	done
	redis-benchmark -s "$scratch/redis.sock" -t set,get -n "${requests:-10000}" -q >benchmark.out 2>&1 ||
		fail "redis-benchmark: $(cat benchmark.out)"
	is "redis-benchmark: results" 2 "$(tr '\r' '\n' <benchmark.out | grep -c 'requests per second')"
	redis-cli -s "$scratch/redis.sock" shutdown nosave
	wait $background
	is "redis-server: exit status" 0 $?
	background=
	valid_all redis
}

test -z "$left_out" || echo "not installed, left out:$left_out"
