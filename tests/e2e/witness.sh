#!/bin/bash
# The kernel is a second witness of what fxt record runs: its samples have the functions that used the
# processor, with all their callers, and its context switches tell when threads ran. Programs are as bare.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

"$FXT" record -o probe.fxt -- true 2>said || fail "fxt record: exit status $?"
if grep -q 'no samples and no context switches' said; then
	is "what is said where the kernel refuses" 1 "$(grep -c 'no samples' said)"
	valid probe.fxt
	skip "the kernel refuses: $(grep 'no samples' said)"
fi

# look FILE PROGRAM: prints what the trace has of the program: the share of hot() in hot() and mild() in
# percent, how many samples there are, the share of those whose stack is whole, whether each thread left its
# processor as often as it got one, how often threads slept, and the share of stacks with a handler.
look()
{
	"$FXT" dump --json "$1" >records || fail "fxt dump $1"
	python3 - "$2" <<'END'
import collections, json, os, sys
nodes, pids, samples, outs, ins, slept = {}, set(), [], collections.Counter(), collections.Counter(), 0
records = [json.loads(line) for line in open("records")]
for r in records:
    if r["type"] == "process" and r["name"] == sys.argv[1]:
        pids.add(r["id"])
    # The agent's own nodes have other numbers.
    elif r["type"] == "object" and r["args"].get("type") == "frame" and r["id"].startswith("0x7ff"):
        node, parent = int(r["id"], 16), int(r["args"].get("parent", "0"), 16)
        assert not parent or parent in nodes, "a caller that is not known yet"
        assert node not in nodes, "a node comes twice"
        nodes[node] = (r["name"], parent)
for r in records:
    if r["type"] == "switch":
        outs[r["outgoing"]] += 1
        ins[r["incoming"]] += 1
        # By the weight viewers know that the processor is idle, and that no thread 0 runs; and which
        # threads are real-time ones.
        side, own = "outgoing_weight", "incoming_weight"
        if r["outgoing"]:
            side, own = own, side
        assert r["args"] == {side: -(1 << 31), own: 120 + os.nice(0)}, r
        slept += r["outgoing"] != 0 and r["state"] == 3
    elif r.get("category") == "sample" and r["args"]["process"] in pids:
        stack, node = [], int(r["args"]["stack"], 16)
        while node:
            name, node = nodes[node]
            stack.append(name)
        assert stack[0] == r["name"], "the sample's name is not that of its innermost function"
        samples.append(stack)
hot = sum("hot" in s for s in samples)
mild = sum("mild" in s for s in samples)
whole = sum(s[-1] in ("_start", "__clone3", "clone3", "__clone", "clone") and s.count("deep") == 41
            for s in samples if "hot" in s or "mild" in s)
handled = sum("handle" in s and "main" in s for s in samples)
# The kernel tells of each time that a thread got a processor, but for that of the run's first program.
even = all(outs[t] == ins[t] for t in set(outs) | set(ins) if t)
print(100 * hot // max(1, hot + mild), len(samples), 100 * whole // max(1, hot + mild), even, slept,
      100 * handled // max(1, hot + mild))
END
}

# -- Samples and switches ------------------------------------------------------------------------------

ms=$((600 + seed % 300))
for run in "1 $ms 0" "$((2 + seed % 3)) $ms $((1 + seed % 20))" "1 $ms 3 signal" \
	"2 $ms 1 alternate"; do
	read -r threads _ naps how <<<"$run"
	# shellcheck disable=SC2086
	{
		bare "$apps/burns" $run >bare.out
		stolen=$(steal_ms)
		"$FXT" record -q --sample=997 -o burns.fxt -- "$apps/burns" $run >traced.out
	}
	is "$run: exit status" 0 $?
	same_some "$run: output" bare.out traced.out
	valid burns.fxt
	read -r hot samples whole even slept handled <<<"$(look burns.fxt burns)"
	# shellcheck disable=SC2046
	between "$run: the share of hot()" $(limits_of_share "$samples" 75) "$hot"
	# The processor time is the program's own, so other programs make no difference.
	# shellcheck disable=SC2046
	between "$run: samples" $(limits_of_samples $((threads * ms)) 997) "$samples"
	# A sample has the stack that the thread is on, so that of a handler on another one ends there.
	test "$how" = alternate || between "$run: whole stacks" 90 100 "$whole"
	is "$run: switches come in pairs" True "$even"
	between "$run: times that threads slept" $((threads * naps)) 1000000 "$slept"
	test "$how" != signal || between "$run: stacks with handler and interrupted call" 90 100 "$handled"
done

"$FXT" record -q --sample=0 -o none.fxt -- "$apps/burns" 1 50 2 >/dev/null
valid none.fxt
read -r _ samples _ even slept _ <<<"$(look none.fxt burns)"
is "no samples" "0 True" "$samples $even"
between "times that it slept" 2 1000000 "$slept"
"$FXT" record -q --no-kernel -o none.fxt -- "$apps/burns" 1 50 2 >/dev/null
valid none.fxt
is "without the kernel" 0 "$(fxt dump none.fxt | grep -c -e ' switch ' -e ' sample:')"

# weights COMMAND...: prints the least and the largest weight of the program's threads in a run, and whether
# each of them has got a processor before it leaves one.
weights()
{
	"$FXT" record -q -o weights.fxt -- "$@" >/dev/null || fail "$*: exit status $?"
	valid weights.fxt
	fxt dump --json weights.fxt | python3 -c '
import json, sys
weights, switches = set(), {}
for r in map(json.loads, sys.stdin):
    if r["type"] == "switch":
        side = "outgoing" if r["outgoing"] else "incoming"
        weights.add(r["args"][side + "_weight"])
        switches.setdefault(r[side], []).append((r["time"], side))
print(min(weights), max(weights), all(min(list)[1] == "incoming" for list in switches.values()))'
}
usual=$((120 + $(nice)))
is "weights" "$usual $usual True" "$(weights "$apps/burns" 2 50 2)"
# The command has its weight a moment after it began, and is asked for it again while it runs.
more=$((1 + seed % 9))
is "a nicer program" "$usual $((usual + more < 139 ? usual + more : 139)) True" \
	"$(weights sh -c "'$apps/burns' 1 50 2 && nice -n $more '$apps/burns' 2 300 9")"
if chrt -f 7 true 2>/dev/null; then
	is "a real-time program" "92 $usual True" \
		"$(weights sh -c "'$apps/burns' 1 50 2 && chrt -f 7 '$apps/burns' 2 300 9")"
fi

# A trace that was joined of several runs has what the kernel told of each.
processor()
{
	"$FXT" report --json --all "$1" | python3 -c 'import json, sys
p = json.load(sys.stdin)["processor"]
print(p["samples"], p["kernel_samples"], len(p["threads"]))'
}
sum="0 0 0"
for ((i = 0; i < 2 + seed % 3; i++)); do
	"$FXT" record -q --sample=997 -o run$i.fxt -- "$apps/burns" $((1 + i)) $((50 + seed % 50)) 1 \
		>/dev/null
	sum=$(echo "$sum" "$(processor run$i.fxt)" | awk '{print $1 + $4, $2 + $5, $3 + $6}')
done
"$FXT" merge -q -o runs.fxt run?.fxt
valid runs.fxt
is "several runs: samples, samples in the kernel, threads" "$sum" "$(processor runs.fxt)"

# -- Programs without the agent ------------------------------------------------------------------------

if $CC -O2 -static -pthread -o still "$abs_top_srcdir/tests/apps/burns.c" 2>/dev/null; then
	stolen=$(steal_ms)
	"$FXT" record --sample=997 -o static.fxt -- sh -c './still 1 300 2' >traced.out 2>said
	is "a static program: output" burnt "$(cat traced.out)"
	is "what is said of it" 1 "$(grep -c 'still: .* ran it untraced' said)"
	valid static.fxt
	read -r hot samples _ _ _ _ <<<"$(look static.fxt still)"
	# shellcheck disable=SC2046
	between "a static program: the share of hot()" $(limits_of_share "$samples" 75) "$hot"
	# shellcheck disable=SC2046
	between "a static program: samples" $(limits_of_samples 300 997) "$samples"
	"$FXT" record -q --follow=none --sample=997 -o parent.fxt -- \
		sh -c './still 1 100 0; exit 3' >traced.out
	is "children that are not followed: exit status" 3 $?
	read -r _ samples _ _ _ _ <<<"$(look parent.fxt still)"
	# One may be taken of the child before it executes the program.
	between "their samples" 0 5 "$samples"
fi

# -- The agent's own helpers ---------------------------------------------------------------------------

# In a program with several threads the agent opens files by helpers, which the kernel takes for processes. To
# a reader they are none: the head, the summary and the tables have the program's own processes alone, and the
# trace has no switch of another one.

# own_processes FILE: says how many processes and threads the head has, and whether tables, switches and
# samples have those alone that the agents tell of.
own_processes()
{
	"$FXT" dump --json "$1" >records || fail "fxt dump $1"
	"$FXT" report --json --all "$1" >report.json || fail "fxt report $1"
	python3 - <<'END'
import json
records, report = [json.loads(line) for line in open("records")], json.load(open("report.json"))
told = [r for r in records if r.get("tid") and r.get("pid", 1 << 31) < 0x7ffffffe]
pids, tids = {r["pid"] for r in told}, {r["tid"] for r in told}
switched = {t for r in records if r["type"] == "switch" for t in (r["outgoing"], r["incoming"]) if t}
sampled = {r["args"]["process"] for r in records if r.get("category") in ("sample", "kernel")}
listed = {p["pid"] for p in report["processor"]["processes"]}
print(len(pids), len(listed | {t["pid"] for t in report["threads"]}), switched - tids or "-",
      sampled - pids or "-", listed - pids or "-")
END
}

for name in many_functions throng; do
	"$FXT" record -o helped.fxt -- "$apps/$name" >/dev/null 2>said || fail "$name: exit status $?"
	valid helped.fxt
	is "$name: processes" "1 1 - - -" "$(own_processes helped.fxt)"
	is "$name: the summary" 1 "$(grep -c 'fxt: 1 process, ' said)"
	fxt report helped.fxt >report
	is "$name: the report's head" 1 "$(sed -n '1 { /: 1 process, /p }' report | wc -l)"
done

# -- Processes that record nothing -----------------------------------------------------------------------

# Children that make no call, or that agents cannot record, are known by the kernel alone. The summary, the
# report and fxt merge count them alike, and say of them that they recorded nothing.

# counted COMMAND...: prints what the JSON of a summary or report says of processes and threads.
counted()
{
	"$@" 2>&1 | python3 -c 'import json, sys
told = json.load(sys.stdin)
told = told.get("trace", told)
print(told["processes"], told["recorded_nothing"], told["threads"])'
}

for _ in 1 2 3; do
	of=$(random_below 1000000)
	counted env FXT_SEED="$of" "$FXT" record --json -o silent.fxt -- sh -c "$apps/silent >told" >summary
	read -r processes silent <told
	is "silent, seed $of: the summary" "$((processes + 1)) $silent $((processes + 1))" "$(cat summary)"
	is "silent, seed $of: the report" "$(cat summary)" "$(counted "$FXT" report --json --all silent.fxt)"
	valid silent.fxt
	"$FXT" merge -o merged.fxt silent.fxt 2>said || fail "fxt merge: exit status $?"
	words="$((processes + 1)) processes ($silent recorded nothing), $((processes + 1)) threads"
	is "silent, seed $of: in words" "1 1" \
		"$(grep -cF ": $words" said) $("$FXT" report merged.fxt | head -n 2 | grep -cF "$words")"
done

# What a process executes by an instruction of its own is told by the kernel alone. If no trace came of that,
# because the environment was empty, the report says what ran.
for self in "" self; do
	bare=$((1 + $(random_below 3))) whole=$(random_below 3)
	"$FXT" record -o bare.fxt -- sh -c "$apps/executes_bare $bare $whole $self; exit 0" 2>said ||
		fail "executes_bare: exit status $?"
	valid bare.fxt
	is "executed by an instruction, $bare $whole $self: untraced" \
		"executes_bare $((bare + (${#self} > 0)))" "$("$FXT" report -ja bare.fxt | python3 -c '
import json, sys
for one in json.load(sys.stdin)["untraced"]:
    print(one["program"], one["processes"])')"
	is "executed by an instruction, $bare $whole $self: traced" "$whole" \
		"$("$FXT" dump bare.fxt | grep -c 'io:access .*"/nowhere"')"
	is "executed by an instruction: the summary" 1 "$(grep -c 'executes_bare: .* ran it untraced' said)"
done

# -- Ends of processes and threads -----------------------------------------------------------------------

# Only the kernel says when a process ended that was killed and that nobody has reaped by the end of the run.

# lives_on HOW: says what of the child in records and report.json is later than its end.
lives_on()
{
	python3 - "$1" <<'END'
import json, sys
records, report = [json.loads(line) for line in open("records")], json.load(open("report.json"))
how, dead_ns = sys.argv[1], report["trace"]["last_ns"] - 300000000
begin = next(r for r in records if r["type"] == "async-begin" and r["name"] == "child")
child = begin["args"]["pid"]
threads = [t for t in report["threads"] if t["pid"] == child]
calls = [r["time"] for r in records if r["type"] == "end" and r["pid"] == child]
files = [f["until_ns"] for f in report["descriptors_open"] if f["pid"] == child]
alive = [r["time"] for r in records if r["type"] == "async-end" and r["id"] == begin["id"]]
assert threads and calls and alive and files
# The process lasts as long as its last thread.
if how == "leaderless":
    leader = next(t for t in threads if t["tid"] == child)
    other = next(t for t in threads if t["tid"] != child)
    assert other["last_ns"] - leader["last_ns"] >= 50000000, (leader, other)
    assert files[0] >= other["last_ns"]
late = {"thread": [t["last_ns"] for t in threads], "call": calls, "file": files,
        "child": [] if how == "late" else alive}
print(*[what for what, times in late.items() if any(ns > dead_ns for ns in times)])
END
}

for how in left ignored late leaderless; do
	"$FXT" record -q -o unreaped.fxt -- "$apps/unreaped" $how || fail "unreaped $how: exit status $?"
	valid unreaped.fxt
	"$FXT" dump --json unreaped.fxt >records || fail "fxt dump"
	"$FXT" report --json --all unreaped.fxt >report.json || fail "fxt report"
	is "unreaped $how: what lives on" "" "$(lives_on $how)"
done

# -- Memory that programs may lock ---------------------------------------------------------------------

# What the kernel's rings have locked is the user's, and his programs find enough left: for an io_uring, for
# performance events of their own, and for mlock() up to the very limit. Limits are for ordinary users.
ordinary=
if test "$(id -u)" = 0; then
	ordinary='setpriv --reuid=65534 --regid=65534 --clear-groups'
	chmod 711 .
	# shellcheck disable=SC2086
	$ordinary test -x "$FXT" -a -r "$FXT_AGENT" -a -x "$apps/locks_memory" ||
		ordinary='setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock'
fi
mkdir -m 777 ordinary
# Performance events alone may lock 516 KiB of each processor, which is more than the smaller limit.
processors=$(getconf _NPROCESSORS_ONLN)
for limit in $((processors * (256 + seed % 200))) $((4096 + seed % 4096)); do
	# What an io_uring has locked is given back some time after its end: here is room for two.
	run="locks_memory, of $limit KiB"
	buffer=$((limit / 16 + $(random_below $((limit / 16)))))
	# shellcheck disable=SC2086
	(
		ulimit -l "$limit" && cd ordinary || exit 1
		bare $ordinary "$apps/locks_memory" $buffer >bare.out 2>&1
		$ordinary "$FXT" record -o locks.fxt -- "$apps/locks_memory" $buffer >traced.out 2>said
	) || fail "$run: exit status $?: $(cat ordinary/said)"
	same_some "$run: what it could have" ordinary/bare.out ordinary/traced.out
	valid ordinary/locks.fxt
	is "$run: the kernel's part" "1 0" "$(fxt dump ordinary/locks.fxt | grep -c ' kernel:sampling ') $(
		grep -c 'no samples' ordinary/said)"
	# It does not lack a switch either. Where other programs have the processors for long, whoever empties
	# a ring comes too late now and then, and says so.
	for _ in 1 2 3 4 5 6; do
		# shellcheck disable=SC2086
		(
			ulimit -l "$limit" && cd ordinary || exit 1
			$ordinary "$FXT" record -o burns.fxt -- sh -c \
				"for i in 1 2 3 4 5 6 7 8 9 10; do '$apps/burns' 2 20 3; done" \
				>traced.out 2>said
		) || fail "$run: burns: exit status $?: $(cat ordinary/said)"
		grep -q "of the kernel's records LOST" ordinary/said || break
	done
	is "$run: what is lost" 1 "$(grep -c 'nothing lost' ordinary/said)"
	read -r _ _ _ even slept _ <<<"$(look ordinary/burns.fxt burns)"
	is "$run: switches come in pairs" True "$even"
	between "$run: times that threads slept" 60 1000000 "$slept"
