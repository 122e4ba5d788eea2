#!/bin/bash
# Slow calls say why they were slow (FXT_EXPLAIN_NS), and what they say is true.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# slow NAME WHAT ARGUMENT...: traces `slow WHAT` to NAME, and compares what the trace says with what the
# program measured around each call. At least half of the calls have each of these arguments.
slow()
{
	local file

	traced "$1" "$apps/slow" "$2" >made || fail "$1: exit status $?"
	file=$(only "$1"/*.fxt) || return
	valid "$file"
	trace calls "$file" >calls
	python3 - "${@:3}" <<-'EOT' || fail "$1: see above"
		import sys
		made = [line.split() for line in open("made")]
		names = {m[0] for m in made}
		found = []
		for line in open("calls"):
		    name, tid, start, end, *args = line.split()
		    if name.split(":")[1] in names:
		        found.append((name.split(":")[1], int(end) - int(start),
		                      dict(a.split("=") for a in args)))
		ok = len(made) == len(found)
		seen = set()
		told = {"cpu_ns": 0, "voluntary": 0, "involuntary": 0}
		for (name, *measured), (called, ns, args) in zip(made, found):
		    cpu, voluntary, involuntary = map(int, measured)
		    tells = {k: int(args[k]) for k in told if k in args}
		    for k in tells:
		        told[k] += 1
		    # More is measured around the call than in it: a function's hooks, and the reading itself.
		    right = name == called and tells.get("voluntary", 0) <= voluntary and \
		        tells.get("involuntary", 0) <= involuntary
		    if "cpu_ns" in tells:
		        right &= tells["cpu_ns"] <= min(cpu + ns / 20, ns)
		        # Before a function's first call begins, its name is looked up as well.
		        right &= name not in seen or cpu - 200000 - ns / 20 <= tells["cpu_ns"]
		    seen.add(name)
		    # A call that sleeps has waited.
		    if name in ("nanosleep", "sleeper"):
		        right &= voluntary >= 1 and tells.get("voluntary", 1) >= 1 and \
		            tells.get("cpu_ns", 0) < ns / 2
		    if not right:
		        print("measured", name, *measured, "told", called, ns, args)
		    ok &= right
		# Preemption at the wrong moment may take an argument from some calls, but not from half.
		if not all(2 * told[k] >= len(made) for k in sys.argv[1:]):
		    print("of", len(made), "told", told)
		    ok = False
		sys.exit(not ok)
	EOT
}

for mode in streaming circular; do
	export FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4
	for what in sleeps works preempted; do
		FXT_CATEGORIES=io,time slow "$what-$mode" $what cpu_ns voluntary involuntary
	done
	is "preempted, $mode" yes "$(grep -q ' involuntary=[1-9]' calls && echo yes)"
	slow "functions-$mode" functions cpu_ns voluntary
	# Without any call that can block, the only readings of usage are those of slow functions and of the
	# clock's renewals.
	FXT_CATEGORIES=function slow "only-functions-$mode" functions cpu_ns

	# The program forbids itself each system call that the agent might explain by: one would kill it.
	traced "filtered-$mode" "$apps/slow" filtered
	is "filtered, $mode: exit status" 0 $?
done
unset FXT_BUFFERING_MODE

# The limit may be another, or 0, with which no call is explained.
for explain in 0 1000000000 1; do
	FXT_EXPLAIN_NS=$explain traced "explain-$explain" "$apps/slow" sleeps >made
	trace calls "$(only "explain-$explain"/*.fxt)" >calls
	valid "explain-$explain"/*.fxt
	grep -cE ' (cpu_ns|voluntary)=' calls >"told-$explain"
done
is "FXT_EXPLAIN_NS=0: calls that tell" 0 "$(cat told-0)"
is "FXT_EXPLAIN_NS=1000000000: calls that tell" 0 "$(cat told-1000000000)"
test "$(cat told-1)" -gt 20 || fail "FXT_EXPLAIN_NS=1: $(cat told-1) calls tell"

# One comparison of a call's duration decides on explanations, triggers and thresholds, so all are on here.
FXT_THRESHOLD_NS=1000000 FXT_EXPLAIN_NS=500000 FXT_TRIGGER='nanosleep>2ms:snapshot' \
	FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=2 FXT_QUIET=1 traced together "$apps/slow" sleeps >made
is "together: snapshots" 4 "$(find together -name '*.snapshot*.fxt' | wc -l)"
trace calls "$(only $(find together -name '*.fxt' ! -name '*snapshot*'))" >calls
is "together: calls" "nanosleep" "$(grep -o '^time:[a-z]*' calls | sort -u | sed 's/time://')"
grep -q ' cpu_ns=' calls || fail "together: nothing is told"

# fxt record has an option for it.
"$FXT" record -q -a "$FXT_AGENT" --explain=0 -o none.fxt -- "$apps/slow" sleeps >made ||
	fail "fxt record: exit status $?"
is "fxt record --explain=0" 0 "$(trace calls none.fxt | grep -c ' cpu_ns=')"
"$FXT" record -q -a "$FXT_AGENT" --explain=1ms -o some.fxt -- "$apps/slow" sleeps >made ||
	fail "fxt record: exit status $?"
test "$(trace calls some.fxt | grep -c ' cpu_ns=')" -gt 0 || fail "fxt record --explain=1ms: nothing is told"
"$FXT" record -q -a "$FXT_AGENT" --explain=soon -o no.fxt -- true 2>err
is "fxt record --explain=soon: exit status" 125 $?
is "fxt record --explain=soon" 1 "$(grep -c "'soon'" err)"
