#!/bin/bash
# Programs with more threads than the recorder has chunks for, alive or one after the other, in every mode
# and in little memory. Each call is in the trace once, and nobody waits for somebody else's going on.
# FXT_FULL=1: 10 000 threads alive, and a million one after the other.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

if test "${FXT_FULL-}" = 1; then
	most=10000 turns=1000000
else
	most=1600 turns=6000
fi
# Each thread has a stack and a few mappings.
test "$(ulimit -u)" = unlimited || test "$(ulimit -u)" -gt $((most + 500)) ||
	skip "the limit of processes and threads (ulimit -u) is $(ulimit -u)"

# all_of NAME FILE COUNT: the trace has calloc(1, 0) to calloc(COUNT, 0), each once, and lost nothing.
all_of()
{
	valid "$2"
	is "$1: calls" "$3 of $3, 0 twice, 0 dropped, 0 overwritten" "$(fxt dump --json "$2" | python3 -c '
import json, sys
calls, lost = [], {}
for line in sys.stdin:
    if "malloc:calloc" in line or "calloc" in line:
        r = json.loads(line)
        if r["type"] == "complete" and r["name"] == "calloc" and r["args"].get("size") == 0:
            calls.append(r["args"]["nmemb"])
    elif "dropped" in line or "overwritten" in line:
        r = json.loads(line)
        if r["type"] == "counter":
            lost[r["name"], r["id"]] = r["args"].get("records", 0)
count = int(sys.argv[1])
found = set(calls)
def of(what): return sum(n for (name, _), n in lost.items() if name == what)
print("%d of %d, %d twice, %d dropped, %d overwritten" % (len(found & set(range(1, count + 1))), count,
      len(calls) - len(found), of("dropped"), of("overwritten")))' "$3")"
	rm -f "$2"
}

# draw LEAST MOST: a number between these.
draw()
{
	echo $(($1 + $(random_below $(($2 - $1 + 1)))))
}

export FXT_QUIET=1
for mode in streaming circular oneshot; do
	threads=$(draw 1000 $most) rounds=$(draw 1 3)
	name="$mode, $threads threads, $rounds rounds"
	count=$(timeout 300 env FXT_BUFFERING_MODE=$mode FXT_OUTPUT="$PWD/throng.fxt" \
		LD_PRELOAD="$FXT_AGENT" "$apps/throng" "$threads" "$rounds")
	is "$name: exit status" 0 $?
	bytes=$(stat -c %s throng.fxt)
	# A chunk of 32 KiB for each would be several times as much. In a ring threads share chunks only when
	# they hold half of them.
	test $mode = circular || test "$bytes" -lt $((threads * (9000 + rounds * 2000) + (4 << 20))) ||
		fail "$name: $bytes bytes"
	all_of "$name" throng.fxt "$count"
done

for memory in "" 64M 256K "$(draw 256 4096)K"; do
	threads=$(draw 900 $most) rounds=$(draw 1 3)
	name="fxt record --memory=${memory:-usual}, $threads threads, $rounds rounds"
	# shellcheck disable=SC2086
	count=$(timeout 300 "$FXT" record -q -o throng.fxt ${memory:+--memory=$memory} -- \
		"$apps/throng" "$threads" "$rounds")
	is "$name: exit status" 0 $?
	all_of "$name" throng.fxt "$count"
done

# Threads that share few chunks of a ring write on in each other's.
threads=$(draw 900 $most)
count=$(timeout 300 env FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=$((threads / 128 + 8)) \
	FXT_OUTPUT="$PWD/throng.fxt" LD_PRELOAD="$FXT_AGENT" "$apps/throng" "$threads" 1)
all_of "a small buffer, $threads threads" throng.fxt "$count"

name="$turns threads in turn"
count=$(timeout 1500 "$FXT" record -q -c pthread,malloc -o throng.fxt -- "$apps/throng" $turns 1 turn)
is "$name: exit status" 0 $?
all_of "$name" throng.fxt "$count"

# What a thread costs in system calls of the agent's: memory is mapped for many threads at a time, and work
# within work that has blocked signals blocks none (44 of these calls a thread otherwise, and 24 so).
# calls_of COMMAND...: how often it calls mmap and madvise, and how often rt_sigprocmask.
calls_of()
{
	strace -f -qq -c -e signal=none -e trace=mmap,madvise,rt_sigprocmask -o calls "$@" >/dev/null ||
		fail "$*: exit status $? beside strace"
	awk '$NF == "mmap" || $NF == "madvise" { maps += $4 } $NF == "rt_sigprocmask" { masks = $4 }
		END { print maps, masks }' calls
}
if command -v strace >/dev/null && strace -f -c -o /dev/null true 2>/dev/null; then
	threads=$(draw 900 1200)
	read -r bare_maps bare_masks < <(calls_of "$apps/throng" "$threads" 1)
	read -r maps masks < <(calls_of env FXT_OUTPUT="$PWD/throng.fxt" LD_PRELOAD="$FXT_AGENT" \
		"$apps/throng" "$threads" 1)
	test $((maps - bare_maps)) -lt "$threads" ||
		fail "$threads threads: $maps calls of mmap and madvise, and $bare_maps bare"
	test $((masks - bare_masks)) -lt $((threads * 34)) ||
		fail "$threads threads: $masks calls of rt_sigprocmask, and $bare_masks bare"
	rm -f throng.fxt calls
else
	echo "nothing counts system calls: strace is not there, or may not trace"
fi