done
# Where hardly anything may be locked, programs have all of it, and what is missing is said.
# shellcheck disable=SC2086
(
	ulimit -l 8 && cd ordinary || exit 1
	bare $ordinary "$apps/locks_memory" 0 >bare.out 2>&1
	$ordinary "$FXT" record -o none.fxt -- "$apps/locks_memory" 0 >traced.out 2>said
) || fail "8 KiB: exit status $?"
same_some "8 KiB: what it could have" ordinary/bare.out ordinary/traced.out
valid ordinary/none.fxt
is "8 KiB: what is said" 1 "$(grep -c 'no samples and no context switches: .*(ulimit -l)' ordinary/said)"

# -- A program that runs already -----------------------------------------------------------------------

# is_watched: returns whether the process beside fxt record has begun its part.
is_watched()
{
	test -n "$(find . -path './.fxt-parts.*/kernel.fxt')"
}

mkfifo begin
stolen=$(steal_ms)
"$apps/burns" 2 $ms 2 wait <begin >traced.out &
program=$!
background=$program
exec 6>begin
"$FXT" record --sample=997 -o watched.fxt -p $program 6>&- 2>said &
watcher=$!
background="$program $watcher"
until_deadline is_watched
exec 6>&-
wait $watcher
is "fxt record -p: exit status" 0 $?
wait $program
is "the program that was watched" "0 burnt" "$? $(cat traced.out)"
background=
valid watched.fxt
read -r hot samples whole even _ _ <<<"$(look watched.fxt burns)"
# shellcheck disable=SC2046
between "a program that runs already: the share of hot()" $(limits_of_share "$samples" 75) "$hot"
# shellcheck disable=SC2046
between "its samples" $(limits_of_samples $((2 * ms)) 997) "$samples"
between "its stacks" 90 100 "$whole"
fxt report watched.fxt >report
is "its report names it" 1 "$(grep -c -m 1 burns report)"
is "the last line says where the time goes" 1 \
	"$(tail -n 1 said | grep -c '^fxt: F1 where the time goes: [0-9]*% of .* in one function, by hot ')"

"$apps/burns" 1 100 0 wait <begin >/dev/null &
program=$!
background=$program
exec 6>begin
# The program waits as long as this script has the other end of its input.
"$FXT" record --duration=100ms -o idle.fxt -p $program 2>said
is "watched for a time" "0 1" "$? $(grep -c -- '-> idle.fxt' said)"
valid idle.fxt
kill_background
exec 6>&-

# A program that is stuck: each of its threads is blocked in a function that is known.

# is_still STATE: returns whether the program has so many $threads, and all are in that state, S or T, now and
# the last time.
is_still()
{
	local before=$now

	now=$(cat /proc/$program/task/*/stat /proc/$program/task/*/status | grep -e " $1 " -e ctxt_switches)
	test "$(grep -c " $1 " <<<"$now")" = $threads && test "$now" = "$before"
}

# blocked NAME STATE: says how many threads are blocked in which of their functions and who called that, in
# that state, and whether they were all the time.
blocked()
{
	fxt report --json --all "$1" | python3 -c '
import collections, json, sys
threads = json.load(sys.stdin)["blocked_at_end"]
names = collections.Counter()
for thread in threads:
    own = [f["function"] for f in thread["stack"] or () if not f["wrapper"]]
    names["<".join(own[:2]) or "unknown"] += thread["state"] == sys.argv[1]
print(*sorted("%s %d" % name for name in names.items()), all(t["since_begin"] for t in threads))' "$2"
}

# The kernel does not tell the frame pointer of a thread that does not run, which a program keeps without
# optimisation.
$CC -O0 -fno-omit-frame-pointer -pthread -o framed "$abs_top_srcdir/tests/apps/stuck.c" ||
	fail "the compiler does not make a program with frame pointers"
mkfifo input
for name in "$apps/stuck" ./framed; do
	count=$((2 + $(random_below 20))) now=
	threads=$((count + 2))
	"$name" $count <input >/dev/null &
	program=$!
	background=$program
	exec 7>input
	until_deadline is_still S
	known="await_work<work $count join_all<main 1 read_input<read_and_end 1 True"
	# Where this user may not look into other processes, there are no stacks.
	cat /proc/$program/syscall >/dev/null 2>&1 || known="unknown $threads True"
	"$FXT" record --duration=50ms -o stuck.fxt -p $program 2>said
	is "$name: watched while it is stuck" "0 1" "$? $(grep -c "1 process, $threads threads" said)"
	valid stuck.fxt
	is "$name: where its threads are blocked" "$known" "$(blocked stuck.fxt sleeping)"
	is "$name: the report" "1 1" "$(fxt report stuck.fxt |
		awk '/^BLOCKED AT/ { title++ } / and '$((count - 1))' more / { crowd++ }
			END { print title, crowd }')"
	# Each thread has to run once more for that.
	kill -STOP $program
	until_deadline is_still T
	"$FXT" record -q --duration=50ms -o stopped.fxt -p $program
	kill -CONT $program
	valid stopped.fxt
	is "$name: where it was stopped" "$known" "$(blocked stopped.fxt stopped)"
	exec 7>&-
	wait $program
	is "$name: it goes on" 0 $?
	background=
done

# Two threads that wait for each other's locks, and one that waits for itself.

# circle FILE: says in which functions threads wait that are in a deadlock, and whether each waits for another
# of them or for itself.
circle()
{
	fxt report --json --all "$1" | python3 -c '
import json, sys
threads = [t for t in json.load(sys.stdin)["blocked_at_end"] if t["deadlock"]]
tids = {t["tid"] for t in threads}
print(*sorted([f["function"] for f in t["stack"] if not f["wrapper"]][0] for t in threads),
      tids == {t["waits_for"] for t in threads}, all(t["lock"] for t in threads))'
}

for run in "deadlock 3 rotate_log transfer" "locks_itself 1 Guard::Guard"; do
	read -r name threads functions <<<"$run"
	now=
	"$apps/$name" >ready &
	program=$!
	background=$program
	until_deadline test -s ready
	until_deadline is_still S
	"$FXT" record --duration=50ms -o circle.fxt -p $program 2>said
	valid circle.fxt
	if cat /proc/$program/syscall >/dev/null 2>&1; then
		is "$name: who waits for whom" "$functions True True" "$(circle circle.fxt)"
		count=$(wc -w <<<"$functions")
		is "$name: what is said last" "fxt: F1 deadlock: $count thread" \
			"$(tail -n 1 said | sed 's/threads* waits* for .*, and do.*/thread/')"
		is "$name: the finding" "1 $count" "$(fxt report --json circle.fxt | python3 -c '
import json, sys
found = [f for f in json.load(sys.stdin)["findings"] if f["rule"] == "deadlock"]
print(len(found), sum(" wants mutex 0x" in line for line in found[0]["evidence"]))')"
	fi
	kill_background
done

"$FXT" record -o gone.fxt -p $program 2>said
is "a process that is gone" "125 1" "$? $(grep -c "process $program: No such process" said)"
for bad in 0 -1 x 1x 99999999999; do
	"$FXT" record -p "$bad" 2>said
	is "-p $bad" "125 1" "$? $(grep -c 'is no number of a process' said)"
done
"$FXT" record -p $$ true 2>said
is "-p and a command" "125 1" "$? $(grep -c 'give one of them' said)"
for bad in -1 x 10001 ''; do
	"$FXT" record --sample="$bad" true 2>said
	is "--sample=$bad" "125 1" "$? $(grep -c -e 'is no number of samples' -e 'is empty' said)"
done
is "folders that are left" 0 "$(find . -name '.fxt-parts.*' | wc -l)"

# -- A stripped program whose debug information is elsewhere ---------------------------------------------

# has_lines FILE [OPTION]: prints whether the report of the trace has lines of the program's source.
has_lines()
{
	"$FXT" report "${@:2}" "$1" >lines || fail "fxt report $*"
	grep -q 'burns\.c:[0-9]' lines && echo yes || echo no
}

if $CC -g -O2 -pthread -Wl,--build-id -o whole "$abs_top_srcdir/tests/apps/burns.c" 2>/dev/null &&
	mkdir debug && objcopy --only-keep-debug whole debug/stripped.debug && strip -o stripped whole; then
	rm whole
	readelf --debug-dump=frames stripped |
		sed -n 's/.* FDE .* pc=0*\([0-9a-f]*\)\.\..*/\1/p' | sort -u >functions
	"$FXT" record -q --sample=997 -o nameless.fxt -- ./stripped 1 300 0 >traced.out
	"$FXT" record -q --sample=997 --debug-dir=debug -o named.fxt -- ./stripped 1 300 0 >traced.out
	valid named.fxt
	read -r hot _ <<<"$(look nameless.fxt stripped)"
	is "a stripped program: samples with names" 0 "$hot"
	# A function without a name is one, by where it begins, and not one for each part of it.
	fxt dump nameless.fxt |
		sed -n 's/.* 0x7ff.* "stripped+0x\([0-9a-f]*\)"  type="frame".*/\1/p' | sort -u >begins
	comm -12 begins functions >known
	same_some "a stripped program: where functions begin" begins known
	read -r hot samples _ <<<"$(look named.fxt stripped)"
	# shellcheck disable=SC2046
	between "with --debug-dir: the share of hot()" $(limits_of_share "$samples" 75) "$hot"
	is "lines, without the directory" no "$(has_lines nameless.fxt)"
	is "lines, with it" yes "$(has_lines nameless.fxt --debug-dir=debug)"
	mv debug elsewhere
	mkdir debug
	is "lines, with another directory" no "$(has_lines nameless.fxt --debug-dir=debug)"
	is "lines, with both" yes "$(has_lines nameless.fxt --debug-dir=debug --debug-dir=elsewhere)"
	cp /bin/true stripped
	is "lines, when the program was replaced" no "$(has_lines named.fxt)"
	is "lines of the replaced program" yes "$(has_lines named.fxt --debug-dir=elsewhere)"
	rm stripped
	is "lines of the program that is away" yes "$(has_lines named.fxt --debug-dir=elsewhere)"
fi
